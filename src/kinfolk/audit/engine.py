"""Run something private many times, guess, and bound from below what it must have cost."""

from __future__ import annotations

import secrets
from collections.abc import Callable

import numpy as np

from kinfolk._io import passing_folder
from kinfolk.audit.guess import Claim, judge_clues
from kinfolk.audit.result import AuditResult
from kinfolk.audit.search import one_thread
from kinfolk.audit.subjects import SUBJECTS, Kind
from kinfolk.errors import KinfolkError
from kinfolk.privacy.accounting import Accounting
from kinfolk.privacy.guarantee import Guarantee
from kinfolk.privacy.unit import Neighbours, Wording
from kinfolk.schema.findings import did_you_mean

FEWEST = 40


def audit(
    what: str,
    *,
    neighbours: Neighbours,
    epsilon: float,
    delta: float,
    accounting: Accounting | None = None,
    runs: int = 1000,
    confidence: float = 0.999,
    advance: Callable[[], object] = lambda: None,
) -> AuditResult:
    """Audit one of `SUBJECTS` at a budget; `advance` is called after every run.

    The accounting is by default the subject's own, see `SUBJECTS`.

    Guarantee: if everything costs what the ledger says, the verdict is "violated" in at most a
    share 1 - confidence of all audits. A verdict of "consistent" proves nothing.

    >>> added = Neighbours.ADD_REMOVE
    >>> result = audit("select", neighbours=added, epsilon=2.0, delta=1e-5, runs=40)
    >>> result.verdict.value, result.epsilon <= 2.0
    ('consistent', True)
    """
    if what not in SUBJECTS:
        raise KinfolkError(f"what is {what!r}. {did_you_mean(what, tuple(SUBJECTS))}")
    if runs < FEWEST:
        raise KinfolkError(f"runs is {runs}. Use at least {FEWEST}; thousands show more.")
    if not 0.5 <= confidence < 1:
        raise KinfolkError(f"confidence is {confidence}. Use 0.5 or more, below 1: 0.999, say.")
    promise = Guarantee.of(
        neighbours=neighbours,
        epsilon=epsilon,
        delta=delta,
        accounting=_covering(what, SUBJECTS[what], accounting),
    )
    with one_thread():
        subject = SUBJECTS[what].build(promise)
    # Each run tosses a coin and takes one of the two neighbours.
    sides = np.array([secrets.randbelow(2) for _ in range(runs)], dtype=np.bool_)
    clues = np.empty((runs, len(subject.clues)))
    with one_thread(), passing_folder("audit-", quick=True) as folder:
        for turn, second in enumerate(sides):
            # A ledger that survives is not what is audited here: each lives for one run.
            ledger = folder / f"{turn}.jsonl"
            clues[turn] = subject.run(ledger, second=bool(second))
            for used in folder.iterdir():
                used.unlink()
            advance()
    ceiling = subject.ceiling
    claim = Claim(ceiling=ceiling, promise=promise, alarm=1 - confidence)
    judged = judge_clues(subject.clues, clues, sides, claim)
    return AuditResult(
        what=what,
        wording=Wording.of(subject.schema, neighbours),
        claim=promise,
        epsilon=claim.least_epsilon(judged.errors),
        rho=ceiling.rho(judged.errors.mu),
        confidence=confidence,
        runs=runs,
        clue=judged.clue,
        errors=judged.errors,
        ceiling_mu=ceiling.mu(float(promise.rho)),
        curve=judged.curve,
    )


def _covering(what: str, kind: Kind, accounting: Accounting | None) -> Accounting:
    """The accounting that was asked for, if it covers the subject."""
    if accounting is None:
        return kind.accountings[0]
    if accounting not in kind.accountings:
        known = " or ".join(repr(one.value) for one in kind.accountings)
        raise KinfolkError(
            f"accounting is {accounting.value!r}. {what!r} is audited under {known}."
        )
    return accounting
