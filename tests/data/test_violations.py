"""Rules and formulas on the way in: what is refused, dropped, counted, and computed again."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from homes import assert_same, in_memory, shuffled, written
from kinfolk.cli.main import run
from kinfolk.data.encode import encode
from kinfolk.data.encoded import Encoded
from kinfolk.errors import DataError, redacted
from kinfolk.privacy.sensitivity import workload_sensitivities
from kinfolk.queries.counting import count
from kinfolk.queries.streaming import count_files
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema
from promises import ADD_REMOVE, REPLACE

TEXT = """
group:
  table: homes
  id: home
  attributes:
    veh: {values: [0, 1]}
    size: {derived: count, values: [1, 2, 3]}
    kids: {derived: count(age < 18), values: [0, 1]}
    top: {derived: max(age), bins: [0, 40, 120], decimals: 1}
individual:
  table: people
  group_id: home
  attributes:
    sex: {values: [m, f]}
    age: {bins: [0, 20, 40, 120]}
    wage: {bins: [0, 1000], missing: true}
max_size: 3
never:
  - age < 16.5 and wage not missing
  - no person with age >= 16
  - COUNT = 1 and veh = 1
workload: {k: 1}
"""
SCHEMA = Schema.from_text(TEXT)
DROPPING = Schema.from_text(TEXT + "on_violation: drop\n")

Person = tuple[str, float, float | None]
Home = tuple[int, tuple[Person, ...]]
GOOD: Home = (0, (("m", 44.0, 12.0), ("f", 16.0, None)))
BROKEN: dict[str, tuple[Home, int]] = {
    "inside a bin": ((0, (("m", 44.0, 12.0), ("f", 16.0, 5.0))), 0),
    "nobody": ((0, (("m", 15.9, None), ("f", 3.0, None))), 1),
    "household": ((1, (("m", 44.0, None),)), 2),
}


def tables(*homes: Home, **columns: list[Any]) -> dict[str, pa.Table]:
    people = [(number, *one) for number, (_, members) in enumerate(homes, 1) for one in members]
    names = ("home", "sex", "age", "wage")
    columns_of = {name: [row[at] for row in people] for at, name in enumerate(names)}
    group: dict[str, list[Any]] = {
        "home": list(range(1, len(homes) + 1)),
        "veh": [veh for veh, _ in homes],
        "size": [len(members) for _, members in homes],
        "kids": [sum(age < 18 for _, age, _ in members) for _, members in homes],
        "top": [max(age for _, age, _ in members) for _, members in homes],
        **columns,
    }
    return {"homes": pa.table(group), "people": pa.table(columns_of)}


def refused(schema: Schema, sources: Any) -> list[str]:
    with pytest.raises(DataError) as caught:
        encode(schema, sources)
    return [str(problem) for problem in caught.value.problems]


def test_data_that_keep_all_of_it_are_taken() -> None:
    for schema in (SCHEMA, DROPPING):
        assert encode(schema, tables(GOOD, GOOD)).cleaning.groups_against_rules == 0


def test_every_rule_and_every_column_in_one_message() -> None:
    homes = [home for home, _ in BROKEN.values()]
    found = refused(SCHEMA, tables(*homes, GOOD, homes[0], kids=[1, 2, 0, 0, 0]))
    fix = "Mend the data or the rule, or leave such groups out: `on_violation: drop`."
    assert found == [
        "people, row 2, never[0]: home 1 breaks the rule 'age < 16.5 and wage not missing' "
        f"(2 such groups: 1, 5). {fix}",
        f"homes, row 2, never[1]: home 2 breaks the rule 'no person with age >= 16'. {fix}",
        f"homes, row 3, never[2]: home 3 breaks the rule 'COUNT = 1 and veh = 1'. {fix}",
        "homes, row 4, column kids: it is 0, and 'count(age < 18)' of the members is 1. "
        "Mend the column or the formula; with `derived: true`, nobody looks.",
    ]


def test_redacted_it_says_which_rule_and_nothing_else() -> None:
    home = BROKEN["nobody"][0]
    with redacted():
        one, many = (refused(SCHEMA, tables(*[home] * times)) for times in (1, 7))
    assert one == many
    assert "home [redacted] breaks the rule 'no person with age >= 16'." in one[0]
    with redacted():
        (text,) = refused(SCHEMA, tables(GOOD, top=[31.0]))
    assert "it is [redacted], and 'max(age)' of the members is [redacted]." in text


def test_the_first_groups_are_listed() -> None:
    home = BROKEN["household"][0]
    (text,) = refused(SCHEMA, tables(*[home] * 1200))
    assert "(1,200 such groups: 1, 2, 3, 4, 5 and 1,195 more)" in text


def test_other_mistakes_are_said_too_and_hide_no_rule() -> None:
    given = tables(GOOD, BROKEN["household"][0])
    people = given["people"]
    given["people"] = people.set_column(2, "age", pa.array([44.0, 16.0, 444.0]))
    found = refused(SCHEMA, given)
    assert [text.split(":")[0] for text in found] == [
        "people, row 3, column age",
        "homes, row 2, never[2]",
    ]


@pytest.mark.parametrize("what", BROKEN)
def test_a_group_that_breaks_a_rule_is_dropped_alone(what: str) -> None:
    home, rule = BROKEN[what]
    found = encode(DROPPING, tables(GOOD, home, GOOD))
    cleaning = found.cleaning
    assert (found.groups, found.people) == (2, 4)
    assert (cleaning.groups_read, cleaning.groups_against_rules) == (3, 1)
    assert cleaning.people_against_rules == len(home[1])
    assert found.against == tuple(int(at == rule) for at in range(3))


def test_nobody_is_left() -> None:
    (text,) = refused(DROPPING, tables(BROKEN["nobody"][0]))
    assert "0 without anybody in a declared role, 1 against a rule." in text
    assert "Check the rules under `never`." in text


def test_a_computed_column_may_differ_by_its_last_decimal() -> None:
    assert encode(SCHEMA, tables(GOOD, top=[44.04])).groups == 1
    (text,) = refused(SCHEMA, tables(GOOD, top=[44.06]))
    assert "it is 44.06, and 'max(age)' of the members is 44" in text


def test_the_last_value_of_a_count_means_or_more() -> None:
    home: Home = (0, (("m", 44.0, None), ("f", 6.0, None), ("f", 3.0, None)))
    for kids in (1, 2, 7):
        assert encode(SCHEMA, tables(home, kids=[kids])).group[0, 2] == 1
    assert len(refused(SCHEMA, tables(home, kids=[0]))) == 1
    assert len(refused(SCHEMA, tables(GOOD, kids=[-1]))) == 1


def test_what_a_cut_group_loses_is_not_counted_any_more() -> None:
    """Its columns are computed from those who stay; groups that are whole are checked."""
    home: Home = (1, (("m", 44.0, None), ("f", 50.0, None), ("f", 3.0, None)))
    cut = Schema.from_text(TEXT.replace("max_size: 3", "max_size: 2\noversize: first"))
    found = encode(cut, tables(home, GOOD))
    assert found.group.tolist() == [[1, 1, 0, 1], [0, 1, 1, 1]]
    assert len(refused(cut, tables(home, GOOD, kids=[1, 0]))) == 1


def test_a_sum_that_is_rounded_up_stays_in_its_last_bin() -> None:
    """Eight times 0.7 is 5.6000000000000005 if it is added up: it had the code after the last."""
    schema = Schema.from_text("""
group:
  table: homes
  id: home
  attributes: {total: {bins: [0, 2, 5.6], decimals: 1, derived: sum(x)}}
individual:
  table: people
  group_id: home
  attributes: {x: {bins: [0, 0.3, 0.7], decimals: 1}, sex: {values: [m, f]}}
max_size: 8
oversize: first
workload: {k: 2}
""")
    people = {"home": [1] * 9, "x": [0.7] * 9, "sex": ["m"] * 9}
    found = encode(schema, {"homes": pa.table({"home": [1], "total": [5.6]}),
                            "people": pa.table(people)})  # fmt: skip
    assert found.group.tolist() == [[1]]
    workload = Workload.of(schema)
    counts = count(found, workload)
    bounds = workload_sensitivities(workload, ADD_REMOVE)
    for (_, place), bound in zip(workload.slices(), bounds, strict=True):
        assert 0 < (counts[place] ** 2).sum() <= bound.l2_squared


def test_rows_of_flat_data() -> None:
    flat = """
individual: {table: people, attributes: {sex: {values: [m, f]}, age: {bins: [0, 20, 120]}}}
max_size: 1
never: [age < 16 and sex = m]
workload: {k: 1}
"""
    given = {"people": pa.table({"sex": ["f", "m", "m", "m"], "age": [3, 15, 16, 2]})}
    (text,) = refused(Schema.from_text(flat), given)
    assert text.startswith(
        "people, row 2, never[0]: it breaks the rule 'age < 16 and sex = m' (2 such rows: 2, 4)."
    )
    found = encode(Schema.from_text(flat + "on_violation: drop\n"), given)
    assert (found.groups, found.cleaning.groups_against_rules) == (2, 2)


PEOPLE = st.tuples(
    st.sampled_from("mf"),
    st.sampled_from([3.0, 15.9, 16.0, 16.4, 16.5, 20.0, 44.0]),
    st.sampled_from([None, 0.0, 12.0]),
)
HOMES = st.tuples(st.integers(0, 1), st.lists(PEOPLE, min_size=1, max_size=5).map(tuple))


def breaks(home: Home) -> bool:
    """The slow, obvious way."""
    veh, members = home
    return (
        any(age < 16.5 and wage is not None for _, age, wage in members)
        or not any(age >= 16 for _, age, _ in members)
        or (len(members) == 1 and veh == 1)
    )


def rows(data: Encoded) -> list[tuple[list[int], list[list[int]]]]:
    return [
        (data.group[at].tolist(), data.individual[low:high].tolist())
        for at, (low, high) in enumerate(zip(data.offsets, data.offsets[1:], strict=False))
    ]


@settings(max_examples=150, deadline=None)
@given(homes=st.lists(HOMES, min_size=1, max_size=8), place=st.integers(0, 8), home=HOMES)
def test_dropping_looks_at_one_group_alone(homes: list[Home], place: int, home: Home) -> None:
    """One more group in the file is that one more, or nothing: what the neighbours promise."""
    first = [GOOD, *homes]
    second = [*first[:place], home, *first[place:]]
    before, after = (encode(DROPPING, tables(*one)) for one in (first, second))
    for listed, found in ((first, before), (second, after)):
        fitting = [breaks(one) for one in listed if len(one[1]) <= 3]
        assert found.groups == len(fitting) - sum(fitting)
        assert found.cleaning.groups_against_rules == sum(fitting)
    alone = rows(encode(DROPPING, tables(GOOD, home)))[1:]
    assert after.groups - before.groups == len(alone) <= 1
    left = rows(after)
    for one in alone:
        left.remove(one)
    assert sorted(left) == sorted(rows(before))


@settings(
    max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(homes=st.lists(HOMES, min_size=30, max_size=60), seed=st.integers(0, 9))
def test_files_that_do_not_fit_into_memory_say_the_same(
    tmp_path: Path, homes: list[Home], seed: int
) -> None:
    given = shuffled(tables(GOOD, *homes), np.random.default_rng(seed))
    workload = Workload.of(DROPPING)
    counter = count_files(workload, written(tmp_path, given), memory=2000)
    assert_same(counter, in_memory(workload, given))


def test_validate_says_which_rules_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "schema.yaml").write_text(DROPPING.to_yaml(), encoding="utf-8")
    home = BROKEN["household"][0]
    paths = written(tmp_path, tables(GOOD, home, home))
    assert run(["validate", str(tmp_path / "schema.yaml"), *map(str, paths.values())]) == 0
    out = capsys.readouterr().out
    assert "2 groups that break a rule were dropped, with 2 people (on_violation: drop)." in out
    for line in ("no person with age >= 16", "none", "COUNT = 1 and veh = 1", "max(age)"):
        assert line in out


TINY = Schema.from_text("""
group: {table: homes, id: home, attributes: {veh: {values: [0, 1]}}}
individual: {table: people, group_id: home, attributes: {sex: {values: [m, f]}}}
max_size: 2
never: [sex = m and veh = 1, COUNT = 2 and no person with sex = f]
on_violation: drop
workload: {k: 2}
""")


def test_no_home_that_is_kept_or_dropped_moves_the_counts_further_than_said() -> None:
    """All homes of up to three members: some too large, some against a rule."""
    workload = Workload.of(TINY)

    def counts(*homes: tuple[int, str]) -> npt.NDArray[np.int64]:
        people = [(number, sex) for number, (_, sexes) in enumerate(homes) for sex in sexes]
        return in_memory(
            workload,
            {
                "homes": pa.table({"home": range(len(homes)), "veh": [veh for veh, _ in homes]}),
                "people": pa.table(
                    {"home": [home for home, _ in people], "sex": [sex for _, sex in people]}
                ),
            },
        ).counts

    base = counts((0, "f"))
    every = [
        (veh, "".join(sexes))
        for veh in (0, 1)
        for size in (1, 2, 3)
        for sexes in itertools.product("mf", repeat=size)
    ]
    moves = [counts((0, "f"), home) - base for home in every]
    # All sixteen of three members are too large.
    assert sum(not move.any() for move in moves) == 16 + sum(
        ("m" in sexes and veh == 1) or sexes == "mm" for veh, sexes in every if len(sexes) < 3
    )
    changes = {
        ADD_REMOVE: moves,
        REPLACE: [one - other for one in moves for other in moves],
    }
    for neighbours, found in changes.items():
        bounds = workload_sensitivities(workload, neighbours)
        for low, high, bound in zip(workload.offsets, workload.offsets[1:], bounds, strict=False):
            parts = [abs(move[low:high]) for move in found]
            assert max(int(part.sum()) for part in parts) <= bound.l1
            assert max(int((part**2).sum()) for part in parts) <= bound.l2_squared
            assert max(int(part.max()) for part in parts) <= bound.single
