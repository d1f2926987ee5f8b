"""Work on seeds in processes that are replaced when they take too long, or die."""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any, NamedTuple

IDLE = 10.0  # times the limit, that a process may wait for a core
Work = Callable[[int, Callable[[int], None]], Any]  # of a seed; told how far it is


class Ended(NamedTuple):
    """how: "done", "hang" or "crash"; result: of the work, None if there is none; reached: what it told last."""

    seed: int
    how: str
    result: Any
    reached: int
    seconds: float


class _Worker:
    """A process, and what it does now."""

    def __init__(self, work: Work) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(theirs, work), daemon=True)
        self.process.start()
        theirs.close()
        self.seed: int | None = None
        self.reached, self.begun = 0, (0.0, 0.0)
        self.pipe.recv()  # it has imported what it needs

    def give(self, seed: int) -> None:
        self.seed, self.reached, self.begun = seed, 0, (time.monotonic(), self._worked())
        self.pipe.send(seed)

    def take(self, limit: float) -> Ended | None:
        """How the seed has ended, None while it goes on."""
        spent = time.monotonic() - self.begun[0]
        if spent < IDLE * limit and self._worked() > 0.0:
            spent = self._worked() - self.begun[1]
        assert self.seed is not None
        try:
            while self.pipe.poll():
                what, value = self.pipe.recv()
                if what == "done":
                    return Ended(self.seed, "done", value, self.reached, spent)
                self.reached = value
        except (EOFError, ConnectionError):
            self.process.join()
            return Ended(self.seed, "crash", f"exit status {self.process.exitcode}", self.reached, spent)
        return Ended(self.seed, "hang", None, self.reached, spent) if spent > limit else None

    def _worked(self) -> float:
        """The time that it had a core [s]: others on the machine do not count. 0 where the system does not say."""
        try:
            with open(f"/proc/{self.process.pid}/stat") as file:
                user, system = file.read().rpartition(")")[2].split()[11:13]
        except OSError:
            return 0.0
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _serve(pipe: Connection, work: Work) -> None:
    """In the process: work on seeds as they come, in a folder where MuJoCo may leave its log."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        pipe.send("ready")
        while True:
            seed = pipe.recv()
            pipe.send(("done", work(seed, lambda reached: pipe.send(("at", reached)))))


def watched(work: Work, seeds: Iterable[int], workers: int, limit: float) -> Generator[Ended, None, None]:
    """Every seed, in the order in which they end. limit: [s] for one."""
    left = iter(seeds)
    busy: list[_Worker] = []
    try:
        for _, seed in zip(range(workers), left, strict=False):
            busy.append(_Worker(work))
            busy[-1].give(seed)
        while busy:
            wait([worker.pipe for worker in busy], timeout=0.2)
            for worker in list(busy):
                ended = worker.take(limit)
                if ended is not None:
                    _go_on(busy, worker, ended, work, left)
                    yield ended
    finally:
        for worker in busy:
            worker.stop()


def _go_on(busy: list[_Worker], worker: _Worker, ended: Ended, work: Work, left: Iterator[int]) -> None:
    """Give the next seed to the worker, or to another in its place."""
    seed = next(left, None)
    if ended.how != "done" or seed is None:
        worker.stop()
        busy.remove(worker)
        if seed is not None:
            worker = _Worker(work)
            busy.append(worker)
    if seed is not None:
        worker.give(seed)
