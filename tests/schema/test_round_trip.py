"""A schema survives being written and read, whatever its names and values are."""

from hypothesis import given

from generators import schemas
from kinfolk.datasets import SCHEMAS, load_schema
from kinfolk.schema import Schema


@given(schemas())
def test_yaml_round_trip(schema: Schema) -> None:
    assert Schema.from_text(schema.to_yaml()) == schema


def test_shipped_schemas_round_trip() -> None:
    for name in SCHEMAS:
        schema = load_schema(name)
        assert Schema.from_text(schema.to_yaml()) == schema
        assert schema.domain == "declared"
