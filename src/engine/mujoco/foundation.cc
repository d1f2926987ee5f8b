#include "mujoco/foundation.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace pliant {
namespace {

// How far a point is from a shape, and in which direction it leaves it fastest, in the frame of the shape.
struct Distance {
  double gap;
  double normal[3];
};

Distance to_sphere(const double* x, double radius) {
  const double size = std::sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
  if (size == 0) return {-radius, {0, 0, 1}};
  return {size - radius, {x[0] / size, x[1] / size, x[2] / size}};
}

// Of n coordinates that are so far beyond their intervals; inside, the nearest end is the one that counts.
template <int n>
double nearest(const double (&beyond)[n], double (&normal)[n]) {
  double square = 0;
  int deepest = 0;
  for (int k = 0; k < n; k++) {
    normal[k] = std::max(beyond[k], 0.0);
    square += normal[k] * normal[k];
    if (beyond[k] > beyond[deepest]) deepest = k;
  }
  const double far = std::sqrt(square);
  for (int k = 0; k < n; k++) normal[k] = far > 0 ? normal[k] / far : k == deepest;
  return far > 0 ? far : beyond[deepest];
}

double sign(double x) { return x >= 0 ? 1 : -1; }

Distance to_geom(const mjModel& m, int g, const double* x) {
  const mjtNum* size = m.geom_size + 3 * g;
  switch (m.geom_type[g]) {
    case mjGEOM_PLANE: return {x[2], {0, 0, 1}};
    case mjGEOM_SPHERE: return to_sphere(x, size[0]);
    case mjGEOM_CAPSULE: {
      const double from_axis[3] = {x[0], x[1], x[2] - std::clamp(x[2], -size[1], size[1])};
      return to_sphere(from_axis, size[0]);
    }
    case mjGEOM_BOX: {
      const double beyond[3] = {std::fabs(x[0]) - size[0], std::fabs(x[1]) - size[1], std::fabs(x[2]) - size[2]};
      double n[3];
      const double gap = nearest(beyond, n);
      return {gap, {n[0] * sign(x[0]), n[1] * sign(x[1]), n[2] * sign(x[2])}};
    }
    default: {  // a cylinder: as a box in the plane of the axis and the point
      const double flat = std::hypot(x[0], x[1]);
      const double beyond[2] = {flat - size[0], std::fabs(x[2]) - size[1]};
      double n[2];
      const double gap = nearest(beyond, n);
      const double out[2] = {flat > 0 ? x[0] / flat : 1, flat > 0 ? x[1] / flat : 0};
      return {gap, {n[0] * out[0], n[0] * out[1], n[1] * sign(x[2])}};
    }
  }
}

bool is_met(int kind) {
  return kind == mjGEOM_PLANE || kind == mjGEOM_SPHERE || kind == mjGEOM_CAPSULE || kind == mjGEOM_BOX ||
         kind == mjGEOM_CYLINDER;
}

void cross(const double* a, const double* b, double* to) {
  to[0] = a[1] * b[2] - a[2] * b[1];
  to[1] = a[2] * b[0] - a[0] * b[2];
  to[2] = a[0] * b[1] - a[1] * b[0];
}

// The normal, and two tangents.
void set_frame(double* frame) {
  double axis[3] = {};
  axis[std::min_element(frame, frame + 3, [](double a, double b) { return std::fabs(a) < std::fabs(b); }) - frame] = 1;
  double* one = frame + 3;
  cross(frame, axis, one);
  const double size = std::sqrt(one[0] * one[0] + one[1] * one[1] + one[2] * one[2]);
  for (int k = 0; k < 3; k++) one[k] /= size;
  cross(frame, one, frame + 6);
}

// sign times how the point of a body moves along directions: d . (v + w x r), added to rows of nv numbers
void add_jacobian(const mjModel& m, const mjData& d, int body, const double* point, const double* frame, int dim,
                  double scale, double* rows) {
  const mjtNum* com = d.subtree_com + 3 * m.body_rootid[body];
  const double r[3] = {point[0] - com[0], point[1] - com[1], point[2] - com[2]};
  while (body > 0 && m.body_dofnum[body] == 0) body = m.body_parentid[body];
  if (body == 0) return;
  for (int j = m.body_dofadr[body] + m.body_dofnum[body] - 1; j >= 0; j = m.dof_parentid[j]) {
    const mjtNum* axis = d.cdof + 6 * j;
    double turn[3];
    cross(axis, r, turn);
    for (int i = 0; i < dim; i++) {
      const double* n = frame + 3 * i;
      rows[i * m.nv + j] +=
          scale * (n[0] * (axis[3] + turn[0]) + n[1] * (axis[4] + turn[1]) + n[2] * (axis[5] + turn[2]));
    }
  }
}

std::string name_of(const mjModel& m, int g) {
  constexpr const char* kinds[] = {"plane",    "hfield", "sphere", "capsule", "ellipsoid",
                                   "cylinder", "box",    "mesh",   "sdf"};
  const char* name = m.names + m.name_geomadr[g];
  const int kind = m.geom_type[g];
  return "geom " + (*name ? "'" + std::string(name) + "'" : std::to_string(g)) + " (" + (kind < 9 ? kinds[kind] : "?") +
         ")";
}

const Layer* layer_of(const Materials& materials, int geom) {
  const int found = geom < 0 ? -1 : materials.layer[static_cast<std::size_t>(geom)];
  return found < 0 ? nullptr : &materials.layers[static_cast<std::size_t>(found)];
}

double coarseness(const Layer* layer) {
  if (!layer) return 1.0 / 0.0;
  double sum = 0;
  for (const double a : layer->area) sum += a;
  return sum / static_cast<double>(layer->area.size());
}

}  // namespace

bool Patches::exclude(const mjModel&, mjData& d, const Materials& materials) {
  bool any = false;
  for (int c = 0; c < d.ncon && !materials.layers.empty(); c++) {
    mjContact& contact = d.contact[c];
    if (!layer_of(materials, contact.geom[0]) && !layer_of(materials, contact.geom[1])) continue;
    contact.exclude = 2;
    contact.efc_address = -1;
    any = true;
  }
  return any;
}

void Patches::find(const mjModel& m, const mjData& d, const Materials& materials, View<const double> way,
                   Workspace& work) {
  clear();
  if (materials.layers.empty()) return;
  for (int c = 0; c < d.ncon; c++) {
    const mjContact& contact = d.contact[c];
    const Layer *one = layer_of(materials, contact.geom[0]), *two = layer_of(materials, contact.geom[1]);
    if (!one && !two) continue;
    bool known = false;
    for (int k = 0; k < c; k++)
      known = known || (d.contact[k].geom[0] == contact.geom[0] && d.contact[k].geom[1] == contact.geom[1]);
    if (known) continue;
    const bool first = coarseness(one) <= coarseness(two);  // the finer elements, if both have some
    const Layer& layer = *(first ? one : two);
    const Layer* under = first ? two : one;  // one layer on the other
    const int g = layer.geom, other = contact.geom[first ? 1 : 0];
    if (!is_met(m.geom_type[other]))
      throw InputProblem(
          "a Foundation meets " + name_of(m, other) +
          ": its elements touch planes, boxes, spheres, capsules and cylinders; name a Material there, or "
          "exclude the pair");
    const double softness = layer.softness + (under ? under->softness : 0);
    const mjtNum *R = d.geom_xmat + 9 * g, *S = d.geom_xmat + 9 * other;
    for (int e = 0; e < static_cast<int>(layer.area.size()); e++) {
      Element element;
      double local[3], inside[3];
      for (int k = 0; k < 3; k++) {
        element.pos[k] = d.geom_xpos[3 * g + k];
        for (int j = 0; j < 3; j++) element.pos[k] += R[3 * k + j] * layer.point[static_cast<std::size_t>(3 * e + j)];
        local[k] = element.pos[k] - d.geom_xpos[3 * other + k];
      }
      for (int k = 0; k < 3; k++) inside[k] = S[k] * local[0] + S[3 + k] * local[1] + S[6 + k] * local[2];
      const Distance found = to_geom(m, other, inside);
      element.gap = found.gap - contact.includemargin;
      if (!(element.gap < way[g] + way[other])) continue;
      for (int k = 0; k < 3; k++) {
        element.frame[k] = 0;
        for (int j = 0; j < 3; j++) element.frame[k] += S[3 * k + j] * found.normal[j];
      }
      set_frame(element.frame);
      element.geom = g;
      element.other = other;
      element.number = e;
      element.dim = contact.dim == 1 ? 1 : 3;
      element.area = layer.area[static_cast<std::size_t>(e)];
      element.stiffness = element.area / softness;
      element.damping = layer.damping;
      element.friction[0] = contact.friction[0];
      element.friction[1] = contact.friction[1];
      elements.push(element);
      rows_ += element.dim;
    }
  }
  jacobian = work.filled(rows_ * m.nv, 0.0);
  double* to = jacobian.data();
  for (int k = 0; k < elements.size(); k++) {
    const Element& e = elements[k];
    add_jacobian(m, d, m.geom_bodyid[e.geom], e.pos, e.frame, e.dim, 1, to);
    add_jacobian(m, d, m.geom_bodyid[e.other], e.pos, e.frame, e.dim, -1, to);
    to += e.dim * m.nv;
  }
}

}  // namespace pliant
