"""Two processes on one ledger, killed at random moments: nothing is ever under-reported."""

from __future__ import annotations

import random
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kinfolk.privacy import create_ledger, read_account
from promises import promise

SCRIPT = Path(__file__).with_name("shared_crash_run.py")
STEPS, REFUSED = (runpy.run_path(str(SCRIPT))[name] for name in ("STEPS", "REFUSED"))


def start(ledger: Path, notes: Path, name: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), str(ledger), str(notes), name],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def check(ledger: Path, notes: Path) -> None:
    """Everything that a process was granted is in the ledger, under its own release."""
    # First what was granted: the other process goes on meanwhile.
    granted = [line.split() for line in notes.read_text().splitlines()] if notes.exists() else []
    account = read_account(ledger)
    for name, release, number in granted:
        own = account.allotments[int(release) - 1]
        assert own.run == {"name": name}
        assert own.spends[int(number) - 1].number == int(number)
    paid = sum(len(one.spends) for one in account.allotments)
    assert paid >= len(granted)
    assert account.spent <= account.total.rho
    assert sum(one.held for one in account.allotments) <= account.total.rho
    assert account.spent == sum(
        spend.rho for one in account.allotments for spend in one.spends
    ) + sum(one.torn for one in account.allotments)


def kill_often(folder: Path, *, kills: int, seed: int) -> tuple[int, int]:
    """How many debits lost their release, and how many releases were finished."""
    moments = random.Random(seed)
    killed = lost = finished = ledgers = 0
    while killed < kills:
        ledgers += 1
        ledger, notes = folder / f"{ledgers}.ledger", folder / f"{ledgers}.notes"
        create_ledger(ledger, promise(epsilon=2.0, delta=1e-9))
        full = False
        while not full and killed < kills:
            pair = [start(ledger, notes, f"{killed}-{side}") for side in ("a", "b")]
            time.sleep(moments.uniform(0, 0.12))
            for process in moments.sample(pair, 2):
                process.send_signal(signal.SIGKILL)
                status = process.wait(timeout=60)
                assert status in (0, REFUSED, -signal.SIGKILL)
                killed += status == -signal.SIGKILL
                full |= status == REFUSED
                assert process.stdout is not None
                process.stdout.close()
                check(ledger, notes)
                time.sleep(moments.uniform(0, 0.05))
            # An unfinished release keeps its part, so the ledger fills up.
            account = read_account(ledger)
            full |= account.remaining < account.total.rho / 40
        account = read_account(ledger)
        lost += sum(len(one.unreleased) for one in account.allotments)
        finished += sum(one.closed for one in account.allotments)
    return lost, finished


def test_kill_a_few_times(tmp_path: Path) -> None:
    kill_often(tmp_path, kills=4, seed=1)


@pytest.mark.slow
def test_kill_a_hundred_times(tmp_path: Path) -> None:
    """Kills that all fell outside the steps, or let nobody finish, would prove nothing."""
    lost, finished = kill_often(tmp_path, kills=100, seed=2)
    assert lost > 3
    assert finished > 3
