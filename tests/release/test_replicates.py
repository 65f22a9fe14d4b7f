"""Tables of refits: as noisy as the release is, as lawful, and more of them at no cost."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyarrow.csv import read_csv

from kinfolk import KinfolkError, Release, Synthesizer, load
from kinfolk.cli.main import run
from kinfolk.data.encode import encode
from kinfolk.data.shapes import SHARES
from kinfolk.methods import marginals as marginals_module
from kinfolk.methods.number_shapes import expected_counts, fit_shapes
from kinfolk.methods.refits import (
    PASSES,
    REPLICATE_GROUPS,
    REPLICATE_SHARES,
    REPLICATES,
    Refits,
)
from kinfolk.privacy.curator import Measurement
from kinfolk.release.replicates import held, refits_of, replicate_releases
from kinfolk.release.verify import verify
from release.test_numbers import SCHEMA, tables

RULED = replace(SCHEMA, never=["sex = m and hours > 45", "COUNT = 3 and rent > 1200"])


@pytest.fixture(scope="module")
def asked() -> list[dict[str, Any]]:
    """What the training has made its replicates from."""
    return []


@pytest.fixture(scope="module")
def release(asked: list[dict[str, Any]]) -> Release:
    def noted(**told: Any) -> Refits:
        asked.append(told)
        return Refits(**told)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(marginals_module, "Refits", noted)
        # Homes that break the rules are left out.
        schema = replace(RULED, on_violation="drop")
        maker = Synthesizer(
            schema, unit="household", epsilon=0.5, delta=1e-6, seed=5,
            components=12, parts=2, max_passes=3, replicates=3,
        )  # fmt: skip
        return maker.fit(tables(1500)).release


def test_a_release_keeps_all_that_replicates_are_drawn_from(release: Release) -> None:
    cells = release.extra[SHARES].shape
    rows = release.model.probabilities.shape[0]
    assert release.extra[REPLICATES].shape == (3, rows, 6)
    assert release.extra[REPLICATE_SHARES].shape == (3, *cells)
    assert release.extra[REPLICATE_GROUPS].shape == (3,)
    assert 1 <= int(release.extra[PASSES][0]) <= 3
    # Each has noise of its own: in its numbers, and in how many groups it takes there to be.
    assert len(np.unique(release.extra[REPLICATE_SHARES], axis=0)) == 3
    assert len(np.unique(release.extra[REPLICATE_GROUPS])) == 3


def test_replicate_tables_are_like_the_release(release: Release) -> None:
    drawn = release.replicates(seed=4)
    sizes = [one["homes"].num_rows for one in drawn]
    assert sizes == release.extra[REPLICATE_GROUPS].tolist()
    for one in drawn:
        # Encoding checks every rule; the real data had some that break them.
        assert encode(replace(RULED, on_violation="error"), one).groups == one["homes"].num_rows
    again = release.replicates(2, seed=4)
    assert [one["people"].equals(two["people"]) for one, two in zip(drawn, again, strict=False)]
    assert not drawn[0]["people"].equals(drawn[1]["people"])
    exact = release.replicates(2, groups=70, where="rent = 0", seed=4)
    assert [one["homes"].num_rows for one in exact] == [70, 70]
    assert all(not any(one["homes"]["rent"].to_pylist()) for one in exact)


def test_a_replicate_draws_numbers_by_its_own_shapes(release: Release) -> None:
    own = [one.shapes for one in replicate_releases(release, None)]
    for shapes, shares in zip(own, release.extra[REPLICATE_SHARES], strict=True):
        assert shapes is not None
        assert np.array_equal(shapes.to_arrays()[SHARES], shares)


def test_the_number_of_groups_is_as_noisy_as_it_was(release: Release) -> None:
    """Of 400 numbers, the standard deviation is within 6 of its own; one in a million beyond."""
    refits = refits_of(release, np.random.default_rng(1))
    (bought,) = (one for one in release.certificate["spends"] if one["step"] == "groups")
    assert refits.groups_sigma == bought["sigma"]
    rng = np.random.default_rng(2)

    found = [refits.noisy_groups(rng) for _ in range(400)]
    sigma = refits.groups_sigma
    assert abs(np.std(found) - sigma) < 6 * sigma / np.sqrt(2 * 400) + 0.5


def test_a_model_file_says_all_that_it_takes_to_make_more(
    release: Release, asked: list[dict[str, Any]], tmp_path: Path
) -> None:
    """What is worked out from the file is what the training itself has used."""
    release.save(tmp_path / "model.kinfolk")
    again = refits_of(load(tmp_path / "model.kinfolk"), np.random.default_rng(1))
    (told,) = asked
    for name in ("groups_sigma", "passes", "components", "fine", "fine_sigma"):
        assert getattr(again, name) == told[name], name
    assert again.view.groups == told["view"].groups
    np.testing.assert_array_equal(again.view.weights, told["view"].weights)
    there = [np.sort(np.concatenate([one.precision for one in b])) for b in _both(again, told)]
    np.testing.assert_allclose(*there)
    impossible = [np.concatenate([one.impossible for one in b]).sum() for b in _both(again, told)]
    assert impossible[0] == impossible[1]


def _both(again: Refits, told: dict[str, Any]) -> list[Any]:
    return [again.batches, told["batches"]]


def test_more_replicates_are_made_from_a_model(release: Release, tmp_path: Path) -> None:
    with pytest.raises(KinfolkError, match=r"holds 3 replicates, not 5.*`kinfolk sample --refit`"):
        release.replicates(5)
    told: list[tuple[str, int, int]] = []
    more = release.with_replicates(5, seed=1, progress=lambda *one: told.append(one))
    assert told == [("repeating", 1, 2), ("repeating", 2, 2)]
    assert len(more.replicates(5, groups=20)) == 5
    for name in (REPLICATES, REPLICATE_SHARES, REPLICATE_GROUPS):
        assert np.array_equal(more.extra[name][:3], release.extra[name])
    assert len(np.unique(more.extra[REPLICATES], axis=0)) == 5
    assert release.with_replicates(2) is release
    # It is a release like any other: nothing was spent, and the file holds it.
    more.save(tmp_path / "more.kinfolk")
    assert len(held(load(tmp_path / "more.kinfolk"))) == 5
    assert more.certificate["spends"] == release.certificate["spends"]
    assert verify(more.certificate, release.schema) == []
    same = release.with_replicates(5, seed=1)
    assert np.array_equal(same.extra[REPLICATES], more.extra[REPLICATES])


def test_counts_that_a_model_expects_give_its_shapes_again(release: Release) -> None:
    refits = refits_of(release, np.random.default_rng(1))
    shapes = release.shapes
    assert shapes is not None
    many = 10**7
    counts = expected_counts(release.model, shapes, refits.view, refits.fine, many)  # type: ignore[arg-type]
    bought = Measurement(marginals=refits.fine, values=np.rint(counts).astype(np.int64), sigma=1e-3)
    again = fit_shapes(release.model, refits.view, bought, many)  # type: ignore[arg-type]
    np.testing.assert_allclose(again.to_arrays()[SHARES], shapes.to_arrays()[SHARES], atol=0.05)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        (REPLICATE_GROUPS, np.array([1, 2])),
        (REPLICATE_GROUPS, np.array([1, 0, 3])),
        (REPLICATE_GROUPS, np.array([1.0, 2.0, 3.0])),
        (REPLICATE_SHARES, np.ones((2, 4))),
        (REPLICATE_SHARES, np.ones((3, 4))),
        (PASSES, np.array([0])),
        (PASSES, np.array([1.5])),
    ],
)
def test_damaged_replicates_are_refused(release: Release, name: str, array: Any) -> None:
    wrong = replace(release, extra={**release.extra, name: array})
    with pytest.raises(KinfolkError, match="damaged"):
        wrong.with_replicates(9)


def test_models_without_replicates_say_so(release: Release) -> None:
    none = replace(release, extra={})
    with pytest.raises(KinfolkError, match="holds no replicates"):
        none.replicates()
    with pytest.raises(KinfolkError, match="cannot be made from this model"):
        none.with_replicates(3)
    with pytest.raises(KinfolkError, match="replicates: 0 is not a whole number"):
        release.replicates(0)
    # A model file of an earlier version has nothing but the refits themselves.
    old = replace(release, extra={name: release.extra[name] for name in (REPLICATES, SHARES)})
    assert {one["homes"].num_rows for one in old.replicates(2)} == {release.groups}


@pytest.fixture
def model(release: Release, tmp_path: Path) -> str:
    release.save(tmp_path / "model.kinfolk")
    return str(tmp_path / "model.kinfolk")


def test_the_command_writes_main_and_replicates(
    model: str, release: Release, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "out"
    told = ["sample", model, "--seed", "4", "-o", str(folder)]
    assert run([*told, "--replicates", "2"]) == 0
    assert sorted(path.name for path in folder.iterdir()) == ["main", "replicate-1", "replicate-2"]
    for number, name in enumerate(("main", "replicate-1", "replicate-2")):
        files = sorted(path.name for path in (folder / name).iterdir())
        assert files == ["codebook.html", "codebook.xml", "homes.csv", "people.csv", "privacy.json"]
        stated = json.loads((folder / name / "privacy.json").read_text(encoding="utf-8"))
        assert stated["release"].get("replicate", 0) == number
    python = release.replicates(2, seed=4)
    for number in (1, 2):
        found = read_csv(folder / f"replicate-{number}" / "homes.csv")
        assert found["rent"].to_pylist() == python[number - 1]["homes"]["rent"].to_pylist()
    # Without --replicates, the main tables are the same.
    assert run(["sample", model, "--seed", "4", "-o", str(tmp_path / "plain")]) == 0
    plain, main = (path / "people.csv" for path in (tmp_path / "plain", folder / "main"))
    assert plain.read_bytes() == main.read_bytes()
    capsys.readouterr()
    assert run(["certificate", str(folder / "replicate-1" / "privacy.json")]) != 2
    assert "of a refit to made-up noise" in capsys.readouterr().out
    assert run([*told, "--replicates", "2"]) == 2
    assert "main/homes.csv: the file exists" in capsys.readouterr().err
    assert run([*told, "--replicates", "4", "--force"]) == 2
    assert "the model holds 3 replicates, not 4" in capsys.readouterr().err
    assert run([*told, "--replicates", "4", "--refit", "--groups", "9", "--force"]) == 0
    assert (folder / "replicate-4" / "homes.csv").exists()
    assert run([*told, "--refit"]) == 2
    assert "Say how many, by --replicates" in capsys.readouterr().err


def test_the_command_draws_only_what_is_wanted(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "out"
    told = ["sample", model, "--groups", "60", "-o", str(folder), "--force"]
    assert run([*told, "--where", "rent = 0 and COUNT = 2"]) == 0
    homes, people = (read_csv(folder / f"{name}.csv") for name in ("homes", "people"))
    assert (homes.num_rows, people.num_rows) == (60, 120)
    assert set(homes["rent"].to_pylist()) == {0.0}
    stated = json.loads((folder / "privacy.json").read_text(encoding="utf-8"))["release"]
    assert stated["where"] == "rent = 0 and COUNT = 2"
    assert "search" not in stated
    capsys.readouterr()
    assert run(["certificate", str(folder / "privacy.json")]) != 2
    assert "groups where rent = 0 and COUNT = 2" in capsys.readouterr().out
    assert run([*told, "--where", "no person with sex = m"]) == 0
    assert set(read_csv(folder / "people.csv")["sex"].to_pylist()) == {"f"}
    stated = json.loads((folder / "privacy.json").read_text(encoding="utf-8"))["release"]
    assert 60 <= stated["search"]["wanted"] <= stated["search"]["looked_at"]
    assert run([*told, "--where", "rents = 0"]) == 2
    assert "where: in 'rents = 0', attribute 'rents' is unknown" in capsys.readouterr().err
