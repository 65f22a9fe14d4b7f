"""A small run through the curator, to be killed: started by test_curator_crash.py.

Starting Python takes longer than the run, so this process imports everything once and forks a child
for every run that it is asked for: a line with the paths and the seconds until `kill -9` comes in,
a line with the child's exit status and the seconds that it took goes out.

The child notes in a file of its own what a mechanism was given and what the run used, each before
it goes on. Those notes are what the ledger is checked against.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from kinfolk.privacy import OverspendError, curator, read_account
from kinfolk.privacy.certificate import certificate_of
from kinfolk.privacy.curator import Curator
from kinfolk.privacy.guarantee import Guarantee
from kinfolk.privacy.mechanisms import Mechanism
from kinfolk.privacy.noise import gaussian_measurement, noisy_max_measurement
from kinfolk.privacy.unit import Neighbours
from kinfolk.queries.counting import Counter
from kinfolk.queries.workload import Workload
from kinfolk.schema import Schema

ROUNDS = 5
AFFORDABLE = 14
"""So many steps fit into the budget; the run needs two for each round."""
REFUSED = 3

SCHEMA = Schema.from_text("""
group: {table: households, id: h, attributes: {cars: {values: [0, 1, 2]}}}
individual:
  table: persons
  group_id: h
  attributes: {sex: {values: [woman, man]}, age: {values: [0, 1, 2, 3]}}
max_size: 4
workload: {k: 2}
""")


def counted() -> Counter:
    """Counts as a counter would leave them; where they come from does not matter here."""
    counter = Counter(Workload.of(SCHEMA))
    counter.counts[:] = np.arange(counter.workload.size) ** 2
    counter.groups, counter.people = 500, 1200
    return counter


def run(ledger: Path, notes_path: Path, certificate: Path) -> None:
    """Select, measure, correct the estimates; note everything."""
    notes = os.open(notes_path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def note(**said: Any) -> None:
        os.write(notes, json.dumps(said).encode() + b"\n")

    def noted(honest: Any) -> Any:
        def mechanism(values: np.ndarray, bought: Mechanism, **rest: Any) -> Any:
            note(touched=bought.describe(), on_disk=str(read_account(ledger).spent))
            return honest(values, bought, **rest)

        return mechanism

    curator.measure, curator.select = noted(curator.measure), noted(curator.select)
    guarantee = Guarantee.of(neighbours=Neighbours.ADD_REMOVE, epsilon=1.0, delta=1e-9)
    with Curator(counted(), guarantee=guarantee, ledger=ledger) as gate:
        share = gate.guarantee.rho / AFFORDABLE
        estimates = np.zeros(gate.workload.size)
        for turn in range(ROUNDS):
            chosen = gate.select_query(estimates, rho=share, step=f"select {turn}")
            note(step=f"select {turn}", used=chosen)
            marginal = gate.workload.marginal_of(chosen)
            bought = gate.measure([marginal], rho=share, step=f"measure {turn}")
            note(step=f"measure {turn}", used=bought.values.tolist(), sigma=bought.sigma)
            place = slice(gate.workload.offsets[marginal], gate.workload.offsets[marginal + 1])
            estimates[place] = bought.values
        made = certificate_of(gate.account, gate.own, SCHEMA, head=gate.head)
        certificate.write_text(json.dumps(made), encoding="utf-8")


def child(paths: list[Path]) -> int:
    try:
        run(*paths)
    except OverspendError:
        return REFUSED
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


def start_and_kill(paths: list[Path], seconds: float) -> int:
    """The exit status of a run that gets so many seconds: -9 if it was killed."""
    process = os.fork()
    if process == 0:
        os._exit(child(paths))
    end = time.monotonic() + seconds
    while True:
        ended, status = os.waitpid(process, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= end:
            os.kill(process, signal.SIGKILL)
            return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        time.sleep(0.0005)


if __name__ == "__main__":
    # What is slow the first time is done here, once.
    gaussian_measurement(1.0)([0])
    noisy_max_measurement(1.0)([0])
    print("ready", flush=True)
    for line in sys.stdin:
        *paths, seconds = json.loads(line)
        start = time.monotonic()
        status = start_and_kill([Path(path) for path in paths], seconds)
        print(json.dumps([status, time.monotonic() - start]), flush=True)
