"""Units, amounts and words as they stand in the record, and back."""

from __future__ import annotations

from typing import Any

from crowdtally.budget.amounts import from_text, to_text
from crowdtally.budget.loss import Loss
from crowdtally.budget.record.canonical import Json
from crowdtally.errors import UsageError
from crowdtally.values.unit import PrivacyUnit


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
    rho, pure_rho = (from_text(fields.get(key, "0")) for key in ("rho", "pure_rho"))
    return Loss(from_text(fields["epsilon"]), from_text(fields["delta"]), rho, pure_rho)
