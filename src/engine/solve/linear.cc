#include "solve/linear.h"

#include <algorithm>
#include <cmath>
#include "linalg/dense.h"

namespace pliant {

void Linear::reserve(const Rows& rows, Workspace& work) {
  rows_ = &rows;
  factorizations = 0;
  precise = false;
  dforce = work.filled<double>(rows.count, 0.0);
  drate = work.filled<double>(rows.count, 0.0);
  H_ = work.filled<double>(rows.squares, 0.0);
  inverse_ = work.filled<double>(rows.squares, 0.0);
  g_ = work.filled<double>(rows.count, 0.0);
  reserve(usual_, work);
}

void Linear::be_precise(Workspace& work) {
  precise = true;
  reserve(precise_, work);
}

template <class T>
void Linear::reserve(System<T>& system, Workspace& work) const {
  int most = 0, widest = 0;
  for (const Group& g : rows_->group) {
    most = std::max(most, g.rows * g.stride);
    widest = std::max(widest, g.stride);
  }
  system.dx = work.take<T>(rows_->velocities);
  system.plain = work.take<T>(most);
  system.scaled = work.take<T>(most);
  system.sum = work.take<T>(widest * widest);
}

void Linear::set_block(const Block& b, double* B, double* C, double epsilon) {
  double* inverse = inverse_.at(b.square);
  double* H = H_.at(b.square);
  const Row* row = rows_->row.at(b.first);
  with_size(b.size, [&]<int d>() {
    for (int i = 0; i < d; i++) {
      for (int j = 0; j < d; j++) B[i * d + j] += C[i * d + j] * (epsilon * row[j].proximal);
    }
    invert<d>(B, inverse);
    for (int i = 0; i < d; i++) {
      for (int j = 0; j < d; j++) {
        double sum = 0;
        for (int t = 0; t < d; t++) sum = multiply_add(inverse[i * d + t], C[t * d + j], sum);
        H[i * d + j] = sum;
      }
    }
  });
}

void Linear::set_right(const Block& b, const double* k) {
  if (b.size == 1) g_[b.first] = inverse_[b.square] * k[0];
  else with_size(b.size, [&]<int d>() { multiply<d>(inverse_.at(b.square), k, g_.at(b.first)); });
}

// h sum_b Z_b' H_b Z_b of a group, into P
template <class T>
void Linear::assemble(System<T>& system, int number) const {
  const Rows& r = *rows_;
  const Group& g = r.group[number];
  if (g.width == 0) return;
  const int stride = g.stride;
  int active = 0;  // rows with a part in it: Z and h H Z, packed
  for (int n = g.first_block; n < g.first_block + g.blocks; n++) {
    const Block& b = r.block[n];
    const double* z = r.z.at(g.values + (b.first - g.first_row) * stride);
    for (int i = 0; i < b.size; i++) {
      const double* H = H_.at(b.square + i * b.size);
      bool any = false;
      for (int j = 0; j < b.size; j++) any |= H[j] != 0;
      if (!any) continue;
      T* __restrict to = system.scaled.at(active * stride);
      T* __restrict plain = system.plain.at(active * stride);
      for (int c = 0; c < stride; c++) {
        plain[c] = z[i * stride + c];
        to[c] = T(H[0]) * T(z[c]);
      }
      for (int j = 1; j < b.size; j++) {
        for (int c = 0; c < stride; c++) to[c] = multiply_add(T(H[j]), T(z[j * stride + c]), to[c]);
      }
      for (int c = 0; c < stride; c++) to[c] *= T(r.h);
      active++;
    }
  }
  if (active == 0) return;
  for (int a = 0; a < g.width; a++) {
    T* __restrict sum = system.sum.at(a * stride);
    std::fill(sum, sum + stride, T(0.0));
    int k = 0;
    for (; k + 4 <= active; k += 4) {
      const T* z = system.plain.at(k * stride + a);
      const T* __restrict s = system.scaled.at(k * stride);
      const T z0 = z[0], z1 = z[stride], z2 = z[2 * stride], z3 = z[3 * stride];
      for (int c = 0; c < stride; c++) {
        const T first = multiply_add(z0, s[c], multiply_add(z1, s[stride + c], sum[c]));
        sum[c] = multiply_add(z2, s[2 * stride + c], multiply_add(z3, s[3 * stride + c], first));
      }
    }
    for (; k < active; k++) {
      const T zk = system.plain[k * stride + a];
      const T* __restrict s = system.scaled.at(k * stride);
      for (int c = 0; c < stride; c++) sum[c] = multiply_add(zk, s[c], sum[c]);
    }
  }
  system.fronts.add(r.set_of[number], r.sets.start, system.sum.data(), stride);
}

template <class T>
bool Linear::factor(System<T>& system) const {
  system.fronts.begin(*rows_->pattern);
  for (int g = 0; g < rows_->group.size(); g++) assemble(system, g);
  return system.fronts.factor();
}

bool Linear::factor() {
  factorizations++;
  return precise ? factor(precise_) : factor(usual_);
}

template <class T>
void Linear::solve(System<T>& system, View<const double> missing) {
  const Rows& r = *rows_;
  std::fill(system.dx.begin(), system.dx.end(), T(0.0));
  if (missing.empty()) {
    std::fill(drate.begin(), drate.end(), 0.0);
    for (const Group& g : r.group) r.add_forces(g, g_, r.h, system.dx);
  } else {
    std::copy(missing.begin(), missing.end(), drate.begin());
    for (const Block& b : r.block) force_step(b);
    for (const Group& g : r.group) r.add_forces(g, dforce, r.h, system.dx);
  }
  system.fronts.solve(system.dx);
  for (const Group& g : r.group) r.add_along(g, View<const T>(system.dx), drate);
  for (const Block& b : r.block) force_step(b);
}

void Linear::solve(View<const double> missing) {
  if (precise) solve(precise_, missing);
  else solve(usual_, missing);
}

template <class T>
void Linear::solve_transposed(System<T>& system, View<const double> z) {
  const Rows& r = *rows_;
  const auto multiply = [&](View<const double> squares, const Block& b, View<const double> x, View<double> y) {
    for (int j = 0; j < b.size; j++) {
      y[b.first + j] = 0;
      for (int i = 0; i < b.size; i++) y[b.first + j] += squares[b.square + i * b.size + j] * x[b.first + i];
    }
  };
  for (const Block& b : r.block) multiply(H_, b, z, drate);
  std::fill(system.dx.begin(), system.dx.end(), T(0.0));
  for (const Group& g : r.group) r.add_forces(g, drate, -1, system.dx);
  system.fronts.solve_transposed(system.dx);
  std::fill(g_.begin(), g_.end(), 0.0);
  for (const Group& g : r.group) r.add_along(g, View<const T>(system.dx), g_);
  for (int i = 0; i < r.count; i++) g_[i] = z[i] + r.h * g_[i];
  for (const Block& b : r.block) multiply(inverse_, b, g_, dforce);
}

void Linear::solve_transposed(View<const double> z) {
  if (precise) solve_transposed(precise_, z);
  else solve_transposed(usual_, z);
}

// dlambda = g - H dp
void Linear::force_step(const Block& b) {
  if (b.size == 1) {
    dforce[b.first] = g_[b.first] - H_[b.square] * drate[b.first];
    return;
  }
  with_size(b.size, [&]<int d>() {
    double push[d];
    multiply<d>(H_.at(b.square), drate.at(b.first), push);
    for (int i = 0; i < d; i++) dforce[b.first + i] = g_[b.first + i] - push[i];
  });
}

}  // namespace pliant
