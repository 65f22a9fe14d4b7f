"""What a condition on groups allows before anything is drawn, against households one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kinfolk.data.columns import number_codes
from kinfolk.errors import KinfolkError
from kinfolk.schema import Numeric, Schema
from kinfolk.schema.where import Where
from schema.obvious_rules import ROLE, broken, written
from schema.ruled import as_values, homes, ruled_schemas, rules


def allowed(where: Where, schema: Schema, found: list[dict]) -> np.ndarray:
    """Which households are as the factors say."""
    names = schema.roles.names if schema.roles else None
    compositions = []
    for home in found:
        roles = [one[ROLE] for one in home["members"]]
        counts = tuple(roles.count(name) for name in names) if names else (len(roles),)
        compositions.append(schema.compositions.index(counts))
    columns = as_values(schema, found).group
    codes = [
        number_codes(columns[name], one) if isinstance(one, Numeric) else columns[name]
        for name, one in schema.group_attributes.items()
    ]
    kept = np.ones(len(found), np.bool_)
    for factor in where.factors:
        first = compositions if len(factor.allowed) > 1 else [0] * len(found)
        kept &= factor.allowed[(first, *(codes[at].astype(int) for at in factor.attributes))]
    return kept


@settings(max_examples=50)
@given(data=st.data())
def test_no_household_that_is_wanted_is_ruled_out(data: st.DataObject) -> None:
    """And none that is not wanted is let in where nothing else is looked at."""
    schema = data.draw(ruled_schemas())
    condition, roles = data.draw(rules(schema))
    text = written(schema, condition)
    where, refusal = None, ""
    try:
        where = Where.parse(text, schema)
    except KinfolkError as error:
        refusal = str(error)
    assume("whole groups are chosen" not in refusal)
    found = data.draw(homes(schema))
    assume(found)
    wanted = np.array([broken(schema, condition, roles, home) for home in found])
    if where is None:
        assert "no group can be" in refusal
        assert not wanted.any()
        return
    # With `or` at the top, one side may be about members and the other about the group alone.
    chosen = where.chosen(as_values(schema, found))
    assert (chosen >= wanted).all()
    if len(where.alternatives) == 1:
        assert np.array_equal(chosen, wanted)
    kept = allowed(where, schema, found)
    assert (kept >= chosen).all()
    if where.exact:
        assert np.array_equal(kept, chosen)
