"""What follows from who the members are: MULTGEN and SFRELATE. No chance is involved here."""

from __future__ import annotations

import numpy as np

from kinfolk.data.simulate.compositions import Members
from kinfolk.data.simulate.draw import Bools, Ints
from kinfolk.data.simulate.kinds import GENERATION, OUTSIDE, Role, is_quarters
from kinfolk.data.simulate.sexes import MALE
from kinfolk.data.simulate.unions import MARRIED, NEVER_MARRIED

NO_SUBFAMILY, REFERENCE, SUBFAMILY_SPOUSE, SUBFAMILY_CHILD = range(4)
DEPENDENT = 18
"""A lone parent and children form a subfamily while a child is younger than this."""


def count_generations(kind: Ints, counts: Ints) -> Ints:
    """MULTGEN: generations of relatives present, 3 for three or more: (households,).

    People in group quarters have none (0).
    """
    family = [generation for generation in np.unique(GENERATION) if generation != OUTSIDE]
    present = [(counts[:, generation == GENERATION] > 0).any(axis=1) for generation in family]
    number: Ints = np.sum(present, axis=0, dtype=np.int64)
    return np.where(is_quarters(kind), 0, np.minimum(number, 3))


def relate_subfamilies(
    members: Members, households: int, age: Ints, sex: Ints, marst: Ints
) -> Ints:
    """SFRELATE of every member: (people,).

    A subfamily is a couple, or a parent with young unmarried children, within a household headed by
    someone else: a child's family, a sibling's, or the head's parents. As in the census, the
    husband is the reference person of a couple.
    """
    role, house, first = members.role, members.household, members.rank == 0
    relation = np.full(len(role), NO_SUBFAMILY, dtype=np.int64)
    husband_first = np.where(sex == MALE, REFERENCE, SUBFAMILY_SPOUSE)
    young = (age < DEPENDENT) & (marst == NEVER_MARRIED)

    def in_houses_with(which: Bools) -> Bools:
        return np.bincount(house[which], minlength=households)[house] > 0

    for parent, spouse, child in (
        (Role.CHILD, Role.CHILD_IN_LAW, Role.GRANDCHILD),
        (Role.SIBLING, Role.SIBLING_IN_LAW, Role.NEPHEW),
    ):
        lead, partner = (role == parent) & first, role == spouse
        offspring = (role == child) & young
        with_lead, with_partner = in_houses_with(lead), in_houses_with(partner)
        relation[lead & in_houses_with(offspring)] = REFERENCE
        couple = partner | (lead & with_partner)
        relation[couple] = husband_first[couple]
        relation[offspring & with_lead] = SUBFAMILY_CHILD
    for elder in (Role.PARENT, Role.PARENT_IN_LAW):
        couple = (role == elder) & (marst == MARRIED)
        relation[couple] = husband_first[couple]
    return relation
