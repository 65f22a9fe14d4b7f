"""A mixture's answers equal full enumeration of possible groups; its gradients, differences."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from generators import part
from kinfolk.data.encoded import Encoded
from kinfolk.models.engine.plan import Plan
from kinfolk.models.engine.selection import Selection
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.queries.counting import count
from kinfolk.queries.sensitivity import workload_weights
from kinfolk.queries.workload import Workload
from models.listed import all_groups, tiny_schemas


def group_probability(model: HPD, data: Encoded, g: int) -> float:
    """How likely the model draws exactly this group, members in their order."""
    layout = model.layout
    rows = range(data.offsets[g], data.offsets[g + 1])
    roles = [0 if data.role is None else int(data.role[i]) for i in rows]
    number = len(layout.schema.compositions[0])
    composition = tuple(roles.count(role) for role in range(number))
    position = layout.schema.compositions.index(composition)
    chance = model.composition[position].copy()
    for attribute, code in enumerate(data.group[g]):
        chance *= model.group[layout.group_offsets[attribute] + code]
    # Members of a role take its slots in order, each slot as many as the composition draws.
    slots = [slot for slot in range(layout.slots) for _ in range(int(layout.mult[position, slot]))]
    for slot, i in zip(slots, rows, strict=True):
        assert layout.slot_roles[slot] == roles[i - rows[0]]
        for attribute, code in enumerate(data.individual[i]):
            chance *= model.individual[slot, layout.individual_offsets[attribute] + code]
    return float(chance.mean())


@settings(deadline=None, max_examples=40)
@given(schema=tiny_schemas(), seed=st.integers(0, 999), weighted=st.booleans())
def test_answers_equal_enumeration(schema: object, seed: int, weighted: bool) -> None:
    workload = Workload.of(schema)  # type: ignore[arg-type]
    weights = workload_weights(workload) if weighted else None
    model = HPD.random(Layout.of(workload.schema), 3, np.random.default_rng(seed))
    groups = all_groups(workload.schema)
    chances = [group_probability(model, groups, g) for g in range(groups.groups)]
    assert sum(chances) == pytest.approx(1)
    expected = np.zeros(workload.size)
    for g, chance in enumerate(chances):
        expected += chance * count(part(groups, g, g + 1), workload, weights=weights)
    scale = 2520 if weighted else 1
    rates = model.rates(workload, weights=weights)
    np.testing.assert_allclose(rates / scale, expected / scale, atol=1e-9)
    numbers = list(range(0, workload.size, max(1, workload.size // 20)))
    chosen = Selection.of(model.layout, workload, numbers, weights=weights)
    np.testing.assert_allclose(model.rates(chosen) / scale, expected[numbers] / scale, atol=1e-9)


@settings(deadline=None, max_examples=25)
@given(schema=tiny_schemas(), seed=st.integers(0, 999))
def test_gradients_equal_differences(schema: object, seed: int) -> None:
    workload = Workload.of(schema)  # type: ignore[arg-type]
    rng = np.random.default_rng(seed)
    layout = Layout.of(workload.schema)
    logits = rng.standard_normal((layout.rows, 3))
    numbers = rng.choice(workload.size, size=min(9, workload.size), replace=False).tolist()
    for asked in (Plan.of(layout, workload), Selection.of(layout, workload, numbers)):
        model = HPD.from_logits(layout, logits)
        answers = model.answer(asked)
        pull = rng.standard_normal(len(answers))
        gradient = model.logits_gradient(model.answer_gradient(asked, answers, pull))
        for _ in range(4):
            row, component = rng.integers(layout.rows), rng.integers(3)
            found = []
            for step in (1e-5, -1e-5):
                moved = logits.copy()
                moved[row, component] += step
                found.append(float(pull @ HPD.from_logits(layout, moved).answer(asked)))
            difference = (found[0] - found[1]) / 2e-5
            assert gradient[row, component] == pytest.approx(difference, rel=1e-4, abs=1e-7)
