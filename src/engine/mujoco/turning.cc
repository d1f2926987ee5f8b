#include "mujoco/turning.h"

#include <algorithm>
#include <cmath>

namespace pliant {
namespace {

constexpr double small = 0.1;  // of a velocity's own inertia, up to which h^2 K changes nothing to speak of
constexpr int sweeps = 12;     // of Jacobi's method

void cross(const double* a, const double* b, double* to) {
  to[0] = a[1] * b[2] - a[2] * b[1];
  to[1] = a[2] * b[0] - a[0] * b[2];
  to[2] = a[0] * b[1] - a[1] * b[0];
}

// to := the part of a symmetric matrix A with positive eigenvalues, which Jacobi's method finds; Q: to work with.
void keep_positive(double* A, double* Q, double* to, int n) {
  for (int i = 0; i < n * n; i++) Q[i] = i % (n + 1) == 0;
  const auto turn = [n](double* x, double* y, int stride, double c, double s) {
    for (int k = 0; k < n; k++) {
      const double a = x[k * stride], b = y[k * stride];
      x[k * stride] = c * a - s * b;
      y[k * stride] = s * a + c * b;
    }
  };
  for (int sweep = 0; sweep < sweeps; sweep++) {
    for (int p = 0; p < n; p++) {
      for (int q = p + 1; q < n; q++) {
        if (A[p * n + q] == 0) continue;
        const double theta = (A[q * n + q] - A[p * n + p]) / (2 * A[p * n + q]);
        const double t = (theta >= 0 ? 1 : -1) / (std::fabs(theta) + std::sqrt(theta * theta + 1));
        const double c = 1 / std::sqrt(t * t + 1), s = t * c;
        turn(A + p, A + q, n, c, s);
        turn(A + p * n, A + q * n, 1, c, s);
        turn(Q + p, Q + q, n, c, s);
      }
    }
  }
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++) {
      to[i * n + j] = 0;
      for (int k = 0; k < n; k++) to[i * n + j] += Q[i * n + k] * std::max(A[k * n + k], 0.0) * Q[j * n + k];
    }
  }
}

// Of a connect or weld, the points that it holds, one on each body.
struct Held {
  int body[2];
  double x[2][3];
};

Held held_by(const mjModel& m, const mjData& d, int e) {
  Held held;
  const int id[2] = {m.eq_obj1id[e], m.eq_obj2id[e]};
  const mjtNum* data = m.eq_data + mjNEQDATA * e;
  for (int side = 0; side < 2; side++) {
    if (m.eq_objtype[e] == mjOBJ_SITE) {
      held.body[side] = m.site_bodyid[id[side]];
      std::copy_n(d.site_xpos + 3 * id[side], 3, held.x[side]);
      continue;
    }
    held.body[side] = id[side];
    // The anchor of a connect is kept for both bodies, that of a weld for the second, beside where that is in the first.
    const mjtNum* local = m.eq_type[e] == mjEQ_CONNECT ? data + 3 * side : side == 0 ? data + 3 : data;
    const mjtNum *R = d.xmat + 9 * id[side], *at = d.xpos + 3 * id[side];
    for (int k = 0; k < 3; k++)
      held.x[side][k] = at[k] + R[3 * k] * local[0] + R[3 * k + 1] * local[1] + R[3 * k + 2] * local[2];
  }
  return held;
}

int entry_of(const mjModel& m, int row, int column) {
  for (int e = m.D_rowadr[row]; e < m.D_rowadr[row] + m.D_rownnz[row]; e++) {
    if (m.D_colind[e] == column) return e;
  }
  return -1;
}

}  // namespace

// The velocities on which a body depends, from the root on.
void Turning::start_body(const mjModel& m, int body) {
  path_.clear();
  while (body > 0 && m.body_dofnum[body] == 0) body = m.body_parentid[body];
  for (int j = body > 0 ? m.body_dofadr[body] + m.body_dofnum[body] - 1 : -1; j >= 0; j = m.dof_parentid[j])
    path_.push(j);
  std::reverse(path_.data(), path_.data() + path_.size());
  block_.resize(3 * path_.size() * path_.size());
  std::fill_n(block_.data(), path_.size() * path_.size(), 0.0);
}

void Turning::add_point(const mjModel& m, const mjData& d, int body, const double* x, const double* force) {
  const mjtNum* com = d.subtree_com + 3 * m.body_rootid[body];
  const double r[3] = {x[0] - com[0], x[1] - com[1], x[2] - com[2]};
  const int n = path_.size();
  axes_.resize(6 * n);
  for (int i = 0; i < n; i++) {
    const mjtNum* axis = d.cdof + 6 * path_[i];
    double* to = axes_.data() + 6 * i;
    std::copy_n(axis, 3, to);
    cross(axis, r, to + 3);
    for (int k = 0; k < 3; k++) to[3 + k] += axis[3 + k];
  }
  const auto bend = [&](int i, int j) {
    double way[3];
    cross(axes_.data() + 6 * i, axes_.data() + 6 * j + 3, way);
    return -(force[0] * way[0] + force[1] * way[1] + force[2] * way[2]);
  };
  for (int i = 0; i < n; i++) {
    for (int j = i; j < n; j++) {
      const bool same = m.dof_jntid[path_[i]] == m.dof_jntid[path_[j]];  // no order among the turns of one joint
      const double K = same ? 0.5 * (bend(i, j) + bend(j, i)) : bend(i, j);
      block_[i * n + j] += K;
      if (i != j) block_[j * n + i] += K;
    }
  }
}

void Turning::find(const mjModel& m, const mjData& d, View<const double> force) {
  clear();
  const double square = m.opt.timestep * m.opt.timestep;
  const auto finish_body = [&] {
    const int n = path_.size();
    bool large = false;
    for (int i = 0; i < n; i++) {
      const int j = path_[i];
      large = large || square * block_[i * n + i] > small * d.M[m.M_rowadr[j] + m.M_rownnz[j] - 1];
    }
    if (!large) return;
    if (inertia.empty()) {
      found_.resize(m.nD);
      inertia = found_.view();
      std::fill(inertia.begin(), inertia.end(), 0.0);
    }
    double *A = block_.data(), *Q = A + n * n, *positive = Q + n * n;
    keep_positive(A, Q, positive, n);
    for (int i = 0; i < n; i++) {
      for (int j = 0; j < n; j++) {
        const int e = entry_of(m, path_[i], path_[j]);
        if (e >= 0) inertia[e] += square * positive[i * n + j];
      }
    }
  };
  // Body by body: what pulls at both ends of a link counts together.
  ends_.clear();
  for (int i = 0; i < d.ne; i++) {
    const int e = d.efc_id[i], kind = m.eq_type[e];
    if ((i > 0 && d.efc_id[i - 1] == e) || (kind != mjEQ_CONNECT && kind != mjEQ_WELD)) continue;
    const Held held = held_by(m, d, e);
    for (int side = 0; side < 2; side++) {
      const double sign = side == 0 ? 1 : -1;
      End end{held.body[side], {}, {}};
      for (int k = 0; k < 3; k++) {
        end.x[k] = held.x[side][k];
        end.pull[k] = sign * force[i + k];
      }
      if (end.body > 0) ends_.push(end);
    }
  }
  std::stable_sort(ends_.data(), ends_.data() + ends_.size(),
                   [](const End& a, const End& b) { return a.body < b.body; });
  for (int k = 0; k < ends_.size(); k++) {
    const End& end = ends_[k];
    if (k == 0 || ends_[k - 1].body != end.body) start_body(m, end.body);
    add_point(m, d, end.body, end.x, end.pull);
    if (k + 1 == ends_.size() || ends_[k + 1].body != end.body) finish_body();
  }
}

}  // namespace pliant
