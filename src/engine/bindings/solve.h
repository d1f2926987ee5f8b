#pragma once
#include <nanobind/nanobind.h>

namespace pliant {

void bind_solve(nanobind::module_& module);

}  // namespace pliant
