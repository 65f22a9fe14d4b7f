"""HPD-Gen: a mixture that a network makes from Gaussian noise; on flat data it is GEM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from kinfolk.errors import KinfolkError
from kinfolk.methods.update import HPDLearner, Table, UpdateSettings
from kinfolk.models.layout import Layout
from kinfolk.models.network import Layers, Network, blend
from kinfolk.queries.workload import Workload


@dataclass(frozen=True, kw_only=True)
class GenSettings(UpdateSettings):
    """What HPD-Gen is told in advance."""

    learning_rate: float = 0.0001
    """Of Adam, on the network's weights."""
    hidden: tuple[int, ...] = (512, 1024)
    """How many units each hidden layer has."""
    noise_size: int = 128
    """How many normal numbers a component is made from; the paper does not say."""
    noise: Literal["fixed", "resampled"] = "fixed"
    """Whether the noise stays, which the paper finds much better, or is new at every step."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.learning_rate <= 0:
            raise KinfolkError(f"learning_rate is {self.learning_rate}. Use a positive number.")
        object.__setattr__(self, "hidden", tuple(self.hidden))
        if self.noise_size < 1 or any(units < 1 for units in self.hidden):
            raise KinfolkError(
                f"noise_size is {self.noise_size} and hidden {list(self.hidden)}. "
                "Use at least 1 number, and at least 1 unit in each layer."
            )
        if self.noise not in ("fixed", "resampled"):
            raise KinfolkError(f"noise is {self.noise!r}. Choose 'fixed' or 'resampled'.")


class HPDGen(HPDLearner):
    """The parameters are a network's weights; its input is noise, one row for each component."""

    def __init__(
        self,
        workload: Workload,
        *,
        rounds: int,
        rng: np.random.Generator,
        settings: GenSettings | None = None,
    ) -> None:
        chosen = settings or GenSettings()
        layout = Layout.of(workload.schema, scheme=chosen.scheme)
        super().__init__(
            workload,
            rounds=rounds,
            layout=layout,
            parameters=NetworkWeights(layout.rows, rng=rng, settings=chosen),
            settings=chosen,
        )


class NetworkWeights:
    """A network and its noise.

    With fixed noise the K rows drawn at first stay, so the model is one mixture in the making. With
    resampled noise every step sees K new rows, and what is learnt is a distribution of components.
    The model that is left is then made from K rows that no step has seen, drawn at first too, so
    that asking for the model changes nothing.
    """

    def __init__(self, rows: int, *, rng: np.random.Generator, settings: GenSettings) -> None:
        self._network = Network(
            inputs=settings.noise_size,
            hidden=settings.hidden,
            outputs=rows,
            learning_rate=settings.learning_rate,
            rng=rng,
        )
        self._shape = (settings.components, settings.noise_size)
        self._resampled = settings.noise == "resampled"
        self._rng = rng
        self._final = self._noise()
        self._now = self._noise() if self._resampled else self._final
        self._memory = settings.parameter_memory
        self._kept: Layers = None

    def logits(self) -> Table:
        """(rows, K) the logits now."""
        return self._network.logits(self._now)

    def step(self, gradient: Table) -> None:
        """One step of Adam; then new noise, where it is resampled."""
        self._network.step(gradient)
        if self._resampled:
            self._now = self._noise()

    def keep(self) -> None:
        """Take the weights as they are now into their moving average."""
        now = self._network.layers
        self._kept = now if self._kept is None else blend(self._kept, now, self._memory)

    def kept(self) -> Table:
        """(rows, K) the logits with the averaged weights; those of now where none were kept."""
        layers = self._network.layers if self._kept is None else self._kept
        return self._network.logits(self._final, layers=layers)

    def _noise(self) -> npt.NDArray[np.float64]:
        return self._rng.standard_normal(self._shape)
