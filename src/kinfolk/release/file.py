"""The model file: a release on disk. Reading it executes nothing and believes nothing.

Nothing is compressed, so that what is read is never larger than the file, and nothing in it is ever
executed: arrays are numbers or refused. What a file says about itself is checked before it is
believed, as far as possible by rules that know only what `write_archive` writes.
"""

from __future__ import annotations

import errno
import hashlib
import io
import json
import math
import os
import re
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kinfolk._io import local_path, new_file
from kinfolk.data.decode import types_from_json, types_to_json
from kinfolk.errors import KinfolkError
from kinfolk.models.base import Model
from kinfolk.models.histogram import Histogram
from kinfolk.models.hpd import HPD
from kinfolk.privacy.certificate import FIRST_FORMAT, Certificate
from kinfolk.privacy.certificate import FORMAT as CERTIFICATE
from kinfolk.privacy.curator import schema_digest
from kinfolk.release.verify import settled_groups, verify
from kinfolk.schema import Schema
from kinfolk.schema.roles import is_whole

if TYPE_CHECKING:
    from kinfolk.release.release import Release


Arrays = Mapping[str, npt.NDArray[Any]]

HEADER = "model.json"
LONGEST_HEADER = 64 * 2**20
"""Bytes; a certificate of a hundred thousand steps takes a third of it."""
LONGEST_DIRECTORY = 2**18
"""Bytes; the list of as many entries as there may be is shorter."""
LONGEST_NUMBER = 1000
"""Digits of a whole number in the header."""
MOST_ARRAYS = 1000
NAME = re.compile(r"[a-z0-9_]{1,64}(/[a-z0-9_]{1,64})?")
DTYPES = (
    *("|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8"),
    *("<f2", "<f4", "<f8"),
)
"""Numbers that an array can hold: true/false, whole numbers, fractions."""

_MAGIC = b"\x93NUMPY\x01\x00"
_LAYOUT = re.compile(
    r"\{'descr': '([<|][a-z][0-9])', 'fortran_order': False, "
    r"'shape': \(([0-9]{1,15},|[0-9]{1,15}(?:, [0-9]{1,15}){1,7})\), \} *\n"
)
"""How NumPy describes an array in rows: the same in all its versions."""

_DATE = (1980, 1, 1, 0, 0, 0)
_LOCAL = 30
"""Bytes before an entry's name; its content follows the name."""


def write_archive(path: str | os.PathLike[str], header: Mapping[str, Any], arrays: Arrays) -> None:
    """Write the file under a temporary name, and give it its own when it is on disk."""
    text = json.dumps(header, allow_nan=False, ensure_ascii=False, indent=1, sort_keys=True)
    with (
        new_file(local_path(path), durable=True) as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive,
    ):
        archive.writestr(_entry(HEADER), text.encode())
        for name in sorted(arrays):
            archive.writestr(_entry(f"{name}.npy"), _packed(name, arrays[name]))


def read_archive(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The header and the arrays; KinfolkError says what is wrong with the file."""
    try:
        kind = stat.S_IFMT(os.stat(path).st_mode)
        # Others, such as a pipe, might keep us waiting.
        if kind not in (stat.S_IFREG, stat.S_IFDIR):
            raise KinfolkError("is no file. Name a model file.")
        with local_path(path).open("rb") as file:
            _check_end(file)
            with zipfile.ZipFile(file) as archive:
                entries = _entries(archive)
                header = _parsed(archive.read(HEADER))
                arrays = {
                    name.removesuffix(".npy"): _unpacked(name, archive.read(name))
                    for name in entries
                    if name != HEADER
                }
    except KinfolkError:
        raise
    except FileNotFoundError:
        raise KinfolkError("there is no such file. Check the path.") from None
    except IsADirectoryError:
        raise KinfolkError("is a folder. Name the model file in it.") from None
    except Exception as error:
        # A place outside the file is an invalid argument to the system.
        if isinstance(error, OSError) and error.errno != errno.EINVAL:
            raise KinfolkError(f"cannot be read ({error.strerror or error}).") from None
        # Whatever the libraries trip over, the file is to blame.
        raise KinfolkError(f"is damaged, or no model file ({_short(error)}).") from None
    return header, arrays


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name, _DATE)
    entry.create_system = 3
    entry.external_attr = 0o644 << 16
    return entry


def _packed(name: str, array: npt.NDArray[Any]) -> bytes:
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    if not NAME.fullmatch(name) or little.dtype.str not in DTYPES or little.ndim > 8:
        raise ValueError(f"an array {name!r} of {array.dtype} cannot be saved")
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, little, version=(1, 0), allow_pickle=False)
    return buffer.getvalue()


def _check_end(file: IO[bytes]) -> None:
    """The end says how long the list of entries is, which is read as a whole."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(size - 98, 0))
    tail = file.read()
    if len(tail) < 22 or tail[-22:-18] != b"PK\x05\x06" or tail[-2:] != b"\x00\x00":
        raise ValueError("it does not end as it should")
    lengths = [tail[-10:-6]]
    if tail[-42:-38] == b"PK\x06\x07":
        # What large files have in addition.
        lengths.append(tail[-58:-50])
    if max(int.from_bytes(length, "little") for length in lengths) > LONGEST_DIRECTORY:
        raise ValueError("its list of entries is too long")


def _entries(archive: zipfile.ZipFile) -> list[str]:
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
        stored = entry.compress_type == zipfile.ZIP_STORED and not entry.flag_bits & 1
        if not stored or entry.compress_size != entry.file_size:
            raise KinfolkError("is no model file: an entry is compressed or encrypted.")
    end = 0
    for entry in sorted(found, key=lambda entry: entry.header_offset):
        if entry.header_offset < end:
            raise KinfolkError("is no model file: its entries overlap.")
        if end == 0 and entry.header_offset:
            raise KinfolkError("is no model file: something stands before its entries.")
        end = entry.header_offset + _LOCAL + len(entry.orig_filename) + entry.file_size
    if end > archive.start_dir:
        raise KinfolkError("is no model file: its entries overlap.")
    if archive.getinfo(HEADER).file_size > LONGEST_HEADER:
        raise KinfolkError(f"is no model file: {HEADER} is too long.")
    return names


def _parsed(content: bytes) -> dict[str, Any]:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no number")

    def whole(digits: str) -> int:
        if len(digits) > LONGEST_NUMBER:
            raise ValueError("a number is too long")
        return int(digits)

    def fraction(digits: str) -> float:
        number = float(digits) if len(digits) <= LONGEST_NUMBER else math.inf
        if not math.isfinite(number):
            raise ValueError("a number is too large")
        return number

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("something is said twice")
        return found

    text = content.decode()
    try:
        header = json.loads(
            text,
            parse_constant=refuse,
            parse_int=whole,
            parse_float=fraction,
            object_pairs_hook=once,
        )
        if "\\ud" in text.lower():
            # Halves of characters can be written, but neither printed nor saved.
            json.dumps(header, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(header, dict):
        raise ValueError("the header is no JSON object")
    return header


def _unpacked(name: str, content: bytes) -> npt.NDArray[Any]:
    """The array of an entry: its size is checked before any room is made for it."""
    if not content.startswith(_MAGIC):
        raise ValueError(f"{name} is not of version 1")
    start = len(_MAGIC) + 2
    end = start + int.from_bytes(content[len(_MAGIC) : start], "little")
    said = _LAYOUT.fullmatch(content[start:end].decode("latin-1"))
    if said is None or said[1] not in DTYPES:
        raise ValueError(f"{name} does not hold plain numbers")
    dtype = np.dtype(said[1])
    shape = tuple(int(length) for length in re.findall("[0-9]+", said[2]))
    if math.prod(shape) * dtype.itemsize != len(content) - end:
        raise ValueError(f"{name} is not as long as it says")
    array = np.frombuffer(content, dtype, offset=end).reshape(shape)
    if dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{name} holds something that is not a number")
    if dtype.kind == "b" and (array.view(np.uint8) > 1).any():
        raise ValueError(f"{name} holds something that is neither true nor false")
    return array.astype(dtype.newbyteorder("="))


def _short(error: BaseException) -> str:
    text = str(error).split("\n")[0] or type(error).__name__
    return text if len(text) <= 120 else f"{text[:117]}..."


def model_digest(schema: Schema, groups: int, arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """What tells a model from any other."""
    found = hashlib.sha256(schema_digest(schema).encode())
    found.update(f"/{groups}".encode())
    for name in sorted(arrays):
        array = arrays[name]
        plain = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
        found.update(f"/{name}/{plain.dtype.str}/{plain.shape}/".encode())
        found.update(plain.tobytes())
    return found.hexdigest()


def file_digest(path: Path) -> str:
    """What tells a file from any other."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


FORMAT = "kinfolk model 1"
PROBABILITIES = "probabilities"
"""What a model's own array is called."""
EXTRA = "extra/"

KINDS: dict[str, type[Model]] = {HPD.kind: HPD, Histogram.kind: Histogram}
"""All kinds of models, by the names that a model file gives them."""

MOST_GROUPS = 10**15

_FIELDS = {
    "certificate": dict,
    "groups": int,
    "kind": str,
    "method": str,
    "schema": str,
    "settings": dict,
    "types": dict,
}


def save(release: Release, path: str | os.PathLike[str]) -> None:
    """Write a release, all of it or nothing. The same release gives the same bytes."""
    model = release.model
    header = {
        "format": FORMAT,
        "schema": release.schema.to_yaml(),
        **model.describe(),
        "groups": release.groups,
        "types": types_to_json(release.types),
        "method": release.method,
        "settings": dict(release.settings),
        "certificate": dict(release.certificate),
    }
    extra = {f"{EXTRA}{name}": array for name, array in release.extra.items()}
    write_archive(path, header, {PROBABILITIES: model.probabilities, **extra})


def load(path: str | os.PathLike[str]) -> Release:
    """Read a model file; one that is damaged, or does not hold what it says, is refused.

    >>> import tempfile
    >>> try:
    ...     load(tempfile.mkdtemp() + "/model.kinfolk")
    ... except KinfolkError as error:
    ...     print(str(error).split("/")[-1])
    model.kinfolk: there is no such file. Check the path.
    """
    try:
        header, arrays = read_archive(path)
        return _release(header, arrays)
    except KinfolkError as error:
        raise KinfolkError(f"{os.fspath(path)}: {error}") from None


def stored_digest(path: Path) -> str | None:
    """The digest of the model in a file, whatever its certificate says; None where it has none."""
    try:
        header, arrays = read_archive(path)
        schema = Schema.from_text(header["schema"])
        held = {name.removeprefix(EXTRA): array for name, array in arrays.items()}
        return model_digest(schema, header["groups"], held)
    except (KinfolkError, LookupError, TypeError, AttributeError):
        return None


def _release(header: Mapping[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Release:
    # Imported here because they write model files, or name what is in them.
    from kinfolk.release.release import Release
    from kinfolk.release.replicates import held as held_replicates

    form = header.get("format")
    if form != FORMAT:
        known = f"This version of kinfolk reads {FORMAT!r}."
        raise KinfolkError(f"is not of a format that can be read ({str(form)[:40]!r}). {known}")
    for name, kind in _FIELDS.items():
        if not isinstance(header.get(name), kind):
            raise KinfolkError(f"is damaged: its {name} is missing, or not what it should be.")
    if not is_whole(header["groups"]) or not 1 <= header["groups"] <= MOST_GROUPS:
        raise KinfolkError("is damaged: its number of groups cannot be.")
    # Asked first, as models were laid out in another way then.
    if header["certificate"].get("format") == FIRST_FORMAT:
        raise KinfolkError(
            "was written by an earlier version of kinfolk, whose certificate does not say what "
            "each step bought. Use it with that version, or make the release again."
        )
    schema = Schema.from_text(header["schema"], name="the schema in it")
    probabilities = arrays.pop(PROBABILITIES, None)
    if probabilities is None or not all(name.startswith(EXTRA) for name in arrays):
        raise KinfolkError("is damaged: it does not hold the arrays that it should.")
    model = _model(header, schema, probabilities)
    extra = {name.removeprefix(EXTRA): array for name, array in arrays.items()}
    held = {PROBABILITIES: probabilities, **extra}
    _check_certificate(header["certificate"], schema, header["groups"], held)
    release = Release(
        model=model,
        certificate=Certificate(header["certificate"]),
        groups=header["groups"],
        method=header["method"],
        settings=header["settings"],
        types=types_from_json(header["types"], schema),
        extra=extra,
    )
    _check_shapes(release)
    held_replicates(release)
    return release


def _check_shapes(release: Release) -> None:
    """What is said of numbers must be about the numbers of the schema."""
    try:
        release.shapes, release.raking  # noqa: B018  (reading them checks them)
    except KinfolkError as error:
        raise KinfolkError(f"is damaged: {error}") from None


def _model(header: Mapping[str, Any], schema: Schema, table: npt.NDArray[Any]) -> Model:
    """The model, if the table holds its distributions."""
    kind = KINDS.get(header["kind"])
    if kind is None:
        raise KinfolkError(f"holds a model of the unknown kind {header['kind'][:40]!r}.")
    return kind.from_description(header, schema, table)


def _check_certificate(
    certificate: dict[str, Any], schema: Schema, groups: int, arrays: Mapping[str, Any]
) -> None:
    """The certificate must follow from the schema, and be the one of this very model."""
    if certificate.get("format") != CERTIFICATE:
        raise KinfolkError("its certificate does not hold: it is of another format.")
    wrong = verify(certificate, schema)
    if not wrong and groups != settled_groups(certificate, schema):
        wrong = ["its number of groups is not that of the model"]
    if not wrong and certificate["release"].get("model") != model_digest(schema, groups, arrays):
        wrong = ["it is the certificate of another model"]
    if wrong:
        raise KinfolkError(f"its certificate does not hold: {wrong[0]}.")
