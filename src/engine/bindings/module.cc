// The Python module pliant._engine.
#include "bindings/build_info.h"
#include "bindings/derivative.h"
#include "bindings/foundation.h"
#include "bindings/mujoco.h"
#include "bindings/record.h"
#include "bindings/solve.h"

NB_MODULE(_engine, module) {
  module.doc() = "The compiled engine of pliant; see pliant.solve.";
  nanobind::set_leak_warnings(false);  // records may outlive the interpreter in caches of Python's
  pliant::bind_build_info(module);
  pliant::bind_record(module);
  pliant::bind_solve(module);
  pliant::bind_derivative(module);
  pliant::bind_foundation(module);
  pliant::bind_mujoco(module);
}
