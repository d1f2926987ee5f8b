// The step of a model as the engine's record: MuJoCo's rows with our laws, the elements of foundations, and rows of springs,
// servos and drag, in this order.
#pragma once
#include "mujoco/flow.h"
#include "mujoco/foundation.h"
#include "mujoco/materials.h"
#include "mujoco/passive.h"
#include "step/step.h"

namespace pliant {

// Of a gap, down to which a limit or a contact does not come near closing.
constexpr double near_closing = 0.5;

// Of a row of MuJoCo's.
inline bool is_contact(int type) {
  return type == mjCNSTR_CONTACT_ELLIPTIC || type == mjCNSTR_CONTACT_PYRAMIDAL || type == mjCNSTR_CONTACT_FRICTIONLESS;
}

// What of MuJoCo's rows the write-back needs: its arrays are made anew there.
struct KnownRow {
  int type, id;
  double pos, margin;
};

class Assembly {
 public:
  Step step;
  int own = 0, elements = 0, extra = 0;  // rows of each source
  View<KnownRow> known;                  // of MuJoCo's

  // turning: more of the inertia, in the pattern of the whole, or empty. velocity, force: of the step. flow: of its smooth forces, if it goes elsewhere than an Euler step.
  void build(Model& model, const mjData& d, const Materials& materials, const Passive& passive, const Patches& patches,
             View<const double> velocity, View<const double> force, const Flow* flow, View<const double> turning,
             Workspace& work);

  // G v of a row, and its rate at v.
  double along(int row, View<const double> v) const;
  double rate(int row, View<const double> v) const { return offset[row] + along(row, v); }

  // Leaves out limits and contacts that are open and do not come near closing at the velocity v.
  void leave_out_open(View<const double> v);
  // Takes those back that close at v after all; whether there were any.
  bool take_back(View<const double> v);
  // Takes all back.
  void complete();

  // To be changed: gaps of contacts that are followed, laws and offsets of those that bounce.
  View<double> value, offset, stiffness, damping, exponent, dissipation;

 private:
  int left_out_ = 0;

  void take_back(int row);
  View<std::int64_t> mass_start_, mass_column_, jacobian_start_, jacobian_column_, block_start_, kind_;
  View<double> mass_value_, jacobian_value_, lower_, upper_, friction_;

  void add_mass(const mjModel& m, const mjtNum* M, const Passive& passive, View<const double> turning, Workspace& work);
  void turn(const Flow& flow, Workspace& work);
  void add_jacobian(const mjModel& m, const mjData& d, bool sparse, const Passive& passive, const Patches& patches,
                    Workspace& work);
  int add_own(const mjModel& m, const mjData& d, const Materials& materials, View<const double> effective);
};

}  // namespace pliant
