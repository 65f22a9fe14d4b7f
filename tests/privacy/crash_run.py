"""A small run to be killed: started by test_ledger_crash.py as a process of its own.

It notes in a second file what it touched and what it used, each before it goes on. Those notes are
what the ledger is checked against.
"""

from __future__ import annotations

import os
import secrets
import sys
import time
from pathlib import Path

from kinfolk.privacy import Gaussian, Guarantee, Ledger, Neighbours, OverspendError
from kinfolk.privacy.noise import discrete_gaussian

STEPS = 10
AFFORDABLE = 13
REFUSED = 3


def guarantee() -> Guarantee:
    return Guarantee.of(neighbours=Neighbours.ADD_REMOVE, epsilon=1.0, delta=1e-9)


def run(ledger_path: Path, notes_path: Path) -> None:
    """Buy what has not been bought: find, or debit, touch, release."""
    notes = os.open(notes_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    with Ledger(ledger_path, guarantee()) as ledger:
        noise = Gaussian.for_rho(ledger.own.guarantee.rho / AFFORDABLE, squared_sensitivity=2)
        for step in range(STEPS):
            key = f"measure {step}"
            release = ledger.find(key)
            if release is None:
                spend = ledger.debit(key, noise, numbers=6000)
                os.write(notes, f"touched {spend.number} {step}\n".encode())
                # Long enough that a release is sometimes cut off between two of its pages.
                drawn = discrete_gaussian(noise.sigma, 30, below=secrets.randbelow) * 200
                time.sleep(0.001)
                release = ledger.release(spend, drawn, private=True)
            os.write(notes, f"used {step} {hash(tuple(release.value))}\n".encode())
    os.close(notes)


if __name__ == "__main__":
    print("ready", flush=True)
    try:
        run(Path(sys.argv[1]), Path(sys.argv[2]))
    except OverspendError:
        sys.exit(REFUSED)
