"""Lines that vouch for one another: the file format under the ledger.

A line is a JSON object that ends in the hash of everything before it, and holds the hash of the
line above. A changed, missing, added or reordered line therefore shows, and so does a line that was
only half written. The chain is evidence, not a lock: whoever can write the file can forge all of
it, or put back an older copy. Keep the hash of the last line elsewhere if that matters.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kinfolk.errors import KinfolkError

START = "0" * 64
"""What the first line names as the hash above it."""

_SEAL = re.compile(rb',"check":"([0-9a-f]{64})"\}')
_SEAL_LENGTH = len(',"check":""}') + 64
_HALF_SPEND = re.compile(rb'\{"kind":"spend","rho":"([0-9]{1,200}/[0-9]{1,200})"')


@dataclass(frozen=True, kw_only=True)
class Chain:
    """What a file holds: whole lines that vouch for one another, and perhaps half a line."""

    entries: tuple[dict[str, Any], ...]
    """The entries, one for each whole line."""
    last: str
    """The hash of the last whole line."""
    whole: bytes
    """The whole lines as they stand in the file."""
    torn: bytes
    """What follows the last line end: empty, or a line whose writing was cut short."""


def seal(entry: Mapping[str, Any], *, previous: str) -> tuple[bytes, str]:
    """The line for an entry, and its hash.

    >>> line, check = seal({"kind": "spend", "rho": "1/4"}, previous=START)
    >>> line.startswith(b'{"kind":"spend","rho":"1/4","previous":"0000')
    True
    """
    text = json.dumps(
        {**entry, "previous": previous}, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )
    body = text[:-1].encode("ascii")
    check = hashlib.sha256(body).hexdigest()
    return body + f',"check":"{check}"}}\n'.encode("ascii"), check


def read_chain(path: Path) -> Chain:
    """The lines of a file, each checked against its own hash and the line above.

    A line that does not check out is refused, because what it said was spent is not known. Half a
    line at the very end is what a crash leaves behind: it is handed over as `torn`.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "ledger.jsonl"
    >>> _ = path.write_bytes(seal({"kind": "spend"}, previous=START)[0] + b'{"kind":"rel')
    >>> chain = read_chain(path)
    >>> len(chain.entries), chain.torn
    (1, b'{"kind":"rel')
    """
    content = path.read_bytes()
    end = content.rfind(b"\n") + 1
    whole, torn = content[:end], content[end:]
    entries: list[dict[str, Any]] = []
    previous = START
    for number, line in enumerate(_lines(whole), start=1):
        entry, previous = _unseal(line, previous, where=f"{path.name}, line {number}")
        entries.append(entry)
    return Chain(entries=tuple(entries), last=previous, whole=whole, torn=torn)


def torn_spend(torn: bytes) -> str | None:
    """The amount that half a line may have spent: "" where it may be anything, None where nothing.

    Only a line that visibly begins as something else is known not to be a spend.

    >>> torn_spend(b'{"kind":"spend","rho":"1/4","num')
    '1/4'
    >>> torn_spend(b'{"kind":"spend","rho":"1'), torn_spend(b'{"kind":"relea')
    ('', None)
    """
    start = b'{"kind":"released"'
    if len(torn) > len(b'{"kind":"') and torn[: len(start)] == start[: len(torn)]:
        return None
    legible = _HALF_SPEND.match(torn)
    return legible.group(1).decode("ascii") if legible else ""


def _lines(whole: bytes) -> Iterable[bytes]:
    # Not splitlines(): that also splits at characters that are no line end in JSON lines.
    return whole.split(b"\n")[:-1]


def _unseal(line: bytes, previous: str, *, where: str) -> tuple[dict[str, Any], str]:
    """The entry of a whole line, and its hash."""
    body, end = line[:-_SEAL_LENGTH], line[-_SEAL_LENGTH:]
    match = _SEAL.fullmatch(end)
    if match is None or hashlib.sha256(body).hexdigest() != match.group(1).decode("ascii"):
        raise KinfolkError(
            f"{where} was changed or damaged: it does not match its own hash. "
            "What it spent is not known, so nothing more can be bought on this ledger. Restore an "
            "undamaged copy, and count everything as spent if there is none."
        )
    try:
        entry = json.loads(body + b"}")
    except ValueError:
        entry = None
    if not isinstance(entry, dict) or entry.pop("previous", None) != previous:
        raise KinfolkError(
            f"{where} does not follow the line above it: lines were removed, added or reordered. "
            "Restore an undamaged copy, and count everything as spent if there is none."
        )
    return entry, match.group(1).decode("ascii")
