"""One writer for a file: a second one would cut off what the first has written."""

from __future__ import annotations

import contextlib
import errno
import os
from typing import Any

from pliant.errors import FileError, InputError
from pliant.writing import telling

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None


class Lock:
    """Held from its making to `release`, or to the end of the process; the file is made if there is none."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._path = os.fspath(path)
        self._beside = ""  # the lock file, where the file itself cannot be locked
        with telling(self._path):
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        try:
            self._take()
        except BaseException:
            os.close(self._descriptor)
            raise

    def _take(self) -> None:
        if fcntl is None:
            self._take_beside()
            return
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise InputError(
                    f"checkpoint: {self._path} is being written by another run; wait for it, or choose another name"
                ) from error
            # a file system without locks: better unguarded than not at all

    def _take_beside(self) -> None:
        beside = f"{self._path}.lock"
        try:
            os.close(os.open(beside, os.O_CREAT | os.O_EXCL))
        except FileExistsError as error:
            raise InputError(
                f"checkpoint: {self._path} is being written by another run; wait for it, or choose another name. "
                f"If there is none (it was killed), delete {beside}"
            ) from error
        self._beside = beside

    def check(self) -> None:
        """Raise FileError if the path leads to another file by now: what is written there is not ours to change."""
        try:
            same = os.path.samestat(os.fstat(self._descriptor), os.stat(self._path))
        except FileNotFoundError:
            same = False
        if not same:
            raise FileError(
                f"checkpoint: {self._path} was moved, replaced or deleted while the run was being written to it; leave "
                "the file where it is until the run has ended"
            )

    def release(self) -> None:
        """Let others have it."""
        if fcntl is not None:
            with contextlib.suppress(OSError):
                fcntl.flock(self._descriptor, fcntl.LOCK_UN)  # a child that was forked meanwhile would keep it
        os.close(self._descriptor)
        if self._beside:
            os.unlink(self._beside)
