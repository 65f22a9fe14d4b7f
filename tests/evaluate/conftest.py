"""Reports to look at, with everything in them that a report can have."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluate.families import FAMILIES, families
from evaluate.hostile import HOSTILE, hostile_tables
from kinfolk.data.frames import write_table
from kinfolk.evaluate import evaluate
from kinfolk.privacy import Gaussian, Ledger
from kinfolk.privacy.certificate import certificate_of
from promises import promise


def release(folder: Path, *, private: bool = True) -> Path:
    """A folder as a run leaves it: two tables and a certificate."""
    for name, table in families(80, seed=2).items():
        write_table(table, folder / f"{name}.csv")
    guarantee = promise(delta=1e-9)
    with Ledger(folder / "ledger.jsonl", guarantee, private=private) as ledger:
        noise = Gaussian.for_rho(guarantee.rho / 2, squared_sensitivity=8)
        ledger.release(ledger.debit("measure", noise), [1], private=private)
        made = certificate_of(ledger.account, ledger.own, FAMILIES, head=ledger.head)
        (folder / "privacy.json").write_text(json.dumps(made), encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def families_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("families")
    found = evaluate(FAMILIES, real=families(), synthetic=release(folder))
    return found.write(folder / "out")["report.html"]


@pytest.fixture(scope="session")
def hostile_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    found = evaluate(HOSTILE, real=hostile_tables(1), synthetic=hostile_tables(2))
    return found.write(folder)["report.html"]
