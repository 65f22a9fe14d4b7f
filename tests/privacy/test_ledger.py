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

from kinfolk import _io
from kinfolk.errors import KinfolkError
from kinfolk.privacy import (
    Accounting,
    Exponential,
    Gaussian,
    Guarantee,
    Ledger,
    OverspendError,
    Spend,
    chain,
    create_ledger,
    read_account,
)
from kinfolk.privacy.chain import Head
from kinfolk.privacy.ledger import NUMBER
from promises import IN_PLACE, REPLACE, promise


def _part(guarantee: Guarantee, parts: int) -> Gaussian:
    return Gaussian.for_rho(guarantee.rho / parts, squared_sensitivity=2)


def test_a_step_is_bought_once_and_replayed(path: Path, guarantee: Guarantee) -> None:
    with Ledger(path, guarantee) as ledger:
        assert ledger.find("a") is None
        spend = ledger.debit("a", _part(guarantee, 2))
        released = ledger.release(spend, np.array([5, -3]), private=True)
        assert released.value == [5, -3]
        with pytest.raises(KinfolkError, match="bought already"):
            ledger.debit("a", _part(guarantee, 4))
    with Ledger(path, guarantee) as resumed:
        again = resumed.find("a")
        assert again == released
        assert resumed.spent == spend.rho
        with pytest.raises(KinfolkError, match="bought already"):
            resumed.debit("a", _part(guarantee, 4))


def test_equal_parts_use_up_the_budget_and_one_more_is_refused(
    path: Path, guarantee: Guarantee
) -> None:
    noise = _part(guarantee, 7)
    with Ledger(path, guarantee) as ledger:
        for part in range(7):
            ledger.debit(f"part {part}", noise)
        size = path.stat().st_size
        with pytest.raises(OverspendError, match="is left"):
            ledger.debit("one more", noise)
        assert path.stat().st_size == size
        assert ledger.spent == 7 * noise.rho() <= guarantee.rho


def test_a_debit_without_a_release_stays_spent(path: Path, guarantee: Guarantee) -> None:
    noise = _part(guarantee, 2)
    with Ledger(path, guarantee) as ledger:
        lost = ledger.debit("a", noise)
    with Ledger(path, guarantee) as resumed:
        assert resumed.own.unreleased == [lost]
        assert resumed.spent == lost.rho
        # Its value may have been seen: the old debit pays for nothing any more.
        with pytest.raises(KinfolkError, match="was not debited by this process"):
            resumed.release(lost, [1], private=True)
        bought_again = resumed.debit("a", noise)
        assert (bought_again.number, bought_again.key) == (2, "a")
        resumed.release(bought_again, [1], private=True)
    account = read_account(path).last
    assert account.spent == 2 * noise.rho()
    assert account.unreleased == [lost]


def test_the_price_is_the_mechanisms(path: Path, guarantee: Guarantee) -> None:
    paper = promise(IN_PLACE, delta=1e-9, accounting=Accounting.PAPER)
    choice = Exponential(sensitivity=1, scale=100.0)
    with Ledger(path, paper) as ledger:
        assert ledger.debit("choose", choice).rho == choice.rho(Accounting.PAPER)
    assert read_account(path).last.spends[0].mechanism == choice


def test_a_debit_is_on_disk_before_it_is_granted(
    path: Path, guarantee: Guarantee, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[bytes] = []
    flush = _io._flush
    with Ledger(path, guarantee) as ledger:
        monkeypatch.setattr(
            _io, "_flush", lambda handle: (flush(handle), flushed.append(path.read_bytes()))
        )
        spend = ledger.debit("a", _part(guarantee, 2))
        # Room for what will be released comes first, then the line, then the companion.
        room, line, companion = flushed
        assert room.count(b"\n") + 1 == line.count(b"\n") == companion.count(b"\n")
        assert len(room) == len(line) > len(line.rstrip(b" ")) + NUMBER
        flushed.clear()
        ledger.release(spend, 1, private=True)
        assert b'"value":1' in flushed[0]
        # What is released takes the room that was kept for it.
        assert len(flushed[0]) == len(line)


def test_a_full_disk_is_noticed_before_anything_is_spent(
    path: Path, guarantee: Guarantee, monkeypatch: pytest.MonkeyPatch
) -> None:
    noise = _part(guarantee, 3)
    with Ledger(path, guarantee) as ledger:
        before = path.read_bytes()
        with monkeypatch.context() as patch:
            patch.setattr(os, "pwrite", full_disk)
            with pytest.raises(KinfolkError, match=r"no room for what would be released.*--resume"):
                ledger.debit("a", noise, numbers=10**6)
        assert path.read_bytes() == before
        assert ledger.spent == 0
        # There is room again.
        spend = ledger.debit("a", noise)
        assert os.stat(path).st_size > len(path.read_bytes().rstrip(b" "))
        with monkeypatch.context() as patch:
            patch.setattr(ledger, "_make_room", no_more_room)
            ledger.release(spend, [1, 2], private=True)
    assert not path.read_bytes().endswith(b" ")
    assert read_account(path).last.releases["a"].value == [1, 2]


def full_disk(*_: object) -> None:
    raise OSError(28, "No space left on device")


def no_more_room(length: int) -> None:
    """A release must fit into what was reserved for it."""
    assert length < NUMBER + 4096


@pytest.mark.parametrize("reaches_the_file", [False, True])
def test_a_failing_disk_closes_the_ledger(
    path: Path, guarantee: Guarantee, monkeypatch: pytest.MonkeyPatch, reaches_the_file: bool
) -> None:
    def fail(*_: object) -> None:
        raise OSError("no space left")

    noise = _part(guarantee, 3)
    with Ledger(path, guarantee) as ledger:
        with monkeypatch.context() as patch:
            # The room is there; the line itself fails, before or after it is in the file.
            ledger._make_room(100_000)
            patch.setattr(*((_io, "_flush") if reaches_the_file else (os, "pwrite")), fail)
            with pytest.raises(OSError, match="no space left"):
                ledger.debit("a", noise)
        with pytest.raises(KinfolkError, match="broken by an error"):
            ledger.debit("b", noise)
    with Ledger(path, guarantee) as resumed:
        assert resumed.spent == (noise.rho() if reaches_the_file else 0)


def test_half_a_debit_counts(path: Path, guarantee: Guarantee) -> None:
    noise = _part(guarantee, 3)
    with Ledger(path, guarantee) as ledger:
        before, head = path.stat().st_size, Head.beside(path).read_bytes()
        ledger.debit("a", noise)
    content = path.read_bytes()
    Head.beside(path).write_bytes(head)
    amount_ends = content.index(b'"number"', before)

    path.write_bytes(content[:amount_ends])
    assert read_account(path).spent == noise.rho()
    with Ledger(path, guarantee) as resumed:
        assert resumed.own.torn == noise.rho()
        resumed.debit("b", noise)
    assert read_account(path).spent == 2 * noise.rho()
    Head.beside(path).write_bytes(head)

    # Cut before the amount is legible, or garbage: all that is left may have been spent.
    for torn in (content[before : before + 20], b"\0" * 50, b"{"):
        path.write_bytes(content[:before] + torn)
        assert read_account(path).last.remaining == 0
        with (
            Ledger(path, guarantee) as resumed,
            pytest.raises(OverspendError),
        ):
            resumed.debit("b", noise)
        Head.beside(path).write_bytes(head)


def test_half_a_release_is_a_debit_without_a_release(path: Path, guarantee: Guarantee) -> None:
    noise = _part(guarantee, 3)
    with Ledger(path, guarantee) as ledger:
        spend = ledger.debit("a", noise)
        head = Head.beside(path).read_bytes()
        ledger.release(spend, list(range(1000)), private=True)
    path.write_bytes(path.read_bytes()[:-500])
    Head.beside(path).write_bytes(head)
    with Ledger(path, guarantee) as resumed:
        assert resumed.find("a") is None
        assert resumed.spent == noise.rho()
        assert resumed.own.torn == 0


def test_planted_bug_a_debit_that_was_skipped(path: Path, guarantee: Guarantee) -> None:
    with Ledger(path, guarantee) as ledger:
        noise = _part(guarantee, 3)
        never = Spend(number=1, key="a", mechanism=noise, rho=noise.rho(), bought={})
        with pytest.raises(KinfolkError, match="was not debited"):
            ledger.release(never, [1], private=True)


def test_planted_bug_a_budget_that_promises_too_much(guarantee: Guarantee) -> None:
    with pytest.raises(KinfolkError, match="does not keep the promise"):
        replace(guarantee, rho=guarantee.rho * Fraction(1001, 1000))
    person = replace(guarantee, neighbours=IN_PLACE)
    with pytest.raises(KinfolkError, match="does not keep the promise"):
        replace(person, accounting=Accounting.PAPER)


def test_a_seeded_value_cannot_enter_a_private_ledger(path: Path, guarantee: Guarantee) -> None:
    with Ledger(path, guarantee) as ledger:
        spend = ledger.debit("a", _part(guarantee, 2))
        with pytest.raises(KinfolkError, match="drawn with a seed"):
            ledger.release(spend, [1], private=False)
    with pytest.raises(KinfolkError, match="begun with private = True"):
        Ledger(path, guarantee, private=False)
    with Ledger(path.with_name("seeded.jsonl"), guarantee, private=False) as ledger:
        ledger.release(ledger.debit("a", _part(guarantee, 2)), [1], private=False)
        assert not ledger.own.private


def test_a_run_resumes_under_its_own_terms_only(path: Path, guarantee: Guarantee) -> None:
    run = {"rounds": 10}
    Ledger(path, guarantee, run=run).close()
    for changed, other in (
        (guarantee, {"rounds": 11}),
        (guarantee, {}),
        (promise(epsilon=2.0, delta=1e-9), run),
        (promise(REPLACE, delta=1e-9), run),
    ):
        with pytest.raises(KinfolkError, match="Resume with the same settings"):
            Ledger(path, changed, run=other)
    Ledger(path, guarantee, run=run).close()


def test_one_writer_at_a_time(path: Path, guarantee: Guarantee) -> None:
    with Ledger(path, guarantee):
        with pytest.raises(KinfolkError, match="being written by another process"):
            Ledger(path, guarantee)
        assert read_account(path).spent == 0
    Ledger(path, guarantee).close()


def test_one_writer_at_a_time_without_posix_locks(
    path: Path, guarantee: Guarantee, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chain, "fcntl_or_none", None)
    with (
        Ledger(path, guarantee),
        pytest.raises(KinfolkError, match=r"delete ledger.jsonl.lock"),
    ):
        Ledger(path, guarantee)
    Ledger(path, guarantee).close()


def test_another_process_is_kept_out(path: Path, guarantee: Guarantee) -> None:
    code = (
        "import sys; from pathlib import Path; from kinfolk.privacy.chain import WriterLock; "
        "WriterLock(Path(sys.argv[1]))"
    )
    with Ledger(path, guarantee):
        blocked = subprocess.run(
            [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False
        )
    assert "being written by another process" in blocked.stderr


def test_a_fork_cannot_buy(
    path: Path, guarantee: Guarantee, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Ledger(path, guarantee) as ledger:
        monkeypatch.setattr(os, "getpid", lambda: -1)
        with pytest.raises(KinfolkError, match="opened by another process"):
            ledger.debit("a", _part(guarantee, 2))


@pytest.mark.parametrize("harm", ["append", "delete"])
def test_a_file_changed_behind_its_back_is_refused(
    path: Path, guarantee: Guarantee, harm: str
) -> None:
    with Ledger(path, guarantee) as ledger:
        if harm == "append":
            path.write_bytes(path.read_bytes() + b" ")
        else:
            path.unlink()
        for _ in range(2):
            with pytest.raises(KinfolkError, match="no longer the file"):
                ledger.debit("a", _part(guarantee, 2))


@pytest.mark.parametrize("content", [b"", b'{"kind":"header","for'])
def test_a_ledger_without_a_header_is_refused(
    path: Path, guarantee: Guarantee, content: bytes
) -> None:
    path.write_bytes(content)
    with pytest.raises(KinfolkError, match="its budget is not known"):
        Ledger(path, guarantee)


def test_a_closed_ledger_and_unrecordable_values(path: Path, guarantee: Guarantee) -> None:
    with Ledger(path, guarantee) as ledger:
        spend = ledger.debit("a", _part(guarantee, 3))
        with pytest.raises(KinfolkError, match="type ndarray cannot be recorded"):
            ledger.release(spend, np.array([0.5]), private=True)
        assert ledger.release(spend, np.int64(4), private=True).value == 4
    ledger.close()
    with pytest.raises(KinfolkError, match="is closed"):
        ledger.debit("b", _part(guarantee, 3))


def test_a_finished_release_does_not_take_its_part_back(path: Path, guarantee: Guarantee) -> None:
    """What it gave back may be spent: then it cannot go on, and nothing is overspent."""
    create_ledger(path, guarantee)
    noise = _part(guarantee, 2)
    with Ledger(path, guarantee, run={"name": "first"}) as ledger:
        spend = ledger.debit("a", noise)
        ledger.finish()
    half = promise(epsilon=0.5, delta=1e-9)
    with Ledger(path, half, run={"name": "second"}, resume=False) as ledger:
        ledger.debit("b", Gaussian.for_rho(half.rho, squared_sensitivity=2))
        ledger.finish()
    with (
        Ledger(path, guarantee, run={"name": "first"}) as ledger,
        pytest.raises(OverspendError, match="what it left has been taken by others"),
    ):
        ledger.debit("c", _part(guarantee, 4))
    account = read_account(path)
    assert account.spent <= account.total.rho
    assert account.allotments[0].unreleased == [spend]


@pytest.mark.parametrize(
    "torn", [b'{"kind":"opened","rel', b'{"kind":"clo', b'{"kind":"resumed"', b'{"kind":"d']
)
def test_half_a_line_that_spends_nothing_spends_nothing(
    path: Path, guarantee: Guarantee, torn: bytes
) -> None:
    with Ledger(path, guarantee) as ledger:
        spent = ledger.debit("a", _part(guarantee, 3)).rho
    with path.open("ab") as file:
        file.write(torn)
    assert read_account(path).spent == spent
    with Ledger(path, guarantee) as ledger:
        assert ledger.spent == spent
        ledger.debit("b", _part(guarantee, 3))
