"""What is public about the data: its tables, their declared domain, roles, and queries."""

from kinfolk.schema.attributes import Attribute, Categorical, Numeric, Value
from kinfolk.schema.roles import OTHER_ROLE, Role, Roles
from kinfolk.schema.schema import GroupTable, IndividualTable, Schema
from kinfolk.schema.workload_spec import Level, WorkloadSpec

__all__ = [
    "OTHER_ROLE",
    "Attribute",
    "Categorical",
    "GroupTable",
    "IndividualTable",
    "Level",
    "Numeric",
    "Role",
    "Roles",
    "Schema",
    "Value",
    "WorkloadSpec",
]
