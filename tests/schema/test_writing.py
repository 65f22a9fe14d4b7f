"""A schema as SDV metadata: what SDV's own reader in `kinfolk init` understands."""

import json
from pathlib import Path

from kinfolk.data.draft.sdv_metadata import read_metadata
from kinfolk.datasets import load_schema
from kinfolk.schema import Schema


def test_two_tables_are_read_back(tmp_path: Path) -> None:
    schema = load_schema("detroit")
    (tmp_path / "metadata.json").write_text(json.dumps(schema.to_sdv_metadata()), encoding="utf-8")
    found = read_metadata(tmp_path / "metadata.json")
    assert (found.group_table, found.individual_table) == schema.table_names
    assert (found.key, found.link) == ("household_id", "household_id")
    assert found.group["hincp"] == "numerical"
    assert found.individual["sex"] == "categorical"
    assert {*schema.individual_attributes, "relate"} <= set(found.individual)


def test_flat_data() -> None:
    schema = Schema.from_text(
        "individual: {table: rows, attributes: {age: {bins: [0, 50, 100]}}}\nmax_size: 1\n"
    )
    metadata = schema.to_sdv_metadata()
    assert metadata["tables"] == {"rows": {"columns": {"age": {"sdtype": "numerical"}}}}
    assert metadata["relationships"] == []
