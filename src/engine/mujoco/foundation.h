// Elastic foundations on geoms: every element of their surface is a contact of its own with what the geom touches. MuJoCo
// finds the pairs of geoms that are near, by its own filters; its contact points between them get no rows. An element is as
// deep as its point is inside the other geom, and pushes along that one's normal.
#pragma once
#include <cstdint>
#include "mujoco/materials.h"
#include "mujoco/model.h"
#include "workspace.h"

namespace pliant {

// The elements that could touch within a step; those of one contact dimension have as many rows each.
class Patches {
 public:
  struct Element {
    int geom, other, number, dim;  // of the foundation, what it may touch, which element
    double area, gap, stiffness, damping, friction[2];
    double frame[9], pos[3];  // the normal, away from the other, and two tangents
  };
  Pool<Element> elements;
  View<double> jacobian;  // (rows, nv)

  void clear() {
    elements.clear();
    rows_ = 0;
  }
  // Contacts of foundations get no rows of MuJoCo's: excludes them. way: how far geoms can go in the step.
  static bool exclude(const mjModel& m, mjData& d, const Materials& materials);
  void find(const mjModel& m, const mjData& d, const Materials& materials, View<const double> way, Workspace& work);

  int rows() const { return rows_; }

 private:
  int rows_ = 0;
};

}  // namespace pliant
