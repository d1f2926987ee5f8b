// How the forces of equalities turn with the bodies that they hold, implicit: a light link under a large force feels that as a
// spring, which a step that takes the direction of the force from its start cannot bear.
//
//   K = -d(J' lambda)/dq,   K_ij = -lambda . (a_i x dx/dq_j),   i not below j,   a_i the axis of a turn
//
// of the points x that connects and welds hold. Its positive part joins the inertia, as h^2 K, where that is not small beside it.
#pragma once
#include "mujoco/assembly.h"

namespace pliant {

class Turning {
 public:
  // h^2 K, in the pattern of the whole inertia of the model, (nD,); empty: it is small.
  View<double> inertia;

  // By the forces that the rows of equalities have found.
  void find(const mjModel& m, const mjData& d, View<const double> force);
  void clear() { inertia = {}; }

 private:
  // A point of a body that an equality holds, and its pull.
  struct End {
    int body;
    double x[3], pull[3];
  };
  Pool<End> ends_;
  Pool<int> path_;
  Pool<double> block_, axes_, found_;

  void add_point(const mjModel& m, const mjData& d, int body, const double* x, const double* force);
  void start_body(const mjModel& m, int body);
};

}  // namespace pliant
