"""Colours, and what they mean in words. Readable also for those who do not tell red from green."""

from __future__ import annotations

from typing import Final

import numpy as np

from pliant.inputs import Array
from pliant.solution import ContactState
from pliant.viewer.scale import in_words

Rgb = tuple[int, int, int]
STATES: Final[dict[ContactState, Rgb]] = {
    ContactState.OPEN: (150, 150, 150),
    ContactState.STICK: (0, 114, 178),
    ContactState.SLIP: (230, 97, 0),
}
NAMES: Final = {ContactState.OPEN: "grey", ContactState.STICK: "blue", ContactState.SLIP: "orange"}
WORDS: Final = {
    ContactState.OPEN: "open: near, without force",
    ContactState.STICK: "stick: friction holds",
    ContactState.SLIP: "slip: friction at its limit, or none",
}
FORCE: Final[Rgb] = (40, 40, 40)
CUT: Final[Rgb] = (200, 20, 40)
CONE: Final[Rgb] = (0, 158, 115)
PULL: Final[Rgb] = (150, 50, 160)
TORQUE: Final[Rgb] = (204, 121, 167)
# From little to much pressure: dark blue, blue, green, yellow; lightness grows steadily.
_PRESSURE: Final = np.array([[48, 18, 92], [44, 88, 148], [32, 150, 134], [120, 200, 84], [250, 228, 52]], float)


def state_colours(states: Array) -> np.ndarray:
    """(n, 3) of uint8."""
    table = np.array([STATES[state] for state in ContactState], np.uint8)
    return np.asarray(table[states.astype(np.int64)])


def pressure_colours(pressure: Array, most: float) -> np.ndarray:
    """(n, 3) of uint8, from 0 to `most` [Pa]."""
    share = np.clip(pressure / max(most, 1e-300), 0.0, 1.0) * (len(_PRESSURE) - 1)
    parts = [np.interp(share, np.arange(len(_PRESSURE)), column) for column in _PRESSURE.T]
    return np.column_stack(parts).astype(np.uint8)


def state_legend() -> str:
    return "".join(line(STATES[state], WORDS[state]) for state in ContactState)


def pressure_legend(most: float) -> str:
    """A bar from 0 to `most` [Pa], as HTML."""
    stops = ", ".join(f"rgb({r:.0f},{g:.0f},{b:.0f})" for r, g, b in _PRESSURE)
    bar = f'<div style="height:0.8em;border-radius:2px;background:linear-gradient(to right, {stops})"></div>'
    ends = "".join(f"<span>{in_words(most * part)} Pa</span>" for part in (0.0, 0.5, 1.0))
    return f'<div>pressure</div>{bar}<div style="display:flex;justify-content:space-between">{ends}</div>'


def line(colour: Rgb, text: str) -> str:
    """A colour and what it is, as HTML."""
    dot = f'<span style="color:rgb{colour};font-size:1.2em">&#9679;</span>'
    return f"<div>{dot} {text}</div>"
