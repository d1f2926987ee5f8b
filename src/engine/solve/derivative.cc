#include "solve/derivative.h"

#include <algorithm>
#include <cmath>
#include "linalg/dense.h"

namespace pliant {
namespace {

constexpr double stiff = 1e8;  // h a S of a law that takes so many digits from the others
constexpr double rim = 1e-9;   // a contact slips when the natural map leaves its disc by more than this fraction
// Rigid rows may be redundant, or all but redundant, as the feet of a box are, and would then carry opposing forces of
// any size to enforce what other rows enforce already. They get a compliance of `least` h a, which stretches from the
// forces of the round before: where rows are not redundant, every round takes eight digits of it back. Few rounds, or what
// is all but redundant comes back; always as many, so that the transposed map is the transpose of the map.
constexpr double least = 1e-8;
constexpr double softest = 1e-14;  // the same of laws that are stiffer than that: what Z, rounded, can bear
constexpr int rounds_if_rigid = 4;
// Corrections of a round at most, and the one that ends them, relative to the forces. Where rows push against each other,
// what they leave over counts.
constexpr int corrections = 8;
constexpr double settled = 1e-16, settled_if_stiff = 1e-26;

enum : int { value, rate_offset, stiffness, damping, friction };

// x, or (a + b) / divisor, which is the same number, whichever was summed from smaller terms.
double sharper(double x, double size, double a, double b, double divisor) {
  return divisor > 0 && (std::fabs(a) + std::fabs(b)) / divisor < size ? (a + b) / divisor : x;
}

bool is_one_sided(Kind kind) { return kind == Kind::unilateral || kind == Kind::normal; }

// Where a one-sided law gives its force: rate of penetration r = (d - d0) / h and penetration d. As far as it goes from
// the force: gap + h p is a small difference of large numbers.
struct Spring {
  double r, d;
  double steep, loss;  // how the force grows with d, and with -d0
};

Spring spring_at(const Row& row, double h, double force, double rate, double size) {
  const double K = row.stiffness, b = row.damping / h, before = std::max(0.0, -row.gap);
  double r = std::max(-before / h, -rate - std::max(row.gap, 0.0) / h), compliance;
  if (row.power) r = -rate_at(row, h, std::max(force, 0.0), compliance) - std::max(row.gap, 0.0) / h;
  double d = std::max(0.0, before + h * r);
  if (!row.power && row.slope > 0 && force > 0) {
    d = (force + b * before) / (K + b);
    r = sharper(r, size, force, -K * before, row.slope);
  }
  const double grown = 1 + row.dissipation * r;
  return {r, d, K * row.exponent * std::pow(d, row.exponent - 1) * grown,
          K * std::pow(d, row.exponent) * row.dissipation / h + b};
}

}  // namespace

Derivative::Derivative(const Step& step, View<const double> force, bool convex, Patterns& patterns)
    : step_(step),
      velocity_(step.velocity.begin(), step.velocity.end()),
      push_(step.force.begin(), step.force.end()),
      applied_(push_),
      offset_(static_cast<std::size_t>(step.rows()), 0.0) {
  step_.velocity = std::span<const double>(velocity_);
  step_.force = std::span<const double>(push_);
  step_.offset = std::span<const double>(offset_);
  const Islands islands = find_islands(step_, work_);
  for (int k = 0; k < islands.count; k++) {
    Part& part = parts_.emplace_back();
    part.velocities = islands.at(k).velocities;
    part.rows.load(step_, islands.at(k), patterns, work_);
    part.pattern = *part.rows.pattern;
    part.rows.pattern = &part.pattern;
    part.rows.precise = true;
    load(part, islands.local, step.offset, force, convex ? 1 : 0);
  }
}

// The pieces at the answer's forces and the rates that they lead to, and the factors.
void Derivative::load(Part& part, View<const int> local, View<const double> offset, View<const double> force,
                      double lift) {
  Rows& rows = part.rows;
  part.gain = work_.take<double>(rows.velocities);
  part.rate = work_.filled<double>(rows.count, 0.0);
  part.force = work_.filled<double>(rows.count, 0.0);
  part.tail = work_.filled<double>(rows.count, 0.0);
  part.stretch = work_.take<double>(rows.count);
  part.right = work_.take<double>(rows.count);
  part.low = work_.take<double>(rows.count);
  part.hold = work_.filled<double>(rows.squares, 0.0);
  part.drag = work_.filled<double>(rows.squares, 0.0);
  part.matrix = work_.filled<double>(rows.squares, 0.0);
  part.force_shift = work_.filled<double>(row_data * rows.count, 0.0);
  part.rate_shift = work_.filled<double>(row_data * rows.count, 0.0);
  part.rounds = rows.count > 0 ? 1 : 0;
  if (rows.count == 0) return;
  part.linear.reserve(rows, work_);
  const Workspace::Mark mark = work_.mark();
  View<double> size = work_.take<double>(rows.count);  // |G| |v1| + |e|
  NaturalMap map;
  map.reserve(rows, work_);
  for (int i = 0; i < rows.count; i++) {
    Row& row = rows.row[i];
    const Row own = make_row(step_, rows.source[i]);  // of rows that move nothing `load` knows the force
    row.lower = own.lower;
    row.upper = own.upper;
    row.constant = own.constant;
    row.power = own.power;
    row.proximal = row.slope < infinity ? 0 : row.self > 0 ? rows.h * row.self : 1;
    if (row.slope == infinity) part.rounds = rounds_if_rigid;
    part.force[i] = force[rows.source[i]];
  }
  rows.exact_rates(part.force, part.rate, part.gain);
  for (int j = 0; j < rows.velocities; j++) part.gain[j] += velocity_[static_cast<std::size_t>(part.velocities[j])];
  for (int i = 0; i < rows.count; i++) {
    const int source = rows.source[i];
    part.rate[i] += offset[source];
    size[i] = std::fabs(offset[source]);
    for (auto e = step_.jacobian_start[source]; e < step_.jacobian_start[source + 1]; e++) {
      size[i] += std::fabs(step_.jacobian_value[e] * part.gain[local[step_.jacobian_column[e]]]);
    }
  }
  map.measure(rows, part.force, part.rate, lift);
  for (int number = 0; number < rows.block.size(); number++) {
    set_block(part, map, number, size[rows.block[number].first], lift);
  }
  work_.release(mark);
  if (part.stiffest > stiff) part.linear.be_precise(work_);
  for (const Block& b : rows.block) {
    double B[largest_square], C[largest_square];
    std::copy_n(part.matrix.at(b.square), b.size * b.size, B);
    std::copy_n(part.drag.at(b.square), b.size * b.size, C);
    part.linear.set_block(b, B, C, least);
  }
  regular_ = rows.sane && part.linear.factor() && regular_;
}

void Derivative::set_block(Part& part, const NaturalMap& map, int number, double size, double lift) {
  const Block& b = part.rows.block[number];
  const bool closed = set_scalar(part, map, number, size, lift);
  for (int j = 1; !closed && j < b.size; j++)
    part.hold[b.square + j * (b.size + 1)] = part.matrix[b.square + j * (b.size + 1)] = 1;
  if (closed && b.size > 1) set_tangents(part, map, number, lift);
  for (int i = b.first; i < b.first + b.size; i++) part.rate_shift[row_data * i + rate_offset] = 1;
}

// A law of this slope: whether it asks for twofold precision, or more than that.
void Derivative::meet(Part& part, Row& row, double slope) {
  const double stiffness = part.rows.h * row.self * slope;
  part.stiffest = std::max(part.stiffest, stiffness);
  if (!(stiffness * softest > 1)) return;
  row.proximal = softest / least * part.rows.h * row.self;
  part.rounds = rounds_if_rigid;
}

// A scalar row or a contact's normal. Returns whether it follows its law.
bool Derivative::set_scalar(Part& part, const NaturalMap& map, int number, double size, double lift) {
  const Rows& rows = part.rows;
  const Block& b = rows.block[number];
  const Row& row = rows.row[b.first];
  const double h = rows.h, f = part.force[b.first], trial = row.fixed() ? row.constant : f - map.y[b.first];
  double &L = part.hold[b.square], &C = part.drag[b.square], &B = part.matrix[b.square];
  L = B = 1;
  if (!(row.lower < trial && trial < row.upper)) return false;
  double* shift = part.force_shift.at(row_data * b.first);
  double p = part.rate[b.first] - (lift != 0 ? lift * map.speed[number] : 0);
  double slope = row.slope;
  if (slope == infinity) {
    L = 0;
  } else if (is_one_sided(step_.kind_of(rows.source[b.first]))) {  // K d^q (1 + alpha r) + B r
    const Spring spring = spring_at(row, h, f, p, size);
    if (row.power) slope = h * (spring.steep + spring.loss);
    shift[value] = -spring.steep - (row.gap < 0 ? 0 : spring.loss);
    shift[stiffness] = std::pow(spring.d, row.exponent) * (1 + row.dissipation * spring.r);
    shift[damping] = spring.r;
  } else {  // -K phi - (h K + B) p
    const double K = row.stiffness, loss = row.damping / h, phi = row.gap;
    p = sharper(p, size, -f, -K * phi, row.slope);
    shift[value] = -K;
    shift[stiffness] = -sharper(phi + h * p, std::fabs(phi) + h * size, -f, loss * phi, K + loss);
    shift[damping] = -p;
  }
  // A stiff row is divided by S.
  const bool divided = h * row.self * slope > 1;
  if (slope < infinity) meet(part, part.rows.row[b.first], slope);
  C = divided ? 1 : slope;
  if (divided && slope < infinity) L = 1 / slope;
  B = L;
  return true;
}

void Derivative::set_tangents(Part& part, const NaturalMap& map, int number, double lift) {
  const Rows& rows = part.rows;
  const Block& b = rows.block[number];
  const Row* row = rows.row.at(b.first);
  const int d = b.size;
  const double h = rows.h, radius = part.force[b.first], speed = map.speed[number], length = map.length[number];
  double *L = part.hold.at(b.square), *C = part.drag.at(b.square), *B = part.matrix.at(b.square);
  const bool slips = length > std::max(radius, 0.0) * (1 + rim);
  const double full = speed + radius * h * row->reach;
  for (int j = 1; j < d; j++) {
    const Row& t = row[j];
    const int i = b.first + j;
    if (!(t.mu > 0)) {
      L[j * d + j] = B[j * d + j] = 1;
      continue;
    }
    double *force_shift = part.force_shift.at(row_data * i), *rate_shift = part.rate_shift.at(row_data * i);
    if (t.compliance > 0) {
      meet(part, part.rows.row[i], t.slope);
      const double R = t.compliance, u = (part.force[i] + t.stiffness * t.gap) * R;
      rate_shift[value] = t.stiffness * R;
      rate_shift[stiffness] = (t.gap - h * u) * R;
      rate_shift[damping] = -u * R;
    }
    if (!slips) {
      C[j * d + j] = 1;
      B[j * d + j] = t.compliance;
      continue;
    }
    force_shift[friction] = part.force[i] * t.inverse_mu;
    rate_shift[friction] = map.slip[i] * t.inverse_mu * t.inverse_mu;
    for (int s = 1; s < d; s++) {
      if (!(row[s].mu > 0)) continue;
      const double along = map.z[i] / length * (map.z[b.first + s] / length), across = (s == j) - along;
      L[j * d + s] = t.mu * row[s].inverse_mu * (along + speed / full * across);
      C[j * d + s] = t.mu * row[s].mu * radius / full * across;
      B[j * d + s] = L[j * d + s] + C[j * d + s] * row[s].compliance;
    }
    B[j * d] = -t.mu * map.z[i] / length;
    if (lift != 0 && speed > 0) {
      C[j] = -lift * C[0] * t.mu * map.slip[i] / speed;
      B[j] = C[j] * t.compliance;
    }
  }
}

// Gain and rates of the forces high + low: forces that cancel may be so large that their last digits move the bodies.
void Derivative::respond(Part& part, View<const double> high, View<const double> low) {
  const Rows& rows = part.rows;
  for (int j : part.velocities) push_[static_cast<std::size_t>(j)] = applied_[static_cast<std::size_t>(j)];
  for (int i = 0; i < rows.count; i++) {
    if (low[i] == 0) continue;
    for (auto e = step_.jacobian_start[rows.source[i]]; e < step_.jacobian_start[rows.source[i] + 1]; e++) {
      push_[static_cast<std::size_t>(step_.jacobian_column[e])] += step_.jacobian_value[e] * low[i];
    }
  }
  rows.exact_rates(high, part.rate, part.gain);
}

// force + tail := the solution, from `correct`, which fills linear.dforce with what they lack of it, by the factors;
// `stretch` are the forces that the least compliance feels.
template <class Correct>
void Derivative::refine(Part& part, Correct correct) {
  const Rows& rows = part.rows;
  const bool fine = part.linear.precise || part.rounds > 1;
  std::fill(part.force.begin(), part.force.end(), 0.0);
  std::fill(part.tail.begin(), part.tail.end(), 0.0);
  for (int round = 0; round < part.rounds; round++) {
    std::fill(part.stretch.begin(), part.stretch.end(), 0.0);
    for (int step = 0; step < corrections; step++) {
      correct();
      double change = 0, whole = 0;
      for (int i = 0; i < rows.count; i++) {
        const double weight = rows.row[i].self > 0 ? std::sqrt(rows.row[i].self) : 1;
        Twofold sum(part.force[i], part.tail[i]);
        sum += part.linear.dforce[i];
        part.force[i] = sum.high;
        part.tail[i] = sum.low;
        part.stretch[i] += part.linear.dforce[i];
        change = std::max(change, weight * std::fabs(part.linear.dforce[i]));
        whole = std::max(whole, weight * std::fabs(sum.high));
      }
      if (change <= (fine ? settled_if_stiff : settled) * whole) break;
    }
  }
}

void Derivative::forward(std::span<const double> data, std::span<double> result) {
  const std::size_t nv = velocity_.size(), m = offset_.size();
  std::copy_n(data.begin(), nv, velocity_.begin());
  std::copy_n(data.begin() + static_cast<std::ptrdiff_t>(nv), nv, applied_.begin());
  std::fill(result.begin(), result.end(), 0.0);
  const View<const double> rows_data = data.subspan(2 * nv);
  View<double> v1 = result.first(nv), forces = result.last(m);
  for (Part& part : parts_) {
    const Rows& rows = part.rows;
    for (const Block& b : rows.block) {  // k = L dforce - C drate
      const int d = b.size;
      double force[largest_block] = {}, rate[largest_block] = {};
      for (int i = 0; i < d; i++) {
        for (int q = 0; q < row_data; q++) {
          const double change =
              rows_data[static_cast<std::size_t>(q) * m + static_cast<std::size_t>(rows.source[b.first + i])];
          force[i] += part.force_shift[row_data * (b.first + i) + q] * change;
          rate[i] += part.rate_shift[row_data * (b.first + i) + q] * change;
        }
      }
      for (int i = 0; i < d; i++) {
        const double *L = part.hold.at(b.square + i * d), *C = part.drag.at(b.square + i * d);
        part.right[b.first + i] = 0;
        for (int j = 0; j < d; j++) part.right[b.first + i] += L[j] * force[j] - C[j] * rate[j];
      }
    }
    refine(part, [&] {
      respond(part, part.force, part.tail);
      for (const Block& b : rows.block) {  // k - B dlambda - C dp
        double miss[largest_block];
        for (int i = 0; i < b.size; i++) {
          Twofold sum(part.right[b.first + i]);
          for (int j = 0; j < b.size; j++) {
            const double matrix = -part.matrix[b.square + i * b.size + j];
            sum.add_product(matrix, part.force[b.first + j]);
            sum.add_product(matrix, part.tail[b.first + j]);
            const double give = least * rows.row[b.first + j].proximal * part.stretch[b.first + j];
            sum.add_product(-part.drag[b.square + i * b.size + j], part.rate[b.first + j]);
            sum.add_product(-part.drag[b.square + i * b.size + j], give);
          }
          miss[i] = sum.value();
        }
        part.linear.set_right(b, miss);
      }
      part.linear.solve({});
    });
    respond(part, part.force, part.tail);
    for (int i = 0; i < rows.count; i++) forces[rows.source[i]] = part.force[i];
    for (int j = 0; j < rows.velocities; j++) {
      v1[part.velocities[j]] = velocity_[static_cast<std::size_t>(part.velocities[j])] + part.gain[j];
    }
  }
}

// With x the cotangents of the velocities, z of the forces, y of the right sides k:
//   M a + G' C' y = x,   B' y = z + h G a;   cotangents of v0: M a,  of f: h a,  of dforce: L' y,  of drate: -C' y
void Derivative::transposed(std::span<const double> result, std::span<double> data) {
  const std::size_t nv = velocity_.size(), m = offset_.size();
  const double h = step_.h;
  const View<const double> z = result.last(m);
  std::fill(data.begin(), data.end(), 0.0);
  std::fill(velocity_.begin(), velocity_.end(), 0.0);
  for (std::size_t j = 0; j < nv; j++) applied_[j] = result[j] / h;
  const View<double> before = data.first(nv), push = data.subspan(nv, nv), rows_data = data.subspan(2 * nv);
  const Workspace::Mark mark = work_.mark();
  View<Twofold> Ma = work_.take<Twofold>(nv);  // x - G' C' y
  std::copy_n(result.begin(), nv, Ma.begin());
  for (Part& part : parts_) {
    const Rows& rows = part.rows;
    const View<double> y = part.force, tail = part.tail;
    const auto act = [&] {  // the momentum of -C' y
      for (const Block& b : rows.block) {
        for (int j = 0; j < b.size; j++) {
          Twofold sum;
          for (int i = 0; i < b.size; i++) {
            const double drag = -part.drag[b.square + i * b.size + j];
            sum.add_product(drag, y[b.first + i]);
            sum.add_product(drag, tail[b.first + i]);
          }
          sum = sum / Twofold(h);
          part.right[b.first + j] = sum.high;
          part.low[b.first + j] = sum.low;
        }
      }
      respond(part, part.right, part.low);
    };
    refine(part, [&] {
      act();
      for (const Block& b : rows.block) {  // z + h G a - B' y
        for (int j = 0; j < b.size; j++) {
          Twofold sum(z[rows.source[b.first + j]]);
          sum.add_product(h, part.rate[b.first + j]);
          for (int i = 0; i < b.size; i++) {
            const double matrix = -part.matrix[b.square + i * b.size + j];
            sum.add_product(matrix, y[b.first + i]);
            sum.add_product(matrix, tail[b.first + i]);
          }
          for (int i = 0; i < b.size; i++) {
            const double give = least * rows.row[b.first + j].proximal * part.stretch[b.first + i];
            sum.add_product(-part.drag[b.square + i * b.size + j], give);
          }
          part.right[b.first + j] = sum.value();
        }
      }
      part.linear.solve_transposed(part.right);
    });
    act();
    for (int j = 0; j < rows.velocities; j++) push[part.velocities[j]] = h * part.gain[j];
    for (const Block& b : rows.block) {
      for (int j = 0; j < b.size; j++) {
        const int i = b.first + j;
        double hold = 0;
        for (int s = 0; s < b.size; s++) hold += part.hold[b.square + s * b.size + j] * y[b.first + s];
        const Twofold drag = Twofold(h) * Twofold(part.right[i], part.low[i]);
        for (int q = 0; q < row_data; q++) {
          rows_data[static_cast<std::size_t>(q) * m + static_cast<std::size_t>(rows.source[i])] =
              part.force_shift[row_data * i + q] * hold + part.rate_shift[row_data * i + q] * drag.value();
        }
        for (auto e = step_.jacobian_start[rows.source[i]]; e < step_.jacobian_start[rows.source[i] + 1]; e++) {
          Ma[step_.jacobian_column[e]] += Twofold(step_.jacobian_value[e]) * drag;
        }
      }
    }
  }
  for (std::size_t j = 0; j < nv; j++) before[j] = Ma[j].value();
  work_.release(mark);
}

}  // namespace pliant
