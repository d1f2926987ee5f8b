// NumPy arrays as spans, and new ones to fill: the only file that knows NumPy.
#pragma once
#include <nanobind/nanobind.h>
#include <cstdint>
#include <span>

namespace pliant {

namespace nb = nanobind;

// Whether it is a numpy.ndarray.
bool is_array(nb::handle data);

// The entries of a contiguous array of float64 or int64; throws TypeError with the field's name for anything else.
std::span<const double> reals(nb::handle data, const char* name);
std::span<const std::int64_t> integers(nb::handle data, const char* name);

// Contiguous indices of either width, copied.
void copy_indices(nb::handle data, const char* name, std::span<std::int64_t> to);
std::size_t size_of(nb::handle data, const char* name);

// Shape of an array: (rows, columns) with all axes but the last stacked; a vector is one column.
struct Shape {
  int axes;
  std::size_t rows, columns;
};
Shape shape_of(nb::handle data);

// A new vector with these entries.
nb::object array_of(std::span<const double> values);
nb::object array_of(std::span<const std::int64_t> values);

// A new vector and where its entries are.
struct NewReals {
  nb::object array;
  std::span<double> values;
};
struct NewIntegers {
  nb::object array;
  std::span<std::int64_t> values;
};
NewReals new_reals(std::size_t size);
NewIntegers new_integers(std::size_t size);

// A read-only, contiguous copy of real numbers as float64 if all are finite, else None: who asked knows the words.
nb::object finite_reals(nb::handle data);

}  // namespace pliant
