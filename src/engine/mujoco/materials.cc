#include "mujoco/materials.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace pliant {
namespace {

constexpr double tip = 1e-6;  // of the radius, within which the end of a capsule is a cap
constexpr double rim = 0.05;  // sine of the angle to its axis, up to which the normal is one of the side of a cylinder
constexpr double longest = 1e3;    // ratio of curvatures at most: what touches along a line has ends, too
constexpr double round = 1e-6;     // of 1, by which their ratio may differ for a circle: it differs in second order
constexpr int rounds = 40;         // of each iteration, which take about five
constexpr double rigid = 1e8;      // [N/m, N m/rad, N s/m] of limits and equalities
constexpr double settling = 0.02;  // [s] B / K: what starts beyond a limit comes back with this time constant
constexpr double tonne = 1e3;      // [kg] up to which the default laws hold as they are

struct Integrals {
  double K, E, less;  // K - E
};

// Of e^2 = 1 - x^2, by the arithmetic-geometric mean.
Integrals elliptic_integrals(double x) {
  double a = 1, g = x, power = 0.5, total = 0.5 * (1 - x * x);  // sum of 2^(n-1) c_n^2
  for (int k = 0; k < rounds; k++) {
    const double c = 0.5 * (a - g), mean = std::sqrt(a * g);
    a = 0.5 * (a + g);
    g = mean;
    power *= 2;
    total += power * c * c;
    if (c < 1e-16 * a) break;
  }
  const double K = std::numbers::pi / (2 * a);
  return {K, K * (1 - total), K * total};
}

// How much closer bodies come than those with the same curvature all around (pliant/hertz.py).
double flattening(double ratio) {
  if (ratio < 1 + round) return 1;
  double low = -std::log(ratio), high = 0, middle = -2.0 / 3.0 * std::log(ratio);
  for (int k = 0; k < rounds; k++) {
    const double x = std::exp(middle);
    const Integrals f = elliptic_integrals(x);
    const double miss = std::log((f.E / (x * x) - f.K) / f.less) - std::log(ratio);
    (miss > 0 ? low : high) = middle;
    double next = middle + 2.0 / 3.0 * miss;  // about -3/2 is the slope of log ratio in log x
    if (!(low < next && next < high)) next = 0.5 * (low + high);
    const bool done = std::fabs(next - middle) < 1e-15 * std::fabs(middle);
    middle = next;
    if (done) break;
  }
  const double x = std::exp(middle);
  const Integrals f = elliptic_integrals(x);
  const double F1 =
      std::cbrt(4 / (std::numbers::pi * (1 - x * x)) * std::pow(x, 1.5) * std::sqrt((f.E / (x * x) - f.K) * f.less));
  return 2 / std::numbers::pi * std::sqrt(x) * f.K / F1;
}

// [N/m^1.5] of E* and the relative curvatures k1 >= k2 >= 0, k1 > 0.
double hertz_stiffness(double modulus, double k1, double k2) {
  k2 = std::max(k2, k1 / longest);
  const double stiffness = 4.0 / 3.0 * modulus / std::sqrt(std::sqrt(k1 * k2)), f = flattening(k1 / k2);
  return f == 1 ? stiffness : stiffness / std::pow(f, 1.5);
}

double along(const mjtNum* R, int axis, const mjtNum* v) {
  return R[axis] * v[0] + R[3 + axis] * v[1] + R[6 + axis] * v[2];
}

// Of a surface in the tangents of a frame: [[x, y], [y, z]].
struct Curvature {
  double x = 0, y = 0, z = 0;
};

Curvature curvature(const mjModel& m, const mjData& d, int g, const mjContact& at) {
  const int kind = m.geom_type[g];
  const mjtNum *size = m.geom_size + 3 * g, *R = d.geom_xmat + 9 * g;
  const mjtNum *n = at.frame, *s = at.frame + 3, *t = at.frame + 6;
  if (kind == mjGEOM_SPHERE) return {1 / size[0], 0, 1 / size[0]};
  if (kind == mjGEOM_ELLIPSOID) {  // D = diag(1 / a^2): s' D t / |D x|, at the point x that has this normal
    double reach = 0;
    Curvature c;
    for (int k = 0; k < 3; k++) {
      const double square = size[k] * size[k], p = along(R, k, s), q = along(R, k, t), r = along(R, k, n);
      reach += square * r * r;
      c.x += p * p / square;
      c.y += p * q / square;
      c.z += q * q / square;
    }
    reach = std::sqrt(reach);
    return {reach * c.x, reach * c.y, reach * c.z};
  }
  if (kind != mjGEOM_CAPSULE && kind != mjGEOM_CYLINDER) return {};
  const double radius = size[0], lean = std::fabs(along(R, 2, n));
  if (kind == mjGEOM_CYLINDER && lean > rim) return {};
  bool side = kind == mjGEOM_CYLINDER;
  if (!side) {
    double place = 0;
    for (int k = 0; k < 3; k++) place += R[3 * k + 2] * (at.pos[k] - d.geom_xpos[3 * g + k]);
    side = std::fabs(place) < size[1] - tip * radius && lean <= rim;
  }
  if (!side) return {1 / radius, 0, 1 / radius};
  const double p = along(R, 2, s), q = along(R, 2, t);
  return {(1 - p * p) / radius, -p * q / radius, (1 - q * q) / radius};
}

// Of a flat surface, the radius of its punch.
double flat_radius(const mjModel& m, int g) {
  const int kind = m.geom_type[g];
  if (kind <= mjGEOM_HFIELD) return std::numeric_limits<double>::infinity();
  const mjtNum* half = kind == mjGEOM_BOX ? m.geom_size + 3 * g : m.geom_aabb + 6 * g + 3;
  double face = 4.0 / 3.0 * (half[0] * half[1] + half[1] * half[2] + half[2] * half[0]);
  if (kind == mjGEOM_CYLINDER) face = std::numbers::pi * m.geom_size[3 * g] * m.geom_size[3 * g];
  return std::sqrt(face / std::numbers::pi) / 4;
}

// Each of two materials counts with its share of what gives way.
MaterialLaw material_law(const Materials& materials, const mjModel& m, const mjData& d, const mjContact& at) {
  const int a = at.geom[0], b = at.geom[1];
  const Material &one = materials.geom[static_cast<std::size_t>(a)], &two = materials.geom[static_cast<std::size_t>(b)];
  const double total = one.compliance + two.compliance, share = one.compliance / total, modulus = 1 / total;
  MaterialLaw law;
  law.damping = share * one.damping + (1 - share) * two.damping;
  law.dissipation = share * one.dissipation + (1 - share) * two.dissipation;
  if (!std::isnan(one.radius) && !std::isnan(two.radius)) {
    law.stiffness = 2 * modulus * std::min(one.radius, two.radius);
    if (!one.named && !two.named) {
      const double more = heaviness(std::max(tree_mass(m, m.geom_bodyid[a]), tree_mass(m, m.geom_bodyid[b])));
      law.stiffness *= more;
      law.damping *= more;
    }
    return law;
  }
  const Curvature p = curvature(m, d, a, at), q = curvature(m, d, b, at);
  const double x = p.x + q.x, y = p.y + q.y, z = p.z + q.z;
  const double mean = 0.5 * (x + z), half = std::sqrt(0.25 * (x - z) * (x - z) + y * y);
  if (mean > 0) {
    law.stiffness = hertz_stiffness(modulus, mean + half, mean - half);
    law.exponent = 1.5;
    return law;
  }
  const double radius = std::min(std::isnan(one.radius) ? flat_radius(m, a) : one.radius,
                                 std::isnan(two.radius) ? flat_radius(m, b) : two.radius);
  law.stiffness = 2 * modulus * radius;
  return law;
}

}  // namespace

double heaviness(double mass) { return std::max(1.0, mass / tonne); }

double tree_mass(const mjModel& m, int body) {
  return m.body_treeid[body] < 0 ? 0 : m.body_subtreemass[m.body_rootid[body]];
}

MaterialLaw rigid_law(double mass) {
  const double stiffness = rigid * heaviness(mass);
  return {stiffness, settling * stiffness, 1, 0};
}

// Two springs in series give way by the sum: k^(-1/p) = k1^(-1/p) + k2^(-1/p).
MaterialLaw contact_law(const Materials& materials, const mjModel& m, const mjData& d, const mjContact& at) {
  const MaterialLaw& a = materials.geom_law[static_cast<std::size_t>(at.geom[0])];
  const MaterialLaw& b = materials.geom_law[static_cast<std::size_t>(at.geom[1])];
  const bool one = !std::isnan(a.stiffness), two = !std::isnan(b.stiffness);
  if (!one && !two) return material_law(materials, m, d, at);
  if (one != two) return one ? a : b;
  MaterialLaw law = a.stiffness <= b.stiffness ? a : b;
  if (a.exponent == b.exponent && std::min(a.stiffness, b.stiffness) > 0) {
    const double p = law.exponent, total = a.damping + b.damping;
    law.stiffness = std::pow(std::pow(a.stiffness, -1 / p) + std::pow(b.stiffness, -1 / p), -p);
    law.damping = total > 0 ? a.damping * b.damping / total : 0;
  }
  return law;
}

}  // namespace pliant
