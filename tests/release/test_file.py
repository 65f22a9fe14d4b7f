"""The model file: the same in, the same out; damaged or hostile files are refused."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from homes import HOMES, homes
from kinfolk import Synthesizer, load
from kinfolk.errors import KinfolkError
from kinfolk.release.file import HEADER, model_digest, read_archive, write_archive
from kinfolk.release.release import Release
from release.small import QUICK, saved, synthesizer


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="module")
def histogram(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("histogram") / "model.kinfolk"
    told = {"unit": "group", "epsilon": 1.0, "delta": 1e-6, "seed": 1}
    Synthesizer(HOMES, method="mwem", rounds=3, **told).fit(homes()).save(path)
    return path


@pytest.mark.parametrize("kind", ["model", "histogram"])
def test_a_file_gives_back_the_release(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    path: Path = request.getfixturevalue(kind)
    release = load(path)
    release.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()
    assert release.private is False
    assert release.groups == release.certificate["totals"]["groups"]
    for name, table in release.sample(50, seed=3).items():
        assert table.equals(load(tmp_path / "again").sample(50, seed=3)[name])


def test_what_is_in_memory_is_what_is_on_disk(tmp_path: Path) -> None:
    maker = synthesizer().fit(homes())
    maker.save(tmp_path / "model.kinfolk")
    found, kept = load(tmp_path / "model.kinfolk"), maker.release
    assert found.model.probabilities.dtype == np.float32
    np.testing.assert_array_equal(found.model.probabilities, kept.model.probabilities)
    assert (found.schema, found.groups, found.types) == (kept.schema, kept.groups, kept.types)
    assert (found.method, found.settings) == ("hpd-fixed", kept.settings)
    assert found.settings["rounds"] == QUICK["rounds"]
    assert found.certificate == json.loads(json.dumps(kept.certificate))
    assert found.frames == "pyarrow"


def test_more_arrays_are_kept(model: Path, tmp_path: Path) -> None:
    found = load(model)
    extra = {"sigma": np.arange(4, dtype=np.float32), "marginal": np.array([[1, 2]], np.int16)}
    held = {"probabilities": found.model.probabilities, **extra}
    digest = model_digest(found.schema, found.groups, held)
    stated = {**found.certificate, "release": {"model": digest}}
    more = Release(**{**vars(found), "extra": extra, "certificate": stated})
    more.save(tmp_path / "more")
    again = load(tmp_path / "more")
    assert {name: (a.dtype, a.tolist()) for name, a in again.extra.items()} == {
        name: (a.dtype, a.tolist()) for name, a in extra.items()
    }


def changed(path: Path, to: Path, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> Path:
    """A copy whose header and arrays were changed by somebody who knows the format."""
    header, arrays = read_archive(path)
    change(header, arrays)
    write_archive(to, header, arrays)
    return to


def header_change(**entries: Any) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    return lambda header, arrays: header.update(entries)


def certificate_change(**entries: Any) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    return lambda header, arrays: header["certificate"].update(entries)


def array_change(change: Callable[[Any], Any]) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    return lambda header, arrays: arrays.update(probabilities=change(arrays["probabilities"]))


def negative(table: Any) -> Any:
    table[0, 0], table[1, 0] = -0.5, table[0, 0] + table[1, 0] + 0.5
    return table


def first_version(header: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Models had fewer rows then, so they must be known before they are looked into."""
    header["certificate"]["format"] = "kinfolk certificate 1"
    arrays["probabilities"] = arrays["probabilities"][:-1]


ROLES = "group: {table: h, id: i, attributes: {}}\nindividual: {table: p, group_id: i, attributes: "
ROLES += "{a: {values: [1]}}}\nmax_size: 255\nworkload: {k: 1}\nroles:\n  column: r\n"
ROLES += "".join(f"  r{n}: {{values: [{n}], min: 0, max: 200}}\n" for n in range(30))

HOSTILE = {
    "version": (header_change(format="kinfolk model 2"), "is not of a format that can be read"),
    "kind": (header_change(kind="pickle"), "unknown kind 'pickle'"),
    "other kind": (header_change(kind="histogram"), "its probabilities are"),
    "no certificate": (header_change(certificate=None), "its certificate is missing"),
    "groups": (header_change(groups=True), "number of groups"),
    "many groups": (header_change(groups=10**30), "number of groups"),
    "schema": (header_change(schema="max_size: 3"), "the schema in it: 2 problems"),
    "many roles": (header_change(schema=ROLES), "more than the 20,000 that kinfolk handles"),
    "scheme": (header_change(scheme=[[1] * 300]), "its sharing scheme"),
    "short scheme": (header_change(scheme=[[1]]), "holds 1 members"),
    "types": (header_change(types={"homes": {"veh": "list<item: int8>"}}), "storage type of homes"),
    "columns": (header_change(types={"homes": {"x": "int8"}}), "columns of homes"),
    "overspent": (certificate_change(spent="1/2"), "its certificate does not hold"),
    "stronger": (certificate_change(epsilon=0.1), "more than the promised"),
    "endless": (certificate_change(rho="1e999999999"), "its certificate does not hold"),
    "torn": (certificate_change(torn="1e999999999"), "torn is missing, or not what it should be"),
    "other model": (array_change(lambda table: table[:, ::-1]), "certificate of another model"),
    "first certificate": (first_version, "was written by an earlier version of kinfolk"),
    "no spends": (certificate_change(spends=7), "its certificate does not hold"),
    "negative": (array_change(negative), "negative or do not add up"),
    "sum": (array_change(lambda table: table * 1.01), "negative or do not add up"),
    "infinite": (array_change(lambda table: table / 0), "not a number"),
    "rows": (array_change(lambda table: table[:-1]), "its probabilities are"),
    "flat": (array_change(np.ravel), "its probabilities are"),
    "none": (array_change(lambda table: table[:, :0]), "its probabilities are"),
    "whole": (array_change(lambda table: table.astype(np.int32)), "its probabilities are"),
    "no array": (lambda header, arrays: arrays.clear(), "does not hold the arrays"),
    "other array": (
        lambda header, arrays: arrays.update(other=arrays["probabilities"]),
        "does not hold the arrays",
    ),
}


@pytest.mark.filterwarnings("ignore:divide by zero")
@pytest.mark.parametrize("what", HOSTILE)
def test_a_file_that_says_something_else_is_refused(what: str, model: Path, tmp_path: Path) -> None:
    change, message = HOSTILE[what]
    path = changed(model, tmp_path / "bad.kinfolk", change)
    with pytest.raises(KinfolkError, match=message) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize("place", [0.02, 0.2, 0.5])
def test_a_changed_byte_is_noticed(model: Path, tmp_path: Path, place: float) -> None:
    content = bytearray(model.read_bytes())
    content[int(place * len(content))] ^= 0xFF
    (tmp_path / "flipped").write_bytes(content)
    with pytest.raises(KinfolkError, match="is damaged"):
        load(tmp_path / "flipped")


@pytest.mark.parametrize("place", [0.02, 0.5, 0.9, 0.999])
def test_half_a_file_is_refused(model: Path, tmp_path: Path, place: float) -> None:
    content = model.read_bytes()
    (tmp_path / "cut").write_bytes(content[: int(place * len(content))])
    with pytest.raises(KinfolkError, match="is damaged"):
        load(tmp_path / "cut")


def archive(path: Path, entries: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, content in entries.items():
            file.writestr(name, content)
    return path


def packed(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


class Evil:
    """Says so when it is unpickled."""

    ran = False

    def __reduce__(self) -> Any:
        return setattr, (Evil, "ran", True)


def test_nothing_is_executed(model: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(model) as file:
        header = file.read(HEADER)
    content = packed(np.array([Evil()], dtype=object))
    pickle.loads(pickle.dumps(Evil()))  # noqa: S301
    assert Evil.ran
    Evil.ran = False
    path = archive(tmp_path / "evil", {HEADER: header, "probabilities.npy": content})
    with pytest.raises(KinfolkError, match="does not hold plain numbers"):
        load(path)
    assert not Evil.ran


def test_bombs_are_refused(model: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(model) as file:
        header = file.read(HEADER)
    zeros = packed(np.zeros(10**6, np.float32))
    entries = {HEADER: header, "probabilities.npy": zeros}
    path = archive(tmp_path / "bomb", entries, zipfile.ZIP_DEFLATED)
    with pytest.raises(KinfolkError, match="compressed"):
        load(path)
    huge = io.BytesIO()
    shape = {"descr": "<f4", "fortran_order": False, "shape": (10**6, 10**6)}
    np.lib.format.write_array_header_1_0(huge, shape)
    entries["probabilities.npy"] = huge.getvalue()
    with pytest.raises(KinfolkError, match="not as long as it says"):
        load(archive(tmp_path / "huge", entries))
    entries = {HEADER: b"[" * 100_000}
    with pytest.raises(KinfolkError, match="nested too deeply"):
        load(archive(tmp_path / "deep", entries))
    with pytest.raises(KinfolkError, match="something else than arrays"):
        load(archive(tmp_path / "path", {HEADER: header, "../../evil.npy": zeros}))


def test_what_is_no_model_file(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello", encoding="utf-8")
    for path, message in [
        (tmp_path / "text", "is damaged, or no model file"),
        (tmp_path, "is a folder"),
        (tmp_path / "missing", "there is no such file"),
    ]:
        with pytest.raises(KinfolkError, match=message):
            load(path)


def test_an_interrupted_save_leaves_what_was_there(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "model.kinfolk"
    target.write_bytes(model.read_bytes())

    def fail(handle: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", fail)
    release = load(model)
    with pytest.raises(KeyboardInterrupt):
        release.save(target)
    assert target.read_bytes() == model.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["model.kinfolk"]
