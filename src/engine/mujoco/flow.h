// What no constraint does: where the smooth forces alone lead within a step.
//
//   v' = v0 + h inv(M) f,   then   d(M v)/dt = d(v' M v / 2)/dq,   dq/dt = v        over the step
//
// The forces of inertia (Coriolis, gyroscopic, centrifugal), taken once at the start of a step, add energy: bodies that turn spin
// up by themselves. Where that counts the other forces push first, as in a step without a flow, and inertia alone leads on, in
// short reversible steps. Constraint forces then act with the inertia, and in the frames, of where that ends.
#pragma once
#include "mujoco/aside.h"
#include "workspace.h"

namespace pliant {

// The velocities of a free or ball joint that are told in the frame of its body, which turns by R within the step.
struct Turn {
  int dof;
  double R[9];
};

class Flow {
 public:
  // Of the last `follow`: the velocity and the inertia where the smooth forces alone lead, and the mean velocity on the way, in
  // the frames of its start.
  View<double> end, mean;
  const mjtNum* M = nullptr;
  Pool<Turn> turns;

  // force: (nv,) smooth forces at the start, those of inertia among them. implicit: (nv,) what implicit ones add to the
  // diagonal of M, or empty. False: an Euler step will do.
  bool follow(Model& model, mjData& d, View<const double> force, View<const double> implicit, Aside& aside,
              Workspace& work);

  // Whether it keeps energy that no other force takes or gives.
  bool is_exact() const { return need_ == Need::exact; }

  // From the frames of the start of the step to those of its end, and back.
  void to_end(View<double> x) const;
  void to_start(View<double> x) const;

  // The forces of inertia alone: MuJoCo's bias without gravity.
  static void find_inertial(const mjModel& m, const mjData& d, View<double> c);

 private:
  static void find_lossy(const mjModel& m, const mjData& d, View<char> lossy);
  enum class Need { none, rough, exact };  // rough: of trees that lose energy anyway
  Need need_ = Need::none;
  bool round_ = false;  // whether there are bodies that turn about any axis

  Need find_need(Model& model, mjData& d, Workspace& work) const;
  double short_steps(const mjModel& m, const mjData& d) const;
  void push(const mjModel& m, const mjModel* own, mjData& d, View<const double> force, View<const double> implicit,
            mjData* there, View<const double> inertia, Workspace& work);
  bool keep_turning(Model& model, mjData& d, View<const double> force, View<const double> implicit, Aside& aside,
                    Workspace& work);
  bool keep_energy(const mjModel& m, const mjModel* own, mjData& d, mjData* there, View<const double> kicked,
                   Workspace& work);
  void find_turns(const mjModel& m, const mjData& d, const mjtNum* q);
  bool run(Model& model, mjData& d, View<const double> force, int steps, View<const double> implicit, Aside& aside,
           Workspace& work);
};

}  // namespace pliant
