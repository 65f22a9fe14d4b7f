"""What the lines of a ledger add up to: the terms, every spend, and every released value.

The same rules read a finished ledger and watch over one that is being written, so that nothing can
be written that would be refused when it is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from kinfolk.errors import KinfolkError
from kinfolk.privacy.amounts import from_text
from kinfolk.privacy.chain import read_chain, torn_spend
from kinfolk.privacy.mechanisms import Mechanism, mechanism_from
from kinfolk.privacy.terms import Terms

FORMAT = "kinfolk ledger 1"


@dataclass(frozen=True, kw_only=True)
class Spend:
    """One debit."""

    number: int
    """Its place among the debits: 1, 2, 3, ..."""
    key: str
    """The step it pays for. A step bought again after a crash has the same key and a new number."""
    mechanism: Mechanism
    """What was bought."""
    rho: Fraction
    """What it cost, exact."""


@dataclass(frozen=True, kw_only=True)
class Release:
    """A value that was bought, and is public from then on."""

    spend: Spend
    """The debit that paid for it."""
    value: Any
    """The released value, as JSON."""


class OverspendError(KinfolkError):
    """The budget does not allow it; nothing was debited and no data may be touched."""


class Account:
    """The sum of a ledger's lines.

    >>> from kinfolk.queries.units import Unit
    >>> unit = Unit.parse("household").within(max_size=9)
    >>> account = Account(Terms.promise(epsilon=1.0, delta=1e-9, unit=unit, private=True))
    >>> float(account.spent), account.remaining == account.terms.rho
    (0.0, True)
    """

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.spends: list[Spend] = []
        self.releases: dict[str, Release] = {}
        self.torn = Fraction(0)
        """What half-written lines may have spent: counted, as nobody knows that it was not."""
        self.spent = Fraction(0)
        """Everything debited, released or not, and everything torn."""

    @property
    def remaining(self) -> Fraction:
        """What can still be bought."""
        return self.terms.rho - self.spent

    @property
    def unreleased(self) -> list[Spend]:
        """Debits whose value was never recorded: spent all the same."""
        released = {release.spend.number for release in self.releases.values()}
        return [spend for spend in self.spends if spend.number not in released]

    def next_spend(self, key: str, mechanism: Mechanism) -> Spend:
        """The debit that buying a mechanism now would make."""
        rho = mechanism.rho(self.terms.accounting)
        return Spend(number=len(self.spends) + 1, key=key, mechanism=mechanism, rho=rho)

    def check_spend(self, spend: Spend) -> None:
        """Raise if a debit cannot be made."""
        if spend.key in self.releases:
            raise KinfolkError(f"{spend.key!r} has been bought already. Use its released value.")
        if spend != self.next_spend(spend.key, spend.mechanism):
            raise KinfolkError(f"{spend.key!r} has a wrong number or cost. Make it by `debit`.")
        if spend.rho > self.remaining:
            raise OverspendError(
                f"{spend.key!r} costs rho = {float(spend.rho):.6g}, and "
                f"{float(self.remaining):.6g} of the budget {float(self.terms.rho):.6g} is left. "
                "Buy less, or with more noise."
            )

    def add_spend(self, spend: Spend) -> None:
        """Count a debit."""
        self.check_spend(spend)
        self.spends.append(spend)
        self.spent += spend.rho

    def check_release(self, spend: Spend) -> None:
        """Raise if a debit cannot be what pays for a released value."""
        if not 1 <= spend.number <= len(self.spends) or self.spends[spend.number - 1] != spend:
            raise KinfolkError(f"{spend.key!r} was never debited. Debit it before it is released.")
        if spend.key in self.releases:
            raise KinfolkError(f"{spend.key!r} is released already. Use its released value.")

    def add_release(self, release: Release) -> None:
        """Keep a released value."""
        self.check_release(release.spend)
        self.releases[release.spend.key] = release

    def add_torn(self, rho: Fraction) -> None:
        """Count half a line."""
        self.torn += rho
        self.spent += rho

    def could_be_torn(self, torn: bytes) -> Fraction:
        """The most that half a line can have spent: all that is left, where it does not say."""
        text = torn_spend(torn) if torn else None
        if text is None:
            return Fraction(0)
        try:
            return min(from_text(text), self.remaining)
        except KinfolkError:
            return self.remaining


def read_account(path: Path) -> Account:
    """What a ledger file adds up to, without writing to it or locking it.

    >>> import tempfile
    >>> try:
    ...     read_account(Path(tempfile.mkdtemp()) / "ledger.jsonl")
    ... except KinfolkError as error:
    ...     print(error)
    There is no ledger ledger.jsonl. Check the path.
    """
    try:
        chain = read_chain(path)
    except FileNotFoundError:
        raise KinfolkError(f"There is no ledger {path.name}. Check the path.") from None
    account = account_from(chain.entries, where=path.name)
    account.add_torn(account.could_be_torn(chain.torn))
    return account


def account_from(entries: tuple[dict[str, Any], ...], *, where: str) -> Account:
    """The account that whole lines add up to."""
    account: Account | None = None
    for number, entry in enumerate(entries, start=1):
        try:
            if account is None:
                account = _opened(entry)
            else:
                _apply(account, entry)
        except (LookupError, TypeError, ValueError, KinfolkError) as error:
            raise KinfolkError(
                f"{where}, line {number} breaks the rules of a ledger: {error} "
                "Restore an undamaged copy, and count everything as spent if there is none."
            ) from None
    if account is None:
        raise KinfolkError(
            f"{where} is empty or only half a line long, so its budget is not known. "
            "Delete it only if nothing was ever released from its run."
        )
    return account


def _opened(entry: Mapping[str, Any]) -> Account:
    if entry["kind"] != "header" or entry["format"] != FORMAT:
        raise KinfolkError(f"it should be the header of a {FORMAT}.")
    return Account(Terms.from_description(entry["terms"]))


def _apply(account: Account, entry: Mapping[str, Any]) -> None:
    match entry["kind"]:
        case "spend":
            spend = account.next_spend(entry["key"], mechanism_from(entry["mechanism"]))
            if entry["number"] != spend.number or from_text(entry["rho"]) != spend.rho:
                raise KinfolkError("its number or its cost is wrong.")
            account.add_spend(spend)
        case "released":
            spend = account.spends[max(entry["number"], 1) - 1]
            if (spend.number, spend.key) != (entry["number"], entry["key"]):
                raise KinfolkError("it does not belong to the debit that it names.")
            if account.terms.private and entry["private"] is not True:
                raise KinfolkError("its value comes from a seed, and the header promises privacy.")
            account.add_release(Release(spend=spend, value=entry["value"]))
        case "torn":
            account.add_torn(from_text(entry["rho"]))
        case kind:
            raise KinfolkError(f"{kind!r} is no kind of line.")
