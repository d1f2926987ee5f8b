// The natural map of the laws (Alart and Curnier): every row has a force that a solution reproduces,
//   scalar   lambda = clip(lambda - y, lower, upper)
//   tangents lambda_t = mu project(z),  z = lambda_t / mu - mu (p + R lambda_t + bias) / (h reach), on the disc of radius lambda_n
// With lift = 1 the normal sees p_n - |w|, w the slip: the associated cone in place of Coulomb's law.
#pragma once
#include "step/rows.h"

namespace pliant {

class NaturalMap {
 public:
  View<Line> line;      // of scalar rows outside runs, and normals
  View<double> y;       // of scalar rows and normals
  View<double> z;       // of tangents
  View<double> length;  // of the blocks: |z|
  View<double> slip;    // of tangents: mu (p + R lambda + bias)
  View<double> speed;   // of the blocks: |slip|

  void reserve(const Rows& rows, Workspace& work);

  // low: what a double cannot hold of the rates, or empty. Fills the views; returns max_i h sqrt(a_i) |r_i| / E, r_i what a force misses of its map, in the energy norm
  //   E^2 = |x0|^2 + |x*|^2 + 1e-10 max_i h^2 a_i lambda_i^2
  double measure(const Rows& rows, View<const double> force, View<const double> rate, double lift,
                 View<const double> low = {});

  double moving = 0;  // the last residual without the rows that move nothing, which Newton's method ends at once
  double floor = 0;   // the residual that the rounding of the forces alone may leave

 private:
  void measure_run(const Rows& rows, const Run& r, View<const double> force, View<const double> rate,
                   View<const double> low);
};

}  // namespace pliant
