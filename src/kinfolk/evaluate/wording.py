"""Numbers in words: shares in percent, errors in percentage points."""

from __future__ import annotations

from collections.abc import Mapping

from kinfolk.schema import Schema


def percent(share: float) -> str:
    """A share from 0 to 1, with as many digits as help.

    >>> percent(0.4567), percent(0.0312), percent(0.00021), percent(0.0)
    ('45.7%', '3.1%', '0.02%', '0%')
    """
    return f"{_digits(100 * share)}%"


def points(error: float) -> str:
    """A difference of shares in percentage points.

    >>> points(0.0576), points(0.00055), points(0.0000012)
    ('5.8', '0.06', '0.0001')
    """
    return _digits(100 * error)


def _digits(number: float) -> str:
    if number == 0:
        return "0"
    size = abs(number)
    places = 1 if size >= 1 else 2 if size >= 0.01 else 4
    return f"{number:.{places}f}" if size >= 0.00005 else f"{number:.0e}"


def times(ratio: float) -> str:
    """How many times as large something is.

    >>> times(2.34), times(27.1)
    ('2.3 times', '27 times')
    """
    return f"{ratio:.0f} times" if ratio >= 10 else f"{ratio:.1f} times"


def families(schema: Schema) -> Mapping[str, str]:
    """The levels of a workload, in the schema's own words.

    >>> from kinfolk.datasets import load_schema
    >>> families(load_schema("detroit"))["relation"]
    'persons and their relatives'
    """
    group, person = schema.table_names[0], schema.individual.table
    return {
        "group": group,
        "individual": person,
        "relation": f"{person} and their relatives",
        "all": "all questions",
    }
