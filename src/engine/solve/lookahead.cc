#include "solve/lookahead.h"

#include <algorithm>
#include <cmath>

namespace pliant {

double look_ahead(const Step& step, View<const double> phi, View<const double> velocity, View<const double> offset,
                  double place, View<double> target) {
  double miss = 0, longest = 1e-300;
  for (const double entry : step.jacobian_value) longest = std::max(longest, place * std::fabs(entry));
  for (int i = 0; i < step.rows(); i++) {
    double rate = 0, size = 0;
    for (auto e = step.jacobian_start[i]; e < step.jacobian_start[i + 1]; e++) {
      const double part = step.jacobian_value[e] * velocity[step.jacobian_column[e]];
      rate += part;
      size += std::fabs(part);
    }
    target[i] = std::isnan(phi[i]) ? step.offset[i] : (phi[i] - step.value[i]) / step.h - rate;
    miss = std::max(miss, step.h * std::fabs(target[i] - offset[i]));
    longest = std::max(longest, step.h * (size + std::fabs(target[i])) + std::fabs(step.value[i]));
  }
  return miss / longest;
}

}  // namespace pliant
