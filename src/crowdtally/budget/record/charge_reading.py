"""Reading many charges: their parts, parameters and amounts repeat, and are parsed once.

Each piece is read by the function that ``parsing`` reads it by, and is compared with what would be
recorded of it, once for each text. What is not cut as expected is left to ``parsing``.
"""

from __future__ import annotations

from typing import Any

from crowdtally.budget.amounts import from_text
from crowdtally.budget.record.canonical import exact_json
from crowdtally.budget.record.charge import Asked, Charge, Part
from crowdtally.budget.record.events import Reserved
from crowdtally.budget.record.fields import read_unit, unit_fields
from crowdtally.budget.record.parsing import part, positive_epsilon, positive_rho
from crowdtally.budget.record.pieces import Keys, Known, value_of
from crowdtally.values.epsilon import Delta
from crowdtally.values.unit import PrivacyUnit

_START = '{"asked":'
_PLAIN = Keys(
    "asked", "delta", "epsilon", "kind", "parts", "release", "unit", "version", "versions"
)
_ZCDP = Keys(
    "asked", "delta", "epsilon", "kind", "parts", "release", "rho", "unit", "version", "versions"
)
_ASKED = Keys("output", "parameters", "purpose", "request_id", "source")
_KIND = f'"{Reserved.kind}"'


class ChargeReader:
    """Reads events ``reserved``, of the versions that say what was asked for."""

    def __init__(self) -> None:
        self._plain = _Amounts(zcdp=False)
        self._zcdp = _Amounts(zcdp=True)
        self._units = Known(_unit)
        self._exact = Known(_exact)

    def read(self, text: str) -> Reserved | None:
        """The charge in a canonical text; ``None`` where it has to be read as a whole."""
        if not text.startswith(_START):
            return None
        pieces = _PLAIN.cut(text)
        if pieces[7] == "3":
            return self._charge(pieces, self._plain, "0")
        pieces = _ZCDP.cut(text)
        rho = pieces.pop(6)
        return self._charge(pieces, self._zcdp, rho) if pieces[7] == "4" else None

    def _charge(self, pieces: list[str], amounts: _Amounts, rho: str) -> Reserved | None:
        asked, delta, epsilon, kind, parts, release, unit, version, versions = pieces
        charge = Charge(
            value_of(release),
            amounts.epsilon.of(epsilon),
            amounts.parts.of(parts),
            amounts.delta.of(delta),
            self._exact.of(versions),
            rho=amounts.rho.of(rho) if amounts.knows_rho else None,
        )
        event = Reserved(self._units.of(unit), charge, self._asked(asked))
        # Of another version it would be recorded otherwise.
        return event if (kind, version) == (_KIND, str(event.version)) else None

    def _asked(self, text: str) -> Asked:
        output, parameters, purpose, request_id, source = _ASKED.cut(text)
        return Asked(
            value_of(source), value_of(output), self._exact.of(parameters), value_of(purpose),
            value_of(request_id),
        )  # fmt: skip


class _Amounts:
    """The amounts and parts of a version that knows ρ, or of one that does not."""

    def __init__(self, *, zcdp: bool) -> None:
        self.knows_rho = zcdp
        self.delta = Known(lambda text: Delta(from_text(text)))
        self.epsilon = Known(lambda text: positive_epsilon(text, may_be_none=zcdp))
        self.rho = Known(positive_rho)
        self.parts = Known(self._parts)

    def _parts(self, recorded: Any) -> tuple[Part, ...]:
        found = tuple(part(fields) for fields in recorded)
        if [one.fields(zcdp=self.knows_rho) for one in found] != recorded:
            raise ValueError("parts with other fields")
        return found


def _unit(recorded: Any) -> PrivacyUnit:
    unit = read_unit(recorded)
    if unit is None or unit_fields(unit) != recorded:
        raise ValueError("a unit with other fields")
    return unit


def _exact(recorded: Any) -> dict[str, Any]:
    if not isinstance(recorded, dict) or exact_json(recorded, "parameters") != recorded:
        raise ValueError("not recorded exactly")
    return recorded
