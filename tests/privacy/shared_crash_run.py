"""A release from a shared ledger, to be killed: started by test_shared_crash.py, two at a time.

It waits for its turn, draws what it can, and notes in a file of its own what it paid for, each
before it would look at any data.
"""

from __future__ import annotations

import os
import secrets
import sys
import time
from pathlib import Path

from kinfolk.errors import KinfolkError
from kinfolk.privacy import Gaussian, Guarantee, Ledger, Neighbours, OverspendError
from kinfolk.privacy.noise import discrete_gaussian

STEPS = 6
REFUSED = 3


def part() -> Guarantee:
    """What one release promises: some thirty of them fit into the total."""
    return Guarantee.of(neighbours=Neighbours.ADD_REMOVE, epsilon=0.35, delta=1e-9)


def run(path: Path, notes_path: Path, name: str) -> None:
    notes = os.open(notes_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    guarantee = part()
    while True:
        try:
            ledger = Ledger(path, guarantee, run={"name": name}, resume=False)
            break
        except OverspendError:
            raise
        except KinfolkError as error:
            if "being written by another process" not in str(error):
                raise
            time.sleep(0.001)
    with ledger:
        noise = Gaussian.for_rho(guarantee.rho / STEPS, squared_sensitivity=1)
        for step in range(STEPS):
            spend = ledger.debit(f"step {step}", noise, numbers=2000)
            os.write(notes, f"{name} {ledger.own.number} {spend.number}\n".encode())
            drawn = discrete_gaussian(noise.sigma, 20, below=secrets.randbelow) * 100
            ledger.release(spend, drawn, private=True)
        ledger.finish()
    os.close(notes)


if __name__ == "__main__":
    print("ready", flush=True)
    try:
        run(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
    except OverspendError:
        sys.exit(REFUSED)
