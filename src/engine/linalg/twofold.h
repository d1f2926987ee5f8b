// Sums in twice the working precision (Dekker, Knuth). Compile without contraction of a * b + c.
#pragma once
#include <cmath>

namespace pliant {

struct Twofold {
  double high = 0, low = 0;

  void add(double value) {  // high + value without error; the error joins the low part
    const double sum = high + value, part = sum - high;
    low += (high - (sum - part)) + (value - part);
    high = sum;
  }
  void add_product(double a, double b) {
    const double product = a * b;
    add(product);
    low += std::fma(a, b, -product);
  }
  double value() const { return high + low; }
};

}  // namespace pliant
