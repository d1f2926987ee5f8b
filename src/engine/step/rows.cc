#include "step/rows.h"

#include <algorithm>
#include <cmath>
#include "linalg/dense.h"
#include "linalg/twofold.h"

namespace pliant {
namespace {

constexpr int few_rows = 64;
constexpr int few = 2;  // rows of a joint, which join a wider group

constexpr int wider = 8;                             // columns that it may gain there
constexpr int body = 6;                              // directions of a motion between two bodies
constexpr double outside = 1e-13;                    // what a row has outside the directions at hand makes one more
constexpr double fullness = 0.5;                     // share of entries of G above which it is kept dense
constexpr int shortest = 8;                          // run worth its loops
constexpr double soft = 1e4, stiff = 1e8;            // h a S of laws whose own compliance bounds P
constexpr double wide = 1e3;                         // pivots of M so far apart let rounding through
constexpr double nothing = 1e-300, largest = 1e150;  // beyond the latter squares overflow

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}

Twofold dot(const double* a, const Twofold* b, int n) {
  Twofold sum = 0.0;
  for (int c = 0; c < n; c++) sum = multiply_add(Twofold(a[c]), b[c], sum);
  return sum;
}

// Whether fewer multiplications assemble P from directions than from the rows themselves.
bool is_long(const Group& g) {
  const int n = g.stride, inner = padded(body);
  return g.rows * (n * n - inner * inner) > body * n * (n + inner);
}

struct Plain {
  double sum = 0;
  void add(double value) { sum += value; }
  void add_product(double a, double b) { sum += a * b; }
  void add_rest(double, double) {}
  double value() const { return sum; }
  double rest() const { return 0; }
};

}  // namespace

const Pattern& Patterns::find(int unknowns, const Sets& sets) {
  std::uint64_t hash = static_cast<std::uint64_t>(unknowns);
  for (int s : sets.start) hash = mix(hash, static_cast<std::uint64_t>(s));
  for (int c : sets.column) hash = mix(hash, static_cast<std::uint64_t>(c));
  const auto known = known_.find(hash);
  if (known != known_.end() && known->second.fits(unknowns, sets)) return known->second;
  if (known_.size() > 256) known_.clear();
  Pattern& pattern = known_[hash];
  pattern.find(unknowns, sets);
  return pattern;
}

void Rows::load(const Step& step, const Island& island, Patterns& patterns, Workspace& work) {
  step_ = &step;
  precise = false;
  island_ = island;
  work_ = &work;
  velocities = island.velocities.size();
  h = step.h;
  lawful_ = inertia_.factor(step, island.velocities, island.local, work);
  find_groups(work);
  order(patterns, work);
  whiten(work);
  set_laws();
  compress(work);
  reserve(work);
  free_motion();
  idle_ = false;
  for (const Block& b : block) set_scales(b);
  find_runs();
}

bool Rows::shift(const Step& step) {
  if (idle_) return false;
  step_ = &step;
  precise = false;
  free_motion();
  return true;
}

// A block acts on the velocities of its rows and, once whitened, on their ancestors.
void Rows::find_groups(Workspace& work) {
  const Step& s = *step_;
  const int blocks = island_.blocks.size(), n = velocities;
  View<int> group_of = work.take<int>(blocks);
  View<Group> found = work.take<Group>(blocks);
  View<int> alone = work.filled<int>(blocks, 0);  // of a group: its rows of one joint
  View<int> mark = work.filled<int>(n, -1);
  View<int> list = work.take<int>(n);
  int slots = 16;
  while (slots < 2 * blocks) slots *= 2;
  table_.resize(slots);
  std::fill(table_.data(), table_.data() + slots, -1);
  Pool<int>& columns = columns_;
  columns.clear();
  int groups = 0;
  count = squares = 0;
  for (int k = 0; k < blocks; k++) {
    const int number = island_.blocks[k];
    const auto first = s.block_start[number], end = s.block_start[number + 1];
    const auto begin = s.jacobian_start[first], stop = s.jacobian_start[end];
    if (k > 0) {  // most blocks act where the one before them does
      const int other = island_.blocks[k - 1];
      const auto their_first = s.block_start[other], their_end = s.block_start[other + 1];
      const auto theirs = s.jacobian_start[their_first];
      if (their_end - their_first == end - first && s.jacobian_start[their_end] - theirs == stop - begin &&
          std::equal(s.jacobian_column.at(begin), s.jacobian_column.at(stop), s.jacobian_column.at(theirs))) {
        group_of[k] = group_of[k - 1];
        found[group_of[k]].blocks++;
        found[group_of[k]].rows += static_cast<int>(end - first);
        alone[group_of[k]] += stop - begin == 1;
        continue;
      }
    }
    int width = 0;
    for (auto e = begin; e < stop; e++) {
      for (int j = island_.local[s.jacobian_column[e]]; j >= 0 && mark[j] != k; j = inertia_.parent(j)) {
        mark[j] = k;
        list[width++] = j;
      }
    }
    std::sort(list.begin(), list.begin() + width);
    std::uint64_t hash = static_cast<std::uint64_t>(width);
    for (int c = 0; c < width; c++) hash = mix(hash, static_cast<std::uint64_t>(list[c]));
    int slot = static_cast<int>(hash & static_cast<std::uint64_t>(slots - 1));
    for (;; slot = (slot + 1) & (slots - 1)) {
      const int g = table_[slot];
      if (g < 0 || (found[g].width == width &&
                    std::equal(list.begin(), list.begin() + width, columns.data() + found[g].columns)))
        break;
    }
    if (table_[slot] < 0) {
      table_[slot] = groups;
      const int stride = padded(width);
      found[groups++] = {0, 0, 0, 0, columns.size(), width, stride, 0, stride};
      for (int c = 0; c < width; c++) columns.push(list[c]);
    }
    group_of[k] = table_[slot];
    found[group_of[k]].blocks++;
    found[group_of[k]].rows += static_cast<int>(end - first);
    alone[group_of[k]] += stop - begin == 1;
  }
  groups = join_paths(found.part(0, groups), alone, group_of, work);
  group = found.part(0, groups);
  int blocks_before = 0, values = 0;
  for (Group& g : group) {
    g.first_block = blocks_before;
    g.first_row = count;
    g.values = values;
    blocks_before += g.blocks;
    count += g.rows;
    values += g.rows * g.stride;
  }
  block = work.take<Block>(blocks);
  source = work.take<int>(count);
  z = work.filled<double>(values, 0.0);
  View<int> next_block = work.take<int>(groups), next_row = work.take<int>(groups);
  for (int g = 0; g < groups; g++) {
    next_block[g] = group[g].first_block;
    next_row[g] = group[g].first_row;
  }
  for (int k = 0; k < blocks; k++) {
    const int number = island_.blocks[k], g = group_of[k];
    const int first = static_cast<int>(s.block_start[number]);
    const int size = static_cast<int>(s.block_start[number + 1]) - first;
    block[next_block[g]++] = {next_row[g], size, 0};
    for (int i = 0; i < size; i++) source[next_row[g]++] = first + i;
  }
  for (Block& b : block) {
    b.square = squares;
    squares += b.size * b.size;
  }
}

// Rows of one joint join a group that has its path to the root and is not much wider: those of a leg join its foot, or its last
// joint. Returns how many groups are left.
int Rows::join_paths(View<Group> found, View<const int> alone, View<int> group_of, Workspace& work) {
  const int groups = found.size();
  const auto last = [&](const Group& g) { return columns_[g.columns + g.width - 1]; };
  const auto joins = [&](int k) { return found[k].width > body && found[k].rows == alone[k] && found[k].rows <= few; };
  View<int> path = work.take<int>(groups);
  int paths = 0;
  for (int k = 0; k < groups; k++) {
    if (joins(k)) path[paths++] = k;
  }
  if (paths == 0 || groups == 1) return groups;
  const auto before = [&](int a, int b) {  // the widest first
    return found[a].width != found[b].width ? found[a].width > found[b].width : a < b;
  };
  std::sort(path.begin(), path.begin() + paths, before);
  View<int> cover = work.filled<int>(velocities, -1), home = work.take<int>(groups);  // cover: the narrowest group
  const auto take_in = [&](int k) {
    const Group& g = found[k];
    home[k] = k;
    for (int c = g.columns; c < g.columns + g.width; c++) {
      int& known = cover[columns_[c]];
      if (known < 0 || found[known].width > g.width) known = k;
    }
  };
  for (int k = 0; k < groups; k++) {
    if (!joins(k)) take_in(k);
  }
  for (int e = 0; e < paths; e++) {
    const int k = path[e], wide = cover[last(found[k])];
    if (wide < 0 || found[wide].width > found[k].width + wider || is_long(found[wide])) {
      take_in(k);
      continue;
    }
    home[k] = wide;
    found[wide].rows += found[k].rows;
    found[wide].blocks += found[k].blocks;
  }
  View<int> number = path;  // of a group that is left
  int left = 0, columns = 0;
  for (int k = 0; k < groups; k++) {
    if (home[k] != k) continue;
    Group g = found[k];
    std::copy_n(columns_.data() + g.columns, g.width, columns_.data() + columns);
    g.columns = columns;
    columns += g.width;
    number[k] = left;
    found[left++] = g;
  }
  columns_.resize(columns);
  for (int& g : group_of) g = number[home[g]];
  return left;
}

void Rows::order(Patterns& patterns, Workspace& work) {
  const int groups = group.size();
  View<int> start = work.take<int>(groups + 1);
  set_of = work.take<int>(groups);
  int used = 0;
  start[0] = 0;
  for (int g = 0; g < groups; g++) {
    set_of[g] = group[g].width > 0 ? used : -1;
    if (group[g].width > 0) start[++used] = group[g].columns + group[g].width;
  }
  sets = {start.part(0, used + 1), columns_.view()};
  pattern = &patterns.find(velocities, sets);
  column = work.take<int>(columns_.size());
  for (int e = 0; e < columns_.size(); e++) column[e] = pattern->position[static_cast<std::size_t>(columns_[e])];
}

// Every row solves z L = g from its last column on, with the part of L that its group has.
void Rows::whiten(Workspace& work) {
  const Step& s = *step_;
  own_ = work.take<double>(z.size());
  const Workspace::Mark mark = work.mark();
  View<int> place = work.take<int>(velocities);
  View<double> lower = work.take<double>(0), inverse = lower;
  for (Group& g : group) {
    const Workspace::Mark inner = work.mark();
    lower = work.filled<double>(g.width * g.stride, 0.0);
    inverse = work.take<double>(g.width);
    const int* own = columns_.data() + g.columns;
    for (int c = 0; c < g.width; c++) place[own[c]] = c;
    for (int c = 0; c < g.width; c++) {
      const View<const int> columns = inertia_.columns(own[c]);
      const double* values = inertia_.values(own[c]);
      for (int e = 0; e < columns.size() - 1; e++) lower[c * g.stride + place[columns[e]]] = values[e];
      inverse[c] = inertia_.inverse_diagonal(own[c]);
    }
    std::int64_t entries = 0;
    for (int i = g.first_row; i < g.first_row + g.rows; i++) {
      entries += s.jacobian_start[source[i] + 1] - s.jacobian_start[source[i]];
    }
    g.full = static_cast<double>(entries) >= fullness * g.rows * g.stride;
    for (int i = g.first_row; i < g.first_row + g.rows; i++) {
      double* zi = z.at(g.values + (i - g.first_row) * g.inner);
      for (auto e = s.jacobian_start[source[i]]; e < s.jacobian_start[source[i] + 1]; e++) {
        zi[place[island_.local[s.jacobian_column[e]]]] = s.jacobian_value[e];
      }
      if (g.full) std::copy_n(zi, g.stride, own_.at(g.values + (i - g.first_row) * g.stride));
      for (int c = g.width - 1; c >= 0; c--) {
        if (zi[c] == 0) continue;
        const double value = zi[c] *= inverse[c];
        const double* l = lower.at(c * g.stride);
        for (int k = 0; k < c; k++) zi[k] -= value * l[k];
      }
    }
    work.release(inner);
  }
  work.release(mark);
}

// Rows one after the other: what one has outside the directions at hand is one more.
void Rows::compress(Workspace& work) {
  directions = work.take<double>(0);
  int used = 0;
  for (const Group& g : group) used += is_long(g) ? body * g.stride : 0;
  directions = work.take<double>(used);
  used = 0;
  const Workspace::Mark mark = work.mark();
  for (Group& g : group) {
    if (!is_long(g)) continue;
    const int n = g.stride;
    View<double> rest = work.take<double>(n), part = work.filled<double>(g.rows * padded(body), 0.0);
    double* const Q = directions.at(used);
    int rank = 0;
    bool fits = true;
    for (int i = 0; i < g.rows && fits; i++) {
      const double* zi = z.at(g.values + i * n);
      double* w = part.at(i * padded(body));
      std::copy(zi, zi + n, rest.begin());
      for (int again = 0; again < 2; again++) {
        for (int k = 0; k < rank; k++) {
          const double* q = Q + k * n;
          const double along = dot(q, rest.data(), n);
          w[k] += along;
          for (int c = 0; c < n; c++) rest[c] = multiply_add(-along, q[c], rest[c]);
        }
        if (again == 0 && dot(rest.data(), rest.data(), n) <= outside * outside * row[g.first_row + i].self) break;
        if (again == 0) continue;
        fits = rank < body;
        if (!fits) break;
        const double length = std::sqrt(dot(rest.data(), rest.data(), n));
        w[rank] = length;
        for (int c = 0; c < n; c++) Q[rank * n + c] = rest[c] / length;
        rank++;
      }
    }
    if (fits && rank > 0) {
      g.inner = padded(rank);
      g.rank = rank;
      g.basis = used;
      for (int i = 0; i < g.rows; i++) std::copy_n(part.at(i * padded(body)), g.inner, z.at(g.values + i * g.inner));
      used += rank * n;
    }
    work.release(mark);
  }
}

void Rows::expand(const Group& g, int i, View<double> to) const {
  const double* zi = z.at(g.values + i * g.inner);
  for (int c = 0; c < g.width; c++) {
    to[c] = g.rank > 0 ? 0 : zi[c];
    for (int k = 0; k < g.rank; k++) to[c] += zi[k] * directions[g.basis + k * g.stride + c];
  }
}

void Rows::set_laws() {
  stiffest = 0;
  linear = block.size() == count;
  row = work_->take<Row>(count);
  weight = work_->take<double>(count);
  for (const Group& g : group) {
    for (int i = g.first_row; i < g.first_row + g.rows; i++) {
      row[i] = make_row(*step_, source[i]);
      const double* zi = z.at(g.values + (i - g.first_row) * g.inner);
      row[i].self = dot(zi, zi, g.inner);
      weight[i] = row[i].weight = h * std::sqrt(row[i].self);
      if (row[i].slope < infinity) row[i].share = 1 / (1 + h * row[i].self * row[i].slope);
      row[i].proximal = h * row[i].self;
      const double stiffness = row[i].proximal * row[i].slope;
      if (!row[i].power && soft < stiffness && stiffness < stiff) row[i].proximal *= soft / stiffness;
      lawful_ = lawful_ && row[i].self < largest && std::fabs(row[i].constant) < largest;
      linear = linear && !row[i].power && row[i].lower == -infinity && row[i].upper == infinity;
      if (row[i].slope < infinity) stiffest = std::max(stiffest, h * row[i].self * row[i].slope);
    }
  }
}

void Rows::reserve(Workspace& work) {
  const int n = velocities;
  offset_ = work.take<double>(count);
  free_x_ = work.take<double>(n);
  x_ = work.take<double>(n);
  gain_ = work.take<double>(n);
  free = work.take<double>(count);
  scratch_ = work.take<double>(padded(n) + std::max(padded(n), padded(body)));
  precise_scratch_ = work.take<Twofold>(padded(n) + padded(body));
}

// x* = L v0 + h inv(L') f
void Rows::free_motion() {
  const int n = velocities;
  Workspace& work = *work_;
  int fine = 0;
  for (int i = 0; i < count; i++) {
    offset_[i] = step_->offset[source[i]];
    fine += std::fabs(offset_[i]) < largest;
  }
  sane = lawful_ && fine == count;
  const Workspace::Mark mark = work.mark();
  View<double> v = work.take<double>(n), before = work.take<double>(n), push = work.take<double>(n);
  for (int j = 0; j < n; j++) {
    v[j] = step_->velocity[island_.velocities[j]];
    push[j] = step_->force[island_.velocities[j]];
  }
  inertia_.multiply(v, before);
  inertia_.solve_transposed(push);
  energy = 0;
  for (int j = 0; j < n; j++) {
    const double after = before[j] + h * push[j];
    energy += before[j] * before[j] + after * after;
    free_x_[pattern->position[static_cast<std::size_t>(j)]] = after;
  }
  work.release(mark);
}

void Rows::open(double t, View<const double> d) {
  for (int i = 0; i < count; i++) offset_[i] = step_->offset[source[i]] + t * d[i];
}

void Rows::find_free() const {
  std::copy(offset_.begin(), offset_.end(), free.begin());
  for (const Group& g : group) add_along(g, View<const double>(free_x_), free);
}

void Rows::set_scales(const Block& b) {
  Row& normal = row[b.first];
  const bool known = b.size == 1 || normal.slope == infinity || normal.slope == 0;
  if (normal.self < nothing && known) {  // moves nothing: its force is known
    double force = normal.slope < infinity || normal.power
                       ? clip(force_at(normal, h, offset_[b.first]), normal.lower, normal.upper)
                       : 0;
    if (!std::isfinite(force)) force = 0;
    idle_ = true;
    normal.lower = normal.upper = normal.constant = force;
    normal.power = false;
  }
  for (int j = b.first + 1; j < b.first + b.size; j++) {
    normal.reach = std::max(normal.reach, row[j].mu * row[j].mu * (row[j].self + row[j].compliance / h));
  }
  if (normal.reach < nothing) {
    normal.reach = 1;
    for (int j = b.first + 1; j < b.first + b.size; j++) row[j].mu = row[j].inverse_mu = 0;
  }
  for (int j = b.first + 1; j < b.first + b.size; j++) {
    row[j].proximal = row[j].mu > 0 ? h * normal.reach * row[j].inverse_mu * row[j].inverse_mu : 0;
  }
}

void Rows::find_runs() {
  const auto fits = [&](const Block& b) {
    const Row& r = row[b.first];
    return b.size == 1 && !r.power && !r.fixed() && r.slope < infinity && r.self > 0;
  };
  run = work_->take<Run>(block.size() / shortest + 1);
  int found = 0, length = 0;
  for (int number = 0; number <= block.size(); number++) {
    if (number < block.size() && fits(block[number])) {
      length++;
      continue;
    }
    if (length >= shortest) {
      const Block& b = block[number - length];
      run[found++] = {number - length, b.first, b.square, length};
    }
    length = 0;
  }
  run = run.part(0, found);
  if (found == 0) return;
  const auto column = [&](double Row::* field) {
    View<double> values = work_->take<double>(count);
    for (const Run& r : run) {
      for (int i = r.row; i < r.row + r.count; i++) values[i] = row[i].*field;
    }
    return values;
  };
  law = {column(&Row::gap),          column(&Row::stiffness), column(&Row::damping),
         column(&Row::before_touch), column(&Row::slope),     column(&Row::share),
         column(&Row::lower),        column(&Row::upper),     column(&Row::proximal)};
}

template <class T>
void Rows::add_forces(const Group& g, View<const T> force, double scale, View<T> dx) const {
  T* sum = scratch<T>();
  combine(z.at(g.values), g.inner, g.rows, force.at(g.first_row), sum);
  if (g.rank > 0) {
    combine(directions.at(g.basis), g.stride, g.rank, sum, sum + g.inner);
    sum += g.inner;
  }
  const int* to = column.at(g.columns);
  for (int c = 0; c < g.width; c++) dx[to[c]] = multiply_add(T(scale), sum[c], dx[to[c]]);
}

template <class T>
void Rows::add_along(const Group& g, View<const T> dx, View<T> rate) const {
  T* local = scratch<T>();
  gather(dx.data(), column.at(g.columns), g.width, local);
  if (g.rank > 0) {
    T* const along = local + g.stride;
    for (int k = 0; k < g.inner; k++) {
      along[k] = k < g.rank ? dot(directions.at(g.basis + k * g.stride), local, g.stride) : T(0.0);
    }
    local = along;
  }
  add_products(z.at(g.values), g.inner, g.rows, local, rate.at(g.first_row));
}

template void Rows::add_forces(const Group&, View<const double>, double, View<double>) const;
template void Rows::add_forces(const Group&, View<const Twofold>, double, View<Twofold>) const;
template void Rows::add_along(const Group&, View<const double>, View<double>) const;
template void Rows::add_along(const Group&, View<const Twofold>, View<Twofold>) const;

void Rows::rates(View<const double> force, View<double> rate) const {
  if (precise) return exact_rates(force, rate, {}, gain_);
  std::copy(free_x_.begin(), free_x_.end(), x_.begin());
  for (const Group& g : group) add_forces(g, force, h, x_);
  std::copy(offset_.begin(), offset_.end(), rate.begin());
  for (const Group& g : group) add_along(g, View<const double>(x_), rate);
}

void Rows::rates_of(View<const double> velocity, View<double> rate) const {
  const Step& s = *step_;
  for (int i = 0; i < count; i++) {
    double sum = offset_[i];
    for (auto e = s.jacobian_start[source[i]]; e < s.jacobian_start[source[i] + 1]; e++) {
      sum += s.jacobian_value[e] * velocity[s.jacobian_column[e]];
    }
    rate[i] = sum;
  }
}

template <class Sum>
void Rows::sum_rates(View<const double> force, View<double> rate, View<double> low, View<double> gain) const {
  const Step& s = *step_;
  const int n = velocities;
  constexpr bool plain = std::is_same_v<Sum, Plain>;
  View<Sum> impulse = work_->filled<Sum>(n, Sum());  // h (f + G' lambda)
  View<double> more = work_->take<double>(n), before = work_->take<double>(n);
  for (int j = 0; j < n; j++) impulse[j].add_product(h, s.force[island_.velocities[j]]);
  for (const Group& g : group) {
    if (plain && g.full) {
      for (int i = 0; i < g.rows; i += few_rows) {  // sums of few lose fewer digits
        const int some = std::min(few_rows, g.rows - i);
        combine(own_.at(g.values) + i * g.stride, g.stride, some, force.at(g.first_row + i), scratch<double>());
        for (int c = 0; c < g.width; c++) impulse[columns_[g.columns + c]].add_product(h, scratch<double>()[c]);
      }
      continue;
    }
    for (int i = g.first_row; i < g.first_row + g.rows; i++) {
      if (force[i] == 0) continue;
      const double push = h * force[i], rest = std::fma(h, force[i], -push);
      for (auto e = s.jacobian_start[source[i]]; e < s.jacobian_start[source[i] + 1]; e++) {
        Sum& sum = impulse[island_.local[s.jacobian_column[e]]];
        sum.add_product(s.jacobian_value[e], push);
        sum.add_rest(s.jacobian_value[e], rest);
      }
    }
  }
  View<double> reached = work_->take<double>(n);
  View<double> beyond = work_->take<double>(n);  // what a double cannot hold of it
  for (int j = 0; j < n; j++) gain[j] = impulse[j].value();
  inertia_.solve_transposed(gain);
  inertia_.solve(gain);
  for (int j = 0; j < n; j++) {  // what is missing of M gain
    Twofold miss(impulse[j].value());
    const int global = island_.velocities[j];
    for (auto e = s.mass_start[global]; e < s.mass_start[global + 1]; e++) {
      miss.add_product(-s.mass_value[e], gain[island_.local[s.mass_column[e]]]);
    }
    more[j] = miss.value();
  }
  inertia_.solve_transposed(more);
  inertia_.solve(more);
  for (int j = 0; j < n; j++) {
    before[j] = s.velocity[island_.velocities[j]];
    if constexpr (plain) {
      reached[j] = before[j] + (gain[j] + more[j]);
    } else {
      Twofold sum = before[j];
      sum += gain[j];
      sum += more[j];
      reached[j] = sum.high;
      beyond[j] = sum.low;
    }
  }
  const auto sum_row = [&](int i) {
    Sum sum;
    sum.add(offset_[i]);
    for (auto e = s.jacobian_start[source[i]]; e < s.jacobian_start[source[i] + 1]; e++) {
      const int j = island_.local[s.jacobian_column[e]];
      const double value = s.jacobian_value[e];
      sum.add_product(value, reached[j]);
      if constexpr (!plain) sum.add_rest(value, beyond[j]);
    }
    rate[i] = sum.value();
    if (!low.empty()) low[i] = sum.rest();
  };
  for (const Group& g : group) {
    const int end = g.first_row + g.rows;
    if (plain && g.full) {
      gather(reached.data(), columns_.data() + g.columns, g.width, scratch<double>());
      std::copy(offset_.at(g.first_row), offset_.at(end), rate.at(g.first_row));
      if (!low.empty()) std::fill(low.at(g.first_row), low.at(end), 0.0);
      add_products(own_.at(g.values), g.stride, g.rows, scratch<double>(), rate.at(g.first_row));
    } else {
      for (int i = g.first_row; i < end; i++) sum_row(i);
    }
  }
  for (int j = 0; j < n; j++) gain[j] += more[j];
}

void Rows::exact_rates(View<const double> force, View<double> rate, View<double> low, View<double> gain) const {
  const double largest = largest_product(weight.data(), force.data(), count);
  const Workspace::Mark mark = work_->mark();
  if (precise || inertia_.spread() > wide || largest > cancellation * std::sqrt(energy))
    sum_rates<Twofold>(force, rate, low, gain);
  else sum_rates<Plain>(force, rate, low, gain);
  work_->release(mark);
}

void Rows::add_impulse(View<const double> force, View<double> impulse, View<double> size) const {
  const Step& s = *step_;
  for (const Group& g : group) {
    const int end = g.first_row + g.rows;
    if (g.full) {
      double *const sum = scratch<double>(), *const most = sum + g.stride;
      combine(own_.at(g.values), g.stride, g.rows, force.at(g.first_row), sum, most);
      for (int c = 0; c < g.width; c++) {
        const int j = island_.velocities[columns_[g.columns + c]];
        impulse[j] += h * sum[c];
        size[j] += h * most[c];
      }
      continue;
    }
    for (int i = g.first_row; i < end; i++) {
      const double push = h * force[i];
      if (push == 0) continue;
      for (auto e = s.jacobian_start[source[i]]; e < s.jacobian_start[source[i] + 1]; e++) {
        impulse[s.jacobian_column[e]] += s.jacobian_value[e] * push;
        size[s.jacobian_column[e]] += std::fabs(s.jacobian_value[e] * push);
      }
    }
  }
}

double Rows::friction_length(const Block& b, View<const double> force) const {
  double square = 0;
  for (int i = b.first + 1; i < b.first + b.size; i++)
    square += force[i] * row[i].inverse_mu * (force[i] * row[i].inverse_mu);
  return std::sqrt(square);
}

void Rows::project(View<double> force) const {
  const auto run = [&](const Run& r) {
    for (int i = r.row; i < r.row + r.count; i++) force[i] = clip(force[i], law.lower[i], law.upper[i]);
  };
  walk(run, [&](int number) {
    const Block& b = block[number];
    double& normal = force[b.first];
    normal = clip(normal, row[b.first].lower, row[b.first].upper);
    if (b.size == 1) return;
    const double length = friction_length(b, force), radius = std::max(0.0, normal);
    const double shrink = length > radius ? radius / length : 1;
    for (int i = b.first + 1; i < b.first + b.size; i++) force[i] *= row[i].mu > 0 ? shrink : 0;
  });
}

}  // namespace pliant
