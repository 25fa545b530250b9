"""Amounts of ε, δ and ρ: exact text for the record, words for people."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction

from crowdtally.core.numbers import digits, short, show
from crowdtally.core.privacy import Delta, Epsilon, Rho

# Amounts as text: one form for the record, one for people.
#
# The record's form is canonical, ``"1/3"`` or ``"2"``, so that equal amounts have equal hashes.

LONGEST = 3000
"""Digits of an amount that a charge states, those of a denominator of 1 among them."""
_LONGEST_READ = 4000
_CANONICAL = re.compile(r"(0|-?[1-9][0-9]*)(?:/([1-9][0-9]*))?")
_SHOWN_BITS = 4096
_SHOWN_LENGTH = 80


def is_long(amount: Fraction) -> bool:
    return digits(amount.numerator) + digits(amount.denominator) > LONGEST


def to_text(amount: Fraction) -> str:
    """The amount in lowest terms, exactly.

    >>> to_text(Fraction(2, 6)), to_text(Fraction(4))
    ('1/3', '4')
    """
    return str(amount)


def from_text(text: object) -> Fraction:
    """The amount that ``to_text`` wrote; anything else is a ``ValueError``.

    >>> from_text("1/3")
    Fraction(1, 3)
    """
    match = _CANONICAL.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise ValueError("not an exact amount in canonical form")
    if len(match[0]) > _LONGEST_READ:
        raise ValueError("an amount with more digits than any has")
    denominator = int(match[2] or 1)
    amount = Fraction(int(match[1]), denominator)
    if amount.denominator != denominator or match[2] == "1":
        raise ValueError("not an amount in lowest terms")
    return amount


def for_people(amount: Fraction) -> str:
    """Exactly where that is readable, with a decimal beside a ratio; else to 12 digits.

    >>> for_people(Fraction(1, 10**9)), for_people(Fraction(1, 3))
    ('1e-9', '1/3 (about 0.333333333333)')
    """
    if max(amount.numerator.bit_length(), amount.denominator.bit_length()) <= _SHOWN_BITS:
        shown = show(amount)
        if len(shown) <= _SHOWN_LENGTH:
            return f"{shown} (about {_rounded(amount)})" if "/" in shown else shown
    return f"about {_rounded(amount)}"


def _rounded(amount: Fraction) -> str:
    with localcontext() as context:
        context.prec = 12
        ratio = Decimal(amount.numerator) / Decimal(amount.denominator)
        return f"{ratio.normalize():g}"


_NOTHING = Fraction(0)


@dataclass(frozen=True)
class Loss:
    """An exact amount of ε, of δ and of ρ: a cost, a sum, a limit or what remains of it.

    Each is a sum of its own: ε and ρ are never added to each other. Which of them say something is
    the accountant's word; a limit is either ε with its δ, or ρ with the δ of unknown cells.
    """

    epsilon: Fraction = _NOTHING
    """Pure ε."""
    delta: Fraction = _NOTHING
    """δ; the sum over many charges may exceed 1, where it promises nothing."""
    rho: Fraction = _NOTHING
    """ρ of zCDP: that of Gaussian noise and of selections, not that of ``epsilon``."""
    pure_rho: Fraction = _NOTHING
    """Σ ε²/2 over the pure ε: what they cost as ρ; kept for a dataset that counts by zCDP."""

    @classmethod
    def of(cls, epsilon: Epsilon | None, delta: Delta, rho: Rho | None = None) -> Loss:
        """From validated values; ``None`` is an amount of 0."""
        return cls(_value(epsilon), delta.value, _value(rho))

    def __add__(self, other: Loss) -> Loss:
        return Loss(
            self.epsilon + other.epsilon, self.delta + other.delta, self.rho + other.rho,
            self.pure_rho + other.pure_rho,
        )  # fmt: skip

    def __sub__(self, other: Loss) -> Loss:
        return Loss(
            self.epsilon - other.epsilon, self.delta - other.delta, self.rho - other.rho,
            self.pure_rho - other.pure_rho,
        )  # fmt: skip

    def within(self, other: Loss) -> bool:
        """Whether neither ε nor δ nor ρ exceeds the other's.

        >>> Loss(Fraction(1)).within(Loss(Fraction(1)))
        True
        """
        return self.epsilon <= other.epsilon and self.delta <= other.delta and self.rho <= other.rho

    def at_least_zero(self) -> Loss:
        return Loss(
            max(self.epsilon, _NOTHING), max(self.delta, _NOTHING), max(self.rho, _NOTHING),
            max(self.pure_rho, _NOTHING),
        )  # fmt: skip

    def short(self) -> Loss:
        """The same, or a little more of few digits: see ``short`` of ``core/numbers.py``."""
        return Loss(short(self.epsilon), short(self.delta), short(self.rho), short(self.pure_rho))

    @property
    def has_rho(self) -> bool:
        return bool(self.rho or self.pure_rho)


def _value(amount: Epsilon | Rho | None) -> Fraction:
    return _NOTHING if amount is None else amount.value


def amount(loss: Loss, *, in_rho: bool = False) -> str:
    """An amount for a person: δ and ρ only where there is any, ε unless there is ρ alone.

    With ``in_rho``, for what is compared with a ρ, ρ is always shown.

    >>> from fractions import Fraction
    >>> amount(Loss()), amount(Loss(rho=Fraction(1, 10))), amount(Loss(Fraction(1), Fraction(1, 8)))
    ('ε = 0', 'ρ = 0.1', 'ε = 1, δ = 0.125')
    """
    said = []
    if loss.epsilon or not (loss.rho or in_rho):
        said.append(f"ε = {for_people(loss.epsilon)}")
    if loss.rho or in_rho:
        said.append(f"ρ = {for_people(loss.rho)}")
    if loss.delta:
        said.append(f"δ = {for_people(loss.delta)}")
    return ", ".join(said)


def stated(loss: Loss) -> list[str]:
    """What a charge states, name by name, as a command would take it.

    >>> from fractions import Fraction
    >>> stated(Loss(Fraction(1, 3), Fraction(1, 10**9)))
    ['epsilon 1/3', 'delta 1e-9']
    """
    named = (("epsilon", loss.epsilon), ("rho", loss.rho), ("delta", loss.delta))
    return [f"{name} {show(value)}" for name, value in named if value]


def made_of(spent: Loss) -> str:
    said = [f"ρ = {for_people(spent.rho)}"]
    if spent.epsilon:
        said.append(f"pure ε = {for_people(spent.epsilon)}")
    if spent.delta:
        said.append(f"δ of single charges {for_people(spent.delta)}")
    return ", ".join(said)


def remaining_words(left: Loss, *, either: bool) -> str:
    """What may still be spent; ``either`` where that is so much ε or so much ρ, and not both."""
    if not either:
        return amount(left)
    said = [f"ρ = {for_people(left.rho)}"] if left.rho else []
    said += [f"pure ε = {for_people(left.epsilon)}"] if left.epsilon else []
    return ", or else ".join(said) or "nothing"
