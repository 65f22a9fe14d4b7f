"""Which marginals get more of the budget: those that say what makes a household; public."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

from kinfolk.queries.added_marginals import coarse_marginal, is_roles
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
AMOUNTS = 7
"""to large bins of a number of the group, or its size, with a number that some members have;"""
SIZE_NUMBERS = 40
"""to the size with a number that everybody has;"""
OF_ROLES = 16
"""to what members of each role are like,"""
OF_FEW, FEW = 64, 3
"""so many times where that has hardly any categories, such as the sex,"""
ROLE_NUMBERS = 64
"""so many times where that is a number that everybody has;"""
OF_SIZES = 48
"""to how many members there are of each role in groups of each size;"""
BY_SIZE = 12
"""to one other attribute of the group with its size,"""
BY_NUMBER = 24
"""to one other attribute of a person with a number that everybody has,"""
OF_A_PERSON = 12
"""to other pairs of attributes of one person,"""
WITHIN = 4
"""to larger sets of these, of which there are many, and to sets of the group's own attributes: what
cannot be in a single record is noticed first;"""
BY_ITSELF = 12
"""and to a single attribute, where the budget is too small for more of them."""


def priority(schema: Schema, marginal: Marginal) -> Fraction:
    """How much more of the budget a marginal gets than others of its level; public.

    Who is who, what relatives have in common, and what members have of what the group has, makes a
    household: with the noise of all the other marginals little of it would be left. There are few
    such marginals, so that little is taken from the rest. What the user wants comes on top of it.
    """
    return Fraction(_usual(schema, marginal)[0]) * _wanted(schema, marginal)


def comes_ahead(schema: Schema, marginal: Marginal) -> bool:
    """Whether a marginal is bought at any budget and learnt before others.

    What makes a household, and what the user wants more than a little.
    """
    if order_of(marginal) == 1:
        return is_roles(schema, marginal)
    times, ahead = _usual(schema, marginal)
    wanted = _wanted(schema, marginal)
    return ahead or (wanted > 1 and times * wanted > IN_DETAIL)


def _usual(schema: Schema, marginal: Marginal) -> tuple[int, bool]:
    """How many times the budget of others it gets, and whether it makes a household."""
    if order_of(marginal) == 1:
        return 1, False
    members = list(schema.individual_attributes.values())
    own = [members[at] for at in marginal.individual if at < len(members)]
    everybodys = all(map(is_everybodys, own))
    if marginal.relation is not None:
        if marginal.individual != marginal.relative:
            return 1, False
        if not marginal.coarse and coarse_marginal(schema, marginal) is not None:
            return IN_DETAIL, False
        return (EVERYBODYS if everybodys else IN_COMMON), True
    of_size = marginal.group == (len(schema.group_attributes),)
    if marginal.coarse:
        if everybodys:
            return (SIZE_NUMBERS, True) if of_size else (1, False)
        return AMOUNTS, True
    of_role = len(members) in marginal.individual
    by_size = len(schema.group_attributes) in marginal.group
    if marginal.group:
        if of_size and of_role and not own:
            return OF_SIZES, True
        if marginal.individual:
            return 1, False
        return (BY_SIZE if by_size and len(marginal.group) == 2 else WITHIN), False
    if not of_role:
        if len(own) > 2:
            return WITHIN, False
        return (BY_NUMBER, True) if any(map(is_everybodys, own)) else (OF_A_PERSON, False)
    if everybodys:
        return ROLE_NUMBERS, True
    return (OF_FEW if all(one.size <= FEW for one in own) else OF_ROLES), True


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
