#include "mujoco/model.h"

#include <algorithm>
#include <cmath>

namespace pliant {

void Model::refresh(const mjModel* user, View<const double> friction) {
  user_ = const_cast<mjModel*>(user);
  own_ = *user;
  called_ = mujoco.has_callbacks();
  if (called_) given_ = *user;
  changed_ = false;
  const auto ngeom = static_cast<std::size_t>(user->ngeom), npair = static_cast<std::size_t>(user->npair),
             nbody = static_cast<std::size_t>(user->nbody), njnt = static_cast<std::size_t>(user->njnt),
             ntendon = static_cast<std::size_t>(user->ntendon);
  reals_.resize(4 * ngeom + npair + nbody + njnt + ntendon);
  double* at = reals_.data();
  const auto lend = [&](mjtNum*& array, std::size_t count, std::size_t width = 1) {
    std::copy_n(array, count * width, at);
    array = at;
    at += count * width;
    return View<double>(array, static_cast<int>(count * width));
  };
  geom_gap = lend(own_.geom_gap, ngeom);
  pair_gap = lend(own_.pair_gap, npair);
  body_margin = lend(own_.body_margin, nbody);
  joint_margin = lend(own_.jnt_margin, njnt);
  tendon_margin = lend(own_.tendon_margin, ntendon);
  const View<double> frictions = lend(own_.geom_friction, ngeom, 3);
  for (int g = 0; g < friction.size(); g++) {
    if (!std::isnan(friction[g])) frictions[3 * g] = friction[g];
  }
  // Ranges of actuators' forces are bounds of rows.
  const auto count = static_cast<std::size_t>(std::max({user->nactuator, user->njnt, user->ntendon}));
  if (count > unlimited_count_) {
    unlimited_ = std::make_unique<mjtBool[]>(count);
    unlimited_count_ = count;
  }
  own_.actuator_forcelimited = own_.jnt_actfrclimited = own_.tendon_actfrclimited = unlimited_.get();
  // Elliptic cones for the rows; Euler without its implicit damping for the advance, since our forces have it; nothing that
  // we do ourselves.
  own_.opt.cone = mjCONE_ELLIPTIC;
  own_.opt.integrator = mjINT_EULER;
  own_.opt.solver = mjSOL_NEWTON;
  own_.opt.noslip_iterations = 0;
  own_.opt.disableflags |= mjDSBL_EULERDAMP | mjDSBL_ISLAND;
  own_.opt.enableflags &= ~(mjENBL_FWDINV | mjENBL_SPECULATIVE);
}

void Model::restore() {
  if (called_ && changed_) *user_ = given_;
  changed_ = false;
}

const mjModel* Model::own() {
  if (!called_) return &own_;
  if (!changed_) given_ = *user_;  // callbacks may have set something
  *user_ = own_;
  changed_ = true;
  return user_;
}

const mjModel* Model::users() {
  restore();
  return user_;
}

}  // namespace pliant
