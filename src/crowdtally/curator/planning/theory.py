"""What Theorem 2 of Fan & Jin (2015), corrected, expects of SRA: from public guesses only.

For ``plan``: no record is read, so nothing here is private and nothing is promised. The theorem
looks at one item of probability p and n users of M records each, of which l are kept; its
derivation is in ``theory.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from crowdtally.core.numbers import whole_number
from crowdtally.core.privacy import Epsilon, Price
from crowdtally.errors import UsageError


@dataclass(frozen=True)
class Guess:
    """What a curator guesses in public about the crowd."""

    users: int
    """n: how many users there are."""
    records: int
    """M: how many records each of them has."""
    share: Fraction
    """p: the probability that a record is about the item; 1/m for an item like any of m others."""

    def __post_init__(self) -> None:
        whole_number(self.users, "the guessed number of users", 1, 2**62)
        whole_number(self.records, "the guessed records per user", 1, 2**62)
        if not isinstance(self.share, Fraction) or not 0 < self.share <= 1:
            raise UsageError("the guessed share of an item must be a Fraction above 0, at most 1.")


@dataclass(frozen=True)
class ExpectedError:
    """Mean squared error of one item's count, by its two causes."""

    bounding: Fraction
    """From the records that are not kept."""
    noise: Fraction
    """From the noise."""

    @property
    def total(self) -> Fraction:
        """Their sum: the noise is independent of what is kept, and its mean is 0."""
        return self.bounding + self.noise


@dataclass(frozen=True)
class Noise:
    """The variance of a count's noise at the bound l, as a·l² + b·l: public."""

    square: Fraction
    """a."""
    linear: Fraction = Fraction(0)
    """b."""

    @classmethod
    def of(cls, price: Price, *, once: bool = False) -> Noise:
        """2l²/ε² for Laplace noise; l²/(2ρ) for Gaussian, l/(2ρ) where users count once in a cell.

        >>> from crowdtally.core.privacy import Rho
        >>> Noise.of(Epsilon.of(2)).at(3), Noise.of(Rho.of("1/4"), once=True).at(3)
        (Fraction(9, 2), Fraction(6, 1))
        """
        if isinstance(price, Epsilon):
            return cls(2 / price.value**2)
        gaussian = 1 / (2 * price.value)
        return cls(Fraction(0), gaussian) if once else cls(gaussian)

    def at(self, limit: int) -> Fraction:
        """The variance at a bound."""
        return self.square * limit**2 + self.linear * limit


def expected_error(guess: Guess, limit: int, noise: Noise) -> ExpectedError:
    """The error if ``limit`` records per user are kept and published with such noise.

    >>> error = expected_error(Guess(1000, 50, Fraction(1, 100)), 10, Noise.of(Epsilon.of(1)))
    >>> error.bounding, error.noise
    (Fraction(160396, 1), Fraction(200, 1))
    """
    whole_number(limit, "the records kept per user", 1, 2**62)
    lost = guess.users * max(guess.records - limit, 0)
    mean, variance = lost * guess.share, lost * guess.share * (1 - guess.share)
    return ExpectedError(mean**2 + variance, noise.at(limit))


def ideal_limit(guess: Guess, noise: Noise) -> Fraction:
    """l*, where the expected error is least over the reals of [1, M]; it grows with ε."""
    mean = guess.users * guess.share  # n·p: what one kept record per user adds to the count
    slope = 2 * mean**2 * guess.records + mean * (1 - guess.share)
    curvature = 2 * noise.square + 2 * mean**2
    return min(max((slope - noise.linear) / curvature, Fraction(1)), Fraction(guess.records))


def best_limit(guess: Guess, noise: Noise) -> int:
    """The whole number of records of least expected error: l* rounded to its better neighbour.

    >>> guess = Guess(1000, 50, Fraction(1, 1000))
    >>> [best_limit(guess, Noise.of(Epsilon.of(e))) for e in ("0.1", 1, 10)]
    [1, 17, 50]
    """
    below = int(ideal_limit(guess, noise))
    above = min(below + 1, guess.records)
    return min(below, above, key=lambda limit: expected_error(guess, limit, noise).total)
