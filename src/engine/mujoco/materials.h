// What a model is made of: laws that were named for geoms, limits and equalities, and the law of each contact by the materials
// of its geoms and their curvatures where they touch.
//
//   sphere, ellipsoid    their own
//   capsule, cylinder    of the cap or of the side, whichever is touched; an end or a rim of a cylinder is flat
//   plane, box, mesh     flat; also edges and corners, which have no curvature of their own
//
// Two curved surfaces, or a curved and a flat one, touch as Hertz says. Two flat ones touch as a punch, of a radius that
// makes the four corners of a cube together as stiff as a punch of its face: sqrt(area / pi) / 4, with the mean area of
// the faces of a box, that of the end of a cylinder, or of the box around a mesh. Of two the smaller radius holds.
#pragma once
#include <vector>
#include "mujoco/api.h"
#include "view.h"

namespace pliant {

struct MaterialLaw {
  double stiffness = 0, damping = 0, exponent = 1, dissipation = 0;
};

struct Material {
  double compliance, damping, dissipation;  // (1 - nu^2) / E [1/Pa], B [N s/m], alpha [s/m]
  double radius;                            // of its punch [m]; NaN: by the shape
  double restitution, restitution_speed;    // e, and the least speed for it [m/s]
  bool named;                               // false: the default one
};

// A layer of springs on a geom, one to an element.
struct Layer {
  int geom;
  double softness, damping;         // depth / E [m/Pa]
  std::vector<double> point, area;  // in the frame of the geom
};

struct Materials {
  std::vector<Material> geom;
  std::vector<MaterialLaw> geom_law, joint, tendon, equality;  // stiffness NaN: none is named
  std::vector<double> friction;                                // of geoms; NaN: that of the model
  std::vector<Layer> layers;
  std::vector<int> layer;     // of a geom, or -1
  bool by_reference = false;  // springs that solref and solimp stand for
  bool bounces = false;       // whether any has restitution
};

// Of the contact between two geoms, which lies there.
MaterialLaw contact_law(const Materials& materials, const mjModel& m, const mjData& d, const mjContact& contact);

// Of limits and equalities for which nothing is named.
MaterialLaw rigid_law(double mass);
// What the default laws are multiplied by, for bodies that belong to trees of this mass [kg]: they give way by a tenth of a
// millimetre under their own weight, however heavy they are.
double heaviness(double mass);
double tree_mass(const mjModel& m, int body);  // 0 of what does not move

}  // namespace pliant
