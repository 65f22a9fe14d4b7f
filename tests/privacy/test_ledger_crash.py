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

from kinfolk.privacy import Allotment, Gaussian, Guarantee, Ledger, read_account
from kinfolk.privacy.chain import Head

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


def _check(account: Allotment, notes: Path) -> None:
    """The ledger against what the run noted on its own."""
    lines = [line.split() for line in notes.read_text().splitlines()] if notes.exists() else []
    touched = {int(number): step for what, number, step in lines if what == "touched"}
    paid = {spend.number: spend.key for spend in account.spends}
    # Nothing was touched that is not debited, and all debits are counted.
    assert all(paid[number] == f"measure {step}" for number, step in touched.items())
    assert account.spent == sum(spend.rho for spend in account.spends) + account.torn
    assert account.spent >= len(touched) * Fraction(account.guarantee.rho, AFFORDABLE) * (
        1 - Fraction(1, 10**9)
    )
    assert account.spent <= account.guarantee.rho
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
                found = read_account(ledger)
                if found.allotments:
                    _check(found.last, notes)
            if status != -signal.SIGKILL:
                break
            killed += 1
        assert status in (0, REFUSED)
        account = read_account(ledger).last
        cut_off += len(account.unreleased)
        if status == 0:
            finished += 1
            assert len(account.releases) == STEPS
        else:
            refused += 1
            assert account.remaining < account.guarantee.rho / AFFORDABLE
    return cut_off


def test_kill_a_few_times(tmp_path: Path) -> None:
    _kill_often(tmp_path, kills=2, seed=1)


@pytest.mark.slow
def test_kill_two_hundred_times(tmp_path: Path) -> None:
    # Kills that all fell outside the steps would prove nothing.
    assert _kill_often(tmp_path, kills=200, seed=2) > 10


def test_a_crash_after_every_byte(tmp_path: Path, guarantee: Guarantee) -> None:
    """Cut the file of a whole run short at every byte, and read what is left.

    The companion is put back to the last line that was whole then, as it would have been.
    """
    path = tmp_path / "ledger.jsonl"
    moments: list[tuple[int, Fraction]] = []
    heads: dict[int, Head] = {}
    with Ledger(path, guarantee) as ledger:
        header = _length(path)
        heads[header] = ledger.head
        for part in (5, 7):
            noise = Gaussian.for_rho(guarantee.rho / part, squared_sensitivity=2)
            spend = ledger.debit(f"part {part}", noise)
            # From this length of the file on, data has been touched.
            moments.append((_length(path), ledger.spent))
            heads[_length(path)] = ledger.head
            ledger.release(spend, [1, 2, 3], private=True)
            heads[_length(path)] = ledger.head
    whole = path.read_bytes()
    cut = tmp_path / "cut.jsonl"
    for length in range(header, len(whole)):
        cut.write_bytes(whole[:length] + b" " * (length % 3))
        Head.beside(cut).write_bytes(heads[max(at for at in heads if at <= length)].content)
        account = read_account(cut)
        known = max((spent for size, spent in moments if size <= length), default=Fraction(0))
        assert known <= account.spent <= guarantee.rho
        if length % 41 == 0:
            with Ledger(cut, guarantee) as resumed:
                assert resumed.spent == account.spent
            assert read_account(cut).spent == account.spent


def _length(path: Path) -> int:
    """How long the lines of a ledger are, without the room behind them."""
    return len(path.read_bytes().rstrip(b" "))
