"""Two tables that belong together, and what is made of the real ones to compare with. NOT PRIVATE.

Nothing here needs more than pandas, since every judge runs in an environment of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

KEY = "household_id"


@dataclass(frozen=True, kw_only=True)
class Tables:
    """Households, one row each, and persons with the key of theirs."""

    households: pd.DataFrame
    persons: pd.DataFrame

    def __post_init__(self) -> None:
        if not self.households[KEY].is_unique:
            raise SystemExit(f"households: {KEY} is there twice. Give every household its own.")
        strangers = ~self.persons[KEY].isin(self.households[KEY])
        if strangers.any():
            raise SystemExit(
                f"persons: {strangers.sum()} rows have a {KEY} that is not in households. "
                "Add the households or drop the persons."
            )

    def only(self, keys: np.ndarray) -> Tables:
        """Of these households alone, with everybody in them. keys: (households,)"""
        return Tables(
            households=self.households[self.households[KEY].isin(keys)].reset_index(drop=True),
            persons=self.persons[self.persons[KEY].isin(keys)].reset_index(drop=True),
        )

    def write(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.households.to_csv(folder / "households.csv", index=False)
        self.persons.to_csv(folder / "persons.csv", index=False)


def read(folder: Path) -> Tables:
    for name in ("households.csv", "persons.csv"):
        if not (folder / name).exists():
            raise SystemExit(
                f"{folder / name}: no such file. Name a folder that has households.csv and "
                f"persons.csv, linked by {KEY}."
            )
    return Tables(
        households=pd.read_csv(folder / "households.csv"),
        persons=pd.read_csv(folder / "persons.csv"),
    )


def halves(tables: Tables, seed: int) -> tuple[Tables, Tables]:
    """A survey and a second one of the same people: random halves, no household in both."""
    keys = np.random.default_rng(seed).permutation(tables.households[KEY].to_numpy())
    middle = len(keys) // 2
    return tables.only(keys[:middle]), tables.only(keys[middle:])


def shuffled(tables: Tables, seed: int) -> Tables:
    """The columns as they are, each in an order of its own; who lives with whom stays."""
    rng = np.random.default_rng(seed)

    def shuffle(table: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame(
            {
                name: column if name == KEY else column.to_numpy()[rng.permutation(len(column))]
                for name, column in table.items()
            }
        )

    return Tables(households=shuffle(tables.households), persons=shuffle(tables.persons))


def folds(groups: np.ndarray, number: int, seed: int) -> np.ndarray:
    """The fold of each row, the same for all rows of a group. groups, result: (rows,)

    Otherwise whoever learns from one member of a household would be asked about another, whose
    household they remember.
    """
    _, at = np.unique(groups, return_inverse=True)
    of_group = np.random.default_rng(seed).permutation(at.max() + 1) % number
    return np.asarray(of_group[at])
