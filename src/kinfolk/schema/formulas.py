"""Group attributes that are computed from the members: `derived:` with a formula.

    formula  =  "count"  |  "count(" condition ")"  |  "any(" condition ")"
             |  ("sum" | "min" | "max") "(" attribute ["where" condition] ")"
             |  ROLE.NAME                            of a role that a group has one of at most

Conditions are those of `schema/language.py`, about one person. Blanks and special codes add nothing
to a sum, which is 0 where there is nothing to add; the min and the max of nothing are blank, and so
is the attribute of a member who is not there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NoReturn, TypeAlias

import numpy as np

from kinfolk._typing import Floats
from kinfolk.errors import Problem, SchemaError, did_you_mean
from kinfolk.schema.attributes import Attribute, Categorical, Numeric, Value, shown
from kinfolk.schema.condition_evaluator import (
    Cells,
    Column,
    GroupValues,
    as_numbers,
    cells_of,
    holds,
    member_rows,
    person_rows,
    quantities,
)
from kinfolk.schema.conditions import (
    Condition,
    Nobody,
    Ref,
    atoms,
    attribute_of,
    has_codes,
    has_numbers,
    is_code,
    refs,
    whose,
)
from kinfolk.schema.language import Reader

if TYPE_CHECKING:
    from kinfolk.schema.schema import Schema

Kind: TypeAlias = Literal["count", "any", "sum", "min", "max", "role"]
KINDS: tuple[Kind, ...] = ("count", "any", "sum", "min", "max")


@dataclass(frozen=True, kw_only=True, eq=False)
class Formula:
    """How a group attribute is computed from the members.

    >>> from kinfolk.datasets import load_schema
    >>> formula = Formula.parse("count(age < 18)", load_schema("detroit"))
    >>> formula.kind, [ref.name for ref in formula.refs]
    ('count', ['age'])
    """

    text: str
    """As it stands in the schema."""
    schema: Schema
    """The schema that the names in it are from."""
    kind: Kind
    """What is computed."""
    ref: Ref | None
    """The attribute that is added up, compared, or copied from the member in a role."""
    condition: Condition | None
    """Of which people; None for all."""

    @staticmethod
    def parse(text: str, schema: Schema) -> Formula:
        """Read a formula; a mistake in it is a SchemaError."""
        reader = Reader(text, schema)
        kind: Kind = "role"
        ref: Ref | None = None
        condition: Condition | None = None
        if text.strip() in ("count", schema.count):
            return Formula(text=text, schema=schema, kind="count", ref=None, condition=None)
        found = [one for one in KINDS if re.match(rf"\s*{one}\s*\(", text)]
        if found:
            kind = found[0]
            reader.word(kind)
            reader.symbol("(")
            if kind in ("count", "any"):
                condition = reader.condition()
            else:
                ref = reader.needed_ref()
                if reader.word("where"):
                    condition = reader.condition()
            reader.close()
        else:
            call = re.match(r"\s*(\w+)\s*\(", text)
            if call:
                reader.fail(f"{call[1]} is no formula.", did_you_mean(call[1], KINDS))
            ref = reader.needed_ref()
        reader.end()
        formula = Formula(text=text, schema=schema, kind=kind, ref=ref, condition=condition)
        formula._check(reader)
        return formula

    def _check(self, reader: Reader) -> None:
        ref = self.ref
        if self.kind == "role":
            if ref is None or ref.of is None:
                fix = "Write count, any(...), sum(...), min(...), max(...) or ROLE.ATTRIBUTE."
                reader.fail("nothing is computed from the members.", fix)
            if self._limits(ref.of)[1] > 1:
                what = f"a group may have several members in the role {ref.of}."
                reader.fail(what, f"Write max({ref.name} where ...), or count(...).")
            return
        if ref is not None:
            if ref.level != "individual" or ref.of is not None:
                what = f"{whose(ref)} is not an attribute of every member."
                known = ", ".join(self.schema.individual_attributes)
                reader.fail(what, f"Name one of {known}.")
            if not has_numbers(attribute_of(self.schema, ref)):
                reader.fail(f"{ref.name} has no numbers.", "Use count(...) or any(...).")
        if self.condition is None:
            return
        if any(isinstance(atom, Nobody) for atom in atoms(self.condition, inside=False)):
            reader.fail("a condition on members is about nobody.", "Use count or any.")
        named = refs(self.condition)
        for one in named:
            if one.of is not None:
                what = f"{whose(one)} is about one member, and {self.kind} about all."
                reader.fail(what, f"Write {one.name}, or `{one.of}.{one.name}` alone.")
            if one.level == "group" and isinstance(attribute_of(self.schema, one).derived, str):
                what = f"{one.name} is computed by a formula itself."
                reader.fail(what, "Name attributes that are not.")
        if not any(one.level in ("individual", "role") for one in named):
            what = "the condition says nothing about a person."
            reader.fail(what, f"Name an attribute of {self.schema.individual.table}.")

    @property
    def role(self) -> str | None:
        """The role whose attribute it copies."""
        return self.ref.of if self.kind == "role" and self.ref else None

    @property
    def refs(self) -> tuple[Ref, ...]:
        """The attributes that it depends on."""
        own = (self.ref,) if self.ref is not None else ()
        return tuple(dict.fromkeys((*own, *(refs(self.condition) if self.condition else ()))))

    @cached_property
    def cells(self) -> Cells | None:
        """For which cells of codes people surely count, and for which they may; None for all."""
        return None if self.condition is None else cells_of(self.condition, self.schema)

    def compute(self, values: GroupValues, target: Attribute) -> Column:
        """The column of an attribute, (groups,): codes if it lists its values, numbers if not.

        A count beyond the last value is the last value, which means "or more".
        """
        if self.kind == "role":
            return self._copied(values, target)
        numbers = self._numbers(values)
        if isinstance(target, Numeric):
            return numbers
        listed = np.array([float(value) for value in target.values])
        if self.kind == "count":
            numbers = np.minimum(numbers, listed.max())
        return _codes(numbers, listed)

    def _numbers(self, values: GroupValues) -> Floats:
        rows = person_rows(self.schema, values)
        chosen = np.ones(len(rows.groups), np.bool_)
        if self.condition is not None:
            chosen = holds(self.condition, rows)
        if self.ref is None:
            counts = np.bincount(rows.groups[chosen], minlength=values.groups)
            return (counts > 0 if self.kind == "any" else counts).astype(np.float64)
        numbers = quantities(rows.column(self.ref), attribute_of(self.schema, self.ref))
        chosen &= ~np.isnan(numbers)
        owners, numbers = rows.groups[chosen], numbers[chosen]
        if self.kind == "sum":
            return np.bincount(owners, numbers, minlength=values.groups).astype(np.float64)
        found = np.full(values.groups, np.nan)
        (np.fmin if self.kind == "min" else np.fmax).at(found, owners, numbers)
        return found

    def _copied(self, values: GroupValues, target: Attribute) -> Column:
        ref = self.ref
        assert ref is not None and ref.of is not None  # noqa: S101, PT018  (it was checked)
        source = attribute_of(self.schema, ref)
        rows = member_rows(self.schema, values, (ref.of,))
        column = rows.column(ref)
        if isinstance(target, Categorical):
            assert isinstance(source, Categorical)  # noqa: S101  (it was checked)
            blank = len(target.values)
            same = [list(target.values).index(value) for value in source.values]
            codes = np.full(values.groups, blank)
            codes[rows.groups] = np.array([*same, blank])[column]
            return codes
        numbers = np.full(values.groups, np.nan)
        numbers[rows.groups] = as_numbers(column, source)
        return numbers

    def _limits(self, role: str) -> tuple[int, int]:
        roles = self.schema.roles
        assert roles is not None  # noqa: S101  (a reference to a role)
        return roles.limits(self.schema.max_size)[roles.names.index(role)]

    @property
    def may_be_blank(self) -> bool:
        """Whether there can be nothing to compute it from."""
        if self.ref is None or self.kind == "sum":
            return False
        source = attribute_of(self.schema, self.ref)
        if self.ref.of is not None:
            return source.missing or self._limits(self.ref.of)[0] == 0
        return source.missing or has_codes(source) or self.condition is not None

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest number that it can be; special codes do not count."""
        sizes = self.schema.sizes
        if self.ref is None:
            least = sizes[0] if self.condition is None else 0
            return (0, 1) if self.kind == "any" else (least, sizes[-1])
        source = attribute_of(self.schema, self.ref)
        if not has_numbers(source):
            return math.nan, math.nan
        numbers = source.bins if isinstance(source, Numeric) else [float(v) for v in source.values]
        low, high = min(numbers), max(numbers)
        return (
            (min(0, low * sizes[-1]), max(0, high * sizes[-1]))
            if self.kind == "sum"
            else (low, high)
        )

    def domain(self) -> Attribute:
        """What the attribute can hold, where the schema does not say."""
        low, high = self.bounds
        if self.kind == "sum":
            self._fail("a sum needs bins.", f"Add `bins: [{low:g}, ..., {high:g}]`.")
        if self.ref is not None:
            source = attribute_of(self.schema, self.ref)
            return replace(source, missing=self.may_be_blank, derived=self.text)
        values = [False, True] if self.kind == "any" else range(int(low), int(high) + 1)
        return Categorical(values=values, derived=self.text)

    def _fail(self, what: str, fix: str) -> NoReturn:
        what = f"in {shown(self.text, most=80)}, {what}"
        raise SchemaError("formula", [Problem(where="", what=what, fix=fix)])

    def check_target(self, target: Attribute) -> None:
        """Refuse an attribute that cannot hold what is computed."""
        if self.may_be_blank and not target.missing:
            what = "the result can be blank."
            if self.role is not None and self._limits(self.role)[0] == 0:
                what = f"a group without a {self.role} has a blank here."
            self._fail(what, "Add `missing: true`.")
        if isinstance(target, Numeric):
            self._check_bins(target)
        elif self.kind == "any":
            if target.kind == "text" or sorted(map(float, target.values)) != [0, 1]:
                what = f"the result is true or false, and the values are {_listed(target.values)}."
                self._fail(what, "Write `values: [false, true]` or `values: [0, 1]`.")
        elif self.kind == "count":
            self._check_counts(target)
        else:
            self._check_values(target)

    def _check_bins(self, target: Numeric) -> None:
        if self.kind == "any":
            self._fail("the result is true or false.", "Write `values: [false, true]`.")
        source = attribute_of(self.schema, self.ref) if self.ref is not None else None
        if source is not None and not has_numbers(source):
            self._fail("the result is no number.", "List its `values` instead of bins.")
        low, high = self.bounds
        if low < target.bins[0] or high > target.bins[-1]:
            what = f"the result can be {low:g} to {high:g}, beyond the bins {target.bins[0]:g} to "
            self._fail(f"{what}{target.bins[-1]:g}.", "Widen the bins.")
        if self.role is not None and isinstance(source, Numeric):
            for one in source.special:
                if one not in target.special and is_code(one, target):
                    self._fail(f"the result can be {one}.", f"Add it to `special: [{one}]`.")
        whole = source is None or (isinstance(source, Numeric) and source.integer)
        if isinstance(source, Categorical):
            whole = all(float(value).is_integer() for value in source.values)
        if target.integer and not whole:
            self._fail("the result need not be a whole number.", "Remove `integer: true`.")

    def _check_counts(self, target: Categorical) -> None:
        if target.kind != "number":
            what = f"the result is a number, and the values are {_listed(target.values)}."
            self._fail(what, "List whole numbers; the last means `or more`.")
        low, high = self.bounds
        last = max(float(value) for value in target.values)
        for number in range(int(low), int(min(high, last)) + 1):
            if number not in target.values:
                self._fail(
                    f"the result can be {number}, which is not listed.", "Add it to `values`."
                )
        if last < low:
            self._fail(f"the result is at least {low}.", "List whole numbers up to the largest.")

    def _check_values(self, target: Categorical) -> None:
        source = attribute_of(self.schema, self.ref) if self.ref is not None else None
        if self.kind == "sum" or not isinstance(source, Categorical):
            self._fail("the result is a number without a list of values.", "Give `bins` instead.")
        known = [(type(value) is bool, value) for value in target.values]
        for value in source.values:
            if (type(value) is bool, value) not in known:
                self._fail(f"the result can be {shown(value)}.", "Add it to `values`.")


def _codes(numbers: Floats, listed: Floats) -> Column:
    """Numbers as codes of listed values; blank is the code after the last."""
    order = np.argsort(listed)
    places = np.searchsorted(listed[order], numbers)
    codes = np.append(order, len(listed))[np.minimum(places, len(listed))]
    return np.where(np.isnan(numbers), len(listed), codes)


def _listed(values: Sequence[Value]) -> str:
    return shown(list(values), most=40)
