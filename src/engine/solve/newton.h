// Tier 1: Newton's method on the natural map, from the forces that a guess of the velocity calls for.
#pragma once
#include "solve/linear.h"
#include "solve/natural.h"
#include "solve/tuning.h"

namespace pliant {

struct Plan {
  int steps = 8;
  double lift = 0, tolerance = 1e-8;
  bool early = false;      // give up where convergence is not in sight
  double from = infinity;  // the residual at the start, if it is known: the first step must lower it tenfold
};

class Newton {
 public:
  View<double> force, rate, low;  // low: of exact rates
  double residual = 0;

  void reserve(const Rows& rows, Workspace& work);
  void begin(const Rows& rows, const Tuning& tuning);
  // The next solve is of the same rows: its first factors may be those at hand.
  void keep_factors(const Rows& rows);

  // Forces and rates at the guess (global velocities). They need not fit the momentum: `missing` is what the rates lack to
  // it, and the first step makes it up. So the pieces of the map are those of the guess, however bad its forces.
  void start(const Rows& rows, View<const double> before, View<const double> guess, Workspace& work);
  // The same from given forces.
  void start_at(const Rows& rows, View<const double> given);

  // Full steps; leaves the best forces and their residual.
  void run(const Rows& rows, Linear& linear, NaturalMap& map, const Plan& plan);

  // Steps with exact rates while the residual falls; `rate` and `gain` are exact afterwards. limit: of all iterations,
  // after which only the factors at hand are used. near: the residual above which there is no step at all.
  void polish(const Rows& rows, Linear& linear, NaturalMap& map, double lift, int limit, View<double> gain,
              double near = infinity);

  void forget_factors(const Rows& rows);

  // The pieces of the map as it was measured last; whether factors of the same pieces may differ.
  bool find_pieces(const Rows& rows, const NaturalMap& map, View<char> pieces) const;
  // New factors and right sides there, with this proximal term.
  bool linearise_at(const Rows& rows, Linear& linear, const NaturalMap& map, double epsilon);

  int iterations = 0;
  bool settled = false;  // whether the last step stayed on the pieces of the one before

 private:
  View<double> missing_, best_, raw_;  // raw_: outside the bounds
  View<char> piece_, previous_;
  View<char> kept_;  // the pieces of factors at hand
  bool factored_ = false, refined_ = false, at_hand_ = false;
  bool same_ = false;  // whether the factors at hand are those of the pieces
  bool bent_ = false;  // whether factors of the same pieces may differ
  double epsilon_ = 0, kept_epsilon_ = 0;
  Tuning tuning_;

  bool factor(Linear& linear);
  void refine(bool precise);
  bool set_pieces(const Rows& rows, Linear& linear, const NaturalMap& map, double lift, bool fresh);
  void set_run(const Rows& rows, Linear& linear, const NaturalMap& map, const Run& r, bool fresh);
  void set_scalar(const Rows& rows, Linear& linear, const NaturalMap& map, const Block& b, char piece, bool fresh);
  void set_contact(const Rows& rows, Linear& linear, const NaturalMap& map, int number, double lift, bool fresh);
};

}  // namespace pliant
