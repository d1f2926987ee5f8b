// Which contacts and limits could close within the step. The gap within which contacts are found, and the margin of limits,
// follow the speeds, rotation included.
#pragma once
#include "mujoco/model.h"
#include "workspace.h"

namespace pliant {

class Reach {
 public:
  View<double> way;  // (ngeom,) how far any point of a geom can go in the step

  // limits: false leaves their margins alone, on which MuJoCo's references depend.
  void reserve(Model& model, const mjData& d, bool limits, Workspace& work);

  // Gaps and margins that cover the way of the step at the speeds of its start, at those covered before, and at the velocity v.
  void cover(View<const double> v);
  // How far from each other two geoms may be to touch within the step, of those that are within this margin.
  double margin_of(int a, int b, double margin);
  // Whether a step with v goes further than is covered, to a limit or with a geom: thrown by an impact, say.
  bool outrun(View<const double> v);
  // The margins of limits as the user set them.
  void restore_margins();

  // Whether the way of the step is long for one of two geoms, and they need not touch as it seems.
  bool bends(int a, int b, View<const double> v);
  bool is_long(int a, int b) const;
  // A bound on how fast two geoms come nearer to each other at the velocity v. Of two that fall together it is small;
  // centres that go in circles turn their velocities on the way.
  double approach(int a, int b, View<const double> v);
  // Of the velocity of the last approach, a bound on how much turning bends the ways of points.
  double bend(int a, int b) const;
  // The velocity that the following is about.
  void set_velocity(View<const double> v) { find_velocities(v); }
  // How fast the gap of a contact grows.
  double opening(const mjContact& contact) const;
  // How far bodies turn within the step at the velocity v [rad], (nbody,).
  View<const double> turns(View<const double> v);

 private:
  Model* model_ = nullptr;
  const mjModel* m_ = nullptr;
  const mjData* d_ = nullptr;
  bool limits_ = true, fixed_ = false;
  double h_ = 0, fall_ = 0;
  View<double> speed_, rate_, cvel_, faster_, turn_;
  Pool<int> moving_;  // geoms that move and may collide

  struct Pair {
    int a, b;
    double way;  // that the two may come nearer to each other
  };
  Pool<Pair> pairs_;    // that were looked at more closely
  View<double> known_;  // cvel at the velocities that are covered
  int covered_ = 0;

  double nearing(const double* cvel, int a, int b) const;
  void find_moving();
  void find_velocities(View<const double> v);
  void point_velocity(int body, const mjtNum* x, double* to) const { point_velocity(cvel_.data(), body, x, to); }
  void point_velocity(const double* cvel, int body, const mjtNum* x, double* to) const;
  void centre_velocity(int g, double* to) const;
  double spin(int body) const;
  void add_speeds(View<const double> v, View<double> to);
  void cover_speeds(View<const double> v);
  void widen(View<const double> v);
  void widen_limits(View<const double> v);
};

}  // namespace pliant
