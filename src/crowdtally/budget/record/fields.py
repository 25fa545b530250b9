"""Units, amounts and words as they stand in the record, and back."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any

from crowdtally.budget.amounts import from_text, to_text
from crowdtally.budget.loss import Loss
from crowdtally.budget.record.canonical import Json
from crowdtally.core.privacy import PrivacyUnit
from crowdtally.errors import UsageError

_SHORT = 40  # characters of an amount that is worth keeping


def words(value: object, what: str) -> str:
    """``value`` if it is a string with something in it; ``what`` is what a message calls it."""
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{what} must be a non-empty text: received {value!r}.")
    return value


def unit_fields(unit: PrivacyUnit | None) -> Json:
    """A unit as recorded."""
    return None if unit is None else {"kind": unit.kind, "column": unit.column}


def read_unit(fields: Any) -> PrivacyUnit | None:
    """The unit that ``unit_fields`` wrote."""
    return None if fields is None else PrivacyUnit(fields["kind"], fields["column"])


def loss_fields(loss: Loss | None) -> Json:
    """An amount as recorded; ρ, which most amounts have none of, only where there is any."""
    if loss is None:
        return None
    return {
        "epsilon": to_text(loss.epsilon),
        "delta": to_text(loss.delta),
        **({"rho": to_text(loss.rho)} if loss.rho else {}),
        **({"pure_rho": to_text(loss.pure_rho)} if loss.pure_rho else {}),
    }


def read_loss(fields: Any) -> Loss | None:
    """The amount that ``loss_fields`` wrote."""
    if fields is None:
        return None
    return Loss(
        read_amount(fields["epsilon"]), read_amount(fields["delta"]),
        read_amount(fields.get("rho", "0")), read_amount(fields.get("pure_rho", "0")),
    )  # fmt: skip


def read_amount(text: object) -> Fraction:
    """The amount that ``to_text`` wrote; anything else is a ``ValueError``."""
    short = isinstance(text, str) and len(text) <= _SHORT
    return _known_amount(text) if short else from_text(text)


# Most amounts of a record are those of the entry before, or nothing.
_known_amount = lru_cache(maxsize=4096)(from_text)
