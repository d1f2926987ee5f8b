#include "linalg/fronts.h"

#include "linalg/dense.h"

#include <algorithm>
#include <cmath>
#include <queue>

namespace pliant {
namespace {

constexpr double visit = 400;  // multiplications that a front costs besides its own

// Multiplications to eliminate `pivots` of a dense front of n unknowns, and to hand on the rest.
double cost(int n, int pivots) {
  const double N = n, r = n - pivots;
  return (N * N * N - r * r * r) / 3 + r * r + visit;
}

using Ints = std::vector<int>;
std::size_t at(int i) { return static_cast<std::size_t>(i); }

// Unknowns that lie in the same sets are eliminated together: a cluster.
struct Clusters {
  std::vector<Ints> members;  // unknowns, ascending
  std::vector<Ints> of_set;   // clusters of each set
};

Clusters find_clusters(int unknowns, const Sets& sets) {
  std::vector<Ints> sets_of(at(unknowns));
  for (int g = 0; g < sets.count(); g++) {
    for (int e = sets.start[g]; e < sets.start[g + 1]; e++) sets_of[at(sets.column[e])].push_back(g);
  }
  Ints order;
  for (int j = 0; j < unknowns; j++) {
    if (!sets_of[at(j)].empty()) order.push_back(j);
  }
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    const int by = sets_of[at(a)] < sets_of[at(b)] ? -1 : sets_of[at(b)] < sets_of[at(a)];
    return by != 0 ? by < 0 : a < b;
  });
  Clusters found;
  found.of_set.resize(at(sets.count()));
  for (std::size_t k = 0; k < order.size(); k++) {
    const Ints& mine = sets_of[at(order[k])];
    if (k == 0 || mine != sets_of[at(order[k - 1])]) {
      for (int g : mine) found.of_set[at(g)].push_back(static_cast<int>(found.members.size()));
      found.members.emplace_back();
    }
    found.members.back().push_back(order[k]);
  }
  return found;
}

struct Supernode {
  Ints pivots, rest;  // clusters
  int pivot_size = 0, size = 0, parent = -1;
};

// Minimum degree: the cluster with the smallest front goes next. Eliminating it joins the sets it lies in to one, without
// it; clusters that lie in no other set have no further neighbours and go with it.
std::vector<Supernode> eliminate(const Clusters& clusters) {
  const int count = static_cast<int>(clusters.members.size());
  std::vector<Ints> element = clusters.of_set;  // clusters of each set; joined ones come behind
  std::vector<Ints> elements_of(at(count));
  for (int g = 0; g < static_cast<int>(element.size()); g++) {
    for (int c : element[at(g)]) elements_of[at(c)].push_back(g);
  }
  Ints mark(at(count), -1), degree(at(count)), node_of(at(count), -1);
  int stamp = 0;
  auto weight = [&](int c) { return static_cast<int>(clusters.members[at(c)].size()); };
  auto find_degree = [&](int c) {
    stamp++;
    int total = 0;
    for (int e : elements_of[at(c)]) {
      for (int other : element[at(e)]) {
        if (mark[at(other)] != stamp) {
          mark[at(other)] = stamp;
          total += weight(other);
        }
      }
    }
    return total;
  };
  using Entry = std::pair<int, int>;  // degree, cluster
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> next;
  for (int c = 0; c < count; c++) next.emplace(degree[at(c)] = find_degree(c), c);
  std::vector<Supernode> nodes;
  while (!next.empty()) {
    const auto [size, c] = next.top();
    next.pop();
    if (node_of[at(c)] >= 0 || size != degree[at(c)]) continue;
    const int number = static_cast<int>(nodes.size()), joined = static_cast<int>(element.size());
    const Ints absorbed = elements_of[at(c)];
    Ints around;
    stamp++;
    for (int e : absorbed) {
      for (int other : element[at(e)]) {
        if (mark[at(other)] != stamp) {
          mark[at(other)] = stamp;
          around.push_back(other);
        }
      }
      element[at(e)].clear();
    }
    std::sort(around.begin(), around.end());
    Supernode node;
    for (int other : around) {
      Ints& theirs = elements_of[at(other)];
      std::erase_if(theirs, [&](int e) { return element[at(e)].empty(); });
      const bool goes = other == c || theirs.empty();
      (goes ? node.pivots : node.rest).push_back(other);
      node.size += weight(other);
      if (goes) {
        node.pivot_size += weight(other);
        node_of[at(other)] = number;
      } else {
        theirs.push_back(joined);
      }
    }
    element.push_back(node.rest);
    for (int other : node.rest) next.emplace(degree[at(other)] = find_degree(other), other);
    nodes.push_back(std::move(node));
  }
  for (Supernode& node : nodes) {
    int parent = static_cast<int>(nodes.size());
    for (int c : node.rest) parent = std::min(parent, node_of[at(c)]);
    node.parent = node.rest.empty() ? -1 : parent;
  }
  return nodes;
}

// A front joins its parent's where the two together cost less than each for itself.
void merge(std::vector<Supernode>& nodes) {
  const int count = static_cast<int>(nodes.size());
  Ints into(at(count));
  for (int s = 0; s < count; s++) into[at(s)] = s;
  for (int s = 0; s < count; s++) {
    Supernode& child = nodes[at(s)];
    int p = child.parent;
    while (p >= 0 && into[at(p)] != p) p = into[at(p)];
    child.parent = p;
    if (p < 0) continue;
    Supernode& parent = nodes[at(p)];
    const double apart = cost(child.size, child.pivot_size) + cost(parent.size, parent.pivot_size);
    const int size = child.pivot_size + parent.size, pivots = child.pivot_size + parent.pivot_size;
    if (cost(size, pivots) > apart) continue;
    parent.pivots.insert(parent.pivots.begin(), child.pivots.begin(), child.pivots.end());
    parent.size = size;
    parent.pivot_size = pivots;
    into[at(s)] = p;
  }
  Ints number(at(count), -1);
  std::vector<Supernode> kept;
  for (int s = 0; s < count; s++) {
    if (into[at(s)] != s) continue;
    number[at(s)] = static_cast<int>(kept.size());
    kept.push_back(std::move(nodes[at(s)]));
  }
  for (Supernode& node : kept) {
    int p = node.parent;
    while (p >= 0 && into[at(p)] != p) p = into[at(p)];
    node.parent = p < 0 ? -1 : number[at(p)];
  }
  nodes = std::move(kept);
}

// How many entries of their part, from each one on, are consecutive numbers.
Ints find_runs(const Ints& index, const Ints& start) {
  Ints run(index.size(), 1);
  for (std::size_t part = 0; part + 1 < start.size(); part++) {
    for (int e = start[part + 1] - 2; e >= start[part]; e--) {
      if (index[at(e + 1)] == index[at(e)] + 1) run[at(e)] += run[at(e + 1)];
    }
  }
  return run;
}

}  // namespace

bool Pattern::fits(int unknowns, const Sets& sets) const {
  return unknowns == this->unknowns() &&
         std::equal(sets.start.begin(), sets.start.end(), start_.begin(), start_.end()) &&
         std::equal(sets.column.begin(), sets.column.end(), column_.begin(), column_.end());
}

void Pattern::find(int unknowns, const Sets& sets) {
  start_.assign(sets.start.begin(), sets.start.end());
  column_.assign(sets.column.begin(), sets.column.end());
  const Clusters clusters = find_clusters(unknowns, sets);
  std::vector<Supernode> nodes = eliminate(clusters);
  merge(nodes);

  position.assign(at(unknowns), -1);
  first.assign(1, 0);
  int place = 0;
  for (const Supernode& node : nodes) {
    for (int c : node.pivots) {
      for (int j : clusters.members[at(c)]) position[at(j)] = place++;
    }
    first.push_back(place);
  }
  for (int& p : position) {
    if (p < 0) p = place++;  // in no set
  }
  rest_start.assign(1, 0);
  rest.clear();
  into.clear();
  parent.clear();
  value_start.clear();
  stride.clear();
  values = widest = 0;
  for (const Supernode& node : nodes) {
    for (int c : node.rest) {
      for (int j : clusters.members[at(c)]) rest.push_back(position[at(j)]);
    }
    std::sort(rest.begin() + rest_start.back(), rest.end());
    rest_start.push_back(static_cast<int>(rest.size()));
    parent.push_back(node.parent);
    value_start.push_back(values);
    stride.push_back(padded(node.size));
    values += node.size * stride.back();
    widest = std::max(widest, node.size);
  }
  auto index = [&](int s, int p) {  // of a position in front s
    const int pivots = first[at(s) + 1] - first[at(s)];
    if (p < first[at(s) + 1]) return p - first[at(s)];
    const auto begin = rest.begin() + rest_start[at(s)], end = rest.begin() + rest_start[at(s) + 1];
    return pivots + static_cast<int>(std::lower_bound(begin, end, p) - begin);
  };
  for (int s = 0; s < fronts(); s++) {
    for (int e = rest_start[at(s)]; e < rest_start[at(s) + 1]; e++) into.push_back(index(parent[at(s)], rest[at(e)]));
  }
  set_front.clear();
  set_index.clear();
  for (int g = 0; g < sets.count(); g++) {
    int lowest = place;
    for (int e = sets.start[g]; e < sets.start[g + 1]; e++) lowest = std::min(lowest, position[at(sets.column[e])]);
    const auto owner = std::upper_bound(first.begin(), first.end(), lowest) - first.begin() - 1;
    set_front.push_back(static_cast<int>(owner));
    for (int e = sets.start[g]; e < sets.start[g + 1]; e++) {
      set_index.push_back(index(set_front.back(), position[at(sets.column[e])]));
    }
  }
  set_run = find_runs(set_index, start_);
  into_run = find_runs(into, rest_start);
}

template <class T>
void Fronts<T>::begin(const Pattern& pattern) {
  pattern_ = &pattern;
  value_.resize(pattern.values);
  inverse_.resize(pattern.unknowns());
  rest_.resize(padded(pattern.widest));
  std::fill(value_.data(), value_.data() + pattern.values, T(0.0));
  for (int s = 0; s < pattern.fronts(); s++) {
    T* F = front(s);
    const int step = pattern.stride[at(s)] + 1;
    for (int i = 0; i < pattern.first[at(s) + 1] - pattern.first[at(s)]; i++) F[i * step] = 1.0;
  }
}

namespace {

// to[index, index] += from, an n by n matrix; run[c]: how many entries from c on lie one after the other.
template <class T>
void scatter(const T* from, int from_stride, int n, const int* index, const int* run, T* to, int stride) {
  for (int a = 0; a < n; a++) {
    const T* part = from + a * from_stride;
    for (int c = 0; c < n; c += run[c]) {
      T* __restrict place = to + index[a] * stride + index[c];
      for (int k = 0; k < run[c]; k++) place[k] += part[c + k];
    }
  }
}

}  // namespace

template <class T>
void Fronts<T>::add(int set, View<const int> start, const double* A, int a, const T* B, int b, int k) {
  const int s = pattern_->set_front[at(set)], width = start[set + 1] - start[set];
  const int* index = pattern_->set_index.data() + start[set];
  const int* run = pattern_->set_run.data() + start[set];
  add_transposed_product(A, a, B, b, k, width, index, run, front(s), pattern_->stride[at(s)]);
}

namespace {

// Eliminates the first `pivots` of n unknowns, four at a time: U above the diagonal, L with a unit diagonal below.
template <class T>
bool eliminate_dense(T* __restrict F, int n, int stride, int pivots, T* __restrict inverse) {
  bool good = true;
  for (int k0 = 0; k0 < pivots; k0 += 4) {
    const int width = std::min(4, pivots - k0), k1 = k0 + width;
    for (int k = k0; k < k1; k++) {
      T* __restrict row = F + k * stride;
      for (int s = k0; s < k; s++) {
        const T* __restrict upper = F + s * stride;
        const T l = row[s] *= inverse[s];
        if (l == 0.0) continue;
        for (int c = s + 1; c < n; c++) row[c] -= l * upper[c];
      }
      good = good && magnitude(row[k]) > 0;
      inverse[k] = T(1.0) / row[k];
    }
    const T* __restrict u0 = F + k0 * stride;
    const T* __restrict u1 = u0 + stride;
    const T* __restrict u2 = u1 + stride;
    const T* __restrict u3 = u2 + stride;
    for (int i = k1; i < n; i++) {
      T* __restrict row = F + i * stride;
      if (width == 4) {
        if (row[k0] == 0.0 && row[k0 + 1] == 0.0 && row[k0 + 2] == 0.0 && row[k0 + 3] == 0.0) continue;
        const T l0 = row[k0] * inverse[k0];
        const T l1 = (row[k0 + 1] - l0 * u0[k0 + 1]) * inverse[k0 + 1];
        const T l2 = (row[k0 + 2] - l0 * u0[k0 + 2] - l1 * u1[k0 + 2]) * inverse[k0 + 2];
        const T l3 = (row[k0 + 3] - l0 * u0[k0 + 3] - l1 * u1[k0 + 3] - l2 * u2[k0 + 3]) * inverse[k0 + 3];
        row[k0] = l0;
        row[k0 + 1] = l1;
        row[k0 + 2] = l2;
        row[k0 + 3] = l3;
        for (int c = k1; c < n; c++) {
          row[c] -= multiply_add(l0, u0[c], multiply_add(l1, u1[c], multiply_add(l2, u2[c], l3 * u3[c])));
        }
      } else {
        for (int s = k0; s < k1; s++) {
          const T* __restrict upper = F + s * stride;
          const T l = row[s] *= inverse[s];
          if (l == 0.0) continue;
          for (int c = s + 1; c < n; c++) row[c] -= l * upper[c];
        }
      }
    }
  }
  return good;
}

}  // namespace

template <class T>
bool Fronts<T>::factor() {
  const Pattern& p = *pattern_;
  bool good = true;
  for (int s = 0; s < p.fronts(); s++) {
    const int pivots = p.first[at(s) + 1] - p.first[at(s)];
    const int others = p.rest_start[at(s) + 1] - p.rest_start[at(s)], n = pivots + others, stride = p.stride[at(s)];
    T* F = front(s);
    good = eliminate_dense(F, n, stride, pivots, inverse_.data() + p.first[at(s)]) && good;
    if (others == 0) continue;
    T* up = front(p.parent[at(s)]);
    const int row = p.stride[at(p.parent[at(s)])];
    scatter(F + pivots * (stride + 1), stride, others, p.into.data() + p.rest_start[at(s)],
            p.into_run.data() + p.rest_start[at(s)], up, row);
  }
  for (int i = 0; i < p.first.back(); i++) good = good && std::isfinite(magnitude(inverse_[i]));
  return good;
}

template <class T>
bool Fronts<T>::negative() const {
  bool odd = false;
  for (int i = 0; i < pattern_->first.back(); i++) odd ^= static_cast<double>(inverse_[i]) < 0;
  return odd;
}

template <class T>
void Fronts<T>::solve(View<T> x) {
  const Pattern& p = *pattern_;
  for (int s = 0; s < p.fronts(); s++) {
    const int pivots = p.first[at(s) + 1] - p.first[at(s)], stride = p.stride[at(s)];
    const int others = p.rest_start[at(s) + 1] - p.rest_start[at(s)];
    const int* rest = p.rest.data() + p.rest_start[at(s)];
    const T* F = front(s);
    T* pivot = x.at(p.first[at(s)]);
    for (int i = 1; i < pivots; i++) pivot[i] -= dot(F + i * stride, pivot, i);
    for (int a = 0; a < others; a++) x[rest[a]] -= dot(F + (pivots + a) * stride, pivot, pivots);
  }
  for (int s = p.fronts() - 1; s >= 0; s--) {
    const int pivots = p.first[at(s) + 1] - p.first[at(s)], stride = p.stride[at(s)];
    const int others = p.rest_start[at(s) + 1] - p.rest_start[at(s)];
    const int* rest = p.rest.data() + p.rest_start[at(s)];
    const T* F = front(s);
    T* pivot = x.at(p.first[at(s)]);
    const T* inverse = inverse_.data() + p.first[at(s)];
    gather(x.data(), rest, others, rest_.data());
    for (int i = pivots - 1; i >= 0; i--) {
      const T* row = F + i * stride;
      const T known = dot(row + i + 1, pivot + i + 1, pivots - i - 1) + dot(row + pivots, rest_.data(), others);
      pivot[i] = (pivot[i] - known) * inverse[i];
    }
  }
}

template <class T>
void Fronts<T>::solve_transposed(View<T> x) {
  const Pattern& p = *pattern_;
  for (int s = 0; s < p.fronts(); s++) {  // U' y = x
    const int pivots = p.first[at(s) + 1] - p.first[at(s)], stride = p.stride[at(s)];
    const int others = p.rest_start[at(s) + 1] - p.rest_start[at(s)];
    const int* rest = p.rest.data() + p.rest_start[at(s)];
    const T* F = front(s);
    T* pivot = x.at(p.first[at(s)]);
    for (int i = 0; i < pivots; i++) {
      const T* row = F + i * stride;
      const T y = pivot[i] *= inverse_[p.first[at(s)] + i];
      if (y == 0.0) continue;
      for (int k = i + 1; k < pivots; k++) pivot[k] -= row[k] * y;
      for (int a = 0; a < others; a++) x[rest[a]] -= row[pivots + a] * y;
    }
  }
  for (int s = p.fronts() - 1; s >= 0; s--) {  // L' x = y
    const int pivots = p.first[at(s) + 1] - p.first[at(s)], stride = p.stride[at(s)];
    const int others = p.rest_start[at(s) + 1] - p.rest_start[at(s)];
    const int* rest = p.rest.data() + p.rest_start[at(s)];
    const T* F = front(s);
    T* pivot = x.at(p.first[at(s)]);
    for (int a = 0; a < others; a++) {
      const T y = x[rest[a]];
      if (y == 0.0) continue;
      for (int k = 0; k < pivots; k++) pivot[k] -= F[(pivots + a) * stride + k] * y;
    }
    for (int i = pivots - 1; i > 0; i--) {
      for (int k = 0; k < i; k++) pivot[k] -= F[i * stride + k] * pivot[i];
    }
  }
}

template class Fronts<double>;
template class Fronts<Twofold>;

}  // namespace pliant
