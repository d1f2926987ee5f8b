#include "mujoco/flow.h"

#include <algorithm>
#include <cmath>

namespace pliant {
double flow_tuning[4] = {1e-8, 1e-4, 0.1, 120};
namespace {

constexpr double least = 1e-6;  // [rad, m] of all joints together in a step: what moves less kicks nothing

}  // namespace

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

// The largest share of its energy of motion that a tree would gain, twice over, by its forces of inertia as they are at the
// start.
double Flow::kick(Model& model, mjData& d, Workspace& work) const {
  const mjModel& m = model.given();
  const int nv = static_cast<int>(m.nv);
  const double h = m.opt.timestep;
  double fastest = 0;
  for (int j = 0; j < nv; j++) fastest += std::fabs(d.qvel[j]);
  if (h * fastest < least) return 0;
  const Workspace::Mark mark = work.mark();
  View<double> c = work.take<double>(nv), x = work.take<double>(nv), p = work.take<double>(nv);
  find_inertial(m, d, c);
  const mjModel* own = model.own();
  guarded([&] {
    mujoco.mj_solveM(own, &d, x.data(), c.data(), 1);
    mujoco.mj_mulM(own, &d, p.data(), d.qvel);
  });
  double most = 0;
  for (int first = 0, last = 0; first < nv; first = last) {
    double gained = 0, motion = 0;
    for (last = first; last < nv && m.dof_treeid[last] == m.dof_treeid[first]; last++) {
      gained += c[last] * x[last];
      motion += p[last] * d.qvel[last];
    }
    if (motion > 0) most = std::max(most, h * h * gained / motion);
  }
  work.release(mark);
  return most;
}

bool Flow::follow(Model& model, mjData& d, View<const double> force, Aside& aside, Workspace& work) {
  const mjModel& m = model.given();
  shift = end = {};
  const double found = kick(model, d, work);
  if (!(found > flow_tuning[0])) return false;
  push = work.take<double>(m.nv);
  if (found < flow_tuning[1]) {
    bend(model, d, force, work);
    return true;
  }
  shift = work.take<double>(m.nv);
  end = work.take<double>(m.nv);
  double turn = 0;
  for (int b = 1; b < m.nbody; b++) {
    const mjtNum* w = d.cvel + 6 * b;
    turn = std::max(turn, m.opt.timestep * std::sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]));
  }
  const double steps = std::max(std::ceil(turn / flow_tuning[2]), 1.0);
  if (steps <= flow_tuning[3]) run(model, d, force, static_cast<int>(steps), aside, work);
  else keep_turning(model, d, force, work);
  const Workspace::Mark mark = work.mark();
  View<double> rate = work.take<double>(m.nv);
  double sum = 0;
  for (int j = 0; j < m.nv; j++) {
    rate[j] = (end[j] - d.qvel[j]) / m.opt.timestep;
    sum += 0 * (rate[j] * rate[j]);
  }
  const mjModel* own = model.own();
  guarded([&] { mujoco.mj_mulM(own, &d, push.data(), rate.data()); });
  for (int j = 0; j < m.nv; j++) push[j] -= force[j] - d.qfrc_bias[j];
  work.release(mark);
  if (sum == 0) return true;
  shift = end = {};
  return false;
}

// Forces of inertia at the velocity of the middle of the step.
void Flow::bend(Model& model, mjData& d, View<const double> force, Workspace& work) {
  const mjModel& m = model.given();
  const int nv = static_cast<int>(m.nv), nbody = static_cast<int>(m.nbody);
  const Workspace::Mark mark = work.mark();
  View<double> v = work.take<double>(nv), pull = work.take<double>(nv), rate = work.take<double>(nv);
  View<double> cvel = work.take<double>(6 * nbody), turning = work.take<double>(6 * nv);
  std::copy_n(d.qvel, nv, v.data());
  std::copy_n(d.cvel, 6 * nbody, cvel.data());
  std::copy_n(d.cdof_dot, 6 * nv, turning.data());
  for (int j = 0; j < nv; j++) pull[j] = force[j] - d.qfrc_bias[j];
  const mjModel* own = model.own();
  guarded([&] { mujoco.mj_solveM(own, &d, rate.data(), pull.data(), 1); });
  for (int j = 0; j < nv; j++) d.qvel[j] += 0.5 * m.opt.timestep * rate[j];
  guarded([&] {
    mujoco.mj_comVel(own, &d);
    mujoco.mj_rne(own, &d, 0, push.data());
  });
  for (int j = 0; j < nv; j++) push[j] = d.qfrc_bias[j] - push[j];
  std::copy_n(v.data(), nv, d.qvel);
  std::copy_n(cvel.data(), 6 * nbody, d.cvel);
  std::copy_n(turning.data(), 6 * nv, d.cdof_dot);
  work.release(mark);
}

// Of what turns too fast for a step to follow: it keeps its velocity, and its energy.
void Flow::keep_turning(Model& model, mjData& d, View<const double> force, Workspace& work) {
  const mjModel& m = model.given();
  const Workspace::Mark mark = work.mark();
  View<double> pull = work.take<double>(m.nv);
  find_inertial(m, d, pull);
  for (int j = 0; j < m.nv; j++) pull[j] += force[j] - d.qfrc_bias[j];
  const mjModel* own = model.own();
  guarded([&] { mujoco.mj_solveM(own, &d, end.data(), pull.data(), 1); });
  for (int j = 0; j < m.nv; j++) {
    end[j] = d.qvel[j] + m.opt.timestep * end[j];
    shift[j] = 0;
  }
  work.release(mark);
}

void Flow::run(Model& model, mjData& d, View<const double> force, int steps, Aside& aside, Workspace& work) {
  constexpr double part[4] = {0, 0.5, 0.5, 1}, weight[4] = {1.0 / 6, 2.0 / 6, 2.0 / 6, 1.0 / 6};
  const mjModel& m = model.given();
  const int nv = static_cast<int>(m.nv), nq = static_cast<int>(m.nq);
  const double h = m.opt.timestep, dt = h / steps;
  const Workspace::Mark mark = work.mark();
  View<double> q = work.take<double>(nq), rate = work.take<double>(nv), slope = work.take<double>(nv);
  View<double> rates = work.take<double>(nv), slopes = work.take<double>(nv), pull = work.take<double>(nv);
  std::copy_n(d.qpos, nq, q.data());
  std::copy_n(d.qvel, nv, end.data());
  const mjModel* own = model.own();
  mjData* there = aside.of(model, d);
  for (int k = 0; k < steps; k++) {
    std::fill(rates.begin(), rates.end(), 0.0);
    std::fill(slopes.begin(), slopes.end(), 0.0);
    for (int stage = 0; stage < 4; stage++) {
      std::copy_n(q.data(), nq, there->qpos);
      if (stage > 0) guarded([&] { mujoco.mj_integratePos(own, there->qpos, rate.data(), part[stage] * dt); });
      for (int j = 0; j < nv; j++) {
        rate[j] = end[j] + (stage > 0 ? part[stage] * dt * slope[j] : 0);
        there->qvel[j] = rate[j];
      }
      if (k == 0 && stage == 0) {  // all of it is known
        for (int j = 0; j < nv; j++) pull[j] = force[j] - d.qfrc_bias[j];
        guarded([&] { mujoco.mj_solveM(own, &d, slope.data(), pull.data(), 1); });
      } else {
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
      }
      for (int j = 0; j < nv; j++) {
        rates[j] += weight[stage] * rate[j];
        slopes[j] += weight[stage] * slope[j];
      }
    }
    guarded([&] { mujoco.mj_integratePos(own, q.data(), rates.data(), dt); });
    for (int j = 0; j < nv; j++) end[j] += dt * slopes[j];
  }
  guarded([&] { mujoco.mj_differentiatePos(own, shift.data(), h, d.qpos, q.data()); });
  for (int j = 0; j < nv; j++) shift[j] -= end[j];
  work.release(mark);
}

}  // namespace pliant
