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
#include "solve/natural.h"

namespace pliant {

class Interior {
 public:
  void reserve(const Rows& rows, Workspace& work);

  // Leaves the best forces, projected into their cones, and their residual. force: only its size counts, for the scale
  // of the start.
  void run(Rows& rows, Linear& linear, NaturalMap& map, int limit, bool convex, double tolerance, View<double> force);

  double residual = 0;
  int iterations = 0;

 private:
  Rows* rows_ = nullptr;
  Linear* linear_ = nullptr;
  View<double> f_, rate_, projected_;
  View<double> y_, z_, dy_, dz_;     // duals (of upper bounds: z) and their steps
  View<double> miss_, R_, slip_;     // what the dual equations miss, compliances, direction of the slip
  View<double> W_, V_;               // Nesterov-Todd scaling of the cones and its inverse; W of a scalar row: C
  bool convex_ = false;
  double damped_ = 1;                // share of the shift's derivative in the present factors
  int pairs_ = 0;

  void start(View<const double> forces);
  void measure();
  double products(double step) const;
  bool linearise();
  double predict_and_correct(double total, double mean);
  double direction(double kappa, bool second_order);
  void set_target(const Block& b, double kappa, bool second_order);
  double dual_step(const Block& b, double kappa);
  void advance(double step);
};

}  // namespace pliant
