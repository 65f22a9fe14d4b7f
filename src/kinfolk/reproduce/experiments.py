"""What the paper ran: which methods, on which data, with which numbers of rounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kinfolk.errors import KinfolkError

EPSILONS = (0.125, 0.25, 0.5, 1.0)
"""The privacy budgets of all figures."""
SEEDS = 5
"""Runs that a point is the average of."""

_MIXTURES = (50, 75, 100, 125, 150, 200, 250)
_LARGE = (100, 200, 300, 400, 500)


@dataclass(frozen=True, kw_only=True)
class Variant:
    """A method as it appears in tables and figures."""

    label: str
    method: str
    """What the registry calls it."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What makes it this variant of the method."""


VARIANTS: Mapping[str, Variant] = {
    "hpd-fixed": Variant(label="HPD-Fixed", method="hpd-fixed"),
    "mwem": Variant(label="MWEM", method="mwem"),
    "pep": Variant(label="PEP", method="pep"),
    "hpd-gen": Variant(label="HPD-Gen, fixed noise", method="hpd-gen", settings={"noise": "fixed"}),
    "hpd-gen-resampled": Variant(
        label="HPD-Gen, resampled noise", method="hpd-gen", settings={"noise": "resampled"}
    ),
}
"""Every line that a figure can have."""


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How much is run."""

    rounds: Mapping[str, tuple[int, ...]]
    """The numbers of rounds T that are tried, for each variant."""
    epsilons: tuple[float, ...] = EPSILONS
    seeds: int = SEEDS
    components: int = 1000
    """K of HPD-Fixed."""
    gen_components: int = 1000
    """K of HPD-Gen."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One of the paper's datasets with what was run on it.

    >>> experiment_named("acs-red").paper.rounds["mwem"]
    (100, 200, 300, 400, 500, 750, 1000)
    """

    name: str
    """Also the name of the schema, and of the simulator."""
    title: str
    """What the paper calls the data."""
    groups: int
    """How many groups are simulated where there is no data."""
    paper: Effort
    """As in the paper; PEP, which it names but does not run, has the rounds of the mixtures."""
    quick: Effort
    """About ten minutes on two cores."""
    queries: Mapping[str, tuple[str, ...] | None] = field(default_factory=lambda: {"all": None})
    """Sets of queries by name: the levels that are asked; None for all of the schema."""


def _large(name: str, title: str, *, groups: int, quick: Effort, **more: Any) -> Experiment:
    """An experiment with hundreds of thousands of queries, beyond the reach of MWEM and PEP."""
    rounds = dict.fromkeys(("hpd-fixed", "hpd-gen", "hpd-gen-resampled"), _LARGE)
    paper = Effort(rounds=rounds)
    return Experiment(name=name, title=title, groups=groups, paper=paper, quick=quick, **more)


def _quick(components: int, **rounds: tuple[int, ...]) -> Effort:
    """Two epsilons, two seeds and a small K."""
    return Effort(
        rounds={name.replace("_", "-"): several for name, several in rounds.items()},
        epsilons=(0.25, 1.0),
        seeds=2,
        components=components,
        gen_components=components,
    )


EXPERIMENTS: Mapping[str, Experiment] = {
    one.name: one
    for one in (
        Experiment(
            name="acs-red",
            title="ACS (red.) NY-19",
            # The paper does not say. Of 87,453 simulated households, so many have up to 3 people.
            groups=71_443,
            paper=Effort(
                rounds={
                    "hpd-fixed": _MIXTURES,
                    "mwem": (100, 200, 300, 400, 500, 750, 1000),
                    "pep": _MIXTURES,
                    "hpd-gen": _MIXTURES,
                    "hpd-gen-resampled": _MIXTURES,
                }
            ),
            quick=Effort(
                rounds={
                    "hpd-fixed": (50, 100),
                    "mwem": (200, 400),
                    "pep": (50,),
                    "hpd-gen": (75,),
                    "hpd-gen-resampled": (75,),
                },
                epsilons=(0.125, 0.5, 1.0),
                seeds=3,
                gen_components=100,
            ),
        ),
        _large(
            "acs",
            "ACS NY-19",
            groups=87_453,
            quick=_quick(100, hpd_fixed=(50, 100), hpd_gen=(50,), hpd_gen_resampled=(50,)),
        ),
        _large(
            "acs-rel",
            "ACS (rel.) NY-19",
            # Likewise: so many have a head and up to 4 children.
            groups=79_147,
            quick=_quick(50, hpd_fixed=(25,), hpd_gen=(25,)),
            queries={"relation": ("relation",), "all": None},
        ),
        _large(
            "afst",
            "AFST",
            groups=20_448,
            quick=_quick(100, hpd_fixed=(100, 200), hpd_gen=(100,), hpd_gen_resampled=(100,)),
        ),
    )
}
"""The paper's four datasets."""


def experiment_named(name: str) -> Experiment:
    """The experiment of that name."""
    if name not in EXPERIMENTS:
        raise KinfolkError(
            f"no experiment is called {name!r}. There are: {', '.join(EXPERIMENTS)}."
        )
    return EXPERIMENTS[name]
