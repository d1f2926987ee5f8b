// Factors of P = I + sum_g E_g, where every E_g is dense on a few of the unknowns: L U without pivoting, front by front
// (Duff and Reid's multifrontal method). A front eliminates some unknowns that share all their neighbours; what is left
// of it goes into the front of its parent. One body or robot is a single dense front.
#pragma once
#include "linalg/twofold.h"
#include "workspace.h"

namespace pliant {

// Sets of unknowns, one after the other: set g is column[start[g] .. start[g + 1]).
struct Sets {
  View<const int> start, column;
  int count() const { return start.size() - 1; }
};

// The order of elimination and where everything lies. It follows from the sets alone.
class Pattern {
 public:
  void find(int unknowns, const Sets& sets);
  bool fits(int unknowns, const Sets& sets) const;

  int unknowns() const { return static_cast<int>(position.size()); }
  int fronts() const { return static_cast<int>(first.size()) - 1; }

  std::vector<int> position;          // of an unknown in the order of elimination
  std::vector<int> first;             // pivots of front s: positions first[s] .. first[s + 1]
  std::vector<int> rest_start, rest;  // the other positions of the front, ascending
  std::vector<int> into;              // where `rest` lies in the parent's front
  std::vector<int> parent;
  std::vector<int> value_start, stride;
  std::vector<int> set_front, set_index;  // the front that takes a set, and where its columns lie there
  std::vector<int> set_run, into_run;     // of these two: how many from here on lie one after the other
  int values = 0, widest = 0;

 private:
  std::vector<int> start_, column_;
};

// T: double, or Twofold where forces that cancel would eat the digits of a double.
template <class T>
class Fronts {
 public:
  // P := I
  void begin(const Pattern& pattern);
  // P += A' B on the columns of a set; A and B of k rows of `a` and `b` numbers. Three more behind B are read.
  void add(int set, View<const int> start, const double* A, int a, const T* B, int b, int k);
  // False: a pivot is 0 or not finite.
  bool factor();
  bool negative() const;             // whether det P is
  void solve(View<T> x);             // x := inv(P) x, in the order of elimination
  void solve_transposed(View<T> x);  // x := inv(P') x

 private:
  const Pattern* pattern_ = nullptr;
  Pool<T> value_, inverse_, rest_;

  T* front(int s) { return value_.data() + pattern_->value_start[static_cast<std::size_t>(s)]; }
};

extern template class Fronts<double>;
extern template class Fronts<Twofold>;

}  // namespace pliant
