"""No line of a ledger can be changed, moved, removed or made up unnoticed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kinfolk.errors import KinfolkError
from kinfolk.privacy import Gaussian, Guarantee, Ledger, read_account
from kinfolk.privacy.chain import START, Head, seal


def _filled(path: Path, guarantee: Guarantee) -> list[bytes]:
    noise = Gaussian.for_rho(guarantee.rho / 3, squared_sensitivity=2)
    with Ledger(path, guarantee) as ledger:
        for key in ("a", "b"):
            ledger.release(ledger.debit(key, noise), [1, 2], private=True)
    return path.read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize(
    "tamper",
    [
        lambda lines: [*lines[:1], *lines[2:]],
        lambda lines: lines[1:],
        lambda lines: [*lines[:2], lines[1], *lines[2:]],
        lambda lines: [*lines[:2], lines[4], lines[5], lines[2], lines[3]],
        lambda lines: [*lines[:3], b"\n", *lines[3:]],
        lambda lines: [*lines[:3], lines[3].replace(b"[1,2]", b"[1,3]"), *lines[4:]],
        lambda lines: [lines[0].replace(b'"epsilon":1.0', b'"epsilon":9.0'), *lines[1:]],
        lambda lines: [*lines[:5], lines[5][:-9] + b"\n"],
        lambda lines: [*lines[:2], lines[2][:30], *lines[3:]],
    ],
)
def test_tampering_shows(
    path: Path, guarantee: Guarantee, tamper: Callable[[list[bytes]], list[bytes]]
) -> None:
    path.write_bytes(b"".join(tamper(_filled(path, guarantee))))
    with pytest.raises(KinfolkError, match=r"ledger.jsonl, line \d"):
        read_account(path)
    with pytest.raises(KinfolkError, match=r"ledger.jsonl, line \d"):
        Ledger(path, guarantee)


def test_every_flipped_byte_shows(path: Path, guarantee: Guarantee) -> None:
    content = bytearray(b"".join(_filled(path, guarantee)))
    for place in range(0, len(content) - 1, 37):
        content[place] ^= 1
        path.write_bytes(content)
        with pytest.raises(KinfolkError):
            read_account(path)
        content[place] ^= 1


def _forge(path: Path, entries: list[dict[str, object]]) -> None:
    """A ledger whose hashes are all in order, whatever its lines say."""
    content, last = b"", START
    for entry in entries:
        line, last = seal(entry, previous=last)
        content += line
    path.write_bytes(content)
    Head.beside(path).write_bytes(Head(lines=len(entries), check=last).content)


@pytest.mark.parametrize(
    ("line", "change"),
    [
        (2, {"rho": "1/1099511627776"}),
        (2, {"number": 2}),
        (2, {"mechanism": {"mechanism": "gaussian", "squared_sensitivity": "2", "sigma": 1.0}}),
        (2, {"mechanism": {"mechanism": "magic"}}),
        (2, {"kind": "gift"}),
        (2, {"release": 2}),
        (2, {"release": "1"}),
        (3, {"number": 0}),
        (3, {"number": 9}),
        (3, {"number": "1"}),
        (3, {"key": "b"}),
        (3, {"private": False}),
        (4, {"key": "a"}),
        (1, {"guarantee": {}}),
        (1, {"release": 2}),
        (1, {"private": False}),
        (0, {"format": "kinfolk ledger 0"}),
        (0, {"guarantee": {}}),
    ],
)
def test_planted_bugs_with_a_valid_chain_are_refused(
    path: Path, guarantee: Guarantee, line: int, change: dict[str, object]
) -> None:
    entries = [json.loads(one) for one in _filled(path, guarantee)]
    for entry in entries:
        del entry["previous"], entry["check"]
    _forge(path, entries)
    assert len(read_account(path).last.releases) == 2
    entries[line].update(change)
    _forge(path, entries)
    with pytest.raises(KinfolkError, match=f"line {line + 1} breaks the rules"):
        read_account(path)


def test_a_tail_that_was_cut_off_shows(path: Path, guarantee: Guarantee) -> None:
    """The file alone is in order; its companion knows better."""
    lines = _filled(path, guarantee)
    for kept in range(1, len(lines)):
        path.write_bytes(b"".join(lines[:kept]))
        for use in (read_account, lambda place: Ledger(place, guarantee)):
            with pytest.raises(KinfolkError, match="was shortened or replaced"):
                use(path)
    Head.beside(path).unlink()
    path.write_bytes(b"".join(lines))
    with pytest.raises(KinfolkError, match=r"no companion ledger.jsonl.head"):
        read_account(path)
    Head.beside(path).write_bytes(b"000000000001 what\n")
    with pytest.raises(KinfolkError, match="was changed or damaged"):
        read_account(path)


def test_a_ledger_of_the_first_kind_is_named(path: Path, guarantee: Guarantee) -> None:
    """It never had a companion, and must not be taken for one that lost it."""
    header = {"kind": "header", "format": "kinfolk ledger 1", "terms": {}}
    _forge(path, [header, {"kind": "spend", "rho": "1/4"}])
    Head.beside(path).unlink()
    for use in (read_account, lambda place: Ledger(place, guarantee)):
        with pytest.raises(KinfolkError, match="written by an earlier version of kinfolk"):
            use(path)


def test_an_empty_companion_is_none(path: Path, guarantee: Guarantee) -> None:
    """As after a kill when the ledger had just begun, and never once something is spent."""
    lines = _filled(path, guarantee)
    Head.beside(path).write_bytes(b"")
    with pytest.raises(KinfolkError, match=r"no companion ledger.jsonl.head"):
        read_account(path)
    path.write_bytes(lines[0])
    assert read_account(path).spent == 0
    with Ledger(path, guarantee) as ledger:
        # There before anything else is: a kill after the next line finds it.
        assert Head.read(path) is not None
        spent = ledger.debit("a", Gaussian.for_rho(guarantee.rho / 3, squared_sensitivity=2)).rho
    assert read_account(path).spent == spent


def test_a_companion_may_lag_behind(path: Path, guarantee: Guarantee) -> None:
    """As after a crash between a line and its record."""
    with Ledger(path, guarantee) as ledger:
        old = ledger.head.content
        noise = Gaussian.for_rho(guarantee.rho / 3, squared_sensitivity=2)
        spent = ledger.debit("a", noise).rho
    Head.beside(path).write_bytes(old)
    assert read_account(path).spent == spent
    with Ledger(path, guarantee) as ledger:
        ledger.debit("b", noise)
        assert Head.read(path) == ledger.head
