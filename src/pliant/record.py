r"""The one file format: records of plain arrays with a JSON header, appended, checksummed, never pickled.

    file    = magic "\x93pliant\n", u32 format version, record*
    record  = lengths, CRC-32 of the lengths, JSON, body, CRC-32 of JSON and body
    lengths = u32 length of the JSON, u64 length of the body [bytes]
    JSON    = {"header": the caller's, "versions": {package: version}, "arrays": [[name, dtype, shape], ...]}
    body    = the bytes of the arrays one after the other, C order

Everything is little-endian. The lengths have a checksum of their own and are compared with the size of the
file before anything is allocated. A file is readable up to its last complete record.
"""

import contextlib
import functools
import importlib.metadata
import json
import logging
import math
import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from pliant._version import __version__
from pliant.errors import FileError, InputError
from pliant.writing import telling

__all__ = [
    "RUN",
    "Record",
    "Truncated",
    "append",
    "is_blank",
    "package_versions",
    "read",
    "read_one",
    "rewrite",
    "write",
]

MAGIC = b"\x93pliant\n"
VERSION = 1
RUN = "run"  # what the first record of a simulated run says that it is
DTYPES = frozenset(["<f8", "<f4", "<i8", "<i4", "<i2", "|i1", "<u8", "<u4", "<u2", "|u1", "|b1"])

_START = struct.Struct("<8sI")
_LENGTHS = struct.Struct("<IQ")
_CRC = struct.Struct("<I")
_log = logging.getLogger(__name__)


@functools.cache
def package_versions() -> dict[str, str]:
    """Of pliant and what it computes with."""
    found = {"pliant": __version__}
    for name in ("numpy", "scipy", "clarabel"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):  # vendored, or a frozen program
            found[name] = importlib.metadata.version(name)
    return found


@dataclass(frozen=True)
class Record:
    """`header`: what JSON can hold (no NaN). `arrays`: real, integer or bool arrays by name, of any shape."""

    header: dict[str, Any]
    arrays: dict[str, NDArray[Any]]
    versions: dict[str, str] = field(default_factory=lambda: dict(package_versions()))


class Truncated(FileError):
    """The file ends inside a record."""


def write(path: str | os.PathLike[str], records: Iterable[Record]) -> None:
    """Write a new file, or replace one: complete or not at all, even if the machine stops half-way."""
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{uuid4().hex[:12]}.tmp")
    with telling(target):
        try:
            with open(temporary, "xb") as file:
                _fill(file, records)
            os.replace(temporary, target)
        except BaseException:  # also when interrupted from the keyboard
            with contextlib.suppress(OSError):  # what went wrong first is what counts
                temporary.unlink(missing_ok=True)
            raise
    _sync_folder(target.parent)


def _fill(file: BinaryIO, records: Iterable[Record]) -> int:
    """A whole file, on disk when this returns; where it ends."""
    file.write(_START.pack(MAGIC, VERSION))
    for record in records:
        file.writelines(_encode(record))
    file.flush()
    os.fsync(file.fileno())
    return file.tell()


def is_blank(path: str | os.PathLike[str]) -> bool:
    """Whether a file holds nothing yet: it is empty, or one of ours that was cut off inside its first record."""
    with open(path, "rb") as file:
        start = file.read(_START.size)
        if len(start) < _START.size and MAGIC.startswith(start[: len(MAGIC)]):
            return True
        file.seek(0)
        _check_start(file, path)
        try:
            return next(_frames(file, path), None) is None
        except Truncated:
            return True
        except FileError:  # damaged: whoever reads on will hear of it
            return False


def rewrite(path: str | os.PathLike[str], records: Iterable[Record]) -> int:
    """Fill an existing file anew, in place so that locks on it hold; returns where it ends."""
    with telling(path), open(path, "r+b") as file:
        file.truncate()
        return _fill(file, records)


def append(path: str | os.PathLike[str], records: Iterable[Record], end: int | None = None) -> int:
    """Add records to a file, which is made if there is none; returns where it ends now.

    end: what the last `append` returned, by the only writer: the file is then not read through again.

    An incomplete last record, left by a process that was stopped, is cut off first. The records are on disk
    when this returns; a reader sees each of them completely or not at all.
    """
    if not os.path.exists(path):
        write(path, ())
    with telling(path), open(path, "r+b") as file:
        file.seek(_end(file, path) if end is None else end)
        file.truncate()
        for record in records:
            file.write(b"".join(_encode(record)))
            file.flush()
        os.fsync(file.fileno())
        return file.tell()


def read(path: str | os.PathLike[str], *, strict: bool = True) -> Iterator[Record]:
    """The records of a file one by one; arrays are fresh and writable.

    At a damaged or incomplete record `strict` raises FileError; otherwise the reading ends there, and the log
    says so: what follows cannot be trusted.
    """
    with open(path, "rb") as file:
        _check_start(file, path)
        try:
            for header, body in _frames(file, path):
                yield _decode(header, body, path)
        except FileError as error:
            if strict:
                raise
            _warn_once(f"{error}; read up to there")


@functools.lru_cache(maxsize=1000)
def _warn_once(message: str) -> None:
    """A run is read once for each of its arrays: the same file is not worth five warnings."""
    _log.warning("%s", message)


def read_one(path: str | os.PathLike[str]) -> Record:
    """The record of a file that holds exactly one."""
    records = list(read(path))
    if len(records) != 1:
        raise FileError(f"{os.fspath(path)}: expected one record, found {len(records)}")
    return records[0]


def _encode(record: Record) -> list[bytes]:
    arrays = {name: _plain(name, array) for name, array in record.arrays.items()}
    layout = [[name, array.dtype.str, array.shape] for name, array in arrays.items()]
    content = {"header": record.header, "versions": record.versions, "arrays": layout}
    try:
        header = json.dumps(content, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise InputError(f"header must hold only what JSON can: {error}") from error
    parts = [header, *(array.tobytes() for array in arrays.values())]
    lengths = _LENGTHS.pack(len(header), sum(map(len, parts)) - len(header))
    return [lengths, _CRC.pack(zlib.crc32(lengths)), *parts, _CRC.pack(_checksum(parts))]


def _checksum(parts: Iterable[bytes]) -> int:
    return functools.reduce(lambda crc, part: zlib.crc32(part, crc), parts, 0)


def _plain(name: str, data: Any) -> NDArray[Any]:
    array: NDArray[Any] = np.asarray(data)
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    if array.dtype.str not in DTYPES:
        raise InputError(f"array '{name}' must hold bools, integers or real numbers, got dtype {array.dtype}")
    return array


def _check_start(file: BinaryIO, path: str | os.PathLike[str]) -> None:
    start = file.read(_START.size)
    if len(start) < _START.size or not start.startswith(MAGIC):
        cut = len(start) < _START.size and MAGIC.startswith(start[: len(MAGIC)])
        raise FileError(
            f"{os.fspath(path)} holds nothing: it is empty, or was cut off at its very beginning"
            if cut
            else f"{os.fspath(path)} is not a pliant file: it begins with {start!r}"
        )
    version = _START.unpack(start)[1]
    if not 1 <= version <= VERSION:
        why = "a newer pliant wrote it, or it is damaged" if version > VERSION else "it is damaged"
        raise FileError(
            f"{os.fspath(path)} has format version {version}, pliant {__version__} reads 1 to {VERSION}: {why}"
        )


def _frames(file: BinaryIO, path: str | os.PathLike[str]) -> Iterator[tuple[bytes, bytes]]:
    """(JSON, body) of each record; `file` stands behind its start."""
    name = os.fspath(path)
    left = os.fstat(file.fileno()).st_size - _START.size
    index = 0
    while left > 0:
        label = f"{name}: record {index}"
        frame = file.read(_LENGTHS.size)
        crc = file.read(_CRC.size)
        left -= _LENGTHS.size + 2 * _CRC.size
        if left < 0:
            raise Truncated(f"{label} is incomplete: the file ends inside it")
        if _CRC.pack(zlib.crc32(frame)) != crc:
            raise FileError(f"{label} is damaged: the checksum of its lengths is wrong")
        header_length, body_length = _LENGTHS.unpack(frame)
        left -= header_length + body_length
        if left < 0:
            raise Truncated(f"{label} is incomplete: the file ends {-left} bytes before it does")
        header, body = file.read(header_length), file.read(body_length)
        if file.read(_CRC.size) != _CRC.pack(_checksum((header, body))):
            raise FileError(f"{label} is damaged: its checksum is wrong")
        yield header, body
        index += 1


def _decode(header: bytes, body: bytes, path: str | os.PathLike[str]) -> Record:
    """A checksum proves that these bytes were meant, not that they were meant well: nothing is believed."""
    try:
        content = json.loads(header, parse_constant=_no_constant)
        arrays: dict[str, NDArray[Any]] = {}
        start = 0
        for name, dtype, shape in content["arrays"]:
            arrays[str(name)] = array = _array(body, start, dtype, shape)
            start += array.nbytes
        if start != len(body) or len(arrays) != len(content["arrays"]):
            raise ValueError("the arrays do not fill the record")
        return Record(dict(content["header"]), arrays, dict(content["versions"]))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise FileError(f"{os.fspath(path)}: a record has a malformed header: {error!r}") from error


def _array(body: bytes, start: int, dtype: Any, shape: Any) -> NDArray[Any]:
    if dtype not in DTYPES or not all(type(length) is int and length >= 0 for length in shape):
        raise ValueError(f"no array of dtype {dtype!r} and shape {shape!r}")
    count = math.prod(shape)
    if count > (len(body) - start) // np.dtype(dtype).itemsize:
        raise ValueError(f"the record is too short for shape {shape!r}")
    array = np.frombuffer(body, dtype, count, start).reshape(shape)
    if dtype == "|b1" and np.any(array.view(np.uint8) > 1):
        raise ValueError("a bool is neither 0 nor 1")
    return array.astype(array.dtype.newbyteorder("="), copy=True)


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


def _end(file: BinaryIO, path: str | os.PathLike[str]) -> int:
    """Where the last complete record ends."""
    _check_start(file, path)
    end = _START.size
    try:
        for header, body in _frames(file, path):
            end += _LENGTHS.size + 2 * _CRC.size + len(header) + len(body)
    except Truncated as error:
        _warn_once(f"{error}; cutting it off")
    return end


def _sync_folder(folder: Path) -> None:
    """Make a rename durable; not every system lets one open a folder."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
