// The solve for compiled code that calls no Python.
#pragma once
#include <nanobind/nanobind.h>

namespace pliant {

void bind_c_entry(nanobind::module_& module);  // solve_entry

}  // namespace pliant
