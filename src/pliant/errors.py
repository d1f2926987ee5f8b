"""What can go wrong, under one root."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from pliant.problem import StepProblem
    from pliant.solution import Solution
    from pliant.trajectory import Trajectory

__all__ = ["FileError", "InputError", "PliantError", "SolveError", "missing_extra"]


class PliantError(Exception):
    """Root of every exception that pliant raises on purpose.

    trajectory: what `simulate` had when it was raised there, else None.
    """

    trajectory: Trajectory | None = None


class InputError(PliantError, ValueError):
    """An argument is not what was expected; the message names the argument and the remedy."""


class FileError(PliantError, ValueError):
    """A file is damaged, or not one of ours; the message names the file and what is wrong with it."""


class SolveError(PliantError):
    """A solve failed; `problem` can be saved and replayed, `solution` is the best iterate or None."""

    def __init__(self, message: str, problem: StepProblem | None = None, solution: Solution | None = None) -> None:
        super().__init__(message)
        self.problem = problem
        self.solution = solution

    def __reduce__(self) -> tuple[type[SolveError], tuple[object, ...], dict[str, object]]:
        # Exception's own would lose what it carries on the way back from a worker process.
        return type(self), (str(self), self.problem, self.solution), self.__dict__


def missing_extra(package: str, extra: str) -> NoReturn:
    """Raise the ImportError of an optional `package` that is not there, with the line that installs it."""
    raise ImportError(f'this needs {package}, which is not installed: pip install "pliant[{extra}]"', name=package)
