"""Which columns link the tables, and what is said when that cannot be told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kinfolk.data.draft import draft_schema
from kinfolk.errors import DataError, KinfolkError
from kinfolk.schema import Schema

N = 30
MEMBERS = [i for i in range(N) for _ in range(i % 3 + 1)]


def homes(**columns: Any) -> pa.Table:
    return pa.table({**columns, "cars": [i % 3 for i in range(N)]})


def people(**columns: Any) -> pa.Table:
    return pa.table({**columns, "sex": ["mf"[k % 2] for k in range(len(MEMBERS))]})


def ids(*tables: Any, **options: Any) -> tuple[str, str | None]:
    schema = Schema.from_text(draft_schema(*tables, **options).text)
    assert schema.group is not None
    return schema.group.id, schema.individual.group_id


@pytest.mark.parametrize("name", ["SERIAL", "SERIALNO", "household_id", "hh_id", "HHID", "hid"])
def test_well_known_names_win(name: str) -> None:
    link = [1000 + i for i in MEMBERS]
    a = homes(other=list(range(N)), **{name: [1000 + i for i in range(N)]})
    b = people(other=MEMBERS, **{name: link})
    assert ids(a, b) == (name, name)


def test_an_unknown_name_in_both_tables() -> None:
    assert ids(homes(dwelling=[f"d{i}" for i in range(N)]), people(dwelling=MEMBERS_TEXT)) == (
        "dwelling",
        "dwelling",
    )


MEMBERS_TEXT = [f"d{i}" for i in MEMBERS]


def test_different_names_are_linked_by_their_values() -> None:
    a = homes(id=list(range(1, N + 1)))
    running = [1 + MEMBERS[:k].count(i) for k, i in enumerate(MEMBERS)]
    b = people(member=running, belongs_to=[i + 1 for i in MEMBERS])
    assert ids(a, b) == ("id", "belongs_to")


def test_the_id_of_a_person_is_not_the_id_of_a_household() -> None:
    a = homes(id=list(range(N)))
    b = people(id=list(range(len(MEMBERS))), household=MEMBERS)
    assert ids(a, b) == ("id", "household")


def test_named_ids() -> None:
    a, b = homes(key=MEMBERS_KEY, hh_id=MEMBERS_KEY), people(ref=MEMBERS, hh_id=MEMBERS)
    assert ids(a, b) == ("hh_id", "hh_id")
    assert ids(a, b, group_id="key", individual_group_id="ref") == ("key", "ref")
    assert ids(a, b, individual_group_id="ref")[1] == "ref"
    assert ids(a, b, group_id="key")[0] == "key"


MEMBERS_KEY = list(range(N))


def test_csv_ids_with_leading_zeros_link_as_text(tmp_path: Path) -> None:
    a, b = tmp_path / "a.csv", tmp_path / "b.csv"
    a.write_text("hid,x\n007,1\n008,2\n")
    b.write_text("hid,y\n008,1\n007,2\n")
    assert ids(a, b) == ("hid", "hid")


def test_no_ids() -> None:
    with pytest.raises(KinfolkError) as caught:
        draft_schema(homes(id=MEMBERS_KEY), people(ref=["x"] * len(MEMBERS)))
    message = str(caught.value)
    assert "--id COLUMN (in households)" in message
    assert "--group-id COLUMN (in persons)" in message


def test_the_nearest_miss_is_explained() -> None:
    with pytest.raises(KinfolkError, match=r"SERIAL comes nearest, but: .*row 2"):
        draft_schema(homes(SERIAL=[1] * N), people(SERIAL=[1] * len(MEMBERS)))
    lost = [*MEMBERS[:-1], 999]
    with pytest.raises(KinfolkError, match=r"hh_id comes nearest, but: .*999"):
        draft_schema(homes(hh_id=MEMBERS_KEY), people(hh_id=lost))
    with pytest.raises(KinfolkError, match=r"hh_id comes nearest, but: .*text"):
        draft_schema(homes(hh_id=MEMBERS_KEY), people(hh_id=MEMBERS_TEXT))


def test_swapped_tables() -> None:
    with pytest.raises(KinfolkError, match="seem to be swapped"):
        draft_schema(people(hh_id=MEMBERS), homes(hh_id=MEMBERS_KEY))


def test_an_id_that_is_not_there() -> None:
    a, b = homes(hh_id=MEMBERS_KEY), people(hh_id=MEMBERS)
    with pytest.raises(KinfolkError, match=r"households: no column 'hhid'\. Did you mean 'hh_id'"):
        draft_schema(a, b, group_id="hhid")
    with pytest.raises(KinfolkError, match=r"persons: no column 'x'.*--group-id"):
        draft_schema(a, b, individual_group_id="x")


def test_named_ids_that_do_not_link_show_every_problem() -> None:
    a, b = homes(hh_id=[1, *MEMBERS_KEY[1:]]), people(ref=[None, *MEMBERS[1:-1], 999])
    with pytest.raises(DataError) as caught:
        draft_schema(a, b, group_id="hh_id", individual_group_id="ref")
    message = str(caught.value)
    assert "do not link by ref and hh_id" in message
    for words in ("column hh_id", "column ref", "blank", "999"):
        assert words in message


def test_ids_that_cannot_be_compared() -> None:
    a = homes(hh_id=[[i] for i in range(N)])
    b = people(hh_id=[[i] for i in MEMBERS])
    with pytest.raises(KinfolkError):
        draft_schema(a, b)
    with pytest.raises(KinfolkError):
        draft_schema(a, b, group_id="hh_id", individual_group_id="hh_id")
