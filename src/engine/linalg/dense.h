// Small dense kernels.
#pragma once
#include <algorithm>
#include <cmath>
#include <span>
#include <type_traits>
#include "linalg/four.h"

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

// max |a_i b_i|; a NaN is lost
inline double largest_product(const double* a, const double* b, int n) {
  double most[lanes] = {};
  int i = 0;
  for (; i + lanes <= n; i += lanes) {
    for (int l = 0; l < lanes; l++) most[l] = std::max(most[l], std::fabs(a[i + l] * b[i + l]));
  }
  for (; i < n; i++) most[0] = std::max(most[0], std::fabs(a[i] * b[i]));
  return std::max(std::max(most[0], most[1]), std::max(most[2], most[3]));
}

// Whether all numbers have finite squares. No branches: a NaN is lost by a maximum, not by a sum.
inline bool is_sane(std::span<const double> numbers) {
  double most[lanes] = {}, sum[lanes] = {};
  std::size_t i = 0;
  for (; i + lanes <= numbers.size(); i += lanes) {
    for (std::size_t l = 0; l < lanes; l++) {
      const double x = std::fabs(numbers[i + l]);
      most[l] = std::max(most[l], x);
      sum[l] += x;
    }
  }
  for (; i < numbers.size(); i++) {
    most[0] = std::max(most[0], std::fabs(numbers[i]));
    sum[0] += std::fabs(numbers[i]);
  }
  bool sane = true;
  for (int l = 0; l < lanes; l++) sane = sane && most[l] < 1e150 && !std::isnan(sum[l]);
  return sane;
}

// to := from[index], n numbers and zeros to whole fours. Numbers that were stored one by one could not be loaded by fours at
// once.
template <class T>
inline void gather(const T* from, const int* index, int n, T* to) {
  int c = 0;
  for (; c + 4 <= n; c += 4)
    Four<T>(from[index[c]], from[index[c + 1]], from[index[c + 2]], from[index[c + 3]]).store(to + c);
  if (c == n) return;
  const T second = c + 1 < n ? from[index[c + 1]] : T(0.0), third = c + 2 < n ? from[index[c + 2]] : T(0.0);
  Four<T>(from[index[c]], second, third, T(0.0)).store(to + c);
}

// Tiles of C stay in registers: `high` rows of `wide` fours, sums over k products.
template <int high, int wide, class A, class B, class T>
inline void multiply_tile(const A* x, int a, const B* y, int b, int k, T* C) {
  Four<T> sum[high][wide];
  for (int i = 0; i < high; i++) {
    for (int j = 0; j < wide; j++) sum[i][j] = T(0.0);
  }
  for (int e = 0; e < k; e++, x += a, y += b) {
    Four<T> row[wide];
    for (int j = 0; j < wide; j++) row[j] = Four<T>::load(y + 4 * j);
    for (int i = 0; i < high; i++) {
      for (int j = 0; j < wide; j++) sum[i][j] = multiply_add(Four<T>(T(x[i])), row[j], sum[i][j]);
    }
  }
  for (int i = 0; i < high; i++) {
    for (int j = 0; j < wide; j++) sum[i][j].store(C + i * b + 4 * j);
  }
}

// C := A' B, by rows: A of k rows of `a` numbers, B of `b`, both multiples of four.
template <class A, class B, class T>
void multiply_transposed(const A* first, int a, const B* second, int b, int k, T* C) {
  for (int i = 0; i < a; i += 4) {
    int j = 0;
    for (; j + 8 <= b; j += 8) multiply_tile<4, 2>(first + i, a, second + j, b, k, C + i * b + j);
    if (j < b) multiply_tile<4, 1>(first + i, a, second + j, b, k, C + i * b + j);
  }
}

// F[index, index] += A' B, n by n of it: A of k rows of `a` numbers, B of `b`. run[c]: how many entries of `index` from c on
// are consecutive. Up to three numbers beyond the end of B are read.
template <class A, class B, class T>
void add_transposed_product(const A* x, int a, const B* y, int b, int k, int n, const int* index, const int* run, T* F,
                            int stride) {
  const auto tile = [=]<int wide>(int i, int c, int end) {
    Four<T> sum[4][wide];
    for (int s = 0; s < 4; s++) {
      for (int j = 0; j < wide; j++) sum[s][j] = T(0.0);
    }
    for (int e = 0; e < k; e++) {
      Four<T> row[wide];
      for (int j = 0; j < wide; j++) row[j] = Four<T>::load(y + e * b + c + 4 * j);
      for (int s = 0; s < 4; s++) {
        for (int j = 0; j < wide; j++) sum[s][j] = multiply_add(Four<T>(T(x[e * a + i + s])), row[j], sum[s][j]);
      }
    }
    for (int s = 0; s < std::min(4, n - i); s++) {
      T* const to = F + index[i + s] * stride + index[c];
      for (int j = 0; j < wide; j++) sum[s][j].add_to(to + 4 * j, std::min(4, end - c - 4 * j));
    }
  };
  for (int i = 0; i < n; i += 4) {
    for (int c = 0; c < n;) {
      const int end = c + run[c];
      for (; c + 4 < end; c += 8) tile.template operator()<2>(i, c, end);
      if (c < end) tile.template operator()<1>(i, c, end);
      c = end;
    }
  }
}

// y_i += a_i . x of k rows of n numbers, n a multiple of four
template <class T>
inline void add_products(const double* a, int n, int k, const T* x, T* y) {
  const auto some = [&]<int high>() {
    Four<T> sum[4] = {T(0.0), T(0.0), T(0.0), T(0.0)};
    for (int c = 0; c < n; c += 4) {
      const Four<T> part = Four<T>::load(x + c);
      for (int s = 0; s < high; s++) sum[s] = multiply_add(Four<T>::load(a + s * n + c), part, sum[s]);
    }
    sums(sum).add_to(y, high);
  };
  for (; k >= 4; k -= 4, a += 4 * n, y += 4) some.template operator()<4>();
  if (k == 3) some.template operator()<3>();
  if (k == 2) some.template operator()<2>();
  if (k == 1) some.template operator()<1>();
}

// x := sum_i y_i a_i of k rows of n numbers, n a multiple of four
template <class S, class T>
inline void combine(const double* a, int n, int k, const S* y, T* x) {
  for (int c = 0; c < n; c += 4) {
    Four<T> sum[2] = {T(0.0), T(0.0)};
    int i = 0;
    for (; i + 2 <= k; i += 2) {
      for (int s = 0; s < 2; s++)
        sum[s] = multiply_add(Four<T>::load(a + (i + s) * n + c), Four<T>(T(y[i + s])), sum[s]);
    }
    if (i < k) sum[0] = multiply_add(Four<T>::load(a + i * n + c), Four<T>(T(y[i])), sum[0]);
    multiply_add(Four<T>(T(1.0)), sum[0], sum[1]).store(x + c);
  }
}

// x := sum_i y_i a_i, size := sum_i |y_i a_i|, as above
inline void combine(const double* a, int n, int k, const double* y, double* x, double* size) {
  for (int c = 0; c < n; c += lanes) {
    double sum[lanes] = {}, most[lanes] = {};
    for (int i = 0; i < k; i++) {
      for (int l = 0; l < lanes; l++) {
        const double product = y[i] * a[i * n + c + l];
        sum[l] += product;
        most[l] += std::fabs(product);
      }
    }
    std::copy_n(sum, lanes, x + c);
    std::copy_n(most, lanes, size + c);
  }
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
template <int d, class A, class B, class T>
inline void multiply(const A* a, const B* b, T* x) {
  for (int i = 0; i < d; i++) {
    T sum = 0;
    for (int j = 0; j < d; j++) sum = multiply_add(T(a[i * d + j]), T(b[j]), sum);
    x[i] = sum;
  }
}

// a b - c e, right to the last digit but one
inline double difference(double a, double b, double c, double e) {
  const double product = c * e;
  return multiply_add(a, b, -product) - multiply_add(c, e, -product);
}

// inverse := inv(a) by cofactors. False where the determinant is too small or too large for them.
inline bool invert_by_cofactors(const double* a, double* inverse) {
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 3; j++) {
      const double* next = a + (j + 1) % 3 * 3;
      const double* last = a + (j + 2) % 3 * 3;
      inverse[i * 3 + j] = difference(next[(i + 1) % 3], last[(i + 2) % 3], next[(i + 2) % 3], last[(i + 1) % 3]);
    }
  }
  const double determinant = multiply_add(a[0], inverse[0], multiply_add(a[1], inverse[3], a[2] * inverse[6]));
  const double scale = 1 / determinant;
  for (int e = 0; e < 9; e++) inverse[e] *= scale;
  return std::fabs(determinant) > 1e-150 && std::fabs(determinant) < 1e150;
}

// inverse := inv(a), a is lost. Gauss and Jordan with row pivoting.
template <int d>
inline void invert(double* a, double* inverse) {
  if constexpr (d == 3) {
    if (invert_by_cofactors(a, inverse)) return;
  }
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
