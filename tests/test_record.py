"""The file format: what was written comes back; what is damaged says so and never does harm."""

import json
import os
import signal
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pliant import record
from pliant.errors import FileError, InputError
from pliant.record import Record

SAMPLE = Record(
    {"name": "block", "steps": 3, "nested": {"a": [1, 2.5, None, True]}},
    {
        "velocity": np.array([1.0, -0.0, np.nan, np.inf, 5e-324]),
        "indices": np.arange(6, dtype=np.int64).reshape(2, 3),
        "flags": np.array([True, False]),
        "scalar": np.array(3.5),
        "empty": np.zeros((0, 4), dtype=np.float32),
    },
)


def same(a: Record, b: Record) -> bool:
    return (
        a.header == b.header
        and list(a.arrays) == list(b.arrays)
        and all(
            x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()
            for x, y in zip(a.arrays.values(), b.arrays.values(), strict=True)
        )
    )


def frame(header: bytes, body: bytes = b"") -> bytes:
    lengths = struct.pack("<IQ", len(header), len(body))
    crc = struct.pack("<I", zlib.crc32(lengths))
    return lengths + crc + header + body + struct.pack("<I", zlib.crc32(header + body))


def test_what_was_written_comes_back(tmp_path):
    path = tmp_path / "a.pliant"
    record.write(path, [SAMPLE, Record({}, {})])
    first, second = record.read(path)
    assert same(first, SAMPLE)
    assert second.arrays == {}
    assert first.versions["pliant"] and first.versions["numpy"] == np.__version__
    first.arrays["velocity"][0] = 2.0  # a fresh array, not a view of the file
    assert os.listdir(tmp_path) == ["a.pliant"]


@given(
    arrays=st.dictionaries(
        st.text(max_size=5),
        hnp.arrays(
            st.sampled_from([np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_]),
            hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
        ),
        max_size=4,
    ),
    text=st.text(),
)
@settings(max_examples=60, deadline=None)
def test_any_arrays_come_back(tmp_path_factory, arrays, text):
    path = tmp_path_factory.mktemp("r") / "r"
    record.write(path, [Record({"text": text}, arrays)])
    assert same(record.read_one(path), Record({"text": text}, arrays))


def test_layout_of_memory_does_not_matter(tmp_path):
    array = np.arange(24.0).reshape(4, 6)
    given_ = {"T": array.T, "step": array[::2, ::-1], "big": array.astype(">f8")}
    record.write(tmp_path / "r", [Record({}, given_)])
    read = record.read_one(tmp_path / "r").arrays
    assert all(np.array_equal(read[name], given_[name]) and read[name].dtype == np.float64 for name in given_)


@pytest.mark.parametrize(
    ("bad", "word"),
    [
        (Record({"x": float("nan")}, {}), "header"),
        (Record({"x": object()}, {}), "header"),
        (Record({}, {"stuff": np.array([object()])}), "stuff"),
        (Record({}, {"wave": np.array([1j])}), "wave"),
    ],
)
def test_what_cannot_be_kept_is_refused_and_the_old_file_stays(tmp_path, bad, word):
    path = tmp_path / "r"
    record.write(path, [SAMPLE])
    with pytest.raises(InputError, match=word):
        record.write(path, [SAMPLE, bad])
    assert same(record.read_one(path), SAMPLE)
    assert os.listdir(tmp_path) == ["r"]


def test_append_makes_and_continues_a_file(tmp_path):
    path = tmp_path / "r"
    record.append(path, [SAMPLE])
    record.append(path, (Record({"i": i}, {"x": np.full(3, i)}) for i in range(3)))
    assert [r.header.get("i") for r in record.read(path)] == [None, 0, 1, 2]


def test_cut_anywhere_reads_up_to_the_last_complete_record(tmp_path):
    path = tmp_path / "r"
    small = [Record({"i": i}, {"x": np.arange(i)}) for i in range(3)]
    record.write(path, small)
    whole = path.read_bytes()
    ends = [len(b"".join(p)) for p in map(record._encode, small)]
    bounds = 12 + np.cumsum([0, *ends])
    assert bounds[-1] == len(whole)
    for size in range(len(whole)):
        path.write_bytes(whole[:size])
        if size < 12:
            with pytest.raises(FileError, match="r holds nothing: it is empty, or was cut off"):
                list(record.read(path, strict=False))
            continue
        complete = np.searchsorted(bounds, size, side="right") - 1
        assert len(list(record.read(path, strict=False))) == complete
        if size not in bounds:
            with pytest.raises(FileError, match=rf"record {complete} is incomplete"):
                list(record.read(path))


@pytest.mark.parametrize("lost", [1, 30])
def test_append_cuts_off_an_incomplete_record(tmp_path, lost):
    path = tmp_path / "r"
    record.write(path, [Record({"i": 0}, {}), SAMPLE])
    os.truncate(path, path.stat().st_size - lost)
    record.append(path, [Record({"i": 2}, {})])
    assert [r.header["i"] for r in record.read(path)] == [0, 2]


def test_append_never_cuts_off_what_is_complete(tmp_path):
    path = tmp_path / "r"
    record.write(path, [Record({"i": 0}, {"x": np.zeros(4)}), SAMPLE])
    damaged = bytearray(path.read_bytes())
    damaged[60] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(FileError, match="record 0 is damaged"):
        record.append(path, [SAMPLE])
    assert path.read_bytes() == damaged


def test_any_flipped_bit_is_noticed(tmp_path):
    path = tmp_path / "r"
    record.write(path, [Record({"k": 1}, {"x": np.arange(4.0)})])
    whole = path.read_bytes()
    for byte in range(len(whole)):
        damaged = bytearray(whole)
        damaged[byte] ^= 1 << (byte % 8)
        path.write_bytes(damaged)
        with pytest.raises(FileError, match="r"):
            record.read_one(path)


@given(garbage=st.binary(max_size=200), start=st.booleans())
@settings(max_examples=200, deadline=None)
def test_garbage_is_refused(tmp_path_factory, garbage, start):
    path = tmp_path_factory.mktemp("r") / "r"
    path.write_bytes((record._START.pack(record.MAGIC, 1) if start else b"") + garbage)
    with pytest.raises(FileError):
        record.read_one(path)


@pytest.mark.parametrize(
    "header",
    [
        b"{}",
        b"[1, 2]",
        b"\xff\xfe",
        b"[" * 100_000,
        b"9" * 10_000,
        b'{"header": {"x": NaN}, "versions": {}, "arrays": []}',
        b'{"header": 1, "versions": {}, "arrays": []}',
        *(
            json.dumps({"header": {}, "versions": {}, "arrays": arrays}).encode()
            for arrays in (
                [["x", "<f8", [2]]],  # twice what there is
                [["x", "<f8", [1 << 62, 1 << 62]]],
                [["x", "<f8", [0, 1 << 80]], ["y", "<f8", [1]]],
                [["x", "<f8", [-1]]],
                [["x", "<f8", [True]]],
                [["x", "|O", [1]]],
                [["x", "<M8[s]", [1]]],
                [["x", ["<f8"], [1]]],
                [["x", "<f8", 1]],
                [["x", "<f8"]],
                [["x", "|b1", [8]]],
                [["x", "<f4", [1]], ["x", "<f4", [1]]],
                [["x", "<f4", [1]]],
                [["x", "<f8", [1] * 100]],
                7,
            )
        ),
    ],
)
def test_a_crafted_header_with_a_right_checksum_is_refused(tmp_path, header):
    path = tmp_path / "r"
    path.write_bytes(record._START.pack(record.MAGIC, 1) + frame(header, struct.pack("<d", 3.0)))
    with pytest.raises(FileError, match="malformed"):
        record.read_one(path)


def test_absurd_lengths_allocate_nothing(tmp_path):
    lengths = struct.pack("<IQ", 2**32 - 1, 2**63)
    crc = struct.pack("<I", zlib.crc32(lengths))
    (tmp_path / "r").write_bytes(record._START.pack(record.MAGIC, 1) + lengths + crc + b"rest")
    with pytest.raises(FileError, match="incomplete"):
        record.read_one(tmp_path / "r")


def test_files_of_others_and_of_the_future(tmp_path):
    path = tmp_path / "r"
    path.write_bytes(b"PK\x03\x04 some archive of somebody")
    with pytest.raises(FileError, match="not a pliant file"):
        record.read_one(path)
    for version, why in ((2, "a newer pliant wrote it"), (0, "reads 1 to 1: it is damaged")):
        path.write_bytes(record._START.pack(record.MAGIC, version))
        with pytest.raises(FileError, match=f"format version {version}.*{why}"):
            record.read_one(path)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        record.read_one(tmp_path / "nowhere")


def test_one_record_means_one(tmp_path):
    record.write(tmp_path / "none", [])
    record.write(tmp_path / "two", [SAMPLE, SAMPLE])
    for name, count in (("none", 0), ("two", 2)):
        with pytest.raises(FileError, match=f"found {count}"):
            record.read_one(tmp_path / name)


def test_a_killed_writer_leaves_the_old_file(tmp_path):
    path = tmp_path / "r"
    record.write(path, [SAMPLE])
    code = (
        "import os, signal, sys, numpy as np\n"
        "from pliant import record\n"
        "def records():\n"
        "    yield record.Record({'new': True}, {'x': np.zeros(100_000)})\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "record.write(sys.argv[1], records())\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(record.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code, str(path)], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    assert same(record.read_one(path), SAMPLE)
