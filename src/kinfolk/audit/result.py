"""What an audit found."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from kinfolk.audit.confidence import normal_quantile
from kinfolk.audit.tradeoff import Errors
from kinfolk.privacy.guarantee import Guarantee
from kinfolk.privacy.unit import Wording


class Verdict(StrEnum):
    """Whether a claim survived."""

    CONSISTENT = "consistent"
    """Nothing was seen that the claim rules out."""
    VIOLATED = "violated"
    """More was given away than the claim allows."""


@dataclass(frozen=True, kw_only=True)
class AuditResult:
    """Lower bounds beside the claim. They hold together, with the stated confidence.

    The budget is the sharper of the two: it takes the curator's mechanisms for what they are. The
    bound on epsilon takes nothing for granted, except for Gaussian noise where only that was used.
    """

    what: str
    """The subject's name."""
    wording: Wording
    """Whom the claim protects."""
    claim: Guarantee
    """What is promised, and the budget that keeps it: all of it was spent."""
    epsilon: float
    """The promise cannot be kept with a smaller epsilon at this delta."""
    rho: float
    """No smaller budget buys so much; 0 where nothing can be said."""
    confidence: float
    """How often, at least, such bounds are true."""
    runs: int
    clue: str
    """What the guess that was judged looked at."""
    errors: Errors
    """Upper bounds on its error rates."""
    ceiling_mu: float
    """What the claimed budget buys at most: the floor under all errors, see `tradeoff`."""
    curve: tuple[Errors, ...]
    """The error rates seen, for a plot."""

    @property
    def claimed_epsilon(self) -> float:
        """The epsilon of the promise."""
        return self.claim.epsilon

    @property
    def delta(self) -> float:
        """The delta of the promise."""
        return self.claim.delta

    @property
    def claimed_rho(self) -> float:
        """The budget of the promise."""
        return float(self.claim.rho)

    @property
    def verdict(self) -> Verdict:
        """Violated if either bound exceeds its claim."""
        exceeded = self.epsilon > self.claimed_epsilon or self.rho > self.claimed_rho
        return Verdict.VIOLATED if exceeded else Verdict.CONSISTENT

    @property
    def runs_to_see_half(self) -> int:
        """About how many runs would show half of what the budget buys: a rough guide."""
        z = normal_quantile(self.confidence)
        # Guesses are right by 0.2 mu more than half of the time; half of that must exceed z errors.
        needed = (z * 0.5 / (0.1 * min(self.ceiling_mu, 2.5))) ** 2 / 0.75
        digits = 10.0 ** math.floor(math.log10(needed))
        return max(100, int(math.ceil(needed / digits) * digits))
