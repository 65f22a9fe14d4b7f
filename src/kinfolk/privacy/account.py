"""What the lines of a ledger add up to: one budget, and what every release has drawn from it.

The same rules read a finished ledger and watch over one that is being written, so that nothing can
be written that would be refused when it is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from kinfolk.errors import KinfolkError
from kinfolk.privacy.accounting import from_text
from kinfolk.privacy.chain import read_chain, torn_spend
from kinfolk.privacy.guarantee import Guarantee
from kinfolk.privacy.mechanisms import Mechanism, mechanism_from

FORMAT = "kinfolk ledger 2"


@dataclass(frozen=True, kw_only=True)
class Spend:
    """One debit."""

    number: int
    """Its place among the debits of its release: 1, 2, 3, ..."""
    key: str
    """The step it pays for. A step bought again after a crash has the same key and a new number."""
    mechanism: Mechanism
    """The noise that was bought."""
    rho: Fraction
    """What it cost, exact."""
    bought: Mapping[str, Any]
    """What it was bought for, in the words of the schema."""


@dataclass(frozen=True, kw_only=True)
class Released:
    """A value that was bought, and is public from then on."""

    spend: Spend
    """The debit that paid for it."""
    value: Any
    """The released value, as JSON."""


class OverspendError(KinfolkError):
    """The budget does not allow it; nothing was debited and no data may be touched."""


@dataclass(kw_only=True, eq=False)
class Allotment:
    """What one release may draw from the budget, and has drawn."""

    number: int
    """Its place among the releases: 1, 2, 3, ..."""
    guarantee: Guarantee
    """What this release promises, and the part of the budget that keeps it."""
    private: bool
    """False if any of the noise comes from a seed: then nothing is promised at all."""
    run: Mapping[str, Any]
    """What identifies the run (schema, method, settings), as JSON; nothing private."""
    spends: list[Spend] = field(default_factory=list, init=False)
    releases: dict[str, Released] = field(default_factory=dict, init=False)
    """By the key of the step."""
    torn: Fraction = field(default=Fraction(0), init=False)
    """What half-written lines may have spent: counted, as nobody knows that it was not."""
    spent: Fraction = field(default=Fraction(0), init=False)
    """Everything debited, released or not, and everything torn."""
    closed: bool = field(default=False, init=False)
    """Whether the release is finished, and gives back what it did not spend."""

    @property
    def remaining(self) -> Fraction:
        """What can still be bought."""
        return self.guarantee.rho - self.spent

    @property
    def held(self) -> Fraction:
        """What other releases cannot have: all of it, until the release is finished."""
        return self.spent if self.closed else max(self.spent, self.guarantee.rho)

    @property
    def unreleased(self) -> list[Spend]:
        """Debits whose value was never recorded: spent all the same."""
        released = {release.spend.number for release in self.releases.values()}
        return [spend for spend in self.spends if spend.number not in released]

    @property
    def identity(self) -> dict[str, Any]:
        """What a run must have in common with it to be the same release."""
        return {**self.guarantee.describe(), "private": self.private, **self.run}

    def next_spend(self, key: str, mechanism: Mechanism, bought: Mapping[str, Any]) -> Spend:
        """The debit that buying something now would make."""
        rho = mechanism.rho(self.guarantee.accounting)
        number = len(self.spends) + 1
        return Spend(number=number, key=key, mechanism=mechanism, rho=rho, bought=bought)

    def check_spend(self, spend: Spend) -> None:
        """Raise if a debit cannot be made."""
        if spend.key in self.releases:
            raise KinfolkError(f"{spend.key!r} has been bought already. Use its released value.")
        if spend != self.next_spend(spend.key, spend.mechanism, spend.bought):
            raise KinfolkError(f"{spend.key!r} has a wrong number or cost. Make it by `debit`.")
        if spend.rho > self.remaining:
            raise OverspendError(
                f"{spend.key!r} costs rho = {float(spend.rho):.6g}, and "
                f"{float(self.remaining):.6g} of the budget {float(self.guarantee.rho):.6g} is "
                "left. Buy less, or with more noise."
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

    def add_release(self, release: Released) -> None:
        """Keep a released value."""
        self.check_release(release.spend)
        self.releases[release.spend.key] = release

    def add_torn(self, rho: Fraction) -> None:
        """Count half a line."""
        self.torn += rho
        self.spent += rho


@dataclass(kw_only=True, eq=False)
class Account:
    """The sum of a ledger's lines.

    >>> from kinfolk.privacy.unit import Neighbours
    >>> total = Guarantee.of(neighbours=Neighbours.ADD_REMOVE, epsilon=1.0, delta=1e-9)
    >>> account = Account(total=total, identity="1f", key="2e", shared=True, private=True)
    >>> float(account.spent), account.remaining == total.rho
    (0.0, True)
    """

    total: Guarantee
    """What all releases together promise."""
    identity: str
    """Tells this ledger from any other, and from no copy of it."""
    key: str = field(repr=False)
    """Of the digest by which the ledger knows its data; it never leaves the ledger."""
    shared: bool
    """Whether several releases may draw on it."""
    private: bool
    """False if the ledger is one of seeded noise."""
    data: str | None = field(default=None, init=False)
    """The keyed digest of the data that the ledger is for; None until a release has begun."""
    allotments: list[Allotment] = field(default_factory=list, init=False)
    active: Allotment | None = field(default=None, init=False)
    """The release that wrote last."""

    @property
    def last(self) -> Allotment:
        """The release that began last."""
        if not self.allotments:
            raise KinfolkError("nothing has been released from this ledger yet.")
        return self.allotments[-1]

    @property
    def spent(self) -> Fraction:
        """Everything debited by any release, exact."""
        return sum((one.spent for one in self.allotments), Fraction(0))

    @property
    def remaining(self) -> Fraction:
        """What another release can have."""
        return self.total.rho - sum((one.held for one in self.allotments), Fraction(0))

    def check_opening(self, guarantee: Guarantee) -> None:
        """Raise if another release with this guarantee cannot begin."""
        for name in ("neighbours", "accounting"):
            ours, theirs = getattr(self.total, name), getattr(guarantee, name)
            if ours != theirs:
                raise KinfolkError(
                    f"the ledger's {name} is {ours.value!r}, and the release's {theirs.value!r}. "
                    "Releases draw on one total under one accounting: use the ledger's."
                )
        if guarantee.rho > self.remaining:
            unfinished = [str(one.number) for one in self.allotments if not one.closed]
            waiting = (
                f" Of that, unfinished releases ({', '.join(unfinished)}) still hold what they "
                "have not spent: resume them first."
                if unfinished
                else ""
            )
            raise OverspendError(
                f"the release costs rho = {float(guarantee.rho):.6g} (epsilon = "
                f"{guarantee.epsilon:g}), and {float(self.remaining):.6g} of the ledger's budget "
                f"{float(self.total.rho):.6g} is left.{waiting} Nothing was read or spent. "
                "Lower epsilon."
            )

    def open(self, allotment: Allotment) -> None:
        """Begin a release."""
        if allotment.number != len(self.allotments) + 1:
            raise KinfolkError("its number is wrong.")
        if allotment.private != self.private:
            raise KinfolkError(
                "seeded and private releases cannot share a ledger: begin another one."
            )
        if self.allotments and not self.shared:
            raise KinfolkError("the ledger is for one release, which has begun.")
        self.check_opening(allotment.guarantee)
        self.allotments.append(allotment)
        self.active = allotment

    def reopen(self, own: Allotment) -> None:
        """Go on with a release; one that was finished must find its part still there."""
        if own.closed and own.remaining > self.remaining:
            raise OverspendError(
                f"release {own.number} was finished, and what it left has been taken by others: "
                f"{float(self.remaining):.6g} of rho is there, and it would need "
                f"{float(own.remaining):.6g}."
            )
        own.closed = False
        self.active = own

    def could_be_torn(self, torn: bytes) -> Fraction:
        """The most that half a line can have spent: all that is left, where it does not say."""
        text = torn_spend(torn) if torn else None
        if text is None or self.active is None:
            return Fraction(0)
        try:
            return min(from_text(text), self.active.remaining)
        except KinfolkError:
            return self.active.remaining

    def add_torn(self, rho: Fraction) -> None:
        """Count half a line, for the release that wrote last."""
        if self.active is not None:
            self.active.add_torn(rho)


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
                account = _begun(entry)
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


def _begun(entry: Mapping[str, Any]) -> Account:
    if entry["kind"] != "header" or entry["format"] != FORMAT:
        raise KinfolkError(f"it should be the header of a {FORMAT}.")
    return Account(
        total=Guarantee.from_description(entry["guarantee"]),
        identity=str(entry["id"]),
        key=str(entry["key"]),
        shared=entry["shared"] is True,
        private=entry["private"] is True,
    )


def _apply(account: Account, entry: Mapping[str, Any]) -> None:
    kind = entry["kind"]
    match kind:
        case "data":
            if account.data is not None:
                raise KinfolkError("it names other data than a line above.")
            account.data = str(entry["digest"])
            return
        case "opened":
            account.open(
                Allotment(
                    number=entry["release"],
                    guarantee=Guarantee.from_description(entry["guarantee"]),
                    private=entry["private"] is True,
                    run=dict(entry["run"]),
                )
            )
            return
    own = _allotment(account, entry["release"])
    account.active = own
    match kind:
        case "spend":
            mechanism = mechanism_from(entry["mechanism"])
            spend = own.next_spend(entry["key"], mechanism, entry["bought"])
            if entry["number"] != spend.number or from_text(entry["rho"]) != spend.rho:
                raise KinfolkError("its number or its cost is wrong.")
            own.add_spend(spend)
        case "released":
            spend = own.spends[max(entry["number"], 1) - 1]
            if (spend.number, spend.key) != (entry["number"], entry["key"]):
                raise KinfolkError("it does not belong to the debit that it names.")
            if own.private and entry["private"] is not True:
                raise KinfolkError("its value comes from a seed, and the header promises privacy.")
            own.add_release(Released(spend=spend, value=entry["value"]))
        case "resumed":
            account.reopen(own)
        case "closed":
            own.closed = True
        case "torn":
            own.add_torn(from_text(entry["rho"]))
        case _:
            raise KinfolkError(f"{kind!r} is no kind of line.")


def _allotment(account: Account, number: object) -> Allotment:
    if not isinstance(number, int) or not 1 <= number <= len(account.allotments):
        raise KinfolkError(f"there is no release {number!r}.")
    return account.allotments[number - 1]
