"""Could these records be real? Figures of a release of Spain's survey beside the real tables.

    python -m bench.records REAL SYNTHETIC [SYNTHETIC ...]

REAL and SYNTHETIC are folders with households.csv and persons.csv of Spain's Living Conditions
Survey, as written. NOT PRIVATE: reads the real tables. Prints a table with a column for each
folder: who lives with whom, what goes together, and numbers. Needs pandas, and nothing of kinfolk.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

HOUSEHOLD = "household_id"
AMOUNTS = {
    "income": "households",
    "social_aid": "households",
    "family_benefit": "households",
    "wage": "persons",
    "self_income": "persons",
    "pension": "persons",
    "hours": "persons",
}
ADULT = 16
FAR_APART = 25
"""Couples who are so many years apart are looked at."""


class Tables(NamedTuple):
    """Of one folder, and members of couples and of parents with children beside each other."""

    households: pd.DataFrame
    persons: pd.DataFrame
    couples: pd.DataFrame
    children: pd.DataFrame

    @staticmethod
    def read(folder: Path) -> Tables:
        homes, people = (pd.read_csv(folder / f"{one}.csv") for one in ("households", "persons"))
        of = dict(iter(people.groupby("relate")))
        return Tables(
            households=homes,
            persons=people,
            couples=of["head"].merge(of["spouse"], on=HOUSEHOLD),
            children=of["child"].merge(of["head"], on=HOUSEHOLD),
        )


def ranks_of_income(tables: Tables) -> float:
    """How a household's income goes with its members' wages and pensions, by ranks."""
    paid = tables.persons[["wage", "pension"]].fillna(0).sum(axis=1)
    together = paid.groupby(tables.persons[HOUSEHOLD]).sum()
    income = tables.households.set_index(HOUSEHOLD)["income"]
    return float(together.reindex(income.index).corr(income, method="spearman"))


def slope_of_income(tables: Tables) -> float:
    """Of a household's income on the wage of each adult."""
    adults = tables.persons[tables.persons["wage"].notna()]
    both = adults.merge(tables.households[[HOUSEHOLD, "income"]], on=HOUSEHOLD).dropna(
        subset=["income"]
    )
    return float(np.polyfit(both["wage"], both["income"], 1)[0])


def gini(values: pd.Series) -> float:
    ordered = np.sort(values.dropna().clip(lower=0))
    places = np.arange(1, len(ordered) + 1)
    return float((2 * places - len(ordered) - 1) @ ordered / (len(ordered) * ordered.sum()))


def roles_by_activity(real: Tables, other: Tables) -> float:
    """Total variation distance of the shares of people by role and activity."""
    shares = [
        one.persons.fillna({"activity": "blank"}).value_counts(
            ["relate", "activity"], normalize=True
        )
        for one in (real, other)
    ]
    return float(shares[0].sub(shares[1], fill_value=0).abs().sum() / 2)


STATISTICS: dict[str, Callable[[Tables], float]] = {
    "men among the heads of couples, %": lambda t: 100 * (t.couples["sex_x"] == 1).mean(),
    "couples of one sex, %": lambda t: 100 * (t.couples["sex_x"] == t.couples["sex_y"]).mean(),
    "couples' ages correlate at": lambda t: t.couples["age_x"].corr(t.couples["age_y"]),
    "couples over 25 years apart, %": lambda t: (
        100 * ((t.couples["age_x"] - t.couples["age_y"]).abs() > FAR_APART).mean()
    ),
    "ages of a child and the head": lambda t: t.children["age_x"].corr(t.children["age_y"]),
    "parents among people, %": lambda t: 100 * (t.persons["relate"] == "parent").mean(),
    "mean age of parents": lambda t: t.persons.loc[t.persons["relate"] == "parent", "age"].mean(),
    "students over 60 among adults, %": lambda t: (
        100
        * ((t.persons["activity"] == "student") & (t.persons["age"] > 60)).sum()
        / (t.persons["age"] >= ADULT).sum()
    ),
    "adults without education, %": lambda t: (
        100 * t.persons.loc[t.persons["age"] >= ADULT, "education"].isna().mean()
    ),
    "hours that are exactly 40, %": lambda t: 100 * (t.persons["hours"].dropna() == 40).mean(),
    "rank correlation of income, wages and pensions": ranks_of_income,
    "slope of income on a wage": slope_of_income,
    "Gini coefficient of income": lambda t: gini(t.households["income"]),
    "sum of the weights, thousands": lambda t: t.households["weight"].sum() / 1000,
}


def numbers(real: Tables, other: Tables) -> dict[str, str]:
    """How far means, deviations, the last hundredth and zeros of each number are off."""
    found = {}
    for name, table in AMOUNTS.items():
        ours, theirs = (getattr(one, table)[name].dropna() for one in (real, other))
        off = [
            f"{100 * (of(theirs) / of(ours) - 1):+.1f}"
            for of in (np.mean, np.std, lambda values: np.quantile(values, 0.99))
        ]
        zeros = f"{100 * ((theirs == 0).mean() - (ours == 0).mean()):+.1f}"
        found[f"{name}: mean, sd, 99th percentile off by %, zeros by points"] = ", ".join(
            [*off, zeros]
        )
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("real", type=Path)
    parser.add_argument("synthetic", type=Path, nargs="+")
    told = parser.parse_args()
    real = Tables.read(told.real)
    others = [Tables.read(folder) for folder in told.synthetic]
    print("NOT PRIVATE\n")
    print("|  | real | " + " | ".join(folder.name for folder in told.synthetic) + " |")
    print("|---" * (2 + len(others)) + "|")
    for name, statistic in STATISTICS.items():
        cells = [f"{statistic(one):.3g}" for one in (real, *others)]
        print(f"| {name} | " + " | ".join(cells) + " |")
    apart = [f"{roles_by_activity(real, one):.3f}" for one in others]
    print("| role by activity, total variation |  | " + " | ".join(apart) + " |")
    columns = [numbers(real, one) for one in others]
    for name in columns[0]:
        print(f"| {name} |  | " + " | ".join(one[name] for one in columns) + " |")


if __name__ == "__main__":
    main()
