// How far an answer is from the laws and from momentum, computed from the step and the answer alone.
#pragma once
#include "step/step.h"

namespace pliant {

struct Certificate {
  double law_residual = 0;  // the largest of the islands, in the energy norm (solve/natural.h)
  double momentum_residual = 0;
};

// Of any answer, whoever made it: forces (m) and velocity (nv). convex: the conditions of the associated cone.
Certificate certify(const Step& step, View<const double> force, View<const double> velocity, bool convex);

// max_j |M (v1 - v0) - h (f + G' lambda)|_j / (|M| (|v0| + |v1|) + h |f| + h |G|' |lambda|)_j. Not |v1 - v0|: forces may be
// too small to change v0 in its last digit, and v1 = v0 is then right. impulse: h G' lambda, size: h |G|' |lambda|, (nv).
double momentum_residual(const Step& step, View<const double> velocity, View<const double> impulse,
                         View<const double> size);

}  // namespace pliant
