"""schema.yaml -> Schema, with one message for every mistake and all of them at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from kinfolk._io import local_path
from kinfolk.errors import Findings, KinfolkError, SchemaError, closest, did_you_mean, join
from kinfolk.schema.attributes import Attribute, Categorical, Numeric, shown, text_of
from kinfolk.schema.formulas import Formula
from kinfolk.schema.roles import OTHER_ROLE, RESERVED, Role, Roles
from kinfolk.schema.schema import GroupTable, IndividualTable, Schema, spoilt
from kinfolk.schema.workload_spec import Level, WorkloadSpec
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
    "never",
    "on_violation",
)
CATEGORICAL = ("values", "labels", "missing", "derived", "label")
NUMERIC = ("bins", "integer", "decimals", "labels", "special", "missing", "derived", "label")
STAND_IN = "\ufdd0"
"""The name of what could not be read, so that checks of the rest can go on: no character at all,
which nobody calls anything."""


def read_schema(path: str | Path) -> Schema:
    """Read a schema file."""
    file = local_path(path)
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise KinfolkError(
            f"{file}: there is no such file. Check the path, or draft a schema with `kinfolk init`."
        ) from None
    except IsADirectoryError:
        raise KinfolkError(f"{file}: is a folder. Name the YAML file in it.") from None
    except UnicodeDecodeError:
        raise KinfolkError(
            f"{file}: is not a text in UTF-8. Name a YAML file, and save it in UTF-8."
        ) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise KinfolkError(f"{file}: cannot be read ({reason}). Name a YAML file.") from None
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


def without_formulas(group: GroupTable) -> GroupTable:
    """The same group table, as if it were not known how attributes are computed."""
    plain = {
        name: replace(one, derived=bool(one.derived)) for name, one in group.attributes.items()
    }
    return replace(group, attributes=plain)


def formula_domain(text: str, schema: Schema) -> Attribute:
    """What an attribute can be that is computed so."""
    return Formula.parse(text, schema).domain()


class _Reader:
    """Walks the document; notes problems with their path and goes on.

    What cannot be read gets a stand-in: the checks of the rest still run, and none of them
    complains about what is not there.
    """

    def __init__(self, findings: Findings) -> None:
        self.findings = findings
        self.meant: set[str] = set()
        """Paths that an unknown key was probably meant for; they are not missing as well."""
        self.uncounted = False
        """Whether some attributes could not be read, so that nobody knows how many there are."""
        self.undeclared: set[str] = set()
        """Group attributes whose formula says what they can be."""

    def schema(self, node: Mapping[str, Any]) -> Schema | None:
        self.keys(node, TOP, "")
        flat = "group" not in node and "group" not in self.meant
        group = None if flat else self.group(node)
        individual = self.individual(node, flat=flat)
        roles = self.roles(node["roles"]) if node.get("roles") is not None else None
        relations = self.relations(node, roles)
        workload = self.workload(node, flat=flat, group=group, individual=individual)
        if relations is None:
            levels = [level for level in workload.levels if level != Level.RELATION]
            workload = replace(workload, levels=levels or [Level.GROUP])
        max_size = node.get("max_size")
        if max_size is None:
            self.missing("max_size", "it is not given.", "Say how many members a group may have.")
            max_size = 1 if flat else 255
        count = self.word(node, "count", "", default="COUNT")
        never = () if node.get("never") is None else node["never"]
        if self.meant or spoilt(self.findings):
            # What could not be read might be named in them.
            never, group = (), group and without_formulas(group)
        elif group is not None and self.undeclared:
            group = self.computed(group, individual, roles, max_size, count)
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
                never=never,
                on_violation=node.get("on_violation", "error"),
            ),
            "",
        )

    def group(self, top: Mapping[str, Any]) -> GroupTable:
        node = top.get("group", {})
        if "group" not in top or not self.is_mapping(node, "group"):
            self.uncounted = True
            return GroupTable(table=STAND_IN, id=STAND_IN, attributes={})
        self.keys(node, ("table", "id", "weight", "attributes"), "group")
        table = self.word(node, "table", "group")
        key = self.word(node, "id", "group")
        weight = self.word(node, "weight", "group") if node.get("weight") is not None else None
        attributes = self.attributes(node, "group")
        return GroupTable(table=table, id=key, attributes=attributes, weight=weight)

    def computed(
        self,
        group: GroupTable,
        individual: IndividualTable,
        roles: Roles | None,
        max_size: Any,
        count: str,
    ) -> GroupTable:
        """The group table, with what the formulas of undeclared attributes can be."""
        known = {n: a for n, a in group.attributes.items() if n not in self.undeclared}
        rest = without_formulas(replace(group, attributes=known, weight=None))
        spec = WorkloadSpec(k=1)
        try:
            schema = Schema(
                group=rest,
                individual=individual,
                roles=roles,
                max_size=max_size,
                count=count,
                workload=spec,
            )
        except SchemaError:
            # It will be said of the whole schema.
            return without_formulas(group)
        attributes = dict(group.attributes)
        for name in sorted(self.undeclared):
            text = str(attributes[name].derived)
            path = f"group.attributes.{name}.derived"
            domain = self.build(partial(formula_domain, text, schema), path)
            domain = domain or Categorical(values=[0], derived=True)
            attributes[name] = replace(domain, title=attributes[name].title)
        return replace(group, attributes=attributes)

    def individual(self, top: Mapping[str, Any], *, flat: bool) -> IndividualTable:
        node = top.get("individual", {})
        if "individual" not in top:
            fix = "Declare the table with one row per individual."
            self.missing("individual", "the section is missing.", fix)
        if "individual" not in top or not self.is_mapping(node, "individual"):
            self.uncounted = True
            key = None if flat else STAND_IN
            stand_in: dict[str, Attribute] = {f"{STAND_IN}attribute": Categorical(values=[0])}
            table = f"{STAND_IN}individual"
            return IndividualTable(table=table, group_id=key, attributes=stand_in)
        self.keys(node, ("table", "group_id", "attributes"), "individual")
        table = self.word(node, "table", "individual")
        key = None if flat else self.word(node, "group_id", "individual")
        if flat and "group_id" in node:
            fix = "Declare the section `group:`, or remove group_id for flat data."
            self.findings.add("individual.group_id", "there is no group table.", fix)
        attributes = self.attributes(node, "individual")
        return IndividualTable(table=table, group_id=key, attributes=attributes)

    def attributes(self, node: Mapping[str, Any], path: str) -> dict[str, Attribute]:
        entries = self.mapping(node, "attributes", path)
        if entries is None:
            self.uncounted = True
            return {f"{STAND_IN}attribute": Categorical(values=[0])}
        found: dict[str, Attribute] = {}
        for name, entry in entries.items():
            place = join(f"{path}.attributes", str(name))
            if self.is_name(name, place):
                read = self.attribute(entry, place) if self.is_mapping(entry, place) else None
                found[name] = read or Categorical(values=[0])
            else:
                found[f"{STAND_IN}{name}"] = Categorical(values=[0])
        return found

    def attribute(self, node: Mapping[str, Any], path: str) -> Attribute | None:
        options: dict[str, Any]
        neither = "values" not in node and "bins" not in node
        if neither and isinstance(node.get("derived"), str) and path.startswith("group."):
            self.keys(node, ("derived", "label"), path)
            self.undeclared.add(path.removeprefix("group.attributes."))
            options = {"derived": node["derived"] or True, "title": node.get("label")}
            return self.build(lambda: Categorical(values=[0], **options), path)
        if ("values" in node) == ("bins" in node):
            both = "both `values` and `bins`" if "values" in node else "neither values nor bins"
            fix = "Give `values: [...]` for categories or `bins: [...]` for a number."
            self.findings.add(path, f"it has {both}.", fix)
            return None
        known = CATEGORICAL if "values" in node else NUMERIC
        self.keys(node, known, path)
        options = {key: node[key] for key in known if node.get(key) is not None}
        if "label" in options:
            options["title"] = options.pop("label")
        if isinstance(options.get("labels"), list):
            options["labels"] = [
                text_of(label) if isinstance(label, int | float) else label
                for label in options["labels"]
            ]
        make: Callable[..., Attribute] = Categorical if "values" in node else Numeric
        options.setdefault("values" if "values" in node else "bins", ())
        return self.build(lambda: make(**options), path)

    def roles(self, node: Any) -> Roles | None:
        if not self.is_mapping(node, "roles"):
            return None
        before = len(self.findings.problems)
        names = [name for name in node if name not in RESERVED]
        roles: dict[str, Role] = {}
        for name in names:
            role = self.role(name, node[name])
            if role is not None:
                roles[name] = role
        column = self.word(node, "column", "roles")
        others = node.get("others", "drop")
        if roles or not names:
            built = self.build(lambda: Roles(column=column, roles=roles, others=others), "roles")
            if len(self.findings.problems) == before:
                return built
        stand_ins = {str(name): Role(values=[index]) for index, name in enumerate(names)}
        if OTHER_ROLE in stand_ins or others != "keep":
            others = "drop"
        return Roles(column=column, roles=stand_ins, others=others) if names else None

    def role(self, name: Any, entry: Any) -> Role | None:
        place = f"roles.{name}"
        key = closest(name, RESERVED)
        if key is not None and not isinstance(entry, Mapping):
            self.findings.add(place, "the key is unknown.", f"Did you mean {key!r}?")
            self.meant.add(f"roles.{key}")
            return None
        if not self.is_name(name, place) or not self.is_mapping(entry, place):
            return None
        self.keys(entry, ("values", "min", "max"), place)
        if entry.get("values") is None:
            fix = "List the values of the role column that mean this role, such as [0]."
            self.missing(f"{place}.values", "it has no values.", fix)
            return None
        options = {key: entry[key] for key in ("values", "min", "max") if key in entry}
        return self.build(partial(Role, **options), place)

    def relations(self, top: Mapping[str, Any], roles: Roles | None) -> Mapping[str, Any] | None:
        """The relations; None where they cannot be checked."""
        node = top.get("relations")
        if node is None:
            return None if "relations" in self.meant else {}
        if not self.is_mapping(node, "relations"):
            return None
        named = {name: v for name, v in node.items() if self.is_name(name, f"relations.{name}")}
        declared = top.get("roles") is not None or "roles" in self.meant
        return None if len(named) < len(node) or (declared and roles is None) else named

    def workload(
        self,
        top: Mapping[str, Any],
        *,
        flat: bool,
        group: GroupTable | None,
        individual: IndividualTable,
    ) -> WorkloadSpec:
        known = ("k", "levels", "relation_counts", "attributes", "sets", "weights", "priorities")
        node = self.mapping(top, "workload", "") if top.get("workload") is not None else {}
        self.keys(node or {}, known, "workload")
        options: dict[str, Any] = {key: node[key] for key in known if key in node} if node else {}
        if flat:
            options.setdefault("levels", (Level.INDIVIDUAL,))
        sizes = [len(table.attributes) for table in (group, individual) if table is not None]
        options.setdefault("k", max(1, min(3, sum(sizes) + (not flat))))
        spec = self.build(lambda: WorkloadSpec(**options), "workload") or WorkloadSpec(k=1)
        return replace(spec, k=1, attributes=(), sets=(), priorities=()) if self.uncounted else spec

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
                self.meant.add(join(path, closest(key, known) or ""))

    def missing(self, path: str, what: str, fix: str) -> None:
        if path not in self.meant:
            self.findings.add(path, what, fix)

    def is_mapping(self, node: Any, path: str) -> bool:
        if isinstance(node, Mapping):
            return True
        self.findings.add(path, f"found {shown(node)}.", "Expected `key: value` entries here.")
        return False

    def is_name(self, name: Any, path: str) -> bool:
        if isinstance(name, str) and name.strip():
            return True
        fix = "Write a text; put digits in quotes."
        self.findings.add(path, f"{shown(name)} is not a name.", fix)
        return False

    def mapping(self, node: Mapping[str, Any], key: str, path: str) -> Mapping[str, Any] | None:
        place = join(path, key)
        if node.get(key) is None:
            if key == "attributes" and key in node and path == "group":
                return {}
            self.missing(place, "the section is missing.", "Add it.")
            return None
        entry = node[key]
        return entry if self.is_mapping(entry, place) else None

    def word(
        self, node: Mapping[str, Any], key: str, path: str, *, default: str | None = None
    ) -> str:
        value, place = node.get(key, default), join(path, key)
        if value is None:
            self.missing(place, "it is not given.", f"Write `{key}: NAME`.")
        elif self.is_name(value, place):
            return str(value)
        return f"{STAND_IN}{place}"
