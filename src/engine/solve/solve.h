// The solve of one step: islands, two tiers, the convex answer as the last resort, the certificate.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>
#include "solve/tuning.h"
#include "step/step.h"

namespace pliant {

enum class Status : std::int64_t { solved, solved_by_fallback, iteration_limit, non_finite };
enum class ContactState : std::int64_t { open, stick, slip };

struct Options {
  bool convex = false;       // the associated cone in place of Coulomb's law
  double tolerance = 1e-8;   // of the residual, in the energy norm
  int max_iterations = 100;  // of each tier
  Tuning tuning;
};

struct IslandReport {
  double residual = 0;      // of the conditions that were asked for
  double law_residual = 0;  // of Coulomb's law
  int iterations = 0, factorizations = 0;
  Status status = Status::solved;
};

struct Report {
  Status status = Status::solved;
  double residual = 0, law_residual = 0, momentum_residual = 0;
  int iterations = 0, factorizations = 0;
};

// Owns all memory of a solve and what is kept from one solve to the next: the order of elimination while the graph of
// contacts stands. It changes no answer. One per thread.
class Solver {
 public:
  Solver();
  ~Solver();
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;
  Solver(Solver&&) noexcept;
  Solver& operator=(Solver&&) noexcept;

  // guess: a velocity near v1, from which the pieces of the laws are predicted, or empty: v0.
  // start: forces near the answer's, or empty. shifted: the step differs from the one of the last solve in rate offsets
  // and force alone, which saves time and changes no answer. Fills velocity (nv), force (m), impulse (nv, or empty: then the
  // report has no residual of momentum), state (m, or empty: contacts' states on their normal rows, OPEN elsewhere).
  Report solve(const Step& step, std::span<const double> guess, std::span<const double> start, const Options& options,
               std::span<double> velocity, std::span<double> force, std::span<double> impulse,
               std::span<std::int64_t> state, bool shifted = false);

  // What becomes of the answer of the last solve where rate offsets change by so much, (m), to first order: `velocity` is set,
  // `force` follows. anew: on factors at the answer, else on those of the last time. False: it was not one island's, or its
  // derivative is not at hand.
  bool respond(const Step& step, std::span<const double> change, bool anew, std::span<double> velocity,
               std::span<double> force);

  // Of the last solve: an entry per island, and the island of every row.
  std::span<const IslandReport> islands() const;
  std::span<const std::int64_t> row_island() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace pliant
