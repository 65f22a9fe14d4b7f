"""Digests of what is released, by which a certificate names it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kinfolk.privacy.curator import schema_digest
from kinfolk.schema import Schema

_PIECE = 2**20


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
    found = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            found.update(piece)
    return found.hexdigest()
