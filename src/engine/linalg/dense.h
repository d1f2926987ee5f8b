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

// inverse := inv(a), a is lost. Gauss and Jordan with row pivoting.
inline void invert(double* a, double* inverse, int d) {
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
      const double q = a[s * d + i];
      if (s == i || q == 0) continue;
      for (int j = 0; j < d; j++) {
        a[s * d + j] -= q * a[i * d + j];
        inverse[s * d + j] -= q * inverse[i * d + j];
      }
    }
  }
}

}  // namespace pliant
