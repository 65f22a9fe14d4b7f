"""HPD-Fixed: a mixture whose parameters are the tables themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kinfolk.errors import KinfolkError
from kinfolk.methods.adam import Adam
from kinfolk.methods.update import HPDLearner, Table, UpdateSettings
from kinfolk.models.layout import Layout
from kinfolk.queries.workload import Workload


@dataclass(frozen=True, kw_only=True)
class FixedSettings(UpdateSettings):
    """What HPD-Fixed is told in advance."""

    learning_rate: float = 0.1
    """Of Adam, on the logits."""
    single: bool = True
    """Whether numbers have 32 bits, which is faster and as good."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.learning_rate <= 0:
            raise KinfolkError(f"learning_rate is {self.learning_rate}. Use a positive number.")


class HPDFixed(HPDLearner):
    """Every logit is a parameter of its own, and starts at random."""

    def __init__(
        self,
        workload: Workload,
        *,
        rounds: int,
        rng: np.random.Generator,
        settings: FixedSettings | None = None,
    ) -> None:
        chosen = settings or FixedSettings()
        layout = Layout.of(workload.schema, scheme=chosen.scheme)
        super().__init__(
            workload,
            rounds=rounds,
            layout=layout,
            parameters=Logits(
                rng.standard_normal((layout.rows, chosen.components)), settings=chosen
            ),
            settings=chosen,
        )


class Logits:
    """A table of logits, (rows, K), that steps by Adam."""

    def __init__(self, start: Table, *, settings: FixedSettings) -> None:
        self._now: Table = start.astype(np.float32 if settings.single else np.float64)
        self._adam = Adam(learning_rate=settings.learning_rate)
        self._memory = settings.parameter_memory
        self._kept: Table | None = None

    def logits(self) -> Table:
        """(rows, K) the logits now."""
        return self._now

    def step(self, gradient: Table) -> None:
        """One step of Adam."""
        self._adam.step(self._now, gradient)

    def keep(self) -> None:
        """Take the logits as they are now into their moving average."""
        if self._kept is None:
            self._kept = self._now.copy()
        else:
            self._kept += (1 - self._memory) * (self._now - self._kept)

    def kept(self) -> Table:
        """(rows, K) the averaged logits; those of now where none were kept."""
        return self._now if self._kept is None else self._kept
