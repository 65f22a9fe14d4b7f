"""No line of a ledger can be changed, moved, removed or made up unnoticed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kinfolk.errors import KinfolkError
from kinfolk.privacy import Gaussian, Ledger, Terms, read_account
from kinfolk.privacy.chain import START, seal


def _filled(path: Path, terms: Terms) -> list[bytes]:
    noise = Gaussian.for_rho(terms.rho / 3, squared_sensitivity=2)
    with Ledger(path, terms) as ledger:
        for key in ("a", "b"):
            ledger.release(ledger.debit(key, noise), [1, 2], private=True)
    return path.read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize(
    "tamper",
    [
        lambda lines: [*lines[:1], *lines[2:]],
        lambda lines: lines[1:],
        lambda lines: [*lines[:2], lines[1], *lines[2:]],
        lambda lines: [lines[0], lines[3], lines[4], lines[1], lines[2]],
        lambda lines: [*lines[:3], b"\n", *lines[3:]],
        lambda lines: [*lines[:2], lines[2].replace(b"[1,2]", b"[1,3]"), *lines[3:]],
        lambda lines: [lines[0].replace(b'"epsilon":1.0', b'"epsilon":9.0'), *lines[1:]],
        lambda lines: [*lines[:4], lines[4][:-9] + b"\n"],
        lambda lines: [*lines[:2], lines[2][:30], *lines[3:]],
    ],
)
def test_tampering_shows(
    path: Path, terms: Terms, tamper: Callable[[list[bytes]], list[bytes]]
) -> None:
    path.write_bytes(b"".join(tamper(_filled(path, terms))))
    with pytest.raises(KinfolkError, match=r"ledger.jsonl, line \d"):
        read_account(path)
    with pytest.raises(KinfolkError, match=r"ledger.jsonl, line \d"):
        Ledger(path, terms)


def test_every_flipped_byte_shows(path: Path, terms: Terms) -> None:
    content = bytearray(b"".join(_filled(path, terms)))
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


@pytest.mark.parametrize(
    ("line", "change"),
    [
        (1, {"rho": "1/1099511627776"}),
        (1, {"number": 2}),
        (1, {"mechanism": {"mechanism": "gaussian", "squared_sensitivity": "2", "sigma": 1.0}}),
        (1, {"mechanism": {"mechanism": "magic"}}),
        (1, {"kind": "gift"}),
        (2, {"number": 0}),
        (2, {"number": 9}),
        (2, {"number": "1"}),
        (2, {"key": "b"}),
        (2, {"private": False}),
        (3, {"key": "a"}),
        (0, {"format": "kinfolk ledger 0"}),
        (0, {"terms": {}}),
    ],
)
def test_planted_bugs_with_a_valid_chain_are_refused(
    path: Path, terms: Terms, line: int, change: dict[str, object]
) -> None:
    entries = [json.loads(one) for one in _filled(path, terms)]
    for entry in entries:
        del entry["previous"], entry["check"]
    _forge(path, entries)
    assert len(read_account(path).releases) == 2
    entries[line].update(change)
    _forge(path, entries)
    with pytest.raises(KinfolkError, match=f"line {line + 1} breaks the rules"):
        read_account(path)
