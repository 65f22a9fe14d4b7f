"""What `make suites` is made of, without the suites: tables to compare with, folds, the page."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

sys.path.append(str(Path(__file__).parents[1]))

from bench.suites.candidates import compare_with
from bench.suites.coding import in_ranges, in_words, ranges, sdv_metadata
from bench.suites.page import page, score_table, unless_same
from bench.suites.results import Score, judge_all, read_scores, record
from bench.suites.tables import KEY, Tables, folds, halves, read, shuffled
from bench.suites.views import beside, coded, groups, with_aggregates, with_couple


def homes(number: int = 40) -> Tables:
    """Households of one to three, whose first member is the head."""
    sizes = np.arange(number) % 3 + 1
    keys = np.repeat(np.arange(number), sizes)
    place = np.concatenate([np.arange(size) for size in sizes])
    return Tables(
        households=pd.DataFrame(
            {
                KEY: np.arange(number),
                "income": np.arange(number) * 100.5,
                "tenure": ["own", "rent"] * (number // 2),
            }
        ),
        persons=pd.DataFrame(
            {
                KEY: keys,
                "relate": np.array(["head", "spouse", "child"])[place],
                "age": 40 + keys - 20 * (place == 2),
                "health": np.where(place == 2, np.nan, keys % 4),
            }
        ),
    )


def test_a_second_survey_has_the_other_half_of_the_households() -> None:
    real = homes()
    first, second = halves(real, seed=0)
    keys = [set(one.households[KEY]) for one in (first, second)]
    assert not keys[0] & keys[1]
    assert keys[0] | keys[1] == set(real.households[KEY])
    assert [len(one) for one in keys] == [20, 20]
    for half, own in zip((first, second), keys, strict=True):
        expected = real.persons[real.persons[KEY].isin(own)]
        assert half.persons.equals(expected.reset_index(drop=True))
    assert set(halves(real, seed=1)[0].households[KEY]) != keys[0]


def test_shuffled_columns_keep_their_values_and_lose_their_ties() -> None:
    real = homes(400)
    other = shuffled(real, seed=0)
    for before, after in ((real.households, other.households), (real.persons, other.persons)):
        assert list(after) == list(before)
        assert after[KEY].equals(before[KEY])
        for name in before.columns.drop(KEY):
            assert Counter(map(str, after[name])) == Counter(map(str, before[name]))
    # The income was the key times 100.5, and only heads' and spouses' health was known.
    assert abs(np.corrcoef(other.households["income"], other.households[KEY])[0, 1]) < 0.3
    assert other.persons[other.persons["relate"] == "child"]["health"].notna().any()


def test_a_household_is_in_one_fold() -> None:
    keys = homes().persons[KEY].to_numpy()
    fold = folds(keys, 3, seed=0)
    assert all(len(set(fold[keys == key])) == 1 for key in np.unique(keys))
    assert {len(np.unique(keys[fold == number])) for number in range(3)} == {13, 14}


def test_tables_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    real = homes()
    with pytest.raises(SystemExit, match="2 rows have a household_id that is not in households"):
        Tables(households=real.households[real.households[KEY] != 1], persons=real.persons)
    with pytest.raises(SystemExit, match="household_id is there twice"):
        Tables(households=pd.concat([real.households] * 2), persons=real.persons)
    with pytest.raises(SystemExit, match=r"households\.csv: no such file\. Name a folder"):
        read(tmp_path)
    real.write(tmp_path)
    assert read(tmp_path).persons.equals(real.persons)


def test_aggregates_are_those_of_the_members() -> None:
    real = homes()
    seen = with_aggregates(real, real)
    assert list(seen.index) == list(real.households[KEY])
    third = seen.loc[2]  # 42, 42 and 22 years old; the child's health is not known
    assert (third["number of members"], third["number with relate child"]) == (3, 1)
    assert (third["min of age"], third["max of age"], third["sum of age"]) == (22, 42, 106)
    assert (third["number with health 2"], third["number with health blank"]) == (2, 1)
    assert seen.loc[0, "number with relate child"] == 0


def test_relatives_stand_beside_each_other() -> None:
    seen = with_couple(homes(), homes())
    assert seen.loc[2, ["head's age", "spouse's age", "child's age"]].tolist() == [42, 42, 22]
    assert np.isnan(seen.loc[1, "child's age"])


def test_rows_of_both_kinds_have_the_same_codes() -> None:
    real, other = homes(), homes()
    other.households["tenure"] = "rent"
    a, b = (
        with_aggregates(real, real),
        with_aggregates(other, real).drop(columns="number with relate child"),
    )
    both, synthetic = beside(a, b)
    assert (synthetic == np.repeat([False, True], 40)).all()
    assert (both.loc[synthetic, "number with relate child"] == 0).all()
    codes = coded(both)
    assert codes["tenure"].tolist() == [0.0, 1.0] * 20 + [1.0] * 40
    assert len(set(groups(a, b))) == 80


def test_numbers_become_ranges_of_the_real_ones() -> None:
    real = pd.Series([0.0] * 50 + list(range(1, 101)) + [np.nan])
    coarse = ranges(pd.Series([0.0, 1.0, 1000.0, np.nan]), real)
    assert coarse.tolist() == ["0", "below 10.9", "90.1 and over", "blank"]
    assert ranges(real, real).nunique() == 12


def test_sdv_is_told_what_is_a_number() -> None:
    real = homes()
    words, coarse = in_words(real, real), in_ranges(real, real)
    told = sdv_metadata(words)["tables"]
    assert told["persons"]["columns"]["health"] == {"sdtype": "categorical"}
    assert told["persons"]["columns"]["age"] == {"sdtype": "numerical"}
    assert told["households"]["primary_key"] == KEY
    assert "blank" in set(words.persons["health"])
    kinds = sdv_metadata(coarse)["tables"]["persons"]["columns"]
    assert {one["sdtype"] for name, one in kinds.items() if name != KEY} == {"categorical"}


def test_scores_are_kept_until_the_tables_change(tmp_path: Path) -> None:
    file = tmp_path / "scores.csv"
    asked: list[tuple[str, str]] = []

    def score(real: Path, candidate: Path) -> dict[str, float]:
        asked.append((real.name, candidate.name))
        return {"quality": len(asked) / 10}

    homes().write(tmp_path / "kinfolk-eps-1")
    homes().write(tmp_path / "second-survey")
    record(file, "another", "kinfolk-eps-1", "abc", {"quality": 1.0})
    judge_all("judge", tmp_path, file, score)
    judge_all("judge", tmp_path, file, score)
    assert asked == [("real", "kinfolk-eps-1"), ("half", "second-survey")]
    homes(38).write(tmp_path / "kinfolk-eps-1")
    judge_all("judge", tmp_path, file, score)
    assert asked[2:] == [("real", "kinfolk-eps-1")]
    kept = {(one.judge, one.candidate): one.score for one in read_scores(file)}
    assert kept == {
        ("another", "kinfolk-eps-1"): 1.0,
        ("judge", "kinfolk-eps-1"): 0.3,
        ("judge", "second-survey"): 0.2,
    }


def said(candidate: str, score: float, tables: str = "abc", judge: str = "sdmetrics") -> Score:
    return Score(judge=judge, measure="quality", candidate=candidate, score=score, tables=tables)


def test_the_page_is_written_from_the_scores() -> None:
    text = (
        "Before.\n<!-- sdmetrics -->\nold\n<!-- /sdmetrics -->\nAfter.\n"
        "<!-- telling shuffled -->\n<!-- /telling shuffled -->\n"
    )
    found = {"features": ["age"], "auc": 0.61, "lost": 0.2, "where": "age = 5: 1% real"}
    view = {"view": "persons", "accuracy": 0.7, "auc": 0.8, "features": [found], "pairs": []}
    written = page(
        text, [said("kinfolk-eps-1", 0.9), said("shuffled", 0.5)], {}, {"shuffled": [view]}
    )
    assert (
        "|  | kinfolk, eps 1 | shuffled columns |\n| --- | --- | --- |\n| quality | 0.900 | 0.500 |"
        in written
    )
    assert "**Persons: accuracy 0.700, AUC 0.800**" in written
    assert "| age | 0.610 | 0.200 | age = 5: 1% real |" in written
    assert written.startswith("Before.\n")
    assert "old" not in written
    again = page(
        written, [said("kinfolk-eps-1", 0.9), said("shuffled", 0.5)], {}, {"shuffled": [view]}
    )
    assert again == written


def test_earlier_tables_are_shown_once_they_differ() -> None:
    scores = [said("kinfolk-eps-1", 0.9), said("kinfolk-before-eps-1", 0.9)]
    assert "earlier" not in score_table(unless_same(scores), "sdmetrics")
    scores[0] = said("kinfolk-eps-1", 0.95, tables="def")
    assert "| quality | 0.950 | 0.900 |" in score_table(unless_same(scores), "sdmetrics")


def test_folders_that_were_deleted_are_made_again(tmp_path: Path) -> None:
    compare_with(homes(), tmp_path)
    first = {path: path.read_bytes() for path in tmp_path.rglob("*.csv")}
    assert len(first) == 8
    (tmp_path / "shuffled" / "persons.csv").unlink()
    (tmp_path / "half" / "households.csv").write_text("kept")
    compare_with(homes(), tmp_path)
    first[tmp_path / "half" / "households.csv"] = b"kept"
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.csv")} == first
