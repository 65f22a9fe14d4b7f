"""The three census samples of the paper, each cut out of the same simulated population.

With the same seed, `acs-red` holds the small households of `acs`, and `acs-rel` the heads, spouses
and children of its households: the samples differ as the paper's do, by selection and recoding.
"""

from __future__ import annotations

import numpy as np

from kinfolk.data.simulate.draw import Ints
from kinfolk.data.simulate.population import draw_population
from kinfolk.data.simulate.sample import Sample, Source
from kinfolk.data.simulate.unions import SPOUSE_ABSENT
from kinfolk.data.simulate.work import EMPLOYED

BLOCK = 8192
"""Households drawn at a time: enough for fast arrays, small beside any memory limit."""

GROUP_COLUMNS = (
    "METRO", "OWNERSHP", "FARM", "COUNTYFIP", "FARMPROD", "ACREHOUS", "ROOMS", "BUILTYR2",
    "FOODSTMP", "MULTGEN",
)  # fmt: skip
MEMBER_COLUMNS = (
    "SFRELATE", "SEX", "MARST", "RACE", "HISPAN", "CITIZEN", "EDUC", "SCHOOL", "EMPSTAT",
    "LOOKING", "AGE",
)  # fmt: skip
REDUCED_GROUP_COLUMNS = ("METRO", "OWNERSHP", "FARM", "FOODSTMP")
REDUCED_MEMBER_COLUMNS = ("SEX", "AGE", "EMPSTAT", "MARST")
REDUCED_SIZE = 3

HEAD, SPOUSE, CHILD = 1, 2, 3
MOST_CHILDREN = 4


def _pick(sample: Sample, groups: tuple[str, ...], members: tuple[str, ...]) -> Sample:
    """The named columns, in that order."""
    return Sample(
        groups={name: sample.groups[name] for name in groups},
        members={name: sample.members[name] for name in members},
        sizes=sample.sizes,
    )


def draw_acs(rng: np.random.Generator) -> Sample:
    """A block of `acs`: every household, with all attributes."""
    return _pick(draw_population(rng, BLOCK), GROUP_COLUMNS, MEMBER_COLUMNS)


def draw_reduced(rng: np.random.Generator) -> Sample:
    """A block of `acs-red`: households of up to three people, categories merged."""
    everyone = draw_population(rng, BLOCK)
    sample = everyone.keep(everyone.sizes <= REDUCED_SIZE)
    sample = _pick(sample, REDUCED_GROUP_COLUMNS, REDUCED_MEMBER_COLUMNS)

    def merge(condition: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> Ints:
        return np.where(condition, 1, 2).astype(np.int64)

    sample.members["EMPSTAT"] = merge(sample.members["EMPSTAT"] == EMPLOYED)
    sample.members["MARST"] = merge(sample.members["MARST"] <= SPOUSE_ABSENT)
    return sample


def draw_related(rng: np.random.Generator) -> Sample:
    """A block of `acs-rel`: heads, spouses and up to four children; everyone else is left out.

    People in group quarters head no household and so are left out with their records. Attributes
    of the household (MULTGEN) still describe it whole, as in an extract cut the same way.
    """
    everyone = draw_population(rng, BLOCK)
    relate = everyone.members["RELATE"]
    owner = np.repeat(np.arange(len(everyone)), everyone.sizes)
    heads = np.bincount(owner[relate == HEAD], minlength=len(everyone))
    children = np.bincount(owner[relate == CHILD], minlength=len(everyone))
    sample = everyone.keep((heads == 1) & (children <= MOST_CHILDREN), relate <= CHILD)
    return _pick(sample, GROUP_COLUMNS, ("RELATE", *MEMBER_COLUMNS))


def _source(draw: str) -> Source:
    """The tables of a census sample."""
    draws = {"acs": draw_acs, "acs-red": draw_reduced, "acs-rel": draw_related}
    return Source(group_table="households", member_table="persons", id="SERIAL", draw=draws[draw])


CENSUS_SOURCES = {name: _source(name) for name in ("acs", "acs-red", "acs-rel")}
