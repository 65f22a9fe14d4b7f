"""What attributes are called, by position: one name each, also where both tables share it."""

from __future__ import annotations

from kinfolk.schema import Schema
from kinfolk.schema.names import AttributeNames


def attribute_names(schema: Schema) -> dict[int, str]:
    """Positions -> names: the group's attributes, its size, then the individual's.

    >>> from kinfolk.datasets import load_schema
    >>> names = attribute_names(load_schema("detroit"))
    >>> names[4], names[6], names[9]
    ('households.race_id', 'COUNT', 'persons.race_id')
    """
    places = AttributeNames(schema).places()
    names = {found[0]: name for name, found in places.items() if len(found) == 1}
    return dict(sorted(names.items()))
