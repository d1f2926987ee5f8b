"""What a file that cannot be written says: which one, and what to do."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from typing import Final

ROOM: Final = "make room, or choose another place; what was written before is kept"
RIGHTS: Final = "choose a folder that you may write to"
REMEDIES: Final = {
    errno.ENOSPC: ROOM,
    errno.EDQUOT: ROOM,
    errno.EFBIG: ROOM,
    errno.EACCES: RIGHTS,
    errno.EPERM: RIGHTS,
    errno.EROFS: RIGHTS,
    errno.ENOENT: "make its folder first, or choose another place",
    errno.ENOTDIR: "make its folder first, or choose another place",
    errno.EISDIR: "it is a folder: choose a name in it",
}


@contextlib.contextmanager
def telling(path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors of the system come with the file that was asked for, and with a remedy."""
    try:
        yield
    except OSError as error:
        if error.errno is None:
            raise
        remedy = REMEDIES.get(error.errno)
        text = f"{error.strerror}; {remedy}" if remedy and remedy not in str(error.strerror) else error.strerror
        raise OSError(error.errno, text, os.fspath(path)) from error
