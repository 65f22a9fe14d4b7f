"""Groups are identical if everything agrees but the order of their members."""

from __future__ import annotations

import numpy as np

from evaluate.families import FAMILIES, families
from kinfolk.data.encode import encode
from kinfolk.evaluate.groups import bootstrap_resample, halves, identities


def test_identities_are_those_of_sorted_members() -> None:
    one, other = encode(FAMILIES, families(seed=1)), encode(FAMILIES, families(seed=2))
    numbers = [identities(one), identities(other)]
    keys = []
    for data in (one, other):
        assert data.role is not None
        for g in range(data.groups):
            members = range(data.offsets[g], data.offsets[g + 1])
            people = sorted((*data.individual[i].tolist(), int(data.role[i])) for i in members)
            keys.append((*data.group[g].tolist(), *people))
    found = np.concatenate(numbers).tolist()
    assert len(set(keys)) == len(set(found)) == len(set(zip(keys, found, strict=True)))
    assert len(set(keys)) < len(keys), "no two groups are alike: nothing was tested"


def test_the_order_of_members_does_not_matter() -> None:
    tables = families()
    people = tables["people"]
    turned = {**tables, "people": people.take(np.arange(people.num_rows)[::-1])}
    one, other = (identities(encode(FAMILIES, given)) for given in (tables, turned))
    assert one.tolist() == other.tolist()


def test_halves_and_the_second_survey_are_made_of_the_real_groups() -> None:
    data = encode(FAMILIES, families(61))
    first, second = map(data.take, halves(data.groups))
    surveys = (data, first, second, bootstrap_resample(data))
    whole, one, other, again = map(identities, surveys)
    assert (len(one), len(other), len(again)) == (31, 30, 61)
    assert sorted([*one, *other]) == sorted(whole)
    assert set(again) < set(whole)
