// Small dense kernels.
#pragma once
#include <algorithm>
#include <cmath>
#include "linalg/twofold.h"

namespace pliant {

constexpr int largest_block = 6;  // rows of a contact with rolling friction
constexpr int largest_square = largest_block * largest_block;

inline double clip(double x, double low, double high) { return x < low ? low : (x > high ? high : x); }

// Four sums side by side, which the compiler keeps in one register.
template <class T>
inline T dot(const T* __restrict a, const T* __restrict b, int n) {
  T sum[4] = {};
  int i = 0;
  for (; i + 4 <= n; i += 4) {
    for (int l = 0; l < 4; l++) sum[l] = multiply_add(a[i + l], b[i + l], sum[l]);
  }
  T rest = 0.0;
  for (; i < n; i++) rest = multiply_add(a[i], b[i], rest);
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + rest;
}

// Calls f with the size of a block as a constant: what is written for it unrolls.
template <class F>
auto with_size(int d, F&& f) {
  switch (d) {
    case 1: return f.template operator()<1>();
    case 2: return f.template operator()<2>();
    case 3: return f.template operator()<3>();
    case 4: return f.template operator()<4>();
    case 5: return f.template operator()<5>();
    default: return f.template operator()<6>();
  }
}

// x := A b
template <int d>
inline void multiply(const double* A, const double* b, double* x) {
  for (int i = 0; i < d; i++) {
    double sum = 0;
    for (int j = 0; j < d; j++) sum = multiply_add(A[i * d + j], b[j], sum);
    x[i] = sum;
  }
}

// inverse := inv(a), a is lost. Gauss and Jordan with row pivoting.
template <int d>
inline void invert(double* a, double* inverse) {
  for (int e = 0; e < d * d; e++) inverse[e] = e % (d + 1) == 0;
  for (int i = 0; i < d; i++) {
    int pivot = i;
    for (int s = i + 1; s < d; s++) {
      if (std::fabs(a[s * d + i]) > std::fabs(a[pivot * d + i])) pivot = s;
    }
    if (pivot != i) {
      std::swap_ranges(a + i * d, a + i * d + d, a + pivot * d);
      std::swap_ranges(inverse + i * d, inverse + i * d + d, inverse + pivot * d);
    }
    const double scale = 1 / a[i * d + i];
    for (int j = 0; j < d; j++) {
      a[i * d + j] *= scale;
      inverse[i * d + j] *= scale;
    }
    for (int s = 0; s < d; s++) {
      if (s == i) continue;
      const double q = a[s * d + i];
      for (int j = 0; j < d; j++) {
        a[s * d + j] = multiply_add(-q, a[i * d + j], a[s * d + j]);
        inverse[s * d + j] = multiply_add(-q, inverse[i * d + j], inverse[s * d + j]);
      }
    }
  }
}

}  // namespace pliant
