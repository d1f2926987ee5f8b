// Numbers of twice the working precision, as an unevaluated sum of two (Dekker, Knuth). Compile without contraction of
// a * b + c.
#pragma once
#include <cmath>

namespace pliant {

struct Twofold {
  double high = 0, low = 0;

  Twofold() = default;
  Twofold(double value) : high(value) {}
  Twofold(double h, double l) : high(h), low(l) {}

  // high + value without error; the error joins the low part
  void add(double value) {
    const double sum = high + value, part = sum - high;
    low += (high - (sum - part)) + (value - part);
    high = sum;
  }
  void add_product(double a, double b) {
    const double product = a * b;
    add(product);
    low += std::fma(a, b, -product);
  }
  // The same of a product too small to change `high` by much.
  void add_rest(double a, double b) { low += a * b; }
  double value() const { return high + low; }
  double rest() const { return (high - value()) + low; }  // of what value() leaves
  explicit operator double() const { return high + low; }

  static Twofold normal(double a, double b) {  // |a| >= |b|
    const double sum = a + b;
    return {sum, b - (sum - a)};
  }
  Twofold& operator+=(const Twofold& b) {
    const double sum = high + b.high, part = sum - high;
    const double error = (high - (sum - part)) + (b.high - part) + (low + b.low);
    return *this = normal(sum, error);
  }
  Twofold& operator-=(const Twofold& b) { return *this += Twofold(-b.high, -b.low); }
  Twofold& operator*=(const Twofold& b) {
    const double product = high * b.high;
    const double error = std::fma(high, b.high, -product) + (high * b.low + low * b.high);
    return *this = normal(product, error);
  }
  friend Twofold operator+(Twofold a, const Twofold& b) { return a += b; }
  friend Twofold operator-(Twofold a, const Twofold& b) { return a -= b; }
  friend Twofold operator*(Twofold a, const Twofold& b) { return a *= b; }
  friend Twofold operator/(const Twofold& a, const Twofold& b) {
    const double first = a.high / b.high;
    const Twofold rest = a - b * Twofold(first);
    return normal(first, rest.high / b.high);
  }
  friend bool operator==(const Twofold& a, double b) { return a.high == b && a.low == 0; }
};

inline Twofold sqrt(const Twofold& a) {
  const double root = std::sqrt(a.high);
  if (!(root > 0)) return root;
  const Twofold rest = a - Twofold(root) * Twofold(root);
  return Twofold::normal(root, rest.high / (2 * root));
}

inline double magnitude(double a) { return std::fabs(a); }
inline double magnitude(const Twofold& a) { return std::fabs(a.high); }

// a b + c, in one rounding where the machine has it
inline double multiply_add(double a, double b, double c) {
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(__aarch64__)
  return std::fma(a, b, c);
#else
  return a * b + c;
#endif
}
inline Twofold multiply_add(const Twofold& a, const Twofold& b, const Twofold& c) { return c + a * b; }

}  // namespace pliant
