// One step of a multibody system as arrays: what every door hands to the engine.
#pragma once
#include <cstdint>
#include "view.h"

namespace pliant {

enum class Kind : std::int64_t { bilateral, unilateral, clipped, normal, tangent, inert };

// Views of one flat record (see pliant/flat.py). Find v and the forces lambda of the rows with
//   M (v - v0) = h (f + G' lambda),   p = G v + e,   lambda = law(p).
// A block is one row alone, or a normal row followed by its tangents.
struct Step {
  double h = 0;                                      // [s]
  View<const std::int64_t> mass_start, mass_column;  // M, all of the symmetric matrix, by rows
  View<const double> mass_value;
  View<const double> velocity, force;                        // v0, f
  View<const std::int64_t> jacobian_start, jacobian_column;  // G by rows
  View<const double> jacobian_value;
  View<const std::int64_t> block_start, kind;
  View<const double> value, offset, stiffness, damping, exponent, dissipation, lower, upper, friction;

  int velocities() const { return velocity.size(); }
  int rows() const { return kind.size(); }
  int blocks() const { return block_start.size() - 1; }
  Kind kind_of(int row) const { return static_cast<Kind>(kind[row]); }
};

}  // namespace pliant
