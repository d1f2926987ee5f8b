// One step of a multibody system as arrays: what every door hands to the engine.
#pragma once
#include <cstdint>
#include <span>

namespace pliant {

enum class Kind : std::int64_t { bilateral, unilateral, clipped, normal, tangent, inert };

// Views of one flat record (see pliant/flat.py). Find v and the forces lambda of the rows with
//   M (v - v0) = h (f + G' lambda),   p = G v + e,   lambda = law(p).
// A block is one row alone, or a normal row followed by its tangents.
struct Step {
  double h = 0;                                              // [s]
  std::span<const std::int64_t> mass_start, mass_column;     // M, all of the symmetric matrix, by rows
  std::span<const double> mass_value;
  std::span<const double> velocity, force;                   // v0, f
  std::span<const std::int64_t> jacobian_start, jacobian_column;  // G by rows
  std::span<const double> jacobian_value;
  std::span<const std::int64_t> block_start, kind;
  std::span<const double> value, offset, stiffness, damping, exponent, dissipation, lower, upper, friction;

  int velocities() const { return static_cast<int>(velocity.size()); }
  int rows() const { return static_cast<int>(kind.size()); }
  int blocks() const { return static_cast<int>(block_start.size()) - 1; }
  Kind kind_of(int row) const { return static_cast<Kind>(kind[static_cast<std::size_t>(row)]); }
};

}  // namespace pliant
