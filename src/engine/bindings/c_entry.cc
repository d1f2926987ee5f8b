// The solve as a C function, for compiled code that calls no Python: MuJoCo's step.
#include "bindings/c_entry.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include "linalg/dense.h"
#include "solve/solve.h"

namespace pliant {
namespace {

// A table of 64-bit words, as pliant/systems/mujoco_engine.py fills it: the options, the step in the order of Step, and
// where the answer goes. A null start: there is none.
struct Request {
  double h, tolerance;
  std::int64_t convex, max_iterations, velocities, rows, blocks;
  const std::int64_t *mass_start, *mass_column;
  const double *mass_value, *velocity, *force;
  const std::int64_t *jacobian_start, *jacobian_column;
  const double* jacobian_value;
  const std::int64_t *block_start, *kind;
  const double *value, *offset, *stiffness, *damping, *exponent, *dissipation, *lower, *upper, *friction;
  const double *guess, *start;
  double *new_velocity, *row_force;
  double* report;  // residual, iterations, factorizations
};
static_assert(sizeof(Request) == 31 * sizeof(std::int64_t));

constexpr std::int64_t failed = -1;  // beside the values of Status: out of memory

template <class T>
std::span<T> view(T* first, std::int64_t count) {
  return first ? std::span<T>(first, static_cast<std::size_t>(count)) : std::span<T>();
}

Step step_of(const Request& r) {
  const std::int64_t n = r.velocities, m = r.rows;
  Step step;
  step.h = r.h;
  step.mass_start = view(r.mass_start, n + 1);
  step.mass_column = view(r.mass_column, r.mass_start[n]);
  step.mass_value = view(r.mass_value, r.mass_start[n]);
  step.velocity = view(r.velocity, n);
  step.force = view(r.force, n);
  step.jacobian_start = view(r.jacobian_start, m + 1);
  step.jacobian_column = view(r.jacobian_column, r.jacobian_start[m]);
  step.jacobian_value = view(r.jacobian_value, r.jacobian_start[m]);
  step.block_start = view(r.block_start, r.blocks + 1);
  step.kind = view(r.kind, m);
  step.value = view(r.value, m);
  step.offset = view(r.offset, m);
  step.stiffness = view(r.stiffness, m);
  step.damping = view(r.damping, m);
  step.exponent = view(r.exponent, m);
  step.dissipation = view(r.dissipation, m);
  step.lower = view(r.lower, m);
  step.upper = view(r.upper, m);
  step.friction = view(r.friction, m);
  return step;
}

// The guess is MuJoCo's last acceleration carried on, which users may overwrite with anything.
std::span<const double> guess_of(const Request& r) {
  const auto guess = view(r.guess, r.velocities);
  return is_sane(guess) ? guess : std::span<const double>();
}

std::int64_t solve(const Request& r) {
  thread_local Solver solver;
  Options options;
  options.convex = r.convex != 0;
  options.tolerance = r.tolerance;
  options.max_iterations = static_cast<int>(r.max_iterations);
  const Report report = solver.solve(step_of(r), guess_of(r), view(r.start, r.rows), options,
                                     view(r.new_velocity, r.velocities), view(r.row_force, r.rows), {}, {});
  r.report[0] = report.residual;
  r.report[1] = report.iterations;
  r.report[2] = report.factorizations;
  return static_cast<std::int64_t>(report.status);
}

}  // namespace

extern "C" std::int64_t pliant_solve(const Request* request) noexcept {
  try {
    return solve(*request);
  } catch (...) {  // no exception passes through compiled code
    return failed;
  }
}

void bind_c_entry(nanobind::module_& module) {
  module.def(
      "solve_entry", [] { return reinterpret_cast<std::uintptr_t>(&pliant_solve); },
      "The address of the C function that solves a step.");
}

}  // namespace pliant
