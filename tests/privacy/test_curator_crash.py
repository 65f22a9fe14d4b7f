"""`kill -9` at random moments of a run through the curator, each followed by a resume."""

from __future__ import annotations

import json
import os
import random
import runpy
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from kinfolk.privacy import Allotment, read_account
from kinfolk.privacy.certificate import check_certificate, read_certificate

SCRIPT = Path(__file__).with_name("curator_crash_run.py")
ROUNDS, AFFORDABLE, REFUSED = (
    runpy.run_path(str(SCRIPT))[name] for name in ("ROUNDS", "AFFORDABLE", "REFUSED")
)


class Runner:
    """The process that forks runs and kills them."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._questions, self._answers = process.stdin, process.stdout
        assert self._answers.readline() == "ready\n"

    def __call__(self, *paths: Path, seconds: float) -> tuple[int, float]:
        """The exit status of a run and the seconds that it took."""
        self._questions.write(json.dumps([*map(str, paths), seconds]) + "\n")
        self._questions.flush()
        status, took = json.loads(self._answers.readline())
        return status, took


@contextmanager
def runner() -> Iterator[Runner]:
    # One thread: forking a process that has several is not safe.
    alone = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **alone},
    )
    with process:
        yield Runner(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(timeout=60) == 0


def cost(mechanism: Mapping[str, Any]) -> Fraction:
    """What a mechanism costs, from the definition and not from the code under test."""
    if mechanism["mechanism"] == "gaussian":
        return Fraction(mechanism["squared_sensitivity"]) / (2 * Fraction(mechanism["sigma"]) ** 2)
    return (2 * Fraction(mechanism["sensitivity"]) / Fraction(mechanism["scale"])) ** 2 / 8


def read_notes(path: Path) -> list[dict[str, Any]]:
    """What the runs noted; a kill may cut the last line of a life short."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]


def check(account: Allotment, notes: list[dict[str, Any]], before: Allotment | None) -> None:
    """The ledger against what the runs noted on their own, and against what it said before."""
    touched = Fraction(0)
    for note in notes:
        if "touched" in note:
            touched += cost(note["touched"])
            # Paid for, and on disk, before the counts were looked at.
            assert Fraction(note["on_disk"]) >= touched
    assert touched <= account.spent <= account.guarantee.rho
    assert account.spent == sum(spend.rho for spend in account.spends) + account.torn
    used: dict[str, Any] = {}
    for note in notes:
        if "step" in note:
            # Whatever life a value was used in, it is the value that the ledger holds.
            assert used.setdefault(note["step"], note) == note
            assert account.releases[note["step"]].value == note["used"]
    if before is not None:
        assert account.spent >= before.spent
        assert account.spends[: len(before.spends)] == before.spends
        assert before.releases.items() <= account.releases.items()


@dataclass
class Tally:
    killed: int = 0
    finished: int = 0
    refused: int = 0
    cut_off: int = 0
    """Debits without a release, over all ledgers."""
    resumed: int = 0
    """Runs that found something bought in an earlier life."""


def kill_often(folder: Path, *, kills: int, seed: int) -> Tally:
    moments, tally, number = random.Random(seed), Tally(), 0
    with runner() as start:
        # The time that a run takes here, so that kills fall all over it.
        paths = [folder / f"calm.{name}" for name in ("jsonl", "notes", "json")]
        status, length = start(*paths, seconds=60)
        assert status == 0
        while tally.killed < kills or not tally.finished:
            number += 1
            ledger, notes, certificate = paths = [
                folder / f"{number}.{name}" for name in ("jsonl", "notes", "json")
            ]
            before: Allotment | None = None
            while True:
                # Some runs are let alone, so that resumed ones also come to their end.
                let_alone = tally.killed >= kills or moments.random() < 0.2
                seconds = 60.0 if let_alone else moments.uniform(0, 0.7 * length)
                status, _ = start(*paths, seconds=seconds)
                if ledger.exists() and read_account(ledger).allotments:
                    account = read_account(ledger).last
                    check(account, read_notes(notes), before)
                    tally.resumed += before is not None and bool(before.releases)
                    before = account
                if status != -signal.SIGKILL:
                    break
                tally.killed += 1
            assert status in (0, REFUSED)
            assert before is not None
            tally.cut_off += len(before.unreleased)
            if status == REFUSED:
                tally.refused += 1
                assert before.remaining < before.guarantee.rho / AFFORDABLE
                continue
            tally.finished += 1
            written = read_certificate(certificate)
            assert check_certificate(written) == []
            assert [(spend["step"], spend["released"]) for spend in written["spends"]] == [
                (spend.key, spend not in before.unreleased) for spend in before.spends
            ]
            assert len(before.releases) == 2 * ROUNDS
    return tally


def test_kill_ten_times(tmp_path: Path) -> None:
    assert kill_often(tmp_path, kills=10, seed=1).killed == 10


@pytest.mark.slow
def test_kill_two_hundred_times(tmp_path: Path) -> None:
    tally = kill_often(tmp_path, kills=200, seed=2)
    # Kills that all fell outside the steps, or runs that never resumed, would prove nothing.
    assert tally.cut_off > 10
    assert tally.resumed > 20
