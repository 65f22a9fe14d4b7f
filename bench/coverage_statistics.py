"""Forty statistics of Spain's Living Conditions Survey, fixed before any of them was looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Floats = npt.NDArray[np.float64]
WORKING = ("employee", "self-employed")


@dataclass(frozen=True, kw_only=True)
class Survey:
    """The two tables as columns; blanks are NaN, and texts stay texts."""

    homes: Mapping[str, Any]
    people: Mapping[str, Any]
    home: npt.NDArray[np.int64]
    """(people,) the row of everybody's household."""

    @staticmethod
    def of(tables: Mapping[str, pa.Table]) -> Survey:
        """From tables as `Release.sample` makes them."""
        homes, people = (_columns(tables[name]) for name in ("households", "persons"))
        keys = homes["household_id"]
        order = np.argsort(keys)
        home = order[np.searchsorted(keys[order], people["household_id"])]
        return Survey(homes=homes, people=people, home=home)

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """(households,) how many members each has."""
        return np.bincount(self.home, minlength=len(self.homes["tenure"]))

    def counts(self, such: npt.NDArray[np.bool_]) -> Floats:
        """(households,) how many members are such."""
        return np.bincount(self.home[such], minlength=len(self.sizes)).astype(float)

    def of_head(self, column: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """(households,) what the head's entry in a column of persons is."""
        heads = np.flatnonzero(self.people["relate"] == "head")
        found = np.empty(len(self.sizes), column.dtype)
        found[self.home[heads]] = column[heads]
        return found


def _columns(table: pa.Table) -> dict[str, npt.NDArray[Any]]:
    found: dict[str, npt.NDArray[Any]] = {}
    for name in table.column_names:
        column = table[name].combine_chunks()
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            found[name] = np.array([one or "" for one in column.to_pylist()])
        else:
            found[name] = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return found


def least_squares(y: Floats, *columns: Floats) -> Floats:
    """Coefficients of a linear regression, the constant first; rows with blanks are left out."""
    rows = np.column_stack([np.ones(len(y)), *columns])
    known = ~np.isnan(rows).any(axis=1) & ~np.isnan(y)
    return np.asarray(np.linalg.lstsq(rows[known], y[known], rcond=None)[0])


def logit(y: Floats, *columns: Floats) -> Floats:
    """Coefficients of a logistic regression, the constant first, by Newton's method."""
    rows = np.column_stack([np.ones(len(y)), *columns])
    known = ~np.isnan(rows).any(axis=1) & ~np.isnan(y)
    rows, y = rows[known], y[known]
    found = np.zeros(rows.shape[1])
    for _ in range(30):
        likely = 1 / (1 + np.exp(-np.clip(rows @ found, -30, 30)))
        weights = np.maximum(likely * (1 - likely), 1e-9)
        step = np.linalg.solve((rows * weights[:, None]).T @ rows, rows.T @ (y - likely))
        found += step
        if np.abs(step).max() < 1e-9:
            break
    return found


Compute = Callable[[Survey], Any]

KINDS = ("share", "mean", "ratio", "quantile", "ols", "logit")
"""What the statistics are, in the order of the table."""


def statistics(survey: Survey) -> dict[tuple[str, str], float]:
    """All forty, by kind and name."""
    found: dict[tuple[str, str], float] = {}
    for kind, compute in (
        ("share", shares),
        ("mean", means),
        ("ratio", ratios),
        ("quantile", quantiles),
        ("ols", regressions),
        ("logit", logits),
    ):
        found |= {(kind, name): float(value) for name, value in compute(survey).items()}
    return found


def shares(survey: Survey) -> dict[str, float]:
    """Of people and of households; the last two are about a household and its members."""
    h, p = survey.homes, survey.people
    return {
        "women": np.mean(p["sex"] == 2),
        "unemployed": np.mean(p["activity"] == "unemployed"),
        "tertiary education": np.mean(p["education"] == 5),
        "married": np.mean(p["marital"] == 2),
        "in bad health": np.mean(p["health"] >= 4),
        "renting": np.mean(h["tenure"] == "rent"),
        "with a car": np.mean(h["car"] == 1),
        "ends meet with great difficulty": np.mean(h["ends_meet"] == 1),
        "living alone": np.mean(survey.sizes == 1),
        "households with somebody unemployed": np.mean(
            survey.counts(p["activity"] == "unemployed") > 0
        ),
    }


def means(survey: Survey) -> dict[str, float]:
    """Of numbers, in groups that one attribute makes."""
    h, p = survey.homes, survey.people
    return {
        "income of owners": np.nanmean(h["income"][h["tenure"] == "owner"]),
        "income of tenants": np.nanmean(h["income"][h["tenure"] == "rent"]),
        "income in dense areas": np.nanmean(h["income"][h["urban"] == 1]),
        "wage of men": np.nanmean(p["wage"][p["sex"] == 1]),
        "wage of women": np.nanmean(p["wage"][p["sex"] == 2]),
        "pension of the retired": np.nanmean(p["pension"][p["activity"] == "retired"]),
        "hours of women": np.nanmean(p["hours"][p["sex"] == 2]),
        "age of the unemployed": np.nanmean(p["age"][p["activity"] == "unemployed"]),
    }


def ratios(survey: Survey) -> dict[str, float]:
    """Of two means or sums; the last one is between households and their members."""
    h, p = survey.homes, survey.people
    work = np.isin(p["activity"], WORKING)
    adult = (p["age"] >= 20) & (p["age"] < 65)
    return {
        "wage of women to that of men": (
            np.nanmean(p["wage"][p["sex"] == 2]) / np.nanmean(p["wage"][p["sex"] == 1])
        ),
        "employed of those from 20 to 64": np.mean(work[adult]),
        "unemployment rate": np.sum(p["activity"] == "unemployed")
        / np.sum(work | (p["activity"] == "unemployed")),
        "people in a household": np.mean(survey.sizes),
        "wages to income": np.nansum(p["wage"]) / np.nansum(h["income"]),
    }


def quantiles(survey: Survey) -> dict[str, float]:
    """Of numbers as they are written."""
    h, p = survey.homes, survey.people
    paid = p["wage"][p["wage"] > 0]
    pensions = p["pension"][p["pension"] > 0]
    return {
        "median income": np.nanmedian(h["income"]),
        "first decile of income": np.nanquantile(h["income"], 0.1),
        "last decile of income": np.nanquantile(h["income"], 0.9),
        "median wage that is paid": np.median(paid),
        "median pension that is paid": np.median(pensions),
    }


def regressions(survey: Survey) -> dict[str, float]:
    """Three linear ones: of people, of households, and of households on their head."""
    h, p = survey.homes, survey.people
    paid = np.where(p["wage"] > 0, p["wage"], np.nan)
    tertiary = np.where(np.isnan(p["education"]), np.nan, p["education"] == 5)
    wage = least_squares(paid / 1000, p["sex"] == 2, tertiary, p["age"])
    rent = (h["tenure"] == "rent").astype(float)
    income = least_squares(h["income"] / 1000, survey.sizes.astype(float), rent)
    workers = survey.counts(np.isin(p["activity"], WORKING))
    head = least_squares(
        h["income"] / 1000, survey.of_head(tertiary), survey.of_head(p["age"]), workers
    )
    return {
        "wage on sex": wage[1],
        "wage on education": wage[2],
        "wage on age": wage[3],
        "income on size": income[1],
        "income on renting": income[2],
        "income on the head's education": head[1],
        "income on the head's age": head[2],
        "income on workers": head[3],
    }


def logits(survey: Survey) -> dict[str, float]:
    """Two logistic ones: of people, and of households on their members."""
    h, p = survey.homes, survey.people
    adult = (p["age"] >= 20) & (p["age"] < 65)
    work = np.isin(p["activity"], WORKING).astype(float)
    tertiary = np.where(np.isnan(p["education"]), np.nan, p["education"] == 5)
    employed = logit(work[adult], (p["sex"] == 2)[adult].astype(float), tertiary[adult])
    poor = logit(
        h["poor"],
        (h["tenure"] == "rent").astype(float),
        survey.counts(p["activity"] == "unemployed"),
    )
    return {
        "employed on sex": employed[1],
        "employed on education": employed[2],
        "poor on renting": poor[1],
        "poor on unemployed members": poor[2],
    }
