"""What ties, drives and watches random bodies, as MJCF: tendons, equalities, actuators, contact pairs, sensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.support.random_bodies import Names
from tests.support.random_draws import Draws, element

SPREAD = np.array([-1.0, 1.0])
AT_SITES = ("touch", "force", "torque", "accelerometer", "gyro", "velocimeter", "rangefinder")


class Links:
    """Makes what refers to names. strength: what forces are multiples of."""

    def __init__(self, draws: Draws, names: Names, strength: float) -> None:
        self.draws, self.names, self.strength = draws, names, strength

    def section(self, tag: str, make: Callable[[], str], share: float, most: int) -> str:
        """Up to `most` of them, in a share of all models."""
        d = self.draws
        made = [make() for _ in range(d.count(1, most))] if d.often(share) else []
        return element(tag, made) if any(made) else ""

    def tendon(self) -> str:
        d, names, f = self.draws, self.names, self.strength
        spatial = d.often(0.5) or not names.scalars
        name, length = f"t{len(names.tendons)}", d.decades(-1, 0.5)
        names.tendons.append(name)
        rest, path = d.within(0, length), self.path() if spatial else self.coefficients()
        heavy = d.often(0.1) and not any("geom" in part for part in path)  # around geoms MuJoCo allows no armature
        return element(
            "spatial" if spatial else "fixed", path, name=name,
            range=d.maybe(0.4, np.array([0.0, length]) if spatial else d.range(length)),
            stiffness=d.maybe(0.4, f * d.decades(0, 6)), damping=d.maybe(0.3, f * d.decades(-1, 3)),
            springlength=d.maybe(0.3, np.array([rest, rest + d.one_of([0.0, 0.1])])),
            frictionloss=d.maybe(0.2, f * d.decades(-1, 3)), armature=d.maybe(heavy, f * d.decades(-4, 0)),
            margin=d.maybe(0.1, d.decades(-4, -1)), actuatorfrcrange=d.maybe(0.1, f * d.decades(-1, 3) * SPREAD),
            **d.softness(0.2, "limit"),
        )  # fmt: skip

    def path(self) -> list[str]:
        """Sites, at times around a geom, at times in two branches."""
        d, names = self.draws, self.names
        sites = [element("site", site=s) for s in d.rng.permutation(names.sites)[: d.count(2, 4)]]
        if names.wraps and d.often(0.3):
            sites.insert(1, element("geom", geom=d.one_of(names.wraps), sidesite=d.maybe(0.5, d.one_of(names.sites))))
        elif len(sites) == 4 and d.often(0.3):
            sites.insert(2, element("pulley", divisor=d.within(1, 3)))
        return sites

    def coefficients(self) -> list[str]:
        d = self.draws
        joints = d.rng.permutation(self.names.scalars)[: d.count(1, 3)]
        return [element("joint", joint=j, coef=d.within(-3, 3)) for j in joints]

    def equality(self) -> str:
        d, names = self.draws, self.names
        kinds = ["connect", "weld"] + ["joint"] * bool(names.scalars) + ["tendon"] * bool(names.tendons)
        kind = d.one_of(kinds)
        given: dict[str, Any] = {"active": d.maybe(0.1, "false"), **d.softness(0.2)}
        if kind in ("joint", "tendon"):
            known = names.scalars if kind == "joint" else names.tendons
            pair = self.two(known) if len(known) > 1 and d.often(0.6) else [d.one_of(known), None]
            given |= {"polycoef": [d.within(-0.1, 0.1), d.within(-2, 2), d.within(-0.2, 0.2), 0, 0]}
        else:
            pair = list(self.two(names.bodies))
            if kind == "connect" or d.often(0.5):
                given |= {"anchor": d.within(-0.3, 0.3, 3)}
            if kind == "weld":
                given |= {"torquescale": d.maybe(0.3, d.decades(-2, 1))}
        what = "body" if kind in ("connect", "weld") else kind
        return element(kind, (), **{f"{what}1": pair[0], f"{what}2": pair[1]}, **given)

    def two(self, things: list[str]) -> list[Any]:
        return [str(thing) for thing in self.draws.rng.permutation(things)[:2]]

    def actuator(self) -> str:
        d, names = self.draws, self.names
        name = f"a{len(names.actuators)}"
        names.actuators.append(name)
        if d.often(0.05):
            return element(
                "adhesion",
                name=name,
                body=d.one_of(names.bodies[1:]),
                ctrlrange="0 1",
                gain=self.strength * d.decades(1, 4),
            )
        kind = d.one_of(["motor", "position", "velocity", "damper", "general", "muscle", "intvelocity", "cylinder"])
        if kind == "muscle" and not names.scalars:
            kind = "motor"
        given: dict[str, Any] = {"forcerange": d.maybe(0.4, self.strength * d.decades(0, 4) * SPREAD)}
        if kind not in ("damper", "muscle"):
            given |= {"ctrlrange": d.maybe(0.4, d.decades(-1, 1) * SPREAD), "gear": d.maybe(0.3, d.within(-5, 5))}
        return element(kind, name=name, **(given | self.gains(kind) | self.driven(kind)))

    def driven(self, kind: str) -> dict[str, Any]:
        """What it acts on."""
        d, names = self.draws, self.names
        if names.tendons and d.often(0.3):
            return {"tendon": d.one_of(names.tendons)}
        if names.scalars and (d.often(0.7) or kind == "muscle"):
            return {"joint": d.one_of(names.scalars)}
        turned = names.balls + names.frees
        if turned and d.often(0.6) and kind != "muscle":
            return {"joint": d.one_of(turned), "gear": self.strength * d.within(-1, 1, 6)}
        return {"site": d.one_of(names.sites), "gear": self.strength * d.within(-1, 1, 6)}

    def gains(self, kind: str) -> dict[str, Any]:
        d = self.draws
        f = self.strength
        strength, damping = f * d.decades(0, 5), f * d.decades(-2, 4)
        kinds: dict[str, dict[str, Any]] = {
            "motor": {"gear": f * d.decades(0, 2)},
            "position": {"kp": strength, "kv": d.maybe(0.5, damping), "timeconst": d.maybe(0.2, d.decades(-3, 0))},
            "velocity": {"kv": damping},
            "damper": {"kv": damping, "ctrlrange": [0.0, d.decades(-1, 1)]},
            "intvelocity": {"kp": strength, "kv": d.maybe(0.5, damping), "actrange": d.decades(-1, 1) * SPREAD},
            "cylinder": {"timeconst": d.decades(-2, 0), "area": f * d.decades(0, 2), "bias": [0, -strength / 10, 0]},
            "muscle": {
                "lengthrange": [0.1, 0.1 + d.decades(-1, 0.5)], "force": f * d.decades(1, 3), "ctrlrange": "0 1",
            },
            "general": {
                "gainprm": strength, "biastype": "affine", "biasprm": [d.within(-1, 1), -strength, -damping],
                "dyntype": d.one_of(["none", "integrator", "filter", "filterexact"]), "dynprm": d.decades(-3, 0),
            },
        }  # fmt: skip
        return kinds[kind]

    def contacts(self) -> str:
        """Pairs of geoms and excluded bodies, none twice."""
        d, names = self.draws, self.names
        pairs, excluded = d.maybe(0.15, d.count(1, 3)) or 0, d.maybe(0.2, d.count(1, 3)) or 0
        moving = [i for i, (_, body) in enumerate(names.geoms) if body != "world"]
        chosen = {tuple(sorted((int(d.rng.integers(len(names.geoms))), d.one_of(moving)))) for _ in range(pairs)}
        made = [self.pair(*(names.geoms[i] for i in two)) for two in sorted(chosen)]
        bodies = {tuple(sorted(self.two(names.bodies[1:]))) for _ in range(excluded) if len(names.bodies) > 2}
        made += [element("exclude", body1=one, body2=two) for one, two in sorted(bodies)]
        return element("contact", made) if any(made) else ""

    def pair(self, one: tuple[str, str], two: tuple[str, str]) -> str:
        d = self.draws
        if one[1] == two[1]:
            return ""
        friction = [d.within(0, 1.5), d.within(0, 1.5), d.decades(-4, -1), d.decades(-4, -1), d.decades(-4, -1)]
        return element(
            "pair", geom1=one[0], geom2=two[0], condim=d.one_of(["1", "3", "4", "6"]), friction=d.maybe(0.7, friction),
            margin=d.maybe(0.3, d.decades(-4, -1)), **d.softness(0.3),
        )  # fmt: skip

    def sensor(self) -> str:
        d, names = self.draws, self.names
        kind = d.one_of(
            [
                *AT_SITES,
                "jointpos",
                "jointvel",
                "jointactuatorfrc",
                "tendonpos",
                "actuatorfrc",
                "framelinacc",
                "subtreecom",
            ]
        )
        if kind in AT_SITES:
            return element(kind, site=d.one_of(names.sites))
        if kind == "framelinacc":
            return element(kind, objtype="xbody", objname=d.one_of(names.bodies[1:]))
        what, known = {"j": ("joint", names.scalars), "t": ("tendon", names.tendons), "s": ("body", names.bodies[1:]),
                       "a": ("actuator", names.actuators)}[kind[0]]  # fmt: skip
        return element(kind, **{what: d.one_of(known)}) if known else ""
