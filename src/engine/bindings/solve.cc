#include "bindings/solve.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>
#include "bindings/arrays.h"
#include "bindings/record.h"
#include "linalg/dense.h"
#include "solve/certificate.h"
#include "solve/solve.h"

namespace pliant {

namespace {

// A vector of this length, or none of it; numbers that are not finite, or have no finite squares, say nothing either.
std::span<const double> start_of(nb::handle data, std::size_t size, const char* name) {
  if (data.is_none()) return {};
  const std::span<const double> values = reals(data, name);
  if (values.size() != size) {
    throw nb::value_error((std::string(name) + " must have " + std::to_string(size) + " entries").c_str());
  }
  return is_sane(values) ? values : std::span<const double>{};
}

// A number of the tiers by its name: one of the two.
struct Named {
  const char* name;
  int Tuning::* count;
  double Tuning::* number;
};

constexpr Named tuned[] = {
    {"share_alone", nullptr, &Tuning::share_alone},
    {"keeps_direction", nullptr, &Tuning::keeps_direction},
    {"steps", &Tuning::steps, nullptr},
    {"hopeless", nullptr, &Tuning::hopeless},
    {"slow", nullptr, &Tuning::slow},
    {"proximal", nullptr, &Tuning::proximal},
    {"finer", nullptr, &Tuning::finer},
    {"chord", nullptr, &Tuning::chord},
    {"path", &Tuning::path, nullptr},
    {"spread", nullptr, &Tuning::spread},
    {"widest", nullptr, &Tuning::widest},
    {"short_step", nullptr, &Tuning::short_step},
    {"damping", nullptr, &Tuning::damping},
    {"second_order", &Tuning::second_order, nullptr},
    {"corrections", &Tuning::corrections, nullptr},
    {"fraction", nullptr, &Tuning::fraction},
    {"patience", &Tuning::patience, nullptr},
    {"near", nullptr, &Tuning::near},
    {"last_digits", &Tuning::last_digits, nullptr},
    {"again", &Tuning::again, nullptr},
    {"closing", &Tuning::closing, nullptr},
    {"finely", nullptr, &Tuning::finely},
    {"stiff", nullptr, &Tuning::stiff},
    {"cancellation", nullptr, &Tuning::cancellation},
    {"polish", &Tuning::polish, nullptr},
};

nb::dict tuning_defaults() {
  const Tuning tuning;
  nb::dict made;
  for (const Named& one : tuned) {
    if (one.count) made[one.name] = tuning.*one.count;
    else made[one.name] = tuning.*one.number;
  }
  return made;
}

Tuning tuning_of(nb::handle given) {
  Tuning tuning;
  if (given.is_none()) return tuning;
  for (const auto& [key, value] : nb::cast<nb::dict>(given)) {
    const std::string name = nb::str(key).c_str();
    const Named* one = std::find_if(std::begin(tuned), std::end(tuned), [&](const Named& n) { return name == n.name; });
    if (one == std::end(tuned)) throw nb::value_error(("tuning has no number " + name).c_str());
    const bool fits =
        one->count ? nb::try_cast(value, tuning.*(one->count)) : nb::try_cast(value, tuning.*(one->number));
    if (!fits) throw nb::value_error((name + " must be a " + (one->count ? "whole number" : "number")).c_str());
  }
  return tuning;
}

// (velocity, force, impulse, state, (status, residual, law_residual, momentum_residual, iterations, factorizations),
//  (row_island, residual, law_residual, iterations, factorizations, status) of the islands)
nb::tuple solve(const Record& record, nb::handle guess, nb::handle start, bool convex, double tolerance,
                int max_iterations, nb::handle tuning) {
  // Memory, orders of elimination and the rows of the last step, which change no answer.
  thread_local Solver solver;
  thread_local std::uint64_t last = 0;
  const bool shifted = std::exchange(last, 0) == record.family();
  const Step step = record.view();
  const auto nv = static_cast<std::size_t>(step.velocities()), m = static_cast<std::size_t>(step.rows());
  const auto near = start_of(guess, nv, "guess"), forces = start_of(start, m, "start");
  NewReals velocity = new_reals(nv), force = new_reals(m), impulse = new_reals(nv);
  NewIntegers state = new_integers(m);
  const Options options{
      .convex = convex, .tolerance = tolerance, .max_iterations = max_iterations, .tuning = tuning_of(tuning)};
  Report report;
  {
    const nb::gil_scoped_release unlocked;
    report =
        solver.solve(step, near, forces, options, velocity.values, force.values, impulse.values, state.values, shifted);
    last = record.family();
  }
  const std::span<const IslandReport> islands = solver.islands();
  NewReals residual = new_reals(islands.size()), law_residual = new_reals(islands.size());
  NewIntegers iterations = new_integers(islands.size()), factorizations = new_integers(islands.size()),
              status = new_integers(islands.size());
  for (std::size_t island = 0; island < islands.size(); island++) {
    residual.values[island] = islands[island].residual;
    law_residual.values[island] = islands[island].law_residual;
    iterations.values[island] = islands[island].iterations;
    factorizations.values[island] = islands[island].factorizations;
    status.values[island] = static_cast<std::int64_t>(islands[island].status);
  }
  return nb::make_tuple(
      std::move(velocity.array), std::move(force.array), std::move(impulse.array), std::move(state.array),
      nb::make_tuple(static_cast<std::int64_t>(report.status), report.residual, report.law_residual,
                     report.momentum_residual, report.iterations, report.factorizations),
      nb::make_tuple(array_of(solver.row_island()), std::move(residual.array), std::move(law_residual.array),
                     std::move(iterations.array), std::move(factorizations.array), std::move(status.array)));
}

// (law residual, momentum residual) of an answer, whoever made it.
nb::tuple certify_answer(const Record& record, nb::handle force, nb::handle velocity, bool convex) {
  const Step step = record.view();
  const std::span<const double> forces = reals(force, "force"), reached = reals(velocity, "velocity");
  if (forces.size() != static_cast<std::size_t>(step.rows()) ||
      reached.size() != static_cast<std::size_t>(step.velocities())) {
    throw nb::value_error("force must have one entry per row, velocity one per velocity");
  }
  const Certificate found = certify(step, forces, reached, convex);
  return nb::make_tuple(found.law_residual, found.momentum_residual);
}

}  // namespace

void bind_solve(nb::module_& module) {
  module.def(
      "solve", &solve, nb::arg("record"), nb::arg("guess").none(), nb::arg("start").none(), nb::arg("convex"),
      nb::arg("tolerance"), nb::arg("max_iterations"), nb::arg("tuning") = nb::none(),
      "Solves the step of a record; guess: velocities, start: forces, or None; tuning: numbers of the tiers by name.");
  module.def("tuning", &tuning_defaults, "The numbers of the tiers, by name (solve/tuning.h).");
  module.def("certify", &certify_answer, nb::arg("record"), nb::arg("force"), nb::arg("velocity"),
             nb::arg("convex") = false, "The residuals of Coulomb's law, or of the associated cone, and of momentum.");
}

}  // namespace pliant
