"""Questions answered by a model, exactly: also where an attribute may have several values.

"At least one person aged 0 to 4 or 5 to 11" is no sum of cells. But inside a component all
attributes are independent, so a mixture over all attributes is also one over what is asked of the
group, of the person, and of the relative. That model is as exact as the large one, and small: it
has one category for each different thing that is asked of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from kinfolk._typing import Floats
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.models.mixture.prepared import Prepared
from kinfolk.queries.questions import Conditions, Question
from kinfolk.queries.workload import Marginal, Workload
from kinfolk.schema import Categorical, Schema, WorkloadSpec

CROSSED = 4
"""Questions are answered together if all combinations of what they ask are at most so many times
as many as they are."""
TOGETHER = 512
"""Questions that are answered together, at most."""


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
        self._layout, self._number = layout, len(questions)
        families: dict[tuple[object, ...], list[int]] = {}
        for at, one in enumerate(questions):
            named = map(frozenset, (one.group, one.individual, one.relative))
            families.setdefault((one.level, one.relation, *named), []).append(at)
        self._blocks: list[_Block] = []
        for family in families.values():
            for start in range(0, len(family), TOGETHER):
                self._add(questions, family[start : start + TOGETHER])

    def _add(self, questions: Sequence[Question], places: list[int]) -> None:
        """Some questions together, or each on its own."""
        whole = _Block.of(self._layout, questions, places)
        if whole is not None:
            self._blocks.append(whole)
            return
        middle = len(places) // 2
        self._add(questions, places[:middle])
        self._add(questions, places[middle:])

    def answer(self, probabilities: npt.NDArray[np.floating]) -> Floats:
        """The shares, (questions,), by a model with these probabilities, (rows, K)."""
        table = np.asarray(probabilities, np.float64)
        found = np.empty(self._number)
        for block in self._blocks:
            found[block.places] = block.shares(self._layout, table)
        return found


@dataclass(frozen=True, kw_only=True, eq=False)
class _Block:
    """Questions of one level and relation that are answered by one small model."""

    places: list[int]
    """Which of all questions these are."""
    group: list[Conditions]
    """The different things that are asked of groups, sizes apart, ..."""
    individual: list[Conditions]
    """... of people, ..."""
    relative: list[Conditions]
    """... and of relatives."""
    asked: list[tuple[int, int, int, tuple[int, ...] | None]]
    """Of each question, which of these it asks, and the sizes, by code; None: all."""
    narrow: Layout
    marginal: Marginal
    prepared: Prepared

    @classmethod
    def of(
        cls,
        layout: Layout,
        questions: Sequence[Question],
        places: list[int],
    ) -> _Block | None:
        """The block of some questions, unless it would have to answer many more."""
        size = len(layout.schema.group_attributes)
        group, individual, relative = _Different(), _Different(), _Different()
        asked = []
        for at in places:
            one = questions[at]
            own = {position: codes for position, codes in one.group.items() if position != size}
            parts = group.place(own), individual.place(one.individual), relative.place(one.relative)
            asked.append((*parts, one.group.get(size)))
        shape = len(group.found), len(individual.found), len(relative.found)
        if np.prod(shape) > CROSSED * len(places):
            return None
        first = questions[places[0]]
        marginal = _marginal(layout.schema, first, shape)
        narrow, prepared = _prepared(layout, marginal, shape)
        return cls(
            places=places,
            group=group.found,
            individual=individual.found,
            relative=relative.found,
            asked=asked,
            narrow=narrow,
            marginal=marginal,
            prepared=prepared,
        )

    def shares(self, layout: Layout, table: Floats) -> Floats:
        """(questions of the block,) by a model with these probabilities, (rows, K)."""
        model = HPD(layout=self.narrow, probabilities=self._met(layout, table))
        cells = model.answer(self.prepared).reshape(self.marginal.shape)
        if self.narrow.schema.group is None:
            cells = cells[None, None]
        if not self.marginal.relation:
            cells = cells[..., None]
        return np.array(
            [
                cells[g, slice(None) if sizes is None else list(sizes), i, r].sum()
                for g, i, r, sizes in self.asked
            ]
        )

    def _met(self, layout: Layout, table: Floats) -> Floats:
        """(narrow rows, K) how likely what is asked is, by the probabilities of the large model."""
        schema = layout.schema
        parts = [table[: layout.group_start]]
        if schema.group is not None:
            group = table[None, layout.group_start : layout.kind_start]
            parts.append(_meeting(group, layout.group_offsets, self.group)[0])
        model = HPD(layout=layout, probabilities=table)
        offsets = layout.individual_offsets
        people = np.asarray(model.individual, np.float64)
        members = [
            _of_slots(model, _meeting(people, offsets, conditions))
            for conditions in (self.individual, self.relative)
        ]
        role = offsets[len(schema.individual_attributes)]
        # The roles of a slot are those of its first kind of people.
        members.append(people[layout.kind_starts[:-1], role:])
        parts.append(np.concatenate(members, axis=1).reshape(-1, table.shape[1]))
        return np.ascontiguousarray(np.concatenate(parts))


class _Different:
    """Conditions without repetitions, in the order in which they first came."""

    def __init__(self) -> None:
        self.found: list[Conditions] = []
        self._places: dict[tuple[tuple[int, tuple[int, ...]], ...], int] = {}

    def place(self, conditions: Conditions) -> int:
        """Where they are, from now on."""
        key = tuple(sorted(conditions.items()))
        if key not in self._places:
            self._places[key] = len(self.found)
            self.found.append(conditions)
        return self._places[key]


def _prepared(
    layout: Layout, marginal: Marginal, shape: tuple[int, int, int]
) -> tuple[Layout, Prepared]:
    """The layout of a small model, and all its cells."""
    narrow = Layout(schema=_narrow(layout.schema, shape), scheme=layout.scheme)
    workload = Workload(schema=narrow.schema, marginals=(marginal,))
    return narrow, Prepared.of(narrow, workload)


def _marginal(schema: Schema, question: Question, shape: tuple[int, int, int]) -> Marginal:
    """All cells of: the group, its size, a person, and at the relation level a relative."""
    group, individual, relative = shape
    related = question.relation is not None
    return Marginal(
        level=question.level,
        relation=question.relation,
        group=(0, 1) if schema.group else (),
        individual=(0,),
        relative=(1,) if related else (),
        shape=(
            *((group, len(schema.sizes)) if schema.group else ()),
            *((individual, relative) if related else (individual,)),
        ),
    )


def _of_slots(model: HPD, kinds: Floats) -> Floats:
    """(slots, asked, K) from (kinds, asked, K): the mean over the kinds of people of each slot."""
    weighted = kinds * model.kinds[:, None]
    return np.add.reduceat(weighted, model.layout.kind_starts[:-1], axis=0)


def _meeting(table: Floats, offsets: Sequence[int], asked: Iterable[Conditions]) -> Floats:
    """(kinds, asked, K) how likely all conditions are met. table: (kinds, rows, K)."""
    found = []
    for conditions in asked:
        likely = np.ones((len(table), table.shape[2]))
        for position, codes in conditions.items():
            rows = [offsets[position] + code for code in codes]
            likely *= np.minimum(table[:, rows].sum(axis=1), 1)
        found.append(likely)
    return np.stack(found, axis=1)


def _narrow(schema: Schema, shape: tuple[int, int, int]) -> Schema:
    """The same groups, of whom is only known what is asked."""
    group, individual, relative = (Categorical(values=list(range(one))) for one in shape)
    return replace(
        schema,
        group=schema.group
        and replace(schema.group, id="id", attributes={"group": group}, weight=None),
        individual=replace(
            schema.individual,
            group_id=schema.individual.group_id and "id",
            attributes={"person": individual, "relative": relative},
        ),
        roles=schema.roles and replace(schema.roles, column="role"),
        count="size",
        workload=WorkloadSpec(k=1, relation_counts=schema.workload.relation_counts),
        never=(),
    )
