#include "bindings/build_info.h"
#include <mujoco/mujoco.h>
#include <string>
#include <string_view>

namespace nb = nanobind;

namespace pliant {
namespace {

constexpr int kMujoco = mjVERSION_HEADER;  // 4001002 is 4.1.2
static_assert(kMujoco >= 4'000'000, "pliant needs the headers of MuJoCo 4.0 or newer");
constexpr std::string_view kArch = PLIANT_ARCH;

// Where the compiler cannot ask the processor, it is taken at its word.
bool processor_suffices() {
#if defined(__x86_64__) && defined(__GNUC__)
  if (kArch == "x86-64-v3") {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  }
#endif
  return true;
}

nb::dict build_info() {
  const std::string version = std::to_string(kMujoco / 1'000'000) + "." + std::to_string(kMujoco / 1'000 % 1'000) +
                              "." + std::to_string(kMujoco % 1'000);
  nb::dict found;
  found["compiler"] = PLIANT_COMPILER;
  found["build_type"] = PLIANT_BUILD_TYPE;
  found["instruction_set"] = kArch.empty() ? PLIANT_PROCESSOR : PLIANT_ARCH;
  found["mujoco"] = nb::str(version.c_str(), version.size());
  found["sanitizers"] = PLIANT_SANITIZERS;
  return found;
}

}  // namespace

void bind_build_info(nb::module_& module) {
  if (!processor_suffices()) {
    throw nb::import_error(
        "this pliant was built for processors with AVX2, FMA and BMI2, which this one lacks; build it here, in a "
        "clone: pip install . -C cmake.define.PLIANT_ARCH=native");
  }
  module.def("build_info", &build_info,
             "Compiler, build type, instruction set, version of MuJoCo's headers, and sanitizers, if any.");
}

}  // namespace pliant
