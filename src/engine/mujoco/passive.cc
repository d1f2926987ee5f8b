#include "mujoco/passive.h"

#include <algorithm>
#include <cmath>

namespace pliant {
namespace {

constexpr double difference = 1e-4;  // [m or rad, m/s or rad/s] of actuators' lengths and velocities, for their slopes
constexpr double infinite = ExtraRow::infinite;
constexpr double soft = 1e3;          // times the inertia of a joint, up to which what a servo adds is not stiff
constexpr double spare_range = 0.05;  // of a servo's range, within which it is likely to reach an end of it
static_assert(mjNPOLY == 2);

// d(x (k + p0 x + p1 x^2))/dx, never negative
double slope(double linear, const mjtNum* poly, double x) {
  return std::max(linear + 2 * poly[0] * x + 3 * poly[1] * x * x, 0.0);
}

bool is_curved(const mjtNum* poly) { return poly[0] != 0 || poly[1] != 0; }

bool is_off(const mjModel& m, int flag) { return (m.opt.disableflags & flag) != 0; }

bool is_on_joint(const mjModel& m, int a) {
  return m.actuator_trntype[a] == mjTRN_JOINT || m.actuator_trntype[a] == mjTRN_JOINTINPARENT;
}

// Whether the force of an actuator may depend on the motion.
bool feels(const mjModel& m, int a) {
  return m.actuator_gaintype[a] != mjGAIN_FIXED || m.actuator_biastype[a] != mjBIAS_NONE;
}

bool is_affine(const mjModel& m, int a) {
  return m.actuator_gaintype[a] == mjGAIN_FIXED && m.actuator_outnum[a] == 1 &&
         (m.actuator_biastype[a] == mjBIAS_NONE || m.actuator_biastype[a] == mjBIAS_AFFINE);
}

// The range of an output's force, and the force that it has in qfrc_actuator.
struct Bounds {
  bool possible = true;
  double low = -infinite, high = infinite, there = 0;
};

// Actuators that share the range that a tendon sets keep MuJoCo's forces.
void add_tendon_range(const mjModel& m, int a, Bounds& b) {
  if (m.actuator_trntype[a] != mjTRN_TENDON) return;
  const int tendon = m.actuator_trnid[2 * a];
  if (!m.tendon_actfrclimited[tendon]) return;
  int sharing = 0;
  for (int other = 0; other < m.nactuator; other++) {
    sharing += m.actuator_trntype[other] == mjTRN_TENDON && m.actuator_trnid[2 * other] == tendon;
  }
  b.possible = b.possible && sharing == 1;
  b.low = std::max(b.low, m.tendon_actfrcrange[2 * tendon]);
  b.high = std::min(b.high, m.tendon_actfrcrange[2 * tendon + 1]);
}

// A row is not possible where other outputs share the joint's range, or the ranges have nothing in common.
Bounds bounds_of(const mjModel& m, const mjData& d, int a, int out) {
  Bounds b;
  b.there = d.actuator_force[out];
  if (m.actuator_forcelimited[a]) {
    b.low = m.actuator_forcerange[2 * a];
    b.high = m.actuator_forcerange[2 * a + 1];
  }
  add_tendon_range(m, a, b);
  for (int e = d.moment_rowadr[out]; e < d.moment_rowadr[out] + d.moment_rownnz[out]; e++) {
    const int dof = d.moment_colind[e], joint = m.dof_jntid[dof];
    const double gear = d.actuator_moment[e];
    if (!m.jnt_actfrclimited[joint] || gear == 0) continue;
    int sharing = 0;
    for (int other = 0; other < m.nout; other++) {
      for (int k = d.moment_rowadr[other]; k < d.moment_rowadr[other] + d.moment_rownnz[other]; k++)
        sharing += d.moment_colind[k] == dof;
    }
    if (d.moment_rownnz[out] > 1 || sharing > 1) {
      b.possible = false;
      return b;
    }
    const double weight = m.jnt_actgravcomp[joint] ? d.qfrc_gravcomp[dof] : 0;
    const double one = (m.jnt_actfrcrange[2 * joint] - weight) / gear;
    const double two = (m.jnt_actfrcrange[2 * joint + 1] - weight) / gear;
    b.low = std::max(b.low, std::min(one, two));
    b.high = std::min(b.high, std::max(one, two));
    b.there = (d.qfrc_actuator[dof] - weight) / gear;
  }
  b.possible = b.possible && b.low <= b.high;
  return b;
}

// With its end at the rate p1.
double force_of(const FoldedServo& s, double h, double p1, double p0) {
  return s.free - h * s.stiffness * p1 - s.damping * (p1 - p0);
}

}  // namespace

bool Passive::oversteps(const mjModel& m, const mjData& d, View<const double> v1) const {
  for (int k = 0; k < folded.size(); k++) {
    const FoldedServo& s = folded[k];
    const double force = force_of(s, m.opt.timestep, s.gear * v1[s.dof], s.gear * d.qvel[s.dof]);
    if (force < s.low || force > s.high) return true;
  }
  return false;
}

void Passive::find(Model& model, mjData& d, View<double> force, View<const double> guess, Workspace& work) {
  const mjModel& m = model.given();
  rows.clear();
  column.clear();
  value.clear();
  folded.clear();
  servo_stiffness_ = work.filled(m.nv, 0.0);
  servo_damping_ = work.filled(m.nv, 0.0);
  find_joints(m, d, work);
  find_tendons(m, d, force);
  if (!is_off(m, mjDSBL_ACTUATION)) find_servos(model, d, force, guess, work);
  implicit = implicit || folded.size() > 0;
  for (int j = 0; j < m.nv && implicit; j++)
    force[j] -= m.opt.timestep * (stiffness[j] + servo_stiffness_[j]) * d.qvel[j];
  if (m.opt.density > 0 || m.opt.viscosity > 0) find_drag(m, d);
}

// Dampers of actuators act on their joint or tendon.
void Passive::find_joints(const mjModel& m, const mjData& d, Workspace& work) {
  stiffness = work.filled(m.nv, 0.0);
  damping = work.filled(m.nv, 0.0);
  tendon_damping_ = work.filled(m.ntendon, 0.0);
  tendon_poly_ = work.filled(2 * m.ntendon, 0.0);
  for (int j = 0; j < m.njnt && !is_off(m, mjDSBL_SPRING); j++) {
    if (m.jnt_stiffness[j] == 0 && !is_curved(m.jnt_stiffnesspoly + 2 * j)) continue;
    const int kind = m.jnt_type[j], at = m.jnt_qposadr[j], size = kind == mjJNT_FREE ? 6 : kind == mjJNT_BALL ? 3 : 1;
    const double x = size == 1 ? d.qpos[at] - m.qpos_spring[at] : 0;  // balls as about their rest
    std::fill_n(stiffness.at(m.jnt_dofadr[j]), size, slope(m.jnt_stiffness[j], m.jnt_stiffnesspoly + 2 * j, x));
  }
  const bool damped = !is_off(m, mjDSBL_DAMPER);
  for (int j = 0; j < m.nv && damped; j++) {
    damping[j] = slope(m.dof_damping[j], m.dof_dampingpoly + 2 * j, std::fabs(d.qvel[j]));
  }
  for (int t = 0; t < m.ntendon && damped; t++) {
    tendon_damping_[t] = m.tendon_damping[t];
    std::copy_n(m.tendon_dampingpoly + 2 * t, 2, tendon_poly_.at(2 * t));
  }
  for (int a = 0; a < m.nactuator && damped; a++) {
    const mjtNum* poly = m.actuator_dampingpoly + 2 * a;
    if (m.actuator_damping[a] == 0 && !is_curved(poly)) continue;
    const double gear = m.actuator_gear[6 * m.actuator_outadr[a]], square = gear * gear;
    const int target = m.actuator_trnid[2 * a];
    if (is_on_joint(m, a)) {
      const int kind = m.jnt_type[target], size = kind == mjJNT_FREE ? 6 : kind == mjJNT_BALL ? 3 : 1;
      for (int j = m.jnt_dofadr[target]; j < m.jnt_dofadr[target] + size; j++)
        damping[j] += square * slope(m.actuator_damping[a], poly, std::fabs(d.qvel[j]));
    } else if (m.actuator_trntype[a] == mjTRN_TENDON) {
      tendon_damping_[target] += square * m.actuator_damping[a];
      for (int k = 0; k < 2; k++) tendon_poly_[2 * target + k] += square * poly[k];
    }
  }
  implicit = false;
  for (int j = 0; j < m.nv; j++) implicit = implicit || stiffness[j] != 0 || damping[j] != 0;
}

void Passive::push(const ExtraRow& row, const int* columns, const double* values, int count, double sign) {
  ExtraRow placed = row;
  placed.first = column.size();
  placed.count = count;
  for (int k = 0; k < count; k++) {
    column.push(columns[k]);
    value.push(sign * values[k]);
  }
  rows.push(placed);
}

void Passive::find_tendons(const mjModel& m, const mjData& d, View<double> force) {
  const bool springs = !is_off(m, mjDSBL_SPRING);
  for (int t = 0; t < m.ntendon; t++) {
    const double none[2] = {0, 0};
    const double k = springs ? m.tendon_stiffness[t] : 0, b = tendon_damping_[t];
    const mjtNum *kp = springs ? m.tendon_stiffnesspoly + 2 * t : none, *bp = tendon_poly_.at(2 * t);
    if (k == 0 && b == 0 && !is_curved(kp) && !is_curved(bp)) continue;
    const int first = m.ten_J_rowadr[t], count = m.ten_J_rownnz[t];
    const int* columns = m.ten_J_colind + first;
    const mjtNum* J = d.ten_J + first;
    const double low = m.tendon_lengthspring[2 * t], high = m.tendon_lengthspring[2 * t + 1];
    const double length = d.ten_length[t], speed = d.ten_velocity[t];
    const double x = std::max(length - high, 0.0) + std::min(length - low, 0.0);
    const double pull =
        -x * (k + kp[0] * x + kp[1] * x * x) - speed * (b + bp[0] * std::fabs(speed) + bp[1] * speed * speed);
    double K = slope(k, kp, x);
    const double B = slope(b, bp, std::fabs(speed));
    if (high > low && x == 0 && k > 0) {  // slack, and springs at both ends of its play
      ExtraRow end{.kind = Kind::unilateral, .stiffness = k, .value = high - length, .lower = 0, .tendon = true};
      push(end, columns, J, count, -1);
      end.value = length - low;
      push(end, columns, J, count);
      K = 0;
    }
    const double S = m.opt.timestep * K + B;
    if (!(S > 0)) continue;
    push({.stiffness = K, .damping = B, .offset = -(pull + B * speed) / S, .taken = pull, .tendon = true}, columns, J,
         count);
    for (int e = 0; e < count; e++) force[columns[e]] -= J[e] * pull;
  }
}

void Passive::find_servos(Model& model, mjData& d, View<double> force, View<const double> guess, Workspace& work) {
  const mjModel& m = model.given();
  const int n = static_cast<int>(m.nout);
  bool any = false, affine = true, clamped = false;
  for (int a = 0; a < m.nactuator; a++) {
    if (!feels(m, a)) continue;
    any = true;
    affine = affine && is_affine(m, a);
    const int out = m.actuator_outadr[a];
    const double f = d.actuator_force[out];
    const double low = m.actuator_forcerange[2 * a], high = m.actuator_forcerange[2 * a + 1];
    clamped = clamped || (m.actuator_forcelimited[a] && !(low < f && f < high)) ||
              (m.actuator_trntype[a] == mjTRN_TENDON && m.tendon_actfrclimited[m.actuator_trnid[2 * a]]);
  }
  if (!any) return;
  const Workspace::Mark mark = work.mark();
  View<double> free = work.take<double>(n), K = work.take<double>(n), B = work.take<double>(n);
  std::copy_n(d.actuator_force, n, free.data());
  if (clamped || !affine) {  // the forces without their ranges
    View<double> given = work.take<double>(n), total = work.take<double>(m.nv), rate = work.take<double>(m.na);
    View<double> state = work.take<double>(n);
    std::copy_n(d.actuator_force, n, given.data());
    std::copy_n(d.qfrc_actuator, m.nv, total.data());
    std::copy_n(d.act_dot, m.na, rate.data());
    const auto forces = [&] {
      const mjModel* own = model.own();
      guarded([&] { mujoco.mj_fwdActuation(own, &d); });
    };
    forces();
    std::copy_n(d.actuator_force, n, free.data());
    const auto differences = [&](mjtNum* states, View<double> to) {
      std::copy_n(states, n, state.data());
      for (int i = 0; i < n; i++) states[i] += difference;
      forces();
      std::copy_n(state.data(), n, states);
      for (int i = 0; i < n; i++) to[i] = std::max(-(d.actuator_force[i] - free[i]) / difference, 0.0);
    };
    if (!affine) {
      differences(d.actuator_length, K);
      differences(d.actuator_velocity, B);
    }
    std::copy_n(given.data(), n, d.actuator_force);
    std::copy_n(total.data(), m.nv, d.qfrc_actuator);
    std::copy_n(rate.data(), m.na, d.act_dot);
  }
  for (int a = 0; a < m.nactuator; a++) {
    if (!feels(m, a)) continue;
    for (int out = m.actuator_outadr[a]; out < m.actuator_outadr[a] + m.actuator_outnum[a]; out++) {
      if (affine) {
        const bool biased = m.actuator_biastype[a] == mjBIAS_AFFINE;
        K[out] = biased ? std::max(-m.actuator_biasprm[mjNBIAS * a + 1], 0.0) : 0;
        B[out] = biased ? std::max(-m.actuator_biasprm[mjNBIAS * a + 2], 0.0) : 0;
      }
      const double S = m.opt.timestep * K[out] + B[out];
      const int first = d.moment_rowadr[out], count = d.moment_rownnz[out];
      if (!(S > 0) || count == 0) continue;
      const Bounds b = bounds_of(m, d, a, out);
      if (!b.possible) continue;
      if (!guess.empty() && count == 1) {
        const int dof = d.moment_colind[first];
        const double gear = d.actuator_moment[first], h = m.opt.timestep;
        const FoldedServo servo{out, dof, gear, K[out], B[out], free[out], b.low, b.high, b.there};
        const double room = b.high - b.low < infinite ? spare_range * (b.high - b.low) : 0;
        const double expected = force_of(servo, h, gear * guess[dof], gear * d.qvel[dof]);
        const double inertia = d.M[m.M_rowadr[dof] + m.M_rownnz[dof] - 1];
        if (h * S * gear * gear <= soft * inertia && expected > b.low + room && expected < b.high - room) {
          servo_stiffness_[dof] += gear * gear * servo.stiffness;
          servo_damping_[dof] += gear * gear * servo.damping;
          force[dof] += gear * (servo.free - servo.taken);
          folded.push(servo);
          continue;
        }
      }
      const bool clipped = b.low > -infinite || b.high < infinite;
      push({.kind = clipped ? Kind::clipped : Kind::bilateral,
            .stiffness = K[out],
            .damping = B[out],
            .offset = -(free[out] + B[out] * d.actuator_velocity[out]) / S,
            .lower = b.low,
            .upper = b.high,
            .taken = b.there,
            .output = out},
           d.moment_colind + first, d.actuator_moment + first, count);
      for (int e = first; e < first + count; e++) force[d.moment_colind[e]] -= d.actuator_moment[e] * b.there;
    }
  }
  work.release(mark);
}

void Passive::find_drag(const mjModel& m, const mjData& d) {
  for (int first = 0, end = 0; first < m.nv; first = end) {
    double size = 0, speed = 0;
    for (end = first; end < m.nv && m.dof_treeid[end] == m.dof_treeid[first]; end++)
      size = std::max(size, std::fabs(d.qfrc_fluid[end]));
    if (!(size > 0)) continue;
    for (int j = first; j < end; j++) speed -= d.qfrc_fluid[j] / size * d.qvel[j];
    if (!(speed > 0)) continue;
    ExtraRow row{.damping = size / speed, .offset = speed, .first = column.size(), .count = end - first};
    for (int j = first; j < end; j++) {
      column.push(j);
      value.push(d.qfrc_fluid[j] / size);
    }
    rows.push(row);
  }
}

bool Passive::write(const mjModel& m, mjData& d, View<const double> v1, View<const double> forces,
                    Workspace& work) const {
  if (!implicit && rows.size() == 0) return false;
  const double h = m.opt.timestep;
  const Workspace::Mark mark = work.mark();
  View<double> passive = work.filled(m.nv, 0.0), actuator = work.filled(m.nv, 0.0);
  for (int j = 0; j < m.nv && implicit; j++) {
    const double gain = -h * stiffness[j] * v1[j], loss = -damping[j] * (v1[j] - d.qvel[j]);
    d.qfrc_spring[j] += gain;
    d.qfrc_damper[j] += loss;
    passive[j] += gain + loss;
  }
  for (int r = 0; r < rows.size(); r++) {
    const ExtraRow& row = rows[r];
    for (int e = row.first; e < row.first + row.count; e++) {
      const double more = value[e] * (forces[r] - row.taken);
      const int j = column[e];
      if (row.output >= 0) {
        actuator[j] += more;
      } else {
        (row.tendon ? d.qfrc_spring : d.qfrc_fluid)[j] += more;
        passive[j] += more;
      }
    }
    if (row.output >= 0) d.actuator_force[row.output] = forces[r];
  }
  for (int k = 0; k < folded.size(); k++) {
    const FoldedServo& s = folded[k];
    const double force = force_of(s, h, s.gear * v1[s.dof], s.gear * d.qvel[s.dof]);
    actuator[s.dof] += s.gear * (force - s.taken);
    d.actuator_force[s.output] = force;
  }
  for (int j = 0; j < m.nv; j++) {
    d.qfrc_passive[j] += passive[j];
    d.qfrc_actuator[j] += actuator[j];
    d.qfrc_smooth[j] += passive[j] + actuator[j];
  }
  work.release(mark);
  return true;
}

}  // namespace pliant
