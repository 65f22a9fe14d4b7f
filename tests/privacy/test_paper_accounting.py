"""`accounting="paper"` repeats the paper's sensitivities, and says what they do not promise."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from generators import random_dataset
from kinfolk.datasets import load_schema
from kinfolk.errors import KinfolkError
from kinfolk.privacy import Accounting, Gaussian, Guarantee, Neighbours, read_account
from kinfolk.privacy.certificate import certificate_text, check_certificate
from kinfolk.privacy.curator import Curator
from kinfolk.privacy.guarantee import shared_sensitivities, unprotected
from kinfolk.privacy.view import Sensitivities
from kinfolk.queries.counting import Counter
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema
from promises import IN_PLACE, REPLACE, certified, promise

TEXT = """
group:
  table: homes
  id: home
  attributes: {veh: {values: [0, 1, 2]}, kids: {values: [0, 1], derived: true}}
individual:
  table: people
  group_id: home
  attributes: {sex: {values: [m, f]}, age: {values: [0, 1, 2, 3, 4, 5]}}
max_size: 4
workload: {k: 2}
"""
SCHEMA = Schema.from_text(TEXT)
PLAIN = Schema.from_text(TEXT.replace(", derived: true", ""))
FLAT = Schema.from_text("""
individual: {table: people, attributes: {sex: {values: [m, f]}, age: {values: [0, 1, 2]}}}
max_size: 1
workload: {k: 2}
""")
PAPER = Accounting.PAPER


def curator(
    folder: Path,
    *,
    neighbours: Neighbours = IN_PLACE,
    accounting: Accounting = PAPER,
    schema: Schema = SCHEMA,
) -> Curator:
    counter = Counter(Workload.of(schema))
    counter.add(random_dataset(schema, groups=100, rng=np.random.default_rng(5)))
    guarantee = promise(neighbours, epsilon=2.0, accounting=accounting)
    return Curator(counter, guarantee=guarantee, ledger=folder / "ledger.jsonl", seed=1)


def test_a_whole_group_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(KinfolkError, match=r"guarantees nothing for whole groups.*'individual'"):
        curator(tmp_path, neighbours=REPLACE)
    assert not (tmp_path / "ledger.jsonl").exists()


def test_a_guarantee_for_a_whole_group_is_refused(guarantee: Guarantee) -> None:
    """Even where the budget keeps the promise."""
    with pytest.raises(KinfolkError, match="guarantees nothing for whole groups"):
        replace(guarantee, accounting=PAPER, rho=guarantee.rho / 4)


def test_derived_attributes_are_charged_as_if_they_stayed(tmp_path: Path) -> None:
    (tmp_path / "zcdp").mkdir()
    with curator(tmp_path) as paper, curator(tmp_path / "zcdp", accounting=Accounting.ZCDP) as ours:
        for position, marginal in enumerate(paper.workload.marginals):
            assert paper.view.sensitivities.of(position).single == 1
            touches = marginal.level == "individual" and 1 in marginal.group
            assert ours.view.sensitivities.of(position).single == (4 if touches else 1)


@pytest.mark.parametrize(
    ("levels", "delta"),
    [
        (("group", "individual"), Fraction(1, 40)),
        (("individual",), Fraction(1, 100)),
        (("relation",), Fraction(4, 100)),
        (("group", "individual", "relation"), Fraction(4, 100)),
    ],
)
def test_delta_is_the_papers(levels: tuple[str, ...], delta: Fraction) -> None:
    """1/N_G, 1/N_I and M_c/N_I (four children), whichever is largest; N_G = 40, N_I = 100."""
    workload = Workload.of(load_schema("acs-rel"), k=1, levels=levels)
    bounds = Sensitivities(workload, IN_PLACE, PAPER).single
    shared = shared_sensitivities(workload, bounds, groups=40, people=100)
    totals = {"group": 40, "individual": 100, "relation": 100}
    assert shared == {level: delta * totals[level] for level in levels}


def test_relations_have_the_papers_sensitivities() -> None:
    workload = Workload.of(load_schema("acs-rel"), k=2, levels=["relation"])
    bounds = Sensitivities(workload, IN_PLACE, PAPER).single
    found = {marginal.relation: 0 for marginal in workload.marginals}
    for marginal, bound in zip(workload.marginals, bounds, strict=True):
        found[marginal.relation] = max(found[marginal.relation], bound.single)
    assert found == {"married_to": 2, "has_child": 2, "has_parent": 4}


def test_one_query_is_measured_with_noise_for_the_shared_delta(tmp_path: Path) -> None:
    (tmp_path / "zcdp").mkdir()
    squares = {}
    for accounting, folder in ((PAPER, tmp_path), (Accounting.ZCDP, tmp_path / "zcdp")):
        with curator(folder, accounting=accounting, schema=PLAIN) as gate:
            for query, step in ((0, "group"), (gate.workload.size - 1, "individual")):
                gate.measure_query(query, rho=gate.guarantee.rho / 4, step=step)
            people = gate.view.people
        for spend in read_account(folder / "ledger.jsonl").last.spends:
            assert isinstance(spend.mechanism, Gaussian)
            squares[accounting, spend.key] = spend.mechanism.squared_sensitivity
    assert people is not None
    assert squares == {
        (PAPER, "group"): 1,
        (PAPER, "individual"): Fraction(people, 100) ** 2,
        (Accounting.ZCDP, "group"): 1,
        (Accounting.ZCDP, "individual"): 1,
    }


def test_the_certificate_says_what_is_not_protected(tmp_path: Path) -> None:
    with curator(tmp_path) as gate:
        gate.measure_query(3, rho=gate.remaining, step="m")
        certificate = certified(gate)
    assert check_certificate(certificate) == []
    assert "where no attribute of a home is computed from them" in certificate["difference"]
    assert "the own attributes of every home" in certificate["public"]
    shown = certificate_text(certificate)
    for fact in (
        "Unprotected  the size and the own attributes of any home",
        "joining, leaving and moving",
        "computed from its members (kids): their noise is too small, and the promise does not hold",
        "the paper's accounting",
    ):
        assert fact in shown
    certificate |= {"unit": "group", "neighbours": "replace"}
    assert "nothing for a whole group" in check_certificate(certificate)[0]


def test_only_derived_attributes_are_named(tmp_path: Path) -> None:
    with curator(tmp_path, schema=PLAIN) as gate:
        assert len(unprotected(gate.workload.schema, PAPER)) == 2
        assert "kids" not in certificate_text(certified(gate))


def test_flat_data_has_nothing_else_to_protect(tmp_path: Path) -> None:
    with curator(tmp_path, schema=FLAT) as gate:
        assert unprotected(FLAT, PAPER) == ()
        assert gate.view.sensitivities.of(0).single == 1


def test_our_own_accounting_says_nothing_of_this(tmp_path: Path) -> None:
    with curator(tmp_path, accounting=Accounting.ZCDP) as gate:
        certificate = certified(gate)
        assert "except attributes derived from its members" in certificate["difference"]
    assert "unprotected" not in certificate
    assert "Unprotected" not in certificate_text(certificate)
