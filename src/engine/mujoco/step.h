// A step of a MuJoCo model, from its phases.
//
//   refresh      the model as the user has set it last
//   evaluate     MuJoCo: positions, inertia, collision, transmission, velocities, passive and actuator forces
//   assemble     its rows and our own with our laws
//   solve        the engine
//   look again   contacts or limits that this motion would bring within reach join, and the step is solved again
//   write back   every field, in the user's cone
//   advance      positions, activations, time
#pragma once
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>
#include "mujoco/aside.h"
#include "mujoco/assembly.h"
#include "mujoco/flow.h"
#include "mujoco/foundation.h"
#include "mujoco/materials.h"
#include "mujoco/model.h"
#include "mujoco/passive.h"
#include "mujoco/reach.h"
#include "mujoco/turning.h"
#include "solve/solve.h"
#include "step/laws.h"
#include "workspace.h"

namespace pliant {

// A motion that has blown up.
struct BlownUp : std::runtime_error {
  using std::runtime_error::runtime_error;
};

enum Part { kinematics, collision, assembly, solving, parts };

struct Totals {
  std::int64_t statuses[4] = {};  // steps that ended so
  std::int64_t iterations = 0, factorizations = 0;
  double worst = 0;       // residual
  double first_hard = 0;  // when a status other than solved came for the first time, lately [s]
};

struct How {
  bool control = true;  // whether to call the user's control callback
  bool advance = true;  // else forces alone
  bool whole = true;    // whether to leave all of MuJoCo's fields behind, which no next step needs
};

// Of two geoms that come near each other.
struct Meeting {
  double margin = 0;
  double gap, closing = 0;     // at the start of the step
  double seeming = infinity;   // when they touch by these [s]
  double speed = 0, bend = 0;  // bounds on the rate of the gap, and on how it bends downwards by turning [m/s, m/s^2]
};

class Stepper {
 public:
  // All of it. Returns whether its status is the first of its kind, and not simply solved.
  bool run(const mjModel* model, mjData* data, const Materials& materials, const Options& options, const How& how);

  // Begins a step: all of it but the constraint forces. control: whether to call the user's control callback. folds: whether
  // servos may go into the inertia; else each is a row.
  void begin(const mjModel* model, mjData* data, const Materials& materials, bool control, bool folds = false);
  // Constraint forces; looks again for what they bring within reach. closes: equalities as they are at the end of the step.
  void solve(const Options& options, bool closes = true);
  // The same by forces from elsewhere, of the rows of `step`.
  void take(View<const double> velocity, View<const double> force, const Report& report);
  // Forces into the fields of data. whole: those that no next step needs, too.
  void write(bool whole);
  void advance();
  // Counts the step; as `run` returns.
  bool count();
  // Leaves the model as the user has it. After an error, data too.
  void end();

  bool begun() const { return begun_; }  // whether there is a step to look at
  const Step& step() const { return assembly_.step; }
  const Assembly& rows() const { return assembly_; }
  const Patches& patches() const { return patches_; }
  View<const double> velocity() const { return v1_; }
  bool flows() const { return flows_; }
  View<const double> force() const { return force_; }
  // What leads from the start of the step to its end, with the velocity v there.
  void find_mean(View<const double> v, View<double> mean) const;
  const Report& report() const { return report_; }
  double began() const { return began_; }  // at this time of the data [s]

  Totals totals;
  std::mutex busy;  // for threads that step the same data
  std::atomic<std::thread::id> holder{};
  double seconds[parts] = {};
  bool clocked = false;

 private:
  Workspace work_;
  Solver solver_;
  Model model_;
  Reach reach_;
  Passive passive_;
  Flow flow_;
  Turning turning_;
  Patches patches_;
  Assembly assembly_;
  Aside aside_;
  const Materials* materials_ = nullptr;
  mjData* d_ = nullptr;
  std::size_t stack_ = 0, base_ = 0;
  bool flows_ = false, begun_ = false;
  Workspace::Mark smooth_start_{};  // behind what depends on the state alone
  Workspace::Mark smooth_{};        // behind what does not depend on the rows
  View<double> smooth_force_, pushing_, implicit_, v1_, force_, guess_, near_;
  Pool<char> open_;  // contacts that are beyond their margin
  Report report_;
  double last_ = 0, began_ = 0;

  void check_model() const;
  void check() const;
  void evaluate(bool control);
  void collide();
  void prepare(bool folds);
  void flow(View<const double> force);
  bool flow_with_loops();
  bool find_turning();
  void add_turning();
  void find_open(View<const double> v);
  bool take_contacts_back(View<const double> v);
  void assemble();
  void solve_rows(const Options& options, View<const double> guess, View<const double> start, bool shifted);
  void solve_these(const Options& options, View<const double> guess, View<const double> start, bool shifted);
  void ask(const Options& options, View<const double> guess, View<const double> start, bool shifted);
  bool gains() const;
  bool centre();
  void follow_open(const Options& options);
  bool stretch(int a, int b, View<const double> v);
  double touch_time(int a, int b, const Meeting& meeting, View<const double> v);
  void close_loops(const Options& options);
  void bounce(const Options& options);
  void lap(Part part);
  void write_flow();
  void drop_contacts(View<int> number);
  void write_rows();
};

}  // namespace pliant
