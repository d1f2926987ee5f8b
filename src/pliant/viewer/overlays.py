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
from pliant.viewer.survey import ROOM, longest, pressures, resultants, usual

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
        arrows = resultants(rows)
        pulls, torques = self.reader.arrows(data, moment.pulls or {}) if "pulls" in drawn else NO_PULLS
        self.force.see(max(longest(arrows[:, FORCE]), longest(pulls.vector)))
        self.torque.see(longest(torques.vector))
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
        """Choose the scales for a whole run, and leave them."""
        found = usual(moments, self.reader)
        self.force.see(found.force)
        self.torque.see(found.torque)
        self.force.automatic = self.torque.automatic = self._follows_pressure = False
        self.most_pressure = round_up(found.pressure) if found.pressure else 0.0

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
        rows, pressure = pressures(rows)
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
