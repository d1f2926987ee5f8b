#include "solve/interior.h"

#include <algorithm>
#include <cmath>
#include "linalg/dense.h"

namespace pliant {
namespace {

constexpr double spread = 0.1;      // distance from the bounds at the start, in units of the energy norm
constexpr double epsilon = 1e-14;   // of the proximal term
constexpr double far = 1e10;        // a step that no bound stops

// det x = x_0^2 - |x_t|^2, kept above zero
template <int d>
double determinant(const double* x) {
  double square = 0;
  for (int i = 1; i < d; i++) square += x[i] * x[i];
  const double length = std::sqrt(square);
  return std::max((x[0] - length) * (x[0] + length), 1e-300);
}

// The step s at which x + s dx leaves the cone: det(x + s dx) = 0, from c + 2 b s + a s^2
template <int d>
double step_to_rim(const double* x, const double* dx) {
  double a = dx[0] * dx[0], b = x[0] * dx[0];
  for (int i = 1; i < d; i++) {
    a -= dx[i] * dx[i];
    b -= x[i] * dx[i];
  }
  const double c = determinant<d>(x), root = b * b - a * c;
  const double below = root < 0 ? 0 : std::sqrt(root) - b;
  return below > 0 ? std::min(far, c / below) : far;
}

double step_to_zero(double x, double dx) { return dx < 0 ? -x / dx : far; }

// Calls f with the size of a contact's block as a constant.
template <class F>
auto with_size(int d, F&& f) {
  switch (d) {
    case 2: return f.template operator()<2>();
    case 3: return f.template operator()<3>();
    case 4: return f.template operator()<4>();
    case 5: return f.template operator()<5>();
    default: return f.template operator()<6>();
  }
}

}  // namespace

void Interior::reserve(const Rows& rows, Workspace& work) {
  for (auto* v : {&f_, &rate_, &projected_, &y_, &z_, &dy_, &dz_, &miss_, &R_, &slip_}) {
    *v = work.take<double>(rows.count);
  }
  W_ = work.take<double>(rows.squares);
  V_ = work.take<double>(rows.squares);
  iterations = 0;
}

void Interior::run(Rows& rows, Linear& linear, NaturalMap& map, int limit, bool convex, double tolerance,
                   View<double> force) {
  rows_ = &rows;
  linear_ = &linear;
  convex_ = convex;
  start(force);
  double first = 0, share = convex ? 0 : 1;
  residual = infinity;
  int short_steps = 0;
  for (int iteration = 0; iteration < limit; iteration++) {
    std::copy(f_.begin(), f_.end(), projected_.begin());
    rows.project(projected_);
    rows.rates(projected_, rate_);
    const double found = map.measure(rows, projected_, rate_, convex ? 1 : 0);
    if (found < residual || iteration == 0) {
      residual = found;
      std::copy(projected_.begin(), projected_.end(), force.begin());
    }
    if (found < tolerance) break;
    rows.rates(f_, rate_);
    measure();
    const double total = products(0), mean = total / std::max(pairs_, 1);
    if (iteration == 0) first = total;
    if (pairs_ > 0 && !(total >= 1e-22 * first && total < infinity)) break;
    damped_ = share;
    iterations++;
    double step = linearise() ? predict_and_correct(total, mean) : -1;
    if (!convex) share = step >= 0.3 ? std::min(1.0, 0.51 + 0.5 * share) : 0.5 * share;
    // Recentring costs a solve, not a factorization: first to the mean product, then to ten times that.
    for (double growth : {1.0, 10.0}) {
      if (step >= 0 && step < 0.3) step = direction(growth * mean, false);
    }
    short_steps = step < 0.1 ? short_steps + 1 : 0;
    if (short_steps >= 20 || !(step > 1e-12)) break;
    advance(std::min(1.0, (0.8 + 0.19 * std::min(1.0, step)) * step));
  }
}

// Zero forces moved inside so that every pair has the same product, h lambda y = (0.1 E)^2; the dual is what the free
// motion leaves, or 0.1 E sqrt(a) where that is less.
void Interior::start(View<const double> forces) {
  const Rows& rows = *rows_;
  const double h = rows.h;
  double size = std::sqrt(rows.energy);
  for (int i = 0; i < rows.count; i++) size = std::max(size, h * std::sqrt(rows.row[i].self) * std::fabs(forces[i]));
  const double product = spread * spread * size * size / h;
  for (auto* v : {&f_, &y_, &z_, &dy_, &dz_, &miss_, &R_, &slip_}) std::fill(v->begin(), v->end(), 0.0);
  std::fill(linear_->dforce.begin(), linear_->dforce.end(), 0.0);
  pairs_ = 0;
  for (const Block& b : rows.block) {
    const int i = b.first;
    const Row& row = rows.row[i];
    if (row.fixed()) {
      f_[i] = clip(row.constant, row.lower, row.upper);
      continue;
    }
    const double least = spread * size * std::max(std::sqrt(row.self), 1e-6);
    const double tiny = 1e-9 * product / least;
    const bool low = b.size > 1 || row.lower > -infinity, high = b.size == 1 && row.upper < infinity;
    pairs_ += low + high;
    if (low && high) {
      const double room = std::min(0.5 * (row.upper - row.lower), product / least);
      f_[i] = clip(0, row.lower + room, row.upper - room);
      y_[i] = product / (f_[i] - row.lower);
      z_[i] = product / (row.upper - f_[i]);
    } else if (low) {
      const double base = b.size > 1 ? 0 : row.lower, inside = std::max(0.0, base);
      y_[i] = std::max(rows.free[i] - rate_at(row, h, inside + tiny, R_[i]), least);
      f_[i] = std::max(inside, base + product / y_[i]);
    } else if (high) {
      const double inside = std::min(0.0, row.upper);
      z_[i] = std::max(rate_at(row, h, inside - tiny, R_[i]) - rows.free[i], least);
      f_[i] = std::min(inside, row.upper - product / z_[i]);
    }
  }
}

// What the dual equations miss: u - y + z of a scalar row; slip - y_t and u + |slip| - y_n of a contact.
void Interior::measure() {
  const Rows& rows = *rows_;
  for (const Block& b : rows.block) {
    const int i = b.first;
    const Row& row = rows.row[i];
    if (row.fixed()) continue;
    miss_[i] = rate_[i] - rate_at(row, rows.h, f_[i], R_[i]) - y_[i] + z_[i];
    if (b.size == 1) continue;
    double square = 0;
    for (int j = i + 1; j < i + b.size; j++) {
      const Row& t = rows.row[j];
      R_[j] = t.compliance;
      slip_[j] = t.mu * (rate_[j] + t.compliance * f_[j] + t.bias);
      miss_[j] = slip_[j] - y_[j];
      square += slip_[j] * slip_[j];
    }
    const double speed = std::sqrt(square);
    if (!convex_) miss_[i] += speed;
    for (int j = i + 1; j < i + b.size; j++) slip_[j] = speed > 0 ? slip_[j] / speed : 0;
  }
}

// Sum of (lambda - lower) y + (upper - lambda) z + x.y after a step s
double Interior::products(double s) const {
  const Rows& rows = *rows_;
  const View<double> df = linear_->dforce;
  double sum = 0;
  for (const Block& b : rows.block) {
    const Row& row = rows.row[b.first];
    if (row.fixed()) continue;
    for (int i = b.first; i < b.first + b.size; i++) {
      const double force = f_[i] + s * df[i], dual = y_[i] + s * dy_[i];
      if (b.size > 1) {
        sum += force * rows.row[i].inverse_mu * dual;
      } else {
        if (row.lower > -infinity) sum += (force - row.lower) * dual;
        if (row.upper < infinity) sum += (row.upper - force) * (z_[i] + s * dz_[i]);
      }
    }
  }
  return sum;
}

// Blocks B dlambda + C dp = k, and P of them.
//   scalar:  (R + y / (lambda - lower) + z / (upper - lambda)) dlambda + dp = k, over that sum + h a: bounded at both ends
//   cone:    V dx + W dy = k,  dy_t = mu (dp + R dlambda)_t,  dy_n = dp_n + R dlambda_n + share slip . dy_t
// with the scaling of Nesterov and Todd, W y = inv(W) x. With x, y over the roots of their determinants and
// g = sqrt((1 + x.y) / 2):  w = (x + J y) / (2 g),  W = eta [w0 w'; w I + w w' / (1 + w0)],  eta^4 = det x / det y
bool Interior::linearise() {
  const Rows& rows = *rows_;
  for (const Block& b : rows.block) {
    const Row* row = rows.row.at(b.first);
    const int i0 = b.first;
    if (b.size == 1) {
      double steep = R_[i0];
      if (row->lower > -infinity) steep += y_[i0] / (f_[i0] - row->lower);
      if (row->upper < infinity) steep += z_[i0] / (row->upper - f_[i0]);
      const bool stiff = row->fixed() || !(steep < infinity);
      W_[b.square] = stiff ? 0 : 1 / (steep + rows.h * row->self);
      linear_->set_scalar(b, stiff ? 1 : steep * W_[b.square], W_[b.square], epsilon);
      continue;
    }
    with_size(b.size, [&]<int d>() {
      double B[d * d] = {}, C[d * d] = {};
      if (row->fixed()) {
        for (int i = 0; i < d; i++) B[i * d + i] = 1;
        linear_->set_block(b, B, C, epsilon);
        return;
      }
      double x[d], w[d], dots = 0;
      const double* dual = y_.at(i0);
      double* W = W_.at(b.square);
      double* V = V_.at(b.square);
      for (int j = 0; j < d; j++) {
        x[j] = f_[i0 + j] * row[j].inverse_mu;
        dots += x[j] * dual[j];
      }
      const double root_x = std::sqrt(determinant<d>(x)), root_y = std::sqrt(determinant<d>(dual));
      const double twice = 2 * std::sqrt(0.5 * (1 + dots / (root_x * root_y))), eta = std::sqrt(root_x / root_y);
      for (int j = 0; j < d; j++) w[j] = (x[j] / root_x + (j ? -1 : 1) * dual[j] / root_y) / twice;
      for (int i = 0; i < d; i++) {
        for (int j = 0; j <= i; j++) {
          const double entry = j ? w[i] * w[j] / (1 + w[0]) + (i == j) : w[i];
          W[i * d + j] = W[j * d + i] = eta * entry;
          V[i * d + j] = V[j * d + i] = (i && !j ? -entry : entry) / eta;
        }
      }
      for (int i = 0; i < d; i++) {
        for (int j = 0; j < d; j++) {
          const int e = i * d + j;
          C[e] = row[j].mu * (W[e] + (j ? damped_ * slip_[i0 + j] * W[i * d] : 0));
          B[e] = V[e] * row[j].inverse_mu + C[e] * R_[i0 + j];
        }
        if (row[i].mu == 0) B[i * d + i] = 1;
      }
      linear_->set_block(b, B, C, epsilon);
    });
  }
  return linear_->factor();
}

// Mehrotra: the step to product 0 shows how far the products may fall, (their ratio)^2, and what its second order adds.
// Returns the longest step.
double Interior::predict_and_correct(double total, double mean) {
  const double step = std::min(1.0, direction(0, false));
  const double ratio = total > 0 ? std::max(products(step) / total, 0.0) : 0;
  return direction(clip(ratio * ratio, 1e-4, 1) * mean, true);
}

// The direction to products kappa, with or without the second order of the one before; its longest step.
double Interior::direction(double kappa, bool second_order) {
  for (const Block& b : rows_->block) set_target(b, kappa, second_order);
  linear_->solve({});
  double longest = far;
  for (const Block& b : rows_->block) {
    if (!rows_->row[b.first].fixed()) longest = std::min(longest, dual_step(b, kappa));
  }
  return longest;
}

// k of a scalar row: kappa / (lambda - lower) - y - (kappa / (upper - lambda) - z) - miss
// k of a cone: inv(s) o (kappa e - s o s - u o v) - W miss,  s = W y = V x,  u = V dx,  v = W dy
void Interior::set_target(const Block& b, double kappa, bool second_order) {
  const int i0 = b.first;
  const Row& row = rows_->row[i0];
  const double* df = linear_->dforce.at(i0);
  if (row.fixed()) {
    const double k[largest_block] = {};
    linear_->set_right(b, k);
    return;
  }
  if (b.size == 1) {
    double k = -miss_[i0];
    if (row.lower > -infinity) k += (kappa - (second_order ? df[0] * dy_[i0] : 0)) / (f_[i0] - row.lower) - y_[i0];
    if (row.upper < infinity) k -= (kappa + (second_order ? df[0] * dz_[i0] : 0)) / (row.upper - f_[i0]) - z_[i0];
    k *= W_[b.square];
    linear_->set_right(b, &k);
    return;
  }
  with_size(b.size, [&]<int d>() {
    const double* W = W_.at(b.square);
    const double* V = V_.at(b.square);
    double k[d], t[d], s[d], u[d], v[d], dx[d];
    for (int j = 0; j < d; j++) dx[j] = df[j] * rows_->row[i0 + j].inverse_mu;
    for (int i = 0; i < d; i++) {
      k[i] = s[i] = u[i] = v[i] = 0;
      for (int j = 0; j < d; j++) {
        const double w = W[i * d + j];
        s[i] += w * y_[i0 + j];
        k[i] -= w * miss_[i0 + j];
        u[i] += V[i * d + j] * dx[j];
        v[i] += w * dy_[i0 + j];
      }
    }
    const double second = second_order ? 1 : 0;
    t[0] = kappa;
    for (int i = 0; i < d; i++) t[0] -= s[i] * s[i] + second * u[i] * v[i];
    for (int i = 1; i < d; i++) t[i] = -2 * s[0] * s[i] - second * (u[0] * v[i] + v[0] * u[i]);
    double dots = s[0] * t[0];
    for (int i = 1; i < d; i++) dots -= s[i] * t[i];
    const double head = dots / determinant<d>(s);
    k[0] += head;
    for (int i = 1; i < d; i++) k[i] += (t[i] - s[i] * head) / s[0];
    linear_->set_right(b, k);
  });
}

// Dual steps from those of the forces, and the longest step of a block's forces and duals.
double Interior::dual_step(const Block& b, double kappa) {
  const int i0 = b.first;
  const Row* row = rows_->row.at(i0);
  const double* df = linear_->dforce.at(i0);
  const double* dp = linear_->drate.at(i0);
  double du = miss_[i0] + dp[0] + R_[i0] * df[0];
  if (b.size > 1) {
    return with_size(b.size, [&]<int d>() {
      double x[d], dx[d];
      for (int j = 1; j < d; j++) {
        const double dslip = row[j].mu * (dp[j] + R_[i0 + j] * df[j]);
        dy_[i0 + j] = miss_[i0 + j] + dslip;
        du += damped_ * slip_[i0 + j] * dslip;
      }
      dy_[i0] = du;
      for (int j = 0; j < d; j++) {
        x[j] = f_[i0 + j] * row[j].inverse_mu;
        dx[j] = df[j] * row[j].inverse_mu;
      }
      return std::min(step_to_rim<d>(x, dx), step_to_rim<d>(y_.at(i0), dy_.at(i0)));
    });
  }
  // du = dy - dz; of two bounds the one with the larger dual takes the rounding
  const bool low = row->lower > -infinity, high = row->upper < infinity;
  const double below = f_[i0] - row->lower, above = row->upper - f_[i0];
  double longest = far;
  if (high) dz_[i0] = low ? (kappa + z_[i0] * df[0]) / above - z_[i0] : -du;
  if (low) dy_[i0] = high ? (kappa - y_[i0] * df[0]) / below - y_[i0] : du;
  if (low && high && y_[i0] > z_[i0]) dy_[i0] = du + dz_[i0];
  else if (low && high) dz_[i0] = dy_[i0] - du;
  if (low) longest = std::min({longest, step_to_zero(below, df[0]), step_to_zero(y_[i0], dy_[i0])});
  if (high) longest = std::min({longest, step_to_zero(above, -df[0]), step_to_zero(z_[i0], dz_[i0])});
  return longest;
}

void Interior::advance(double step) {
  for (int i = 0; i < rows_->count; i++) {
    f_[i] += step * linear_->dforce[i];
    y_[i] += step * dy_[i];
    z_[i] += step * dz_[i];
  }
  for (const Block& b : rows_->block) {  // rounding may carry a dual out of its cone
    if (b.size == 1) continue;
    double square = 0;
    for (int j = b.first + 1; j < b.first + b.size; j++) square += y_[j] * y_[j];
    y_[b.first] = std::max(y_[b.first], std::sqrt(square) * (1 + 1e-15) + 1e-300);
  }
}

}  // namespace pliant
