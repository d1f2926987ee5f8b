#include "solve/interior.h"

#include <algorithm>
#include <cmath>
#include "linalg/dense.h"

namespace pliant {
namespace {

constexpr double wider_if_precise = 100;                          // the start, where the factors are twofold
constexpr double usual_epsilon = 1e-14, precise_epsilon = 1e-20;  // of the proximal term
constexpr double rim = 1e-15;                             // the least distance from it, relative, that has a digit
constexpr double far = 1e10;                              // a step that no bound stops
constexpr double long_step = 0.6, gain = 1.1;             // a correction must lengthen a shorter step so many times
constexpr double least_product = 0.1, most_product = 10;  // of the target, beyond which a product is off the path

// det x = x_0^2 - |x_t|^2, kept above zero
template <int d>
double determinant(const double* x) {
  double square = 0;
  for (int i = 1; i < d; i++) square += x[i] * x[i];
  const double length = std::sqrt(square);
  return std::max((x[0] - length) * (x[0] + length), 1e-300);
}

// The step s at which x + s dx leaves the cone: det(x + s dx) = 0, from c + 2 b s + a s^2, c = det x. Inside the cone b^2 >=
// a c, but for rounding.
template <int d>
double step_to_rim(const double* x, const double* dx, double c) {
  double a = dx[0] * dx[0], b = x[0] * dx[0];
  for (int i = 1; i < d; i++) {
    a -= dx[i] * dx[i];
    b -= x[i] * dx[i];
  }
  const double root = b * b - a * c;
  const double below = std::sqrt(std::max(0.0, root)) - b;
  return below > 0 ? std::min(far, c / below) : far;
}

double step_to_zero(double x, double dx) { return dx < 0 ? -x / dx : far; }

// The force of a row that were alone with its velocities.
double alone(const Row& row, double h, double p) {
  if (!row.power) return clip(-correction(row, h, pliant::linearise(row, h, 0, p), p), row.lower, row.upper);
  const double force = force_at(row, h, p), stop = -(p + row.gap / h) / (h * row.self);
  return force > 0 && stop > 0 ? force * (stop / (force + stop)) : 0;
}

}  // namespace

void Interior::reserve(const Rows& rows, const Tuning& tuning, Workspace& work) {
  tuning_ = tuning;
  for (auto* v : {&f_, &y_, &z_, &dy_, &dz_, &target_, &target_above_, &rate_, &miss_, &R_, &slip_, &point_, &known_,
                  &df_before_, &dp_before_, &dy_before_, &dz_before_}) {
    *v = work.filled<double>(rows.count, 0.0);
  }
  W_ = work.take<double>(rows.squares);
  V_ = work.take<double>(rows.squares);
  shape_ = work.take<Shape>(rows.block.size());
  iterations = 0;
}

void Interior::project(View<double> force) const {
  std::copy(f_.begin(), f_.end(), force.begin());
  rows_->project(force);
}

bool Interior::advance() {
  rows_->rates(f_, rate_);
  measure();
  const double total = products(0), mean = total / std::max(pairs_, 1);
  if (pairs_ > 0 && !(mean >= least_mean() && mean < infinity)) return false;
  if (mean < 0.5 * lowest_) {
    lowest_ = mean;
    idle_ = 0;
  } else if (++idle_ >= tuning_.patience) {
    lost = true;
    return false;
  }
  damped_ = share_;
  iterations++;
  stuck = !linearise();
  if (stuck) return false;
  const double step = predict_and_correct(total, mean);
  if (!convex_) share_ = step >= tuning_.short_step ? std::min(1.0, 0.51 + 0.5 * share_) : tuning_.damping * share_;
  short_steps_ = step < 0.1 ? short_steps_ + 1 : 0;
  stuck = short_steps_ >= 20 || !(step > 1e-12);
  if (stuck) return false;
  move(std::min(1.0, (tuning_.fraction + (0.999 - tuning_.fraction) * std::min(1.0, step)) * step));
  return true;
}

// Zero forces moved inside so that every pair has the same product, h lambda y = (0.1 E)^2; the dual is what the free
// motion leaves, or 0.1 E sqrt(a) where that is less.
void Interior::start(const Rows& rows, Linear& linear, bool convex, double size, double wider) {
  stuck = lost = false;
  rows_ = &rows;
  linear_ = &linear;
  convex_ = convex;
  share_ = convex ? 0 : 1;
  short_steps_ = idle_ = 0;
  lowest_ = infinity;
  const double h = rows.h;
  size = std::max(size, std::sqrt(rows.energy));
  for (const Block& b : rows.block) {
    const Row& row = rows.row[b.first];
    double square = 0;  // of the slip, which lifts a contact of the convex program
    for (int i = b.first + 1; i < b.first + b.size; i++) {
      const double slip = rows.row[i].mu * (rows.free[i] + rows.row[i].bias);
      square += convex ? slip * slip : 0;
    }
    const double found = h * std::sqrt(row.self) * std::fabs(alone(row, h, rows.free[b.first] - std::sqrt(square)));
    if (!row.fixed()) size = std::max(size, found);
  }
  const double spread = wider * tuning_.spread * (linear.precise ? wider_if_precise : 1);
  const double product = spread * spread * size * size / h;
  for (auto* v : {&f_, &y_, &z_, &dy_, &dz_, &miss_, &R_, &slip_}) std::fill(v->begin(), v->end(), 0.0);
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
      if (row.power) f_[i] = std::max(f_[i], alone(row, h, rows.free[i]));  // at touch the law is flat
    } else if (high) {
      const double inside = std::min(0.0, row.upper);
      z_[i] = std::max(rate_at(row, h, inside - tiny, R_[i]) - rows.free[i], least);
      f_[i] = std::min(inside, row.upper - product / z_[i]);
    }
  }
}

// Products that are rounding in the energy norm: the path ends.
double Interior::least_mean() const {
  const Rows& rows = *rows_;
  double largest = 0;
  for (int i = 0; i < rows.count; i++) largest = std::max(largest, rows.row[i].weight * std::fabs(f_[i]));
  return 1e-24 * (rows.energy + 1e-10 * largest * largest) / rows.h;
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
  const double epsilon = linear_->precise ? precise_epsilon : usual_epsilon;
  for (const Block& b : rows.block) {
    const Row* row = rows.row.at(b.first);
    const int i0 = b.first;
    if (b.size == 1) {
      double steep = R_[i0];
      if (row->lower > -infinity) steep += y_[i0] / (f_[i0] - row->lower);
      if (row->upper < infinity) steep += z_[i0] / (row->upper - f_[i0]);
      const bool stiff = row->fixed() || !(steep < infinity);
      W_[b.square] = stiff ? 0 : 1 / (steep + rows.h * row->self);
      linear_->set_scalar(b.square, stiff ? 1 : steep * W_[b.square], W_[b.square], epsilon * row->proximal);
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
      const double det_x = determinant<d>(x), det_y = determinant<d>(dual);
      const double root_x = std::sqrt(det_x), root_y = std::sqrt(det_y), eta = std::sqrt(root_x / root_y);
      const double twice = 2 * std::sqrt(0.5 * (1 + dots / (root_x * root_y)));
      const double of_x = 1 / (root_x * twice), of_y = 1 / (root_y * twice), inverse_eta = 1 / eta;
      for (int j = 0; j < d; j++) w[j] = of_x * x[j] + (j ? -of_y : of_y) * dual[j];
      const double bend = 1 / (1 + w[0]);
      for (int i = 0; i < d; i++) {
        for (int j = 0; j <= i; j++) {
          const double entry = j ? w[i] * w[j] * bend + (i == j) : w[i];
          W[i * d + j] = W[j * d + i] = eta * entry;
          V[i * d + j] = V[j * d + i] = (i && !j ? -entry : entry) * inverse_eta;
        }
      }
      double* s = point_.at(i0);
      for (int i = 0; i < d; i++) {
        s[i] = known_[i0 + i] = 0;
        for (int j = 0; j < d; j++) {
          s[i] += W[i * d + j] * dual[j];
          known_[i0 + i] += W[i * d + j] * (dual[j] + miss_[i0 + j]);
        }
      }
      shape(b) = {det_x, det_y, 1 / determinant<d>(s), 1 / s[0]};
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

// Mehrotra: the step to product 0 shows how far the products may fall, (their ratio)^3, and what its second order adds.
// Gondzio: products that a longer step would carry off the path are aimed back at it. Returns the longest step.
double Interior::predict_and_correct(double total, double mean) {
  const double affine = std::min(1.0, direction(0, false));
  const double ratio = total > 0 ? std::max(products(affine) / total, 0.0) : 0;
  const double kappa = clip(ratio * ratio * ratio, 1e-4, 1) * mean;
  double step = direction(kappa, tuning_.second_order);
  for (int again = 0; again < tuning_.corrections && step < long_step; again++) {
    const double longer = correct(kappa, step);
    if (longer > gain * step) {
      step = longer;
      continue;
    }
    if (longer > step) return longer;
    std::copy(df_before_.begin(), df_before_.end(), linear_->dforce.begin());
    std::copy(dp_before_.begin(), dp_before_.end(), linear_->drate.begin());
    std::copy(dy_before_.begin(), dy_before_.end(), dy_.begin());
    std::copy(dz_before_.begin(), dz_before_.end(), dz_.begin());
    break;
  }
  return step;
}

double Interior::correct(double kappa, double step) {
  std::copy(linear_->dforce.begin(), linear_->dforce.end(), df_before_.begin());
  std::copy(linear_->drate.begin(), linear_->drate.end(), dp_before_.begin());
  std::copy(dy_.begin(), dy_.end(), dy_before_.begin());
  std::copy(dz_.begin(), dz_.end(), dz_before_.begin());
  const double longer = std::min(1.0, step + 0.1);
  for (const Block& b : rows_->block) {
    if (!rows_->row[b.first].fixed()) recentre(b, kappa, longer);
    set_right(b);
  }
  return solve();
}

// The direction to products kappa, with or without the second order of the one before; its longest step.
double Interior::direction(double kappa, bool second_order) {
  for (const Block& b : rows_->block) {
    if (!rows_->row[b.first].fixed()) aim(b, kappa, second_order);
    set_right(b);
  }
  return solve();
}

double Interior::solve() {
  linear_->solve({});
  double longest = far;
  for (const Block& b : rows_->block) {
    if (!rows_->row[b.first].fixed()) longest = std::min(longest, dual_step(b));
  }
  return longest;
}

// u = V dx, dx = (dlambda_n, dlambda_t / mu);  v = W dy
template <int d>
void Interior::scaled(const Block& b, double* u, double* v) const {
  const double* W = W_.at(b.square);
  const double* V = V_.at(b.square);
  double x[d];
  for (int j = 0; j < d; j++) x[j] = linear_->dforce[b.first + j] * rows_->row[b.first + j].inverse_mu;
  for (int i = 0; i < d; i++) {
    u[i] = v[i] = 0;
    for (int j = 0; j < d; j++) {
      u[i] += V[i * d + j] * x[j];
      v[i] += W[i * d + j] * dy_[b.first + j];
    }
  }
}

// target: kappa - dlambda dy, kappa + dlambda dz of a scalar row; kappa e - u o v of a cone, u = V dx, v = W dy
void Interior::aim(const Block& b, double kappa, bool second_order) {
  const int i0 = b.first;
  const double* df = linear_->dforce.at(i0);
  for (int i = i0; i < i0 + b.size; i++) target_[i] = i == i0 ? kappa : 0;
  target_above_[i0] = kappa;
  if (!second_order) return;
  if (b.size == 1) {
    target_[i0] -= df[0] * dy_[i0];
    target_above_[i0] += df[0] * dz_[i0];
    return;
  }
  with_size(b.size, [&]<int d>() {
    double u[d], v[d];
    scaled<d>(b, u, v);
    for (int i = 0; i < d; i++) target_[i0] -= u[i] * v[i];
    for (int i = 1; i < d; i++) target_[i0 + i] -= u[0] * v[i] + v[0] * u[i];
  });
}

// Adds to the target what takes the products after a step s back between a tenth and ten times kappa. The products of a
// cone are the two eigenvalues of (V x + s u) o (W y + s v).
void Interior::recentre(const Block& b, double kappa, double step) {
  const int i0 = b.first;
  const Row& row = rows_->row[i0];
  const double most = most_product * kappa;
  auto back = [&](double product) { return std::max(clip(product, least_product * kappa, most) - product, -most); };
  if (b.size == 1) {
    const double f = f_[i0] + step * linear_->dforce[i0];
    if (row.lower > -infinity) target_[i0] += back((f - row.lower) * (y_[i0] + step * dy_[i0]));
    if (row.upper < infinity) target_above_[i0] += back((row.upper - f) * (z_[i0] + step * dz_[i0]));
    return;
  }
  with_size(b.size, [&]<int d>() {
    double x[d], y[d], u[d], v[d], turned[d];
    scaled<d>(b, u, v);
    for (int i = 0; i < d; i++) {
      x[i] = point_[i0 + i] + step * u[i];
      y[i] = point_[i0 + i] + step * v[i];
    }
    double head = x[0] * y[0], square = 0;
    for (int i = 1; i < d; i++) {
      head += x[i] * y[i];
      turned[i] = x[0] * y[i] + y[0] * x[i];
      square += turned[i] * turned[i];
    }
    const double length = std::sqrt(square), low = back(head - length), high = back(head + length);
    target_[i0] += 0.5 * (low + high);
    for (int i = 1; i < d && length > 0; i++) target_[i0 + i] += 0.5 * (high - low) * turned[i] / length;
  });
}

// k of a scalar row: target / (lambda - lower) - y - (target_above / (upper - lambda) - z) - miss
// k of a cone: inv(s) o (target - s o s) - W miss = inv(s) o target - W (y + miss),  s = W y = V x
void Interior::set_right(const Block& b) {
  const int i0 = b.first;
  const Row& row = rows_->row[i0];
  double k[largest_block] = {};
  if (row.fixed()) {
    linear_->set_right(b, k);
  } else if (b.size == 1) {
    k[0] = -miss_[i0];
    if (row.lower > -infinity) k[0] += target_[i0] / (f_[i0] - row.lower) - y_[i0];
    if (row.upper < infinity) k[0] -= target_above_[i0] / (row.upper - f_[i0]) - z_[i0];
    k[0] *= W_[b.square];
    linear_->set_right(b, k);
  } else {
    with_size(b.size, [&]<int d>() {
      const double* s = point_.at(i0);
      const double* target = target_.at(i0);
      double dots = s[0] * target[0];
      for (int i = 1; i < d; i++) dots -= s[i] * target[i];
      const double head = dots * shape(b).inverse_det;
      k[0] = head - known_[i0];
      for (int i = 1; i < d; i++) k[i] = (target[i] - s[i] * head) * shape(b).inverse_head - known_[i0 + i];
      linear_->set_right(b, k);
    });
  }
}

// Dual steps from those of the forces, and the longest step of a block's forces and duals.
double Interior::dual_step(const Block& b) {
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
      return std::min(step_to_rim<d>(x, dx, shape(b).det_x), step_to_rim<d>(y_.at(i0), dy_.at(i0), shape(b).det_y));
    });
  }
  // du = dy - dz; of two bounds the one with the larger dual takes the rounding
  const bool low = row->lower > -infinity, high = row->upper < infinity;
  const double below = f_[i0] - row->lower, above = row->upper - f_[i0];
  double longest = far;
  if (high) dz_[i0] = low ? (target_above_[i0] + z_[i0] * df[0]) / above - z_[i0] : -du;
  if (low) dy_[i0] = high ? (target_[i0] - y_[i0] * df[0]) / below - y_[i0] : du;
  if (low && high && y_[i0] > z_[i0]) dy_[i0] = du + dz_[i0];
  else if (low && high) dz_[i0] = dy_[i0] - du;
  if (low) longest = std::min({longest, step_to_zero(below, df[0]), step_to_zero(y_[i0], dy_[i0])});
  if (high) longest = std::min({longest, step_to_zero(above, -df[0]), step_to_zero(z_[i0], dz_[i0])});
  return longest;
}

void Interior::move(double step) {
  for (int i = 0; i < rows_->count; i++) {
    f_[i] += step * linear_->dforce[i];
    y_[i] += step * dy_[i];
    z_[i] += step * dz_[i];
  }
  for (const Block& b : rows_->block) {  // rounding may carry forces and duals out of their cones
    if (b.size == 1 || rows_->row[b.first].fixed()) continue;
    double square = 0, rubbing = 0;
    for (int j = b.first + 1; j < b.first + b.size; j++) {
      const double x = f_[j] * rows_->row[j].inverse_mu;
      square += y_[j] * y_[j];
      rubbing += x * x;
    }
    y_[b.first] = std::max(y_[b.first], std::sqrt(square) * (1 + rim) + 1e-300);
    const double length = std::sqrt(rubbing) * (1 + rim);
    if (!(length > f_[b.first])) continue;
    for (int j = b.first + 1; j < b.first + b.size; j++) f_[j] *= f_[b.first] / length;
  }
}

}  // namespace pliant
