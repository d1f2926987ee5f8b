"""What is drawn over the bodies on request: contact points, forces, cones, pressure, limits and equalities."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from pliant.errors import InputError
from pliant.inputs import Array
from pliant.solution import ContactState
from pliant.systems.mujoco_pulls import Arrows, PullReader
from pliant.viewer import colours
from pliant.viewer.bodies import moving
from pliant.viewer.layers import ArrowLayer, Layer
from pliant.viewer.moment import AREA, ELEMENT, FORCE, GEOM1, GEOM2, NORMAL, PLACE, STATE, Moment
from pliant.viewer.scale import CUT, Scale, round_up
from pliant.viewer.shapes import ball, cone, plate, turned_to

# What can be shown, and how the panel calls it.
KINDS: Final = {
    "contacts": "Contact points",
    "forces": "Contact forces",
    "cones": "Friction cones",
    "pressure": "Foundation pressure",
    "pulls": "Limits and equalities",
}
NO_PULLS: Final = (Arrows(np.zeros((0, 3)), np.zeros((0, 3))),) * 2
ROOT: Final = "/shown"
ROOM: Final = 0.22  # of the size of the scene, that the longest arrow takes


class Overlays:
    """The layers of a scene, and their scales."""

    def __init__(self, server: Any, model: Any, size: float, *, show: Iterable[str] = ()) -> None:
        """size: of what there is to see [m]."""
        self.reader = PullReader(model)
        self._fixed = ~moving(model)
        self.force, self.torque = Scale("N", ROOM * size), Scale("N m", ROOM * size)
        self.most_pressure, self._follows_pressure = 0.0, True  # [Pa], where the colours end
        self._radius, width, self._longest = 0.008 * size, 0.006 * size, CUT * ROOM * size
        self._root = server.scene.add_frame(ROOT, show_axes=False)
        wanted = check_kinds(show)
        self.nodes = {
            kind: server.scene.add_frame(f"{ROOT}/{title}", show_axes=False, visible=kind in wanted)
            for kind, title in KINDS.items()
        }
        self._points = Layer(server, self._name("contacts", "points"), ball())
        self._forces = ArrowLayer(server, self._name("forces", "arrows"), colours.FORCE, width, self._longest)
        self._cones = Layer(server, self._name("cones", "cones"), cone(), opacity=0.3)
        self._plates = Layer(server, self._name("pressure", "elements"), plate())
        self._pulls = ArrowLayer(server, self._name("pulls", "forces"), colours.PULL, width, self._longest)
        self._torques = ArrowLayer(server, self._name("pulls", "torques"), colours.TORQUE, width, self._longest)

    def update(self, moment: Moment, data: Any, *, everything: bool = False) -> None:
        """Draw a moment; data: with the bodies placed. everything: also what is hidden, for an exported page."""
        drawn = {kind for kind in KINDS if everything or self.nodes[kind].visible}
        rows = self._on_movers(moment.rows)
        arrows = _resultants(rows)
        pulls, torques = self.reader.arrows(data, moment.pulls or {}) if "pulls" in drawn else NO_PULLS
        self.force.see(max(_longest(arrows[:, FORCE]), _longest(pulls.vector)))
        self.torque.see(_longest(torques.vector))
        if "contacts" in drawn:
            self._draw_points(rows[rows[:, ELEMENT] < 0.0] if self.nodes["pressure"].visible else rows)
        if "forces" in drawn:
            self._forces.show(arrows[:, PLACE], arrows[:, FORCE] / self.force.per_metre)
        if "cones" in drawn:
            self._draw_cones(rows, moment.friction)
        if "pressure" in drawn:
            self._draw_pressure(moment.rows)
        if "pulls" in drawn:
            self._pulls.show(pulls.place, pulls.vector / self.force.per_metre)
            self._torques.show(torques.place, torques.vector / self.torque.per_metre)

    def survey(self, moments: Iterable[tuple[Moment, Any]]) -> None:
        """Choose the scales for a whole run, and leave them: arrows of two times can then be compared. The largest few
        do not count, which are those of impacts."""
        forces, torques, pressures = [], [], []
        for moment, data in moments:
            pulls, turns = self.reader.arrows(data, moment.pulls or {})
            forces.append(max(_longest(_resultants(moment.rows)[:, FORCE]), _longest(pulls.vector)))
            torques.append(_longest(turns.vector))
            pressures.append(float(_pressure(moment.rows)[1].max(initial=0.0)))
        self.force.see(_usual(forces))
        self.torque.see(_usual(torques))
        self.force.automatic = self.torque.automatic = self._follows_pressure = False
        self.most_pressure = round_up(_usual(pressures)) if any(pressures) else 0.0

    def move(self, offset: Any) -> None:
        """Where the bodies are drawn, when the camera follows one of them."""
        if not np.array_equal(self._root.position, offset):
            self._root.position = offset

    def legend(self) -> dict[str, str]:
        """What each kind means, as HTML."""
        return {
            "contacts": colours.state_legend(),
            "forces": colours.line(colours.FORCE, f"on the moving body: {self.force}")
            + colours.line(colours.CUT, f"cut off, above {self.force.most:.3g} N"),
            "cones": colours.line(colours.CONE, "as high as the normal force: sticks inside, slips on its rim"),
            "pressure": colours.pressure_legend(self.most_pressure),
            "pulls": colours.line(colours.PULL, f"force: {self.force}")
            + colours.line(colours.TORQUE, f"torque about the arrow: {self.torque}"),
        }

    def _name(self, kind: str, part: str) -> str:
        return f"{ROOT}/{KINDS[kind]}/{part}"

    def _on_movers(self, rows: Array) -> Array:
        """Forces and normals as they are for the second geom; for the first where only that one can move."""
        one, two = (rows[:, k].astype(np.int64) for k in (GEOM1, GEOM2))
        turn = np.where(self._fixed[two] & ~self._fixed[one], -1.0, 1.0)[:, None]
        turned = rows.copy()
        turned[:, FORCE] *= turn
        turned[:, NORMAL] *= turn
        return turned

    def _draw_points(self, rows: Array) -> None:
        size = np.where(rows[:, ELEMENT] >= 0.0, 0.4, 1.0)[:, None] * self._radius
        still = np.tile([1.0, 0.0, 0.0, 0.0], (len(rows), 1))
        self._points.show(rows[:, PLACE], still, np.tile(size, 3), colours.state_colours(rows[:, STATE]))

    def _draw_cones(self, rows: Array, friction: Array) -> None:
        push = np.einsum("ni,ni->n", rows[:, NORMAL], rows[:, FORCE]) / self.force.per_metre
        there = (rows[:, STATE] != ContactState.OPEN) & (friction > 0.0) & (rows[:, ELEMENT] < 0.0)
        there &= push > 0.5 * self._radius
        push = np.minimum(push, self._longest)
        rows, push, wide = rows[there], push[there, None], (friction * push)[there, None]
        self._cones.show(
            rows[:, PLACE], turned_to(rows[:, NORMAL]), np.hstack([wide, wide, push]),
            np.tile(np.array(colours.CONE), (len(rows), 1)),
        )  # fmt: skip

    def _draw_pressure(self, rows: Array) -> None:
        rows, pressure = _pressure(rows)
        most = float(pressure.max(initial=0.0))
        if self._follows_pressure and most and not 0.2 * self.most_pressure <= most <= self.most_pressure:
            self.most_pressure = round_up(most)
        side = np.sqrt(rows[:, AREA])[:, None]
        above = rows[:, PLACE] + 0.3 * self._radius * rows[:, NORMAL]  # out of the ground that it lies on
        self._plates.show(
            above, turned_to(rows[:, NORMAL]), np.hstack([side, side, side]),
            colours.pressure_colours(pressure, self.most_pressure),
        )  # fmt: skip


def check_kinds(show: Iterable[str]) -> set[str]:
    """Names of what can be shown."""
    wanted = {show} if isinstance(show, str) else set(show)
    unknown = sorted(wanted - set(KINDS))
    if unknown:
        raise InputError(f"show: there is no {', '.join(map(repr, unknown))}; there are {', '.join(KINDS)}")
    return wanted


def _resultants(rows: Array) -> Array:
    """Contacts as they are; elements of a foundation, too many to read, as one where their forces have their centre."""
    elements = rows[:, ELEMENT] >= 0.0
    found = [rows[~elements]]
    for pair in np.unique(rows[elements][:, [GEOM1, GEOM2]], axis=0):
        part = rows[elements & (rows[:, [GEOM1, GEOM2]] == pair).all(axis=1)]
        one = part[:1].copy()
        weight = np.linalg.norm(part[:, FORCE], axis=1)
        one[0, FORCE] = part[:, FORCE].sum(axis=0)
        one[0, PLACE] = np.average(part[:, PLACE], axis=0, weights=weight) if weight.any() else part[0, PLACE]
        found.append(one)
    return np.concatenate(found)


def _pressure(rows: Array) -> tuple[Array, Array]:
    """Rows of elements, and the pressure on them [Pa]."""
    rows = rows[rows[:, ELEMENT] >= 0.0]
    return rows, np.einsum("ni,ni->n", rows[:, NORMAL], rows[:, FORCE]) / rows[:, AREA]


def _usual(values: list[float]) -> float:
    """The largest but for a few; of those that are not 0."""
    there = [value for value in values if value > 0.0]
    return float(np.percentile(there, 90.0)) if there else 0.0


def _longest(vectors: Array) -> float:
    return float(np.linalg.norm(vectors, axis=1).max(initial=0.0))
