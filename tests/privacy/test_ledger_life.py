"""Any history of a ledger, crashes included, against a model of it."""

from __future__ import annotations

import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kinfolk.errors import KinfolkError
from kinfolk.privacy import Gaussian, Ledger, OverspendError, Spend, read_account
from kinfolk.privacy.chain import START, seal
from promises import promise


class LedgerLife(RuleBasedStateMachine):
    """Debits, releases, crashes and torn lines in any order, against a model in a few numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "ledger.jsonl"
        self.guarantee = promise(epsilon=1.0, delta=1e-9)
        self.ledger = Ledger(self.path, self.guarantee)
        self.spent = Fraction(0)
        self.values: dict[str, int] = {}
        self.open: list[Spend] = []

    @rule(key=st.sampled_from("abcd"), parts=st.integers(2, 40))
    def debit(self, key: str, parts: int) -> None:
        noise = Gaussian.for_rho(self.guarantee.rho / parts, squared_sensitivity=2)
        try:
            self.open.append(self.ledger.debit(key, noise))
        except OverspendError:
            assert self.spent + noise.rho() > self.guarantee.rho
        except KinfolkError:
            assert key in self.values
        else:
            self.spent += noise.rho()

    @precondition(lambda self: self.open)
    @rule(value=st.integers(-(2**70), 2**70))
    def release(self, value: int) -> None:
        spend = self.open.pop()
        if spend.key in self.values:
            with pytest.raises(KinfolkError, match="released already"):
                self.ledger.release(spend, value, private=True)
        else:
            self.ledger.release(spend, value, private=True)
            self.values[spend.key] = value

    @rule(torn=st.sampled_from([b"", b'{"kind":"released","number":3,"k']))
    def crash(self, torn: bytes) -> None:
        self.ledger.close()
        self.open.clear()
        with self.path.open("ab") as file:
            file.write(torn)
        self.ledger = Ledger(self.path, self.guarantee)

    @precondition(lambda self: self.spent < self.guarantee.rho)
    @rule(share=st.integers(2, 9))
    def crash_in_a_debit(self, share: int) -> None:
        rho = self.ledger.remaining / share
        noise = Gaussian.for_rho(rho, squared_sensitivity=2)
        line, _ = seal(
            {"kind": "spend", "rho": f"{noise.rho().numerator}/{noise.rho().denominator}"},
            previous=START,
        )
        self.crash(line[:-1])
        self.spent += noise.rho()

    @invariant()
    def the_account_is_right(self) -> None:
        for account in (self.ledger.own, read_account(self.path).last):
            assert account.spent == self.spent <= self.guarantee.rho
            assert {key: one.value for key, one in account.releases.items()} == self.values

    def teardown(self) -> None:
        self.ledger.close()
        self.folder.cleanup()


TestLedgerLife = LedgerLife.TestCase
TestLedgerLife.settings = settings(max_examples=15, stateful_step_count=15, deadline=None)
