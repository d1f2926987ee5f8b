// The cube on its foundation as an ordinary differential equation: what the study `foundation` gives to integrators, as
// fast as our own steps are.
//   y = (x, y, z; w, i, j, k; xdot, ydot, zdot; omega)
//   lambda = max(0, -K phi - B phidot) where phi < 0, else 0       an element, of height phi
//   m xddot = (0, 0, sum lambda - m g - load)
//   I omegadot = sum r x (0, 0, lambda) + point x (0, 0, -load)    I is a multiple of 1: no gyroscopic torque
#include "bindings/foundation.h"

#include <cmath>
#include "bindings/arrays.h"

namespace pliant {
namespace {

struct Cube {
  double side, mass, inertia, damping, gravity, turn;  // turn: of the load about the top [rad/s]
};

nb::object rate_of(double t, nb::handle state, nb::handle elements, double K, double load, nb::tuple constants) {
  const std::span<const double> y = reals(state, "y"), places = reals(elements, "places");
  if (y.size() != 13 || places.size() % 3 != 0 || constants.size() != 6)
    throw nb::value_error("y must have 13 entries, places three per element, and there are six constants");
  const auto constant = [&](int i) { return nb::cast<double>(constants[i]); };
  const Cube cube{constant(0), constant(1), constant(2), constant(3), constant(4), constant(5)};
  NewReals made = new_reals(13);
  const std::span<double> rate = made.values;
  const double z = y[2], w = y[3], i = y[4], j = y[5], k = y[6], zdot = y[9], wx = y[10], wy = y[11], wz = y[12];
  // rows of R - 1, R from the quaternion
  const double xx = -2 * (j * j + k * k), xy = 2 * (i * j - w * k), xz = 2 * (i * k + w * j);
  const double yx = 2 * (i * j + w * k), yy = -2 * (i * i + k * k), yz = 2 * (j * k - w * i);
  const double zx = 2 * (i * k - w * j), zy = 2 * (j * k + w * i), zz = -2 * (i * i + j * j);
  const double half = 0.5 * cube.side, px = half * std::cos(cube.turn * t), py = half * std::sin(cube.turn * t);
  const double loaded_x = px + xx * px + xy * py + xz * half, loaded_y = py + yx * px + yy * py + yz * half;
  double force = -cube.mass * cube.gravity - load, tx = -loaded_y * load, ty = loaded_x * load;
  for (std::size_t e = 0; e < places.size(); e += 3) {
    const double a = places[e], b = places[e + 1], c = places[e + 2];
    const double phi = z + zx * a + zy * b + zz * c;
    if (!(phi < 0)) continue;
    const double rx = a + xx * a + xy * b + xz * c, ry = b + yx * a + yy * b + yz * c;
    const double push = -K * phi - cube.damping * (zdot + wx * ry - wy * rx);
    if (!(push > 0)) continue;
    force += push;
    tx += push * ry;
    ty -= push * rx;
  }
  rate[0] = y[7];
  rate[1] = y[8];
  rate[2] = zdot;
  rate[3] = -0.5 * (wx * i + wy * j + wz * k);  // 1/2 (0, omega) quaternion
  rate[4] = 0.5 * (wx * w + wy * k - wz * j);
  rate[5] = 0.5 * (wy * w + wz * i - wx * k);
  rate[6] = 0.5 * (wz * w + wx * j - wy * i);
  rate[7] = rate[8] = rate[12] = 0;
  rate[9] = force / cube.mass;
  rate[10] = tx / cube.inertia;
  rate[11] = ty / cube.inertia;
  return std::move(made.array);
}

}  // namespace

void bind_foundation(nb::module_& module) {
  module.def("cube_on_foundation", &rate_of, nb::arg("t"), nb::arg("y"), nb::arg("places"), nb::arg("stiffness"),
             nb::arg("load"), nb::arg("constants"), "dy/dt of the cube of the study `foundation`.");
}

}  // namespace pliant
