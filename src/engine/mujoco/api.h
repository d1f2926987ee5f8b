// MuJoCo's functions, looked up in the library that the mujoco package has loaded, and its errors as exceptions.
#pragma once
#include <mujoco/mujoco.h>
#include <stdexcept>
#include <string>

namespace pliant {

#define PLIANT_MUJOCO_FUNCTIONS(X) \
  X(mj_collision)                  \
  X(mj_comPos)                     \
  X(mj_comVel)                     \
  X(mj_deleteData)                 \
  X(mj_differentiatePos)           \
  X(mj_energyPos)                  \
  X(mj_energyVel)                  \
  X(mj_Euler)                      \
  X(mj_factorM)                    \
  X(mj_fwdAcceleration)            \
  X(mj_fwdActuation)               \
  X(mj_fwdKinematics)              \
  X(mj_fwdVelocity)                \
  X(mj_geomDistance)               \
  X(mj_getState)                   \
  X(mj_integratePos)               \
  X(mj_island)                     \
  X(mj_isSparse)                   \
  X(mj_kinematics)                 \
  X(mj_makeConstraint)             \
  X(mj_makeData)                   \
  X(mj_makeM)                      \
  X(mj_mulJacTVec)                 \
  X(mj_mulJacVec)                  \
  X(mj_mulM)                       \
  X(mj_projectConstraint)          \
  X(mj_referenceConstraint)        \
  X(mj_rne)                        \
  X(mj_sensorAcc)                  \
  X(mj_sensorPos) X(mj_sensorVel) X(mj_setState) X(mj_solveM) X(mj_tendon) X(mj_transmission) X(mj_version)

// The names of its variables that hold callbacks.
#define PLIANT_MUJOCO_CALLBACKS(X) \
  X(mjcb_passive)                  \
  X(mjcb_control) X(mjcb_contactfilter) X(mjcb_sensor) X(mjcb_act_dyn) X(mjcb_act_gain) X(mjcb_act_bias)

struct Mujoco {
#define PLIANT_MEMBER(name) decltype(&::name) name = nullptr;
  PLIANT_MUJOCO_FUNCTIONS(PLIANT_MEMBER)
#undef PLIANT_MEMBER
#define PLIANT_MEMBER(name) decltype(&::name) name = nullptr;
  PLIANT_MUJOCO_CALLBACKS(PLIANT_MEMBER)
#undef PLIANT_MEMBER

  mjfCollision collision[mjNGEOMTYPES][mjNGEOMTYPES] = {};  // of two kinds of geoms

  bool has_callbacks() const;
};
extern Mujoco mujoco;

// Fills the table. Throws std::runtime_error where the library at this path is not loaded, or is of another version than the
// headers.
void load_mujoco(const char* path);

// While one is there, collisions on its thread are looked for within the margin that it tells of two geoms.
class Margins {
 public:
  using Of = double (*)(void* context, int a, int b, double margin);
  Margins(Of of, void* context);
  ~Margins();
  Margins(const Margins&) = delete;
  Margins& operator=(const Margins&) = delete;

 private:
  Of outer_;  // of a step that is in the middle of its collisions: a callback may take another
  void* outer_context_;
};

// What MuJoCo, or a callback that it has called, raises.
struct MujocoError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Runs calls of MuJoCo, whose errors end them in the middle: nothing in `calls` may need a destructor.
template <class F>
void guarded(F&& calls);

bool run_guarded(void (*calls)(void*), void* context);  // false: it ended in an error
std::string last_mujoco_error();

template <class F>
void guarded(F&& calls) {
  if (!run_guarded([](void* context) { (*static_cast<std::remove_reference_t<F>*>(context))(); }, &calls))
    throw MujocoError(last_mujoco_error());
}

// What cannot be stepped as it was given.
struct InputProblem : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

}  // namespace pliant
