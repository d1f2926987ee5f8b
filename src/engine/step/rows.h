// The rows of one island in whitened velocities: x = L v, Z = G inv(L), p = e + Z x.
#pragma once
#include <unordered_map>
#include "linalg/fronts.h"
#include "linalg/inertia.h"
#include "step/laws.h"

namespace pliant {

struct Block {  // one scalar row, or a contact, normal first
  int first, size;
  int square;  // where its square matrices begin
};

// Blocks that act on the same velocities: their rows are dense on these. Contacts of two bodies have at most six
// directions among them: where there are many of them, Z = W Q, the rows of Q orthonormal.
struct Group {
  int first_block, blocks, first_row, rows;
  int columns, width, stride;  // its part of `column`; its rows are padded
  int values, inner;           // its part of `z`, by rows of so many numbers: of Z, or of W
  int basis = 0, rank = 0;     // its part of `directions`, the rows of Q; 0: none
  bool full = false;           // whether G has few zeros here: `own` has it where `z` has Z
};

// Scalar rows of linear laws one after the other, their blocks and squares too: loops over them have no branches.
struct Run {
  int block, row, square, count;
};

// What loops over runs read of their rows, column by column (step/laws.h).
struct Columns {
  View<double> gap, stiffness, damping, before_touch, slope, share, lower, upper, proximal;
};

// Orders of elimination, kept while the graph of contacts stands.
class Patterns {
 public:
  const Pattern& find(int unknowns, const Sets& sets);

 private:
  std::unordered_map<std::uint64_t, Pattern> known_;
};

// An island of a step: its velocities and blocks, by their numbers in the step, ascending.
struct Island {
  View<const int> velocities, blocks;
  View<const int> local;  // of a velocity of the step: its number in the island
};

class Rows {
 public:
  int velocities = 0, count = 0, squares = 0;
  double h = 0;
  double energy = 0;         // |x0|^2 + |x*|^2
  bool sane = true;          // whether M is positive definite, and no number too large to be squared
  bool linear = false;       // whether no law has a bound or a bend
  bool precise = false;      // rates are summed in twofold precision
  double cancellation = 10;  // so are forces that many times larger than what moves
  View<Row> row;
  View<Block> block;
  View<Run> run;
  Columns law;  // filled where there are runs
  View<Group> group;
  View<int> column;  // of the groups, in the order of elimination
  View<double> z, directions;
  View<double> weight;  // of the rows, as theirs
  View<int> source;     // of a row: its number in the step
  View<double> free;    // rates without any force, once `find_free` was called
  const Pattern* pattern = nullptr;
  Sets sets;  // of the groups with columns; group g is set set_of[g]
  View<int> set_of;

  void load(const Step& step, const Island& island, Patterns& patterns, Workspace& work);
  // The same rows with the rate offsets and the force of another step. False where that changes more than rates: load them.
  bool shift(const Step& step);

  // The rate offsets of the step with t d added.
  void open(double t, View<const double> d);

  // All blocks in their order: the runs, and the numbers of the blocks outside them.
  template <class F, class G>
  void walk(F&& on_run, G&& on_block) const {
    int number = 0;
    for (const Run& r : run) {
      for (; number < r.block; number++) on_block(number);
      on_run(r);
      number += r.count;
    }
    for (; number < block.size(); number++) on_block(number);
  }

  // Row i of a group as Z has it, into `width` numbers.
  void expand(const Group& g, int i, View<double> to) const;

  // x = x* + h Z' lambda,  p = e + Z x
  void rates(View<const double> force, View<double> rate) const;
  // rate += Z dx
  template <class T>
  void add_along(const Group& g, View<const T> dx, View<T> rate) const;
  // dx += scale Z' force
  template <class T>
  void add_forces(const Group& g, View<const T> force, double scale, View<T> dx) const;

  // The rates that the forces lead to, from G and M themselves; forces that cancel are summed in twofold precision.
  // gain := v - v0, in the order of the island's velocities. low := what a double cannot hold of the rates, or empty.
  void exact_rates(View<const double> force, View<double> rate, View<double> low, View<double> gain) const;
  void exact_rates(View<const double> force, View<double> rate, View<double> gain) const {
    exact_rates(force, rate, {}, gain);
  }

  // free := e + Z x*
  void find_free() const;

  // impulse += h G' lambda, size += h |G|' |lambda|, of the velocities of the step
  void add_impulse(View<const double> force, View<double> impulse, View<double> size) const;

  // Rates of a velocity of the step.
  void rates_of(View<const double> velocity, View<double> rate) const;

  // Forces into their bounds and cones; friction shrinks along its direction.
  void project(View<double> force) const;

  // The largest h a S of a law: how many digits an eliminated row takes from those it shares velocities with.
  double stiffest = 0;
  double friction_length(const Block& b, View<const double> force) const;  // |lambda_t / mu|

 private:
  const Step* step_ = nullptr;
  Island island_;
  Workspace* work_ = nullptr;
  Inertia inertia_;
  bool lawful_ = true;  // what `sane` says without the offsets
  bool idle_ = false;   // whether the force of a row is that of its offset
  View<double> x_, free_x_, offset_, gain_;
  View<double> own_;
  View<double> scratch_;
  View<Twofold> precise_scratch_;

  Pool<int> table_, columns_;  // columns_: of the groups, as numbers of the island

  template <class T>
  T* scratch() const {
    if constexpr (std::is_same_v<T, double>) return scratch_.data();
    else return precise_scratch_.data();
  }
  void find_groups(Workspace& work);
  int join_paths(View<Group> found, View<const int> alone, View<int> group_of, Workspace& work);
  void order(Patterns& patterns, Workspace& work);
  void whiten(Workspace& work);
  void compress(Workspace& work);
  void reserve(Workspace& work);
  void free_motion();
  void set_laws();
  void set_scales(const Block& b);
  void find_runs();
  template <class Sum>
  void sum_rates(View<const double> force, View<double> rate, View<double> low, View<double> gain) const;
};

}  // namespace pliant
