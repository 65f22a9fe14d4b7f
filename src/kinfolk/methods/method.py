"""What all methods have in common: they start with a curator, run, and leave a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from kinfolk.models.histogram import Histogram
from kinfolk.models.hpd import HPD
from kinfolk.privacy.accounting import Accounting
from kinfolk.privacy.curator import Curator
from kinfolk.queries.workload import Workload

Model: TypeAlias = HPD | Histogram
"""What a method leaves: something that answers queries, and that groups can be drawn from."""

Progress: TypeAlias = Callable[[str, int, int], None]
"""Told what is being done, how many steps of it are done, and of how many; released values only."""


def silent(doing: str, done: int, total: int) -> None:
    """Say nothing."""


class Training(Protocol):
    """A method at work. It sees released values only, which it buys from the curator."""

    def run(self, progress: Progress = silent) -> None:
        """Spend the budget and learn. May be interrupted: `model` is then what there is so far."""

    def model(self) -> Model:
        """The best model so far."""

    def extra(self) -> Mapping[str, npt.NDArray[Any]]:
        """More arrays that belong to the model, by name: all released."""


class Method(Protocol):
    """A method and its settings, fixed before any data is seen."""

    @property
    def name(self) -> str:
        """How `--method` calls it."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """What it was told, for the certificate: JSON values."""

    @property
    def accounting(self) -> Accounting:
        """The tightest accounting that covers what it buys."""

    @property
    def size_weighted(self) -> bool:
        """Whether groups count by weights of their size, where a unit can move whole ones."""

    def asks(self, workload: Workload) -> Workload:
        """What the curator should count, for a workload that the model is to answer."""

    def start(self, curator: Curator, *, rng: np.random.Generator) -> Training:
        """Begin. `rng` is for what comes after the noise: where a model starts, say."""
