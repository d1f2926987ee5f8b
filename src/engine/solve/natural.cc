#include "solve/natural.h"

#include <algorithm>
#include <cmath>
#include "linalg/dense.h"
#include "linalg/twofold.h"

namespace pliant {
namespace {

constexpr double last_digits = 1e-15;  // of soft tangential forces: what they do to |w| does not count

// p_n - lift |w| with all digits of the rates: slip may be far faster than what moves.
Twofold lifted(const Rows& rows, const Block& b, View<const double> force, View<const double> rate, double lift,
               View<const double> low) {
  Twofold square;
  for (int i = b.first + 1; i < b.first + b.size; i++) {
    const Row& t = rows.row[i];
    Twofold slip = Twofold::normal(rate[i], low[i]) + Twofold(t.compliance) * Twofold(force[i]) + Twofold(t.bias);
    slip *= t.mu;
    square += slip * slip;
  }
  return Twofold::normal(rate[b.first], low[b.first]) - Twofold(lift) * sqrt(square);
}

// The largest misses and forces of a run, in the energy norm; sum: of what a maximum loses, a NaN.
struct Largest {
  double miss = 0, force = 0, sum = 0;
};

Largest largest_of(const Rows& rows, const Run& r, View<const double> force, View<const double> y) {
  const Columns& law = rows.law;
  double miss[lanes] = {}, most[lanes] = {}, sum[lanes] = {};
  const auto add = [&](int i, int l) {
    const double target = std::max(std::min(force[i] - y[i], law.upper[i]), law.lower[i]);
    const double off = std::fabs(force[i] - target);
    miss[l] = std::max(miss[l], rows.weight[i] * off);
    most[l] = std::max(most[l], rows.weight[i] * std::fabs(force[i]));
    sum[l] += off;
  };
  int i = r.row;
  const int end = r.row + r.count;
  for (; i + lanes <= end; i += lanes) {
    for (int l = 0; l < lanes; l++) add(i + l, l);
  }
  for (; i < end; i++) add(i, 0);
  Largest all;
  for (int l = 0; l < lanes; l++) {
    all.miss = std::max(all.miss, miss[l]);
    all.force = std::max(all.force, most[l]);
    all.sum += sum[l];
  }
  return all;
}

}  // namespace

void NaturalMap::measure_run(const Rows& rows, const Run& r, View<const double> force, View<const double> rate,
                             View<const double> low) {
  const Columns& law = rows.law;
  const double h = rows.h;
  const auto off = [&](int i) {
    return excess(h, law.gap[i], law.stiffness[i], law.damping[i], law.before_touch[i], force[i], rate[i]);
  };
  const int end = r.row + r.count;
  if (low.empty()) {
    for (int i = r.row; i < end; i++) y[i] = off(i) * law.share[i];
  } else {
    for (int i = r.row; i < end; i++) y[i] = (off(i) + law.slope[i] * low[i]) * law.share[i];
  }
}

void NaturalMap::reserve(const Rows& rows, Workspace& work) {
  line = work.take<Line>(rows.count);
  y = work.filled<double>(rows.count, 0.0);
  z = work.take<double>(rows.count);
  slip = work.take<double>(rows.count);
  length = work.filled<double>(rows.block.size(), 0.0);
  speed = work.filled<double>(rows.block.size(), 0.0);
}

double NaturalMap::measure(const Rows& rows, View<const double> force, View<const double> rate, double lift,
                           View<const double> low) {
  const double h = rows.h;
  double worst = 0, sum = 0, largest = 0, still = 0;  // still: of rows that move nothing
  auto count = [&](const Row& row, double f, double target, double known, double slack) {
    const double off = std::fabs(f - target), miss = off <= slack ? 0 : off - slack, weight = row.weight;
    sum += miss;  // the comparisons of max lose a NaN
    if (row.self > 0) {
      worst = std::max(worst, weight * miss);
      largest = std::max(largest, weight * std::fabs(f));
    } else if (miss > 0) {
      still = std::max(still, miss / (std::fabs(f) + std::fabs(known)));
    }
  };
  const auto run = [&](const Run& r) {
    measure_run(rows, r, force, rate, low);
    const Largest found = largest_of(rows, r, force, y);
    worst = std::max(worst, found.miss);
    largest = std::max(largest, found.force);
    sum += found.sum;
  };
  const auto block = [&](int number) {
    const Block& b = rows.block[number];
    const Row& row = rows.row[b.first];
    const double f = force[b.first];
    Twofold p(rate[b.first], low.empty() ? 0 : low[b.first]);
    double vague = 0;
    if (b.size > 1) {
      double fast = 0, far = 0;
      const double scale = 1 / (h * row.reach);
      for (int i = b.first + 1; i < b.first + b.size; i++) {
        const Row& t = rows.row[i];
        Twofold push(force[i]);  // lambda + K phi, which may cancel
        if (t.compliance > 0) push.add_product(t.stiffness, t.gap);
        slip[i] = t.mu * (rate[i] + t.compliance * push.value());
        if (!low.empty()) slip[i] += t.mu * low[i];
        z[i] = force[i] * t.inverse_mu - scale * slip[i];
        fast += slip[i] * slip[i];
        vague += last_digits * lift * t.mu * t.compliance * std::fabs(force[i]);
        far += z[i] * z[i];
      }
      speed[number] = std::sqrt(fast);
      length[number] = std::sqrt(far);
      if (lift != 0 && low.empty()) p = rate[b.first] - lift * speed[number];
      else if (lift != 0) p = lifted(rows, b, force, rate, lift, low);
    }
    double target = row.constant, slack = 0;
    if (!row.fixed()) {
      line[b.first] = linearise(row, h, f, p.high);
      if (!row.power && row.slope < infinity) line[b.first].off += row.slope * p.low;
      y[b.first] = correction(row, h, line[b.first], p.high);
      target = f - y[b.first];
      const double slope = line[b.first].slope;
      if (vague > 0) slack = vague * (slope < infinity ? slope / (1 + h * row.self * slope) : 1 / (h * row.self));
    }
    count(row, f, clip(target, row.lower, row.upper), row.constant, slack);
    if (b.size == 1) return;
    const double radius = std::max(0.0, f), shrink = length[number] > radius ? radius / length[number] : 1;
    for (int i = b.first + 1; i < b.first + b.size; i++)
      count(rows.row[i], force[i], rows.row[i].mu * shrink * z[i], 0, 0);
  };
  rows.walk(run, block);
  const double scale = std::sqrt(rows.energy + 1e-10 * largest * largest);
  if (!(sum < infinity && scale < infinity)) return moving = infinity;
  floor = scale > 0 ? 4 * std::numeric_limits<double>::epsilon() * largest / scale : 0;
  moving = worst == 0 ? 0 : scale > 0 ? worst / scale : 1;
  return std::max(moving, still);
}

}  // namespace pliant
