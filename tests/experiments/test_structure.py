"""The simulated population looks like one: couples, generations, ages and dwellings fit together.

One fixed seed and 100,000 households, so nothing here is left to chance; the bounds leave many
standard errors of slack and say what must stay true if the parameters are touched.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from kinfolk.experiments.simulate.census import draw_population
from kinfolk.experiments.simulate.draw import Simulated
from kinfolk.experiments.simulate.families import GENERATION, Role

HOUSEHOLDS = 100_000
HEAD, SPOUSE, CHILD, PARENT = 1, 2, 3, 5
QUARTERS = 12


@cache
def _population() -> Simulated:
    return draw_population(np.random.default_rng(20), HOUSEHOLDS)


def _owner() -> np.ndarray:
    return np.repeat(np.arange(HOUSEHOLDS), _population().sizes)


def _of_household(column: str, relate: int) -> np.ndarray:
    """An attribute of the (first) person with this RELATE, -1 where there is none."""
    members = _population().members
    who = np.flatnonzero(members["RELATE"] == relate)[::-1]
    values = np.full(HOUSEHOLDS, -1)
    values[_owner()[who]] = members[column][who]
    return values


def _couples(column: str) -> tuple[np.ndarray, np.ndarray]:
    head, spouse = _of_household(column, HEAD), _of_household(column, SPOUSE)
    both = spouse >= 0
    return head[both], spouse[both]


def test_mean_size_is_that_of_the_survey() -> None:
    sizes = _population().sizes
    assert sizes.mean() == pytest.approx(197_512 / 87_453, abs=0.02)
    share = np.bincount(sizes, minlength=11) / HOUSEHOLDS
    assert share[1] == pytest.approx(0.36, abs=0.03)
    assert np.all(np.diff(share[1:]) < 0), "larger households are rarer"
    assert share[10] > 0


def test_spouses_are_of_similar_age() -> None:
    head, spouse = _couples("AGE")
    assert np.corrcoef(head, spouse)[0, 1] > 0.9
    assert np.abs(head - spouse).mean() < 5
    assert (np.abs(head - spouse) > 10).mean() > 0.01, "but a few are not"
    assert min(head.min(), spouse.min()) >= 18


@pytest.mark.parametrize(
    ("column", "ratio"), [("EDUC", 1.8), ("RACE", 1.5), ("HISPAN", 1.1), ("CITIZEN", 1.3)]
)
def test_couples_are_alike_beyond_chance(column: str, ratio: float) -> None:
    head, spouse = _couples(column)
    by_chance = sum((head == value).mean() * (spouse == value).mean() for value in set(head))
    assert (head == spouse).mean() > ratio * by_chance
    assert (head == spouse).mean() < 0.97, "and yet not always"


def test_couples_are_mostly_of_two_sexes() -> None:
    head, spouse = _couples("SEX")
    assert 0.005 < (head == spouse).mean() < 0.03


def test_children_are_a_generation_younger_than_both_parents() -> None:
    members, owner = _population().members, _owner()
    child = members["RELATE"] == CHILD
    for parent in (HEAD, SPOUSE):
        age = _of_household("AGE", parent)[owner[child]]
        gap = (age - members["AGE"][child])[age >= 0]
        assert gap.min() >= 14
        assert 24 < np.median(gap) < 35


def test_parents_of_the_head_are_a_generation_older() -> None:
    members, owner = _population().members, _owner()
    parent = members["RELATE"] == PARENT
    gap = members["AGE"][parent] - _of_household("AGE", HEAD)[owner[parent]]
    assert gap.min() >= 14
    assert gap.max() <= 60


def test_siblings_are_of_similar_age_and_origin() -> None:
    members, owner = _population().members, _owner()
    child = np.flatnonzero(members["RELATE"] == CHILD)
    following = child[1:][owner[child[1:]] == owner[child[:-1]]]
    gap = members["AGE"][following - 1] - members["AGE"][following]
    assert gap.min() >= 0, "the eldest is listed first"
    assert np.median(gap) in (2, 3)
    assert (members["RACE"][following - 1] == members["RACE"][following]).mean() > 0.85


def test_marital_status_follows_from_the_household() -> None:
    members, owner = _population().members, _owner()
    has_spouse = _of_household("AGE", SPOUSE) >= 0
    head = members["RELATE"] == HEAD
    assert np.array_equal(members["MARST"][head] == 1, has_spouse[owner[head]])
    assert np.all(members["MARST"][members["RELATE"] == SPOUSE] == 1)
    assert np.all(members["MARST"][members["AGE"] < 15] == 6)
    widowed = members["MARST"] == 5
    assert members["AGE"][widowed].mean() > 65


def test_school_work_and_education_respect_age() -> None:
    members = _population().members
    age = members["AGE"]
    assert np.array_equal(members["SCHOOL"] == 0, age < 3)
    assert (members["SCHOOL"][(age >= 6) & (age < 16)] == 2).mean() > 0.95
    assert (members["SCHOOL"][age > 40] == 2).mean() < 0.05
    assert np.array_equal(members["EMPSTAT"] == 0, age < 16)
    assert np.array_equal(members["LOOKING"] == 0, age < 16)
    assert not np.any((members["LOOKING"] == 2) & (members["EMPSTAT"] != 2))
    for below, most in ((3, 0), (10, 1), (15, 2), (18, 5), (22, 8), (24, 10)):
        assert members["EDUC"][age < below].max() == most


def test_dwellings_follow_the_people_and_the_place() -> None:
    groups = _population().groups
    tenure, metro, age = groups["OWNERSHP"], groups["METRO"], _of_household("AGE", HEAD)
    housed = tenure > 0
    owns = {
        "young": (tenure[housed & (age < 30)] == 1).mean(),
        "old": (tenure[housed & (age >= 50)] == 1).mean(),
    }
    assert owns["old"] > owns["young"] + 0.25
    educ = _of_household("EDUC", HEAD)
    assert (tenure[educ >= 10] == 1).mean() > (tenure[housed & (educ < 6)] == 1).mean() + 0.2
    assert groups["ROOMS"][tenure == 1].mean() > groups["ROOMS"][tenure == 2].mean() + 1.5
    small, large = (_population().sizes == 1) & housed, _population().sizes >= 5
    assert groups["ROOMS"][large].mean() > groups["ROOMS"][small].mean() + 0.8
    stamps = groups["FOODSTMP"] == 2
    assert stamps[housed & (educ < 6)].mean() > 3 * stamps[educ >= 10].mean()
    assert stamps.mean() == pytest.approx(0.145, abs=0.03)
    assert (groups["BUILTYR2"][metro == 2] == 1).mean() > (
        groups["BUILTYR2"][metro == 3] == 1
    ).mean()


def test_farms_are_rare_rural_and_consistent() -> None:
    groups = _population().groups
    farm, metro = groups["FARM"] == 2, groups["METRO"]
    assert 0.001 < farm.mean() < 0.01
    assert farm[metro == 1].mean() > 3 * farm[metro != 1].mean()
    assert np.array_equal(farm, groups["FARMPROD"] >= 3)
    assert np.all(groups["ACREHOUS"][groups["FARMPROD"] > 0] > 0)
    big_city = np.isin(groups["COUNTYFIP"], [5, 47, 61, 81, 85])
    assert np.all(metro[big_city] == 2)
    assert np.all(metro[np.isin(groups["COUNTYFIP"], [13, 89])] == 1)


def test_generations_and_subfamilies_are_counted_from_the_members() -> None:
    groups, members, owner = _population().groups, _population().members, _owner()
    relate = members["RELATE"]
    # Head, child, grandchild and parent each add a generation, whatever else there is.
    has = {code: np.bincount(owner[relate == code], minlength=HOUSEHOLDS) > 0 for code in range(14)}
    elders, below = has[5] | has[6], has[3] | has[4]
    known = 1 + elders.astype(int) + below + has[9]
    plain = ~(has[QUARTERS] | has[13] | has[10])
    assert np.array_equal(groups["MULTGEN"][plain], np.minimum(known, 3)[plain])
    assert GENERATION[Role.GRANDCHILD] == GENERATION[Role.HEAD] + 2

    subfamily = members["SFRELATE"]
    assert np.all(subfamily[relate <= SPOUSE] == 0)
    reference = np.bincount(owner[subfamily == 1], minlength=HOUSEHOLDS)
    assert np.all(reference[owner[subfamily > 1]] > 0)
    assert np.all(members["AGE"][subfamily == 3] < 18)
    assert np.all(members["MARST"][subfamily == 2] == 1)


def test_people_in_quarters_are_alone_and_have_no_dwelling() -> None:
    groups, sizes = _population().groups, _population().sizes
    quarters = groups["OWNERSHP"] == 0
    assert 0.07 < quarters.mean() < 0.11
    assert np.all(sizes[quarters] == 1)
    for column in ("ROOMS", "BUILTYR2", "MULTGEN", "FARMPROD", "ACREHOUS"):
        assert np.all(groups[column][quarters] == 0), column
        if column in ("ROOMS", "BUILTYR2", "MULTGEN"):
            assert np.all(groups[column][~quarters] > 0), column


def test_rare_categories_are_rare_but_present() -> None:
    groups, members = _population().groups, _population().members
    for table, column, value in (
        (members, "RACE", 5),
        (members, "RACE", 3),
        (members, "RACE", 9),
        (members, "HISPAN", 3),
        (members, "CITIZEN", 1),
        (members, "SFRELATE", 2),
        (groups, "FARMPROD", 4),
        (groups, "ROOMS", 14),
        (groups, "BUILTYR2", 24),
        (groups, "COUNTYFIP", 89),
    ):
        share = (table[column] == value).mean()
        assert 0.0003 < share < 0.012, (column, value)
