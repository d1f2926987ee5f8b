"""The tab "Change": step, solver, friction, moduli; the simulation goes on with what is applied."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Final

from pliant.formulation import Convex, Coulomb
from pliant.laws import Law
from pliant.viewer.scale import in_words
from pliant.viewer.simulation import EVERYTHING, Simulation, stiffness_of

if TYPE_CHECKING:
    from pliant.viewer.view import View

SOLVERS: Final[dict[str, type[Coulomb] | type[Convex]]] = {"Coulomb": Coulomb, "Convex": Convex}
LATER: Final = "as the model has it"


class ChangeTab:
    def __init__(self, view: View, simulation: Simulation) -> None:
        self._view, self._simulation, gui = view, simulation, view.server.gui
        self._step = gui.add_text("Step [ms]", in_words(1e3 * simulation.step_size))
        self._solver = gui.add_dropdown(
            "Solver", list(SOLVERS), initial_value="Convex" if isinstance(simulation.solver, Convex) else "Coulomb"
        )
        self._what = gui.add_dropdown("Material of", list(simulation.choices()))
        self._what.on_update(lambda _: self._fill())
        self._modulus = gui.add_text("", "")
        self._friction = gui.add_text("Friction", "")
        gui.add_button("Apply").on_click(lambda _: self._apply())
        self._said = gui.add_html("")
        self._fill()

    def _fill(self) -> None:
        """The numbers of the chosen material."""
        substance = self._simulation.choices()[self._what.value]
        self._modulus.label, value = stiffness_of(substance)
        self._modulus.value = in_words(value)
        own = None if isinstance(substance, Law) else substance.friction
        self._friction.value = LATER if own is None else in_words(own)
        self._friction.disabled = isinstance(substance, Law)

    def _apply(self) -> None:
        simulation, key = self._simulation, self._what.value
        try:
            step, modulus = _number("Step", self._step.value), _number(self._modulus.label, self._modulus.value)
            friction = None if self._friction.value == LATER else _number("Friction", self._friction.value)
        except ValueError as error:
            self._say(str(error), wrong=True)
            return
        chosen = SOLVERS[self._solver.value]
        solver = simulation.solver if type(simulation.solver) is chosen else chosen()
        wrong = self._view.do(
            lambda: simulation.change(key, modulus=modulus, friction=friction, step=1e-3 * step, solver=solver)
        )
        words = "everything" if key == EVERYTHING else key
        done = f"from t = {simulation.time:.4g} s: {self._solver.value}, {words} with {in_words(modulus)}"
        self._say(wrong or done, wrong=bool(wrong))

    def _say(self, text: str, *, wrong: bool) -> None:
        colour = "#c0392b" if wrong else "inherit"
        self._said.content = (
            f'<div style="font-size:0.85em;padding:0.2em 0.8em;color:{colour}">{html.escape(text)}</div>'
        )


def _number(label: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{label}: {text!r} is no number, such as 200 or 2e11") from None
