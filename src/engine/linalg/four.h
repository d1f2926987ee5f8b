// Four numbers side by side: of doubles one register where the machine has such.
#pragma once
#include <algorithm>
#include <type_traits>
#include "linalg/twofold.h"
#if defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#endif

namespace pliant {

constexpr int lanes = 4;
inline int padded(int n) { return (n + lanes - 1) / lanes * lanes; }  // rows are, to whole fours

template <class T>
struct Four {
  T v[4];

  Four() = default;
  Four(T x) : v{x, x, x, x} {}
  Four(T a, T b, T c, T d) : v{a, b, c, d} {}
  template <class S>
  static Four load(const S* from) {
    Four x;
    for (int l = 0; l < 4; l++) x.v[l] = T(from[l]);
    return x;
  }
  void store(T* to) const { std::copy(v, v + 4, to); }
  void add_to(T* to, int n) const {  // the first n of them
    for (int l = 0; l < n; l++) to[l] += v[l];
  }
  T sum() const { return (v[0] + v[1]) + (v[2] + v[3]); }
  friend Four multiply_add(const Four& a, const Four& b, Four c) {
    for (int l = 0; l < 4; l++) c.v[l] = multiply_add(a.v[l], b.v[l], c.v[l]);
    return c;
  }
};

#if defined(__AVX2__) && defined(__FMA__)
template <>
struct Four<double> {
  __m256d v;

  Four() = default;
  Four(__m256d x) : v(x) {}
  Four(double x) : v(_mm256_set1_pd(x)) {}
  Four(double a, double b, double c, double d) : v(_mm256_setr_pd(a, b, c, d)) {}
  static Four load(const double* from) { return _mm256_loadu_pd(from); }
  void store(double* to) const { _mm256_storeu_pd(to, v); }
  void add_to(double* to, int n) const {
    if (n >= 4) return _mm256_storeu_pd(to, _mm256_add_pd(_mm256_loadu_pd(to), v));
    __m128d part = _mm256_castpd256_pd128(v);  // stores with a mask would not be forwarded to the loads that follow
    if (n >= 2) {
      _mm_storeu_pd(to, _mm_add_pd(_mm_loadu_pd(to), part));
      part = _mm256_extractf128_pd(v, 1);
      to += 2;
    }
    if (n % 2) *to += _mm_cvtsd_f64(part);
  }
  double sum() const {
    const __m256d pairs = _mm256_hadd_pd(v, v);
    return _mm_cvtsd_f64(_mm_add_sd(_mm256_castpd256_pd128(pairs), _mm256_extractf128_pd(pairs, 1)));
  }
  friend Four multiply_add(const Four& a, const Four& b, const Four& c) { return _mm256_fmadd_pd(a.v, b.v, c.v); }
};
#endif

// The sums of four, as one.
template <class T>
inline Four<T> sums(const Four<T>* x) {
  Four<T> all;
  for (int l = 0; l < 4; l++) all.v[l] = x[l].sum();
  return all;
}
#if defined(__AVX2__) && defined(__FMA__)
template <>
inline Four<double> sums(const Four<double>* x) {
  const __m256d a = _mm256_hadd_pd(x[0].v, x[1].v), b = _mm256_hadd_pd(x[2].v, x[3].v);
  return _mm256_add_pd(_mm256_permute2f128_pd(a, b, 0x20), _mm256_permute2f128_pd(a, b, 0x31));
}
#endif

}  // namespace pliant
