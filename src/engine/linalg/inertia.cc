#include "linalg/inertia.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pliant {

// Rows of L from the last to the first: the lower triangle of M, and what the rows that end in it leave behind.
// They are found in falling order and stored in rising order.
void Inertia::find_pattern(const Step& step, View<const int> velocities, View<const int> local, Workspace& work) {
  const int n = size_;
  start_.resize(n + 1);
  next_.resize(n);
  View<int> mark = work.filled<int>(n, -1);
  View<int> first_child = work.filled<int>(n, -1);
  View<int> sibling = work.take<int>(n);
  View<int> from = work.take<int>(n + 1);
  list_.clear();
  for (int i = n - 1; i >= 0; i--) {
    const int begin = list_.size();
    from[i] = begin;
    const int global = velocities[i];
    mark[i] = i;
    for (auto e = step.mass_start[global]; e < step.mass_start[global + 1]; e++) {
      const int j = local[step.mass_column[e]];
      if (j < i && mark[j] != i) {
        mark[j] = i;
        list_.push(j);
      }
    }
    const int own = list_.size();
    for (int c = first_child[i]; c >= 0; c = sibling[c]) {
      for (int e = from[c]; e < next_[c]; e++) {
        const int j = list_[e];
        if (j < i && mark[j] != i) {
          mark[j] = i;
          list_.push(j);
        }
      }
    }
    if (list_.size() > own) std::sort(list_.data() + begin, list_.data() + list_.size());
    list_.push(i);
    next_[i] = list_.size();
    const int parent = list_.size() - begin > 1 ? list_[list_.size() - 2] : -1;
    if (parent >= 0) {
      sibling[i] = first_child[parent];
      first_child[parent] = i;
    }
  }
  int total = 0;
  for (int i = 0; i < n; i++) {
    start_[i] = total;
    total += next_[i] - from[i];
  }
  start_[n] = total;
  column_.resize(total);
  for (int i = 0; i < n; i++) std::copy(list_.data() + from[i], list_.data() + next_[i], column_.data() + start_[i]);
}

// Whether M has other entries than last time.
bool Inertia::is_new(const Step& step, View<const int> velocities, View<const int> local) {
  bool same = true;
  int count = 0;
  const auto note = [&](int number) {
    if (count == seen_.size()) seen_.push(-1);
    same = same && seen_[count] == number;
    seen_[count++] = number;
  };
  for (int i = 0; i < size_; i++) {
    const int global = velocities[i];
    for (auto e = step.mass_start[global]; e < step.mass_start[global + 1]; e++) note(local[step.mass_column[e]]);
    note(-1);  // the end of a row
  }
  same = same && count == seen_.size() && start_.size() == size_ + 1;
  seen_.resize(count);
  return !same;
}

bool Inertia::factor(const Step& step, View<const int> velocities, View<const int> local, Workspace& work) {
  size_ = velocities.size();
  const int n = size_;
  inverse_ = work.take<double>(n);
  if (is_new(step, velocities, local)) {
    const Workspace::Mark mark = work.mark();
    find_pattern(step, velocities, local, work);
    work.release(mark);
  }
  value_.resize(start_[n]);
  std::fill(value_.data(), value_.data() + start_[n], 0.0);
  for (int i = 0; i < n; i++) {
    const int global = velocities[i];
    int at = start_[i];
    for (auto e = step.mass_start[global]; e < step.mass_start[global + 1]; e++) {
      const int j = local[step.mass_column[e]];
      if (j > i) continue;
      while (column_[at] < j) at++;  // both ascend
      value_[at] = step.mass_value[e];
    }
  }
  bool positive = true;
  double smallest = std::numeric_limits<double>::infinity(), largest = 0;
  for (int k = n - 1; k >= 0; k--) {
    double* row = value_.data() + start_[k];
    const int* column = column_.data() + start_[k];
    const int last = start_[k + 1] - start_[k] - 1;
    positive = positive && row[last] > 0;
    smallest = std::min(smallest, row[last]);
    largest = std::max(largest, row[last]);
    row[last] = std::sqrt(row[last]);
    const double inverse = inverse_[k] = 1 / row[last];
    for (int e = 0; e < last; e++) row[e] *= inverse;
    for (int e = last - 1; e >= 0; e--) {  // M_i -= L_ki L_k, columns up to i
      const int i = column[e];
      const double s = row[e];
      double* other = value_.data() + start_[i];
      if (start_[i + 1] - start_[i] == e + 1) {  // the same columns
        for (int c = 0; c <= e; c++) other[c] -= s * row[c];
      } else {
        const int* theirs = column_.data() + start_[i];
        for (int c = 0, at = 0; c <= e; c++, at++) {
          while (theirs[at] < column[c]) at++;
          other[at] -= s * row[c];
        }
      }
    }
  }
  spread_ = largest / smallest;
  return positive;
}

void Inertia::multiply(View<const double> v, View<double> x) const {
  for (int i = 0; i < size_; i++) {
    double sum = 0;
    for (int e = start_[i]; e < start_[i + 1]; e++) sum += value_[e] * v[column_[e]];
    x[i] = sum;
  }
}

void Inertia::solve(View<double> x) const {
  for (int i = 0; i < size_; i++) {
    double sum = x[i];
    for (int e = start_[i]; e < start_[i + 1] - 1; e++) sum -= value_[e] * x[column_[e]];
    x[i] = sum * inverse_[i];
  }
}

void Inertia::solve_transposed(View<double> x) const {
  for (int i = size_ - 1; i >= 0; i--) {
    const double s = x[i] *= inverse_[i];
    for (int e = start_[i]; e < start_[i + 1] - 1; e++) x[column_[e]] -= value_[e] * s;
  }
}

}  // namespace pliant
