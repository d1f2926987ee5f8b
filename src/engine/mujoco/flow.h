// What no constraint does: where the smooth forces alone lead within a step.
//
//   M(q) dv/dt = f - c(q, v),   dq/dt = v        over the step
//
// The forces c of Coriolis, gyroscopes and centrifugal acceleration, taken once at the start of a step, add the energy
// h^2 c' inv(M) c / 2: bodies that turn spin up by themselves. So they are taken at the velocity of the middle of the step,
// which is one more evaluation; where they change much of the motion within a step, short steps of the classical
// Runge-Kutta method are taken.
#pragma once
#include "mujoco/aside.h"
#include "workspace.h"

namespace pliant {

class Flow {
 public:
  // Of the last `follow`. push: what replaces the forces of inertia at the start of the step, (nv,); shift: the mean velocity
  // of the step less that at its end, or empty. end: the velocity where the smooth forces alone lead, if there is a shift.
  View<double> push, shift, end;

  // force: (nv,) what acts beside gravity and inertia, constant over the step. False: nothing moves to speak of.
  bool follow(Model& model, mjData& d, View<const double> force, Aside& aside, Workspace& work);

  // The forces of inertia alone: MuJoCo's bias without gravity.
  static void find_inertial(const mjModel& m, const mjData& d, View<double> c);

 private:
  double kick(Model& model, mjData& d, Workspace& work) const;
  void bend(Model& model, mjData& d, View<const double> force, Workspace& work);
  void keep_turning(Model& model, mjData& d, View<const double> force, Workspace& work);
  void run(Model& model, mjData& d, View<const double> force, int steps, Aside& aside, Workspace& work);
};

extern double flow_tuning[4];

}  // namespace pliant
