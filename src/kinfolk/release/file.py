"""The model file: a release on disk. Reading it executes nothing and believes nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from kinfolk.data.decode import types_from_json, types_to_json
from kinfolk.errors import KinfolkError
from kinfolk.models.base import Model
from kinfolk.models.histogram import Histogram
from kinfolk.models.hpd import HPD
from kinfolk.privacy.certificate import FIRST_FORMAT, Certificate
from kinfolk.privacy.certificate import FORMAT as CERTIFICATE
from kinfolk.release.archive import model_digest, read_archive, write_archive
from kinfolk.release.release import PROBABILITIES, Release
from kinfolk.release.replicates import held as held_replicates
from kinfolk.release.verify import settled_groups, verify
from kinfolk.schema import Schema
from kinfolk.schema.roles import is_whole

FORMAT = "kinfolk model 1"
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
        release.shapes  # noqa: B018  (reading it checks it)
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
