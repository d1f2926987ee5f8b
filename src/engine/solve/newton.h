// Tier 1: Newton's method on the natural map, from the forces that a guess of the velocity calls for.
#pragma once
#include "solve/linear.h"
#include "solve/natural.h"

namespace pliant {

class Newton {
 public:
  View<double> force, rate;
  double residual = 0;

  void reserve(const Rows& rows, Workspace& work);

  // Forces and rates at the guess (global velocities). They need not fit the momentum: `missing` is what the rates lack to
  // it, and the first step makes it up. So the pieces of the map are those of the guess, however bad its forces.
  void start(Rows& rows, View<const double> before, View<const double> guess, Workspace& work);
  // The same from given forces.
  void start_at(Rows& rows, View<const double> given);

  // Full steps; leaves the best forces and their residual. early: gives up where convergence is not in sight.
  void run(Rows& rows, Linear& linear, NaturalMap& map, int iterations, double lift, double tolerance, bool early);

  // Steps on the factors at hand, with exact rates, while the residual falls; `rate` and `gain` are exact afterwards.
  void polish(Rows& rows, Linear& linear, NaturalMap& map, double lift, View<double> gain);

  void forget_factors() { factored_ = false; }

  int iterations = 0;

 private:
  View<double> missing_, best_;
  View<char> piece_, previous_;
  bool factored_ = false;

  bool set_pieces(const Rows& rows, Linear& linear, const NaturalMap& map, double lift, bool fresh);
  void set_scalar(const Rows& rows, Linear& linear, const NaturalMap& map, const Block& b, char piece, bool fresh);
  void set_contact(const Rows& rows, Linear& linear, const NaturalMap& map, int number, double lift, bool fresh);
  void onto_rims(const Rows& rows);
};

}  // namespace pliant
