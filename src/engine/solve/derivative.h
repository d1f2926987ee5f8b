// How an answer moves with the data of its step, to first order: momentum and, block by block, the laws on the pieces
// where the answer has them,
//   M (dv1 - dv0) = h (df + G' dlambda),   L (dlambda - dforce) + C (G dv1 + R dlambda + drate) = T dlambda
//   inside       lambda = law(p): L = 1, C = S; or, of a stiff row, L = 1 / S, C = 1
//   at a bound   lambda fixed: L = 1, C = 0; so are all rows of an open contact
//   stick        p + R lambda + bias = 0: L = 0, C = 1
//   slip         l = lambda_n t,  l_k = lambda_k / mu_k,  w_k = mu_k (p_k + R_k lambda_k + bias_k),  t = -w / |w|,
//                t t' dl + (|w| Q dl + lambda_n Q dw) / (|w| + lambda_n h reach) = t dlambda_n,  Q = I - t t'
// dforce and drate are what the data of a row change by themselves, at the same motion and the same forces. Of a convex
// answer, slipping contacts have p_n - |w| for p_n.
#pragma once
#include <deque>
#include <span>
#include <vector>
#include "solve/linear.h"
#include "solve/natural.h"
#include "step/islands.h"

namespace pliant {

class Derivative {
 public:
  // What a row is made of, in this order: value, rate_offset, stiffness, damping, friction.
  static constexpr int row_data = 5;

  // force: of the answer, (m). The step's arrays must outlive this.
  Derivative(const Step& step, View<const double> force, bool convex, Patterns& patterns);
  Derivative(const Derivative&) = delete;
  Derivative& operator=(const Derivative&) = delete;

  bool regular() const { return regular_; }  // else there is no derivative
  std::size_t data() const { return 2 * velocity_.size() + row_data * offset_.size(); }
  std::size_t results() const { return velocity_.size() + offset_.size(); }

  // data: v0 and f, (nv) each, then the row data one after the other, (m) each; result: v1, (nv), and the forces, (m).
  void forward(std::span<const double> data, std::span<double> result);
  void transposed(std::span<const double> result, std::span<double> data);

 private:
  struct Part {  // an island
    Rows rows;
    Linear linear;
    Pattern pattern;
    View<const int> velocities;
    View<double> hold, drag, matrix;       // L, C and B = L + C R - T of the blocks
    View<double> force_shift, rate_shift;  // dforce and drate per unit of the row data, (row_data) of every row
    View<double> force, tail, stretch, right, low, rate, gain;
    int rounds = 0;
    double stiffest = 0;  // h a S of the laws at the answer
  };
  Step step_;                                               // with the vectors below in place of v0, f and e
  std::vector<double> velocity_, push_, applied_, offset_;  // offset_ is 0
  Workspace work_;
  std::deque<Part> parts_;
  bool regular_ = true;

  void load(Part& part, View<const int> local, View<const double> offset, View<const double> force, double lift);
  void set_block(Part& part, const NaturalMap& map, int number, double size, double lift);
  static void meet(Part& part, Row& row, double slope);
  bool set_scalar(Part& part, const NaturalMap& map, int number, double size, double lift);
  void set_tangents(Part& part, const NaturalMap& map, int number, double lift);
  void respond(Part& part, View<const double> high, View<const double> low);
  template <class Correct>
  void refine(Part& part, Correct correct);
};

}  // namespace pliant
