"""Tables as others' suites want them: words, numbers or ranges, SDV's metadata. NOT PRIVATE."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from bench.suites.tables import KEY, Tables
from bench.suites.views import is_category, text

RANGES = 10
OFTEN = 0.03
"""A number that so many real rows have is a range of its own."""


def as_dict(tables: Tables) -> dict[str, pd.DataFrame]:
    return {"households": tables.households, "persons": tables.persons}


def in_words(tables: Tables, real: Tables) -> Tables:
    """Categories as words, numbers as they are. A blank category is a word too."""

    def code(table: pd.DataFrame, like: pd.DataFrame) -> pd.DataFrame:
        columns = {
            name: table[name].map(text).astype(object)
            if name != KEY and is_category(like[name])
            else table[name]
            for name in like
        }
        return pd.DataFrame(columns)

    return Tables(
        households=code(tables.households, real.households),
        persons=code(tables.persons, real.persons),
    )


def in_ranges(tables: Tables, real: Tables) -> Tables:
    """Everything as words: numbers by tenths of the real ones, with frequent ones apart."""

    def code(table: pd.DataFrame, like: pd.DataFrame) -> pd.DataFrame:
        columns = {
            name: table[name] if name == KEY else ranges(table[name], like[name]) for name in like
        }
        return pd.DataFrame(columns)

    return Tables(
        households=code(tables.households, real.households),
        persons=code(tables.persons, real.persons),
    )


def ranges(column: pd.Series, real: pd.Series) -> pd.Series:
    """Each value, or the range it is in, as a word; the ranges are those of the real column."""
    words = column.map(text).astype(object)
    if is_category(real):
        return words
    share = real.value_counts(normalize=True)
    often = set(share[share > OFTEN].index)
    rest = real[~real.isin(often) & real.notna()]
    if rest.empty:
        return words
    inner = np.unique(rest.quantile(np.linspace(0, 1, RANGES + 1)[1:-1]).to_numpy())
    bounds = [f"{low:g} to {high:g}" for low, high in pairwise(inner)]
    bounds = [f"below {inner[0]:g}", *bounds, f"{inner[-1]:g} and over"]
    at = np.searchsorted(inner, column.to_numpy(dtype=float), side="right")
    named = pd.Series(
        np.array(bounds, dtype=object)[np.clip(at, 0, len(inner))], index=column.index
    )
    return words.where(column.isin(often) | column.isna(), named)


def sdv_metadata(tables: Tables) -> dict[str, Any]:
    """For tables in words or ranges: what is text is a category."""

    def columns(table: pd.DataFrame) -> dict[str, dict[str, str]]:
        return {
            name: {"sdtype": "id"}
            if name == KEY
            else {"sdtype": "categorical" if column.dtype == object else "numerical"}
            for name, column in table.items()
        }

    return {
        "METADATA_SPEC_VERSION": "MULTI_TABLE_V1",
        "tables": {
            "households": {"primary_key": KEY, "columns": columns(tables.households)},
            "persons": {"columns": columns(tables.persons)},
        },
        "relationships": [
            {
                "parent_table_name": "households",
                "parent_primary_key": KEY,
                "child_table_name": "persons",
                "child_foreign_key": KEY,
            }
        ],
    }
