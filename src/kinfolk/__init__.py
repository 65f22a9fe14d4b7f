"""Differentially private synthetic data that keeps groups together.

Everything public is here: `from kinfolk import Synthesizer`. Modules below are free to move.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kinfolk.audit.engine import audit
    from kinfolk.data.decode import decode
    from kinfolk.data.draft import draft_schema
    from kinfolk.data.encode import encode
    from kinfolk.data.sources import ipums_variables, read_ipums, read_pums
    from kinfolk.datasets import load_detroit, load_schema
    from kinfolk.errors import DataError, KinfolkError, SchemaError, redacted
    from kinfolk.evaluate.compare import compare
    from kinfolk.evaluate.evaluation import evaluate
    from kinfolk.experiments.simulate import simulate_tables
    from kinfolk.privacy import Accounting, Guarantee, Neighbours, Unit, epsilon_from
    from kinfolk.privacy.curator import Curator
    from kinfolk.privacy.sensitivity import (
        paired_sensitivities,
        sensitivity,
        size_weights,
        workload_weights,
    )
    from kinfolk.privacy.unit import Wording
    from kinfolk.queries.counting import count
    from kinfolk.queries.questions import describe
    from kinfolk.queries.spark import count_spark
    from kinfolk.queries.workload import Workload
    from kinfolk.release import Release, load
    from kinfolk.release.estimate import plan
    from kinfolk.release.synthesizer import Synthesizer
    from kinfolk.release.verify import verify
    from kinfolk.schema import (
        Categorical,
        GroupTable,
        IndividualTable,
        Level,
        Numeric,
        Role,
        Roles,
        Schema,
        WorkloadSpec,
    )

__version__ = "0.1.0"

# Looked up when they are wanted, so that a command that needs none of them starts at once.
_PLACES = {
    "kinfolk.audit.engine": "audit",
    "kinfolk.data.decode": "decode",
    "kinfolk.data.draft": "draft_schema",
    "kinfolk.data.encode": "encode",
    "kinfolk.experiments.simulate": "simulate_tables",
    "kinfolk.data.sources": "ipums_variables read_ipums read_pums",
    "kinfolk.datasets": "load_detroit load_schema",
    "kinfolk.errors": "DataError KinfolkError SchemaError redacted",
    "kinfolk.evaluate.compare": "compare",
    "kinfolk.evaluate.evaluation": "evaluate",
    "kinfolk.privacy": "Accounting Guarantee Neighbours Unit epsilon_from",
    "kinfolk.privacy.curator": "Curator",
    "kinfolk.privacy.sensitivity": "paired_sensitivities sensitivity size_weights workload_weights",
    "kinfolk.privacy.unit": "Wording",
    "kinfolk.queries.counting": "count",
    "kinfolk.queries.questions": "describe",
    "kinfolk.queries.spark": "count_spark",
    "kinfolk.queries.workload": "Workload",
    "kinfolk.release": "Release load",
    "kinfolk.release.estimate": "plan",
    "kinfolk.release.verify": "verify",
    "kinfolk.schema": "Categorical GroupTable IndividualTable Level Numeric Role Roles Schema "
    "WorkloadSpec",
    "kinfolk.release.synthesizer": "Synthesizer",
}
_MODULES = {name: module for module, names in _PLACES.items() for name in names.split()}

__all__ = [
    "Accounting",
    "Categorical",
    "Curator",
    "DataError",
    "GroupTable",
    "Guarantee",
    "IndividualTable",
    "KinfolkError",
    "Level",
    "Neighbours",
    "Numeric",
    "Release",
    "Role",
    "Roles",
    "Schema",
    "SchemaError",
    "Synthesizer",
    "Unit",
    "Wording",
    "Workload",
    "WorkloadSpec",
    "audit",
    "compare",
    "count",
    "count_spark",
    "decode",
    "describe",
    "draft_schema",
    "encode",
    "epsilon_from",
    "evaluate",
    "ipums_variables",
    "load",
    "load_detroit",
    "load_schema",
    "paired_sensitivities",
    "plan",
    "read_ipums",
    "read_pums",
    "redacted",
    "sensitivity",
    "simulate_tables",
    "size_weights",
    "verify",
    "workload_weights",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]


class _Surface(ModuleType):
    """Keeps `kinfolk.audit` and `kinfolk.evaluate` functions: folders have the same names.

    Importing something below such a folder would put the folder in the place of the function.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _MODULES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Surface
