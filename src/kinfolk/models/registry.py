"""All kinds of models, by the names that a model file gives them."""

from __future__ import annotations

from kinfolk.models.base import Model
from kinfolk.models.histogram import Histogram
from kinfolk.models.hpd import HPD

KINDS: dict[str, type[Model]] = {HPD.kind: HPD, Histogram.kind: Histogram}
