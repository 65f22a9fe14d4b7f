"""Differentially private synthetic data that keeps groups together.

What most programs need is here: `from kinfolk import Synthesizer`. Five modules below are public,
too, with the names in their `__all__`: `kinfolk.privacy`, `kinfolk.queries`, `kinfolk.data`,
`kinfolk.errors` and `kinfolk.experiments`. All others are private, and free to move.

Names are looked up when they are wanted, so that a command that needs none of them starts at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kinfolk._surface import export

if TYPE_CHECKING:
    from kinfolk.audit.engine import audit
    from kinfolk.data.draft import draft
    from kinfolk.data.sources import read_ipums, read_pums
    from kinfolk.datasets import load_detroit, load_schema
    from kinfolk.errors import DataError, KinfolkError, SchemaError
    from kinfolk.evaluate.evaluation import evaluate
    from kinfolk.queries.validation import validate
    from kinfolk.queries.workload import Workload
    from kinfolk.release import Release, load
    from kinfolk.release.replicates import pool
    from kinfolk.release.synthesizer import Synthesizer, plan
    from kinfolk.release.verify import verify
    from kinfolk.schema import (
        Categorical,
        GroupTable,
        IndividualTable,
        Numeric,
        Role,
        Roles,
        Schema,
        WorkloadSpec,
    )

__version__ = "0.1.0"

__all__ = [
    "Categorical",
    "DataError",
    "GroupTable",
    "IndividualTable",
    "KinfolkError",
    "Numeric",
    "Release",
    "Role",
    "Roles",
    "Schema",
    "SchemaError",
    "Synthesizer",
    "Workload",
    "WorkloadSpec",
    "audit",
    "draft",
    "evaluate",
    "load",
    "load_detroit",
    "load_schema",
    "plan",
    "pool",
    "read_ipums",
    "read_pums",
    "validate",
    "verify",
]

__getattr__ = export(
    __name__,
    {
        "kinfolk.audit.engine": "audit",
        "kinfolk.data.draft": "draft",
        "kinfolk.data.sources": "read_ipums read_pums",
        "kinfolk.queries.validation": "validate",
        "kinfolk.datasets": "load_detroit load_schema",
        "kinfolk.errors": "DataError KinfolkError SchemaError",
        "kinfolk.evaluate.evaluation": "evaluate",
        "kinfolk.queries.workload": "Workload",
        "kinfolk.release": "Release load",
        "kinfolk.release.replicates": "pool",
        "kinfolk.release.synthesizer": "Synthesizer plan",
        "kinfolk.release.verify": "verify",
        "kinfolk.schema": "Categorical GroupTable IndividualTable Numeric Role Roles Schema "
        "WorkloadSpec",
    },
)
