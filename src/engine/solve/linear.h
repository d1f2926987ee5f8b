// Both tiers linearise every block as  B dlambda + C dp = k.  With the change of a block's forces as
// dlambda = g - H dp, all blocks together leave one system of the velocities:
//   P dx = h Z' g,   P = I + h Z' H Z,   dp = Z dx
#pragma once
#include "step/rows.h"

namespace pliant {

class Linear {
 public:
  int factorizations = 0;
  bool precise = false;  // in twofold precision: g - H dp takes all digits of a double where a law is stiff
  View<double> dforce, drate;

  void reserve(const Rows& rows, Workspace& work);
  void begin() {
    factorizations = 0;
    precise = false;
  }
  // From here on in twofold precision; blocks are to be set again.
  void be_precise(Workspace& work);

  // (B + C E) [H | g] = [C | k],  E = epsilon times the rows' own scales: bounds H where B is singular.
  // B and C are square, by rows, and lost.
  void set_block(const Block& b, double* B, double* C, double epsilon);
  void set_right(const Block& b, const double* k);
  // The same of one row, by its place among the squares; E is given.
  void set_scalar(int square, double B, double C, double E) {
    const double inverse = inverse_[square] = 1 / (B + C * E);
    if (precise) precise_.H[square] = Twofold(inverse) * Twofold(C);
    else usual_.H[square] = inverse * C;
  }
  void set_right(int row, int square, double k) {
    if (precise) precise_.g[row] = Twofold(inverse_[square]) * Twofold(k);
    else usual_.g[row] = inverse_[square] * k;
  }

  bool factor();
  bool negative() const { return precise ? precise_.fronts.negative() : usual_.fronts.negative(); }  // whether det P is

  // The steps of forces and rates; missing: what the rates lack to the momentum of the forces, or empty.
  void solve(View<const double> missing);
  // The same without right sides, where the rates change by so much.
  void respond(View<const double> change);

  // The transposed of what leads from k to the step of the forces, applied to z.
  //   P' b = -Z' H' z,   dforce := inv(B + C E)' (z + h Z b)
  void solve_transposed(View<const double> z);

 private:
  const Rows* rows_ = nullptr;
  View<double> inverse_;
  template <class T>
  struct System {
    Fronts<T> fronts;
    View<T> H, g, dforce, drate, dx, scaled, sum;
    View<double> plain;
  };
  System<double> usual_;
  System<Twofold> precise_;

  // What f makes of the system at hand.
  template <class F>
  auto here(F&& f) {
    return precise ? f(precise_) : f(usual_);
  }
  template <class T>
  void reserve(System<T>& system, Workspace& work) const;
  template <class T>
  void assemble(System<T>& system, int number) const;
  template <class T>
  void force_steps(System<T>& system) const;
  template <class T>
  void solve(System<T>& system, View<const double> missing);
  template <class T>
  void solve_transposed(System<T>& system, View<const double> z);
};

}  // namespace pliant
