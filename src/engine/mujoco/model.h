// The model that a step works with: the user's, but for what the step sets itself. Never behind it: the struct is copied
// before every step, and shares all arrays but a few.
#pragma once
#include <memory>
#include <vector>
#include "mujoco/api.h"
#include "view.h"

namespace pliant {

class Model {
 public:
  // Takes over what the user has set since; friction: of geoms whose material has its own, else NaN.
  void refresh(const mjModel* user, View<const double> friction);
  // Puts the user's model back as it was; where callbacks are set it is theirs that was changed.
  void restore();

  // What MuJoCo's functions take. Callbacks know the user's model by its address: where some are set, the two are the same,
  // and hold what was asked for last.
  const mjModel* own();
  const mjModel* users();
  // With the user's cone and limits of actuators as well as the arrays below.
  void set_cone(int cone) { own_.opt.cone = cone; }

  const mjModel& given() const { return called_ ? given_ : *user_; }  // the user's settings
  bool has_callbacks() const { return called_; }

  View<double> geom_gap, pair_gap, body_margin, joint_margin, tendon_margin;  // of own()

 private:
  mjModel* user_ = nullptr;
  mjModel given_, own_;
  bool called_ = false, changed_ = false;  // whether callbacks are set; whether the user's model is changed now
  std::vector<double> reals_;
  std::unique_ptr<mjtBool[]> unlimited_;
  std::size_t unlimited_count_ = 0;
};

}  // namespace pliant
