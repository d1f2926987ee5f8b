"""Random trees of bodies with geoms, joints and sites, as MJCF."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tests.support.random_draws import Draws, element, text

SHAPES = ("sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh")
MESHES = 2
ROUND = ("sphere", "cylinder")  # what tendons wrap around


@dataclass
class Names:
    """What there is to refer to, by its kind."""

    bodies: list[str] = field(default_factory=lambda: ["world"])
    geoms: list[tuple[str, str]] = field(default_factory=list)  # with its body
    wraps: list[str] = field(default_factory=list)
    sites: list[str] = field(default_factory=list)
    scalars: list[str] = field(default_factory=list)  # hinges and slides
    balls: list[str] = field(default_factory=list)
    frees: list[str] = field(default_factory=list)
    tendons: list[str] = field(default_factory=list)
    actuators: list[str] = field(default_factory=list)
    velocities: int = 0


class Bodies:
    """Makes bodies.

    size: of geoms [m]; crowd: of the room they start in [m]; heavy: their usual mass [kg], unlike by so many decades.
    strength: what moments and forces are multiples of; in wild models they know nothing of the masses.
    """

    def __init__(self, draws: Draws) -> None:
        self.draws, self.names = draws, Names()
        self.wild = draws.often(0.2)
        self.size, self.heavy = draws.decades(-1.7, -0.5), draws.decades(-2, 2)
        self.crowd = self.size * draws.one_of([2.0, 5.0, 5.0, 20.0])
        self.unlike = 3.0 if self.wild else draws.one_of([0.2, 1.0])
        self.strength = 1.0 if self.wild else self.heavy * self.size
        self.soft, self.slippery = draws.one_of([0.0, 0.0, 0.5]), draws.one_of([0.0, 0.2])

    def world(self) -> str:
        """Ground, and trees upon it."""
        d, ground = self.draws, []
        if d.often(0.8):
            ground.append(self.geom("world", type="plane", size="0 0 1", quat=None, pos="0 0 0", mass=None))
        if d.often(0.15):
            ground.append(
                self.geom("world", type="hfield", hfield="hills", size=None, quat=None, pos="0 0 0", mass=None)
            )
        if d.often(0.3):
            ground.append(self.geom("world"))
        ground.append(self.site())
        return "".join(ground + [self.tree(d.one_of([1, 1, 2, 2, 4])) for _ in range(d.count(1, 3))])

    def tree(self, count: int) -> str:
        """Of up to so many bodies below one that moves, is moved or stays."""
        kind = self.draws.one_of(["free", "free", "jointed", "jointed", "mocap"])
        return self.body(kind, count)

    def body(self, kind: str, count: int) -> str:
        d, name = self.draws, f"b{len(self.names.bodies)}"
        self.names.bodies.append(name)
        inside = [self.geom(name) for _ in range(d.one_of([1, 1, 1, 2]))] + [self.site(), *self.joints(kind)]
        left = count - 1
        while left > 0 and kind != "mocap":
            below = d.count(1, left)
            inside.append(self.body("jointed" if d.often(0.9) else "fixed", below))
            left -= below
        high = [0.0, 0.0, d.within(0.0, self.crowd)] if kind != "fixed" else [0.0, 0.0, 0.0]
        return element(
            "body", inside, name=name, pos=d.within(-self.crowd, self.crowd, 3) / 2 + high,
            quat=d.maybe(0.5, d.direction(4)), mocap="true" if kind == "mocap" else None,
            gravcomp=d.maybe(0.1, d.within(0.0, 1.5)),
        )  # fmt: skip

    def geom(self, body: str, **given: Any) -> str:
        d, name, type = self.draws, f"g{len(self.names.geoms)}", d_type(given, self.draws)
        self.names.geoms.append((name, body))
        if type in ROUND:
            self.names.wraps.append(name)
        margin = d.maybe(0.15, d.decades(-4, -1))
        shape: dict[str, Any] = {"size": self.size * d.within(0.3, 1.5, 3)}
        if type == "mesh":
            shape = {"mesh": f"mesh{d.count(0, MESHES - 1)}"}
        made = {
            "name": name, "type": type, **shape, "pos": d.maybe(0.3, self.size * d.within(-1, 1, 3)),
            "quat": d.maybe(0.5, d.direction(4)), "mass": self.mass(), "condim": d.one_of(["1", "3", "3", "4", "6"]),
            "friction": self.friction(), "margin": margin, "gap": d.maybe(0.5, margin and margin * d.within(0, 1)),
            "priority": d.maybe(0.1, str(d.count(0, 2))), "solmix": d.maybe(0.1, d.within(0, 2)),
            "fluidshape": d.maybe(0.1, "ellipsoid"), "contype": d.maybe(0.05, "0"), **d.softness(self.soft),
        }  # fmt: skip
        return element("geom", **{**made, **given})

    def mass(self) -> float:
        """Over six decades [kg]."""
        return float(np.clip(self.heavy * self.draws.decades(-self.unlike, self.unlike), 1e-3, 1e3))

    def friction(self) -> np.ndarray:
        """Sliding, torsion, rolling; sometimes none."""
        d = self.draws
        if d.often(self.slippery):
            return np.zeros(3)
        return np.array([d.within(0, 1.5), d.decades(-4, -0.5), d.decades(-5, -1)]) * (d.rng.random(3) > 0.05)

    def site(self) -> str:
        name = f"s{len(self.names.sites)}"
        self.names.sites.append(name)
        return element("site", name=name, pos=self.size * self.draws.within(-2, 2, 3), size=text(self.size))

    def joints(self, kind: str) -> list[str]:
        """A free one, a ball, or up to three that hinge and slide."""
        d, names = self.draws, self.names
        if kind in ("mocap", "fixed"):
            return []
        if kind == "free":
            names.frees.append(f"free{len(names.frees)}")
            names.velocities += 6
            return [element("freejoint", name=names.frees[-1])]
        if d.often(0.25):
            names.balls.append(f"ball{len(names.balls)}")
            names.velocities += 3
            limit = d.maybe(0.3, np.array([0.0, d.within(0.01, 2.0)]))
            return [element("joint", name=names.balls[-1], type="ball", range=limit, **self.resistance())]
        return [self.scalar() for _ in range(d.one_of([1, 1, 1, 2, 3]))]

    def scalar(self) -> str:
        d, names, type = self.draws, self.names, self.draws.one_of(["hinge", "hinge", "slide"])
        names.scalars.append(f"j{len(names.scalars)}")
        names.velocities += 1
        size = 2.0 if type == "hinge" else self.crowd
        return element(
            "joint", name=names.scalars[-1], type=type, axis=d.direction(), pos=d.maybe(0.3, self.size * d.direction()),
            range=d.maybe(0.4, d.range(size)), springref=d.maybe(0.2, d.within(-size, size)),
            actuatorfrcrange=d.maybe(0.1, self.strength * d.decades(-1, 3) * np.array([-1, 1])), **self.resistance(),
        )  # fmt: skip

    def resistance(self) -> dict[str, Any]:
        """What a joint opposes to motion."""
        d, f = self.draws, self.strength
        return {
            "damping": d.maybe(0.3 if self.wild else 0.8, f * d.decades(-2, 2)),
            "stiffness": d.maybe(0.2, f * d.decades(-2, 6)), "frictionloss": d.maybe(0.15, f * d.decades(-2, 2)),
            "armature": d.maybe(0.2, f * self.size * d.decades(-4, 1)),
            "margin": d.maybe(0.1, d.decades(-4, -1)),
            **d.softness(self.soft, "limit"), **d.softness(self.soft / 2, "friction"),
        }  # fmt: skip


def d_type(given: dict[str, Any], draws: Draws) -> str:
    """The shape that is asked for, or any."""
    return str(given.get("type") or draws.one_of(SHAPES))


def assets(draws: Draws) -> str:
    """Convex meshes from points around a middle, and a height field of a few cells."""
    size = draws.decades(-1.5, -0.5)
    points = [size * np.array([draws.direction() for _ in range(draws.count(8, 20))]) for _ in range(MESHES)]
    meshes = [element("mesh", name=f"mesh{i}", vertex=p, inertia="convex") for i, p in enumerate(points)]
    rows, columns = draws.count(2, 6), draws.count(2, 6)
    hills = element(
        "hfield", name="hills", nrow=str(rows), ncol=str(columns), elevation=draws.within(0, 1, rows * columns),
        size=[draws.within(0.3, 3), draws.within(0.3, 3), draws.within(0.01, 0.3), 0.1],
    )  # fmt: skip
    return element("asset", [*meshes, hills])
