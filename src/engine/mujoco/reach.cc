#include "mujoco/reach.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pliant {
namespace {

constexpr double spare = 1.1;     // on the way that a geom can go
constexpr int most_covered = 4;   // velocities
constexpr double unsteady = 0.2;  // of the ways of two geoms, by which they may come nearer to each other than expected
constexpr double skin = 0.02;     // of its radius that is covered in any case
constexpr double furthest =
    1e6;  // [m] that is looked ahead at most: MuJoCo counts the cells of a height field on the way
constexpr double least = 1e-4;  // [m, rad] within which limits have rows
constexpr double short_way =
    0.2;                       // of its radius that a geom may go in a step for its contacts to be taken as they seem
constexpr double bent = 0.01;  // of a gap, by which the way to a touch may differ from a straight one

double norm(const double* v) { return std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

}  // namespace

void Reach::reserve(Model& model, const mjData& d, bool limits, Workspace& work) {
  model_ = &model;
  m_ = &model.given();
  d_ = &d;
  limits_ = limits;
  h_ = m_->opt.timestep;
  fall_ = h_ * norm(m_->opt.gravity);
  fixed_ = false;  // adhesion actuators count the contacts within the gap: theirs stays as it is
  for (int a = 0; a < m_->nactuator; a++) fixed_ = fixed_ || m_->actuator_trntype[a] == mjTRN_BODY;
  way = work.filled(m_->ngeom, 0.0);
  speed_ = work.filled(m_->ngeom, 0.0);
  rate_ = work.filled(m_->ngeom, 0.0);
  cvel_ = work.take<double>(6 * m_->nbody);
  faster_ = work.take<double>(m_->nv);
  turn_ = work.take<double>(m_->nbody);
  known_ = work.take<double>(6 * m_->nbody * most_covered);
  covered_ = 0;
  find_moving();
  cover_speeds(View<const double>(d_->qvel, static_cast<int>(m_->nv)));
}

void Reach::cover_speeds(View<const double> v) {
  add_speeds(v, speed_);
  if (covered_ < most_covered) std::copy(cvel_.begin(), cvel_.end(), known_.at(6 * m_->nbody * covered_++));
}

// A bound on how fast two geoms come nearer to each other: how fast any point of the smaller one moves in the other's frame.
double Reach::nearing(const double* cvel, int a, int b) const {
  const double radius_a = m_->geom_rbound[a], radius_b = m_->geom_rbound[b];
  const int small = radius_b > 0 && (radius_b < radius_a || !(radius_a > 0)) ? b : a;
  const int body_a = m_->geom_bodyid[a], body_b = m_->geom_bodyid[b];
  const mjtNum* x = d_->geom_xpos + 3 * small;
  double p[3], q[3], w[3];
  point_velocity(cvel, body_a, x, p);
  point_velocity(cvel, body_b, x, q);
  for (int k = 0; k < 3; k++) {
    p[k] -= q[k];
    w[k] = cvel[6 * body_a + k] - cvel[6 * body_b + k];
  }
  return norm(p) + norm(w) * m_->geom_rbound[small];
}

double Reach::margin_of(int a, int b, double margin) {
  const double far = fixed_ ? 0 : way[a] + way[b];
  double speed = 0;
  for (int k = 0; k < covered_; k++) speed = std::max(speed, nearing(known_.at(6 * m_->nbody * k), a, b));
  const double near = spare * h_ * (speed + fall_) + skin * (m_->geom_rbound[a] + m_->geom_rbound[b]) + unsteady * far;
  if (!(near < far)) return margin;
  pairs_.push({a, b, near});
  return margin - far + near;
}

// Most geoms of a robot are there to be seen.
void Reach::find_moving() {
  const mjModel& m = *m_;
  moving_.clear();
  for (int p = 0; p < m.npair; p++) rate_[m.pair_geom1[p]] = rate_[m.pair_geom2[p]] = 1;
  for (int g = 0; g < m.ngeom; g++) {
    const bool collides = m.geom_contype[g] != 0 || m.geom_conaffinity[g] != 0 || rate_[g] > 0;
    if (collides && m.body_weldid[m.geom_bodyid[g]] != 0) moving_.push(g);
  }
}

// MuJoCo's cvel at v, angular first; bodies come after their parents.
void Reach::find_velocities(View<const double> v) {
  const mjModel& m = *m_;
  std::fill_n(cvel_.data(), 6, 0.0);
  for (int b = 1; b < m.nbody; b++) {
    double* to = cvel_.at(6 * b);
    std::copy_n(cvel_.at(6 * m.body_parentid[b]), 6, to);
    for (int i = m.body_dofadr[b]; i < m.body_dofadr[b] + m.body_dofnum[b]; i++) {
      for (int k = 0; k < 6; k++) to[k] += d_->cdof[6 * i + k] * v[i];
    }
  }
}

void Reach::point_velocity(const double* cvel, int body, const mjtNum* x, double* to) const {
  const double *c = cvel + 6 * body, *com = d_->subtree_com + 3 * m_->body_rootid[body];
  const double r[3] = {x[0] - com[0], x[1] - com[1], x[2] - com[2]};
  to[0] = c[3] + c[1] * r[2] - c[2] * r[1];
  to[1] = c[4] + c[2] * r[0] - c[0] * r[2];
  to[2] = c[5] + c[0] * r[1] - c[1] * r[0];
}

void Reach::centre_velocity(int g, double* to) const { point_velocity(m_->geom_bodyid[g], d_->geom_xpos + 3 * g, to); }

double Reach::opening(const mjContact& contact) const {
  double p[3], q[3], sum = 0;
  point_velocity(m_->geom_bodyid[contact.geom[0]], contact.pos, p);
  point_velocity(m_->geom_bodyid[contact.geom[1]], contact.pos, q);
  for (int k = 0; k < 3; k++) sum += contact.frame[k] * (q[k] - p[k]);
  return sum;
}

double Reach::spin(int body) const { return norm(cvel_.at(6 * body)); }

// |velocity of the centre| + |angular velocity| times the radius, where that is more.
void Reach::add_speeds(View<const double> v, View<double> to) {
  find_velocities(v);
  int last = -1;
  double turn = 0;
  for (int k = 0; k < moving_.size(); k++) {
    const int g = moving_[k], b = m_->geom_bodyid[g];
    if (b != last) turn = spin(b);
    last = b;
    double centre[3];
    centre_velocity(g, centre);
    to[g] = std::max(to[g], norm(centre) + turn * m_->geom_rbound[g]);
  }
}

void Reach::widen(View<const double> v) {
  const mjModel& m = *m_;
  cover_speeds(v);
  pairs_.clear();
  for (int k = 0; k < moving_.size(); k++) {
    const int g = moving_[k], b = m.geom_bodyid[g];
    way[g] = std::min(furthest, spare * h_ * (speed_[g] + fall_) + skin * m.geom_rbound[g]);
    if (fixed_) continue;
    model_->geom_gap[g] = m.geom_gap[g] + way[g];
    model_->body_margin[b] = std::max(model_->body_margin[b], model_->geom_gap[g] + m.geom_margin[g]);
  }
  for (int p = 0; p < m.npair; p++) {
    model_->pair_gap[p] = m.pair_gap[p] + (fixed_ ? 0 : way[m.pair_geom1[p]] + way[m.pair_geom2[p]]);
  }
}

void Reach::widen_limits(View<const double> v) {
  const mjModel& m = *m_;
  if (!limits_) return;
  for (int j = 0; j < m.njnt; j++) {
    if (!m.jnt_limited[j]) continue;
    const int dof = m.jnt_dofadr[j];
    double fast = std::fabs(v[dof]);
    if (m.jnt_type[j] == mjJNT_BALL) fast += std::fabs(v[dof + 1]) + std::fabs(v[dof + 2]);
    model_->joint_margin[j] = m.jnt_margin[j] + spare * h_ * fast + least;
  }
  for (int t = 0; t < m.ntendon; t++) {
    if (!m.tendon_limited[t]) continue;
    double far = 0;
    for (int e = m.ten_J_rowadr[t]; e < m.ten_J_rowadr[t] + m.ten_J_rownnz[t]; e++) {
      far += std::fabs(d_->ten_J[e]) * (spare * h_ * std::fabs(v[m.ten_J_colind[e]]) + least);
    }
    model_->tendon_margin[t] = m.tendon_margin[t] + far;
  }
}

void Reach::cover(View<const double> v) {
  widen(v);
  for (int j = 0; j < v.size(); j++) faster_[j] = std::max(std::fabs(d_->qvel[j]), std::fabs(v[j]));
  widen_limits(faster_);
}

bool Reach::outrun(View<const double> v) {
  const mjModel& m = *m_;
  if (limits_) {
    for (int j = 0; j < m.njnt; j++) {
      if (!m.jnt_limited[j] || m.jnt_type[j] == mjJNT_BALL) continue;
      const double here = d_->qpos[m.jnt_qposadr[j]], on = h_ * v[m.jnt_dofadr[j]], margin = model_->joint_margin[j];
      const double below = here - m.jnt_range[2 * j], above = m.jnt_range[2 * j + 1] - here;
      if ((below >= margin && below + on < 0) || (above >= margin && above - on < 0)) return true;
    }
  }
  std::fill(rate_.begin(), rate_.end(), 0.0);
  add_speeds(v, rate_);
  for (int k = 0; k < moving_.size(); k++) {
    if (h_ * rate_[moving_[k]] > way[moving_[k]]) return true;
  }
  for (int k = 0; k < pairs_.size(); k++) {
    if (h_ * nearing(cvel_.data(), pairs_[k].a, pairs_[k].b) > pairs_[k].way) return true;
  }
  return false;
}

void Reach::restore_margins() {
  std::copy_n(m_->jnt_margin, m_->njnt, model_->joint_margin.data());
  std::copy_n(m_->tendon_margin, m_->ntendon, model_->tendon_margin.data());
}

bool Reach::is_long(int a, int b) const {
  const auto radius = [&](int g) {
    return m_->geom_rbound[g] > 0 ? m_->geom_rbound[g] : std::numeric_limits<double>::infinity();
  };
  return h_ * (speed_[a] + speed_[b]) > short_way * std::min(radius(a), radius(b));
}

// A sphere and a plane touch along the normal and at the time that the start of the step tells, and so do two spheres that
// come head on. A way s aside changes a gap g by s^2 / 2 (r_a + r_b).
bool Reach::bends(int a, int b, View<const double> v) {
  if (!is_long(a, b)) return false;
  const int one = m_->geom_type[a], two = m_->geom_type[b];
  const bool round = one == mjGEOM_SPHERE || two == mjGEOM_SPHERE;
  if (one == mjGEOM_PLANE || two == mjGEOM_PLANE) return !round;
  if (one != mjGEOM_SPHERE || two != mjGEOM_SPHERE) return true;
  find_velocities(v);
  double p[3], q[3], x[3], n[3];
  centre_velocity(a, p);
  centre_velocity(b, q);
  for (int k = 0; k < 3; k++) {
    x[k] = q[k] - p[k];
    n[k] = d_->geom_xpos[3 * b + k] - d_->geom_xpos[3 * a + k];
  }
  const double far = norm(n), along = (x[0] * n[0] + x[1] * n[1] + x[2] * n[2]) / far;
  const double reach = m_->geom_rbound[a] + m_->geom_rbound[b];
  const double aside = std::max(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] - along * along, 0.0);
  return h_ * h_ * aside > 2 * bent * reach * (far - reach);
}

double Reach::approach(int a, int b, View<const double> v) {
  find_velocities(v);
  double p[3], q[3];
  centre_velocity(a, p);
  centre_velocity(b, q);
  const double x[3] = {p[0] - q[0], p[1] - q[1], p[2] - q[2]};
  return norm(x) + spin(m_->geom_bodyid[a]) * (m_->geom_rbound[a] + h_ * norm(p)) +
         spin(m_->geom_bodyid[b]) * (m_->geom_rbound[b] + h_ * norm(q));
}

double Reach::bend(int a, int b) const {
  double sum = 0;
  for (const int g : {a, b}) {
    double p[3];
    centre_velocity(g, p);
    const double turn = spin(m_->geom_bodyid[g]);
    sum += turn * (norm(p) + turn * m_->geom_rbound[g]);
  }
  return sum;
}

View<const double> Reach::turns(View<const double> v) {
  find_velocities(v);
  for (int b = 0; b < m_->nbody; b++) turn_[b] = h_ * spin(b);
  return turn_;
}

}  // namespace pliant
