"""Which marginals get more of the budget: those that say what makes a household; public."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

from kinfolk.queries.added_marginals import coarse_marginal
from kinfolk.queries.workload import Marginal, order_of
from kinfolk.schema import Schema
from kinfolk.schema.bins import is_everybodys
from kinfolk.schema.names import AttributeNames

IN_COMMON = 40
"""How many times the budget of others goes to the same attribute of two relatives (of numbers with
many bins, to their large bins;"""
IN_DETAIL = 4
"""to the bins themselves so many times),"""
EVERYBODYS = 300
"""to a number that everybody has, such as the age, so many times: couples and generations show in
it more than in anything else;"""
AMOUNTS = 14
"""to large bins of a number of the group, or its size, with a number that some members have;"""
SIZE_NUMBERS = 40
"""to the size with a number that everybody has;"""
OF_ROLES = 12
"""to what members of each role are like,"""
OF_FEW, FEW = 48, 3
"""so many times where that has hardly any categories, such as the sex,"""
ROLE_NUMBERS = 24
"""so many times where that is a number that everybody has;"""
OF_SIZES = 24
"""to how many members there are of each role in groups of each size;"""
WITHIN = 4
"""to other sets of attributes of one person, or of the group, alone: what cannot be in a single
record is noticed first;"""
BY_ITSELF = 12
"""and to a single attribute, where the budget is too small for more of them."""


def priority(schema: Schema, marginal: Marginal) -> Fraction:
    """How much more of the budget a marginal gets than others of its level; public.

    Who is who, what relatives have in common, and what members have of what the group has, makes a
    household: with the noise of all the other marginals little of it would be left. There are few
    such marginals, so that little is taken from the rest. What the user wants comes on top of it.
    """
    return Fraction(_usual(schema, marginal)) * _wanted(schema, marginal)


def comes_ahead(schema: Schema, marginal: Marginal) -> bool:
    """Whether a marginal is bought at any budget and learnt before others: it is known better."""
    return order_of(marginal) > 1 and priority(schema, marginal) > max(IN_DETAIL, WITHIN)


def _usual(schema: Schema, marginal: Marginal) -> int:
    if order_of(marginal) == 1:
        return 1
    members = list(schema.individual_attributes.values())
    if marginal.relation is not None:
        if marginal.individual != marginal.relative:
            return 1
        if not marginal.coarse and coarse_marginal(schema, marginal) is not None:
            return IN_DETAIL
        own = [members[at] for at in marginal.individual]
        return EVERYBODYS if all(map(is_everybodys, own)) else IN_COMMON
    if marginal.coarse:
        size = marginal.group == (len(schema.group_attributes),)
        own = [members[at] for at in marginal.individual]
        if all(map(is_everybodys, own)):
            return SIZE_NUMBERS if size else 1
        return AMOUNTS
    if marginal.group:
        if marginal.group == (len(schema.group_attributes),) and marginal.individual == (
            len(members),
        ):
            return OF_SIZES
        return 1 if marginal.individual else WITHIN
    if len(members) not in marginal.individual:
        return WITHIN
    own = [members[at] for at in marginal.individual if at < len(members)]
    if all(map(is_everybodys, own)):
        return ROLE_NUMBERS
    return OF_FEW if all(one.size <= FEW for one in own) else OF_ROLES


def _wanted(schema: Schema, marginal: Marginal) -> Fraction:
    """What the schema's own priorities make of it: a factor."""
    wanted = schema.workload.priorities
    if not wanted:
        return Fraction(1)
    names = AttributeNames(schema)
    named = Counter(marginal.group)
    named.update(names.first_individual + at for at in (*marginal.individual, *marginal.relative))
    found = [
        Fraction(str(one.times))
        for one in wanted
        if one.relation in (None, marginal.relation)
        and Counter(map(names.find, one.attributes)) <= named
    ]
    return math.prod(found, start=Fraction(1))
