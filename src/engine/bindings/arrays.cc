#include "bindings/arrays.h"

#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#include <numpy/arrayobject.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>

namespace pliant {

namespace {

// At the first array that comes in, not with the module: without NumPy `pliant doctor` still runs, and says so.
void import_numpy() {
  if (PyArray_ImportNumPyAPI() < 0) nb::raise_python_error();
}

PyArrayObject* as_array(nb::handle data) { return reinterpret_cast<PyArrayObject*>(data.ptr()); }

[[noreturn]] void wrong(const char* name, const char* expected) {
  throw nb::type_error((std::string(name) + " must be " + expected).c_str());
}

// By kind and width: the type numbers of NumPy name two types of one width on every system.
template <class T>
bool holds(nb::handle data) {
  PyArrayObject* array = as_array(data);
  const int type = PyArray_TYPE(array);
  const bool kind = std::is_floating_point_v<T> ? PyTypeNum_ISFLOAT(type) : PyTypeNum_ISSIGNED(type);
  return kind && PyArray_ITEMSIZE(array) == sizeof(T);
}

template <class T>
std::span<const T> entries(nb::handle data, const char* name, const char* expected) {
  if (!is_array(data) || !holds<T>(data) || !PyArray_ISCARRAY_RO(as_array(data))) wrong(name, expected);
  PyArrayObject* array = as_array(data);
  return {static_cast<const T*>(PyArray_DATA(array)), static_cast<std::size_t>(PyArray_SIZE(array))};
}

template <class T>
T* fresh(std::size_t size, int type, nb::object& array) {
  npy_intp length = static_cast<npy_intp>(size);
  array = nb::steal(PyArray_SimpleNew(1, &length, type));
  if (!array.is_valid()) nb::raise_python_error();
  return static_cast<T*>(PyArray_DATA(as_array(array)));
}

bool all_finite(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

}  // namespace

bool is_array(nb::handle data) {
  import_numpy();
  return PyArray_Check(data.ptr());
}

std::span<const double> reals(nb::handle data, const char* name) {
  return entries<double>(data, name, "a contiguous array of float64");
}

std::span<const std::int64_t> integers(nb::handle data, const char* name) {
  return entries<std::int64_t>(data, name, "a contiguous array of int64");
}

std::size_t size_of(nb::handle data, const char* name) {
  if (!is_array(data)) wrong(name, "an array");
  return static_cast<std::size_t>(PyArray_SIZE(as_array(data)));
}

void copy_indices(nb::handle data, const char* name, std::span<std::int64_t> to) {
  if (is_array(data) && holds<std::int32_t>(data)) {
    const auto from = entries<std::int32_t>(data, name, "a contiguous array of int32 or int64");
    std::copy(from.begin(), from.end(), to.begin());
  } else {
    const auto from = integers(data, name);
    std::copy(from.begin(), from.end(), to.begin());
  }
}

Shape shape_of(nb::handle data) {
  PyArrayObject* array = as_array(data);
  const int axes = PyArray_NDIM(array);
  Shape shape{axes, 1, 1};
  for (int axis = 0; axis < axes; axis++) {
    const auto length = static_cast<std::size_t>(PyArray_DIM(array, axis));
    if (axes > 1 && axis == axes - 1) shape.columns = length;
    else shape.rows *= length;
  }
  return shape;
}

nb::object array_of(std::span<const double> values) {
  NewReals made = new_reals(values.size());
  std::copy(values.begin(), values.end(), made.values.begin());
  return std::move(made.array);
}

nb::object array_of(std::span<const std::int64_t> values) {
  NewIntegers made = new_integers(values.size());
  std::copy(values.begin(), values.end(), made.values.begin());
  return std::move(made.array);
}

NewReals new_reals(std::size_t size) {
  NewReals made;
  made.values = {fresh<double>(size, NPY_DOUBLE, made.array), size};
  return made;
}

NewIntegers new_integers(std::size_t size) {
  NewIntegers made;
  made.values = {fresh<std::int64_t>(size, NPY_INT64, made.array), size};
  return made;
}

nb::object finite_reals(nb::handle data) {
  import_numpy();
  nb::object found = nb::steal(PyArray_FromAny(data.ptr(), nullptr, 0, 0, NPY_ARRAY_ENSUREARRAY, nullptr));
  if (!found.is_valid()) {
    PyErr_Clear();
    return nb::none();
  }
  PyArrayObject* given = as_array(found);
  const int type = PyArray_TYPE(given);
  if (!(PyTypeNum_ISINTEGER(type) || PyTypeNum_ISFLOAT(type) || type == NPY_BOOL)) return nb::none();
  // Who hands over an array may keep it, or hold it for somebody else.
  const bool own = Py_REFCNT(found.ptr()) == 1 && PyArray_BASE(given) == nullptr;
  if (!own || type != NPY_DOUBLE || !PyArray_ISCARRAY(given)) {
    found = nb::steal(
        PyArray_FromArray(given, PyArray_DescrFromType(NPY_DOUBLE),
                          NPY_ARRAY_CARRAY | NPY_ARRAY_ENSUREARRAY | NPY_ARRAY_ENSURECOPY | NPY_ARRAY_FORCECAST));
    if (!found.is_valid()) {
      PyErr_Clear();
      return nb::none();
    }
  }
  PyArrayObject* array = as_array(found);
  const std::span values{static_cast<const double*>(PyArray_DATA(array)),
                         static_cast<std::size_t>(PyArray_SIZE(array))};
  if (!all_finite(values)) return nb::none();
  PyArray_CLEARFLAGS(array, NPY_ARRAY_WRITEABLE);
  return found;
}

}  // namespace pliant
