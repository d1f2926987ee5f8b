// The Python module pliant._engine.
#include <nanobind/nanobind.h>

namespace nb = nanobind;

NB_MODULE(_engine, module) { module.doc() = "The compiled engine of pliant; see pliant.solve."; }
