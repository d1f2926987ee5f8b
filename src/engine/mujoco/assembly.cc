#include "mujoco/assembly.h"

#include <algorithm>
#include <cmath>
#include "step/laws.h"

namespace pliant {
namespace {

constexpr double noise = 1e-14;          // of the largest entry of a contact, below which there is only rounding
constexpr double least_friction = 1e-5;  // mjMINMU, which MuJoCo makes of a coefficient of 0
constexpr double rigid_friction = 1e8;   // [N s/m] of dry friction, within its range

// The entries of one of MuJoCo's rows.
struct Entries {
  int first, count;
};

Entries entries_of(const mjModel& m, const mjData& d, bool sparse, int row) {
  const int nv = static_cast<int>(m.nv);
  return sparse ? Entries{d.efc_J_rowadr[row], d.efc_J_rownnz[row]} : Entries{row * nv, nv};
}

int block_size(const mjData& d, int row) {
  return d.efc_type[row] == mjCNSTR_CONTACT_ELLIPTIC ? d.contact[d.efc_id[row]].dim : 1;
}

// The mass of the heaviest tree that a row is of.
double mass_of(const mjModel& m, const mjData& d, int row) {
  const int id = d.efc_id[row];
  const auto of_object = [&](int object, bool is_site) {
    return object < 0 ? 0 : tree_mass(m, is_site ? m.site_bodyid[object] : object);
  };
  switch (d.efc_type[row]) {
    case mjCNSTR_LIMIT_JOINT: return tree_mass(m, m.jnt_bodyid[id]);
    case mjCNSTR_EQUALITY: {
      const int one = m.eq_obj1id[id], two = m.eq_obj2id[id];
      if (m.eq_type[id] == mjEQ_CONNECT || m.eq_type[id] == mjEQ_WELD) {
        const bool sites = m.eq_objtype[id] == mjOBJ_SITE;
        return std::max(of_object(one, sites), of_object(two, sites));
      }
      if (m.eq_type[id] == mjEQ_JOINT)
        return std::max(tree_mass(m, m.jnt_bodyid[one]), two < 0 ? 0 : tree_mass(m, m.jnt_bodyid[two]));
      return 0;
    }
    default: return 0;
  }
}

// Named, or rigid; a direct-format solref (-k, -b) is per effective inertia of the row, 1 / effective.
MaterialLaw scalar_law(const MaterialLaw& named, const mjtNum* solref, double mass, double effective) {
  if (!std::isnan(named.stiffness)) return named;
  if (solref[0] >= 0) return rigid_law(mass);
  const double inertia = effective > 0 ? 1 / effective : 0;
  return {-solref[0] * inertia, -solref[1] * inertia, 1, 0};
}

const MaterialLaw& at(const std::vector<MaterialLaw>& laws, int i) { return laws[static_cast<std::size_t>(i)]; }

// G inv(M) G' of the rows whose law asks for it, else 0.
View<double> effective_mobility(Model& model, const mjData& d, Workspace& work) {
  const mjModel& m = model.given();
  View<double> found = work.filled(d.nefc, 0.0);
  const Workspace::Mark mark = work.mark();
  View<double> row, half;
  const mjModel* own = nullptr;
  const bool sparse = mujoco.mj_isSparse(&m);
  for (int i = 0; i < d.nefc; i++) {
    const int type = d.efc_type[i], id = d.efc_id[i];
    const mjtNum* solref = type == mjCNSTR_LIMIT_JOINT    ? m.jnt_solref + mjNREF * id
                           : type == mjCNSTR_LIMIT_TENDON ? m.tendon_solref_lim + mjNREF * id
                           : type == mjCNSTR_EQUALITY     ? m.eq_solref + mjNREF * id
                                                          : nullptr;
    if (!solref || solref[0] >= 0) continue;
    if (!own) {
      own = model.own();
      row = work.take<double>(m.nv);
      half = work.take<double>(m.nv);
    }
    std::fill(row.begin(), row.end(), 0.0);
    const Entries entries = entries_of(m, d, sparse, i);
    for (int e = entries.first; e < entries.first + entries.count; e++)
      row[sparse ? d.efc_J_colind[e] : e - entries.first] = d.efc_J[e];
    guarded([&] { mujoco.mj_solveM(own, const_cast<mjData*>(&d), half.data(), row.data(), 1); });
    for (int j = 0; j < m.nv; j++) found[i] += row[j] * half[j];
  }
  work.release(mark);
  return found;
}

}  // namespace

void Assembly::build(Model& model, const mjData& d, const Materials& materials, const Passive& passive,
                     const Patches& patches, View<const double> velocity, View<const double> force, const Flow* flow,
                     View<const double> turning, Workspace& work) {
  const mjModel& m = model.given();
  own = d.nefc;
  elements = patches.rows();
  extra = passive.rows.size();
  const int n = own + elements + extra;
  for (auto* v : {&value, &offset, &stiffness, &damping, &dissipation, &friction_}) *v = work.filled(n, 0.0);
  exponent = work.filled(n, 1.0);
  lower_ = work.filled(n, -infinity);
  upper_ = work.filled(n, infinity);
  kind_ = work.filled<std::int64_t>(n, 0);
  block_start_ = work.take<std::int64_t>(n + 1);
  known = work.take<KnownRow>(own);
  const bool sparse = mujoco.mj_isSparse(&m);
  add_mass(m, flow ? flow->M : d.M, passive, turning, work);
  add_jacobian(m, d, sparse, passive, patches, work);
  if (own > 0 && m.flg_surfacevel) {  // the rates of rows that move by themselves
    const mjModel* changed = model.own();
    auto* data = const_cast<mjData*>(&d);
    guarded([&] {
      mujoco.mj_referenceConstraint(changed, data);
      mujoco.mj_mulJacVec(changed, data, offset.data(), data->qvel);
    });
    for (int i = 0; i < own; i++) offset[i] = d.efc_vel[i] - offset[i];
  }
  int blocks = add_own(m, d, materials, effective_mobility(model, d, work));
  for (int k = 0, i = own; k < patches.elements.size(); k++) {
    const Patches::Element& element = patches.elements[k];
    kind_[i] = static_cast<std::int64_t>(element.dim > 1 ? Kind::normal : Kind::unilateral);
    value[i] = element.gap;
    stiffness[i] = element.stiffness;
    damping[i] = element.damping;
    lower_[i] = 0;
    for (int j = 1; j < element.dim; j++) {
      kind_[i + j] = static_cast<std::int64_t>(Kind::tangent);
      stiffness[i + j] = infinity;
      if (element.friction[j - 1] > least_friction) friction_[i + j] = element.friction[j - 1];
    }
    i += element.dim;
    block_start_[++blocks] = i;
  }
  for (int r = 0; r < extra; r++) {
    const ExtraRow& row = passive.rows[r];
    const int i = own + elements + r;
    kind_[i] = static_cast<std::int64_t>(row.kind);
    stiffness[i] = row.stiffness;
    damping[i] = row.damping;
    value[i] = row.value;
    offset[i] = row.offset;
    lower_[i] = row.lower;
    upper_[i] = row.upper;
    block_start_[++blocks] = i + 1;
  }
  for (int i = 0; i < n; i++) {
    if (jacobian_start_[i] == jacobian_start_[i + 1]) friction_[i] = 0;  // nothing that it could hold
  }
  step.h = m.opt.timestep;
  if (flow) turn(*flow, work);
  step.mass_start = mass_start_;
  step.mass_column = mass_column_;
  step.mass_value = mass_value_;
  step.velocity = velocity;
  step.force = force;
  step.jacobian_start = jacobian_start_;
  step.jacobian_column = jacobian_column_;
  step.jacobian_value = jacobian_value_;
  step.block_start = block_start_.part(0, blocks + 1);
  step.kind = kind_;
  step.value = value;
  step.offset = offset;
  step.stiffness = stiffness;
  step.damping = damping;
  step.exponent = exponent;
  step.dissipation = dissipation;
  step.lower = lower_;
  step.upper = upper_;
  step.friction = friction_;
}

// The whole of M, which MuJoCo keeps by its lower half.
void Assembly::add_mass(const mjModel& m, const mjtNum* M, const Passive& passive, View<const double> turning,
                        Workspace& work) {
  const double h = m.opt.timestep;
  mass_start_ = work.take<std::int64_t>(m.nv + 1);
  mass_column_ = work.take<std::int64_t>(m.nD);
  mass_value_ = work.take<double>(m.nD);
  std::int64_t end = 0;
  for (int j = 0; j < m.nv; j++) {
    mass_start_[j] = end;
    for (int e = m.D_rowadr[j]; e < m.D_rowadr[j] + m.D_rownnz[j]; e++) {
      const double more = turning.empty() ? 0 : turning[e];
      if (m.mapM2D[e] < 0 && more == 0) continue;
      const int column = m.D_colind[e];
      double value_here = more + (m.mapM2D[e] < 0 ? 0 : M[m.mapM2D[e]]);
      if (column == j && passive.implicit) value_here += passive.inertia(h, j);
      mass_column_[end] = column;
      mass_value_[end++] = value_here;
    }
  }
  mass_start_[m.nv] = end;
  mass_column_ = mass_column_.part(0, static_cast<int>(end));
  mass_value_ = mass_value_.part(0, static_cast<int>(end));
}

// Without zeros, and without entries that are the rounding of what should be zero: a row that consisted of them would take
// enormous forces for what moves nothing.
void Assembly::add_jacobian(const mjModel& m, const mjData& d, bool sparse, const Passive& passive,
                            const Patches& patches, Workspace& work) {
  const int nv = static_cast<int>(m.nv), n = own + elements + extra;
  int room = elements * nv + passive.value.size();
  if (!sparse) room += own * nv;
  for (int i = 0; i < own && sparse; i++) room += d.efc_J_rownnz[i];
  jacobian_start_ = work.take<std::int64_t>(n + 1);
  jacobian_column_ = work.take<std::int64_t>(room);
  jacobian_value_ = work.take<double>(room);
  std::int64_t end = 0;
  jacobian_start_[0] = 0;
  const auto push = [&](int column, double entry) {
    jacobian_column_[end] = column;
    jacobian_value_[end++] = entry;
  };
  for (int i = 0; i < own;) {
    const int size = block_size(d, i);
    double largest = 0;
    for (int j = i; j < i + size; j++) {
      const Entries entries = entries_of(m, d, sparse, j);
      for (int e = entries.first; e < entries.first + entries.count; e++)
        largest = std::max(largest, std::fabs(d.efc_J[e]));
    }
    for (const int last = i + size; i < last; i++) {
      const Entries entries = entries_of(m, d, sparse, i);
      for (int e = entries.first; e < entries.first + entries.count; e++) {
        if (std::fabs(d.efc_J[e]) > noise * largest) push(sparse ? d.efc_J_colind[e] : e - entries.first, d.efc_J[e]);
      }
      jacobian_start_[i + 1] = end;
    }
  }
  for (int i = 0; i < elements; i++) {
    for (int j = 0; j < nv; j++) {
      if (patches.jacobian[i * nv + j] != 0) push(j, patches.jacobian[i * nv + j]);
    }
    jacobian_start_[own + i + 1] = end;
  }
  for (int r = 0; r < extra; r++) {
    const ExtraRow& row = passive.rows[r];
    for (int e = row.first; e < row.first + row.count; e++) {
      if (passive.value[e] != 0) push(passive.column[e], passive.value[e]);
    }
    jacobian_start_[own + elements + r + 1] = end;
  }
  jacobian_column_ = jacobian_column_.part(0, static_cast<int>(end));
  jacobian_value_ = jacobian_value_.part(0, static_cast<int>(end));
}

int Assembly::add_own(const mjModel& m, const mjData& d, const Materials& materials, View<const double> effective) {
  int blocks = 0;
  left_out_ = 0;
  block_start_[0] = 0;
  for (int i = 0; i < own;) {
    const int type = d.efc_type[i], id = d.efc_id[i], size = block_size(d, i);
    double margin = d.efc_margin[i];
    MaterialLaw law{0, rigid_friction, 1, 0};
    kind_[i] = static_cast<std::int64_t>(Kind::unilateral);
    lower_[i] = 0;
    switch (type) {
      case mjCNSTR_EQUALITY:
        law = scalar_law(at(materials.equality, id), m.eq_solref + mjNREF * id, mass_of(m, d, i), effective[i]);
        kind_[i] = static_cast<std::int64_t>(Kind::bilateral);
        lower_[i] = -infinity;
        margin = 0;
        break;
      case mjCNSTR_FRICTION_DOF:
      case mjCNSTR_FRICTION_TENDON:
        kind_[i] = static_cast<std::int64_t>(Kind::clipped);
        lower_[i] = -d.efc_frictionloss[i];
        upper_[i] = d.efc_frictionloss[i];
        break;
      case mjCNSTR_LIMIT_JOINT:
        law = scalar_law(at(materials.joint, id), m.jnt_solref + mjNREF * id, mass_of(m, d, i), effective[i]);
        margin = m.jnt_margin[id];
        break;
      case mjCNSTR_LIMIT_TENDON:
        law = scalar_law(at(materials.tendon, id), m.tendon_solref_lim + mjNREF * id, mass_of(m, d, i), effective[i]);
        margin = m.tendon_margin[id];
        break;
      default: law = contact_law(materials, m, d, d.contact[id]);
    }
    if (materials.by_reference) {  // f = -(k d r + b v) / R at the end of the step
      const mjtNum* kbi = d.efc_KBIP + 4 * i;
      law.stiffness = kbi[0] * kbi[2] / d.efc_R[i];
      law.damping = kbi[1] / d.efc_R[i];
    }
    stiffness[i] = law.stiffness;
    damping[i] = law.damping;
    const bool dry = type == mjCNSTR_FRICTION_DOF || type == mjCNSTR_FRICTION_TENDON;
    if (!dry) value[i] = d.efc_pos[i] - margin;
    if (is_contact(type)) {
      exponent[i] = law.exponent;
      dissipation[i] = law.dissipation;
      const double pull = d.contact[id].adhesion;
      if (pull > 0 && law.stiffness > 0)
        value[i] -= std::pow(pull / law.stiffness, 1 / law.exponent);  // does not press in
    }
    if (type == mjCNSTR_CONTACT_ELLIPTIC) {
      kind_[i] = static_cast<std::int64_t>(Kind::normal);
      for (int j = 1; j < size; j++) {
        kind_[i + j] = static_cast<std::int64_t>(Kind::tangent);
        stiffness[i + j] = infinity;
        const double mu = d.contact[id].friction[j - 1];
        if (mu > least_friction) friction_[i + j] = mu;
      }
    }
    for (int j = 0; j < size; j++) known[i + j] = {type, id, d.efc_pos[i + j], margin};
    i += size;
    block_start_[++blocks] = i;
  }
  return blocks;
}

// Rows see the mean velocity, and what changes that of the end, which is told in the frames that bodies have there:
//   p = G v- + G R (v1 - v~),   R the turn of the step
// Servos and dampers, as far as they damp, see the velocity of the end, p = G v1.
void Assembly::turn(const Flow& flow, Workspace& work) {
  const int n = own + elements + extra, nv = flow.end.size();
  View<double> row = work.take<double>(nv);
  const View<const std::int64_t> start = jacobian_start_, column = jacobian_column_;
  const View<const double> values = jacobian_value_;
  const int room = values.size() + 3 * n * flow.turns.size();
  jacobian_start_ = work.take<std::int64_t>(n + 1);
  jacobian_column_ = work.take<std::int64_t>(room);
  jacobian_value_ = work.take<double>(room);
  std::int64_t end = 0;
  jacobian_start_[0] = 0;
  for (int i = 0; i < n; i++) {
    const double springs = step.h * stiffness[i];
    const double share = i < own + elements || !(damping[i] > 0) ? 1 : springs / (springs + damping[i]);
    std::fill(row.begin(), row.end(), 0.0);
    for (auto e = start[i]; e < start[i + 1]; e++) {
      row[column[e]] = values[e];
      offset[i] += share * values[e] * flow.mean[column[e]];
    }
    if (share > 0) flow.to_end(row);
    for (int j = 0; j < nv; j++) {
      if (row[j] == 0) continue;
      offset[i] -= share * row[j] * flow.end[j];
      jacobian_column_[end] = j;
      jacobian_value_[end++] = row[j];
    }
    jacobian_start_[i + 1] = end;
  }
  jacobian_column_ = jacobian_column_.part(0, static_cast<int>(end));
  jacobian_value_ = jacobian_value_.part(0, static_cast<int>(end));
}

double Assembly::along(int row, View<const double> v) const {
  double sum = 0;
  for (auto e = jacobian_start_[row]; e < jacobian_start_[row + 1]; e++)
    sum += jacobian_value_[e] * v[jacobian_column_[e]];
  return sum;
}

void Assembly::leave_out_open(View<const double> v) {
  complete();
  for (int b = 0; b < step.blocks(); b++) {
    const auto i = static_cast<int>(block_start_[b]);
    const Kind kind = step.kind_of(i);
    if (i >= own || (kind != Kind::normal && kind != Kind::unilateral) || !(value[i] > 0)) continue;
    if (!(value[i] + step.h * rate(i, v) > near_closing * value[i])) continue;
    kind_[i] = static_cast<std::int64_t>(Kind::inert);
    left_out_++;
  }
}

bool Assembly::take_back(View<const double> v) {
  bool any = false;
  for (int b = 0; b < step.blocks() && left_out_ > 0; b++) {
    const auto i = static_cast<int>(block_start_[b]);
    if (step.kind_of(i) != Kind::inert || !(value[i] + step.h * rate(i, v) < 0)) continue;
    take_back(i);
    any = true;
  }
  return any;
}

void Assembly::take_back(int row) {
  const bool rubs = known[row].type == mjCNSTR_CONTACT_ELLIPTIC;
  kind_[row] = static_cast<std::int64_t>(rubs ? Kind::normal : Kind::unilateral);
  left_out_--;
}

void Assembly::complete() {
  for (int i = 0; i < own && left_out_ > 0; i++) {
    if (step.kind_of(i) == Kind::inert) take_back(i);
  }
}

}  // namespace pliant
