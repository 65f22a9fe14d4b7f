"""Drafts from SDV's metadata.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kinfolk.data.draft import draft_schema
from kinfolk.data.encode import encode
from kinfolk.errors import KinfolkError
from kinfolk.schema import Categorical, Numeric, Schema

HOTELS = pa.table(
    {
        "hotel": [f"HID_{k:03}" for k in range(12)],
        "city": [f"city {k % 3}" for k in range(12)],
        "rating": [round(2.5 + k * 0.19, 2) for k in range(12)],
        "stars": [k % 5 + 1 for k in range(12)],
        "extra": [k % 2 for k in range(12)],
    }
)
GUESTS = pa.table(
    {
        "guest_email": [f"g{k}@example.com" for k in range(30)],
        "hotel_id": [f"HID_{k % 12:03}" for k in range(30)],
        "checkin": ["02 Jan 2020"] * 15 + ["03 Jan 2020"] * 15,
        "room": [101 + k % 3 for k in range(30)],
        "rewards": [("yes", "no")[k % 2] for k in range(30)],
        "country": [("US", "FR", "DE")[k % 3] for k in range(30)],
        "secret": [k % 4 for k in range(30)],
    }
)


def metadata(**changes: Any) -> dict[str, Any]:
    return {
        "METADATA_SPEC_VERSION": "V1",
        "tables": {
            "guests": {
                "primary_key": "guest_email",
                "columns": {
                    "guest_email": {"sdtype": "email"},
                    "hotel_id": {"sdtype": "id", "regex_format": "HID_[0-9]{3}"},
                    "checkin": {"sdtype": "datetime", "datetime_format": "%d %b %Y"},
                    "room": {"sdtype": "categorical"},
                    "rewards": {"sdtype": "boolean"},
                    "country": {"sdtype": "country_code", "pii": False},
                    "secret": {"sdtype": "categorical", "pii": True},
                    "gone": {"sdtype": "numerical"},
                },
                "column_relationships": [],
            },
            "hotels": {
                "primary_key": "hotel",
                "columns": {
                    "hotel": {"sdtype": "id"},
                    "city": {"sdtype": "categorical"},
                    "rating": {"sdtype": "numerical"},
                    "stars": {"sdtype": "numerical", "computer_representation": "Int8"},
                },
            },
        },
        "relationships": [
            {
                "parent_table_name": "hotels",
                "parent_primary_key": "hotel",
                "child_table_name": "guests",
                "child_foreign_key": "hotel_id",
            }
        ],
        **changes,
    }


def write(tmp_path: Path, document: Any) -> Path:
    path = tmp_path / "metadata.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


@pytest.mark.parametrize("version", ["V1", "MULTI_TABLE_V1"])
def test_names_ids_and_kinds_come_from_the_metadata(tmp_path: Path, version: str) -> None:
    path = write(tmp_path, metadata(METADATA_SPEC_VERSION=version))
    draft = draft_schema(HOTELS, GUESTS, sdv=path)
    schema = Schema.from_text(draft.text)
    encode(schema, {"hotels": HOTELS, "guests": GUESTS})
    assert schema.group is not None
    assert schema.table_names == ("hotels", "guests")
    assert (schema.group.id, schema.individual.group_id) == ("hotel", "hotel_id")
    assert "  id: hotel\n" in draft.text
    assert schema.group_attributes["city"] == Categorical(values=["city 0", "city 1", "city 2"])
    stars = schema.group_attributes["stars"]
    assert isinstance(stars, Numeric)
    assert stars.integer
    assert isinstance(schema.group_attributes["rating"], Numeric)
    assert schema.individual_attributes == {
        "room": Categorical(values=[101, 102, 103]),
        "rewards": Categorical(values=["no", "yes"]),
        "country": Categorical(values=["DE", "FR", "US"]),
    }
    for line in (
        "# guest_email: left out: the metadata says that it is personal data (email).",
        "# checkin: left out: the metadata says that it holds dates",
        "# secret: left out: the metadata says that it is personal data (categorical).",
        "# extra: left out: the metadata does not name it.",
    ):
        assert line in draft.text
    assert "The metadata names columns that persons lacks: gone." in draft.notes


def relation(**changes: Any) -> dict[str, Any]:
    return metadata()["relationships"][0] | changes


ONE_TABLE = {"hotels": metadata()["tables"]["hotels"]}
SINGLE = {"METADATA_SPEC_VERSION": "SINGLE_TABLE_V1", "columns": {"a": {"sdtype": "id"}}}


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("{no", "is not JSON"),
        ([], "holds no metadata"),
        (SINGLE, "describes a single table"),
        (metadata(METADATA_SPEC_VERSION="V9"), "METADATA_SPEC_VERSION 'V9' is not V1"),
        ({"METADATA_SPEC_VERSION": "V1"}, "has no `tables`"),
        (metadata(tables=ONE_TABLE), r"describes 1 tables \(hotels\)"),
        (metadata(tables=metadata()["tables"] | {"x": {}}), "describes 3 tables"),
        (metadata(relationships=[]), "describes 0 relationships"),
        (metadata(relationships=[relation(), relation()]), "describes 2 relationships"),
        (metadata(relationships={}), "describes 0 relationships"),
        (metadata(relationships={"a": 1}), "describes no list of relationships"),
        (metadata(relationships=["x"]), "is not an object"),
        (metadata(relationships=[relation(parent_table_name="inns")]), "Known: guests, hotels"),
        (metadata(relationships=[relation(parent_table_name="guests")]), "with itself"),
        (metadata(relationships=[relation(child_foreign_key=["a", "b"])]), "join several"),
        (metadata(relationships=[relation(child_foreign_key=None)]), "Add it"),
        (metadata(relationships=[relation(parent_primary_key="key")]), "'key' links the tables"),
        (metadata(tables=metadata()["tables"] | {"hotels": {}}), "'hotels' has no `columns`"),
        (
            metadata(tables=metadata()["tables"] | {"hotels": {"columns": {"a": {}}}}),
            "hotels.a has no sdtype",
        ),
    ],
)
def test_metadata_that_cannot_be_used(tmp_path: Path, document: Any, words: str) -> None:
    with pytest.raises(KinfolkError, match=words):
        draft_schema(HOTELS, GUESTS, sdv=write(tmp_path, document))


def test_no_metadata_file(tmp_path: Path) -> None:
    with pytest.raises(KinfolkError, match="no such file"):
        draft_schema(HOTELS, GUESTS, sdv=tmp_path / "metadata.json")
    with pytest.raises(KinfolkError, match="cannot be read"):
        draft_schema(HOTELS, GUESTS, sdv=tmp_path)


def test_swapped_tables_are_explained(tmp_path: Path) -> None:
    with pytest.raises(KinfolkError, match="Pass hotels first, then guests"):
        draft_schema(GUESTS, HOTELS, sdv=write(tmp_path, metadata()))


def test_a_key_in_a_list_of_one_and_odd_table_names(tmp_path: Path) -> None:
    tables = metadata()["tables"]
    document = metadata(
        tables={"my/hotels": tables["hotels"], "guests": tables["guests"]},
        relationships=[relation(parent_table_name="my/hotels", parent_primary_key=["hotel"])],
    )
    draft = draft_schema(HOTELS, GUESTS, sdv=write(tmp_path, document))
    assert Schema.from_text(draft.text).table_names == ("my_hotels", "guests")
