"""Means, sums, quantiles, ratios and shares from a model: what it says, and how sure it is.

The model says how likely every category of a number is among those who are asked about; inside a
category the number follows its shape. So every figure is worked out from shares that the model
answers in closed form. The same figures of the replicates, each with shapes of its own, tell the
standard errors. What chance does to so many numbers inside their bins is added.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kinfolk._typing import Floats
from kinfolk.data.number_law import NumberLaw
from kinfolk.data.shapes import SHARES, Shapes
from kinfolk.methods.refits import Replicate
from kinfolk.models.base import Table
from kinfolk.queries.questions import (
    Codes,
    Figure,
    Kind,
    Question,
    asked_attributes,
    weight_position,
)
from kinfolk.release.release import Release
from kinfolk.schema import Categorical, Level, Schema
from kinfolk.schema.names import AttributeNames


@dataclass(frozen=True, kw_only=True, eq=False)
class SeenNumber:
    """A number of those asked about: how likely its categories are, and how it lies in them."""

    position: int | None
    """Of the attribute; None for a share."""
    law: NumberLaw
    shares: Floats
    """(numbers, weights) the categories of the number and of the weight, of groups or of people."""
    worth: Floats
    """(weights,) the mean weight in each category of the weight; 1 without weights."""
    spread: Floats
    """(weights,) the variance of weights inside each."""

    @property
    def likely(self) -> Floats:
        """(numbers,) how much every category counts for."""
        return self.shares @ self.worth

    @property
    def mass(self) -> float:
        """How much all of them count for."""
        return float(self.likely.sum())

    @property
    def sum(self) -> float:
        """The sum of the number."""
        return float(self.likely @ self.law.means)

    @property
    def effective(self) -> float:
        """How many with equal weights would be as sure."""
        squares = float(self.shares.sum(axis=0) @ (self.worth**2 + self.spread))
        return self.mass**2 / squares

    def chance(self, less: float = 0.0) -> float:
        """The variance of the sum of the number minus `less` that chance makes inside categories.

        Numbers and weights lie there as their shapes say, each on its own.
        """
        away = (self.law.means - less) ** 2
        numbers = self.law.variances @ self.shares @ (self.worth**2 + self.spread)
        return float(numbers + away @ self.shares @ self.spread)

    def tilted(self, usual: Mapping[int, Floats], everybody: float) -> SeenNumber:
        """The same if numbers lie inside bins as neighbouring bins suggest: see `NumberLaw`."""
        if self.position is None:
            return self
        total = float(self.shares.sum()) * everybody
        law = self.law.tilted(self.likely, usual[self.position], least=0.5 / max(total, 0.5))
        return replace(self, law=law)

    def deviation(self, mean: float) -> float:
        """The standard deviation of the numbers."""
        squares = (self.law.means - mean) ** 2 + self.law.variances
        return math.sqrt(float(self.likely @ squares) / self.mass)


@dataclass(frozen=True, kw_only=True, eq=False)
class FigureView:
    """A figure as one table of probabilities sees it."""

    figure: Figure
    numbers: tuple[SeenNumber, ...]
    everybody: float
    """How many groups, or people, there are."""

    @property
    def value(self) -> float:
        """The figure itself."""
        first, kind = self.numbers[0], self.figure.kind
        if first.mass <= 0:
            return math.nan
        if kind is Kind.SUM:
            return first.sum * self.everybody
        if kind is Kind.QUANTILE:
            return first.law.quantile(first.likely, self.figure.quantile)
        if kind is Kind.RATIO:
            return first.sum / self.numbers[1].sum if self.numbers[1].sum else math.nan
        return first.sum / first.mass

    @property
    def total(self) -> float:
        """How many it is about."""
        return float(self.numbers[0].shares.sum()) * self.everybody

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest value that it can have."""
        low, high = self.numbers[0].law.range
        if self.figure.kind is Kind.SUM:
            return 0.0 if low >= 0 else -math.inf, math.inf
        if self.figure.kind is Kind.RATIO:
            below = min(low, self.numbers[1].law.range[0])
            return 0.0 if below >= 0 else -math.inf, math.inf
        return low, high

    def error(self, others: Sequence[FigureView], usual: Mapping[int, Floats]) -> float:
        """The standard error, by what replicates see, and by what may be inside bins.

        usual: by attribute, (numbers,) how likely its categories are on the whole.
        """
        value, total, kind = self.value, self.total, self.figure.kind
        if math.isnan(value):
            return math.nan
        if kind is Kind.QUANTILE:
            return self._error_of_quantile(value, others, usual)
        first = self.numbers[0]
        if kind is Kind.SUM:
            chance = first.chance() * self.everybody
            half = 0.5 * value / total
        elif kind is Kind.RATIO:
            second = self.numbers[1]
            chance = (first.chance() + value**2 * second.chance()) / self.everybody
            chance /= second.sum**2
            half = 0.5 * value / total
        else:
            chance = first.chance(value) / (self.everybody * first.mass**2)
            # There are whole groups and people only: half of one might be more or less.
            half = 0.5 * (1.0 if kind is Kind.SHARE else first.deviation(value)) / total
        tilt = self._tilted(usual).value - value
        noise = _mean_square([one.value - value for one in others])
        return math.sqrt(noise + tilt**2 + chance + half**2)

    def _tilted(self, usual: Mapping[int, Floats]) -> FigureView:
        numbers = tuple(one.tilted(usual, self.everybody) for one in self.numbers)
        return replace(self, numbers=numbers)

    def _error_of_quantile(
        self, value: float, others: Sequence[FigureView], usual: Mapping[int, Floats]
    ) -> float:
        """Half the distance of the quantiles that lie a standard error of the share apart.

        How far off the share up to this very number is, tells how far off the number is; one more
        or less of the last digit that is written is not told apart.
        """
        first, share = self.numbers[0], self.figure.quantile
        below = first.law.below(first.likely, value)
        off = [
            one.numbers[0].law.below(one.numbers[0].likely, value) - below
            for one in others
            if one.numbers[0].mass > 0
        ]
        tilted = self._tilted(usual).numbers[0]
        tilt = tilted.law.below(tilted.likely, value) - below
        chance = first.law.chance(first.likely, value) / (self.everybody * first.effective)
        error = math.sqrt(_mean_square(off) + tilt**2 + chance + (0.5 / self.total) ** 2)
        low, high = (first.law.quantile(first.likely, share + sign * error) for sign in (-1.0, 1.0))
        unit = 0.0 if first.law.places is None else 10.0**-first.law.places
        return math.hypot((high - low) / 2, unit / 2)


def _mean_square(differences: Sequence[float]) -> float:
    """Without those of replicates that have nobody there."""
    known = [one for one in differences if not math.isnan(one)]
    return sum(one * one for one in known) / len(known) if known else 0.0


Laws = Mapping[int, NumberLaw]
"""How numbers lie, by the position of the attribute."""

COUNTED = NumberLaw.of(Categorical(values=[1, 0]))
"""A share is the mean of a number that is 1 for those who are counted, and 0 for the others."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FigureAnswers:
    """What a release says of some figures."""

    values: Floats
    """(figures,) NaN where the model has nobody whom a figure would be about."""
    errors: Floats | None
    """(figures,) standard errors."""
    totals: Floats
    """(figures,) about how many groups or people each is about."""
    ends: tuple[Floats, Floats]
    """(figures,) the least and the largest value that each can have."""


def answer_figures(
    release: Release, figures: Sequence[Figure], replicates: Sequence[Replicate]
) -> FigureAnswers:
    """Answer figures from the model alone, and see how far off its replicates are, if any."""
    schema, model = release.schema, release.model
    plans = [_Plan.of(figure) for figure in figures]
    parts = dict.fromkeys(part for plan in plans for part in plan.asked)
    evaluators = {
        part: model.evaluator(tuple(one for plan in plans for one in plan.asked.get(part, ())))
        for part in parts
    }

    def views(table: Table, laws: Laws, groups: int) -> list[FigureView]:
        """Every figure as one table sees it."""
        answers = {part: iter(evaluate(table)) for part, evaluate in evaluators.items()}
        return [
            plan.view(
                {
                    part: np.array([next(answers[part]) for _ in questions])
                    for part, questions in plan.asked.items()
                },
                laws,
                groups=groups,
                size=model.mean_size(),
            )
            for plan in plans
        ]

    numbers = {position for figure in figures for position in figure.numbers}
    numbers |= {plan.weight for plan in plans if plan.weight is not None}
    laws = _laws(schema, numbers, release.shapes or Shapes.even(schema))
    main = views(model.probabilities, laws, release.groups)
    errors = None
    if replicates:
        others = []
        for one in replicates:
            own = {} if one.shares is None else {SHARES: one.shares}
            again = _laws(schema, numbers, Shapes.from_arrays(schema, own)) if own else laws
            others.append(views(one.probabilities, again, one.groups))
        usual = _usual(release, numbers)
        each = zip(main, zip(*others, strict=True), strict=True)
        errors = np.array([one.error(again, usual) for one, again in each])
    ends = np.array([one.ends for one in main]).reshape(-1, 2)
    return FigureAnswers(
        values=np.array([one.value for one in main]),
        errors=errors,
        totals=np.array([one.total for one in main]),
        ends=(ends[:, 0], ends[:, 1]),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Plan:
    """What has to be asked for a figure."""

    figure: Figure
    asked: Mapping[str, tuple[Question, ...]]
    """By part: every category of a number with every category of the weight."""
    codes: tuple[Codes, ...]
    """The categories of each number."""
    weight: int | None
    """The position of the weight, ..."""
    weights: Codes
    """... and its categories."""

    @classmethod
    def of(cls, figure: Figure) -> _Plan:
        """Which shares tell a figure."""
        schema, whole = figure.schema, figure.of
        weight = weight_position(schema) if figure.weighted else None
        weights = () if weight is None else _codes(figure.counted or whole, weight)
        codes = tuple(_codes(whole, position) for position in figure.numbers)

        def by_weight(questions: Sequence[Question]) -> tuple[Question, ...]:
            if weight is None:
                return tuple(questions)
            return tuple(_said(one, weight, (code,)) for one in questions for code in weights)

        asked: dict[str, tuple[Question, ...]] = {}
        if figure.counted is not None:
            asked = {"of": by_weight([whole]), "counted": by_weight([figure.counted])}
        for position, own in zip(figure.numbers, codes, strict=True):
            # A ratio is about those who have both numbers.
            whole = _said(whole, position, own)
        for at, (position, own) in enumerate(zip(figure.numbers, codes, strict=True)):
            asked[f"number {at}"] = by_weight([_said(whole, position, (code,)) for code in own])
        if figure.kind is Kind.SUM and schema.group is not None:
            every, size = Question(schema=schema, level=Level.GROUP), len(schema.group_attributes)
            asked["sizes"] = tuple(_said(every, size, (code,)) for code in range(len(schema.sizes)))
        return cls(figure=figure, asked=asked, codes=codes, weight=weight, weights=weights)

    def view(
        self, parts: Mapping[str, Floats], laws: Laws, *, groups: int, size: float
    ) -> FigureView:
        """The figure, by the answers to each part; size: the mean one where none is asked for."""
        schema = self.figure.schema
        worth, spread = np.ones(1), np.zeros(1)
        if self.weight is not None:
            law = laws[self.weight]
            at = np.searchsorted(law.codes, self.weights)
            worth, spread = np.maximum(law.means[at], 0.0), law.variances[at]
        numbers = []
        for number, (position, own) in enumerate(zip(self.figure.numbers, self.codes, strict=True)):
            law = laws[position]
            shares = np.zeros((len(law.codes), len(worth)))
            found = parts[f"number {number}"].reshape(len(own), len(worth))
            shares[np.searchsorted(law.codes, own)] = found
            numbers.append(
                SeenNumber(position=position, law=law, shares=shares, worth=worth, spread=spread)
            )
        if self.figure.counted is not None:
            others = np.maximum(parts["of"] - parts["counted"], 0.0)
            shares = np.stack([parts["counted"], others])
            numbers.append(
                SeenNumber(position=None, law=COUNTED, shares=shares, worth=worth, spread=spread)
            )
        if "sizes" in parts:
            size = float(parts["sizes"] @ np.array(schema.sizes))
        everybody = groups if self.figure.level == Level.GROUP else groups * size
        return FigureView(figure=self.figure, numbers=tuple(numbers), everybody=everybody)


def _codes(whole: Question, position: int) -> Codes:
    """The categories of an attribute that are numbers, of those that are asked about."""
    names = AttributeNames(whole.schema)
    law = NumberLaw.of(asked_attributes(whole.schema)[position][1])
    own = position - names.first_individual
    said = whole.individual.get(own) if own >= 0 else whole.group.get(position)
    return tuple(code for code in law.codes.tolist() if said is None or code in said)


def _said(whole: Question, position: int, codes: Codes) -> Question:
    """The same of those whose attribute at a position has these categories."""
    own = position - AttributeNames(whole.schema).first_individual
    if own >= 0:
        return replace(whole, individual={**whole.individual, own: codes})
    return replace(whole, group={**whole.group, position: codes})


def _laws(schema: Schema, positions: Collection[int], shapes: Shapes) -> Laws:
    """How numbers lie: by their shapes where there are any, of other attributes by their values."""
    found = {}
    for position in positions:
        level, name = _level_and_name(schema, position)
        attribute = asked_attributes(schema)[position][1]
        shape = (shapes.group if level == Level.GROUP else shapes.individual).get(name)
        if shape is not None or isinstance(attribute, Categorical):
            found[position] = NumberLaw.of(attribute, shape)
    return found


def _usual(release: Release, positions: Collection[int]) -> dict[int, Floats]:
    """By attribute, how likely the categories of its numbers are: of groups, or of people."""
    schema, model, found = release.schema, release.model, {}
    for position in positions:
        level, _ = _level_and_name(schema, position)
        whole = Question(schema=schema, level=level)
        asked = tuple(_said(whole, position, (code,)) for code in _codes(whole, position))
        found[position] = model.evaluator(asked)(model.probabilities)
    return found


def _level_and_name(schema: Schema, position: int) -> tuple[Level, str]:
    own = AttributeNames(schema).is_individual(position)
    return Level.INDIVIDUAL if own else Level.GROUP, asked_attributes(schema)[position][0]
