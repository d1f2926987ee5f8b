#include "solve/newton.h"

#include <algorithm>
#include <cmath>
#include "linalg/dense.h"

namespace pliant {
namespace {

constexpr double least_epsilon = 1e-12, precise_epsilon = 1e-24;  // the least proximal terms that the factors bear
constexpr double rounding = 1e-12;                                // a residual below which iterations end at once
constexpr double contraction = 0.1;                               // what a step on old factors must gain

// The piece of the natural map that a block is on.
enum : char { held = 0, active = 1, upper = 2, slips = 4, sticks = 8, unknown = 16 };

}  // namespace

void Newton::reserve(const Rows& rows, Workspace& work) {
  force = work.filled<double>(rows.count, 0.0);
  rate = work.take<double>(rows.count);
  low = work.filled<double>(rows.count, 0.0);
  missing_ = work.filled<double>(rows.count, 0.0);
  best_ = work.take<double>(rows.count);
  raw_ = work.take<double>(rows.count);
  piece_ = work.take<char>(rows.block.size());
  previous_ = work.take<char>(rows.block.size());
  kept_ = work.take<char>(rows.block.size());
  at_hand_ = false;
}

void Newton::begin(const Rows& rows, const Tuning& tuning) {
  tuning_ = tuning;
  std::fill(piece_.begin(), piece_.end(), unknown);
  settled = false;
  forget_factors(rows);
  iterations = 0;
}

void Newton::keep_factors(const Rows& rows) {
  at_hand_ = factored_ && !refined_ && !bent_ && !rows.precise;
  kept_epsilon_ = epsilon_;
  std::copy(piece_.begin(), piece_.end(), kept_.begin());
}

bool Newton::factor(Linear& linear) {
  iterations++;
  if (same_) linear.factorizations++;  // a report does not depend on what was solved before
  return factored_ = same_ || linear.factor();
}

void Newton::forget_factors(const Rows& rows) {
  factored_ = refined_ = false;
  epsilon_ = rows.linear || rows.precise ? least_epsilon : tuning_.proximal;
}

void Newton::start(const Rows& rows, View<const double> before, View<const double> guess, Workspace& work) {
  const double h = rows.h;
  const Workspace::Mark mark = work.mark();
  View<double> old = work.take<double>(rows.count);
  rows.find_free();
  rows.rates_of(guess, rate);
  rows.rates_of(before, old);
  double changed = 0, fastest = 0;
  for (const Block& b : rows.block) {
    for (int i = b.first; i < b.first + b.size; i++) {
      changed = std::max(changed, std::fabs(rows.free[i] - rate[i]));
      if (i > b.first) fastest = std::max(fastest, rows.row[i].mu * std::fabs(rate[i] + rows.row[i].bias));
    }
  }
  const double slowest = std::max(1e-8 * changed, 0.01 * fastest);  // slower is no slip to rely on
  for (const Block& b : rows.block) {
    const Row& row = rows.row[b.first];
    const double p = rate[b.first];
    double f = force_at(row, h, p);
    // A contact that the guess stops carries about what stops it alone; its law knows no better when stiff.
    const double speed = -(rows.free[b.first] + std::max(row.gap, 0.0) / h);
    if (row.lower == 0 && row.self > 0 && speed > 0 && p < 0.5 * speed && !(row.gap > 0 && p > 0)) {
      const double alone = speed / (h * row.self);
      f = f > 0 ? std::min(f, 2 * alone) : tuning_.share_alone * alone;
    }
    f = force[b.first] = clip(row.fixed() ? row.constant : f, row.lower, row.upper);
    for (int i = b.first + 1; i < b.first + b.size; i++) force[i] = 0;
    if (b.size == 1 || !(f > 0)) continue;
    // Slip that keeps the direction it had before the step starts just outside the rim, against the slip.
    double now = 0, then = 0, both = 0;
    for (int i = b.first + 1; i < b.first + b.size; i++) {
      const Row& t = rows.row[i];
      const double u = t.mu * (rate[i] + t.bias), v = t.mu * (old[i] + t.bias);
      now += u * u;
      then += v * v;
      both += u * v;
    }
    if (!(std::min(now, then) > slowest * slowest && both > tuning_.keeps_direction * then)) continue;
    const double radius = row.fixed() ? f : std::max(f, f - correction(row, h, linearise(row, h, f, p), p));
    for (int i = b.first + 1; i < b.first + b.size; i++) {
      const Row& t = rows.row[i];
      force[i] = -(1 + 1e-6) * radius * t.mu * t.mu * (rate[i] + t.bias) / std::sqrt(now);
    }
  }
  rows.rates(force, missing_);
  for (int i = 0; i < rows.count; i++) missing_[i] -= rate[i];
  work.release(mark);
}

void Newton::start_at(const Rows& rows, View<const double> given) {
  std::copy(given.begin(), given.end(), force.begin());
  rows.rates(force, rate);
  std::fill(missing_.begin(), missing_.end(), 0.0);
}

void Newton::run(const Rows& rows, Linear& linear, NaturalMap& map, const Plan& plan) {
  double best = infinity, last = plan.from, found = infinity;
  bool stale = true;  // whether the factors are not worth another step
  std::copy(force.begin(), force.end(), best_.begin());
  map.measure(rows, force, rate, plan.lift);
  for (int iteration = 0, step = 0; iteration < plan.steps && step < 4 * plan.steps; step++) {
    const bool fresh = set_pieces(rows, linear, map, plan.lift, stale || !(last < tuning_.chord));
    if (fresh) {
      if (!factor(linear)) break;
      iteration++;
    }
    linear.solve(missing_);
    for (int i = 0; i < rows.count; i++) force[i] += linear.dforce[i];
    rows.rates(force, rate);
    std::fill(missing_.begin(), missing_.end(), 0.0);
    found = map.measure(rows, force, rate, plan.lift);
    if (found < best) {
      best = found;
      std::copy(force.begin(), force.end(), best_.begin());
    }
    if (found < rounding || (found < plan.tolerance && found > 0.3 * last)) break;  // at rounding error
    if (plan.from < infinity && !(found < contraction * plan.from)) break;
    stale = !(found < contraction * last);
    if (!fresh && found > 0.3 * last && found < tuning_.chord && found > map.floor && !rows.linear)
      refine(linear.precise);
    last = found;
    if (plan.early && ((iteration == 3 && best >= tuning_.hopeless) || (iteration == 7 && best >= tuning_.slow))) break;
  }
  residual = best;
  if (!(found == best && best < infinity)) start_at(rows, best_);
}

bool Newton::find_pieces(const Rows& rows, const NaturalMap& map, View<char> pieces) const {
  bool bent = false;
  const auto find_run = [&](const Run& r) {
    const View<const double> f = force.part(r.row, r.count), y = map.y.part(r.row, r.count);
    const View<const double> low = rows.law.lower.part(r.row, r.count), high = rows.law.upper.part(r.row, r.count);
    const View<char> piece = pieces.part(r.block, r.count);
    for (int k = 0; k < piece.size(); k++) {
      const double target = f[k] - y[k];
      const int above = target > low[k], beyond = !(target < high[k]);
      piece[k] = static_cast<char>(above + (above & beyond));
    }
  };
  const auto find = [&](int number) {
    const Block& b = rows.block[number];
    const Row& row = rows.row[b.first];
    char piece = held;
    double radius = clip(row.constant, row.lower, row.upper);
    if (!row.fixed()) {
      radius = force[b.first] - map.y[b.first];
      piece = radius > row.lower ? (radius < row.upper ? active : upper) : held;
      bent = bent || (row.power && piece == active);
    }
    if (b.size > 1 && radius > 0) {
      piece = static_cast<char>(piece | (map.length[number] <= radius ? sticks : slips));
      bent = bent || (piece & slips);
    }
    pieces[number] = piece;
  };
  rows.walk(find_run, find);
  return bent;
}

bool Newton::linearise_at(const Rows& rows, Linear& linear, const NaturalMap& map, double epsilon) {
  epsilon_ = epsilon;
  set_pieces(rows, linear, map, 0, true);
  return factor(linear);
}

// Per block B dlambda + C dp = k of the piece at hand. Where the pieces are those of the factors and `fresh` does not ask
// for new ones, only the right sides are set; returns whether P is to be factored.
bool Newton::set_pieces(const Rows& rows, Linear& linear, const NaturalMap& map, double lift, bool fresh) {
  std::swap(piece_, previous_);
  const bool bent = find_pieces(rows, map, piece_);
  bent_ = bent || lift != 0;
  settled = std::equal(piece_.begin(), piece_.end(), previous_.begin());
  fresh = !(factored_ && settled) || (fresh && bent) || refined_;
  refined_ = false;
  same_ = at_hand_ && !bent_ && linear.factorizations == 0 && !linear.precise && kept_epsilon_ == epsilon_ &&
          std::equal(piece_.begin(), piece_.end(), kept_.begin());
  const bool anew = fresh && !same_;
  const auto set = [&](int number) {
    const Block& b = rows.block[number];
    if (b.size == 1) set_scalar(rows, linear, map, b, piece_[number], anew);
    else set_contact(rows, linear, map, number, lift, anew);
  };
  rows.walk([&](const Run& r) { set_run(rows, linear, map, r, anew); }, set);
  return fresh;
}

// As `set_scalar`, many at once; whether a row is active is found anew, as numbers beside the others.
void Newton::set_run(const Rows& rows, Linear& linear, const NaturalMap& map, const Run& r, bool fresh) {
  const Columns& law = rows.law;
  if (fresh) {
    for (int k = 0; k < r.count; k++) {
      const int i = r.row + k;
      const double target = force[i] - map.y[i];
      const bool moves = (target > law.lower[i]) & (target < law.upper[i]);
      const double share = law.share[i], slope = law.slope[i] * share;
      linear.set_scalar(r.square + k, moves ? share : 1, moves ? slope : 0, epsilon_ * law.proximal[i]);
    }
  }
  for (int k = 0; k < r.count; k++) {
    const int i = r.row + k;
    const double f = force[i], target = f - map.y[i];
    const bool moves = (target > law.lower[i]) & (target < law.upper[i]);
    linear.set_right(i, r.square + k, moves ? -map.y[i] : clip(target, law.lower[i], law.upper[i]) - f);
  }
}

//   held at a bound: dlambda = bound - lambda;   active: dlambda + S dp = -(1 + h a S) y,  over 1 + h a S
void Newton::set_scalar(const Rows& rows, Linear& linear, const NaturalMap& map, const Block& b, char piece,
                        bool fresh) {
  const Row& row = rows.row[b.first];
  const double f = force[b.first];
  double B = 1, C = 0, k;
  if (piece == active) {
    const Line& line = map.line[b.first];
    const bool rigid = line.slope == infinity;
    B = rigid ? 0 : 1 / (1 + rows.h * row.self * line.slope);
    C = rigid ? 1 / (rows.h * row.self) : line.slope * B;
    k = -map.y[b.first];
  } else {
    k = clip(row.fixed() ? row.constant : f - map.y[b.first], row.lower, row.upper) - f;
  }
  if (fresh) linear.set_scalar(b.square, B, C, epsilon_ * row.proximal);
  linear.set_right(b.first, b.square, k);
}

void Newton::set_contact(const Rows& rows, Linear& linear, const NaturalMap& map, int number, double lift, bool fresh) {
  const Block& b = rows.block[number];
  const Row* row = rows.row.at(b.first);
  const double* f = force.at(b.first);
  const double* z = map.z.at(b.first);
  const int d = b.size;
  double B[largest_square] = {}, C[largest_square] = {}, k[largest_block];
  double radius = clip(row->constant, row->lower, row->upper);
  B[0] = 1;
  k[0] = radius - f[0];
  if (!row->fixed()) {
    const double y = map.y[b.first];
    radius = f[0] - y;
    k[0] = clip(radius, row->lower, row->upper) - f[0];
    if (piece_[number] & active) {
      const Line& line = map.line[b.first];
      const bool rigid = line.slope == infinity;
      B[0] = rigid ? 0 : 1 / (1 + rows.h * row->self * line.slope);
      C[0] = rigid ? 1 / (rows.h * row->self) : line.slope * B[0];
      k[0] = -y;
      if (lift != 0 && map.speed[number] > 0) {  // p_n - lift |w|
        for (int j = 1; j < d; j++) {
          const double turn = -lift * C[0] * map.slip[b.first + j] / map.speed[number] * row[j].mu;
          C[j] = turn;
          B[j] = turn * row[j].compliance;
        }
      }
    }
  }
  const double scale = 1 / (rows.h * row->reach), length = map.length[number];
  for (int j = 1; j < d; j++) {
    B[j * d + j] = 1;
    k[j] = -f[j];
  }
  if (piece_[number] & sticks) {  // p + R lambda + bias = 0
    for (int j = 1; j < d; j++) {
      const double share = scale * row[j].mu * row[j].mu;
      if (share == 0) continue;
      B[j * d + j] = share * row[j].compliance;
      C[j * d + j] = share;
      k[j] = -scale * row[j].mu * map.slip[b.first + j];
    }
  } else if (piece_[number] & slips) {  // lambda_t = mu lambda_n z / |z|, with (I - t t') radius / |z| dz for the turn
    for (int j = 1; j < d; j++) {
      if (row[j].mu == 0) continue;
      const double along = z[j] / length;
      k[j] += row[j].mu * along * f[0];
      B[j * d] = -row[j].mu * along;
      for (int s = 1; s < d; s++) {
        const double turn = radius / length * row[j].mu * ((s == j) - along * z[s] / length);
        const double drag = turn * scale * row[s].mu;
        B[j * d + s] += drag * row[s].compliance - turn * row[s].inverse_mu;
        C[j * d + s] = drag;
      }
    }
  }
  if (fresh) linear.set_block(b, B, C, epsilon_);
  linear.set_right(b, k);
}

void Newton::refine(bool precise) {
  const double least = precise ? precise_epsilon : least_epsilon;
  refined_ = epsilon_ > least;
  if (refined_) epsilon_ = std::max(tuning_.finer * epsilon_, least);
}

void Newton::polish(const Rows& rows, Linear& linear, NaturalMap& map, double lift, int limit, View<double> gain,
                    double near) {
  constexpr int patience = 1;  // steps in a row that may be for the worse, while the pieces settle
  const int steps = tuning_.polish;
  double best = infinity, last = infinity;
  int worse = 0;
  bool moved = false;  // since the last measure
  std::copy(force.begin(), force.end(), best_.begin());
  for (int step = 0; step <= steps; step++) {
    std::copy(force.begin(), force.end(), raw_.begin());
    rows.project(force);
    rows.exact_rates(force, rate, low, gain);
    const double found = map.measure(rows, force, rate, lift, low);
    moved = false;
    worse = found < best ? 0 : worse + 1;
    if (found < best) {
      best = found;
      std::copy(force.begin(), force.end(), best_.begin());
    }
    if (found < 0.001 * rounding || worse > patience || step == steps || !(best < near)) break;
    if (worse > 0) {  // inside its bounds a force that the step sent far beyond them would throw all others off
      std::copy(raw_.begin(), raw_.end(), force.begin());
      rows.exact_rates(force, rate, low, gain);
      map.measure(rows, force, rate, lift, low);
    }
    const bool slow = found > 0.3 * last;
    if ((slow || step > 1) && found < std::max(rounding, map.floor)) break;
    if (slow && !rows.linear) refine(linear.precise);
    last = found;
    if (set_pieces(rows, linear, map, lift, slow)) {
      factored_ = false;
      if (iterations > limit || !factor(linear)) break;
    }
    linear.solve({});
    for (int i = 0; i < rows.count; i++) force[i] += linear.dforce[i];
    moved = true;
  }
  residual = best;
  if (worse == 0 && !moved) return;
  std::copy(best_.begin(), best_.end(), force.begin());
  rows.exact_rates(force, rate, low, gain);
  residual = map.measure(rows, force, rate, lift, low);
}

}  // namespace pliant
