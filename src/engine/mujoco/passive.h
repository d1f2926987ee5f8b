// Springs, dampers, servos and drag, implicit: what would bring stiffness back if it were taken at the start.
//
//   joint springs and dampers   into the inertia: M + h D + h^2 K, and -h K v0 into the force
//   tendons, actuators          rows of their own, bilateral, or clipped where their force has a range
//                               servos of one joint that are not stiff, and far from the ends of their range, into the
//                               inertia too
//   drag of a tree              one row along its force f: B = 1 / P, P = -f v0 its power; it can never reverse a motion
//
// A servo's row carries F0 - K h p1 - B (p1 - p0), which is the offset e = -(F0 + B p0) / (h K + B) of a spring without
// stretch. Its slopes K = -dF/dlength and B = -dF/dvelocity are those of an affine law, or differences of MuJoCo's own
// forces, whatever the type of the actuator.
#pragma once
#include <limits>
#include "mujoco/model.h"
#include "step/step.h"
#include "workspace.h"

namespace pliant {

struct ExtraRow {
  Kind kind = Kind::bilateral;
  double stiffness = 0, damping = 0, value = 0, offset = 0, lower = -infinite, upper = infinite;
  int first = 0, count = 0;  // its entries
  double taken = 0;          // the force of MuJoCo's that it replaces, taken out of the forces of the step
  int output = -1;           // of an actuator; -1: of a tendon, drag: `tendon` tells
  bool tendon = false;
  static constexpr double infinite = std::numeric_limits<double>::infinity();
};

// A servo in the inertia.
struct FoldedServo {
  int output, dof;
  double gear, stiffness, damping, free, low, high;
  double taken;  // the force of MuJoCo's that it replaces
};

class Passive {
 public:
  Pool<ExtraRow> rows;
  Pool<int> column;  // of all entries
  Pool<double> value;
  View<double> stiffness, damping;  // K and D of joints, (nv,)
  Pool<FoldedServo> folded;
  bool implicit = false;  // whether there are any of these
  // What they add to the diagonal of M.
  double inertia(double h, int j) const {
    return h * (damping[j] + servo_damping_[j] + h * (stiffness[j] + servo_stiffness_[j]));
  }

  // After velocities and forces of actuators are known. force: (nv,) the forces of the step, out of which those are taken
  // that rows replace. guess: (nv,) a velocity near that of the end, by which servos are folded into the inertia; empty: none is.
  void find(Model& model, mjData& d, View<double> force, View<const double> guess, Workspace& work);
  // Whether a folded servo would leave its range.
  bool oversteps(const mjModel& m, const mjData& d, View<const double> v1) const;
  // Springs, dampers, servos and drag as they were at the end of the step, with the forces of the rows. False: there were none.
  bool write(const mjModel& m, mjData& d, View<const double> v1, View<const double> forces, Workspace& work) const;

 private:
  View<double> tendon_damping_, tendon_poly_, servo_stiffness_, servo_damping_;

  void find_joints(const mjModel& m, const mjData& d, Workspace& work);
  void find_tendons(const mjModel& m, const mjData& d, View<double> force);
  void find_servos(Model& model, mjData& d, View<double> force, View<const double> guess, Workspace& work);
  void find_drag(const mjModel& m, const mjData& d);
  void push(const ExtraRow& row, const int* columns, const double* values, int count, double sign = 1);
};

}  // namespace pliant
