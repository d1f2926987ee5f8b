// Steps of MuJoCo's models for Python.
#pragma once
#include <nanobind/nanobind.h>

namespace pliant {
void bind_mujoco(nanobind::module_& module);
}
