// Where both tiers fail: Lemke's way. With its contacts opened by
//   p_n + t d,   d = sqrt(a_n) times the speed of what moves,
// far enough, a step has no friction and one answer. From there the zeros of the natural map are followed back to t = 0,
// through all turns of t: where friction jams, the path first leads away. It is smooth but where a block changes its
// piece; across these kinks the sign of the determinant tells which way is on and which is back.
#pragma once
#include "solve/newton.h"

namespace pliant {

class Continuation {
 public:
  void reserve(Rows& rows, Linear& linear, NaturalMap& map, Newton& newton, Workspace& work);

  // Opens the contacts with friction wide. False: there are none.
  bool open();
  // From Newton's forces, an answer of the open rows, to t = 0. False: the path was lost, or longer than `limit` iterations.
  bool close(double epsilon, int limit);
  // The rows as they are, however far it came.
  void end() { rows_->open(0, d_); }

 private:
  Rows* rows_ = nullptr;
  Linear* linear_ = nullptr;
  NaturalMap* map_ = nullptr;
  Newton* newton_ = nullptr;
  View<double> d_, from_, along_, step_;  // from_: forces at t_; along_: the way on, of length 1; step_: Newton's
  View<char> piece_, other_;              // of the map there, and somewhere else
  double t_ = 0, along_t_ = 0, speed_ = 1, epsilon_ = 0;
  bool odd_ = false;  // the sign of the path

  double look(double t);
  double look_along(double way);
  double first_touch();
  void turn();
  bool correct(double t, int& steps);
  bool cross_kink(double way);
};

}  // namespace pliant
