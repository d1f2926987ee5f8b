// Loops stay closed: equalities as they will be in the configuration that the step reaches.
//   e = (phi(q1) - phi0) / h - G v1      of their rows, iterated on the rows at hand
#include <algorithm>
#include <cmath>
#include "mujoco/step.h"
#include "step/laws.h"

namespace pliant {
namespace {

constexpr int rounds = 20;
constexpr double exact = 1e-12;      // of the longest way of a row, where it is closed
constexpr double nearly = 1e-12;     // [m, rad] after that, where rounds end
constexpr double closed = 1e-9;      // [m, rad] at the end of a step, which nobody needs to mend
constexpr double rounding = 1e-14;   // of a metre or a radian, the size of what is closed, times the same
constexpr double contracting = 0.8;  // each round at least; else the step is too large to look ahead

// Whether an equality is other than linear in the positions of joints.
bool bends(const mjModel& m, const mjData& d) {
  for (int e = 0; e < m.neq; e++) {
    if (!d.eq_active[e]) continue;
    const mjtNum* poly = m.eq_data + mjNEQDATA * e;
    const bool straight = m.eq_type[e] == mjEQ_JOINT && poly[2] == 0 && poly[3] == 0 && poly[4] == 0;
    if (!straight) return true;
  }
  return false;
}

}  // namespace

void Stepper::close_loops(const Options& options) {
  const int count = d_->ne;
  if (count == 0 || materials_->by_reference) return;
  const mjModel& m = model_.given();
  if (!bends(m, *d_)) return;
  const Step& step = assembly_.step;
  mjModel equalities = *model_.own();
  equalities.opt.disableflags |= mjDSBL_CONTACT | mjDSBL_LIMIT | mjDSBL_FRICTIONLOSS;
  mjData* there = aside_.of(model_, *d_);
  there->ncon = 0;
  const Workspace::Mark mark = work_.mark();
  View<double> mean = work_.take<double>(m.nv), first = work_.take<double>(m.nv), target = work_.take<double>(count);
  View<double> force = work_.take<double>(force_.size()), offset = work_.take<double>(count);
  View<double> near = work_.take<double>(force_.size()), change = work_.filled(force_.size(), 0.0);
  View<double> old_target = work_.take<double>(count), old_change = work_.take<double>(count);
  bool responds = !options.convex;  // else each round is a solve
  std::copy(v1_.begin(), v1_.end(), first.begin());
  std::copy(force_.begin(), force_.end(), force.begin());
  std::copy_n(assembly_.offset.data(), count, offset.data());
  const Report found = report_;
  double last = infinity;
  bool changed = false, away = false;
  for (int round = 0; round < rounds && !away; round++) {
    find_mean(v1_, mean);
    std::copy_n(d_->qpos, m.nq, there->qpos);
    guarded([&] {
      mujoco.mj_integratePos(&equalities, there->qpos, mean.data(), step.h);
      mujoco.mj_kinematics(&equalities, there);
      mujoco.mj_comPos(&equalities, there);
      if (m.ntendon) mujoco.mj_tendon(&equalities, there);
      mujoco.mj_makeConstraint(&equalities, there);
    });
    if (there->ne != count) break;
    double miss = 0, longest = rounding / exact;
    for (int i = 0; i < count; i++) {
      double rate = 0, size = 0;
      for (auto e = step.jacobian_start[i]; e < step.jacobian_start[i + 1]; e++) {
        const double part = step.jacobian_value[e] * v1_[step.jacobian_column[e]];
        rate += part;
        size += std::fabs(part);
      }
      target[i] = (there->efc_pos[i] - step.value[i]) / step.h - rate;
      miss = std::max(miss, step.h * std::fabs(target[i] - assembly_.offset[i]));
      longest = std::max(longest, step.h * (size + std::fabs(target[i])) + std::fabs(step.value[i]));
    }
    if (!(miss > (round == 0 ? closed : std::max(exact * longest, nearly)))) break;
    away = !(miss < contracting * last);
    last = miss;
    changed = true;
    if (away) break;
    double along = 0, square = 0;  // of the changes of two rounds, whose mixture is the shortest (Anderson)
    for (int i = 0; i < count; i++) {
      change[i] = target[i] - assembly_.offset[i];
      const double turn = round > 0 ? change[i] - old_change[i] : 0;
      along += turn * change[i];
      square += turn * turn;
    }
    const double share = square > 0 ? along / square : 0;
    for (int i = 0; i < count; i++) {
      const double next = target[i] - (round > 0 ? share * (target[i] - old_target[i]) : 0);
      old_change[i] = change[i];
      old_target[i] = target[i];
      change[i] = next - assembly_.offset[i];
      assembly_.offset[i] = next;
    }
    responds = responds && solver_.respond(step, change.span(), round == 0, v1_.span(), force_.span());
    if (responds) continue;
    std::copy(force_.begin(), force_.end(), near.begin());
    solve_rows(options, {}, near, true);
  }
  if (away) {  // too far ahead: as it seems from the start
    std::copy(first.begin(), first.end(), v1_.begin());
    std::copy(force.begin(), force.end(), force_.begin());
    std::copy_n(offset.data(), count, assembly_.offset.data());
    report_ = found;
  } else if (changed && responds) {
    std::copy(force_.begin(), force_.end(), near.begin());
    solve_rows(options, {}, near, true);
  }
  work_.release(mark);
}

}  // namespace pliant
