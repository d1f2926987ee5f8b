#include "solve/solve.h"

#include <algorithm>
#include <cmath>
#include "linalg/dense.h"
#include "solve/certificate.h"
#include "solve/continuation.h"
#include "solve/interior.h"
#include "solve/newton.h"
#include "step/islands.h"

namespace pliant {
namespace {

constexpr int usual = 8;            // iterations, above which tier 2 follows
constexpr int soonest = 4;          // iterations of the path before which nobody looks at the residual
constexpr int most = 1'000'000;     // iterations: so many are no limit, and multiples of them are numbers still
constexpr int patience = 4;         // times the iterations of the path, for the last resort
constexpr int few = 3;              // Newton steps from forces on the path
constexpr int briefly = 5;          // times max_iterations, to close gradually for a last digit
constexpr double nearer = 0.03;     // how far the residual must fall before they are tried again
constexpr double farther = 1e4;     // how far out a path that got stuck begins anew
constexpr double near = 1e-6;       // residual of forces that lack their last digits alone
constexpr double may_jam = 1e8;     // h a S of a law between which friction jams beyond what both tiers solve
constexpr double rounding = 1e-11;  // a residual that needs no more digits

}  // namespace

struct Solver::Parts {
  Workspace work;
  Patterns patterns;
  Rows rows, none;  // none: of islands without any
  Linear linear;
  NaturalMap map;
  Newton newton;
  Interior path;
  Continuation continuation;
  Islands islands;
  Workspace::Mark loaded{};  // behind the rows
  bool stands = false;       // whether the rows are all of the last step, one island's
  std::vector<IslandReport> reports;
  std::vector<std::int64_t> row_island;

  void load(const Step& step, const Island& island) {
    rows.load(step, island, patterns, work);
    linear.reserve(rows, work);
    map.reserve(rows, work);
    newton.reserve(rows, work);
    loaded = work.mark();
  }
  IslandReport solve_island(const Step& step, View<const double> guess, View<const double> start,
                            const Options& options, View<double> gain);
  void attempt(const Step& step, View<const double> guess, View<const double> start, const Options& options,
               IslandReport& report, View<double> gain);
  void attempt_precisely(const Step& step, View<const double> guess, View<const double> start, const Options& options,
                         IslandReport& report, View<double> gain);
  void begin(const Step& step, View<const double> guess, View<const double> start);
  void try_again(const Step& step, View<const double> guess, View<const double> start, double lift,
                 const Options& options, View<double> gain);
  void close_gradually(const Options& options, IslandReport& report, View<double> gain);
  void search(const Options& options, bool convex, IslandReport& report);
  void follow(const Options& options, double lift, View<double> best, double& least);
  void find_states(View<std::int64_t> states) const;
  void fall_back(const Options& options, bool may_cancel, IslandReport& report, View<double> gain);
  void be_precise() {
    linear.be_precise(work);
    rows.precise = true;
  }
  void be_plain() { rows.precise = linear.precise = false; }
};

Solver::Solver() : parts_(std::make_unique<Parts>()) {}
Solver::~Solver() = default;
Solver::Solver(Solver&&) noexcept = default;
Solver& Solver::operator=(Solver&&) noexcept = default;

std::span<const IslandReport> Solver::islands() const { return parts_->reports; }
std::span<const std::int64_t> Solver::row_island() const { return parts_->row_island; }

// Tier 2. A path that gets stuck began too near: its forces had too far to go. Newton takes the last digits from the best
// forces of one that did not end.
void Solver::Parts::search(const Options& options, bool convex, IslandReport& report) {
  const Workspace::Mark mark = work.mark();
  const double size = newton.residual < 1 ? largest_product(rows.weight.data(), newton.force.data(), rows.count) : 0;
  View<double> best = work.filled<double>(rows.count, 0.0);
  double least = infinity;
  path.reserve(rows, options.tuning, work);
  rows.find_free();
  for (double wider = 1; wider <= options.tuning.widest; wider *= farther) {
    path.start(rows, linear, convex, size, wider);
    follow(options, convex ? 1.0 : 0.0, best, least);
    if (least < options.tolerance || !path.stuck || path.iterations >= options.max_iterations) break;
  }
  report.iterations += path.iterations;
  if (!(newton.residual < options.tolerance)) {
    newton.forget_factors(rows);
    newton.start_at(rows, best);
    newton.residual = least;
    if (!(least < options.tolerance)) {
      newton.run(rows, linear, map,
                 {.steps = options.tuning.last_digits,
                  .lift = convex ? 1.0 : 0.0,
                  .tolerance = options.tolerance,
                  .early = true});
      if (!(newton.residual < least)) {
        newton.start_at(rows, best);
        newton.residual = least;
      }
    }
  }
  work.release(mark);
}

// Along the path to its end, or to forces from which Newton gets there. best: the forces of the least residual.
void Solver::Parts::follow(const Options& options, double lift, View<double> best, double& least) {
  const Workspace::Mark mark = work.mark();
  const int begin = path.iterations;
  View<double> forces = work.take<double>(rows.count), rate = work.take<double>(rows.count);
  double next_try = options.tuning.near;
  do {
    if (path.iterations > begin && path.iterations < begin + soonest) continue;
    path.project(forces);
    rows.rates(forces, rate);
    map.measure(rows, forces, rate, lift);
    const double residual = map.moving;
    if (residual < least) {
      least = residual;
      std::copy(forces.begin(), forces.end(), best.begin());
    }
    if (residual < next_try) {
      newton.forget_factors(rows);
      newton.start_at(rows, forces);
      newton.run(rows, linear, map, {.steps = few, .lift = lift, .tolerance = options.tolerance, .from = residual});
      if (newton.residual < options.tolerance) least = newton.residual;
      next_try = nearer * residual;
    }
  } while (!(least < options.tolerance) && path.iterations < options.max_iterations && path.advance());
  work.release(mark);
}

// Newton once more from where tier 1 began, and without giving up: some go round in circles for long before they end.
void Solver::Parts::try_again(const Step& step, View<const double> guess, View<const double> start, double lift,
                              const Options& options, View<double> gain) {
  const Workspace::Mark mark = work.mark();
  View<double> best = work.take<double>(rows.count);
  const double least = newton.residual;
  std::copy(newton.force.begin(), newton.force.end(), best.begin());
  begin(step, guess, start);
  newton.run(
      rows, linear, map,
      {.steps = std::min(options.tuning.again, options.max_iterations), .lift = lift, .tolerance = options.tolerance});
  rows.exact_rates(newton.force, newton.rate, newton.low, gain);
  newton.residual = map.measure(rows, newton.force, newton.rate, lift, newton.low);
  if (!(newton.residual < least)) {
    newton.start_at(rows, best);
    newton.residual = least;
  }
  work.release(mark);
}

// From the step with its contacts wide open back to the step.
void Solver::Parts::close_gradually(const Options& options, IslandReport& report, View<double> gain) {
  const Tuning& tuning = options.tuning;
  const int limit = options.max_iterations * (newton.residual < options.tolerance ? briefly : tuning.closing);
  const Workspace::Mark mark = work.mark();
  View<double> best = work.take<double>(rows.count);
  const double least = newton.residual;
  std::copy(newton.force.begin(), newton.force.end(), best.begin());
  continuation.reserve(rows, linear, map, newton, work);
  if (continuation.open()) {
    search(options, true, report);
    if (newton.residual < options.tolerance) continuation.close(tuning.finely, limit);
    continuation.end();
    rows.exact_rates(newton.force, newton.rate, newton.low, gain);
    newton.residual = map.measure(rows, newton.force, newton.rate, 0, newton.low);
    newton.forget_factors(rows);
  }
  if (!(newton.residual < least)) {
    newton.start_at(rows, best);
    newton.residual = least;
  }
  work.release(mark);
}

void Solver::Parts::begin(const Step& step, View<const double> guess, View<const double> start) {
  newton.forget_factors(rows);
  if (start.empty()) newton.start(rows, step.velocity, guess.empty() ? step.velocity : guess, work);
  else newton.start_at(rows, start);
}

// Both tiers, and the last digits.
void Solver::Parts::attempt(const Step& step, View<const double> guess, View<const double> start,
                            const Options& options, IslandReport& report, View<double> gain) {
  const double lift = options.convex ? 1 : 0;
  if (!start.empty()) {
    std::copy(start.begin(), start.end(), newton.force.begin());
    newton.polish(rows, linear, map, lift, options.max_iterations, gain, near);
    if (newton.residual < options.tolerance) return;
  }
  begin(step, guess, start);
  newton.run(rows, linear, map,
             {.steps = std::min(options.tuning.steps, options.max_iterations),
              .lift = lift,
              .tolerance = options.tolerance,
              .early = true});
  const bool goes_on = options.max_iterations > usual && options.tuning.path;
  if (newton.residual < options.tolerance || !goes_on)
    newton.polish(rows, linear, map, lift, options.max_iterations, gain);
  if (newton.residual < options.tolerance || !goes_on) return;
  search(options, options.convex, report);
  if (!(newton.residual < options.tolerance)) try_again(step, guess, start, lift, options, gain);
  newton.polish(rows, linear, map, lift, options.max_iterations, gain);
}

// Both tiers with more digits, where that helps.
void Solver::Parts::attempt_precisely(const Step& step, View<const double> guess, View<const double> start,
                                      const Options& options, IslandReport& report, View<double> gain) {
  View<double> before = work.take<double>(rows.count);
  const double least = newton.residual;
  std::copy(newton.force.begin(), newton.force.end(), before.begin());
  attempt(step, guess, start, options, report, gain);
  if (newton.residual < least) return;
  newton.start_at(rows, before);
  newton.polish(rows, linear, map, options.convex ? 1 : 0, options.max_iterations, gain);
}

// The convex program, which always has an answer. Where little slides it is Coulomb's.
void Solver::Parts::fall_back(const Options& options, bool may_cancel, IslandReport& report, View<double> gain) {
  View<double> before = work.take<double>(rows.count);
  std::copy(newton.force.begin(), newton.force.end(), before.begin());
  Options patient = options;
  patient.max_iterations *= patience;
  be_plain();
  search(patient, true, report);
  newton.polish(rows, linear, map, 1, patient.max_iterations, gain);
  if (!(newton.residual < options.tolerance) && may_cancel) {
    be_precise();
    search(patient, true, report);
    newton.polish(rows, linear, map, 1, patient.max_iterations, gain);
  }
  const bool answered = newton.residual < options.tolerance;
  if (!answered) {
    newton.start_at(rows, before);
    rows.exact_rates(newton.force, newton.rate, newton.low, gain);
  }
  report.residual = map.measure(rows, newton.force, newton.rate, 0, newton.low);
  if (report.residual < options.tolerance) report.status = Status::solved;
  else if (answered) report.status = Status::solved_by_fallback;
}

IslandReport Solver::Parts::solve_island(const Step& step, View<const double> guess, View<const double> start,
                                         const Options& options, View<double> gain) {
  IslandReport report;
  const double lift = options.convex ? 1 : 0;
  linear.begin();
  newton.begin(rows, options.tuning);
  path.lost = false;
  rows.cancellation = options.tuning.cancellation;
  const bool may_cancel =
      rows.stiffest > options.tuning.stiff && rows.sane;  // double precision may not have the digits
  if (may_cancel && rows.linear) be_precise();
  attempt(step, guess, start, options, report, gain);
  const bool short_of_digits =
      !(newton.residual < std::max(rounding, map.floor)) && (newton.settled || !(newton.residual < options.tolerance));
  const bool nearly = rows.sane && newton.residual < near;
  if ((may_cancel || nearly) && !rows.precise && short_of_digits && options.max_iterations > usual) {
    be_precise();
    newton.forget_factors(rows);
    if (newton.residual < options.tolerance) newton.polish(rows, linear, map, lift, options.max_iterations, gain);
    else attempt_precisely(step, guess, start, options, report, gain);
  }
  const bool missed = !(newton.residual < (path.lost ? 0.1 : 1.0) * options.tolerance);
  const bool may_close = options.max_iterations > usual && !options.convex && options.tuning.closing > 0;
  if (missed && may_close && rows.sane && rows.stiffest > may_jam) {
    be_plain();
    close_gradually(options, report, gain);
    be_precise();
    newton.forget_factors(rows);
    newton.polish(rows, linear, map, lift, options.max_iterations, gain);
  }
  report.residual = newton.residual;
  report.status = report.residual < options.tolerance ? Status::solved : Status::iteration_limit;
  if (report.status != Status::solved && !options.convex && options.max_iterations > usual)
    fall_back(options, may_cancel || nearly, report, gain);
  report.law_residual = options.convex ? map.measure(rows, newton.force, newton.rate, 0, newton.low) : report.residual;
  report.iterations += newton.iterations;
  report.factorizations = linear.factorizations;
  return report;
}

void Solver::Parts::find_states(View<std::int64_t> states) const {
  const auto run = [](const Run&) {};
  const auto block = [&](int number) {
    const Block& b = rows.block[number];
    if (b.size == 1) return;
    const double normal = newton.force[b.first];
    bool rubs = false;
    for (int i = b.first + 1; i < b.first + b.size; i++) rubs = rubs || rows.row[i].mu > 0;
    const bool slides = !rubs || map.length[number] > normal * (1 + 1e-9);
    const ContactState found = normal <= 0 ? ContactState::open : slides ? ContactState::slip : ContactState::stick;
    states[rows.source[b.first]] = static_cast<std::int64_t>(found);
  };
  rows.walk(run, block);
}

Report Solver::solve(const Step& step, std::span<const double> guess, std::span<const double> start,
                     const Options& options, std::span<double> velocity, std::span<double> force,
                     std::span<double> impulse, std::span<std::int64_t> state, bool shifted) {
  Parts& p = *parts_;
  Workspace& work = p.work;
  View<double> v1 = velocity, all_forces = force;
  View<std::int64_t> states = state;
  View<const double> given = start;
  Options bounded = options;
  bounded.max_iterations = std::min(options.max_iterations, most);
  std::fill(force.begin(), force.end(), 0.0);
  std::fill(states.begin(), states.end(), static_cast<std::int64_t>(ContactState::open));
  const bool stands = shifted && p.stands && p.rows.shift(step);
  p.stands = false;
  if (stands) {
    work.release(p.loaded);
  } else {
    work.reset();
    p.islands = find_islands(step, work);
    p.row_island.assign(p.islands.row_island.begin(), p.islands.row_island.end());
  }
  const Islands& islands = p.islands;
  const bool alone = std::ranges::count_if(islands.number, [](int n) { return n >= 0; }) == 1;
  p.reports.clear();
  Report report;
  View<double> push = impulse, size = work.filled<double>(push.size(), 0.0);
  std::fill(push.begin(), push.end(), 0.0);
  for (int k = 0; k < islands.count; k++) {
    const Workspace::Mark mark = work.mark();
    const Island island = islands.at(k);
    const bool idle = islands.number[k] < 0;
    if (idle) p.none.load(step, island, p.patterns, work);
    else if (!stands) p.load(step, island);
    View<double> gain = work.take<double>(island.velocities.size());
    if (idle) {
      p.none.exact_rates({}, {}, {}, gain);
    } else {
      View<double> from;
      if (!given.empty()) {
        from = work.take<double>(p.rows.count);
        for (int i = 0; i < p.rows.count; i++) from[i] = given[p.rows.source[i]];
      }
      IslandReport one = p.solve_island(step, guess, from, bounded, gain);
      if (!p.rows.sane || !is_sane(p.newton.force) || !is_sane(gain) || std::isnan(one.residual)) {
        one.status = Status::non_finite;
        one.residual = infinity;
      }
      p.reports.push_back(one);
      for (int i = 0; i < p.rows.count; i++) all_forces[p.rows.source[i]] = p.newton.force[i] + 0.0;
      if (!push.empty()) p.rows.add_impulse(p.newton.force, push, size);
      if (!states.empty()) p.find_states(states);
    }
    for (int j = 0; j < island.velocities.size(); j++) {
      v1[island.velocities[j]] = step.velocity[island.velocities[j]] + gain[j];
    }
    work.release(alone && !idle ? p.loaded : mark);
  }
  for (const IslandReport& one : p.reports) {
    report.status = std::max(report.status, one.status);
    report.residual = std::max(report.residual, one.residual);
    report.law_residual = std::max(report.law_residual, one.law_residual);
    report.iterations += one.iterations;
    report.factorizations += one.factorizations;
  }
  if (!is_sane(v1)) report.status = Status::non_finite;
  if (!push.empty()) report.momentum_residual = momentum_residual(step, v1, push, size);
  p.stands = alone;
  if (alone) p.newton.keep_factors(p.rows);
  return report;
}

bool Solver::respond(const Step& step, std::span<const double> change, bool anew, std::span<double> velocity,
                     std::span<double> force) {
  constexpr double epsilon = 1e-12;  // proximal: it bounds P, and takes that share of the digits
  Parts& p = *parts_;
  if (!p.stands || p.linear.precise || p.reports.front().status != Status::solved) return false;
  Rows& rows = p.rows;
  const Workspace::Mark mark = p.work.mark();
  View<double> gain = p.work.take<double>(rows.velocities), rates = p.work.take<double>(rows.count);
  bool found = true;
  if (anew) {
    rows.exact_rates(p.newton.force, p.newton.rate, p.newton.low, gain);
    p.map.measure(rows, p.newton.force, p.newton.rate, 0, p.newton.low);
    found = p.newton.linearise_at(rows, p.linear, p.map, epsilon);
  }
  if (found) {
    for (int i = 0; i < rows.count; i++) rates[i] = change[static_cast<std::size_t>(rows.source[i])];
    p.linear.respond(rates);
    for (int i = 0; i < rows.count; i++) {
      p.newton.force[i] += p.linear.dforce[i];
      force[static_cast<std::size_t>(rows.source[i])] = p.newton.force[i];
    }
    rows.exact_rates(p.newton.force, p.newton.rate, p.newton.low, gain);
    for (int k = 0; k < p.islands.count; k++) {
      if (p.islands.number[k] < 0) continue;
      const Island island = p.islands.at(k);
      for (int j = 0; j < island.velocities.size(); j++) {
        const int v = island.velocities[j];
        velocity[static_cast<std::size_t>(v)] = step.velocity[v] + gain[j];
      }
    }
  }
  p.newton.forget_factors(rows);
  p.work.release(mark);
  return found;
}

}  // namespace pliant
