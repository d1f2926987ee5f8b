// What no constraint does: where the smooth forces alone lead within a step.
//
//   M(q) dv/dt = f - c(q, v),   dq/dt = v        over the step
//
// One Euler step is good enough for what moves slowly. The forces c, of Coriolis and of what turns, taken once at the start
// of a step add the energy h^2 c' inv(M) c / 2; where that counts, short steps of the classical Runge-Kutta method are taken.
#pragma once
#include "mujoco/aside.h"
#include "workspace.h"

namespace pliant {

class Flow {
 public:
  View<double> velocity, mean;  // v~ at the end, v- on the way, of the last `follow` that was needed

  // force: (nv,) what acts beside gravity and inertia, constant over the step. False: an Euler step will do.
  bool follow(Model& model, mjData& d, View<const double> force, Aside& aside, Workspace& work);

  // The forces of inertia alone: MuJoCo's bias without gravity.
  static void find_inertial(const mjModel& m, const mjData& d, View<double> c);

 private:
  bool is_needed(Model& model, mjData& d, Workspace& work) const;
  void keep_turning(Model& model, mjData& d, View<const double> force, Workspace& work);
};

extern double flow_tuning[4];

}  // namespace pliant
