// The factor of the inertia, M = L'L with L lower triangular: on a kinematic tree, eliminated from the last velocity to
// the first, there is no fill, and a row of L has the ancestors of its velocity.
#pragma once
#include "step/step.h"
#include "workspace.h"

namespace pliant {

class Inertia {
 public:
  // M restricted to `velocities` (global numbers, ascending); local: global -> local number.
  // False: not positive definite.
  bool factor(const Step& step, View<const int> velocities, View<const int> local, Workspace& work);

  // How far the solves may amplify rounding: the largest over the smallest pivot.
  double spread() const { return spread_; }
  int size() const { return size_; }
  View<const int> columns(int i) const {  // of row i, ascending, the diagonal last
    return {column_.data() + start_[i], start_[i + 1] - start_[i]};
  }
  const double* values(int i) const { return value_.data() + start_[i]; }
  double inverse_diagonal(int i) const { return inverse_[i]; }
  int parent(int i) const {  // the next column, -1 at a root
    const int n = start_[i + 1] - start_[i];
    return n > 1 ? column_[start_[i] + n - 2] : -1;
  }

  void multiply(View<const double> v, View<double> x) const;  // x = L v
  void solve(View<double> x) const;                           // x := inv(L) x
  void solve_transposed(View<double> x) const;                // x := inv(L') x

 private:
  int size_ = 0;
  double spread_ = 1;
  Pool<int> start_, column_, next_, list_;
  Pool<int> seen_;  // the columns of M that the pattern is of
  Pool<double> value_;
  View<double> inverse_;

  bool is_new(const Step& step, View<const int> velocities, View<const int> local);
  void find_pattern(const Step& step, View<const int> velocities, View<const int> local, Workspace& work);
};

}  // namespace pliant
