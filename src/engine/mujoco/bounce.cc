// Restitution: contacts that bounce leave with a share of the speed at which they met.
//
// Newton's rule, v+ = -e v-, enters as the offset of the row's rate. v- is the speed at the moment of touch, somewhere
// within the step, and v1 that at the end of the step at which all of e^2 of the height is reached again: a step of this
// scheme, v1 = v0 - h g, x1 = x0 + h v1, keeps v^2/2 + g x - g h v/2 in free fall, g the acceleration along the normal, so
//
//     v-^2 = v0^2 + 2 g gap + g h |v0|,      v1^2 + g h v1 + 2 g gap = e^2 v-^2.
//
// In the step in which it bounces a contact is rigid: how deep it goes in between is not seen.
#include <algorithm>
#include <cmath>
#include "mujoco/step.h"

namespace pliant {
namespace {

constexpr double rigid = 1e15;                                    // [N/m]
constexpr double shares[] = {1, 0.98, 0.95, 0.9, 0.8, 0.6, 0.3};  // of e, that are tried
constexpr double more = 1e-9;                                     // of the energy, by which it may grow

// v1; 0: it does not bounce.
double leaving(double h, double e, double least, double speed, double g, double gap) {
  const double touch = speed * speed + 2 * g * gap + g * h * speed;
  if (speed <= least || touch <= least * least) return 0;
  const double inside = 0.25 * g * h * g * h + e * e * touch - 2 * g * gap;
  return inside > 0 ? std::sqrt(inside) - 0.5 * g * h : 0;
}

double kinetic(const Step& step, View<const double> v) {
  double sum = 0;
  for (int j = 0; j < step.velocities(); j++) {
    for (auto e = step.mass_start[j]; e < step.mass_start[j + 1]; e++)
      sum += 0.5 * v[j] * step.mass_value[e] * v[step.mass_column[e]];
  }
  return sum;
}

}  // namespace

void Stepper::bounce(const Options& options) {
  const mjModel& m = model_.given();
  const Step& step = assembly_.step;
  const double h = step.h;
  const int nv = step.velocities(), n = step.rows();
  const auto rule = [&](const mjContact& c) -> const Material& {  // of the material with the larger e
    const Material &one = materials_->geom[static_cast<std::size_t>(c.geom[0])],
                   &two = materials_->geom[static_cast<std::size_t>(c.geom[1])];
    return one.restitution >= two.restitution ? one : two;
  };
  bool any = false;
  for (int c = 0; c < d_->ncon; c++) {
    const mjContact& contact = d_->contact[c];
    any = any || (contact.efc_address >= 0 && force_[contact.efc_address] > 0 && rule(contact).restitution > 0);
  }
  if (!any) return;
  const Workspace::Mark mark = work_.mark();
  // After what turns has turned, which takes no energy: before the other forces act.
  View<double> before = work_.take<double>(nv), other = work_.take<double>(nv), gained = work_.take<double>(nv);
  std::copy(step.force.begin(), step.force.end(), other.begin());
  if (flows_) {
    Flow::find_inertial(m, *d_, other);
    for (int j = 0; j < nv; j++) other[j] += d_->qfrc_smooth[j];
  }
  const mjModel* own = model_.own();
  guarded([&] { mujoco.mj_solveM(own, d_, gained.data(), other.data(), 1); });
  for (int j = 0; j < nv; j++) before[j] = flows_ ? flow_.end[j] - h * gained[j] : d_->qvel[j];
  View<double> v1 = work_.take<double>(nv), force = work_.take<double>(n), near = work_.take<double>(nv);
  std::copy(v1_.begin(), v1_.end(), v1.begin());
  std::copy(v1_.begin(), v1_.end(), near.begin());
  std::copy(force_.begin(), force_.end(), force.begin());
  const Report found = report_;
  double held = 0;  // of motion and of springs
  const auto keep = [&](View<double> values) {
    View<double> kept = work_.take<double>(n);
    std::copy(values.begin(), values.end(), kept.begin());
    return kept;
  };
  const View<double> changed[] = {assembly_.value,   assembly_.offset,   assembly_.stiffness,
                                  assembly_.damping, assembly_.exponent, assembly_.dissipation};
  View<double> kept[6];
  for (int k = 0; k < 6; k++) kept[k] = keep(changed[k]);
  for (const double share : shares) {
    for (int k = 0; k < 6; k++) std::copy(kept[k].begin(), kept[k].end(), changed[k].begin());
    bool bounces = false;
    for (int c = 0; c < d_->ncon; c++) {
      const mjContact& contact = d_->contact[c];
      const int i = contact.efc_address;
      if (i < 0 || !(force[i] > 0)) continue;
      const Material& material = rule(contact);
      const double speed = -assembly_.along(i, before), pull = -assembly_.along(i, gained);
      const double on = leaving(h, share * material.restitution, material.restitution_speed, speed, pull,
                                std::max(assembly_.value[i], 0.0));
      if (!(on > 0)) continue;
      bounces = true;
      assembly_.value[i] = assembly_.damping[i] = assembly_.dissipation[i] = 0;
      assembly_.stiffness[i] = rigid;
      assembly_.exponent[i] = 1;
      assembly_.offset[i] = -on;
    }
    if (!bounces) break;
    solve_rows(options, near, {}, false);
    held = kinetic(step, before);
    double worked = 0, pressed = 0;
    for (int j = 0; j < nv; j++) worked += 0.5 * h * other[j] * (before[j] + v1_[j]);
    for (int i = 0; i < n; i++) {
      if (!(assembly_.value[i] < 0) || !std::isfinite(assembly_.stiffness[i])) continue;
      const double p = assembly_.exponent[i] + 1;
      pressed += assembly_.stiffness[i] * std::pow(-assembly_.value[i], p) / p;
    }
    const double after = kinetic(step, v1_);
    if (!(after > held + worked + pressed + more * (held + after))) {
      work_.release(mark);
      return;
    }
  }
  for (int k = 0; k < 6; k++) std::copy(kept[k].begin(), kept[k].end(), changed[k].begin());
  std::copy(v1.begin(), v1.end(), v1_.begin());
  std::copy(force.begin(), force.end(), force_.begin());
  report_ = found;
  work_.release(mark);
}

}  // namespace pliant
