// The Python module pliant._engine.
#include <nanobind/nanobind.h>
#include "bindings/record.h"
#include "bindings/solve.h"

NB_MODULE(_engine, module) {
  module.doc() = "The compiled engine of pliant; see pliant.solve.";
  pliant::bind_record(module);
  pliant::bind_solve(module);
}
