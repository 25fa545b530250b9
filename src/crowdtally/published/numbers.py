"""Exact numbers of ``release.json``."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from crowdtally.core.numbers import recorded
from crowdtally.core.privacy import Epsilon, Price, Rho
from crowdtally.errors import InputError


def exact_number(value: object, name: str) -> Fraction:
    """The number that a text denotes; ``name`` is what a message calls it.

    >>> exact_number("1/3", "the unit")
    Fraction(1, 3)
    """
    try:
        return recorded(str(value))
    except ValueError:
        raise InputError(
            f"release.json is damaged: {name} is not a number. Copy the release again."
        ) from None


def maybe_number(value: object, name: str) -> Fraction | None:
    """The same, or None where there is none."""
    return None if value is None else exact_number(value, name)


def price_of(facts: Mapping[str, Any]) -> Price:
    """What is paid: ρ where an entry has one, else ε.

    >>> price_of({"rho": "0.01"}), price_of({"epsilon": "1"})
    (Rho(value=Fraction(1, 100)), Epsilon(value=Fraction(1, 1)))
    """
    kind = Rho if Rho.field in facts else Epsilon
    return kind(exact_number(facts[kind.field], kind.field))
