"""What a run leaves behind: states, forces and statistics, in memory or in a file that is read when asked.

A run is a sequence of chunks of samples. In memory they are a list; in a file each is one record, which also holds the
state to go on from: a run that was stopped resumes from its last complete record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from pliant.drawing import POSE
from pliant.errors import PliantError
from pliant.inputs import Array, Ints
from pliant.readout import contact_table, pressure_table
from pliant.record import Record, write
from pliant.run_file import (
    COMPLETE,
    NON_FINITE,
    REAL,
    STATS,
    UNFINISHED,
    Chunk,
    Path,
    chunk_record,
    forces_in,
    poses_in,
    read_chunks,
    read_run,
    read_scene,
    run_record,
)
from pliant.scene import Scene
from pliant.solution import Status


class Trajectory:
    """A simulated run.

    time (T+1,) [s], q (T+1, nq), v (T+1, nv): the samples, the first one the start
    forces  list of T tuples, as Solution.forces, of the step that ended at time[k + 1]; force_names: their names
    stats   dict of arrays (T,), over the steps since the sample before: status (worst, as an index into
            list(pliant.Status)), residual and momentum_residual (largest), iterations, factorizations, gave_up (steps
            where looking ahead did not contract) and unsolved (steps at the iteration limit), summed
    contacts, pressure: tables of who touches whom, for systems that tell (MuJoCo models do)
    parameters, complete: what the run was asked for, and whether it got there
    ended   how: "complete", "interrupted" (Ctrl-C), "non-finite" (an answer, with throw=False: the last status says so
            too), "error" (an exception), or "unfinished" (killed, or still being written)
    """

    def __init__(
        self,
        parameters: dict[str, Any],
        chunks: Callable[[], Iterable[Chunk]],
        *,
        ended: str,
        scene: Scene | Callable[[], Scene | None] | None = None,
    ) -> None:
        self.parameters = parameters
        self.ended = ended
        self._chunks = chunks
        self._scene = scene

    @property
    def complete(self) -> bool:
        """Whether the run got to its duration."""
        return self.ended == COMPLETE

    @cached_property
    def time(self) -> Array:
        """(T+1,) [s]."""
        return self._joined("time")

    @cached_property
    def q(self) -> Array:
        """(T+1, nq)."""
        return self._joined("q")

    @cached_property
    def v(self) -> Array:
        """(T+1, nv)."""
        return self._joined("v")

    @cached_property
    def forces(self) -> list[tuple[Array, ...]]:
        """T tuples, one array per constraint: (n,) or (n, d) [N]."""
        return [forces for chunk in self._chunks() for forces in forces_in(chunk)][1:]

    @cached_property
    def force_names(self) -> list[tuple[str, ...]]:
        """T tuples, the names of the constraints whose forces they are. Runs of `pliant run` hold the limits and
        equalities that push, such as "joint:knee" and "equality:loop"; their contacts are in `contacts`."""
        layouts = [chunk.layouts[index] for chunk in self._chunks() for index in chunk.layout]
        return [tuple(name for name, _, _ in layout) for layout in layouts][1:]

    @cached_property
    def stats(self) -> dict[str, Any]:
        """By name, (T,) each."""
        columns = zip(STATS, self._joined("stats")[1:].T, strict=True)
        stats = {name: column if name in REAL else column.astype(np.int64) for name, column in columns}
        if self.ended == NON_FINITE:  # the step that failed leads to no sample of its own
            stats["status"][-1:] = list(Status).index(Status.NON_FINITE)
        return stats

    @property
    def contacts(self) -> Any:
        """A row per contact and sample, of the step that ended at its time: a pandas.DataFrame if pandas is installed,
        else a structured array.

        time [s], geom1, geom2, element (of a Foundation on geom2, else -1), x y z [m], nx ny nz (the normal, from geom1
        to geom2), fx fy fz [N] in the world: what geom1 does to geom2, penetration [m] at the end of the step, state.
        """
        return contact_table(*self._touches())

    @property
    def pressure(self) -> Any:
        """A row per element of a Foundation that pushes: time, geom, element, u v w (its place in the frame of the geom
        [m]), area [m^2], pressure and shear [Pa]."""
        return pressure_table(*self._touches())

    def plot_states(self, *, which: str | Sequence[str] | None = None, path: Path | None = None) -> Any:
        """Coordinates and velocities over time, as a matplotlib Figure: see `pliant.plot.states`."""
        from pliant.plot import states

        return states(self, which=which, path=path)

    def plot_energy(self, system: Any, *, path: Path | None = None) -> Any:
        """Energy by kind, and what is missing of it, over time: see `pliant.plot.energy`. system: that of the run."""
        from pliant.plot import energy

        return energy(self, system, path=path)

    def plot_forces(self, *, which: str | Sequence[str] | None = None, path: Path | None = None) -> Any:
        """Normal force and friction of each contact over time: see `pliant.plot.forces`."""
        from pliant.plot import forces

        return forces(self, which=which, path=path)

    def plot_pressure(self, *, geom: str | None = None, time: float | None = None, path: Path | None = None) -> Any:
        """A map of the pressure on a geom at a time [s]: see `pliant.plot.pressure`."""
        from pliant.plot import pressure

        return pressure(self, geom=geom, time=time, path=path)

    def plot_residuals(self, *, path: Path | None = None) -> Any:
        """Residuals and iterations over time: see `pliant.plot.residuals`."""
        from pliant.plot import residuals

        return residuals(self, path=path)

    def _touches(self) -> tuple[Array, Array, list[str]]:
        names = self.parameters.get("geoms")
        if names is None:
            raise PliantError(
                "this run has no contacts by name: its system has no `readout`; Trajectory.forces has the forces"
            )
        counts, rows = self.touches()
        return np.repeat(self.time, counts), rows, names

    def touches(self) -> tuple[Ints, Array]:
        """(T+1,) how many contacts each sample has, and the rows of all of them, see pliant.readout."""
        return self._joined("touches").astype(np.int64), self._joined("touch")

    @property
    def scene(self) -> Scene | None:
        """How the system looks, for `pliant.stage.Stage.of`; None where nobody said."""
        return self._scene() if callable(self._scene) else self._scene

    def poses_of(self, scene: Scene) -> Array:
        """(T+1, 7 shapes) where the shapes of a scene are: as its system says, or else as the file has it; nan where
        neither knows."""
        if scene.place is not None:
            return scene.poses(self.time, self.q)
        width = POSE * scene.count
        return np.concatenate([poses_in(chunk, width) for chunk in self._chunks()])

    def save(self, path: Path) -> None:
        """Write the run to a file of its own; an existing file is replaced."""
        write(path, self._records())

    @classmethod
    def load(cls, path: Path) -> Trajectory:
        """A run in a file, up to its last complete record; samples are read when they are asked for."""
        parameters, ended = read_run(path)
        return cls(parameters, partial(read_chunks, path), ended=ended, scene=partial(read_scene, path))

    def _records(self) -> Iterator[Record]:
        yield run_record(self.parameters, self.scene)
        chunks = self._posed()
        for i, chunk in enumerate(chunks):
            yield chunk_record(chunk, {"ended": self.ended if i + 1 == len(chunks) else UNFINISHED}, {})

    def _posed(self) -> list[Chunk]:
        """The chunks with the poses of the shapes, for readers that have no system to ask."""
        scene = self.scene
        if scene is None or scene.place is None:
            return list(self._chunks())
        return [chunk._replace(poses=scene.poses(chunk.time, chunk.q)) for chunk in self._chunks()]

    def __getstate__(self) -> dict[str, Any]:
        scene = None if callable(self._scene) else self._scene
        if scene is None or scene.place is None:
            return self.__dict__
        # the system's function may be one that another process cannot have
        return {**self.__dict__, "_chunks": partial(list, self._posed()), "_scene": replace(scene, place=None)}

    def _joined(self, name: str) -> Array:
        return np.concatenate([getattr(chunk, name) for chunk in self._chunks()])

    def __len__(self) -> int:
        return len(self.time)

    def __repr__(self) -> str:
        state = "" if self.complete else ", stopped early"
        return f"Trajectory({len(self)} samples, {self.time[0]:g} to {self.time[-1]:g} s{state})"
