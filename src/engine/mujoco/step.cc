#include "mujoco/step.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include "linalg/dense.h"
#include "step/laws.h"

namespace pliant {
namespace {

constexpr double most_change =
    2;                          // times a velocity, that it is expected to change on: an impact does not repeat itself
constexpr double slow = 0.01;   // [rad/s, m/s] that any may change
constexpr int looks = 2;        // for contacts and limits that only come within reach by what the step does
constexpr int flow_rounds = 2;  // in which the forces of loops are followed too
constexpr double most_gain = 1.01;  // of all the energy that a step begins with, which no answer should exceed
constexpr double blown_up = 1e10;   // mjMAXVAL, beyond which MuJoCo starts afresh
constexpr double largest = 1e100;   // input

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string shown(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", x);
  return text;
}

}  // namespace

void Stepper::lap(Part part) {
  if (!clocked) return;
  const double now = seconds_now();
  seconds[part] += now - last_;
  last_ = now;
}

// What may be set at any time, and cannot be carried out.
void Stepper::check_model() const {
  const mjModel& m = model_.given();
  if (!(m.opt.timestep > 0 && m.opt.timestep < infinity))
    throw InputProblem("model.opt.timestep must be one number > 0 [s], got " + shown(m.opt.timestep));
  const auto refuse = [](const char* what, const char* remedy) {
    throw InputProblem(std::string("this model has ") + what + ", which pliant does not simulate: " + remedy);
  };
  if (m.opt.enableflags & mjENBL_IPC) refuse("the flag ipc=\"enable\"", "set <flag ipc=\"disable\"/>");
  if (m.opt.enableflags & mjENBL_SLEEP)
    refuse("the flag sleep=\"enable\"", "set <flag sleep=\"disable\"/>: resting bodies cost little");
  if (materials_->geom.size() != static_cast<std::size_t>(m.ngeom)) throw InputProblem("materials of another model");
}

// State, controls and applied forces are finite, and the state has not blown up.
void Stepper::check() const {
  const mjModel& m = model_.given();
  const struct {
    const char* name;
    const mjtNum* values;
    mjtSize count;
    bool is_state;
  } all[] = {{"qpos", d_->qpos, m.nq, true},
             {"qvel", d_->qvel, m.nv, true},
             {"ctrl", d_->ctrl, m.nu, false},
             {"qfrc_applied", d_->qfrc_applied, m.nv, false},
             {"xfrc_applied", d_->xfrc_applied, 6 * m.nbody, false},
             {"mocap_pos", d_->mocap_pos, 3 * m.nmocap, false},
             {"mocap_quat", d_->mocap_quat, 4 * m.nmocap, false}};
  for (const auto& one : all) {
    double sum = 0, most = 0;
    for (int i = 0; i < one.count; i++) {
      sum += 0 * one.values[i];
      most = std::max(most, std::fabs(one.values[i]));
    }
    const double limit = one.is_state             ? blown_up
                         : one.values == d_->ctrl ? infinity
                                                  : largest;  // MuJoCo takes it for 0
    if (sum == 0 && most <= limit) continue;
    for (int i = 0; i < one.count; i++) {
      const double found = one.values[i];
      const std::string where = std::string("data.") + one.name + " at " + std::to_string(i);
      if (!std::isfinite(found))
        throw InputProblem(std::string("data.") + one.name + " must be finite, got " + shown(found) + " at " +
                           std::to_string(i) + ", t = " + shown(d_->time) + " s: mujoco.mj_resetData starts afresh");
      if (std::fabs(found) <= limit) continue;
      if (!one.is_state)
        throw BlownUp("at t = " + shown(d_->time) + " s: non-finite numbers would come of " + where + ", which is " +
                      shown(found));
      throw BlownUp("at t = " + shown(d_->time) + " s: the motion has blown up: " + where + " is " + shown(found) +
                    ", beyond 1e+10, MuJoCo's limit; take a smaller step, or look for what feeds it: an actuator, a "
                    "negative damping or stiffness, a joint that turns fast");
    }
  }
}

void Stepper::begin(const mjModel* model, mjData* data, const Materials& materials, bool control, bool folds) {
  if (clocked) last_ = seconds_now();
  if (data->signature != model->signature)
    throw InputProblem("data belongs to another model: make it with mujoco.MjData(model) from the model that you step");
  d_ = data;
  began_ = data->time;
  materials_ = &materials;
  work_.reset();
  patches_.clear();
  begun_ = false;
  report_ = {};
  model_.refresh(model, View<const double>(materials.friction.data(), static_cast<int>(materials.friction.size())));
  stack_ = data->pstack;
  base_ = data->pbase;
  check_model();
  check();
  const mjModel& m = model_.given();
  const int nv = static_cast<int>(m.nv);
  guess_ = work_.take<double>(nv);
  for (int j = 0; j < nv; j++) {
    const double limit = most_change * std::fabs(d_->qvel[j]) + slow;
    guess_[j] = d_->qvel[j] + clip(m.opt.timestep * d_->qacc_warmstart[j], -limit, limit);
  }
  if (!is_sane(guess_.span())) std::copy_n(d_->qvel, nv, guess_.data());
  evaluate(control);
  smooth_force_ = work_.take<double>(nv);
  near_ = work_.take<double>(nv);
  v1_ = work_.take<double>(nv);
  smooth_start_ = work_.mark();
  prepare(folds);
  begun_ = true;
}

// All but the rows that depends on velocities; folds: servos into the inertia.
void Stepper::prepare(bool folds) {
  const mjModel& m = model_.given();
  const int nv = static_cast<int>(m.nv);
  work_.release(smooth_start_);
  std::copy_n(d_->qfrc_smooth, nv, smooth_force_.data());
  turning_.clear();
  passive_.find(model_, *d_, smooth_force_, folds ? guess_ : View<double>(), work_);
  lap(kinematics);
  if (passive_.implicit) {
    implicit_ = work_.take<double>(nv);
    for (int j = 0; j < nv; j++) implicit_[j] = passive_.inertia(m.opt.timestep, j);
  } else {
    implicit_ = {};
  }
  pushing_ = work_.take<double>(nv);
  std::copy(smooth_force_.begin(), smooth_force_.end(), pushing_.begin());
  flow(pushing_);
  smooth_ = work_.mark();
  lap(kinematics);
  assemble();
  lap(assembly);
}

// Follows what moves by itself under these forces; the force of the step is that which leads there.
void Stepper::flow(View<const double> force) {
  const mjModel& m = model_.given();
  const int nv = static_cast<int>(m.nv);
  flows_ = flow_.follow(model_, *d_, force, implicit_, aside_, work_);
  if (!flows_) {
    std::copy(pushing_.begin(), pushing_.end(), smooth_force_.begin());
    return;
  }
  View<double> change = work_.take<double>(nv);
  for (int j = 0; j < nv; j++) change[j] = (flow_.end[j] - d_->qvel[j]) / m.opt.timestep;
  for (int i = 0; i < nv; i++) {  // M (v~ - v0) / h
    smooth_force_[i] = implicit_.empty() ? 0 : implicit_[i] * change[i];
    for (int e = m.D_rowadr[i]; e < m.D_rowadr[i] + m.D_rownnz[i]; e++) {
      if (m.mapM2D[e] >= 0) smooth_force_[i] += flow_.M[m.mapM2D[e]] * change[m.D_colind[e]];
    }
  }
}

// Whether the forces found turn much within the step; they are then implicit.
bool Stepper::find_turning() {
  const mjModel& m = model_.given();
  turning_.find(m, *d_, force_.part(0, d_->ne));
  if (turning_.inertia.empty()) return false;
  add_turning();
  assemble();
  return true;
}

void Stepper::add_turning() {
  const mjModel& m = model_.given();
  for (int i = 0; i < m.nv && !turning_.inertia.empty(); i++) {
    for (int e = m.D_rowadr[i]; e < m.D_rowadr[i] + m.D_rownnz[i]; e++)
      smooth_force_[i] -= turning_.inertia[e] * d_->qvel[m.D_colind[e]] / m.opt.timestep;
  }
}

// What moves by itself is also what loops turn: their forces push first, too, and the rows find what is missing.
bool Stepper::flow_with_loops() {
  const int nv = static_cast<int>(model_.given().nv), own = assembly_.own;
  work_.release(smooth_);
  View<double> force = work_.take<double>(own), push = work_.take<double>(nv);
  std::copy_n(force_.data(), own, force.data());
  const mjModel* changed = model_.own();
  guarded([&] { mujoco.mj_mulJacTVec(changed, d_, push.data(), force.data()); });
  for (int j = 0; j < nv; j++) push[j] += pushing_[j];
  flow(push);
  add_turning();
  const Workspace::Mark before = smooth_;
  smooth_ = work_.mark();
  assemble();
  smooth_ = before;
  std::copy_n(force.data(), own, force_.data());
  if (!flows_) return false;
  const Step& step = assembly_.step;
  for (int i = 0; i < own; i++) {
    for (auto e = step.jacobian_start[i]; e < step.jacobian_start[i + 1]; e++)
      smooth_force_[step.jacobian_column[e]] -= step.jacobian_value[e] * force[i];
  }
  return true;
}

void Stepper::evaluate(bool control) {
  const mjModel& m = model_.given();
  const mjModel* own = model_.own();
  mjData* d = d_;
  d->flg_energypos = 0;
  guarded([&] { mujoco.mj_fwdKinematics(own, d); });
  reach_.reserve(model_, *d, !materials_->by_reference, work_);
  reach_.cover(guess_);
  own = model_.own();
  guarded([&] {
    mujoco.mj_makeM(own, d);
    mujoco.mj_factorM(own, d);
  });
  lap(kinematics);
  collide();
  lap(collision);
  find_open(guess_);
  guarded([&] { mujoco.mj_makeConstraint(own, d); });
  lap(assembly);
  guarded([&] { mujoco.mj_transmission(own, d); });
  const mjModel* user = model_.users();
  const bool energy = (m.opt.enableflags & mjENBL_ENERGY) != 0, acts = !(m.opt.disableflags & mjDSBL_ACTUATION);
  d->energy[0] = d->energy[1] = 0;
  guarded([&] {
    if (m.nsensor) mujoco.mj_sensorPos(user, d);
    if (energy) mujoco.mj_energyPos(user, d);
    mujoco.mj_fwdVelocity(user, d);
    if (m.nsensor) mujoco.mj_sensorVel(user, d);
    if (energy) mujoco.mj_energyVel(user, d);
    if (control && acts && *mujoco.mjcb_control) (*mujoco.mjcb_control)(user, d);
    mujoco.mj_fwdActuation(user, d);
    mujoco.mj_fwdAcceleration(user, d);
  });
}

void Stepper::collide() {
  const mjModel* own = model_.own();
  const Margins closely(
      [](void* reach, int a, int b, double margin) { return static_cast<Reach*>(reach)->margin_of(a, b, margin); },
      &reach_);
  guarded([&] { mujoco.mj_collision(own, d_); });
}

// Rows also for contacts that are open, but for those that do not come near closing at the velocity v; none for those of
// foundations.
void Stepper::find_open(View<const double> v) {
  open_.resize(d_->ncon);
  bool any = false;
  for (int c = 0; c < d_->ncon; c++) {
    open_[c] = d_->contact[c].exclude == 1;
    any = any || open_[c];
  }
  if (any) reach_.set_velocity(v);
  for (int c = 0; c < d_->ncon; c++) {
    mjContact& contact = d_->contact[c];
    if (!open_[c]) continue;
    const double gap = contact.dist - contact.includemargin;
    if (!(gap + model_.given().opt.timestep * reach_.opening(contact) > near_closing * gap)) contact.exclude = 0;
  }
  Patches::exclude(model_.given(), *d_, *materials_);
}

// Whether some of those close after all, at the velocity v, and now have rows.
bool Stepper::take_contacts_back(View<const double> v) {
  bool any = false, set = false;
  for (int c = 0; c < d_->ncon; c++) {
    mjContact& contact = d_->contact[c];
    if (!open_[c] || contact.exclude != 1) continue;
    if (!set) reach_.set_velocity(v);
    set = true;
    if (!(contact.dist - contact.includemargin + model_.given().opt.timestep * reach_.opening(contact) < 0)) continue;
    contact.exclude = 0;
    any = true;
  }
  return any;
}

void Stepper::assemble() {
  work_.release(smooth_);
  patches_.find(model_.given(), *d_, *materials_, reach_.way, work_);
  assembly_.build(model_, *d_, *materials_, passive_, patches_,
                  View<const double>(d_->qvel, static_cast<int>(model_.given().nv)), smooth_force_,
                  flows_ ? &flow_ : nullptr, turning_.inertia, work_);
  force_ = work_.filled(assembly_.step.rows(), 0.0);
}

// Without rows that are open and far from closing, unless they close after all.
void Stepper::solve_rows(const Options& options, View<const double> guess, View<const double> start, bool shifted) {
  if (!shifted) assembly_.leave_out_open(guess.empty() ? View<const double>(d_->qvel, v1_.size()) : guess);
  solve_these(options, guess, start, shifted);
  if (!assembly_.take_back(v1_)) return;
  const Workspace::Mark mark = work_.mark();
  View<double> forces = work_.take<double>(force_.size());
  do {
    std::copy(force_.begin(), force_.end(), forces.begin());
    std::copy(v1_.begin(), v1_.end(), near_.begin());
    solve_these(options, near_, forces, false);
  } while (assembly_.take_back(v1_));
  work_.release(mark);
}

// Coulomb's law can have several answers where bodies jam, and some of them throw the bodies with forces out of nothing
// (Painleve). One that ends with more energy than there was is not taken: the convex program's is, unless that gains some as well.
void Stepper::solve_these(const Options& options, View<const double> guess, View<const double> start, bool shifted) {
  ask(options, guess, start, shifted);
  if (options.convex || report_.status != Status::solved || !gains()) return;
  const Workspace::Mark mark = work_.mark();
  View<double> v = work_.take<double>(v1_.size()), f = work_.take<double>(force_.size());
  std::copy(v1_.begin(), v1_.end(), v.begin());
  std::copy(force_.begin(), force_.end(), f.begin());
  const Report found = report_;
  Options other = options;
  other.convex = true;
  ask(other, guess, start, shifted);
  if (report_.status == Status::solved && !gains()) {
    report_.status = Status::solved_by_fallback;
    report_.residual = report_.law_residual;
  } else {
    std::copy(v.begin(), v.end(), v1_.begin());
    std::copy(f.begin(), f.end(), force_.begin());
    const int iterations = report_.iterations, factorizations = report_.factorizations;
    report_ = found;
    report_.iterations = iterations;
    report_.factorizations = factorizations;
  }
  work_.release(mark);
}

// Whether there is more energy of motion than at the start, in motion and springs, and what forces and servos may have added.
bool Stepper::gains() const {
  const Step& s = assembly_.step;
  double before = 0, after = 0;
  for (int i = 0; i < s.velocities(); i++) {
    double p0 = 0, p1 = 0;
    for (auto e = s.mass_start[i]; e < s.mass_start[i + 1]; e++) {
      p0 += s.mass_value[e] * s.velocity[s.mass_column[e]];
      p1 += s.mass_value[e] * v1_[s.mass_column[e]];
    }
    before +=
        0.5 * s.velocity[i] * p0 + s.h * std::fabs(s.force[i]) * (std::fabs(v1_[i]) + s.h * std::fabs(s.velocity[i]));
    after += 0.5 * v1_[i] * p1;
  }
  if (!(after > most_gain * before)) return false;
  for (int i = 0; i < s.rows(); i++) {
    if (std::isfinite(s.stiffness[i])) {
      before += 0.5 * s.stiffness[i] * std::pow(std::fabs(std::min(s.value[i], 0.0)), s.exponent[i] + 1);
      if (s.value[i] > 0 && s.lower[i] < 0) before += 0.5 * s.stiffness[i] * s.value[i] * s.value[i];
    }
    before += s.h * std::fabs(force_[i] * s.offset[i]);
  }
  return after > most_gain * before;
}

void Stepper::ask(const Options& options, View<const double> guess, View<const double> start, bool shifted) {
  const Report found =
      solver_.solve(assembly_.step, guess.span(), start.span(), options, v1_.span(), force_.span(), {}, {}, shifted);
  const int iterations = report_.iterations, factorizations = report_.factorizations;
  report_ = found;
  report_.iterations += iterations;
  report_.factorizations += factorizations;
  if (found.status == Status::non_finite)
    throw BlownUp("at t = " + shown(d_->time) +
                  " s: non-finite numbers in the answer: look for extreme stiffness, forces or masses");
}

void Stepper::solve(const Options& options, bool closes) {
  const mjModel* own = nullptr;
  const auto make_rows = [&] {
    own = model_.own();
    guarded([&] {
      mujoco.mj_makeConstraint(own, d_);
      mujoco.mj_referenceConstraint(own, d_);
    });
    assemble();
    lap(assembly);
  };
  for (int look = 0;; look++) {
    solve_rows(options, guess_, {}, false);
    lap(solving);
    while (take_contacts_back(v1_)) {
      std::copy(v1_.begin(), v1_.end(), guess_.begin());
      make_rows();
      solve_rows(options, guess_, {}, false);
      lap(solving);
    }
    if (centre()) {
      make_rows();
      solve_rows(options, {}, {}, false);
    }
    follow_open(options);
    lap(solving);
    if (look == looks || !reach_.outrun(v1_)) break;
    reach_.cover(v1_);
    collide();
    lap(collision);
    std::copy(v1_.begin(), v1_.end(), guess_.begin());
    work_.release(smooth_);
    find_open(guess_);
    smooth_ = work_.mark();
    make_rows();
  }
  if (d_->ne > 0 && turning_.inertia.empty() && find_turning()) {
    std::copy(v1_.begin(), v1_.end(), guess_.begin());
    solve_rows(options, guess_, {}, false);
  }
  if (closes) close_loops(options);
  const bool follows = closes && flows_ && flow_.is_exact() && d_->ne > 0;
  for (int round = 0; round < flow_rounds && follows && flows_; round++) {
    if (!flow_with_loops()) break;
    std::copy(v1_.begin(), v1_.end(), guess_.begin());
    solve_rows(options, guess_, {}, false);
    close_loops(options);
  }
  if (materials_->bounces) bounce(options);
  assembly_.complete();
  lap(solving);
}

void Stepper::take(View<const double> velocity, View<const double> force, const Report& report) {
  std::copy(velocity.begin(), velocity.end(), v1_.begin());
  std::copy(force.begin(), force.end(), force_.begin());
  report_ = report;
  lap(solving);
}

void Stepper::find_mean(View<const double> v, View<double> mean) const {
  for (int j = 0; j < mean.size(); j++) mean[j] = v[j] - (flows_ ? flow_.end[j] : 0);
  if (!flows_) return;
  flow_.to_start(mean);
  for (int j = 0; j < mean.size(); j++) mean[j] += flow_.mean[j];
}

void Stepper::advance() {
  const mjModel& m = model_.given();
  const mjModel* own = model_.own();
  if (flows_) {
    const Workspace::Mark mark = work_.mark();
    View<double> q = work_.take<double>(m.nq), mean = work_.take<double>(m.nv);
    std::copy_n(d_->qpos, m.nq, q.data());
    find_mean(v1_, mean);
    guarded([&] {
      mujoco.mj_Euler(own, d_);
      mujoco.mj_integratePos(own, q.data(), mean.data(), own->opt.timestep);
    });
    std::copy_n(q.data(), m.nq, d_->qpos);
    work_.release(mark);
  } else {
    guarded([&] { mujoco.mj_Euler(own, d_); });
  }
  lap(kinematics);
}

bool Stepper::count() {
  std::int64_t& known = totals.statuses[static_cast<std::size_t>(report_.status)];
  totals.iterations += report_.iterations;
  totals.factorizations += report_.factorizations;
  totals.worst = std::max(totals.worst, report_.residual);
  const bool first = ++known == 1 && report_.status != Status::solved;
  if (first) totals.first_hard = began_;
  return first;
}

bool Stepper::run(const mjModel* model, mjData* data, const Materials& materials, const Options& options,
                  const How& how) {
  struct End {
    Stepper* stepper;
    ~End() { stepper->end(); }
  } const leave{this};
  begin(model, data, materials, how.control, true);
  solve(options);
  if (passive_.oversteps(model_.given(), *d_, v1_)) {
    std::copy(v1_.begin(), v1_.end(), guess_.begin());
    prepare(false);
    solve(options);
  }
  write(how.whole);
  if (!how.advance) return false;
  advance();
  return count();
}

void Stepper::end() {
  model_.restore();
  if (d_ && d_->pstack != stack_) {  // MuJoCo was left in the middle of something
    d_->pstack = stack_;
    d_->pbase = base_;
  }
}

}  // namespace pliant
