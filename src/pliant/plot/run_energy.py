"""Where the energy of a run is, and what is gone of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pliant.errors import InputError
from pliant.inputs import Array
from pliant.plot.style import COLOURS, COLUMN, DASHES, INK, Path, label, legend_above, panels, saved

if TYPE_CHECKING:
    from pliant.trajectory import Trajectory

SAMPLES: Final = 2000  # of a curve at most
KINDS: Final = ("kinetic", "gravitational", "spring")
LITTLE: Final = 0.01  # of the height of the picture: a curve that lies on the axis
DISSIPATED, LESS = "dissipated", "dissipated, less work put in"


def energy(run: Trajectory, system: Any, *, path: Path | None = None, width: float = COLUMN) -> Any:
    """The energy of a run over time, by kind, and what is missing of it.

    system: the one that was simulated; it tells its `energy(time, q, v)`, joules by kind. Kinds without a zero of
    their own, such as "gravitational", are drawn from their lowest value. What is missing, the sum at the start less
    the sum now, is what dampers, friction and the scheme took, less the work of motors, applied forces and moving
    anchors; where `system.driven` is False there are none of these.
    """
    time, kinds = balance(run, system)
    total = np.sum(list(kinds.values()), axis=0)
    gone = DISSIPATED if getattr(system, "driven", None) is False else LESS
    curves = {kind: _from_lowest(kind, values) for kind, values in kinds.items()}
    curves[gone] = total[0] - total
    figure, (ax,) = panels(1, width=width, height=2.6)
    ax.axhline(0.0, color=INK, lw=0.6)
    high = max(float(np.abs(values).max()) for values in curves.values())
    for i, (kind, values) in enumerate(curves.items()):
        most = float(np.abs(values).max())
        small = f" (at most {most:.2g} J)" if 0.0 < most < LITTLE * high else ""
        ax.plot(time, values, color=COLOURS[i % 6], ls=DASHES[i % 6], lw=1.4, label=kind + small)
    label(ax, "time [s]", "energy [J]")
    legend_above(ax)
    return saved(figure, path)


def balance(run: Trajectory, system: Any) -> tuple[Array, dict[str, Array]]:
    """(time, energies by kind [J]), every so many samples, the last among them."""
    told = getattr(system, "energy", None)
    if not callable(told):
        raise InputError(
            f"system: {type(system).__name__} tells no energy; give it a method energy(time, q, v) that returns joules "
            'by kind, such as {"kinetic": ..., "gravitational": ..., "spring": ...}'
        )
    some = np.unique(np.append(np.arange(0, len(run), -(-len(run) // SAMPLES)), len(run) - 1))
    try:
        found = [told(float(run.time[k]), run.q[k].copy(), run.v[k].copy()) for k in some]
        kinds = sorted(found[0], key=lambda kind: KINDS.index(kind) if kind in KINDS else len(KINDS))
        return run.time[some], {kind: np.array([float(one[kind]) for one in found]) for kind in kinds}
    except (ValueError, IndexError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"system: the energy of {type(system).__name__} cannot be told for the states of this run, of "
            f"{run.q.shape[1]} coordinates and {run.v.shape[1]} velocities; was it another system? ({error!r})"
        ) from error


def _from_lowest(kind: str, values: Array) -> Array:
    return values if kind in ("kinetic", "spring") else values - values.min()
