"""How fast a mixture answers: the engine against "gather columns and multiply", in one run.

    python -m bench.answering [--components 1000]

The workload is all three-way queries over 16 attributes, about as many as in the survey of Atlanta.
The baseline is what the paper's authors do: for a batch of queries, gather the columns of their
attributes from every slot, multiply, and let the library differentiate. It runs in every library
that can be imported: torch (with one thread and with all, whichever is faster: on a busy machine
its threads wait for each other), JAX, and always NumPy (with its gradient written out). In torch it
runs twice: with `prod` over the gathered columns, which is how one writes it, and column by column,
which is several times faster to differentiate. The goals refer to torch with `prod`, or to the
first of these that is there; the fastest is shown as well. A step is
softmax, answers, gradient and Adam; JAX and NumPy are spared Adam. All numbers have 32 bits.
"""

from __future__ import annotations

import argparse
import importlib.util
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from bench.counting import ATTRIBUTES

from kinfolk.datasets import load_schema
from kinfolk.methods.adam import Adam
from kinfolk.models.hpd import HPD
from kinfolk.models.layout import Layout
from kinfolk.models.mixture.prepared import Prepared
from kinfolk.queries.workload import Workload

GOAL_ANSWERS, GOAL_STEPS = 50, 20
SELECTED, BATCHES = 500, 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--components", type=int, default=1000)
    components = parser.parse_args().components
    workload = Workload.of(atlanta_like(), k=3)
    layout = Layout.of(workload.schema)
    plan = Prepared.of(layout, workload)
    model = HPD.random(layout, components, np.random.default_rng(1), dtype=np.float32)
    print(f"{workload!r}, K = {components:,}, {layout.slots} slots, {layout.rows} rows")
    rng = np.random.default_rng(2)
    batches = [rng.integers(workload.size, size=SELECTED).tolist() for _ in range(BATCHES)]
    selection = Prepared.of_queries(layout, workload, batches[0])
    shares = np.full(SELECTED, 0.01)

    rates = model.rates(plan)
    ours = engine_times(model, plan, selection, shares)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    doubled = HPD(layout=layout, probabilities=model.probabilities.astype(np.float64))
    twice = engine_times(doubled, plan, selection, shares)

    columns = [Columns.of(model, workload, batch) for batch in batches]
    baselines: dict[str, tuple[float, float]] = {}
    for name, library in (
        ("torch", partial(torch_times, multiply=by_prod)),
        ("torch, by columns", partial(torch_times, multiply=by_columns)),
        ("jax", jax_times),
        ("numpy", numpy_times),
    ):
        if importlib.util.find_spec(name.split(",")[0]) is None:
            print(f"{name} is not installed: left out")
            continue
        found, forward, step = library(columns, shares)
        expected = rates[np.concatenate(batches)]
        assert np.abs(found - expected).max() < 1e-4, f"{name} answers something else"
        baselines[name] = forward / (SELECTED * BATCHES), step
    # Once more afterwards: other work on the machine comes and goes.
    again = engine_times(model, plan, selection, shares)
    ours = Times(*map(min, zip(ours, again, strict=True)))

    print(f"\n{'':24}{'us per query':>14}{'ms per step on 500':>21}")
    for name, (answer, step) in baselines.items():
        print(f"gather, {name:16}{answer * 1e6:14.2f}{step * 1e3:21.1f}")
    for name, times in (("engine", ours), ("engine, 64 bits", twice)):
        print(f"{name:24}{times.answer / workload.size * 1e6:14.3f}{times.step * 1e3:21.1f}")
    print(f"\nthe whole workload: {ours.answer:.2f} s; with its gradient {ours.gradient:.2f} s")
    print(f"peak memory of the engine, Python and compiler included: {peak:,.0f} MB")
    first = next(iter(baselines))
    each = (ours.answer / workload.size, ours.step)
    for number, (what, goal) in enumerate((("answering", GOAL_ANSWERS), ("steps", GOAL_STEPS))):
        ratios = {name: found[number] / each[number] for name, found in baselines.items()}
        verdict = "reached" if ratios[first] >= goal else "MISSED"
        print(
            f"{what}: {ratios[first]:,.1f} times faster than {first} (goal {goal}: {verdict}), "
            f"{min(ratios.values()):,.1f} times faster than the fastest"
        )


def atlanta_like() -> Any:
    """The schema of the simulated survey, with the attributes that are asked for only."""
    schema = load_schema("acs")
    assert schema.group is not None
    group = {n: a for n, a in schema.group_attributes.items() if n in ATTRIBUTES["households"]}
    people = {n: a for n, a in schema.individual_attributes.items() if n in ATTRIBUTES["persons"]}
    individual = replace(schema.individual, attributes=people)
    return replace(schema, group=replace(schema.group, attributes=group), individual=individual)


def best(work: Callable[[], object], *, repeats: int) -> float:
    """The shortest time of several."""
    found = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)


class Times(NamedTuple):
    """Seconds: all answers, all answers and their gradient, one step on the selected queries."""

    answer: float
    gradient: float
    step: float


def engine_times(model: HPD, plan: Prepared, selection: Prepared, shares: np.ndarray) -> Times:
    cotangent = np.ones(plan.size)
    logits, adam = np.log(model.probabilities), Adam(learning_rate=0.1)

    def step() -> None:
        now = HPD.from_logits(model.layout, logits)
        errors = now.rates(selection) - shares
        adam.step(logits, now.logits_vjp(now.rates_vjp(selection, errors)))

    answer = best(lambda: model.rates(plan), repeats=5)
    gradient = best(lambda: (model.rates(plan), model.rates_vjp(plan, cotangent)), repeats=3)
    return Times(answer, gradient, best(step, repeats=20))


@dataclass(frozen=True)
class Columns:
    """Queries as the baseline wants them; the column after the last one is all ones."""

    composition: np.ndarray
    group: np.ndarray
    individual: np.ndarray
    """(K, sizes), (K, D_G + 1), (slots, K, D_I + 1) the probabilities."""
    group_columns: np.ndarray
    individual_columns: np.ndarray
    """(queries, 3)"""
    sizes: np.ndarray
    """(sizes, queries) whether groups of a size count."""
    somebody: np.ndarray
    """(queries,) whether one member is enough, or each counts."""
    slot_of: tuple[int, ...]
    """For the first, second, ... member the slot."""

    @classmethod
    def of(cls, model: HPD, workload: Workload, queries: list[int]) -> Columns:
        layout, count = model.layout, len(queries)
        group = np.full((count, 3), layout.group_offsets[-1])
        individual = np.full((count, 3), layout.individual_offsets[-1])
        sizes = np.ones((len(layout.sizes), count), np.float32)
        somebody = np.zeros(count, bool)
        for i, number in enumerate(queries):
            query = workload.query(number)
            codes = iter(query.codes)
            somebody[i] = query.marginal.level == "group"
            for place, attribute in enumerate(query.marginal.group):
                if attribute == len(layout.schema.group_attributes):
                    sizes[:, i] = np.arange(len(layout.sizes)) == next(codes)
                else:
                    group[i, place] = layout.group_offsets[attribute] + next(codes)
            for place, attribute in enumerate(query.marginal.individual):
                individual[i, place] = layout.individual_offsets[attribute] + next(codes)
        slots = [slot for slot, held in enumerate(layout.scheme[0]) for _ in range(held)]
        one = np.ones((1, model.components), np.float32)
        return cls(
            composition=model.composition.T.copy(),
            group=np.concatenate([model.group, one]).T.copy(),
            individual=np.stack([np.concatenate([part, one]).T for part in model.individual]),
            group_columns=group,
            individual_columns=individual,
            sizes=sizes,
            somebody=somebody,
            slot_of=tuple(slots),
        )


def by_columns(table: Any, columns: Any) -> Any:
    """The product of gathered columns, one after the other: (K, queries)."""
    a, b, c = (table[:, columns[:, place]] for place in range(3))
    return a * b * c


def by_prod(table: Any, columns: Any) -> Any:
    """The same at once."""
    return table[:, columns].prod(-1)


Multiply = Callable[[Any, Any], Any]


def gathered(
    where: Any, composition: Any, group: Any, individual: Any, asked: Any,
    multiply: Multiply = by_columns,
) -> Any:  # fmt: skip
    """The baseline: (queries,) rates, in any library with arrays like NumPy's."""
    group_columns, columns, sizes, somebody, slot_of = asked
    left = multiply(group, group_columns)
    members = [multiply(part, columns) for part in individual]
    total, nobody, number = 0, 1, 0
    for size, slot in enumerate(slot_of):
        nobody = nobody * (1 - members[slot])
        number = number + members[slot]
        found = where(somebody, 1 - nobody, number)
        total = total + composition[:, size, None] * sizes[size] * found
    return (left * total).mean(0)


def numpy_times(batches: list[Columns], shares: np.ndarray) -> tuple[np.ndarray, float, float]:
    def answer(one: Columns) -> np.ndarray:
        asked = (one.group_columns, one.individual_columns, one.sizes, one.somebody, one.slot_of)
        tables = (one.composition, one.group, one.individual)
        return np.asarray(gathered(np.where, *tables, asked))

    found = np.concatenate([answer(one) for one in batches])
    forward = best(lambda: [answer(one) for one in batches], repeats=2)
    return found, forward, best(lambda: numpy_step(batches[0], shares), repeats=2)


def numpy_step(one: Columns, shares: np.ndarray) -> None:
    """The gradient of the gathered product, written out; without softmax and optimiser."""
    left = one.group[:, one.group_columns]
    members = [part[:, one.individual_columns] for part in one.individual]
    products = [part.prod(-1) for part in members]
    nobody, number = [np.float32(1)], [np.float32(0)]
    for slot in one.slot_of:
        nobody.append(nobody[-1] * (1 - products[slot]))
        number.append(number[-1] + products[slot])
    found = [np.where(one.somebody, 1 - a, b) for a, b in zip(nobody, number, strict=True)][1:]
    weights = [one.composition[:, s, None] * one.sizes[s] for s in range(len(one.slot_of))]
    total = sum(w * f for w, f in zip(weights, found, strict=True))
    errors = (left.prod(-1) * total).mean(0) - shares
    pulled = (errors / len(total)).astype(np.float32) * left.prod(-1)
    by_product = [np.zeros_like(products[0]) for _ in products]
    cotangent = np.zeros_like(products[0])
    for size in reversed(range(len(one.slot_of))):
        slot = one.slot_of[size]
        cotangent += pulled * weights[size]
        by_product[slot] += cotangent * np.where(one.somebody, nobody[size], 1)
        cotangent *= np.where(one.somebody, 1 - products[slot], 1)
    spread(left, one.group_columns, total * (errors / len(total)), np.zeros_like(one.group))
    for part, product_cotangent, table in zip(members, by_product, one.individual, strict=True):
        spread(part, one.individual_columns, product_cotangent, np.zeros_like(table))


def spread(
    factors: np.ndarray, columns: np.ndarray, cotangent: np.ndarray, out: np.ndarray
) -> None:
    """Add the gradient of a product of gathered columns to the columns."""
    for place in range(columns.shape[1]):
        others = np.delete(factors, place, axis=-1).prod(-1)
        np.add.at(out.T, columns[:, place], (cotangent * others).T)


def torch_times(
    batches: list[Columns], shares: np.ndarray, *, multiply: Multiply
) -> tuple[np.ndarray, float, float]:
    import torch

    asked = []
    for one in batches:
        arrays = (one.group_columns, one.individual_columns, one.sizes, one.somebody)
        asked.append((*map(torch.from_numpy, arrays), one.slot_of))
    tables = [torch.from_numpy(batches[0].composition), torch.from_numpy(batches[0].group)]
    tables.append(torch.from_numpy(batches[0].individual))

    def answer() -> Any:
        with torch.no_grad():
            return torch.cat([gathered(torch.where, *tables, one, multiply) for one in asked])

    logits = [torch.log(table).requires_grad_() for table in tables]
    adam, goal = torch.optim.Adam(logits, lr=0.1), torch.from_numpy(shares).float()

    def step() -> None:
        adam.zero_grad()
        # One softmax per table instead of one per attribute: cheaper than the real thing.
        soft = (table.softmax(-1) for table in logits)
        rates = gathered(torch.where, *soft, asked[0], multiply)
        ((rates - goal) ** 2).sum().backward()
        adam.step()

    found, forward, steps = answer().numpy(), [], []
    for threads in {1, torch.get_num_threads()}:
        torch.set_num_threads(threads)
        forward.append(best(answer, repeats=4))
        steps.append(best(step, repeats=4))
    return found, min(forward), min(steps)


def jax_times(batches: list[Columns], shares: np.ndarray) -> tuple[np.ndarray, float, float]:
    import jax
    import jax.numpy as jnp

    asked = [
        (jnp.array(o.group_columns), jnp.array(o.individual_columns), jnp.array(o.sizes),
         jnp.array(o.somebody), o.slot_of) for o in batches
    ]  # fmt: skip
    first = batches[0]
    tables = [jnp.array(part) for part in (first.composition, first.group, first.individual)]

    def rates(composition: Any, group: Any, individual: Any, *one: Any) -> Any:
        return gathered(jnp.where, composition, group, individual, (*one, first.slot_of))

    compiled = jax.jit(rates)
    found = np.concatenate([compiled(*tables, *one[:4]) for one in asked])
    forward = best(
        lambda: [compiled(*tables, *one[:4]).block_until_ready() for one in asked], repeats=3
    )

    def loss(logits: Any) -> Any:
        soft = (jax.nn.softmax(table, -1) for table in logits)
        return ((rates(*soft, *asked[0][:4]) - shares) ** 2).sum()

    gradient = jax.jit(jax.grad(loss))
    logits = [jnp.log(table) for table in tables]
    jax.block_until_ready(gradient(logits))
    return found, forward, best(lambda: jax.block_until_ready(gradient(logits)), repeats=3)


if __name__ == "__main__":
    main()
