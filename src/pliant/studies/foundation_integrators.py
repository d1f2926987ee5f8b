"""ODE integrators on the cube's equation, timed: SciPy's, and CVODE where scikit-sundae is installed.

Each in its fastest form at hand: LSODA, VODE (BDF) and DOP853 step in compiled code and call back only for dy/dt;
SciPy's BDF and Radau step in Python. None is given a Jacobian: they difference dy/dt, which is compiled.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np

from pliant.inputs import Array
from pliant.interrupts import known_listener
from pliant.studies.foundation_cube import DURATION, Row
from pliant.studies.foundation_motion import Motion, scale, start

MANY: Final = 2**31 - 1  # steps; time is what is limited
LOOK: Final = 256  # calls between looks at the clock
CHUNKS: Final = 1000


class Tolerance(NamedTuple):
    """relative, and absolute: one number, or one per entry of y."""

    relative: float
    absolute: float | Array


MATLAB: Final = Tolerance(1e-3, 1e-6)  # defaults of ode15s and ode45


class Integrated(NamedTuple):
    """state: y at the end, (13,), None if it was not reached; seconds; calls of dy/dt; why: it did not end."""

    state: Array | None
    seconds: float
    calls: int
    why: str = ""


def to_size(row: Row, relative: float) -> Tolerance:
    """Tolerances that mean the same in every row: relative to the size of each entry of y."""
    return Tolerance(relative, relative * scale(row))


def integrate(name: str, row: Row, tolerance: Tolerance, *, limit: float = np.inf) -> Integrated:
    """One second of the cube with the integrator of this name, given up after `limit` seconds of work."""
    motion = _Limited(row, limit)
    begin = time.perf_counter()
    with _interrupt_kept(motion):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # SciPy's way to say that it gave up
                state = DRIVERS[name](motion, tolerance)
            why = "" if np.all(np.isfinite(state)) else "not finite"
        except _OutOfTimeError:
            why = f"more than {limit:g} s"
        except (UserWarning, RuntimeError) as said:
            why = str(said)
    seconds = time.perf_counter() - begin
    return Integrated(None if why else state, seconds, motion.calls, why)


@contextlib.contextmanager
def _interrupt_kept(motion: _Limited) -> Iterator[None]:
    """Ctrl-C when the integrator has come back: compiled ones lose an exception that is raised in dy/dt."""
    listener = known_listener()
    if listener is None:
        yield
        return

    def note(*_: object) -> None:
        motion.interrupted = True

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, listener)
    if motion.interrupted:
        raise KeyboardInterrupt


class _OutOfTimeError(Exception):
    pass


class _Limited(Motion):
    """dy/dt that looks at the clock now and then."""

    def __init__(self, row: Row, limit: float) -> None:
        super().__init__(row)
        self.end = time.perf_counter() + limit
        self.interrupted = False

    def __call__(self, t: float, y: Array) -> Array:
        if self.calls % LOOK == 0:
            self.look()
        return self.rate(t, y)

    def late(self) -> bool:
        return self.interrupted or time.perf_counter() > self.end

    def look(self) -> None:
        if self.late():
            raise _OutOfTimeError


def _lsoda(motion: _Limited, tolerance: Tolerance) -> Array:
    from scipy.integrate import odeint

    rtol, atol = tolerance
    states = odeint(motion, start(), [0.0, DURATION], rtol=rtol, atol=atol, tfirst=True, mxstep=MANY)
    return np.asarray(states[-1])


def _vode(motion: _Limited, tolerance: Tolerance) -> Array:
    from scipy.integrate import ode

    rtol, atol = tolerance
    solver = ode(motion.rate).set_integrator("vode", method="bdf", rtol=rtol, atol=atol, nsteps=MANY)
    solver.set_initial_value(start(), 0.0)
    for end in np.linspace(0.0, DURATION, CHUNKS + 1)[1:]:  # an exception would not stop it; it steps on over the ends
        motion.look()
        state = solver.integrate(end)
    return np.asarray(state)


def _dop853(motion: _Limited, tolerance: Tolerance) -> Array:
    """It takes one absolute tolerance only: y is given in units in which the absolute ones are all the relative one."""
    from scipy.integrate import ode

    rtol, atol = tolerance
    unit = np.asarray(atol / rtol) * np.ones(len(start()))
    solver = ode(lambda t, y: motion.rate(t, y * unit) / unit)
    solver.set_integrator("dop853", rtol=rtol, atol=rtol, nsteps=MANY)
    solver.set_solout(lambda t, y: -1 if motion.late() else 0)  # an exception would not stop it
    state = np.asarray(solver.set_initial_value(start() / unit, 0.0).integrate(DURATION)) * unit
    motion.look()
    return state


def _scipy(method: str) -> Callable[[_Limited, Tolerance], Array]:
    def solve(motion: _Limited, tolerance: Tolerance) -> Array:
        from scipy.integrate import solve_ivp

        rtol, atol = tolerance
        found = solve_ivp(motion, (0.0, DURATION), start(), method, t_eval=[DURATION], rtol=rtol, atol=atol)
        if not found.success:
            raise RuntimeError(found.message)
        return np.asarray(found.y[:, -1])

    return solve


def _cvode(motion: _Limited, tolerance: Tolerance) -> Array:
    CVODE = importlib.import_module("sksundae.cvode").CVODE

    def rate(t: float, y: Any, into: Any) -> None:
        into[:] = motion(t, y)

    rtol, atol = tolerance
    found = CVODE(rate, rtol=rtol, atol=atol, max_num_steps=MANY).solve([0.0, DURATION], start())
    if not found.success:
        raise RuntimeError(found.message)
    return np.asarray(found.y[-1])


DRIVERS: Final[dict[str, Callable[[_Limited, Tolerance], Array]]] = {
    "LSODA": _lsoda,
    "VODE": _vode,
    "BDF": _scipy("BDF"),
    "Radau": _scipy("Radau"),
    "DOP853": _dop853,
    "CVODE": _cvode,
}


def installed() -> tuple[str, ...]:
    """The integrators that can be raced here."""
    here = importlib.util.find_spec("sksundae") is not None
    return tuple(name for name in DRIVERS if here or name != "CVODE")
