#include "solve/certificate.h"

#include <cmath>
#include "solve/natural.h"
#include "step/islands.h"

namespace pliant {

double momentum_residual(const Step& step, View<const double> velocity, View<const double> impulse,
                         View<const double> size) {
  double worst = 0;
  for (int j = 0; j < step.velocities(); j++) {
    double miss = -step.h * step.force[j] - impulse[j];
    double most = size[j] + step.h * std::fabs(step.force[j]);
    for (auto e = step.mass_start[j]; e < step.mass_start[j + 1]; e++) {
      const double v0 = step.velocity[step.mass_column[e]], v1 = velocity[step.mass_column[e]];
      miss += step.mass_value[e] * (v1 - v0);
      most += std::fabs(step.mass_value[e]) * (std::fabs(v0) + std::fabs(v1));
    }
    if (most > 0) worst = std::max(worst, std::fabs(miss) / most);
    if (!std::isfinite(miss)) worst = infinity;
  }
  return worst;
}

Certificate certify(const Step& step, View<const double> force, View<const double> velocity, bool convex) {
  Workspace work;
  Patterns patterns;
  Rows rows;
  NaturalMap map;
  Certificate found;
  const Islands islands = find_islands(step, work);
  View<double> impulse = work.filled<double>(step.velocities(), 0.0),
               size = work.filled<double>(step.velocities(), 0.0);
  for (int k = 0; k < islands.count; k++) {
    if (islands.number[k] < 0) continue;
    const Workspace::Mark mark = work.mark();
    rows.load(step, islands.at(k), patterns, work);
    map.reserve(rows, work);
    View<double> own = work.take<double>(rows.count), rate = work.take<double>(rows.count);
    View<double> low = work.take<double>(rows.count);
    View<double> gain = work.take<double>(rows.velocities);
    for (int i = 0; i < rows.count; i++) own[i] = force[rows.source[i]];
    rows.exact_rates(own, rate, low, gain);
    found.law_residual = std::max(found.law_residual, map.measure(rows, own, rate, convex ? 1 : 0, low));
    rows.add_impulse(own, impulse, size);
    work.release(mark);
  }
  found.momentum_residual = momentum_residual(step, velocity, impulse, size);
  return found;
}

}  // namespace pliant
