// Contacts on a long way: those that only seem to close, or at another time, and impacts that would spin a body. A contact that
// is found ahead has the normal of the start of the step, along which bodies seem to meet that in truth pass each other, or
// meet sooner or later than they seem to.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include "mujoco/step.h"
#include "step/laws.h"

namespace pliant {
namespace {

constexpr double spun = 1;         // [rad] within a step, about a contact that need not be where it was at its start
constexpr double touching = 1e-4;  // of the way of the step, within which geoms touch
constexpr int looks = 100;         // on the way; where bodies graze each other there are many, which counts as a touch
constexpr double bent = 0.01;      // of a gap, by which the way to a touch may differ from a straight one
constexpr double least = 1e-12;    // [m/s]
constexpr double never = 100;  // times what the geoms come nearer to each other in the step: a gap that does not close

struct Moment {  // on the way of two geoms
  double time, gap;
};

// When the gap falls to `near` between two moments: by the line through the last two, as long as it leads there from before,
// else by the false position. How deep bodies are in each other is not relied on. slope: of the gap at the first moment.
template <class Look>
double first_zero(Moment from, double slope, Moment to, double near, Look&& look) {
  bool beyond = false;
  for (int k = 0; k < looks && std::fabs(to.gap) > near; k++) {
    const double depth = std::min(-to.gap, from.gap), ahead = -from.gap / slope;
    const double part = from.gap / (from.gap + depth) * (to.time - from.time);
    const bool leads = !beyond && ahead > 0 && ahead < to.time - from.time;
    const Moment middle = look(from.time + (leads ? ahead : part));
    beyond = !(middle.gap > near);
    if (beyond) {
      to = middle;
    } else {
      slope = (middle.gap - from.gap) / (middle.time - from.time);
      from = middle;
    }
  }
  return to.time;
}

}  // namespace

// Moves contacts whose impact would turn a body by radians within the step into line with its centre of mass, where they
// turn nothing. About such a contact, whose place and normal are those of the start, the rest of the body would go through
// what it hits.
bool Stepper::centre() {
  const mjModel& m = model_.given();
  bool far = false;
  for (int c = 0; c < d_->ncon; c++) {
    const mjContact& contact = d_->contact[c];
    far = far || (contact.efc_address >= 0 && force_[contact.efc_address] > 0 &&
                  reach_.is_long(contact.geom[0], contact.geom[1]));
  }
  if (!far) return false;
  const Workspace::Mark mark = work_.mark();
  View<double> change = work_.take<double>(m.nv);
  for (int j = 0; j < m.nv; j++) change[j] = v1_[j] - d_->qvel[j];
  const View<const double> turns = reach_.turns(change);
  work_.release(mark);
  bool found = false;
  for (int c = 0; c < d_->ncon; c++) {
    mjContact& contact = d_->contact[c];
    if (contact.efc_address < 0 || !(force_[contact.efc_address] > 0)) continue;
    if (!reach_.is_long(contact.geom[0], contact.geom[1])) continue;
    const int a = m.geom_bodyid[contact.geom[0]], b = m.geom_bodyid[contact.geom[1]],
              body = turns[a] > turns[b] ? a : b;
    if (!(turns[body] > spun)) continue;
    const mjtNum *n = contact.frame, *x = d_->xipos + 3 * body;
    double along = 0;
    for (int k = 0; k < 3; k++) along += n[k] * (contact.pos[k] - x[k]);
    for (int k = 0; k < 3; k++) contact.pos[k] = x[k] + along * n[k];
    found = true;
  }
  return found;
}

// Solves again where open contacts that receive a force do not touch, or do so at another time than it seems. Geoms are
// followed as they come; those that miss each other then, once more on their way without the contacts between them, on which
// others may have thrown them. Gaps shrink or grow as the time of their touch does.
void Stepper::follow_open(const Options& options) {
  const mjModel& m = model_.given();
  const View<const double> before(d_->qvel, static_cast<int>(m.nv));
  Pool<int> late, missed;  // contacts, one of each pair of geoms
  for (int c = 0; c < d_->ncon; c++) {
    const mjContact& contact = d_->contact[c];
    if (!open_[c] || contact.efc_address < 0 || !(force_[contact.efc_address] > 0)) continue;
    bool known = false;
    for (int k = 0; k < late.size(); k++) {
      const mjContact& other = d_->contact[late[k]];
      known = known || (other.geom[0] == contact.geom[0] && other.geom[1] == contact.geom[1]);
    }
    if (!known && reach_.bends(contact.geom[0], contact.geom[1], before)) late.push(c);
  }
  if (late.size() == 0) return;
  const Workspace::Mark mark = work_.mark();
  View<double> way = work_.take<double>(m.nv), near = work_.take<double>(force_.size());
  std::copy(before.begin(), before.end(), way.begin());
  for (int again = 0; again < 2; again++) {
    missed.clear();
    bool changed = false;
    const Workspace::Mark inner = work_.mark();
    View<double> gaps = work_.take<double>(assembly_.value.size());
    std::copy(assembly_.value.begin(), assembly_.value.end(), gaps.begin());
    for (int k = 0; k < late.size(); k++) {
      const mjContact& contact = d_->contact[late[k]];
      if (!stretch(contact.geom[0], contact.geom[1], way)) missed.push(late[k]);
    }
    for (int i = 0; i < gaps.size(); i++) changed = changed || gaps[i] != assembly_.value[i];
    work_.release(inner);
    if (!changed || (again == 1 && missed.size() == late.size())) break;
    std::copy(force_.begin(), force_.end(), near.begin());
    solve_rows(options, {}, near, false);
    if (missed.size() == 0) break;
    late.clear();
    for (int k = 0; k < missed.size(); k++) late.push(missed[k]);
    std::copy(v1_.begin(), v1_.end(), way.begin());
  }
  work_.release(mark);
}

// Gaps of the contacts between two geoms that move with v, as far as they close at another time than they seem to; of those
// that do not, never or more. False: they do not.
bool Stepper::stretch(int a, int b, View<const double> v) {
  const mjModel& m = model_.given();
  const Step& step = assembly_.step;
  const double h = step.h, speed = reach_.approach(a, b, v) + least;
  Meeting meeting{.gap = infinity, .speed = speed, .bend = reach_.bend(a, b)};
  const auto each = [&](auto&& f) {
    for (int c = 0; c < d_->ncon; c++) {
      const mjContact& contact = d_->contact[c];
      if (!open_[c] || contact.efc_address < 0 || contact.geom[0] != a || contact.geom[1] != b) continue;
      meeting.margin = contact.includemargin;
      f(contact.efc_address);
    }
  };
  const auto gap_of = [&](int row) { return assembly_.known[row].pos - assembly_.known[row].margin; };
  each([&](int row) {
    const double closing = std::max(-assembly_.rate(row, v), 1e-100);
    meeting.gap = std::min(meeting.gap, gap_of(row));
    meeting.closing = std::max(meeting.closing, closing);
    meeting.seeming = std::min(meeting.seeming, gap_of(row) / closing);
  });
  const Workspace::Mark mark = work_.mark();
  View<double> mean = work_.take<double>(m.nv);
  find_mean(v, mean);
  const double time = touch_time(a, b, meeting, mean);
  work_.release(mark);
  const double ratio = meeting.seeming > 0 ? time / meeting.seeming : 1;
  each([&](int row) {
    const double gap = gap_of(row);
    assembly_.value[row] = gap;
    if (time == infinity) assembly_.value[row] = std::max(1.0, never * h * speed);
    else if (std::fabs(ratio - 1) > bent) assembly_.value[row] = ratio * gap;
  });
  return time < infinity;
}

// When two geoms that move with v touch within the step [s]; infinite if they do not. Bodies that only move straight have
// convex gaps g(t); turns bend them downwards by no more than `bend`, so that g + bend t^2 / 2 is convex: between two times
// it lies above the lines through its neighbours. Where they meet is looked at, from the first touch that is possible on.
double Stepper::touch_time(int a, int b, const Meeting& meeting, View<const double> v) {
  const mjModel& m = model_.given();
  const mjModel* own = model_.own();
  mjData* there = aside_.of(model_, *d_);
  const double h = m.opt.timestep, way = h * meeting.speed, near = touching * way;
  const auto look = [&](double time) {
    double distance = 0;
    std::copy_n(d_->qpos, m.nq, there->qpos);
    guarded([&] {
      mujoco.mj_integratePos(own, there->qpos, v.data(), time);
      mujoco.mj_kinematics(own, there);
      distance = mujoco.mj_geomDistance(own, there, a, b, way + meeting.margin, nullptr) - meeting.margin;
    });
    return Moment{time, distance};
  };
  const auto convex = [&](const Moment& x) { return x.gap + 0.5 * meeting.bend * x.time * x.time; };
  const auto slope = [&](const Moment& x, const Moment& y) { return (convex(y) - convex(x)) / (y.time - x.time); };
  Moment from{0, meeting.gap};
  if (!(from.gap > near)) return 0;
  std::array<Moment, looks + 2> ahead;  // the next one last
  std::size_t next = 0;
  ahead[0] = look(h);
  if (meeting.seeming < h) ahead[++next] = look(meeting.seeming);
  double before = -meeting.closing;  // the slope there of what is convex
  for (int k = 0; k < looks; k++) {
    const Moment to = ahead[next];
    if (!(to.gap > near)) return first_zero(from, before - meeting.bend * from.time, to, near, look);
    const double steepest = meeting.speed + meeting.bend * h, after = next > 0 ? slope(to, ahead[next - 1]) : steepest;
    const double left = std::max(before, -steepest), right = std::min(after, steepest);
    // from + left (t - from) = to - right (to - t)
    double time = (convex(from) - convex(to) - left * from.time + right * to.time) / (right - left);
    // Some colliders lose bodies that are in the middle of each other: then the gap is not convex, and may have been zero soon.
    if (!(time > from.time)) time = left < 0 ? from.time - from.gap / left : to.time;
    const Moment lowest{time, convex(from) + left * (time - from.time) - 0.5 * meeting.bend * time * time};
    if (!(time > from.time && time < to.time) || lowest.gap > near) {
      before = slope(from, to);
      from = to;
      if (next-- == 0) return infinity;
    } else {
      ahead[++next] = look(time);
    }
  }
  return from.time;
}

}  // namespace pliant
