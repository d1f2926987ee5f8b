// The law of one row: its force as a function of the rate at the end of the step, in the form that the solvers use.
#pragma once
#include <limits>
#include "linalg/twofold.h"
#include "step/step.h"

namespace pliant {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Row {
  double self = 0;          // a, the diagonal of G inv(M) G'
  double slope = 0;         // S = h K + B of a linear law [N s/m]; infinite: rigid
  double constant = 0;      // c of the linear law lambda = c - S p
  double compliance = 0;    // R = 1 / S of a tangent
  double bias = 0;          // K phi / S of a tangent
  double before_touch = 0;  // gap / h where the damper waits for touch, else 0
  double gap = 0, stiffness = 0, damping = 0, exponent = 1, dissipation = 0, lower = 0, upper = 0;
  double mu = 1, inverse_mu = 1;  // friction of a tangent (0, 0 without any); 1 on every other row
  double reach = 0;               // of a contact's normal: max mu^2 (a + R / h) over the tangents
  double weight = 0;              // h sqrt(a), of a force in the energy norm
  double share = 1;               // 1 / (1 + h a S) of a linear law
  double proximal = 0;            // h times the row's own scale, the unit of the proximal term
  bool power = false;             // a power of the depth
  // Its force does not depend on any rate.
  bool fixed() const { return (slope == 0 && !power) || lower == upper; }
};

// A law near a force and a rate: dlambda + slope dp = -off; an infinite slope stands for p + dp = 0.
struct Line {
  double slope, off;
};

Row make_row(const Step& step, int row);

Line linearise_power(const Row& row, double h, double force, double rate);

// S p + lambda - c of a linear law, whose terms may cancel.
inline double excess(double h, double gap, double stiffness, double damping, double before_touch, double force,
                     double rate) {
  Twofold depth(gap), off(force);
  depth.add_product(h, rate);
  off.add_product(stiffness, depth.high);
  off.add(stiffness * depth.low);
  off.add_product(damping, rate);
  off.add_product(damping, before_touch);
  return off.value();
}

inline Line linearise(const Row& row, double h, double force, double rate) {
  if (row.power) return linearise_power(row, h, force, rate);
  if (row.slope == infinity) return {infinity, 0};
  return {row.slope, excess(h, row.gap, row.stiffness, row.damping, row.before_touch, force, rate)};
}

// Force of a linear or power law at a rate, before bounds.
double force_at(const Row& row, double h, double rate);

// The rate at which the law gives the force; compliance := -dp/dlambda there.
double rate_at(const Row& row, double h, double force, double& compliance);

// y of the natural map lambda = clip(lambda - y): (S p + lambda - c) / (1 + h a S), or p / (h a) of a rigid row
inline double correction(const Row& row, double h, const Line& line, double rate) {
  if (!row.power && line.slope < infinity) return line.off * row.share;
  return line.slope == infinity ? rate / (h * row.self) : line.off / (1 + h * row.self * line.slope);
}

}  // namespace pliant
