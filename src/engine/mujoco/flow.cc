#include "mujoco/flow.h"

#include <algorithm>
#include <cmath>

namespace pliant {
double flow_tuning[4] = {1e-5, 0.02, 0.1, 60};

void Flow::find_inertial(const mjModel& m, const mjData& d, View<double> c) {
  const bool weightless = (m.opt.disableflags & mjDSBL_GRAVITY) != 0;
  for (int j = 0; j < m.nv; j++) {
    const int b = m.dof_bodyid[j], root = m.body_rootid[b];
    const mjtNum *axis = d.cdof + 6 * j, *x = d.subtree_com + 3 * b, *o = d.subtree_com + 3 * root;
    const double r[3] = {x[0] - o[0], x[1] - o[1], x[2] - o[2]};
    const double moved[3] = {axis[3] + axis[1] * r[2] - axis[2] * r[1], axis[4] + axis[2] * r[0] - axis[0] * r[2],
                             axis[5] + axis[0] * r[1] - axis[1] * r[0]};
    double weight = 0;
    for (int k = 0; k < 3; k++) weight += m.opt.gravity[k] * moved[k];
    c[j] = d.qfrc_bias[j] + (weightless ? 0 : m.body_subtreemass[b] * weight);
  }
}

bool Flow::is_needed(Model& model, mjData& d, Workspace& work) const {
  const mjModel& m = model.given();
  const int nv = static_cast<int>(m.nv);
  const double h = m.opt.timestep;
  double fastest = 0;
  for (int j = 0; j < nv; j++) fastest += std::fabs(d.qvel[j]);
  if (h * fastest < flow_tuning[0]) return false;
  const Workspace::Mark mark = work.mark();
  View<double> c = work.take<double>(nv), x = work.take<double>(nv), p = work.take<double>(nv);
  find_inertial(m, d, c);
  const mjModel* own = model.own();
  guarded([&] {
    mujoco.mj_solveM(own, &d, x.data(), c.data(), 1);
    mujoco.mj_mulM(own, &d, p.data(), d.qvel);
  });
  bool needed = false;
  for (int first = 0, end = 0; first < nv; first = end) {
    double kick = 0, motion = 0;
    for (end = first; end < nv && m.dof_treeid[end] == m.dof_treeid[first]; end++) {
      kick += c[end] * x[end];
      motion += p[end] * d.qvel[end];
    }
    needed = needed || h * h * kick > flow_tuning[1] * motion;
  }
  work.release(mark);
  return needed;
}

// Of what turns too fast for a step to follow: it keeps its velocity, and its energy.
void Flow::keep_turning(Model& model, mjData& d, View<const double> force, Workspace& work) {
  const mjModel& m = model.given();
  const Workspace::Mark mark = work.mark();
  View<double> pull = work.take<double>(m.nv);
  find_inertial(m, d, pull);
  for (int j = 0; j < m.nv; j++) pull[j] += force[j] - d.qfrc_bias[j];
  const mjModel* own = model.own();
  guarded([&] { mujoco.mj_solveM(own, &d, velocity.data(), pull.data(), 1); });
  for (int j = 0; j < m.nv; j++) mean[j] = velocity[j] = d.qvel[j] + m.opt.timestep * velocity[j];
  work.release(mark);
}

bool Flow::follow(Model& model, mjData& d, View<const double> force, Aside& aside, Workspace& work) {
  if (!is_needed(model, d, work)) return false;
  constexpr double part[4] = {0, 0.5, 0.5, 1}, weight[4] = {1.0 / 6, 2.0 / 6, 2.0 / 6, 1.0 / 6};
  const mjModel& m = model.given();
  const int nv = static_cast<int>(m.nv), nq = static_cast<int>(m.nq);
  const double h = m.opt.timestep;
  double turn = 0;
  for (int b = 1; b < m.nbody; b++) {
    const mjtNum* w = d.cvel + 6 * b;
    turn = std::max(turn, h * std::sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]));
  }
  velocity = work.take<double>(nv);
  mean = work.take<double>(nv);
  if (!(turn < flow_tuning[2] * flow_tuning[3])) {
    keep_turning(model, d, force, work);
    return true;
  }
  const int steps = static_cast<int>(std::max(std::ceil(turn / flow_tuning[2]), 1.0));
  const double dt = h / steps;
  const Workspace::Mark mark = work.mark();
  View<double> q = work.take<double>(nq), rate = work.take<double>(nv), slope = work.take<double>(nv);
  View<double> rates = work.take<double>(nv), slopes = work.take<double>(nv), pull = work.take<double>(nv);
  std::copy_n(d.qpos, nq, q.data());
  std::copy_n(d.qvel, nv, velocity.data());
  const mjModel* own = model.own();
  mjData* there = aside.of(model, d);
  for (int k = 0; k < steps; k++) {
    std::fill(rates.begin(), rates.end(), 0.0);
    std::fill(slopes.begin(), slopes.end(), 0.0);
    for (int stage = 0; stage < 4; stage++) {
      std::copy_n(q.data(), nq, there->qpos);
      if (stage > 0) guarded([&] { mujoco.mj_integratePos(own, there->qpos, rate.data(), part[stage] * dt); });
      for (int j = 0; j < nv; j++) {
        rate[j] = velocity[j] + (stage > 0 ? part[stage] * dt * slope[j] : 0);
        there->qvel[j] = rate[j];
      }
      guarded([&] {
        mujoco.mj_kinematics(own, there);
        mujoco.mj_comPos(own, there);
        mujoco.mj_makeM(own, there);
        mujoco.mj_factorM(own, there);
        mujoco.mj_comVel(own, there);
        mujoco.mj_rne(own, there, 0, pull.data());
      });
      for (int j = 0; j < nv; j++) pull[j] = force[j] - pull[j];
      guarded([&] { mujoco.mj_solveM(own, there, slope.data(), pull.data(), 1); });
      for (int j = 0; j < nv; j++) {
        rates[j] += weight[stage] * rate[j];
        slopes[j] += weight[stage] * slope[j];
      }
    }
    guarded([&] { mujoco.mj_integratePos(own, q.data(), rates.data(), dt); });
    for (int j = 0; j < nv; j++) velocity[j] += dt * slopes[j];
  }
  guarded([&] { mujoco.mj_differentiatePos(own, mean.data(), h, d.qpos, q.data()); });
  work.release(mark);
  double sum = 0;
  for (int j = 0; j < nv; j++) sum += 0 * (velocity[j] * velocity[j]);
  return sum == 0;
}

}  // namespace pliant
