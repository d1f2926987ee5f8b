// The arrays of one step, owned: made from a problem's Python objects or from the fields of a flat record.
#pragma once
#include <nanobind/nanobind.h>
#include <cstdint>
#include <span>
#include <vector>
#include "step/step.h"

namespace pliant {

struct Sizes {
  std::size_t velocities = 0, rows = 0, blocks = 0, mass_entries = 0, jacobian_entries = 0;
};

// Never changed once it is made, so that threads may share it.
class Record {
 public:
  explicit Record(const Sizes& sizes);
  Record(const Record&) = delete;
  Record& operator=(const Record&) = delete;
  Record(Record&&) noexcept = default;
  Record& operator=(Record&&) noexcept = default;

  Step view() const;
  Record relative() const;  // a copy whose offset and force may be changed

  // The same for records that differ in offset and force alone.
  std::uint64_t family() const { return family_; }

  double h = 0;
  std::span<std::int64_t> mass_start, mass_column, jacobian_start, jacobian_column, block_start;
  std::span<std::int64_t> kind, constraint, ids;
  std::span<double> mass_value, velocity, force, jacobian_value;
  std::span<double> value, offset, stiffness, damping, exponent, dissipation, lower, upper, friction, curvature;

 private:
  Sizes sizes_;
  std::uint64_t family_;
  std::vector<std::int64_t> integers_;  // which the spans divide among themselves
  std::vector<double> reals_;
};

// A copy of a step whose blocks are constraints of their own.
Record record_of(const Step& step);

void bind_record(nanobind::module_& module);

}  // namespace pliant
