"""Marginals that a method asks for beside those of the workload.

Of fewer attributes, of the groups' sizes, of numbers on their own, and of numbers counted coarsely.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

from kinfolk.queries.workload import Marginal, Workload, order_of
from kinfolk.schema import Level, Numeric, Schema
from kinfolk.schema.bins import FineAttributes, coarse_size, finer, is_coarser
from kinfolk.schema.totals import Totals


def parts_of(marginal: Marginal) -> Iterator[Marginal]:
    """All marginals over some of its attributes; a relation needs one of the relative's."""
    group, own = len(marginal.group), len(marginal.group) + len(marginal.individual)
    named = (*marginal.group, *marginal.individual, *marginal.relative)
    for number in range(1, order_of(marginal)):
        for kept in itertools.combinations(range(len(named)), number):
            relative = tuple(named[at] for at in kept if at >= own)
            if marginal.relation is not None and not relative:
                continue
            yield replace(
                marginal,
                group=tuple(named[at] for at in kept if at < group),
                individual=tuple(named[at] for at in kept if group <= at < own),
                relative=relative,
                shape=tuple(marginal.shape[at] for at in kept),
            )


def with_lower_orders(workload: Workload) -> Workload:
    """The workload, followed by every marginal that follows from one of its own by adding up.

    >>> from kinfolk import load_schema
    >>> asked = Workload.of(load_schema("acs-red"), k=2, attributes=["FARM", "SEX", "AGE"])
    >>> [order_of(marginal) for marginal in with_lower_orders(asked).marginals]
    [2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 1]
    """
    lower = {part: None for marginal in workload.marginals for part in parts_of(marginal)}
    for marginal in workload.marginals:
        lower.pop(marginal, None)
    ordered = sorted(lower, key=order_of, reverse=True)
    return replace(workload, marginals=(*workload.marginals, *ordered))


def is_sizes(schema: Schema, marginal: Marginal) -> bool:
    """Whether a marginal says how many groups there are of each size, and nothing else.

    Not how many people live in groups of each size, which small budgets buy with far more noise.
    """
    named = (marginal.group, marginal.individual, marginal.relative)
    return marginal.level is Level.GROUP and named == ((len(schema.group_attributes),), (), ())


def is_roles(schema: Schema, marginal: Marginal) -> bool:
    """Whether a marginal says how many members there are of each role, and nothing else."""
    role = len(schema.individual_attributes)
    named = (marginal.group, marginal.individual, marginal.relative)
    return schema.roles is not None and named == ((), (role,), ())


def with_sizes(workload: Workload) -> Workload:
    """The workload, followed by the marginal of the groups' sizes if it does not have it.

    >>> from kinfolk import load_schema
    >>> asked = Workload.of(load_schema("acs-red"), k=1, attributes=["SEX"])
    >>> with_sizes(asked).marginals[-1].shape
    (3,)
    """
    schema = workload.schema
    known = any(is_sizes(schema, one) for one in workload.marginals)
    if known or len(schema.sizes) == 1:
        return workload
    size = (len(schema.group_attributes),)
    marginal = Marginal(level=Level.GROUP, group=size, shape=(len(schema.sizes),))
    return replace(workload, marginals=(*workload.marginals, marginal))


def with_numbers(workload: Workload) -> Workload:
    """The workload, followed by every number of the schema whose bins do not say it all.

    Of a group's numbers groups are counted, of an individual's individuals: first all of them by
    bins, then all of them by cells.

    >>> from kinfolk import load_schema
    >>> asked = Workload.of(load_schema("acs"), k=1, attributes=["SEX"])
    >>> [one.shape for one in with_numbers(asked).marginals if one.alone]
    [(10,), (103,)]
    """
    fine = FineAttributes.of(workload.schema)
    names = [(Level.GROUP, name) for name in fine.group]
    names += [(Level.INDIVIDUAL, name) for name in fine.individual]
    found = [
        number_marginal(workload.schema, *one, fine=how) for how in (False, True) for one in names
    ]
    return replace(workload, marginals=(*workload.marginals, *found))


def with_coarse(workload: Workload) -> Workload:
    """The workload, followed by what says how numbers go together, counted coarsely.

    The same number of two relatives, and a number of the group, or its size, with one of its
    members: where the bins are many, their pairs are too many for the noise, and large cells show
    the same.

    >>> from kinfolk import load_schema
    >>> asked = Workload.of(load_schema("acs-rel"), k=2)
    >>> found = with_coarse(asked).marginals[len(asked.marginals):]
    >>> [(one.relation, one.shape) for one in found if one.relation]
    [('married_to', (9, 9)), ('has_child', (9, 9)), ('has_parent', (9, 9))]
    """
    schema = workload.schema
    weight = schema.group and schema.group.weight
    own = [
        isinstance(one, Numeric) and not one.derived and name != weight
        for name, one in schema.group_attributes.items()
    ]
    members = [isinstance(one, Numeric) for one in schema.individual_attributes.values()]
    found: list[Marginal] = []
    for marginal in workload.marginals:
        if marginal.alone or order_of(marginal) != 2:
            continue
        alike = bool(marginal.individual) and marginal.individual == marginal.relative
        amounts = (
            bool(marginal.group and marginal.individual)
            and [*own, True][marginal.group[0]]
            and [*members, False][marginal.individual[0]]
        )
        if (alike or amounts) and (coarse := coarse_marginal(schema, marginal)) is not None:
            found.append(coarse)
    return replace(workload, marginals=(*workload.marginals, *found))


def with_totals(workload: Workload) -> Workload:
    """The workload, followed by what groups have of every amount (`schema.totals`).

    How much all of them have, amount by amount; and how many groups are in each pair of bands: of
    the group's largest amount, and of what its members have together.

    >>> from kinfolk import load_schema
    >>> asked = Workload.of(load_schema("detroit"), k=1, attributes=["sex"])
    >>> [(one.total, one.shape) for one in with_totals(asked).marginals if one.total]
    [('sum', (1,))]
    """
    totals = Totals(schema=workload.schema)
    found = [total_marginal(workload.schema, one.level, one.positions) for one in totals.sums]
    if totals.joint is not None:
        found.append(bands_marginal(workload.schema))
    return replace(workload, marginals=(*workload.marginals, *found))


def total_marginal(schema: Schema, level: Level, positions: tuple[int, ...]) -> Marginal:
    """How much all groups have of one amount; ValueError if it is none."""
    if all((one.level, one.positions) != (level, positions) for one in Totals(schema=schema).sums):
        raise ValueError("what is said to be added up is no amount")
    return Marginal(
        level=Level.GROUP,
        group=positions if level is Level.GROUP else (),
        individual=positions if level is Level.INDIVIDUAL else (),
        shape=(1,),
        alone=True,
        total="sum",
    )


def bands_marginal(schema: Schema) -> Marginal:
    """How many groups are in each pair of bands; ValueError if the schema has no such amounts."""
    totals = Totals(schema=schema)
    shape = totals.shape_of_joint()
    assert totals.joint is not None  # noqa: S101  (`shape_of_joint` has seen to it)
    own, members = totals.joint
    return Marginal(
        level=Level.GROUP,
        group=(own,),
        individual=members.positions,
        shape=shape,
        alone=True,
        total="bands",
    )


def coarse_marginal(schema: Schema, marginal: Marginal) -> Marginal | None:
    """The same marginal counted coarsely, where that makes a difference."""
    own = [*schema.group_attributes.values(), None]
    members = [*schema.individual_attributes.values(), None]
    named = [own[at] for at in marginal.group]
    named += [members[at] for at in (*marginal.individual, *marginal.relative)]
    if not any(one is not None and is_coarser(one) for one in named):
        return None
    shape = tuple(
        size if one is None else coarse_size(one)
        for one, size in zip(named, marginal.shape, strict=True)
    )
    return replace(marginal, shape=shape, coarse=True)


def number_marginal(schema: Schema, level: Level, name: str, *, fine: bool) -> Marginal:
    """The marginal of one number, by bins or cells; ValueError if its bins say it all."""
    attributes = schema.group_attributes if level is Level.GROUP else schema.individual_attributes
    computed = level is Level.GROUP and name in schema.formulas
    cells = None if computed else finer(attributes[name])
    if cells is None:
        raise ValueError(f"{name} is no number that is counted on its own")
    position = (list(attributes).index(name),)
    return Marginal(
        level=level,
        group=position if level is Level.GROUP else (),
        individual=position if level is Level.INDIVIDUAL else (),
        shape=(cells.size if fine else attributes[name].size,),
        alone=True,
        fine=fine,
    )
