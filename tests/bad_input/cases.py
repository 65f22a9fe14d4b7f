"""What a case of bad input is: a good schema and two good tables, with one thing spoilt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import pyarrow as pa

SCHEMA = """\
group:
  table: households
  id: household_id
  attributes:
    veh:  {values: [0, 1, 2], labels: [none, one, more]}
    rent: {bins: [0, 500, 1000, 5000]}
individual:
  table: persons
  group_id: household_id
  attributes:
    sex: {values: [male, female]}
    age: {bins: [0, 18, 65, 120], integer: true}
max_size: 4
oversize: drop
count: COUNT
roles:
  column: relate
  head:   {values: [0], min: 1, max: 1}
  spouse: {values: [1], min: 0, max: 1}
  child:  {values: [2, 3], min: 0, max: 2}
  others: drop
relations:
  married_to: [[head, spouse], [spouse, head]]
workload: {k: 2, levels: [group, individual, relation]}
"""

HOUSEHOLDS = """\
household_id,veh,rent
901,1,750
902,0,0
903,2,1200.50
"""

PERSONS = """\
household_id,relate,sex,age
901,0,female,41
901,1,male,43
901,2,female,9
902,0,male,70
903,0,female,33
903,1,male,35
"""

FOLDER = object()
"""Instead of a file's content: a folder of that name."""
ABSENT = object()
"""Instead of a file's content: no such file."""

TABLES = "the tables do not fit the schema"


@dataclass(frozen=True, kw_only=True)
class Case:
    """One kind of bad input."""

    name: str
    """What is wrong, in the words of the docs."""
    says: tuple[str, ...]
    """The problems, exactly."""
    heading: str | None = TABLES
    """What stands above them; None for a message that is one line."""
    files: Mapping[str, Any] = field(default_factory=dict)
    """What stands in the files instead of the good content: text, bytes or a table."""
    arguments: tuple[str, ...] = ("schema.yaml", "households.csv", "persons.csv")
    """The files given: the schema, then the tables."""
    tables: Callable[[], Any] | None = None
    """Tables in memory, for what does not come from files."""

    @property
    def message(self) -> str:
        """The whole message."""
        if self.heading is None:
            return "\n".join(self.says)
        count = f"{len(self.says)} problem{'s' if len(self.says) > 1 else ''}"
        return "\n".join([f"{self.heading}: {count}", *(f"  - {line}" for line in self.says)])


def swap(text: str, *pairs: tuple[str, str]) -> str:
    """Replace what stands in the text exactly once."""
    for old, new in pairs:
        assert text.count(old) == 1, (old, text.count(old))
        text = text.replace(old, new)
    return text


def in_schema(name: str, old: str, new: str, *says: str) -> Case:
    """A mistake in the schema: `old` was written as `new`."""
    files = {"schema.yaml": swap(SCHEMA, (old, new))}
    return Case(name=name, heading="schema.yaml", files=files, says=says)


def in_households(name: str, old: str, new: str, *says: str) -> Case:
    """A mistake in households.csv."""
    return Case(name=name, files={"households.csv": swap(HOUSEHOLDS, (old, new))}, says=says)


def in_persons(name: str, old: str, new: str, *says: str) -> Case:
    """A mistake in persons.csv."""
    return Case(name=name, files={"persons.csv": swap(PERSONS, (old, new))}, says=says)


def households(**columns: Any) -> pd.DataFrame:
    """The good group table in memory, with some columns replaced."""
    ids, veh, rent = [901, 902, 903], [1, 0, 2], [750.0, 0.0, 1200.5]
    return pd.DataFrame({"household_id": ids, "veh": veh, "rent": rent}).assign(**columns)


def persons(**columns: Any) -> pd.DataFrame:
    """The good individual table in memory, with some columns replaced."""
    data = {
        "household_id": [901, 901, 901, 902, 903, 903],
        "relate": [0, 1, 2, 0, 0, 1],
        "sex": ["female", "male", "female", "male", "female", "male"],
        "age": [41, 43, 9, 70, 33, 35],
    }
    return pd.DataFrame(data).assign(**columns)


def arrow(frame: pd.DataFrame) -> pa.Table:
    """A data frame as it would stand in a Parquet file."""
    return pa.Table.from_pandas(frame, preserve_index=False)
