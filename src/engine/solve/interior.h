// Tier 2: an interior path for Coulomb's law with compliant rows.
//   scalar row:  gap rate u = p - q(lambda) = y - z,  (lambda - lower) y = kappa = (upper - lambda) z
//   contact:     x = (lambda_n, lambda_t / mu) and y in the second-order cone, x o y = kappa e,
//                y_t = slip = mu (p_t + R lambda_t + bias),  y_n = p_n - q(lambda_n) + |slip|
// q(lambda) is the rate at which the law gives lambda, |slip| the shift of de Saxce: with it the complementarity of the
// cones is Coulomb's law, but no longer the optimum of a convex problem. The derivative of the shift counts a share of
// itself, which falls with short steps and recovers with long ones; the shift counts in full. Without it (convex) the
// path leads to the answer of the convex program.
#pragma once
#include "solve/linear.h"
#include "solve/tuning.h"

namespace pliant {

class Interior {
 public:
  void reserve(const Rows& rows, const Tuning& tuning, Workspace& work);

  // Begins far inside the cones, `wider` times as far as usual. size: of the forces in the energy norm, at least.
  void start(const Rows& rows, Linear& linear, bool convex, double size, double wider);

  // One step along the path: a factorization and some solves. False: there is no way on.
  bool advance();

  // The forces inside their bounds and cones; friction shrunk along its direction.
  void project(View<double> force) const;

  int iterations = 0;
  bool stuck = false;  // whether only short steps were left
  bool lost = false;   // whether it came no nearer

 private:
  const Rows* rows_ = nullptr;
  Linear* linear_ = nullptr;
  Tuning tuning_;
  bool convex_ = false;
  View<double> f_, y_, z_, dy_, dz_;     // forces, duals (of upper bounds: z), steps of the duals
  View<double> target_, target_above_;   // scaled products that the step aims at, less their second order
  View<double> rate_, miss_, R_, slip_;  // what the dual equations miss, compliances, direction of the slip
  View<double> W_, V_;                   // Nesterov-Todd scaling of the cones and its inverse; W of a scalar row: C
  View<double> point_, known_;           // of the cones: s = W y = V x, and W (y + miss)
  struct Shape {
    double det_x, det_y, inverse_det, inverse_head;  // of s
  };
  View<Shape> shape_;
  View<double> df_before_, dp_before_, dy_before_, dz_before_;
  double share_ = 1, damped_ = 1;  // of the shift's derivative: next, and in the present factors
  double lowest_ = infinity;       // of the mean products so far
  int pairs_ = 0, short_steps_ = 0, idle_ = 0;

  void measure();
  double least_mean() const;
  double products(double step) const;
  bool linearise();
  double predict_and_correct(double total, double mean);
  double correct(double kappa, double step);
  double direction(double kappa, bool second_order);
  double solve();
  template <int d>
  void scaled(const Block& b, double* u, double* v) const;
  Shape& shape(const Block& b) const { return shape_[&b - rows_->block.begin()]; }
  void aim(const Block& b, double kappa, bool second_order);
  void recentre(const Block& b, double kappa, double step);
  void set_right(const Block& b);
  double dual_step(const Block& b);
  void move(double step);
};

}  // namespace pliant
