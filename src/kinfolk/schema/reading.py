"""schema.yaml -> Schema, with one message for every mistake and all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from kinfolk.errors import KinfolkError, SchemaError
from kinfolk.schema.attributes import Attribute, Categorical, Numeric, text_of
from kinfolk.schema.findings import Findings, did_you_mean, join
from kinfolk.schema.roles import RESERVED, Role, Roles
from kinfolk.schema.schema import GroupTable, IndividualTable, Schema, WorkloadSpec
from kinfolk.schema.yaml_text import load_yaml

T = TypeVar("T")

TOP = (
    "group",
    "individual",
    "max_size",
    "oversize",
    "count",
    "roles",
    "relations",
    "workload",
    "domain",
)
CATEGORICAL = ("values", "labels", "missing", "derived")
NUMERIC = ("bins", "integer", "labels", "special", "missing", "derived")


def read_schema(path: str | Path) -> Schema:
    """Read a schema file."""
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise KinfolkError(
            f"{file}: there is no such file. Check the path, or draft a schema with `kinfolk init`."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise KinfolkError(f"{file}: cannot be read as text ({error}). Name a YAML file.") from None
    return parse_schema(text, name=file.name)


def parse_schema(text: str, *, name: str) -> Schema:
    """Read a schema from YAML text."""
    document = load_yaml(text, name=name)
    findings = Findings()
    if not isinstance(document, Mapping):
        fix = "It needs `group:`, `individual:` and `max_size:`."
        findings.add("the file", "holds no schema.", fix)
        findings.raise_if_any(name)
    reader = _Reader(findings)
    schema = reader.schema(document)
    findings.raise_if_any(name)
    assert schema is not None, "a schema is refused only with a finding"  # noqa: S101
    return schema


class _Reader:
    """Walks the document; notes problems with their path and goes on."""

    def __init__(self, findings: Findings) -> None:
        self.findings = findings

    def schema(self, node: Mapping[str, Any]) -> Schema | None:
        self.keys(node, TOP, "")
        group = self.group(node["group"]) if "group" in node else None
        individual = self.individual(node, flat="group" not in node)
        roles = self.roles(node["roles"]) if node.get("roles") is not None else None
        relations = self.mapping(node, "relations", "") if node.get("relations") else {}
        flat = "group" not in node
        max_size = self.required(node, "max_size", "", "Say how many members a group may have.")
        workload = self.workload(node, flat=flat, group=group, individual=individual)
        count = self.word(node, "count", "", default="COUNT")
        if individual is None or max_size is None or workload is None or count is None:
            return None
        return self.build(
            lambda: Schema(
                group=group,
                individual=individual,
                max_size=max_size,
                oversize=node.get("oversize", "drop"),
                count=count,
                roles=roles,
                relations=relations or {},
                workload=workload,
                domain=node.get("domain", "declared"),
            ),
            "",
        )

    def group(self, node: Any) -> GroupTable | None:
        if not self.is_mapping(node, "group"):
            return None
        self.keys(node, ("table", "id", "attributes"), "group")
        table = self.word(node, "table", "group")
        key = self.word(node, "id", "group")
        attributes = self.attributes(node, "group")
        if table is None or key is None:
            return None
        return GroupTable(table=table, id=key, attributes=attributes)

    def individual(self, top: Mapping[str, Any], *, flat: bool) -> IndividualTable | None:
        if "individual" not in top:
            fix = "Declare the table with one row per individual."
            self.findings.add("individual", "the section is missing.", fix)
            return None
        node = top["individual"]
        if not self.is_mapping(node, "individual"):
            return None
        self.keys(node, ("table", "group_id", "attributes"), "individual")
        table = self.word(node, "table", "individual")
        key = None if flat else self.word(node, "group_id", "individual")
        if flat and "group_id" in node:
            fix = "Declare the section `group:`, or remove group_id for flat data."
            self.findings.add("individual.group_id", "there is no group table.", fix)
        attributes = self.attributes(node, "individual")
        if table is None or (key is None and not flat):
            return None
        return IndividualTable(table=table, group_id=key, attributes=attributes)

    def attributes(self, node: Mapping[str, Any], path: str) -> dict[str, Attribute]:
        found: dict[str, Attribute] = {}
        for name, entry in (self.mapping(node, "attributes", path) or {}).items():
            place = join(f"{path}.attributes", str(name))
            if self.is_name(name, place) and self.is_mapping(entry, place):
                # A stand-in keeps later checks from complaining about what is not there.
                found[name] = self.attribute(entry, place) or Categorical(values=[0])
        return found

    def attribute(self, node: Mapping[str, Any], path: str) -> Attribute | None:
        if ("values" in node) == ("bins" in node):
            both = "both `values` and `bins`" if "values" in node else "neither values nor bins"
            fix = "Give `values: [...]` for categories or `bins: [...]` for a number."
            self.findings.add(path, f"it has {both}.", fix)
            return None
        known = CATEGORICAL if "values" in node else NUMERIC
        self.keys(node, known, path)
        options: dict[str, Any] = {key: node[key] for key in known if node.get(key) is not None}
        for flag in ("missing", "derived", "integer"):
            if not isinstance(options.get(flag, False), bool):
                what = f"{text_of(options.pop(flag))} is neither true nor false."
                self.findings.add(f"{path}.{flag}", what, "Write true or false.")
        if isinstance(options.get("labels"), list):
            options["labels"] = [
                str(label) if isinstance(label, int | float) else label
                for label in options["labels"]
            ]
        make: Callable[..., Attribute] = Categorical if "values" in node else Numeric
        options.setdefault("values" if "values" in node else "bins", ())
        return self.build(lambda: make(**options), path)

    def roles(self, node: Any) -> Roles | None:
        if not self.is_mapping(node, "roles"):
            return None
        column = self.word(node, "column", "roles")
        before = len(self.findings.problems)
        roles: dict[str, Role] = {}
        for name, entry in node.items():
            place = f"roles.{name}"
            if name in RESERVED or not self.is_mapping(entry, place):
                continue
            self.keys(entry, ("values", "min", "max"), place)
            if entry.get("values") is None:
                fix = "List the values of the role column that mean this role, such as [0]."
                self.findings.add(place, "it has no values.", fix)
                continue
            options = {key: entry[key] for key in ("values", "min", "max") if key in entry}
            role = self.build(partial(Role, **options), place)
            if role is not None and self.is_name(name, place):
                roles[name] = role
        if column is None or len(self.findings.problems) > before:
            return None
        others = node.get("others", "drop")
        return self.build(lambda: Roles(column=column, roles=roles, others=others), "roles")

    def workload(
        self,
        top: Mapping[str, Any],
        *,
        flat: bool,
        group: GroupTable | None,
        individual: IndividualTable | None,
    ) -> WorkloadSpec | None:
        known = ("k", "levels", "relation_counts")
        node = self.mapping(top, "workload", "") if top.get("workload") is not None else {}
        if node is None:
            return None
        self.keys(node, known, "workload")
        options: dict[str, Any] = {key: node[key] for key in known if key in node}
        if flat:
            options.setdefault("levels", ("individual",))
        sizes = [len(table.attributes) for table in (group, individual) if table is not None]
        options.setdefault("k", max(1, min(3, sum(sizes) + (not flat))))
        return self.build(lambda: WorkloadSpec(**options), "workload")

    def build(self, make: Callable[[], T], path: str) -> T | None:
        """Call a constructor; what it objects to is noted under the path."""
        try:
            return make()
        except SchemaError as error:
            self.findings.absorb(error, under=path)
            return None

    def keys(self, node: Mapping[str, Any], known: Sequence[str], path: str) -> None:
        for key in node:
            if key not in known:
                fix = did_you_mean(key, known)
                self.findings.add(join(path, str(key)), "the key is unknown.", fix)

    def is_mapping(self, node: Any, path: str) -> bool:
        if isinstance(node, Mapping):
            return True
        shown = "nothing" if node is None else repr(node)
        self.findings.add(path, f"found {shown}.", "Expected `key: value` entries here.")
        return False

    def is_name(self, name: Any, path: str) -> bool:
        if isinstance(name, str):
            return True
        self.findings.add(path, f"the name {text_of(name)} is not a text.", "Put it in quotes.")
        return False

    def mapping(self, node: Mapping[str, Any], key: str, path: str) -> Mapping[str, Any] | None:
        place = join(path, key)
        if node.get(key) is None:
            if key == "attributes" and key in node and path == "group":
                return {}
            self.findings.add(place, "the section is missing.", "Add it.")
            return None
        entry = node[key]
        return entry if self.is_mapping(entry, place) else None

    def required(self, node: Mapping[str, Any], key: str, path: str, fix: str) -> Any:
        if node.get(key) is None:
            self.findings.add(join(path, key), "it is not given.", fix)
        return node.get(key)

    def word(
        self, node: Mapping[str, Any], key: str, path: str, *, default: str | None = None
    ) -> str | None:
        value = node.get(key, default)
        if isinstance(value, str) and value.strip():
            return value
        if value is None:
            self.findings.add(join(path, key), "it is not given.", f"Write `{key}: NAME`.")
        else:
            what = f"{text_of(value)} is not a name."
            self.findings.add(join(path, key), what, "Write a text; put digits in quotes.")
        return None
