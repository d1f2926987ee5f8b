"""The scenes in Drake: free bodies with spheres, boxes and capsules, above a plane, and connects. Point contact, from
MJCF."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, cast

import numpy as np

from pliant.inputs import Array
from pliant.systems.mujoco_door import mujoco

SCHEMES: Final = ("lagged", "SAP", "CENIC")
ACCURACY: Final = 1e-3  # of CENIC
RELAXATION: Final = 0.1  # [s] Drake's own
DEEP: Final = 10.0  # [m] the box that stands for a plane


class Simulated:
    """A scene in Drake. scheme: one of SCHEMES. Of a contact: stiffness [N/m], Hunt and Crossley's damping [s/m], which
    SAP does not have, and the relaxation time that SAP has in its place [s]."""

    def __init__(
        self, xml: str, scheme: str, stiffness: float, dissipation: float = 0.0, relaxation: float = RELAXATION
    ) -> None:
        from pydrake.multibody.plant import AddMultibodyPlantSceneGraph
        from pydrake.systems.analysis import Simulator
        from pydrake.systems.framework import DiagramBuilder

        model = mujoco().MjModel.from_xml_string(xml)
        self._h = float(model.opt.timestep)
        builder = DiagramBuilder()
        self._plant, _ = AddMultibodyPlantSceneGraph(builder, 0.0 if scheme == "CENIC" else self._h)
        self._bodies = _build(self._plant, model, scheme, _Spring(stiffness, dissipation, relaxation))
        diagram = builder.Build()
        self._simulator = Simulator(diagram)
        self._context = self._plant.GetMyMutableContextFromRoot(self._simulator.get_mutable_context())
        for body, place, turn in zip(self._bodies, model.body_pos[1:], model.body_quat[1:], strict=True):
            self._plant.SetFreeBodyPose(self._context, body, _pose(place, turn))
        if scheme == "CENIC":
            from pydrake.systems.analysis import ApplySimulatorConfig, SimulatorConfig

            settings = SimulatorConfig(integration_scheme="cenic", max_step_size=self._h, accuracy=ACCURACY)
            ApplySimulatorConfig(settings, self._simulator)
        self._simulator.Initialize()
        self._steps = 0

    def step(self, count: int) -> None:
        self._steps += count
        self._simulator.AdvanceTo(self._steps * self._h)

    @property
    def position(self) -> Array:
        return np.array([self._plant.EvalBodyPoseInWorld(self._context, b).translation() for b in self._bodies])

    @property
    def speed(self) -> float:
        return float(np.abs(self._plant.GetVelocities(self._context)).max())

    @property
    def energy(self) -> float:
        """Of motion and height [J]."""
        plant, context = self._plant, self._context
        return float(plant.EvalKineticEnergy(context) + plant.EvalPotentialEnergy(context))

    @property
    def velocity(self) -> Array:
        """Of the bodies, (n, 6): linear [m/s] and angular [rad/s], in the world."""
        rates = [self._plant.EvalBodySpatialVelocityInWorld(self._context, b) for b in self._bodies]
        return np.array([np.append(rate.translational(), rate.rotational()) for rate in rates])

    def throw(self, body: int, linear: Array, angular: Array) -> None:
        """Give the body of this number a velocity, as `velocity` has it."""
        from pydrake.multibody.math import SpatialVelocity

        rate = SpatialVelocity(cast(Any, angular), cast(Any, linear))
        self._plant.SetFreeBodySpatialVelocity(self._context, self._bodies[body], rate)
        self._simulator.Initialize()

    @property
    def pose(self) -> tuple[Array, Array]:
        """Of the bodies: positions (n, 3) [m], unit quaternions (n, 4)."""
        turns = [self._plant.EvalBodyPoseInWorld(self._context, b).rotation().ToQuaternion() for b in self._bodies]
        return self.position, np.array([turn.wxyz() for turn in turns])


def _pose(place: Array, turn: Array) -> Any:
    from pydrake.math import RigidTransform

    return RigidTransform(_rotation(turn), cast(Any, place))


def _rotation(turn: Array) -> Any:
    from pydrake.common.eigen_geometry import Quaternion
    from pydrake.math import RotationMatrix

    return RotationMatrix(Quaternion(cast(Any, turn / np.linalg.norm(turn))))


class _Spring(NamedTuple):
    stiffness: float
    dissipation: float
    relaxation: float


def _build(plant: Any, model: Any, scheme: str, spring: _Spring) -> list[Any]:
    from pydrake.geometry import Box, Capsule, Sphere
    from pydrake.multibody.plant import ContactModel, DiscreteContactApproximation
    from pydrake.multibody.tree import RotationalInertia, SpatialInertia

    plant.set_contact_model(ContactModel.kPoint)
    if scheme != "CENIC":
        kinds = {"lagged": DiscreteContactApproximation.kLagged, "SAP": DiscreteContactApproximation.kSap}
        plant.set_discrete_contact_approximation(kinds[scheme])
    plant.mutable_gravity_field().set_gravity_vector(model.opt.gravity)
    bodies, centre = [], cast(Any, np.zeros(3))
    for b in range(1, model.nbody):
        mass, inertia = float(model.body_mass[b]), RotationalInertia(*model.body_inertia[b])
        inertia = inertia.ReExpress(_rotation(model.body_iquat[b]))  # MuJoCo's are about principal axes
        bodies.append(plant.AddRigidBody(f"body {b}", SpatialInertia.MakeFromCentralInertia(mass, centre, inertia)))
    shapes: dict[int, Any] = {
        0: lambda s: Box(2.0 * s[0], 2.0 * s[1], DEEP),
        2: lambda s: Sphere(s[0]),
        3: lambda s: Capsule(s[0], 2.0 * s[1]),
        6: lambda s: Box(*(2.0 * s)),
    }
    for g in np.flatnonzero(model.geom_contype != 0):
        body = plant.world_body() if model.geom_bodyid[g] == 0 else bodies[model.geom_bodyid[g] - 1]
        friction = float(model.geom_friction[g, 0])
        shape = shapes[int(model.geom_type[g])](model.geom_size[g])
        place = model.geom_pos[g] - (np.array([0.0, 0.0, 0.5 * DEEP]) if model.geom_type[g] == 0 else 0.0)
        plant.RegisterCollisionGeometry(
            body, _pose(place, model.geom_quat[g]), shape, f"geom {g}", _properties(spring, friction)
        )
    if model.neq:  # connects; one to the world itself ends the process (Drake 1.51)
        ground = plant.AddRigidBody(
            "ground", SpatialInertia.MakeFromCentralInertia(1.0, centre, RotationalInertia(1, 1, 1))
        )
        plant.WeldFrames(plant.world_frame(), ground.body_frame())
        ends = [ground, *bodies]
        for one, other, data in zip(model.eq_obj1id, model.eq_obj2id, model.eq_data, strict=True):
            plant.AddBallConstraint(ends[one], data[:3], ends[other], data[3:6])
    plant.Finalize()
    return bodies


def _properties(spring: _Spring, friction: float) -> Any:
    """Two in series have the stiffness."""
    from pydrake.geometry import AddContactMaterial, ProximityProperties
    from pydrake.multibody.plant import CoulombFriction

    made = ProximityProperties()
    coulomb = CoulombFriction(friction, friction)
    damping, stiffness = spring.dissipation, 2.0 * spring.stiffness
    AddContactMaterial(dissipation=damping, point_stiffness=stiffness, friction=coulomb, properties=made)
    made.AddProperty("material", "relaxation_time", spring.relaxation)
    return made
