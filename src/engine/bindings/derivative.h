#pragma once
#include <nanobind/nanobind.h>

namespace pliant {

void bind_derivative(nanobind::module_& module);

}  // namespace pliant
