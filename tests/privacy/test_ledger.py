"""The ledger: debit before release, never too much, and no way to rewrite it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from kinfolk.errors import KinfolkError
from kinfolk.privacy import (
    Accounting,
    Exponential,
    Gaussian,
    Ledger,
    OverspendError,
    Spend,
    Terms,
    Unit,
    durable,
    lock,
    read_account,
)


def _part(terms: Terms, parts: int) -> Gaussian:
    return Gaussian.for_rho(terms.rho / parts, squared_sensitivity=2)


def test_a_step_is_bought_once_and_replayed(path: Path, terms: Terms) -> None:
    with Ledger(path, terms) as ledger:
        assert ledger.find("a") is None
        spend = ledger.debit("a", _part(terms, 2))
        released = ledger.release(spend, np.array([5, -3]), private=True)
        assert released.value == [5, -3]
        with pytest.raises(KinfolkError, match="bought already"):
            ledger.debit("a", _part(terms, 4))
    with Ledger(path, terms) as resumed:
        again = resumed.find("a")
        assert again == released
        assert resumed.spent == spend.rho
        with pytest.raises(KinfolkError, match="bought already"):
            resumed.debit("a", _part(terms, 4))


def test_equal_parts_use_up_the_budget_and_one_more_is_refused(path: Path, terms: Terms) -> None:
    noise = _part(terms, 7)
    with Ledger(path, terms) as ledger:
        for part in range(7):
            ledger.debit(f"part {part}", noise)
        size = path.stat().st_size
        with pytest.raises(OverspendError, match="is left"):
            ledger.debit("one more", noise)
        assert path.stat().st_size == size
        assert ledger.spent == 7 * noise.rho() <= terms.rho


def test_a_debit_without_a_release_stays_spent(path: Path, terms: Terms) -> None:
    noise = _part(terms, 2)
    with Ledger(path, terms) as ledger:
        lost = ledger.debit("a", noise)
    with Ledger(path, terms) as resumed:
        assert resumed.account.unreleased == [lost]
        assert resumed.spent == lost.rho
        # Its value may have been seen: the old debit pays for nothing any more.
        with pytest.raises(KinfolkError, match="was not debited by this process"):
            resumed.release(lost, [1], private=True)
        bought_again = resumed.debit("a", noise)
        assert (bought_again.number, bought_again.key) == (2, "a")
        resumed.release(bought_again, [1], private=True)
    account = read_account(path)
    assert account.spent == 2 * noise.rho()
    assert account.unreleased == [lost]


def test_the_price_is_the_mechanisms(path: Path, terms: Terms) -> None:
    person = Unit.parse("person").within(max_size=9)
    paper = Terms.promise(
        unit=person, epsilon=1.0, delta=1e-9, private=True, accounting=Accounting.PAPER
    )
    choice = Exponential(sensitivity=1, scale=100.0)
    with Ledger(path, paper) as ledger:
        assert ledger.debit("choose", choice).rho == choice.rho(Accounting.PAPER)
    assert read_account(path).spends[0].mechanism == choice


def test_a_debit_is_on_disk_before_it_is_granted(
    path: Path, terms: Terms, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[int] = []
    flush = durable._flush
    with Ledger(path, terms) as ledger:
        monkeypatch.setattr(
            durable, "_flush", lambda handle: (flush(handle), flushed.append(path.stat().st_size))
        )
        spend = ledger.debit("a", _part(terms, 2))
        assert flushed == [path.stat().st_size]
        ledger.release(spend, 1, private=True)
        assert flushed[1:] == [path.stat().st_size]


@pytest.mark.parametrize("reaches_the_file", [False, True])
def test_a_failing_disk_closes_the_ledger(
    path: Path, terms: Terms, monkeypatch: pytest.MonkeyPatch, reaches_the_file: bool
) -> None:
    def fail(*_: object) -> None:
        raise OSError("no space left")

    noise = _part(terms, 3)
    with Ledger(path, terms) as ledger:
        with monkeypatch.context() as patch:
            patch.setattr(*((durable, "_flush") if reaches_the_file else (os, "write")), fail)
            with pytest.raises(OSError, match="no space left"):
                ledger.debit("a", noise)
        with pytest.raises(KinfolkError, match="broken by an error"):
            ledger.debit("b", noise)
    with Ledger(path, terms) as resumed:
        assert resumed.spent == (noise.rho() if reaches_the_file else 0)


def test_half_a_debit_counts(path: Path, terms: Terms) -> None:
    noise = _part(terms, 3)
    with Ledger(path, terms) as ledger:
        before = path.stat().st_size
        ledger.debit("a", noise)
    content = path.read_bytes()
    amount_ends = content.index(b'"number"', before)

    path.write_bytes(content[:amount_ends])
    assert read_account(path).spent == noise.rho()
    with Ledger(path, terms) as resumed:
        assert resumed.account.torn == noise.rho()
        resumed.debit("b", noise)
    assert read_account(path).spent == 2 * noise.rho()

    # Cut before the amount is legible, or garbage: all that is left may have been spent.
    for torn in (content[before : before + 20], b"\0" * 50, b"{"):
        path.write_bytes(content[:before] + torn)
        assert read_account(path).remaining == 0
        with (
            Ledger(path, terms) as resumed,
            pytest.raises(OverspendError),
        ):
            resumed.debit("b", noise)


def test_half_a_release_is_a_debit_without_a_release(path: Path, terms: Terms) -> None:
    noise = _part(terms, 3)
    with Ledger(path, terms) as ledger:
        spend = ledger.debit("a", noise)
        ledger.release(spend, list(range(1000)), private=True)
    path.write_bytes(path.read_bytes()[:-500])
    with Ledger(path, terms) as resumed:
        assert resumed.find("a") is None
        assert resumed.spent == noise.rho()
        assert resumed.account.torn == 0


def test_planted_bug_a_debit_that_was_skipped(path: Path, terms: Terms) -> None:
    with Ledger(path, terms) as ledger:
        noise = _part(terms, 3)
        never = Spend(number=1, key="a", mechanism=noise, rho=noise.rho())
        with pytest.raises(KinfolkError, match="was not debited"):
            ledger.release(never, [1], private=True)


def test_planted_bug_a_budget_that_promises_too_much(terms: Terms) -> None:
    with pytest.raises(KinfolkError, match="does not keep the promise"):
        replace(terms, rho=terms.rho * Fraction(1001, 1000))
    with pytest.raises(KinfolkError, match="does not keep the promise"):
        replace(terms, accounting=Accounting.PAPER)


def test_a_seeded_value_cannot_enter_a_private_ledger(path: Path, terms: Terms) -> None:
    with Ledger(path, terms) as ledger:
        spend = ledger.debit("a", _part(terms, 2))
        with pytest.raises(KinfolkError, match="drawn with a seed"):
            ledger.release(spend, [1], private=False)
    seeded = replace(terms, private=False)
    with pytest.raises(KinfolkError, match="begun with private = True"):
        Ledger(path, seeded)
    with Ledger(path.with_name("seeded.jsonl"), seeded) as ledger:
        ledger.release(ledger.debit("a", _part(terms, 2)), [1], private=False)
        assert not ledger.account.terms.private


def test_a_run_resumes_under_its_own_terms_only(path: Path, terms: Terms) -> None:
    Ledger(path, terms).close()
    other_unit = Unit.parse("person").within(max_size=9)
    for changed in (
        replace(terms, run={"rounds": 11}),
        Terms.promise(unit=terms.unit, epsilon=2.0, delta=1e-9, private=True, run=terms.run),
        Terms.promise(unit=other_unit, epsilon=1.0, delta=1e-9, private=True, run=terms.run),
    ):
        with pytest.raises(KinfolkError, match="Resume with the same settings"):
            Ledger(path, changed)
    Ledger(path, terms).close()


def test_one_writer_at_a_time(path: Path, terms: Terms) -> None:
    with Ledger(path, terms):
        with pytest.raises(KinfolkError, match="being written by another process"):
            Ledger(path, terms)
        assert read_account(path).spent == 0
    Ledger(path, terms).close()


def test_one_writer_at_a_time_without_posix_locks(
    path: Path, terms: Terms, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "fcntl_or_none", None)
    with (
        Ledger(path, terms),
        pytest.raises(KinfolkError, match=r"delete ledger.jsonl.lock"),
    ):
        Ledger(path, terms)
    Ledger(path, terms).close()


def test_another_process_is_kept_out(path: Path, terms: Terms) -> None:
    code = (
        "import sys; from pathlib import Path; from kinfolk.privacy.lock import WriterLock; "
        "WriterLock(Path(sys.argv[1]))"
    )
    with Ledger(path, terms):
        blocked = subprocess.run(
            [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False
        )
    assert "being written by another process" in blocked.stderr


def test_a_fork_cannot_buy(path: Path, terms: Terms, monkeypatch: pytest.MonkeyPatch) -> None:
    with Ledger(path, terms) as ledger:
        monkeypatch.setattr(os, "getpid", lambda: -1)
        with pytest.raises(KinfolkError, match="opened by another process"):
            ledger.debit("a", _part(terms, 2))


@pytest.mark.parametrize("harm", ["append", "delete"])
def test_a_file_changed_behind_its_back_is_refused(path: Path, terms: Terms, harm: str) -> None:
    with Ledger(path, terms) as ledger:
        if harm == "append":
            path.write_bytes(path.read_bytes() + b" ")
        else:
            path.unlink()
        for _ in range(2):
            with pytest.raises(KinfolkError, match="no longer the file"):
                ledger.debit("a", _part(terms, 2))


@pytest.mark.parametrize("content", [b"", b'{"kind":"header","for'])
def test_a_ledger_without_a_header_is_refused(path: Path, terms: Terms, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(KinfolkError, match="its budget is not known"):
        Ledger(path, terms)


def test_a_closed_ledger_and_unrecordable_values(path: Path, terms: Terms) -> None:
    with Ledger(path, terms) as ledger:
        spend = ledger.debit("a", _part(terms, 3))
        with pytest.raises(KinfolkError, match="type ndarray cannot be recorded"):
            ledger.release(spend, np.array([0.5]), private=True)
        assert ledger.release(spend, np.int64(4), private=True).value == 4
    ledger.close()
    with pytest.raises(KinfolkError, match="is closed"):
        ledger.debit("b", _part(terms, 3))
