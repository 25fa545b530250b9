"""What was done: frozen, versioned events that never change meaning.

An event states facts (mechanisms, parameters, exact ε and δ, units, versions), never what they
cost in total: that is the accountant's word. A kind or a version that is not listed here is
refused, because guessing at a privacy loss could make it free. An event is written in the oldest
version that can say all of it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

from crowdtally.budget.accountant import Loss
from crowdtally.budget.amounts import to_text
from crowdtally.budget.canonical import Json, exact_json
from crowdtally.budget.fields import loss_fields, unit_fields, words
from crowdtally.budget.sources import Sources
from crowdtally.budget.staged import StagedFolder
from crowdtally.errors import UsageError
from crowdtally.values.epsilon import Delta, Epsilon
from crowdtally.values.unit import PrivacyUnit

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Part:
    """One mechanism of a release and its share of the charge."""

    name: str
    """What it is for: ``items``, ``edges``, ``popularity``, …"""
    epsilon: Epsilon
    """Its exact ε."""
    mechanism: str
    """Its name, such as ``discrete-laplace``."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """What another accountant needs to re-check ε: scale, L1 bound, …; rationals, not floats."""
    delta: Delta = field(default_factory=Delta)
    """Its exact δ."""

    def __post_init__(self) -> None:
        words(self.name, "the name of a part")
        words(self.mechanism, "the mechanism of a part")
        object.__setattr__(self, "epsilon", Epsilon.of(self.epsilon))
        object.__setattr__(self, "delta", Delta.of(self.delta))
        parameters = exact_json(self.parameters, f"the parameters of part {self.name!r}")
        object.__setattr__(self, "parameters", parameters)

    def fields(self) -> dict[str, Json]:
        """As recorded."""
        return {
            "name": self.name,
            "epsilon": to_text(self.epsilon.value),
            "delta": to_text(self.delta.value),
            "mechanism": self.mechanism,
            "parameters": exact_json(self.parameters, "parameters"),
        }


@dataclass(frozen=True)
class Charge:
    """All that one release is going to do, charged at once."""

    release_id: str
    """The release that will carry it."""
    epsilon: Epsilon
    """The exact total ε."""
    parts: tuple[Part, ...]
    """The mechanisms; their ε and δ must not sum to more than the totals."""
    delta: Delta = field(default_factory=Delta)
    """The exact total δ."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Of the programs that will do it."""

    def __post_init__(self) -> None:
        words(self.release_id, "the release id of a charge")
        object.__setattr__(self, "epsilon", Epsilon.of(self.epsilon))
        object.__setattr__(self, "delta", Delta.of(self.delta))
        object.__setattr__(self, "parts", tuple(self.parts))
        object.__setattr__(self, "versions", dict(self.versions))
        if not self.parts:
            raise UsageError("a charge must list at least one part: received none.")

    @property
    def loss(self) -> Loss:
        """The stated ε and δ."""
        return Loss.of(self.epsilon, self.delta)


@dataclass(frozen=True)
class Created:
    """A dataset came into being."""

    kind: ClassVar[str] = "created"
    version: ClassVar[int] = 1
    unit: PrivacyUnit | None
    """What its epsilons protect; ``None`` until the first charge says so."""
    accountant: str
    """The kind of accountant."""
    limit: Loss | None
    """The total that may be spent; ``None`` for no limit."""

    def __post_init__(self) -> None:
        words(self.accountant, "the accountant of a dataset")

    def fields(self) -> dict[str, Json]:
        """As recorded."""
        return {
            "unit": unit_fields(self.unit),
            "accountant": self.accountant,
            "limit": loss_fields(self.limit),
        }


@dataclass(frozen=True)
class LimitSet:
    """The limit of a dataset was set, changed or lifted."""

    kind: ClassVar[str] = "limit"
    version: ClassVar[int] = 1
    limit: Loss | None
    """The new total that may be spent; ``None`` for no limit."""

    def fields(self) -> dict[str, Json]:
        """As recorded."""
        return {"limit": loss_fields(self.limit)}


@dataclass(frozen=True)
class Reserved:
    """A charge was made; from here on it counts as spent, whatever happens."""

    kind: ClassVar[str] = "reserved"
    unit: PrivacyUnit
    """What its ε protects."""
    charge: Charge
    """What is going to be done."""
    staged: StagedFolder | None = None
    """Where the unfinished release lies; ``None`` where no folder is staged, and in version 1."""

    @property
    def version(self) -> int:
        """2 with a staged folder."""
        return 1 if self.staged is None else 2

    def fields(self) -> dict[str, Json]:
        """As recorded."""
        return {
            **({} if self.staged is None else {"staged": self.staged.fields()}),
            "unit": unit_fields(self.unit),
            "release": self.charge.release_id,
            "epsilon": to_text(self.charge.epsilon.value),
            "delta": to_text(self.charge.delta.value),
            "parts": [part.fields() for part in self.charge.parts],
            "versions": exact_json(self.charge.versions, "versions"),
        }


@dataclass(frozen=True)
class MarkedPublished:
    """The release of a reservation is written, and is about to get its name."""

    kind: ClassVar[str] = "published"
    reservation: str
    """The id of the reservation."""
    sha256: str | None = None
    """SHA-256 of its ``release.json``, in hexadecimal; ``None`` in version 1."""

    def __post_init__(self) -> None:
        words(self.reservation, "the reservation of a publication")
        if self.sha256 is not None:
            checked_sha256(self.sha256)

    @property
    def version(self) -> int:
        """2 with a hash."""
        return 1 if self.sha256 is None else 2

    def fields(self) -> dict[str, Json]:
        """As recorded."""
        digest: dict[str, Json] = {} if self.sha256 is None else {"sha256": self.sha256}
        return {"reservation": self.reservation, **digest}


@dataclass(frozen=True)
class Voided:
    """A person stated that nothing of a reservation left the machine; its charge is given back."""

    kind: ClassVar[str] = "voided"
    version: ClassVar[int] = 1
    reservation: str
    """The id of the reservation."""
    reason: str
    """The person's words."""
    given_back: Loss
    """What the reservation had cost."""

    def __post_init__(self) -> None:
        words(self.reservation, "the reservation of a void")
        words(self.reason, "the reason of a void")

    def fields(self) -> dict[str, Json]:
        """As recorded."""
        return {
            "reservation": self.reservation,
            "reason": self.reason,
            "given_back": loss_fields(self.given_back),
        }


Event: TypeAlias = Created | LimitSet | Sources | Reserved | MarkedPublished | Voided


def record(event: Event) -> dict[str, Json]:
    """The event as recorded: its kind, its version and its fields."""
    return {"kind": event.kind, "version": event.version, **event.fields()}


def checked_sha256(value: object) -> str:
    """``value`` if it can be a SHA-256 in hexadecimal."""
    if not isinstance(value, str) or not _SHA256.fullmatch(value):
        raise UsageError(
            "the SHA-256 of a release's release.json is 64 hexadecimal digits in lower case: "
            f"received {str(value)[:80]!r}."
        )
    return value
