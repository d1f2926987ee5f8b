#include "bindings/mujoco.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>
#include "bindings/arrays.h"
#include "bindings/record.h"
#include "mujoco/step.h"

namespace nb = nanobind;

namespace pliant {
namespace {

constexpr double patience = 0.05;  // [s] after which Ctrl-C is looked for

const mjModel* model_at(std::uintptr_t address) { return reinterpret_cast<const mjModel*>(address); }
mjData* data_at(std::uintptr_t address) { return reinterpret_cast<mjData*>(address); }

std::vector<MaterialLaw> laws_of(nb::handle rows, const char* name) {
  const auto values = reals(rows, name);
  std::vector<MaterialLaw> laws;
  for (std::size_t i = 0; i + 4 <= values.size(); i += 4)
    laws.push_back({values[i], values[i + 1], values[i + 2], values[i + 3]});
  return laws;
}

Materials materials_of(nb::handle geom, nb::handle geom_law, nb::handle joint, nb::handle tendon, nb::handle equality,
                       nb::handle friction, const nb::list& layers, bool by_reference) {
  Materials made;
  const auto values = reals(geom, "geom");
  for (std::size_t i = 0; i + 7 <= values.size(); i += 7) {
    made.geom.push_back(
        {values[i], values[i + 1], values[i + 2], values[i + 3], values[i + 4], values[i + 5], values[i + 6] != 0});
    made.bounces = made.bounces || values[i + 4] > 0;
  }
  made.geom_law = laws_of(geom_law, "geom_law");
  made.joint = laws_of(joint, "joint");
  made.tendon = laws_of(tendon, "tendon");
  made.equality = laws_of(equality, "equality");
  const auto frictions = reals(friction, "friction");
  made.friction.assign(frictions.begin(), frictions.end());
  made.layer.assign(made.geom.size(), -1);
  for (const nb::handle layer : layers) {
    const auto point = reals(layer[3], "point"), area = reals(layer[4], "area");
    const int g = nb::cast<int>(layer[0]);
    made.layer[static_cast<std::size_t>(g)] = static_cast<int>(made.layers.size());
    made.layers.push_back({g, nb::cast<double>(layer[1]), nb::cast<double>(layer[2]),
                           std::vector<double>(point.begin(), point.end()),
                           std::vector<double>(area.begin(), area.end())});
  }
  made.by_reference = by_reference;
  return made;
}

[[noreturn]] void raise(const char* module, const char* name, const char* message) {
  nb::object kind = nb::module_::import_(module).attr(name);
  PyErr_SetObject(kind.ptr(), nb::str(message).ptr());
  throw nb::python_error();
}

const Stepper& begun(const Stepper& stepper) {
  if (!stepper.begun()) raise("pliant.errors", "InputError", "no step of this data was begun, or it was refused");
  return stepper;
}

// One thread at a time steps a data, and where callbacks are set, which know the user's model, one at all.
class Turn {
 public:
  explicit Turn(Stepper& stepper) : stepper_(stepper) {
    if (stepper.holder == std::this_thread::get_id())
      throw InputProblem("data is being stepped: a callback cannot step it too");
    if (mujoco.has_callbacks()) called_ = std::unique_lock(calls);
    stepper.busy.lock();
    stepper.holder = std::this_thread::get_id();
  }
  ~Turn() {
    stepper_.holder = std::thread::id();
    stepper_.busy.unlock();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  static inline std::recursive_mutex calls;
  Stepper& stepper_;
  std::unique_lock<std::recursive_mutex> called_;
};

// Runs without the interpreter's lock; errors as Python knows them.
template <class F>
auto unlocked(Stepper& stepper, F&& f) {
  std::string message;
  enum { none, input, blown, fatal } kind = none;
  {
    const nb::gil_scoped_release release;
    try {
      const Turn turn(stepper);
      return f();
    } catch (const InputProblem& error) {
      kind = input;
      message = error.what();
    } catch (const BlownUp& error) {
      kind = blown;
      message = error.what();
    } catch (const MujocoError& error) {
      kind = fatal;
      message = error.what();
    }
  }
  if (kind == input) raise("pliant.errors", "InputError", message.c_str());
  if (kind == blown) raise("pliant.errors", "SolveError", message.c_str());
  if (PyErr_Occurred()) throw nb::python_error();  // out of a callback
  raise("mujoco", "FatalError", message.c_str());
}

struct Ended {
  Stepper& stepper;
  ~Ended() { stepper.end(); }
};

void look_for_interrupt() {
  const nb::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

// The first status of the data that is not simply solved, or 0.
int step(Stepper& stepper, std::uintptr_t model, std::uintptr_t data, const Materials& materials, int count,
         bool convex, double tolerance, int max_iterations, bool control, bool advance) {
  const Options options{.convex = convex, .tolerance = tolerance, .max_iterations = max_iterations, .tuning = {}};
  using Clock = std::chrono::steady_clock;
  return unlocked(stepper, [&] {
    int found = 0;
    auto last = Clock::now();
    const bool sensors = model_at(model)->nsensor > 0;
    for (int k = 0; k < count; k++) {
      const How how{.control = control, .advance = advance, .whole = sensors || k + 1 == count};
      const bool first = stepper.run(model_at(model), data_at(data), materials, options, how);
      if (first && found == 0) found = static_cast<int>(stepper.report().status);
      if (k + 1 < count && std::chrono::duration<double>(Clock::now() - last).count() > patience) {
        look_for_interrupt();
        last = Clock::now();
      }
    }
    return found;
  });
}

void begin(Stepper& stepper, std::uintptr_t model, std::uintptr_t data, const Materials& materials, bool control) {
  unlocked(stepper, [&] {
    try {
      stepper.begin(model_at(model), data_at(data), materials, control);
    } catch (...) {
      stepper.end();
      throw;
    }
  });
}

// For `simulate`, which looks ahead by itself.
void solve(Stepper& stepper, bool convex, double tolerance, int max_iterations) {
  begun(stepper);
  unlocked(stepper, [&] {
    try {
      stepper.solve({.convex = convex, .tolerance = tolerance, .max_iterations = max_iterations, .tuning = {}}, false);
    } catch (...) {
      stepper.end();
      throw;
    }
  });
}

void take(Stepper& stepper, nb::handle velocity, nb::handle force, int status, double residual, int iterations,
          int factorizations) {
  Report report;
  report.status = static_cast<Status>(status);
  report.residual = residual;
  report.iterations = iterations;
  report.factorizations = factorizations;
  const auto v = reals(velocity, "velocity"), f = reals(force, "force");
  if (v.size() != static_cast<std::size_t>(begun(stepper).step().velocities()) ||
      f.size() != static_cast<std::size_t>(stepper.step().rows()))
    throw nb::value_error("velocity and force must be of the step that was begun");
  stepper.take(View<const double>(v.data(), static_cast<int>(v.size())),
               View<const double>(f.data(), static_cast<int>(f.size())), report);
}

int finish(Stepper& stepper, bool advance) {
  return unlocked(stepper, [&] {
    const Ended ended{stepper};
    if (!stepper.begun()) throw InputProblem("no step of this data was begun, or it was refused");
    stepper.write(true);
    if (!advance) return 0;
    stepper.advance();
    return stepper.count() ? static_cast<int>(stepper.report().status) : 0;
  });
}

// A field of mjData itself that is one number.
std::uintptr_t field_at(std::uintptr_t data, const char* name) {
  mjData& d = *data_at(data);
  const std::pair<const char*, void*> known[] = {
      {"nl", &d.nl}, {"nJ", &d.nJ}, {"ncon", &d.ncon}, {"nefc", &d.nefc},   {"nA", &d.nA},
      {"ne", &d.ne}, {"nf", &d.nf}, {"time", &d.time}, {"nidof", &d.nidof}, {"nisland", &d.nisland}};
  for (const auto& [key, field] : known) {
    if (std::strcmp(key, name) == 0) return reinterpret_cast<std::uintptr_t>(field);
  }
  throw nb::key_error(name);
}

int warnings(const mjData& d) {
  int total = 0;
  for (const mjWarningStat& kind : d.warning) total += kind.number;
  return total;
}

// What is kept of every step: a state of MuJoCo's by its bits, or else so many bytes that lie there.
struct Kept {
  int spec;
  std::uintptr_t from, to;
  std::size_t bytes;
};

// Steps of one simulation from the given one on, of so many, each with its controls, to the end, to a warning, or for a
// while. Returns (the next step, the first hard status or 0).
nb::tuple roll(Stepper& stepper, std::uintptr_t model, std::uintptr_t data, const Materials& materials, int next,
               int steps, nb::handle control, int spec, const nb::list& keep, int warned, bool convex, double tolerance,
               int max_iterations) {
  std::vector<Kept> kept;
  for (const nb::handle one : keep)
    kept.push_back({nb::cast<int>(one[0]), nb::cast<std::uintptr_t>(one[1]), nb::cast<std::uintptr_t>(one[2]),
                    nb::cast<std::size_t>(one[3])});
  const auto controls = control.is_none() ? std::span<const double>{} : reals(control, "control");
  const std::size_t width = steps > 0 ? controls.size() / static_cast<std::size_t>(steps) : 0;
  const Options options{.convex = convex, .tolerance = tolerance, .max_iterations = max_iterations, .tuning = {}};
  const mjModel* m = model_at(model);
  mjData* d = data_at(data);
  int hard = 0;
  unlocked(stepper, [&] {
    using Clock = std::chrono::steady_clock;
    const auto first = Clock::now();
    while (next < steps && (warned < 0 || warnings(*d) == warned)) {
      if (width > 0) {
        const double* now = controls.data() + static_cast<std::size_t>(next) * width;
        guarded([&] { mujoco.mj_setState(m, d, now, spec); });
      }
      bool whole = m->nsensor > 0 || next + 1 == steps;
      for (const Kept& one : kept) whole = whole || one.spec == 0;
      if (stepper.run(m, d, materials, options, {.whole = whole}) && hard == 0)
        hard = static_cast<int>(stepper.report().status);
      for (const Kept& one : kept) {
        void* to = reinterpret_cast<void*>(one.to + static_cast<std::size_t>(next) * one.bytes);
        if (one.spec == 0) std::memcpy(to, reinterpret_cast<const void*>(one.from), one.bytes);
        else guarded([&] { mujoco.mj_getState(m, d, static_cast<mjtNum*>(to), one.spec); });
      }
      next++;
      if (std::chrono::duration<double>(Clock::now() - first).count() > patience) break;
    }
    return 0;
  });
  return nb::make_tuple(next, hard);
}

nb::object copy_of(View<const double> values) {
  return array_of(std::span<const double>(values.data(), static_cast<std::size_t>(values.size())));
}

nb::tuple last(const Stepper& stepper) {
  const Report& r = stepper.report();
  return nb::make_tuple(static_cast<int>(r.status), r.residual, r.iterations, r.factorizations);
}

nb::tuple totals(const Stepper& stepper) {
  const Totals& t = stepper.totals;
  return nb::make_tuple(t.statuses[0], t.statuses[1], t.statuses[2], t.statuses[3], t.iterations, t.factorizations,
                        t.worst, t.first_hard);
}

nb::tuple seconds(const Stepper& stepper) {
  const double* s = stepper.seconds;
  return nb::make_tuple(s[kinematics], s[collision], s[assembly], s[solving]);
}

void clock(Stepper& stepper) {
  stepper.clocked = true;
  std::fill_n(stepper.seconds, parts, 0.0);
}

// The mean velocity of the step that ends with this one.
nb::object mean(const Stepper& stepper, nb::handle velocity) {
  const auto v = reals(velocity, "velocity");
  if (v.size() != static_cast<std::size_t>(begun(stepper).step().velocities()))
    throw nb::value_error("velocity must be of the step that was begun");
  NewReals found = new_reals(v.size());
  stepper.find_mean(v, found.values);
  return found.array;
}

// The types of MuJoCo's rows, and how many rows of elements and of ours follow after them.
nb::tuple rows(const Stepper& stepper) {
  const Assembly& a = begun(stepper).rows();
  NewIntegers types = new_integers(static_cast<std::size_t>(a.own));
  for (int i = 0; i < a.own; i++) types.values[static_cast<std::size_t>(i)] = a.known[i].type;
  return nb::make_tuple(std::move(types.array), a.elements, a.extra);
}

// Of every element of a foundation that has rows: 26 numbers, with its force at the end.
nb::tuple elements(const Stepper& stepper, nb::handle velocity) {
  const Patches& patches = stepper.patches();
  const int n = patches.elements.size(), nv = n > 0 ? stepper.step().velocities() : 0;
  NewReals table = new_reals(static_cast<std::size_t>(26 * n));
  int row = stepper.rows().own;
  const View<const double> force = stepper.force();
  const auto v1 = reals(velocity, "velocity");
  if (n > 0 && v1.size() != static_cast<std::size_t>(nv)) throw nb::value_error("velocity must be of the model");
  for (int k = 0, at = 0; k < n; k++) {
    const Patches::Element& e = patches.elements[k];
    double gap = e.gap;
    for (int j = 0; j < nv; j++)
      gap += stepper.step().h * patches.jacobian[(row - stepper.rows().own) * nv + j] * v1[static_cast<std::size_t>(j)];
    double numbers[26] = {double(e.geom), double(e.other), double(e.number), e.area,   gap,      double(e.dim),
                          e.friction[0],  e.friction[1],   e.pos[0],         e.pos[1], e.pos[2], e.frame[0]};
    std::copy_n(e.frame, 9, numbers + 11);
    for (int k2 = 0; k2 < 3; k2++) numbers[20 + k2] = k2 < e.dim ? force[row + k2] : 0;
    for (int i = 0; i < 26; i++) table.values[static_cast<std::size_t>(at++)] = numbers[i];
    row += e.dim;
  }
  return nb::make_tuple(stepper.began(), std::move(table.array));
}

}  // namespace

void bind_mujoco(nb::module_& module) {
  module.def("load_mujoco", [](const char* path) {
    try {
      load_mujoco(path);
    } catch (const std::runtime_error& error) {
      raise("builtins", "ImportError", error.what());
    }
  });
  nb::class_<Materials>(module, "Materials")
      .def("__init__", [](Materials* self, nb::handle geom, nb::handle geom_law, nb::handle joint, nb::handle tendon,
                          nb::handle equality, nb::handle friction, const nb::list& layers, bool by_reference) {
        new (self) Materials(materials_of(geom, geom_law, joint, tendon, equality, friction, layers, by_reference));
      });
  nb::class_<Stepper>(module, "Stepper")
      .def(nb::init<>())
      .def("step", &step)
      .def("roll", &roll)
      .def("end", &Stepper::end)
      .def("begin", &begin)
      .def("solve", &solve)
      .def("take", &take)
      .def("finish", &finish)
      .def("record", [](const Stepper& s) { return record_of(begun(s).step()); })
      .def("flows", &Stepper::flows)
      .def("mean", &mean)
      .def("velocity", [](const Stepper& s) { return copy_of(begun(s).velocity()); })
      .def("force", [](const Stepper& s) { return copy_of(begun(s).force()); })
      .def("rows", &rows)
      .def("elements", &elements)
      .def("last", &last)
      .def("totals", &totals)
      .def("seconds", &seconds)
      .def("clock", &clock);
  module.def("field_at", &field_at);
}

}  // namespace pliant
