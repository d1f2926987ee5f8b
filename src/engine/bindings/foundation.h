#pragma once
#include <nanobind/nanobind.h>

namespace pliant {

void bind_foundation(nanobind::module_& module);

}  // namespace pliant
