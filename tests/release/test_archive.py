"""Whatever is in a model file, reading it ends in a release or in a KinfolkError, and soon."""

from __future__ import annotations

import io
import json
import os
import random
import struct
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kinfolk import load
from kinfolk.errors import KinfolkError
from kinfolk.release.file import DTYPES, HEADER, LONGEST_NUMBER, read_archive, write_archive
from release.small import saved

DAMAGED = r"is damaged, or no model file \("
SECOND = 1.0


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("model"))


def zipped(path: Path, header: bytes = b"{}", **arrays: bytes) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(HEADER, header)
        for name, content in arrays.items():
            archive.writestr(f"{name}.npy", content)
    return path


def packed(array: Any, **told: Any) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array), **told)
    return buffer.getvalue()


def described(text: str, numbers: bytes = b"\x00" * 16) -> bytes:
    """An array as NumPy writes it, with this text as its header."""
    header = text.encode("latin-1") + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + numbers


def layout(descr: str = "'<f8'", fortran: str = "False", shape: str = "(2,)") -> str:
    return f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}"


def test_every_kind_of_number_comes_back(tmp_path: Path) -> None:
    arrays = {f"a{i}": np.ones((2, 3), dtype) for i, dtype in enumerate(DTYPES)}
    arrays |= {"turned": np.asfortranarray(np.arange(6.0).reshape(2, 3)), "none": np.zeros((0, 4))}
    arrays |= {"big": np.arange(3, dtype=">i4"), "deep": np.zeros((1,) * 8, np.int8)}
    write_archive(tmp_path / "a", {"é": 10**100}, arrays)
    header, found = read_archive(tmp_path / "a")
    assert header == {"é": 10**100}
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype.newbyteorder("=")
    for wrong in (
        np.array(["x"]),
        np.array([None]),
        np.zeros(2, np.longdouble),
        np.zeros((1,) * 9),
    ):
        with pytest.raises(ValueError, match="cannot be saved"):
            write_archive(tmp_path / "b", {}, {"a": wrong})


def test_the_plain_layout_is_read(tmp_path: Path) -> None:
    path = zipped(tmp_path / "m", a=described(layout()))
    assert read_archive(path)[1]["a"].tolist() == [0.0, 0.0]


LAYOUTS = {
    "a negative length": layout(shape="(-2,)"),
    "two negative lengths": layout(shape="(-2, -1)"),
    "a huge shape": layout(shape=f"({10**14}, {10**14}, {10**14})"),
    "nothing of a huge shape": layout(shape=f"(0, {10**14}, {10**14})"),
    "a shape beyond numbers": layout(shape=f"({'9' * 5000},)"),
    "the order of Fortran": layout(fortran="True", shape="(2, 1)"),
    "text": layout("'<U2'"),
    "objects": layout("'|O'"),
    "complex numbers": layout("'<c8'"),
    "records": layout("[('a', '<f8')]"),
    "a subtype": layout("('<f8', (2,))"),
    "no such type": layout("'<f7'"),
    "big endian": layout("'>f8'"),
    "a fraction as a length": layout(shape="(2.0,)"),
    "a text as a length": layout(shape="('2',)"),
    "true as a length": layout(shape="(True, True)"),
    "a list as a shape": layout(shape="[2]"),
    "many dimensions": layout(shape=f"({', '.join(['1'] * 99)})"),
    "brackets": "(" * 5000,
    "a bracket": "{'descr': (",
    "an open quote": "{'descr': '",
    "a tab in the wrong place": "if x:\n\ty\n        z",
    "a zero byte": "{\x00}",
    "no dictionary": "[]",
    "unhashable keys": "{[]: 1}",
    "nothing": "",
    "minus": "-" * 5000 + "1",
}


@pytest.mark.parametrize("what", LAYOUTS)
def test_strange_arrays(tmp_path: Path, what: str) -> None:
    path = zipped(tmp_path / "m", a=described(LAYOUTS[what]))
    begun = time.perf_counter()
    with pytest.raises(KinfolkError, match=DAMAGED):
        read_archive(path)
    assert time.perf_counter() - begun < SECOND


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x93NUMPY",
        b"\x93NUMPY\x01\x00\xff\xff{}",
        packed(np.ones(3), version=(2, 0)),
        packed(np.ones(3))[:-1],
        packed(np.ones(3)) + b"\x00",
        packed(np.array([np.nan])),
        packed(np.array([True, False]))[:-1] + b"\x07",
    ],
)
def test_arrays_that_are_not_whole(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(KinfolkError, match=DAMAGED):
        read_archive(zipped(tmp_path / "m", a=content))


HEADERS = {
    "a number without end": b'{"a": ' + b"9" * 5000 + b"}",
    "a number just too long": b'{"a": ' + b"9" * (LONGEST_NUMBER + 1) + b"}",
    "a fraction without end": b'{"a": 1.' + b"9" * 10**6 + b"}",
    "infinity in digits": b'{"a": 1e999}',
    "infinity": b'{"a": -Infinity}',
    "not a number": b'{"a": NaN}',
    "depth": b"[" * 10**6,
    "depth of objects": b'{"a":' * 10**6,
    "no UTF-8": b'{"a": "\xff"}',
    "half a character": b'{"a": "\\ud800"}',
    "half a character as a name": b'{"a": [{"\\uDC00": 1}]}',
    "the same name twice": b'{"a": 1, "a": 2}',
    "the same name twice below": b'{"x": [{"a": 1, "a": 2}]}',
    "a list": b"[]",
    "nothing": b"",
    "a zero": b"\x00",
    "UTF-16": '{"a": 1}'.encode("utf-16"),
}


@pytest.mark.parametrize("what", HEADERS)
def test_strange_headers(tmp_path: Path, what: str) -> None:
    path = zipped(tmp_path / "m", HEADERS[what])
    begun = time.perf_counter()
    with pytest.raises(KinfolkError, match=DAMAGED):
        read_archive(path)
    assert time.perf_counter() - begun < SECOND


def test_good_text_in_a_header(tmp_path: Path) -> None:
    """A whole character in two halves, and a backslash before a `u`."""
    text = b'{"a": "\\ud83d\\ude42 \\\\ud800 \\u001b"}'
    header, _ = read_archive(zipped(tmp_path / "m", text))
    assert header == {"a": "\U0001f642 \\ud800 \x1b"}
    with pytest.raises(KinfolkError, match="is said twice"):
        read_archive(zipped(tmp_path / "n", b'{"a": 1, "a": 1}'))


def test_entries_that_are_not_where_they_should_be(tmp_path: Path) -> None:
    good = zipped(tmp_path / "good", b"{}", a=packed(np.zeros(2)), b=packed(np.ones(2)))
    content = good.read_bytes()
    path = tmp_path / "bad"

    def refused(changed: bytes, why: str) -> None:
        path.write_bytes(changed)
        with pytest.raises(KinfolkError, match=why):
            read_archive(path)

    refused(b"MZ program" + content, "something stands before")
    refused(content + b"more", DAMAGED)
    refused(content[:-22] + content[-22:-2] + b"\x04\x00note", DAMAGED)
    refused(content[:-30] + content[-22:], DAMAGED)
    # The second array's entry is said to begin inside the first one's.
    directory = content.index(b"PK\x01\x02")
    third = content.index(b"PK\x01\x02", content.index(b"PK\x01\x02", directory + 1) + 1)
    first = content.index(b"PK\x03\x04", 4)
    refused(content[: third + 42] + struct.pack("<I", first) + content[third + 46 :], "overlap")
    # Its content is said to be longer than it is, up to the end of the file and beyond.
    for length in (10**3, 2**31):
        sizes = struct.pack("<II", length, length)
        refused(content[: third + 20] + sizes + content[third + 28 :], "overlap")
    for length in (10**6, 2**32 - 1):
        refused(content[:-10] + struct.pack("<I", length) + content[-6:], "list of entries")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(HEADER, "{}")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr(HEADER, "{}")
    with pytest.raises(KinfolkError, match=DAMAGED):
        read_archive(path)


def test_a_list_of_very_many_entries_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "many"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(HEADER, "{}")
    content = path.read_bytes()
    entry = content[content.index(b"PK\x01\x02") : -22]
    number = 10**6
    sizes = struct.pack("<HHII", 65535, 65535, len(entry) * number, content.index(b"PK\x01\x02"))
    end = content[-22:-14] + sizes + b"\x00\x00"
    path.write_bytes(content[: content.index(b"PK\x01\x02")] + entry * number + end)
    begun = time.perf_counter()
    with pytest.raises(KinfolkError, match="list of entries is too long"):
        read_archive(path)
    assert time.perf_counter() - begun < SECOND


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(KinfolkError, match="is no file"):
            read_archive(path)


SNIPPETS = [b"PK\x01\x02", b"PK\x05\x06", b"PK\x03\x04", b"PK\x06\x07", b"\xff" * 4, b"\x00" * 8]
SNIPPETS += [b"(", b"'", b"{", b"-1", b"<O8", b"True", b"1e999", b'"a":', b"\x93NUMPY", b"NaN"]


def mutated(content: bytes, rng: random.Random) -> bytes:
    """The same file with one to four things wrong with it."""
    changed = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        # Half of the time near the end or the beginning, where the structure is.
        places = (rng.randrange(len(changed)), rng.randrange(-400, 0), rng.randrange(200))
        place = rng.choice(places) % len(changed)
        kind = rng.randrange(5)
        if kind == 0:
            changed[place] ^= 1 << rng.randrange(8)
        elif kind == 1:
            changed[place] = rng.randrange(256)
        elif kind == 2:
            snippet = rng.choice(SNIPPETS)
            changed[place : place + len(snippet)] = snippet
        elif kind == 3:
            del changed[place : place + rng.choice((1, 7, 5000))]
        else:
            changed[place:place] = rng.choice(SNIPPETS) * rng.randint(1, 3)
        if len(changed) < 300:
            break
    return bytes(changed)


def rebuilt(path: Path, content: Path, rng: random.Random) -> None:
    """A sound zip file around one entry that is damaged, which no checksum can tell."""
    with zipfile.ZipFile(content) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice(sorted(entries))
    start = entries[name][:200]
    entries[name] = mutated(start, rng) + entries[name][200:]
    with zipfile.ZipFile(path, "w") as archive:
        for name, inside in entries.items():
            archive.writestr(name, inside)


def refused_or_read(path: Path) -> bool:
    """Whether a file is refused, as it should be; anything but KinfolkError is a mistake."""
    begun = time.perf_counter()
    try:
        read_archive(path)
    except KinfolkError:
        pass
    else:
        return False
    finally:
        assert time.perf_counter() - begun < SECOND
    with pytest.raises(KinfolkError):
        load(path)
    return True


def test_any_damage(model: Path, tmp_path: Path) -> None:
    rng = random.Random(20240501)
    content = model.read_bytes()
    small = zipped(tmp_path / "small", json.dumps({"a": [1, 2.5]}).encode(), a=packed(np.ones(9)))
    path = tmp_path / "damaged"
    refused = 0
    for turn in range(600):
        if turn % 3 == 0:
            path.write_bytes(mutated(content, rng))
        elif turn % 3 == 1:
            rebuilt(path, small if turn % 2 else model, rng)
        else:
            path.write_bytes(content[: rng.randrange(len(content))])
        refused += refused_or_read(path)
    assert refused > 400
