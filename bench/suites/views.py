"""What a detector is shown: one row per person, or per household, as numbers. NOT PRIVATE."""

from __future__ import annotations

import numpy as np
import pandas as pd
from bench.suites.tables import KEY, Tables

FEW = 8
"""Whole numbers with so few values are counted value by value, as categories are."""


def persons(tables: Tables, _: Tables) -> pd.DataFrame:
    return tables.persons.set_index(KEY)


def households(tables: Tables, _: Tables) -> pd.DataFrame:
    return tables.households.set_index(KEY)


def with_aggregates(tables: Tables, real: Tables) -> pd.DataFrame:
    """Households, and how many members there are of each kind, and what their numbers come to."""
    members = tables.persons.groupby(KEY)
    parts = [households(tables, real), members.size().rename("number of members").to_frame()]
    for name in tables.persons.columns.drop(KEY):
        if is_category(real.persons[name]):
            counts = pd.crosstab(tables.persons[KEY], tables.persons[name].map(text))
            parts.append(counts.add_prefix(f"number with {name} "))
        else:
            summary = members[name].agg(["min", "mean", "max", "sum", "count"])
            parts.append(summary.add_suffix(f" of {name}"))
    whole = pd.concat(parts, axis=1).loc[tables.households[KEY]]
    return whole.fillna({name: 0 for name in whole if name.startswith("number ")})


def with_couple(tables: Tables, real: Tables) -> pd.DataFrame:
    """Households, and beside each other the head, the spouse and the eldest child, if any."""
    eldest_first = tables.persons.sort_values("age", ascending=False, kind="stable")
    parts = [households(tables, real)]
    for role in ("head", "spouse", "child"):
        member = eldest_first[eldest_first["relate"] == role].drop_duplicates(KEY)
        parts.append(member.set_index(KEY).drop(columns="relate").add_prefix(f"{role}'s "))
    return pd.concat(parts, axis=1).loc[tables.households[KEY]]


VIEWS = {
    "persons": persons,
    "households": households,
    "households with aggregates": with_aggregates,
    "households with head, spouse and child": with_couple,
}


def beside(real: pd.DataFrame, synthetic: pd.DataFrame) -> tuple[pd.DataFrame, np.ndarray]:
    """Both below each other, and which of the rows are synthetic. Words become codes.

    Columns that only one of them has, such as the number of members of a kind, are 0 in the other.
    """
    columns = list(dict.fromkeys([*real.columns, *synthetic.columns]))
    both = pd.concat(
        [part.reindex(columns=columns) for part in (real, synthetic)], ignore_index=True
    )
    counts = [name for name in columns if name.startswith("number ")]
    both[counts] = both[counts].fillna(0)
    is_synthetic = np.repeat([False, True], [len(real), len(synthetic)])
    return both, is_synthetic


def coded(both: pd.DataFrame) -> pd.DataFrame:
    """Numbers as they are, words as their place in the alphabet, blanks as NaN."""
    return pd.DataFrame(
        {
            name: column.astype(float)
            if pd.api.types.is_numeric_dtype(column)
            else column.astype("category").cat.codes.replace(-1, np.nan).astype(float)
            for name, column in both.items()
        }
    )


def groups(real: pd.DataFrame, synthetic: pd.DataFrame) -> np.ndarray:
    """The household of each row of `beside`; a real one is never a synthetic one."""
    return np.array(
        [f"real {key}" for key in real.index] + [f"synthetic {key}" for key in synthetic.index]
    )


def is_category(column: pd.Series) -> bool:
    return not pd.api.types.is_numeric_dtype(column) or column.nunique() <= FEW


def text(value: object) -> str:
    """A cell in words."""
    if isinstance(value, float):
        return "blank" if np.isnan(value) else f"{value:g}"
    return str(value)
