"""HPD-Gen: the network gives distributions, its gradient is right, and it learns."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from generators import random_dataset
from kinfolk.errors import KinfolkError
from kinfolk.methods.gen import GenSettings, HPDGen, NetworkWeights
from kinfolk.methods.paper import hpd_gen
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.models.mixture.prepared import Prepared
from kinfolk.models.network import Network, blend, jax_library
from kinfolk.queries.counting import count
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema

HOMES = Schema.from_text("""
group: {table: homes, id: home, attributes: {veh: {values: [0, 1, 2]}}}
individual:
  table: people
  group_id: home
  attributes: {sex: {values: [m, f]}, old: {values: [0, 1]}}
max_size: 3
workload: {k: 2}
""")
FLAT = Schema.from_text("""
individual:
  table: people
  attributes: {sex: {values: [m, f]}, old: {values: [0, 1]}, job: {values: [a, b, c]}}
max_size: 1
workload: {k: 2, levels: [individual]}
""")
SMALL: dict[str, Any] = {"components": 30, "hidden": (16, 32), "noise_size": 8}


def true_shares(schema: Schema) -> tuple[Workload, np.ndarray]:
    """What a skewed dataset answers."""
    workload = Workload.of(schema)
    data = random_dataset(schema, groups=2000, rng=np.random.default_rng(2))
    data.individual[: data.people // 2, 1] = data.individual[: data.people // 2, 0]
    data.individual[:, 0] *= np.arange(data.people) % 5 == 0
    totals = {"group": data.groups, "individual": data.people}
    scale = [np.full(marginal.cells, totals[marginal.level]) for marginal in workload.marginals]
    return workload, count(data, workload) / np.concatenate(scale)


def learner(workload: Workload, *, seed: int = 1, rounds: int = 1, **settings: Any) -> HPDGen:
    told = GenSettings(**SMALL | settings)
    return HPDGen(workload, rounds=rounds, rng=np.random.default_rng(seed), settings=told)


@pytest.mark.parametrize("noise", ["fixed", "resampled"])
def test_probabilities_are_distributions(noise: str) -> None:
    workload, shares = true_shares(HOMES)
    learning = learner(workload, noise=noise)
    learning.learn([0, 9], shares[[0, 9]])
    model = learning.model()
    segments = model.layout.segments
    assert model.probabilities.shape == (model.layout.rows, 30)
    assert (model.probabilities > 0).all()
    sums = np.add.reduceat(model.probabilities, segments[:-1], axis=0)
    np.testing.assert_allclose(sums, 1, rtol=1e-5)
    # Components differ: the noise reaches the heads.
    assert model.probabilities.std(axis=1).min() > 0.01


def test_the_gradient_by_the_weights_is_that_of_finite_differences() -> None:
    """From the answers through the engine, the softmax and the network, in 64 bits."""
    jax, _ = jax_library()
    layout, workload = Layout.of(HOMES), Workload.of(HOMES)
    rng = np.random.default_rng(4)
    with jax.enable_x64(True):
        network = Network(
            inputs=2, hidden=[3, 4], outputs=layout.rows, learning_rate=1.0, rng=rng, dtype="f8"
        )
        noise = rng.standard_normal((5, 2))
        asked = Prepared.of_queries(layout, workload, [0, 5, workload.size - 1])
        cotangent = rng.standard_normal(3)

        def value(layers: Any) -> float:
            model = HPD.from_logits(layout, network.logits(noise, layers=layers))
            return float(cotangent @ model.answer(asked))

        model = HPD.from_logits(layout, network.logits(noise))
        gradient = model.answer_vjp(asked, model.answer(asked), cotangent)
        found = network.gradient(model.logits_vjp(gradient))
        # Along random directions through all layers at once.
        for _ in range(5):
            towards = jax.tree.map(lambda one: rng.standard_normal(one.shape), network.layers)
            nudge = jax.tree.map(lambda one: 1e-6 * one, towards)
            there = value(jax.tree.map(np.add, network.layers, nudge))
            back = value(jax.tree.map(np.subtract, network.layers, nudge))
            products = jax.tree.map(lambda one, other: float((one * other).sum()), found, towards)
            assert (there - back) / 2e-6 == pytest.approx(sum(jax.tree.leaves(products)), rel=1e-6)


@pytest.mark.parametrize("schema", [HOMES, FLAT], ids=["homes", "flat"])
@pytest.mark.parametrize("noise", ["fixed", "resampled"])
def test_learning_brings_measured_queries_close(schema: Schema, noise: str) -> None:
    """Flat data, where every row is a group of its own, is the case of GEM."""
    workload, shares = true_shares(schema)
    measured = list(range(0, workload.size, 3))
    learning = learner(workload, rounds=12, noise=noise, learning_rate=0.003, patience=0.2)
    before = np.abs(learning.answer() - shares)[measured].max()
    for _ in range(12):
        learning.learn(measured, shares[measured])
    after = np.abs(learning.model().answer(workload) - shares)[measured].max()
    assert after * 4 < before


def test_fixed_noise_stays_and_resampled_noise_does_not() -> None:
    """A step without a gradient leaves the weights as they are; only the noise can change."""
    for noise, stays in (("fixed", True), ("resampled", False)):
        told = GenSettings(**SMALL, noise=noise)
        weights = NetworkWeights(10, rng=np.random.default_rng(1), settings=told)
        before, kept = weights.logits(), weights.kept()
        weights.step(np.zeros_like(before))
        assert np.array_equal(weights.logits(), before) is stays
        # The model left is made from the noise of training, or from some that no step has seen.
        assert np.array_equal(kept, before) is stays
        assert np.array_equal(weights.kept(), kept)


def test_the_same_generator_gives_the_same_model() -> None:
    workload, shares = true_shares(HOMES)
    tables = []
    for seed in (1, 1, 2):
        learning = learner(workload, seed=seed, noise="resampled", max_iterations=5)
        learning.learn([1, 8], shares[[1, 8]])
        tables.append(learning.model().probabilities)
    assert np.array_equal(tables[0], tables[1])
    assert not np.array_equal(tables[0], tables[2])


def test_the_average_of_weights_forgets_by_its_memory() -> None:
    old, new = [(np.zeros((2, 3)), np.ones(3))], [(np.ones((2, 3)), np.zeros(3))]
    [(weights, bias)] = blend(old, new, 0.75)
    np.testing.assert_allclose(weights, 0.25)
    np.testing.assert_allclose(bias, 0.75)


@pytest.mark.parametrize("missing", ["jax", "optax"])
def test_without_the_extra_one_is_told_what_to_install(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    jax_library.cache_clear()
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(KinfolkError, match=r"pip install 'kinfolk\[gen\]'"):
        hpd_gen().check()


def test_jax_is_imported_late_and_quietly() -> None:
    code = """
import sys, numpy, kinfolk.methods.paper
assert not {"jax", "optax"} & set(sys.modules)
from kinfolk.models.network import Network
network = Network(
    inputs=2, hidden=[3], outputs=2, learning_rate=0.1, rng=numpy.random.default_rng(1)
)
network.step(network.logits(numpy.ones((4, 2))))
"""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
