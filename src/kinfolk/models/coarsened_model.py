"""Questions answered by a model, exactly: also where an attribute may have several values.

"At least one person aged 0 to 4 or 5 to 11" is no sum of cells. But inside a component all
attributes are independent, so a mixture over all attributes is also one over two categories, those
who meet all conditions and those who do not: once for the group, once for the person, and once for
the relative. That model is as exact as the large one, and small whatever is asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from kinfolk.models.histogram import Histogram
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.models.mixture.prepared import Prepared
from kinfolk.models.universe_kernel import LEVELS, contributions
from kinfolk.queries.questions import Conditions, Question
from kinfolk.queries.workload import Marginal, Workload
from kinfolk.schema import Categorical, Level, Schema, WorkloadSpec

Floats = npt.NDArray[np.float64]


class CoarsenedModel:
    """Questions prepared for models of one layout.

    >>> from kinfolk.datasets import load_schema
    >>> layout = Layout.of(load_schema("acs-red"))
    >>> model = HPD.random(layout, components=5, rng=np.random.default_rng(1))
    >>> everybody = Question(schema=layout.schema, level="individual", individual={0: (0, 1)})
    >>> CoarsenedModel(layout, [everybody]).answer(model.probabilities).round(6).tolist()
    [1.0]
    """

    def __init__(self, layout: Layout, questions: Sequence[Question]) -> None:
        self._layout, self._questions = layout, questions
        self._narrow = Layout(schema=_narrow(layout.schema), scheme=layout.scheme)
        kinds = dict.fromkeys((question.level, question.relation) for question in questions)
        self._blocks = {kind: self._block(*kind) for kind in kinds}

    def answer(self, probabilities: npt.NDArray[np.floating]) -> Floats:
        """The shares, (questions,), by a model with these probabilities, (rows, K)."""
        table = np.asarray(probabilities, np.float64)
        return np.array([self._share(table, one) for one in self._questions], np.float64)

    def _block(self, level: Level, relation: str | None) -> tuple[Marginal, Prepared]:
        """All cells of: the group, its size, a person, and at the relation level a relative."""
        schema = self._narrow.schema
        marginal = Marginal(
            level=level,
            relation=relation,
            group=(0, 1) if schema.group else (),
            individual=(0,),
            relative=(1,) if relation else (),
            shape=(
                *((2, len(schema.sizes)) if schema.group else ()),
                *((2, 2) if relation else (2,)),
            ),
        )
        workload = Workload(schema=schema, marginals=(marginal,))
        return marginal, Prepared.of(self._narrow, workload)

    def _share(self, table: Floats, question: Question) -> float:
        marginal, prepared = self._blocks[question.level, question.relation]
        model = HPD(layout=self._narrow, probabilities=self._met(table, question))
        cells = model.answer(prepared).reshape(marginal.shape)
        if question.schema.group is None:
            return float(cells[0])
        sizes = question.group.get(len(question.schema.group_attributes), slice(None))
        return float(cells[0, sizes, 0].reshape(-1, 2 if question.relation else 1)[:, 0].sum())

    def _met(self, table: Floats, question: Question) -> Floats:
        """(narrow rows, K) the small model's probabilities, from those of the large one."""
        layout, schema = self._layout, question.schema
        parts = [table[: layout.group_start]]
        if schema.group is not None:
            group = table[None, layout.group_start : layout.kind_start]
            own = {at: c for at, c in question.group.items() if at < len(schema.group_attributes)}
            parts.append(_meeting(group, layout.group_offsets, own)[0])
        model = HPD(layout=layout, probabilities=table)
        offsets = layout.individual_offsets
        conditions = (question.individual, question.relative)
        people = np.asarray(model.individual, np.float64)
        members = [_of_slots(model, _meeting(people, offsets, c)) for c in conditions]
        role = offsets[len(schema.individual_attributes)]
        # The roles of a slot are those of its first kind of people.
        members.append(people[layout.kind_starts[:-1], role:])
        parts.append(np.concatenate(members, axis=1).reshape(-1, table.shape[1]))
        return np.ascontiguousarray(np.concatenate(parts))


def _of_slots(model: HPD, kinds: Floats) -> Floats:
    """(slots, 2, K) from (kinds, 2, K): the mean over the kinds of people of each slot."""
    weighted = kinds * model.kinds[:, None]
    return np.add.reduceat(weighted, model.layout.kind_starts[:-1], axis=0)


def _meeting(table: Floats, offsets: Sequence[int], conditions: Conditions) -> Floats:
    """(kinds, 2, K) how likely all conditions are met, or not. table: (kinds, rows, K)."""
    likely = np.ones((len(table), table.shape[2]))
    for position, codes in conditions.items():
        rows = [offsets[position] + code for code in codes]
        likely *= np.minimum(table[:, rows].sum(axis=1), 1)
    return np.stack([likely, 1 - likely], axis=1)


def _narrow(schema: Schema) -> Schema:
    """The same groups, of whom is only known who meets the conditions."""
    met = Categorical(values=[True, False])
    return replace(
        schema,
        group=schema.group
        and replace(schema.group, id="id", attributes={"group": met}, weight=None),
        individual=replace(
            schema.individual,
            group_id=schema.individual.group_id and "id",
            attributes={"person": met, "relative": met},
        ),
        roles=schema.roles and replace(schema.roles, column="role"),
        count="size",
        workload=WorkloadSpec(k=1, relation_counts=schema.workload.relation_counts),
        never=(),
    )


def answer_listed(model: Histogram, questions: Sequence[Question]) -> Floats:
    """The shares, (questions,), by a model that lists all groups."""
    return np.array([_listed_share(model, question) for question in questions], np.float64)


def _listed_share(model: Histogram, question: Question) -> float:
    universe, schema = model.universe, model.schema
    kinds = np.ones(universe.group_cells, np.bool_)
    casts = np.ones(universe.casts, np.bool_)
    for position, codes in question.group.items():
        if position == len(schema.group_attributes):
            casts &= np.isin(universe.sizes, [schema.sizes[code] for code in codes])
        else:
            kinds &= np.isin(universe.group_codes[:, position], codes)
    own, relative = (
        np.logical_and.reduce(
            [np.isin(universe.person_codes[:, at], codes) for at, codes in part.items()]
            or [np.ones(len(universe.person_codes), np.bool_)]
        )
        for part in (question.individual, question.relative)
    )
    marginal = Marginal(
        level=question.level,
        relation=question.relation,
        group=(),
        individual=(),
        relative=(),
        shape=(),
    )
    added = contributions(
        universe.members,
        universe.composition,
        universe.composition_sizes,
        universe.roles,
        LEVELS[question.level],
        -1,
        own,
        relative,
        universe.ties(marginal),
    )
    rate = float((added * casts) @ model.probabilities @ kinds)
    return rate if question.level == "group" else rate / model.mean_size()
