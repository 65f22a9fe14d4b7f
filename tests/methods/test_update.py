"""HPD-Update does what the paper's algorithm says: threshold, loss, stopping and averaging."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kinfolk.errors import KinfolkError
from kinfolk.methods.fixed import FixedSettings, Logits
from kinfolk.methods.gen import GenSettings
from kinfolk.methods.update import HPDLearner, UpdateSettings
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.models.mixture.prepared import Prepared
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema

SCHEMA = Schema.from_text("""
group: {table: homes, id: home, attributes: {veh: {values: [0, 1, 2]}}}
individual: {table: people, group_id: home, attributes: {sex: {values: [m, f]}}}
max_size: 3
workload: {k: 2}
""")
WORKLOAD = Workload.of(SCHEMA)
LAYOUT = Layout.of(SCHEMA)
START = np.random.default_rng(3).standard_normal((LAYOUT.rows, 4))
MODEL = HPD.from_logits(LAYOUT, START)
QUERIES = [0, 7, 20]
ANSWERS = MODEL.answer(Prepared.of_queries(LAYOUT, WORKLOAD, QUERIES))


class Still:
    """Parameters that never move, and write down what they are asked to do."""

    def __init__(self) -> None:
        self.gradients: list[Any] = []
        self.keeps = 0

    def logits(self) -> Any:
        return START

    def step(self, gradient: Any) -> None:
        self.gradients.append(gradient)

    def keep(self) -> None:
        self.keeps += 1

    def kept(self) -> Any:
        return START


def learner(parameters: Any, *, rounds: int = 9, **settings: Any) -> HPDLearner:
    return HPDLearner(
        WORKLOAD,
        rounds=rounds,
        layout=LAYOUT,
        parameters=parameters,
        settings=UpdateSettings(components=4, **settings),
    )


def gradient_of(queries: list[int], cotangent: list[float]) -> Any:
    selection = Prepared.of_queries(LAYOUT, WORKLOAD, queries)
    answers = MODEL.answer(selection)
    return MODEL.logits_vjp(MODEL.answer_vjp(selection, answers, np.array(cotangent)))


def test_gamma_follows_the_largest_error_and_the_loss_sums_what_is_off() -> None:
    still = Still()
    learning = learner(still, max_iterations=1, patience=0.5, memory=0.75)
    # Off by 0.4: gamma = 0.5 * 0.4.
    learning.learn(QUERIES[:1], ANSWERS[:1] - 0.4)
    np.testing.assert_allclose(still.gradients[-1], gradient_of(QUERIES[:1], [1]))
    # The largest is 0.8, the average 0.75 * 0.4 + 0.25 * 0.8 = 0.5, gamma 0.25.
    shares = ANSWERS + np.array([-0.26, 0.24, 0.8])
    learning.learn(QUERIES, shares)
    np.testing.assert_allclose(still.gradients[-1], gradient_of(QUERIES, [1, 0, -1]))


def test_steps_stop_at_their_limit_or_when_nothing_is_off() -> None:
    still = Still()
    learner(still, max_iterations=7).learn(QUERIES[:1], ANSWERS[:1] - 0.4)
    assert len(still.gradients) == 7
    logits = Logits(START, settings=FixedSettings(components=4))
    moving = learner(logits, max_iterations=1000)
    moving.learn(QUERIES[:1], ANSWERS[:1] + 0.1)
    error = moving.answer()[QUERIES[0]] - ANSWERS[0] - 0.1
    # It stops at the first step below gamma, and one step moves an answer by a few percent.
    assert 0.01 < abs(error) < 0.05


@pytest.mark.parametrize(("rounds", "keeps"), [(1, 1), (4, 3), (10, 6)])
def test_parameters_are_averaged_from_round_t_half_on(rounds: int, keeps: int) -> None:
    still = Still()
    learning = learner(still, rounds=rounds, max_iterations=1)
    for _ in range(rounds):
        learning.learn(QUERIES, ANSWERS - 0.1)
    assert still.keeps == keeps


def test_the_average_forgets_by_its_memory() -> None:
    logits = Logits(np.zeros((2, 1)), settings=FixedSettings(single=False, parameter_memory=0.75))
    logits.keep()
    logits.step(np.ones((2, 1)))
    logits.keep()
    np.testing.assert_allclose(logits.logits(), -0.1)
    np.testing.assert_allclose(logits.kept(), -0.025)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (lambda: UpdateSettings(components=0), "components is 0"),
        (lambda: UpdateSettings(patience=0), "patience is 0"),
        (lambda: UpdateSettings(parameter_memory=1), "parameter_memory 1"),
        (lambda: FixedSettings(learning_rate=0), "learning_rate is 0"),
        (lambda: GenSettings(learning_rate=-1), "learning_rate is -1"),
        (lambda: GenSettings(hidden=(4, 0)), r"hidden \[4, 0\]"),
        (lambda: GenSettings(noise="some"), "noise is 'some'"),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: Any, message: str) -> None:
    with pytest.raises(KinfolkError, match=message):
        settings()
