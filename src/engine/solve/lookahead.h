// Rate offsets with which the deformation at the end of a step is that of the configuration reached.
#pragma once
#include "step/step.h"

namespace pliant {

// target := (phi - value) / h - G v of the rows whose phi at the end of the step is known, not NaN; the step's own offset
// of the others. Returns h max |target - offset| over the longest way of a row: one that hardly moves is as exact as the
// rest can make it. place: the way of the largest entry of G over which phi is as exact as it can be known.
double look_ahead(const Step& step, View<const double> phi, View<const double> velocity, View<const double> offset,
                  double place, View<double> target);

}  // namespace pliant
