#include "step/laws.h"

#include <algorithm>
#include <cmath>
#include "linalg/dense.h"

namespace pliant {
namespace {

// Closing rate r of a power law at the rate p, with d1 = max(0, -phi) + h r: no faster apart than contact is lost, no
// contact before the gap is closed.
double closing(const Row& row, double h, double rate) {
  return std::max(-std::max(0.0, -row.gap) / h, -rate - std::max(row.gap, 0.0) / h);
}

// d = max(0, max(0, -phi) + h r), exactly 0 where contact is lost: rounding times K would be a force.
double depth_at(const Row& row, double h, double r) {
  const double before = std::max(0.0, -row.gap);
  return r > -before / h ? std::max(0.0, before + h * r) : 0;
}

// lambda = K d^q (1 + alpha r) + B r; slope := dlambda/dr
double power_law(const Row& row, double h, double r, double depth, double& slope) {
  double bent = 0;
  if (depth > 0 || row.exponent == 1) {
    bent = row.exponent == 1.5 ? std::sqrt(depth) : std::pow(depth, row.exponent - 1);
  }
  const double spring = row.stiffness * bent * depth, grown = 1 + row.dissipation * r;
  slope = h * row.exponent * row.stiffness * bent * grown + spring * row.dissipation + row.damping;
  return spring * grown + row.damping * r;
}

double power_law(const Row& row, double h, double r, double& slope) {
  return power_law(row, h, r, depth_at(row, h, r), slope);
}

// Closing rate at which a power law gives the force: Newton's method inside a bracket.
double closing_at(const Row& row, double h, double force, double near) {
  const double before = std::max(0.0, -row.gap), depth = std::pow(force / row.stiffness, 1 / row.exponent);
  if (row.damping == 0 && row.dissipation == 0) return (depth - before) / h;
  double low = -before / h, high = std::max(0.0, (depth - before) / h), r = clip(near, low, high);
  for (int iteration = 0; iteration < 100; iteration++) {
    double slope;
    const double f = power_law(row, h, r, slope);
    if (std::fabs(f - force) <= 1e-14 * force) return r;
    (f < force ? low : high) = r;
    double next = slope > 0 ? r - (f - force) / slope : low;
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    if (next == low || next == high || std::fabs(next - r) < 1e-16 * std::fabs(r)) return next;
    r = next;
  }
  return r;
}

}  // namespace

Row make_row(const Step& step, int i) {
  Row row;
  row.stiffness = step.stiffness[i];
  row.damping = step.damping[i];
  row.gap = step.value[i];
  row.slope = row.stiffness == infinity ? infinity : step.h * row.stiffness + row.damping;
  row.exponent = step.exponent[i];
  row.dissipation = step.dissipation[i];
  row.lower = step.lower[i];
  row.upper = step.upper[i];
  const Kind kind = step.kind_of(i);
  if (kind == Kind::tangent) {
    row.mu = row.slope > 0 ? step.friction[i] : 0;
    row.inverse_mu = row.mu > 0 ? 1 / row.mu : 0;
    if (row.slope > 0 && row.slope < infinity) {
      row.compliance = 1 / row.slope;
      row.bias = row.stiffness * row.gap / row.slope;
    }
    return row;
  }
  row.constant = row.stiffness < infinity ? -row.stiffness * row.gap : 0;
  if (kind == Kind::unilateral || kind == Kind::normal) {
    row.before_touch = std::max(row.gap, 0.0) / step.h;  // damped only once the gap is closed
    row.constant -= row.damping * row.before_touch;
    row.power = (row.exponent != 1 || row.dissipation != 0) && row.stiffness > 0;
  }
  return row;
}

double force_at(const Row& row, double h, double rate) {
  if (!row.power) return row.slope < infinity ? row.constant - row.slope * rate : 0;
  double slope;
  return power_law(row, h, closing(row, h, rate), slope);
}

// A power law below the force is inverted first: the tangent at the rate that gives the force is as steep as the contact
// will be, the one at the present rate may be flat.
Line linearise_power(const Row& row, double h, double force, double rate) {
  const double r = closing(row, h, rate);
  double slope;
  const double f = power_law(row, h, r, slope);
  if (f < force || force <= 0) {
    const double push = std::max(force, 0.0), at = closing_at(row, h, push, r);
    if (at >= r) {
      const double depth = depth_at(row, h, at);  // or less than what tells it from none
      power_law(row, h, at, depth > 0 ? depth : std::pow(push / row.stiffness, 1 / row.exponent), slope);
      return {slope, slope * (rate + at + std::max(row.gap, 0.0) / h) + std::min(force, 0.0)};
    }
  }
  return {slope, force - f};
}

double rate_at(const Row& row, double h, double force, double& compliance) {
  if (row.power) {
    const double r = closing_at(row, h, force, infinity);
    double slope;
    power_law(row, h, r, slope);
    compliance = slope > 0 ? 1 / slope : 1e300;
    return -r - std::max(row.gap, 0.0) / h;
  }
  compliance = row.slope == infinity ? 0 : 1 / row.slope;
  return row.slope == infinity ? 0 : (row.constant - force) / row.slope;
}

}  // namespace pliant
