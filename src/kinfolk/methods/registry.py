"""Every method by the name that `--method` takes, and what each can be told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from kinfolk.errors import KinfolkError
from kinfolk.methods.adaptive import AdaptiveMeasurements
from kinfolk.methods.fixed import FixedSettings
from kinfolk.methods.gen import GenSettings
from kinfolk.methods.independent import Independent
from kinfolk.methods.marginals import Marginals
from kinfolk.methods.method import Method
from kinfolk.methods.paper import hpd_fixed, hpd_gen, mwem, pep

DEFAULT = "marginals"
"""What is used where no method is named."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """How a method is made."""

    make: Callable[..., Method]
    """Makes it from its settings; those not given have their defaults."""
    settings: tuple[str, ...]
    """What it can be told."""


def _entry(method: type) -> Entry:
    """A method that is a dataclass of its settings."""
    return Entry(make=method, settings=_names(method))


def _adaptive(make: Callable[..., Method], *told: str) -> Entry:
    """A method of rounds, with the settings of the loop and of its learner."""
    return Entry(make=make, settings=(*_names(AdaptiveMeasurements), *told))


def _names(told: type) -> tuple[str, ...]:
    return tuple(one.name for one in fields(told))


METHODS: Mapping[str, Entry] = {
    "marginals": _entry(Marginals),
    "hpd-fixed": _adaptive(hpd_fixed, *_names(FixedSettings)),
    "hpd-gen": _adaptive(hpd_gen, *_names(GenSettings)),
    "mwem": _adaptive(mwem, "max_iterations", "iterate"),
    "pep": _adaptive(pep, "max_iterations"),
    "independent": _entry(Independent),
}
"""All methods."""


def method_named(name: str | None = None, **settings: Any) -> Method:
    """The method of that name, with settings of its own; what it cannot be told is refused.

    >>> method_named("mwem", rounds=50).settings["rounds"]
    50
    >>> try:
    ...     method_named("independent", rounds=10)
    ... except KinfolkError as error:
    ...     print(error)
    the method independent has no rounds. It can be told: nothing.
    """
    chosen = DEFAULT if name is None else name
    if chosen not in METHODS:
        raise KinfolkError(f"no method is called {chosen!r}. There are: {', '.join(METHODS)}.")
    entry = METHODS[chosen]
    unknown = [setting for setting in settings if setting not in entry.settings]
    if unknown:
        told = ", ".join(entry.settings) or "nothing"
        raise KinfolkError(f"the method {chosen} has no {unknown[0]}. It can be told: {told}.")
    return entry.make(**settings)
