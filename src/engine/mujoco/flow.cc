#include "mujoco/flow.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include "linalg/dense.h"

namespace pliant {
namespace {

// Share of its energy of motion that a tree may gain in a step by forces of inertia taken at the start: where energy is
// counted on for minutes, and where other forces take or give it anyway.
constexpr double gain = 1e-10, lossy_gain = 1e-2;
constexpr int rounds = 8;                                  // for the velocity of the middle
constexpr double round_turn = 0.1, turn_about_axis = 0.5;  // [rad] of a short step
// Three steps that make one of fourth order (Yoshida, Phys. Lett. A 150, 1990).
constexpr double composed[3] = {1.3512071919596578, -1.7024143839193153, 1.3512071919596578};
constexpr double contracting = 0.7;  // each round at least, else steps are too long
constexpr double faithful = 1.1;     // times the velocities, or as much less, within which they have followed
constexpr double most_steps = 120;   // what needs more keeps its velocity
constexpr double rough_steps = 8;    // the same of what loses energy anyway
constexpr double same = 1e-9, roughly_same = 1e-6;  // of it
constexpr double tiny = 1e-12;                      // [rad/s, m/s]
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

// Whether a tree gains or loses energy by other forces than gravity and inertia, so that nobody counts on it: by dampers, dry
// friction, actuators, fluids, contacts.
void Flow::find_lossy(const mjModel& m, const mjData& d, View<char> lossy) {
  const bool drag = m.opt.density > 0 || m.opt.viscosity > 0;
  for (int t = 0; t < m.ntree; t++) lossy[t] = drag;
  for (int j = 0; j < m.nv; j++) {
    if (m.dof_damping[j] != 0 || m.dof_frictionloss[j] != 0) lossy[m.dof_treeid[j]] = 1;
  }
  for (int out = 0; out < m.nout; out++) {
    for (int e = d.moment_rowadr[out]; e < d.moment_rowadr[out] + d.moment_rownnz[out]; e++)
      lossy[m.dof_treeid[d.moment_colind[e]]] = 1;
  }
  for (int c = 0; c < d.ncon; c++) {
    if (d.contact[c].dist > 0) continue;
    for (const int g : d.contact[c].geom) {
      const int tree = g < 0 ? -1 : m.body_treeid[m.geom_bodyid[g]];
      if (tree >= 0) lossy[tree] = 1;
    }
  }
}

// Whether a tree would gain more than a share of its energy of motion by its forces of inertia as they are at the start.
Flow::Need Flow::find_need(Model& model, mjData& d, Workspace& work) const {
  const mjModel& m = model.given();
  const int nv = static_cast<int>(m.nv);
  const double h = m.opt.timestep;
  double fastest = 0;
  for (int j = 0; j < nv; j++) fastest += std::fabs(d.qvel[j]);
  if (h * fastest < least) return Need::none;
  const Workspace::Mark mark = work.mark();
  View<double> c = work.take<double>(nv), x = work.take<double>(nv), p = work.take<double>(nv);
  View<char> lossy = work.take<char>(m.ntree);
  find_lossy(m, d, lossy);
  find_inertial(m, d, c);
  const mjModel* own = model.own();
  guarded([&] {
    mujoco.mj_solveM(own, &d, x.data(), c.data(), 1);
    mujoco.mj_mulM(own, &d, p.data(), d.qvel);
  });
  Need found = Need::none;
  for (int first = 0, last = 0; first < nv; first = last) {
    double gained = 0, motion = 0;
    for (last = first; last < nv && m.dof_treeid[last] == m.dof_treeid[first]; last++) {
      gained += c[last] * x[last];
      motion += p[last] * d.qvel[last];
    }
    const bool loses = lossy[m.dof_treeid[first]] != 0;
    if (h * h * gained > (loses ? lossy_gain : gain) * motion)
      found = std::max(found, loses ? Need::rough : Need::exact);
  }
  work.release(mark);
  return found;
}

// How many there must be. Each keeps an energy that is near the true one but depends on its length: who changes that all the
// time gains some. Joints with one axis get along with few.
double Flow::short_steps(const mjModel& m, const mjData& d) const {
  double most = 1;
  for (int j = 0; j < m.njnt; j++) {
    const bool round = m.jnt_type[j] == mjJNT_FREE || m.jnt_type[j] == mjJNT_BALL;
    const mjtNum* w = d.cvel + 6 * m.jnt_bodyid[j];
    const double turn = m.opt.timestep * std::sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
    most = std::max(most, std::ceil(turn / (round ? round_turn : turn_about_axis)));
  }
  return most;
}

bool Flow::follow(Model& model, mjData& d, View<const double> force, View<const double> implicit, Aside& aside,
                  Workspace& work) {
  const mjModel& m = model.given();
  need_ = find_need(model, d, work);
  if (need_ == Need::none) return false;
  mean = work.take<double>(m.nv);
  end = work.take<double>(m.nv);
  round_ = false;
  for (int j = 0; j < m.njnt; j++) round_ = round_ || m.jnt_type[j] == mjJNT_FREE || m.jnt_type[j] == mjJNT_BALL;
  const bool exact = need_ == Need::exact;
  for (double steps = exact ? short_steps(m, d) : 1; steps <= (exact ? most_steps : rough_steps); steps *= 2) {
    if (run(model, d, force, static_cast<int>(steps), implicit, aside, work)) return true;
  }
  return keep_turning(model, d, force, implicit, aside, work);
}

// inertia := forces of inertia at the start; end := the velocity after all others have pushed, as in a step without a flow.
void Flow::push(const mjModel& m, const mjModel* own, mjData& d, View<const double> force, View<const double> implicit,
                mjData* there, View<const double> inertia, Workspace& work) {
  const int nv = static_cast<int>(m.nv);
  const Workspace::Mark mark = work.mark();
  View<double> pull = work.take<double>(nv), rate = work.take<double>(nv);
  for (int j = 0; j < nv; j++) pull[j] = force[j] + inertia[j];
  mjData* where = &d;
  if (!implicit.empty()) {
    where = there;
    std::copy_n(d.M, m.nC, there->M);
    for (int j = 0; j < nv; j++) there->M[m.M_rowadr[j] + m.M_rownnz[j] - 1] += implicit[j];
    guarded([&] { mujoco.mj_factorM(own, there); });
  }
  guarded([&] { mujoco.mj_solveM(own, where, rate.data(), pull.data(), 1); });
  for (int j = 0; j < nv; j++) end[j] = d.qvel[j] + m.opt.timestep * rate[j];
  work.release(mark);
}

// Of what turns too fast for a step to follow: it keeps its velocity, and its energy.
bool Flow::keep_turning(Model& model, mjData& d, View<const double> force, View<const double> implicit, Aside& aside,
                        Workspace& work) {
  const mjModel& m = model.given();
  View<double> inertia = work.take<double>(m.nv);
  find_inertial(m, d, inertia);
  push(m, model.own(), d, force, implicit, aside.of(model, d), inertia, work);
  std::copy(end.begin(), end.end(), mean.begin());
  M = d.M;
  turns.clear();
  return is_sane(end.span());
}

// The smooth forces push at the start, as in a step without a flow; then inertia alone leads on: half a short step of the
// positions, one of the velocities there, half a step of the positions. By the velocity of the middle, (v0 + v1) / 2, it is the
// same backwards, and keeps its energy for hours.
bool Flow::run(Model& model, mjData& d, View<const double> force, int steps, View<const double> implicit, Aside& aside,
               Workspace& work) {
  const mjModel& m = model.given();
  const int nv = static_cast<int>(m.nv), nq = static_cast<int>(m.nq);
  const double h = m.opt.timestep;
  const Workspace::Mark mark = work.mark();
  View<double> pull = work.take<double>(nv), rate = work.take<double>(nv);
  const mjModel* own = model.own();
  mjModel weightless = *own;
  std::fill_n(weightless.opt.gravity, 3, 0.0);
  mjData* there = aside.of(model, d);
  guarded([&] { mujoco.mj_rne(&weightless, &d, 0, pull.data()); });  // tendons' inertia pushes with the rest
  push(m, own, d, force, implicit, there, pull, work);
  View<double> kicked = work.take<double>(nv);
  std::copy(end.begin(), end.end(), kicked.begin());
  std::copy_n(d.qpos, nq, there->qpos);
  double before = 0;  // of positions
  const bool exact = need_ == Need::exact, higher = exact && round_;
  for (int k = 0; k < (higher ? 3 : 1) * steps; k++) {
    const double dt = h / steps * (higher ? composed[k % 3] : 1);
    guarded([&] {
      mujoco.mj_integratePos(own, there->qpos, end.data(), 0.5 * (before + dt));
      mujoco.mj_kinematics(own, there);
      mujoco.mj_comPos(own, there);
      mujoco.mj_makeM(own, there);
      mujoco.mj_factorM(own, there);
    });
    std::copy_n(end.data(), nv, there->qvel);
    double change = 1, size = 1, last = std::numeric_limits<double>::infinity();
    for (int round = 0; round < rounds && change > (exact ? same : roughly_same) * size; round++) {
      last = round > 0 ? change : last;
      guarded([&] {
        mujoco.mj_comVel(own, there);
        mujoco.mj_rne(&weightless, there, 0, pull.data());
        mujoco.mj_solveM(own, there, rate.data(), pull.data(), 1);
      });
      change = 0;
      size = tiny;
      for (int j = 0; j < nv; j++) {
        const double middle = end[j] - 0.5 * dt * rate[j];
        change = std::max(change, std::fabs(middle - there->qvel[j]));
        size = std::max(size, std::fabs(middle));
        there->qvel[j] = middle;
      }
      if (!(change < contracting * last)) {
        work.release(mark);
        return false;
      }
    }
    for (int j = 0; j < nv; j++) end[j] -= dt * rate[j];
    before = dt;
  }
  guarded([&] {
    mujoco.mj_integratePos(own, there->qpos, end.data(), 0.5 * before);
    mujoco.mj_differentiatePos(own, mean.data(), h, d.qpos, there->qpos);
    mujoco.mj_kinematics(own, there);
    mujoco.mj_comPos(own, there);
    mujoco.mj_makeM(own, there);
  });
  M = there->M;
  find_turns(m, d, there->qpos);
  const bool faithful_end = keep_energy(m, own, d, there, kicked, work);
  work.release(mark);
  return faithful_end;
}

// Inertia alone keeps the energy of every tree, and the velocity of its centre of mass where it flies; so does this, to rounding.
bool Flow::keep_energy(const mjModel& m, const mjModel* own, mjData& d, mjData* there, View<const double> kicked,
                       Workspace& work) {
  const int nv = static_cast<int>(m.nv);
  View<double> p = work.take<double>(nv), q = work.take<double>(nv);
  guarded([&] {
    mujoco.mj_mulM(own, &d, p.data(), kicked.data());
    mujoco.mj_mulM(own, there, q.data(), end.data());
  });
  for (int first = 0, last = 0; first < nv; first = last) {
    double old_energy = 0, energy = 0;
    for (last = first; last < nv && m.dof_treeid[last] == m.dof_treeid[first]; last++) {
      old_energy += p[last] * kicked[last];
      energy += q[last] * end[last];
    }
    double flight[3] = {}, of_flight = 0;  // of the centre of mass, which keeps its velocity
    const double mass = m.body_subtreemass[m.body_rootid[m.dof_bodyid[first]]];
    for (int k = 0; k < 3 && m.jnt_type[m.dof_jntid[first]] == mjJNT_FREE; k++) {
      flight[k] = q[first + k] / mass;
      of_flight += q[first + k] * flight[k];
    }
    if (!(energy - of_flight > tiny * energy && old_energy > of_flight)) continue;
    const double scale = std::sqrt((old_energy - of_flight) / (energy - of_flight));
    if (!(scale < faithful && scale > 1 / faithful)) return false;
    for (int j = first; j < last; j++) {
      const double translation = j < first + 3 ? flight[j - first] : 0;
      end[j] = translation + scale * (end[j] - translation);
    }
  }
  return true;
}

void Flow::find_turns(const mjModel& m, const mjData& d, const mjtNum* q) {
  turns.clear();
  for (int j = 0; j < m.njnt; j++) {
    const int kind = m.jnt_type[j];
    if (kind != mjJNT_FREE && kind != mjJNT_BALL) continue;
    const int at = m.jnt_qposadr[j] + (kind == mjJNT_FREE ? 3 : 0),
              dof = m.jnt_dofadr[j] + (kind == mjJNT_FREE ? 3 : 0);
    const mjtNum *a = d.qpos + at, *b = q + at;  // conj(a) b, and its matrix
    const double w = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
    const double x = a[0] * b[1] - a[1] * b[0] - a[2] * b[3] + a[3] * b[2];
    const double y = a[0] * b[2] - a[2] * b[0] - a[3] * b[1] + a[1] * b[3];
    const double z = a[0] * b[3] - a[3] * b[0] - a[1] * b[2] + a[2] * b[1];
    const double size = w * w + x * x + y * y + z * z, s = size > 0 ? 2 / size : 0;
    turns.push({dof,
                {1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y),  //
                 s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x),  //
                 s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y)}});
  }
}

void Flow::to_start(View<double> x) const {
  for (int t = 0; t < turns.size(); t++) {
    double *v = x.at(turns[t].dof), old[3] = {v[0], v[1], v[2]};
    for (int k = 0; k < 3; k++)
      v[k] = turns[t].R[3 * k] * old[0] + turns[t].R[3 * k + 1] * old[1] + turns[t].R[3 * k + 2] * old[2];
  }
}

void Flow::to_end(View<double> x) const {
  for (int t = 0; t < turns.size(); t++) {
    double *v = x.at(turns[t].dof), old[3] = {v[0], v[1], v[2]};
    for (int k = 0; k < 3; k++) v[k] = turns[t].R[k] * old[0] + turns[t].R[3 + k] * old[1] + turns[t].R[6 + k] * old[2];
  }
}

}  // namespace pliant
