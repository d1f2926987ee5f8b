#include "solve/linear.h"

#include <algorithm>
#include <cmath>
#include "linalg/dense.h"

namespace pliant {

void Linear::reserve(const Rows& rows, Workspace& work) {
  rows_ = &rows;
  factorizations = 0;
  int most_rows = 0, widest = 0;
  for (const Group& g : rows.group) {
    most_rows = std::max(most_rows, g.rows);
    widest = std::max(widest, g.stride);
  }
  dforce = work.filled<double>(rows.count, 0.0);
  drate = work.filled<double>(rows.count, 0.0);
  H_ = work.filled<double>(rows.squares, 0.0);
  inverse_ = work.filled<double>(rows.squares, 0.0);
  g_ = work.filled<double>(rows.count, 0.0);
  dx_ = work.take<double>(rows.velocities);
  scaled_ = work.take<double>(2 * most_rows * widest);
  sum_ = work.take<double>(widest * widest);
}

void Linear::set_block(const Block& b, double* B, double* C, double epsilon) {
  const int d = b.size;
  for (int e = 0; e < d * d; e++) B[e] += C[e] * epsilon * rows_->row[b.first + e % d].proximal;
  double* inverse = inverse_.at(b.square);
  invert(B, inverse, d);
  double* H = H_.at(b.square);
  for (int i = 0; i < d; i++) {
    for (int j = 0; j < d; j++) {
      double sum = 0;
      for (int t = 0; t < d; t++) sum += inverse[i * d + t] * C[t * d + j];
      H[i * d + j] = sum;
    }
  }
}

void Linear::set_right(const Block& b, const double* k) {
  const double* inverse = inverse_.at(b.square);
  for (int i = 0; i < b.size; i++) {
    double sum = 0;
    for (int j = 0; j < b.size; j++) sum += inverse[i * b.size + j] * k[j];
    g_[b.first + i] = sum;
  }
}

// h sum_b Z_b' H_b Z_b of a group, into P
void Linear::assemble(int number) {
  const Rows& r = *rows_;
  const Group& g = r.group[number];
  if (g.width == 0) return;
  const int stride = g.stride;
  int active = 0;  // rows with a part in it: Z and h H Z, packed
  double* plain = scaled_.data();
  double* scaled = scaled_.at(g.rows * stride);
  for (int n = g.first_block; n < g.first_block + g.blocks; n++) {
    const Block& b = r.block[n];
    const double* H = H_.at(b.square);
    const double* z = r.z.at(g.values + (b.first - g.first_row) * stride);
    const int d = b.size;
    for (int i = 0; i < d; i++) {
      const double* row = H + i * d;
      if (std::all_of(row, row + d, [](double e) { return e == 0; })) continue;
      double* to = scaled + active * stride;
      const double first = r.h * row[0];
      for (int c = 0; c < stride; c++) to[c] = first * z[c];
      for (int j = 1; j < d; j++) {
        const double s = r.h * row[j];
        for (int c = 0; c < stride; c++) to[c] += s * z[j * stride + c];
      }
      std::copy(z + i * stride, z + (i + 1) * stride, plain + active * stride);
      active++;
    }
  }
  if (active == 0) return;
  for (int a = 0; a < g.width; a++) {
    double* __restrict sum = sum_.at(a * stride);
    int k = 0;
    std::fill(sum, sum + stride, 0.0);
    for (; k + 4 <= active; k += 4) {
      const double* z = plain + k * stride + a;
      const double* __restrict s = scaled + k * stride;
      const double z0 = z[0], z1 = z[stride], z2 = z[2 * stride], z3 = z[3 * stride];
      for (int c = 0; c < stride; c++) {
        sum[c] += (z0 * s[c] + z1 * s[stride + c]) + (z2 * s[2 * stride + c] + z3 * s[3 * stride + c]);
      }
    }
    for (; k < active; k++) {
      const double zk = plain[k * stride + a];
      const double* __restrict s = scaled + k * stride;
      for (int c = 0; c < stride; c++) sum[c] += zk * s[c];
    }
  }
  fronts_.add(r.set_of[number], r.sets.start, sum_.data(), stride);
}

bool Linear::factor() {
  factorizations++;
  fronts_.begin(*rows_->pattern);
  for (int g = 0; g < rows_->group.size(); g++) assemble(g);
  return fronts_.factor();
}

void Linear::solve(View<const double> missing) {
  const Rows& r = *rows_;
  std::fill(dx_.begin(), dx_.end(), 0.0);
  if (missing.empty()) {
    for (const Group& g : r.group) r.add_forces(g, g_, r.h, dx_);
  } else {
    std::copy(missing.begin(), missing.end(), drate.begin());
    for (const Block& b : r.block) force_step(b);
    for (const Group& g : r.group) r.add_forces(g, dforce, r.h, dx_);
  }
  fronts_.solve(dx_);
  if (missing.empty()) std::fill(drate.begin(), drate.end(), 0.0);
  for (const Group& g : r.group) r.add_along(g, dx_, drate);
  for (const Block& b : r.block) force_step(b);
}

// dlambda = g - H dp
void Linear::force_step(const Block& b) {
  const double* H = H_.at(b.square);
  for (int i = 0; i < b.size; i++) {
    double sum = g_[b.first + i];
    for (int j = 0; j < b.size; j++) sum -= H[i * b.size + j] * drate[b.first + j];
    dforce[b.first + i] = sum;
  }
}

}  // namespace pliant
