#include "solve/certificate.h"

#include <cmath>
#include "solve/natural.h"
#include "step/islands.h"

namespace pliant {

double momentum_residual(const Step& step, View<const double> force, View<const double> velocity, View<double> impulse,
                         View<double> miss, View<double> size) {
  const int nv = step.velocities();
  for (int j = 0; j < nv; j++) impulse[j] = size[j] = 0;
  for (int i = 0; i < step.rows(); i++) {
    const double push = step.h * force[i];
    if (push == 0) continue;
    for (auto e = step.jacobian_start[i]; e < step.jacobian_start[i + 1]; e++) {
      const double s = step.jacobian_value[e] * push;
      impulse[step.jacobian_column[e]] += s;
      size[step.jacobian_column[e]] += std::fabs(s);
    }
  }
  double worst = 0;
  for (int j = 0; j < nv; j++) {
    miss[j] = -step.h * step.force[j] - impulse[j];
    size[j] += step.h * std::fabs(step.force[j]);
    for (auto e = step.mass_start[j]; e < step.mass_start[j + 1]; e++) {
      const double v0 = step.velocity[step.mass_column[e]], v1 = velocity[step.mass_column[e]];
      miss[j] += step.mass_value[e] * (v1 - v0);
      size[j] += std::fabs(step.mass_value[e]) * (std::fabs(v0) + std::fabs(v1));
    }
    if (size[j] > 0) worst = std::max(worst, std::fabs(miss[j]) / size[j]);
    if (!std::isfinite(miss[j])) worst = infinity;
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
    work.release(mark);
  }
  View<double> impulse = work.take<double>(step.velocities()), miss = work.take<double>(step.velocities());
  found.momentum_residual =
      momentum_residual(step, force, velocity, impulse, miss, work.take<double>(step.velocities()));
  return found;
}

}  // namespace pliant
