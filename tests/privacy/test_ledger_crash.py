"""`kill -9` at random moments, and a crash after every single byte."""

from __future__ import annotations

import random
import runpy
import signal
import subprocess
import sys
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import pytest

from kinfolk.privacy import Account, Gaussian, Ledger, Terms, read_account

SCRIPT = Path(__file__).with_name("crash_run.py")
STEPS, AFFORDABLE, REFUSED = (
    runpy.run_path(str(SCRIPT))[name] for name in ("STEPS", "AFFORDABLE", "REFUSED")
)


def _start_and_kill(arguments: Sequence[str], delay: float) -> int:
    """The exit status of a run that gets `delay` seconds: -9 if it was killed."""
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), *arguments], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == "ready\n"
        try:
            return process.wait(timeout=delay)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            return process.wait(timeout=60)


def _check(account: Account, notes: Path) -> None:
    """The ledger against what the run noted on its own."""
    lines = [line.split() for line in notes.read_text().splitlines()] if notes.exists() else []
    touched = {int(number): step for what, number, step in lines if what == "touched"}
    paid = {spend.number: spend.key for spend in account.spends}
    # Nothing was touched that is not debited, and all debits are counted.
    assert all(paid[number] == f"measure {step}" for number, step in touched.items())
    assert account.spent == sum(spend.rho for spend in account.spends) + account.torn
    assert account.spent >= len(touched) * Fraction(account.terms.rho, AFFORDABLE) * (
        1 - Fraction(1, 10**9)
    )
    assert account.spent <= account.terms.rho
    # What was used once never changes: nothing released was bought a second time.
    used: dict[str, set[str]] = {}
    for what, step, value in lines:
        if what == "used":
            used.setdefault(step, set()).add(value)
            assert f"measure {step}" in account.releases
    assert all(len(values) == 1 for values in used.values())


def _kill_often(folder: Path, *, kills: int, seed: int) -> int:
    """The number of debits that were cut off from their release."""
    moments = random.Random(seed)
    killed = finished = refused = cut_off = 0
    while killed < kills or not finished:
        ledger = folder / f"{killed}-{finished}-{refused}.jsonl"
        notes = ledger.with_suffix(".notes")
        while True:
            # Some runs are let alone, so that resumed ones also come to their end.
            let_alone = killed >= kills or moments.random() < 0.2
            delay = 30.0 if let_alone else moments.uniform(0, 0.12)
            status = _start_and_kill([str(ledger), str(notes)], delay)
            if ledger.exists():
                _check(read_account(ledger), notes)
            if status != -signal.SIGKILL:
                break
            killed += 1
        assert status in (0, REFUSED)
        account = read_account(ledger)
        cut_off += len(account.unreleased)
        if status == 0:
            finished += 1
            assert len(account.releases) == STEPS
        else:
            refused += 1
            assert account.remaining < account.terms.rho / AFFORDABLE
    return cut_off


def test_kill_a_few_times(tmp_path: Path) -> None:
    _kill_often(tmp_path, kills=2, seed=1)


@pytest.mark.slow
def test_kill_two_hundred_times(tmp_path: Path) -> None:
    # Kills that all fell outside the steps would prove nothing.
    assert _kill_often(tmp_path, kills=200, seed=2) > 10


def test_a_crash_after_every_byte(tmp_path: Path, terms: Terms) -> None:
    """Cut the file of a whole run short at every byte, and read what is left."""
    path = tmp_path / "ledger.jsonl"
    moments: list[tuple[int, Fraction]] = []
    with Ledger(path, terms) as ledger:
        header = path.stat().st_size
        for part in (5, 7):
            noise = Gaussian.for_rho(terms.rho / part, squared_sensitivity=2)
            spend = ledger.debit(f"part {part}", noise)
            # From this length of the file on, data has been touched.
            moments.append((path.stat().st_size, ledger.spent))
            ledger.release(spend, [1, 2, 3], private=True)
    whole = path.read_bytes()
    cut = tmp_path / "cut.jsonl"
    for length in range(header, len(whole)):
        cut.write_bytes(whole[:length])
        account = read_account(cut)
        known = max((spent for size, spent in moments if size <= length), default=Fraction(0))
        assert known <= account.spent <= terms.rho
        if length % 41 == 0:
            with Ledger(cut, terms) as resumed:
                assert resumed.spent == account.spent
            assert read_account(cut).spent == account.spent
