// Our forces in MuJoCo's fields: its layout, its cone, its contacts.
#include <algorithm>
#include <cmath>
#include <limits>
#include "mujoco/step.h"
#include "step/laws.h"

namespace pliant {
namespace {

bool is_limit(int type) { return type == mjCNSTR_LIMIT_JOINT || type == mjCNSTR_LIMIT_TENDON; }

}  // namespace

// What the smooth forces come to in the step, in place of those at its start: M qacc less the others.
void Stepper::write_flow() {
  const int nv = v1_.size();
  const Workspace::Mark mark = work_.mark();
  View<double> change = work_.take<double>(nv), total = work_.take<double>(nv);
  for (int j = 0; j < nv; j++) change[j] = (v1_[j] - d_->qvel[j]) / assembly_.step.h;
  const mjModel* own = model_.own();
  guarded([&] { mujoco.mj_mulM(own, d_, total.data(), change.data()); });
  for (int j = 0; j < nv; j++) {
    const double push = total[j] - d_->qfrc_smooth[j] - d_->qfrc_constraint[j];
    d_->qfrc_bias[j] -= push;
    d_->qfrc_smooth[j] += push;
  }
  work_.release(mark);
}

void Stepper::write(bool whole) {
  const mjModel& m = model_.given();
  const double h = m.opt.timestep;
  const int nv = static_cast<int>(m.nv), rows = assembly_.own + assembly_.elements;
  const bool pushed = rows > 0 || passive_.implicit || assembly_.extra > 0 || flows_;
  if (whole) {
    const bool changed = passive_.write(m, *d_, v1_, force_.part(rows, assembly_.extra), work_);
    write_rows();
    const bool bends = flows_ || !turning_.inertia.empty();
    if (bends) write_flow();
    if (changed || bends) {
      const mjModel* user = model_.users();
      guarded([&] { mujoco.mj_solveM(user, d_, d_->qacc_smooth, d_->qfrc_smooth, 1); });
    }
  }
  for (int j = 0; j < nv; j++) d_->qacc[j] = pushed ? (v1_[j] - d_->qvel[j]) / h : d_->qacc_smooth[j];
  lap(assembly);
  d_->flg_rnepost = 0;
  if (whole && m.nsensor) {
    const mjModel* user = model_.users();
    guarded([&] { mujoco.mj_sensorAcc(user, d_); });
  }
  lap(kinematics);
}

// Contacts that are out of the user's reach and carry nothing; number: of each now, or -1.
void Stepper::drop_contacts(View<int> number) {
  const mjModel& m = model_.given();
  int count = 0;
  for (int c = 0; c < d_->ncon; c++) {
    mjContact& contact = d_->contact[c];
    number[c] = count;
    const bool pushes = contact.efc_address >= 0 && force_[contact.efc_address] != 0;
    if (open_[c] && !pushes) {
      contact.exclude = 1;
      contact.efc_address = -1;
      double gap = m.geom_gap[contact.geom[0]] + m.geom_gap[contact.geom[1]];
      for (int p = 0; p < m.npair; p++) {
        const int one = m.pair_geom1[p], two = m.pair_geom2[p];
        if ((one == contact.geom[0] && two == contact.geom[1]) || (one == contact.geom[1] && two == contact.geom[0]))
          gap = m.pair_gap[p];
      }
      if (contact.dist >= contact.includemargin + gap) {
        number[c] = -1;
        continue;
      }
    }
    if (count < c) d_->contact[count] = contact;
    count++;
  }
  d_->ncon = count;
}

// Forces in the user's layout: only contacts and limits that are within their margins, or push.
void Stepper::write_rows() {
  const mjModel& m = model_.given();
  const int nv = static_cast<int>(m.nv), own = assembly_.own;
  std::fill_n(d_->qfrc_constraint, nv, 0.0);
  if (d_->ncon > 0 || own > 0) {
    const Workspace::Mark mark = work_.mark();
    View<int> number = work_.take<int>(d_->ncon);
    drop_contacts(number);
    reach_.restore_margins();
    for (int i = 0; i < own; i++) {
      const KnownRow& row = assembly_.known[i];
      if (!is_limit(row.type) || row.pos < row.margin || force_[i] == 0) continue;
      (row.type == mjCNSTR_LIMIT_JOINT ? model_.joint_margin : model_.tendon_margin)[row.id] =
          std::nextafter(row.pos, infinity);
    }
    model_.set_cone(m.opt.cone);
    const mjModel* changed = model_.own();
    guarded([&] { mujoco.mj_makeConstraint(changed, d_); });
    model_.set_cone(mjCONE_ELLIPTIC);
    const mjModel* user = model_.users();
    guarded([&] {
      mujoco.mj_island(user, d_);
      mujoco.mj_projectConstraint(user, d_);
      mujoco.mj_referenceConstraint(user, d_);
    });
    const auto same = [&](const KnownRow& row, int j) {
      const int type = d_->efc_type[j];
      if (is_contact(type)) return is_contact(row.type) && number[row.id] == d_->efc_id[j];
      return row.type == type && row.id == d_->efc_id[j] && (row.pos == d_->efc_pos[j] || !is_limit(type));
    };
    // A pyramid's edges carry the normal force in equal shares, and half of +-f_k / mu_k: unclipped, so that they add up to
    // the force whatever it is.
    for (int i = 0, j = 0; j < d_->nefc;) {
      while (i < own && !same(assembly_.known[i], j)) i++;
      if (i == own) break;
      const int type = d_->efc_type[j], id = d_->efc_id[j];
      const int size = type == mjCNSTR_CONTACT_PYRAMIDAL || type == mjCNSTR_CONTACT_ELLIPTIC ? d_->contact[id].dim : 1;
      const int edges = type == mjCNSTR_CONTACT_PYRAMIDAL ? 2 * (size - 1) : size;
      d_->efc_margin[j] = assembly_.known[i].margin;
      for (int a = 1; a < size && type == mjCNSTR_CONTACT_PYRAMIDAL; a++) {
        const double share = force_[i] / (size - 1), edge = force_[i + a] / d_->contact[id].friction[a - 1];
        d_->efc_force[j + 2 * a - 2] = 0.5 * (share + edge);
        d_->efc_force[j + 2 * a - 1] = 0.5 * (share - edge);
      }
      for (int a = 0; a < edges; a++) {
        if (type != mjCNSTR_CONTACT_PYRAMIDAL) d_->efc_force[j + a] = force_[i + a];
        else d_->efc_margin[j + a] = assembly_.known[i].margin;
        d_->efc_state[j + a] = d_->efc_force[j + a] != 0 ? mjCNSTRSTATE_QUADRATIC : mjCNSTRSTATE_SATISFIED;
      }
      i += size;
      j += edges;
    }
    if (d_->nefc > 0) guarded([&] { mujoco.mj_mulJacTVec(user, d_, d_->qfrc_constraint, d_->efc_force); });
    work_.release(mark);
  }
  for (int i = 0; i < assembly_.elements; i++) {
    for (int j = 0; j < nv; j++) d_->qfrc_constraint[j] += force_[own + i] * patches_.jacobian[i * nv + j];
  }
}

}  // namespace pliant
