"""Files that came to harm, by accident or on purpose, made of sound ones."""

from __future__ import annotations

import functools
import json
import struct
import tempfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

import pliant
from pliant import record
from pliant.readout import COLUMNS
from tests.support.mechanisms import Ball
from tests.support.mixed_step import mixed

START = record._START.pack(record.MAGIC, 1)


def framed(content: Any, body: bytes) -> bytes:
    """A record with checksums in order."""
    header = content if isinstance(content, bytes) else json.dumps(content).encode()
    lengths = struct.pack("<IQ", len(header), len(body))
    crc = struct.pack("<I", zlib.crc32(lengths))
    return lengths + crc + header + body + struct.pack("<I", zlib.crc32(header + body))


def parts(data: bytes) -> list[tuple[dict[str, Any], bytes]]:
    """(JSON, body) of the records of a file."""
    found, at = [], len(START)
    while at < len(data):
        n, m = struct.unpack_from("<IQ", data, at)
        header, body = data[at + 16 : at + 16 + n], data[at + 16 + n : at + 16 + n + m]
        found.append((json.loads(header), body))
        at += 20 + n + m
    return found


@functools.cache
def step_file() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        mixed().save(Path(folder) / "step")
        return (Path(folder) / "step").read_bytes()


@functools.cache
def run_file() -> bytes:
    """Two chunks, one of them with contacts."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        for duration in (0.05, 0.1):
            pliant.simulate(Ball(), [0.0, 0.05], [2.0, 0.0], duration=duration, step=0.01, checkpoint=path)
        content, body = parts(path.read_bytes())[0]
        content["header"]["parameters"]["geoms"] = ["floor", ""]
        rest = [_touching(*part) for part in parts(path.read_bytes())[1:]]
    return START + b"".join(framed(*part) for part in [(content, body), *rest])


def _touching(content: dict[str, Any], body: bytes) -> tuple[dict[str, Any], bytes]:
    """The same chunk with a contact in its last sample."""
    arrays, at = content["arrays"], 0
    for array in arrays:
        size = 8 * int(np.prod(array[2]))
        if array[0] == "touches":
            body = body[: at + size - 8] + struct.pack("<q", 1) + body[at + size :]
        if array[0] == "touch":
            array[2] = [1, len(COLUMNS)]
            body = body[:at] + struct.pack(f"<{len(COLUMNS)}d", 0, 1, *[0.5] * (len(COLUMNS) - 3), 2) + body[at:]
            size = 8 * len(COLUMNS)
        at += size
    return content, body


def scribbled(data: bytes, changes: list[tuple[str, int, bytes]]) -> bytes:
    """A file after accidents: flipped bits, a lost end, parts copied over others, bytes put in."""
    for kind, where, more in changes:
        at = where % max(len(data), 1)
        if kind == "flip" and data:
            data = data[:at] + bytes([data[at] ^ (1 + where % 255)]) + data[at + 1 :]
        elif kind == "cut":
            data = data[:at]
        elif kind == "splice":
            other = (where // 7) % max(len(data), 1)
            data = data[:at] + data[other : other + 50] + data[at + 50 :]
        else:
            data = data[:at] + more + data[at:]
    return data


def places(content: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) inside some JSON."""
    items: list[tuple[Any, Any]] = []
    if isinstance(content, dict):
        items = list(content.items())
    elif isinstance(content, list):
        items = list(enumerate(content))
    return [place for key, part in items for place in [(content, key), *places(part)]]


def crafted(data: bytes, changes: list[tuple[int, Any]]) -> bytes:
    """A file whose checksums are right and whose content is not what we write."""
    records = parts(data)
    for where, what in changes:
        content, body = records[where % len(records)]
        if where % 3 == 0 and len(body) >= 8:  # a number of an array
            at = (where // 3) % (len(body) // 8) * 8
            number = struct.pack("<d", what) if isinstance(what, float) else struct.pack("<q", where - (1 << 29))
            records[where % len(records)] = (content, body[:at] + number + body[at + 8 :])
            continue
        options = places(content)
        if options:
            container, key = options[(where // 3) % len(options)]
            if what == "drop":
                del container[key]
            elif what == "double" and isinstance(container, list):
                container.append(container[key])
            else:
                container[key] = what
    return START + b"".join(framed(content, body) for content, body in records)


def claiming(folder: Path) -> list[Path]:
    """Small files that claim to be large."""
    (folder / "step").write_bytes(step_file())
    whole = record.read_one(folder / "step")
    nv, none = 60_000, np.zeros(0, np.int64)
    empty = {name: part[:0] for name, part in whole.arrays.items() if name != "step"}
    large = {
        **empty, "step": whole.arrays["step"], "velocity": np.zeros(nv), "force": np.zeros(nv),
        "mass_ptr": np.arange(nv + 1), "mass_idx": np.arange(nv), "mass_val": np.ones(nv),
        "jac_ptr": np.zeros(1, np.int64), "block_ptr": np.zeros(1, np.int64), "jac_idx": none,
    }  # fmt: skip
    wide = {"kind": "Contact", "name": "", "count": 0, "dimension": 10**15, "jacobian": "dense", "curvature": False}
    header: dict[str, Any] = {"content": "step problem", "mass": "dense", "constraints": []}
    record.write(folder / "step dense", [record.Record(header, large)])
    header = {**header, "constraints": [{**wide, "tangent_law": False}]}
    record.write(folder / "step wide", [record.Record(header, large)])
    (folder / "run").write_bytes(run_file())
    start, chunk, _ = record.read(folder / "run")
    n = 5000
    many = {
        **chunk.arrays, "time": np.zeros(n), "q": np.zeros((n, 0)), "v": np.zeros((n, 0)), "stats": np.zeros((n, 7)),
        "layout": np.zeros(n, np.int64), "force": np.zeros(0), "touches": np.zeros(n, np.int64),
        "touch": chunk.arrays["touch"][:0], "poses": np.zeros((n, 0)),
    }  # fmt: skip
    none_of_all = record.Record({**chunk.header, "layouts": [[["", 0, 1]] * 50_000]}, many)
    record.write(folder / "run many", [start, none_of_all])
    return [folder / name for name in ("step dense", "step wide", "run many")]
