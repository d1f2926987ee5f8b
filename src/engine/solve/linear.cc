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
  inverse_ = work.filled<double>(rows.squares, 0.0);
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
  system.H = work.filled<T>(rows_->squares, T(0.0));
  system.g = work.filled<T>(rows_->count, T(0.0));
  if constexpr (std::is_same_v<T, double>) {
    system.dforce = dforce;
    system.drate = drate;
  } else {
    system.dforce = work.take<T>(rows_->count);
    system.drate = work.take<T>(rows_->count);
  }
  system.dx = work.take<T>(rows_->velocities);
  system.plain = work.take<double>(most);
  system.scaled = work.take<T>(most + lanes);
  system.sum = work.take<T>(squares + lanes);
}

void Linear::set_block(const Block& b, double* B, double* C, double epsilon) {
  double* inverse = inverse_.at(b.square);
  const Row* row = rows_->row.at(b.first);
  with_size(b.size, [&]<int d>() {
    for (int i = 0; i < d; i++) {
      for (int j = 0; j < d; j++) B[i * d + j] += C[i * d + j] * (epsilon * row[j].proximal);
    }
    invert<d>(B, inverse);
    here([&](auto& system) {
      using T = std::decay_t<decltype(system.H[0])>;
      T* H = system.H.at(b.square);
      for (int i = 0; i < d; i++) {
        for (int j = 0; j < d; j++) {
          T sum = 0;
          for (int t = 0; t < d; t++) sum = multiply_add(T(inverse[i * d + t]), T(C[t * d + j]), sum);
          H[i * d + j] = sum;
        }
      }
    });
  });
}

void Linear::set_right(const Block& b, const double* k) {
  here([&](auto& system) {
    with_size(b.size, [&]<int d>() { multiply<d>(inverse_.at(b.square), k, system.g.at(b.first)); });
  });
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
      const T* H = system.H.at(b.square);
      for (int i = 0; i < d; i++) {
        bool any = false;
        for (int j = 0; j < d; j++) any |= !(H[i * d + j] == 0);
        if (!any) continue;
        T* to = system.scaled.at(active * inner);
        double* plain = system.plain.at(active * inner);
        for (int c = 0; c < inner; c += lanes) {
          Four<T> sum = T(0.0);
          for (int j = 0; j < d; j++) {
            sum = multiply_add(Four<T>(T(r.h) * H[i * d + j]), Four<T>::load(z + j * inner + c), sum);
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

bool Linear::factor() {
  factorizations++;
  return here([&](auto& system) {
    system.fronts.begin(*rows_->pattern);
    for (int g = 0; g < rows_->group.size(); g++) assemble(system, g);
    return system.fronts.factor();
  });
}

// dlambda = g - H dp
template <class T>
void Linear::force_steps(System<T>& s) const {
  const auto run = [&](const Run& r) {
    for (int k = 0; k < r.count; k++) s.dforce[r.row + k] = s.g[r.row + k] - s.H[r.square + k] * s.drate[r.row + k];
  };
  const auto block = [&](int number) {
    const Block& b = rows_->block[number];
    with_size(b.size, [&]<int d>() {
      T push[d];
      multiply<d>(s.H.at(b.square), s.drate.at(b.first), push);
      for (int i = 0; i < d; i++) s.dforce[b.first + i] = s.g[b.first + i] - push[i];
    });
  };
  rows_->walk(run, block);
}

template <class T>
void Linear::solve(System<T>& s, View<const double> missing) {
  const Rows& r = *rows_;
  std::fill(s.dx.begin(), s.dx.end(), T(0.0));
  if (missing.empty()) {
    std::fill(s.drate.begin(), s.drate.end(), T(0.0));
    for (const Group& g : r.group) r.add_forces(g, View<const T>(s.g), r.h, s.dx);
  } else {
    std::copy(missing.begin(), missing.end(), s.drate.begin());
    force_steps(s);
    for (const Group& g : r.group) r.add_forces(g, View<const T>(s.dforce), r.h, s.dx);
  }
  s.fronts.solve(s.dx);
  for (const Group& g : r.group) r.add_along(g, View<const T>(s.dx), s.drate);
  force_steps(s);
  if constexpr (std::is_same_v<T, double>) return;
  for (int i = 0; i < r.count; i++) {
    dforce[i] = static_cast<double>(s.dforce[i]);
    drate[i] = static_cast<double>(s.drate[i]);
  }
}

void Linear::solve(View<const double> missing) {
  here([&](auto& system) { solve(system, missing); });
}

void Linear::respond(View<const double> change) {
  here([&](auto& system) { std::fill(system.g.begin(), system.g.end(), 0.0); });
  solve(change);
}

template <class T>
void Linear::solve_transposed(System<T>& s, View<const double> z) {
  const Rows& r = *rows_;
  for (const Block& b : r.block) {  // H' z
    for (int j = 0; j < b.size; j++) {
      T sum = 0;
      for (int i = 0; i < b.size; i++) sum = multiply_add(s.H[b.square + i * b.size + j], T(z[b.first + i]), sum);
      s.drate[b.first + j] = sum;
    }
  }
  std::fill(s.dx.begin(), s.dx.end(), T(0.0));
  for (const Group& g : r.group) r.add_forces(g, View<const T>(s.drate), -1, s.dx);
  s.fronts.solve_transposed(s.dx);
  std::fill(s.g.begin(), s.g.end(), T(0.0));
  for (const Group& g : r.group) r.add_along(g, View<const T>(s.dx), s.g);
  for (int i = 0; i < r.count; i++) s.g[i] = multiply_add(T(r.h), s.g[i], T(z[i]));
  for (const Block& b : r.block) {
    for (int j = 0; j < b.size; j++) {
      T sum = 0;
      for (int i = 0; i < b.size; i++)
        sum = multiply_add(T(inverse_[b.square + i * b.size + j]), s.g[b.first + i], sum);
      dforce[b.first + j] = static_cast<double>(sum);
    }
  }
}

void Linear::solve_transposed(View<const double> z) {
  here([&](auto& system) { solve_transposed(system, z); });
}

}  // namespace pliant
