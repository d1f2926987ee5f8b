// The Python module pliant._engine.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

void bind_c_entry(nb::module_& module);

NB_MODULE(_engine, module) {
  module.doc() = "The compiled engine of pliant; see pliant.solve.";
  bind_c_entry(module);
}
