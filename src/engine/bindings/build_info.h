// How this module was built, and whether this processor can run it.
#pragma once
#include <nanobind/nanobind.h>

namespace pliant {

// Adds build_info() to the module. Raises ImportError where the processor lacks instructions that the engine was built
// with.
void bind_build_info(nanobind::module_& module);

}  // namespace pliant
