"""A zip file of one JSON header and arrays: the same content, the same bytes.

Nothing is compressed, so that what is read is never larger than the file, and nothing in it is ever
executed: arrays are numbers or refused.
"""

from __future__ import annotations

import io
import json
import os
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kinfolk.errors import KinfolkError

Arrays = Mapping[str, npt.NDArray[Any]]

HEADER = "model.json"
LONGEST_HEADER = 64 * 2**20
"""Bytes; a certificate of a hundred thousand steps takes a third of it."""
MOST_ARRAYS = 1000
NAME = re.compile(r"[a-z0-9_]{1,64}(/[a-z0-9_]{1,64})?")
KINDS = "biuf"
"""Kinds of numbers that an array can hold: true/false, whole numbers, fractions."""

_DATE = (1980, 1, 1, 0, 0, 0)


def write_archive(path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Arrays) -> None:
    """Write the file under a temporary name, and give it its own when it is on disk."""
    target = Path(path)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    text = json.dumps(header, allow_nan=False, ensure_ascii=False, indent=1, sort_keys=True)
    try:
        with partial.open("wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
                archive.writestr(_entry(HEADER), text.encode())
                for name in sorted(arrays):
                    archive.writestr(_entry(f"{name}.npy"), _packed(name, arrays[name]))
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


def read_archive(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the arrays; KinfolkError says what is wrong with the file."""
    try:
        with Path(path).open("rb") as file, zipfile.ZipFile(file) as archive:
            entries = _entries(archive, room=os.fstat(file.fileno()).st_size)
            header = _parsed(archive.read(HEADER))
            arrays = {
                name.removesuffix(".npy"): _unpacked(name, archive.read(name))
                for name in entries
                if name != HEADER
            }
    except FileNotFoundError:
        raise KinfolkError("there is no such file. Check the path.") from None
    except IsADirectoryError:
        raise KinfolkError("is a folder. Name the model file in it.") from None
    except OSError as error:
        raise KinfolkError(f"cannot be read ({error.strerror or error}).") from None
    except (zipfile.BadZipFile, EOFError, RuntimeError, NotImplementedError, ValueError) as error:
        raise KinfolkError(f"is damaged, or no model file ({_short(error)}).") from None
    return header, arrays


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _DATE)
    entry.create_system = 3
    entry.external_attr = 0o644 << 16
    return entry


def _packed(name: str, array: npt.NDArray[Any]) -> bytes:
    if not NAME.fullmatch(name) or array.dtype.kind not in KINDS:
        raise ValueError(f"an array {name!r} of {array.dtype} cannot be saved")
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, little, version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def _entries(archive: zipfile.ZipFile, *, room: int) -> list[str]:
    """The names of the entries, if there is nothing strange about any."""
    found = archive.infolist()
    names = [entry.filename for entry in found]
    if HEADER not in names or len(set(names)) != len(names) or len(names) > MOST_ARRAYS + 1:
        raise KinfolkError(f"is damaged, or no model file (it should hold one {HEADER}).")
    for entry in found:
        array = entry.filename.removesuffix(".npy")
        if entry.filename != HEADER and (
            array == entry.filename or not NAME.fullmatch(array) or entry.is_dir()
        ):
            raise KinfolkError("is no model file: it holds something else than arrays.")
        if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & 1:
            raise KinfolkError("is no model file: an entry is compressed or encrypted.")
        room -= entry.file_size
    if room < 0:
        raise KinfolkError("is no model file: its entries overlap.")
    if archive.getinfo(HEADER).file_size > LONGEST_HEADER:
        raise KinfolkError(f"is no model file: {HEADER} is too long.")
    return names


def _parsed(content: bytes) -> dict[str, Any]:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no number")

    try:
        header = json.loads(content.decode(), parse_constant=refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(header, dict):
        raise ValueError("the header is no JSON object")
    return header


def _unpacked(name: str, content: bytes) -> npt.NDArray[Any]:
    """The array of an entry: its size is checked before any room is made for it."""
    buffer = io.BytesIO(content)
    if np.lib.format.read_magic(buffer) != (1, 0):
        raise ValueError(f"{name} is not of version 1")
    shape, fortran, dtype = np.lib.format.read_array_header_1_0(buffer)
    if dtype.kind not in KINDS or dtype.subdtype is not None or fortran:
        raise ValueError(f"{name} does not hold plain numbers")
    number = 1
    for length in shape:
        number *= length
    if number < 0 or number * dtype.itemsize != len(content) - buffer.tell():
        raise ValueError(f"{name} is not as long as it says")
    array = np.frombuffer(content, dtype, offset=buffer.tell()).reshape(shape)
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{name} holds something that is not a number")
    return array.astype(dtype.newbyteorder("="))


def _short(error: BaseException) -> str:
    text = str(error).split("\n")[0] or type(error).__name__
    return text if len(text) <= 120 else f"{text[:117]}..."
