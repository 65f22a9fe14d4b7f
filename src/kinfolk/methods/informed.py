"""The default method with public tables to begin with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np

from kinfolk.errors import KinfolkError
from kinfolk.methods.marginals import Marginals, MarginalsTraining
from kinfolk.methods.method import Method, Step
from kinfolk.methods.prior import PublicRates
from kinfolk.privacy.curator import Curator
from kinfolk.privacy.view import PublicView
from kinfolk.queries.workload import Workload


def check_informable(method: Method) -> Marginals:
    """The method, if it can begin with public tables: only the default one can."""
    if not isinstance(method, Marginals):
        raise KinfolkError(
            f"the method {method.name} learns nothing from public tables. Use the method "
            "marginals, or leave them away."
        )
    return method


@dataclass(frozen=True, kw_only=True)
class InformedMarginals(Marginals):
    """It learns from what it buys with a prior, as far as that helps.

    It buys much the same, but knowing what is to be expected: see `allocate`.
    """

    public: PublicRates
    """What is known beforehand; no setting, as it is much too long for one."""

    @classmethod
    def of(cls, method: Marginals, public: PublicRates) -> Self:
        """The method with public tables to begin with."""
        told = {one.name: getattr(method, one.name) for one in fields(Marginals)}
        return cls(**told, public=public)

    @property
    def settings(self) -> Mapping[str, Any]:
        """What it was told, for the certificate, which describes the public tables elsewhere."""
        return {one.name: getattr(self, one.name) for one in fields(Marginals)}

    def steps(self, view: PublicView) -> list[Step]:
        """What it will buy."""
        return super().steps(view.knowing(informed=True))

    def planned_noise(self, view: PublicView, workload: Workload) -> list[float | None]:
        """That of the marginals that are bought."""
        return super().planned_noise(view.knowing(informed=True), workload)

    def start(self, curator: Curator, *, rng: np.random.Generator) -> MarginalsTraining:
        """Begin."""
        return MarginalsTraining(self, curator, rng, public=self.public)
