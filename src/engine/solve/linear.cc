#include "solve/linear.h"

#include <algorithm>
#include <cmath>
#include "linalg/dense.h"

namespace pliant {
void Linear::reserve(const Rows& rows, Workspace& work) {
  rows_ = &rows;
  begin();
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
  int most = 0, squares = 0;
  for (const Group& g : rows_->group) {
    most = std::max(most, g.rows * g.stride);
    if (g.rank > 0) squares = std::max(squares, g.inner * (g.inner + g.stride));
  }
  system.dx = work.take<T>(rows_->velocities);
  system.plain = work.take<double>(most);
  system.scaled = work.take<T>(most + lanes);
  system.sum = work.take<T>(squares + lanes);
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
  with_size(b.size, [&]<int d>() { multiply<d>(inverse_.at(b.square), k, g_.at(b.first)); });
}

// h sum_b Z_b' H_b Z_b of a group, into P
template <class T>
void Linear::assemble(System<T>& system, int number) const {
  const Rows& r = *rows_;
  const Group& g = r.group[number];
  if (g.width == 0) return;
  const int inner = g.inner;
  int active = 0;  // rows with a part in it: Z and h H Z, packed
  for (int n = g.first_block; n < g.first_block + g.blocks; n++) {
    const Block& b = r.block[n];
    const double* z = r.z.at(g.values + (b.first - g.first_row) * inner);
    with_size(b.size, [&]<int d>() {
      const double* H = H_.at(b.square);
      for (int i = 0; i < d; i++) {
        bool any = false;
        for (int j = 0; j < d; j++) any |= H[i * d + j] != 0;
        if (!any) continue;
        T* to = system.scaled.at(active * inner);
        double* plain = system.plain.at(active * inner);
        for (int c = 0; c < inner; c += lanes) {
          Four<T> sum = T(0.0);
          for (int j = 0; j < d; j++) {
            sum = multiply_add(Four<T>(T(r.h) * T(H[i * d + j])), Four<T>::load(z + j * inner + c), sum);
          }
          sum.store(to + c);
          Four<double>::load(z + i * inner + c).store(plain + c);
        }
        active++;
      }
    });
  }
  if (active == 0) return;
  const double* plain = system.plain.data();
  const T* scaled = system.scaled.data();
  const int set = r.set_of[number];
  if (g.rank == 0) {
    system.fronts.add(set, r.sets.start, plain, inner, scaled, inner, active);
  } else {  // Q' (W' H W) Q
    const double* Q = r.directions.at(g.basis);
    T* const square = system.sum.data();
    T* const half = square + inner * inner;
    multiply_transposed(scaled, inner, plain, inner, active, square);
    multiply_transposed(square, inner, Q, g.stride, g.rank, half);
    system.fronts.add(set, r.sets.start, Q, g.stride, half, g.stride, g.rank);
  }
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
    force_steps();
    for (const Group& g : r.group) r.add_forces(g, dforce, r.h, system.dx);
  }
  system.fronts.solve(system.dx);
  for (const Group& g : r.group) r.add_along(g, View<const T>(system.dx), drate);
  force_steps();
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
void Linear::force_steps() {
  const auto run = [&](const Run& r) {
    for (int k = 0; k < r.count; k++) dforce[r.row + k] = g_[r.row + k] - H_[r.square + k] * drate[r.row + k];
  };
  rows_->walk(run, [&](int number) { force_step(rows_->block[number]); });
}

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
