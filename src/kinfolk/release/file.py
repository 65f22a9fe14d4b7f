"""The model file: a release on disk. Reading it executes nothing and believes nothing."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from kinfolk.data.storage_types import types_from_json, types_to_json
from kinfolk.errors import KinfolkError
from kinfolk.models.histogram import Histogram
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.models.universe import Universe, distinct_size
from kinfolk.privacy.certificate import FORMAT as CERTIFICATE
from kinfolk.privacy.certificate import Certificate
from kinfolk.release.archive import read_archive, write_archive
from kinfolk.release.digests import model_digest
from kinfolk.release.release import PROBABILITIES, Release
from kinfolk.release.verify import settled_groups, verify
from kinfolk.sampling import Model
from kinfolk.schema import Schema
from kinfolk.schema.roles import is_whole

FORMAT = "kinfolk model 1"
EXTRA = "extra/"

MOST_COMPOSITIONS = 1_000_000
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
        "kind": "hpd" if isinstance(model, HPD) else "histogram",
        "schema": release.schema.to_yaml(),
        "scheme": [list(part) for part in model.layout.scheme] if isinstance(model, HPD) else None,
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


def _release(header: Mapping[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> Release:
    form = header.get("format")
    if form != FORMAT:
        known = f"This version of kinfolk reads {FORMAT!r}."
        raise KinfolkError(f"is not of a format that can be read ({str(form)[:40]!r}). {known}")
    for name, kind in _FIELDS.items():
        if not isinstance(header.get(name), kind):
            raise KinfolkError(f"is damaged: its {name} is missing, or not what it should be.")
    if not is_whole(header["groups"]) or not 1 <= header["groups"] <= MOST_GROUPS:
        raise KinfolkError("is damaged: its number of groups cannot be.")
    schema = Schema.from_text(header["schema"], name="the schema in it")
    probabilities = arrays.pop(PROBABILITIES, None)
    if probabilities is None or not all(name.startswith(EXTRA) for name in arrays):
        raise KinfolkError("is damaged: it does not hold the arrays that it should.")
    model = _model(header, schema, probabilities)
    extra = {name.removeprefix(EXTRA): array for name, array in arrays.items()}
    held = {PROBABILITIES: probabilities, **extra}
    _check_certificate(header["certificate"], schema, header["groups"], held)
    return Release(
        model=model,
        certificate=Certificate(header["certificate"]),
        groups=header["groups"],
        method=header["method"],
        settings=header["settings"],
        types=types_from_json(header["types"], schema),
        extra=extra,
    )


def _model(header: Mapping[str, Any], schema: Schema, table: npt.NDArray[Any]) -> Model:
    """The model, if the table holds its distributions."""
    if schema.roles is not None:
        ranges = (high - low + 1 for low, high in schema.roles.limits(schema.max_size))
        if math.prod(ranges) > MOST_COMPOSITIONS:
            raise KinfolkError("is no model file: its roles allow too many compositions.")
    if header["kind"] == "hpd":
        layout = Layout(schema=schema, scheme=_scheme(header.get("scheme"), schema))
        fits = table.ndim == 2 and table.shape[0] == layout.rows and table.shape[1] >= 1
        if not fits or table.dtype not in (np.float32, np.float64):
            raise KinfolkError(f"is damaged: its probabilities are {_shape(table)}.")
        _check_sums(table, np.add.reduceat(table, layout.segments[:-1], axis=0, dtype=np.float64))
        return HPD(layout=layout, probabilities=table)
    if header["kind"] != "histogram":
        raise KinfolkError(f"holds a model of the unknown kind {header['kind'][:40]!r}.")
    # First the sizes, which are quick to work out; then the list of all groups.
    if table.dtype != np.float64 or table.ndim != 2 or table.size != distinct_size(schema):
        raise KinfolkError(f"is damaged: its probabilities are {_shape(table)}.")
    universe = Universe.of(schema)
    if table.shape != (universe.casts, universe.group_cells):
        raise KinfolkError(f"is damaged: its probabilities are {_shape(table)}.")
    _check_sums(table, table.sum())
    return Histogram(universe=universe, probabilities=table)


def _scheme(scheme: object, schema: Schema) -> tuple[tuple[int, ...], ...]:
    roles = 1 if schema.roles is None else len(schema.roles.names)
    if (
        not isinstance(scheme, list)
        or len(scheme) != roles
        or not all(isinstance(part, list) and len(part) <= schema.max_size for part in scheme)
    ):
        raise KinfolkError("is damaged: its sharing scheme is not one for its schema.")
    return tuple(tuple(part) for part in scheme)


def _check_sums(table: npt.NDArray[Any], sums: Any) -> None:
    if table.min() < 0 or np.abs(sums - 1).max() > 1e-4:
        raise KinfolkError("is damaged: its probabilities are negative or do not add up to one.")


def _check_certificate(
    certificate: dict[str, Any], schema: Schema, groups: int, arrays: Mapping[str, Any]
) -> None:
    """The certificate must follow from the schema, and be the one of this very model."""
    if certificate.get("format") == "kinfolk certificate 1":
        raise KinfolkError(
            "was written by an earlier version of kinfolk, whose certificate does not say what "
            "each step bought. Use it with that version, or make the release again."
        )
    if certificate.get("format") != CERTIFICATE:
        raise KinfolkError("its certificate does not hold: it is of another format.")
    wrong = verify(certificate, schema)
    if not wrong and groups != settled_groups(certificate, schema):
        wrong = ["its number of groups is not that of the model"]
    if not wrong and certificate["release"].get("model") != model_digest(schema, groups, arrays):
        wrong = ["it is the certificate of another model"]
    if wrong:
        raise KinfolkError(f"its certificate does not hold: {wrong[0]}.")


def _shape(table: npt.NDArray[Any]) -> str:
    return f"{table.shape} of {table.dtype}, which is not what its schema needs"
