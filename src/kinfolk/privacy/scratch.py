"""A place for ledgers that nobody needs afterwards."""

from __future__ import annotations

from pathlib import Path


def quick_folder() -> str | None:
    """A folder in memory where there is one: ledgers wait for the disk at every step."""
    memory = Path("/dev/shm")  # noqa: S108  (a new folder inside, which nobody else can read)
    return str(memory) if memory.is_dir() else None
