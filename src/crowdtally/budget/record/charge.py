"""What one release is charged for: its mechanisms, and what it was asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from crowdtally.budget.amounts import to_text
from crowdtally.budget.loss import Loss
from crowdtally.budget.record.canonical import Json, exact_json
from crowdtally.budget.record.fields import words
from crowdtally.errors import UsageError
from crowdtally.values.epsilon import Delta, Epsilon

_LONGEST_ID = 200


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
class Asked:
    """What a release was asked for: all of it public or the curator's own words."""

    source: str | None = None
    """The records' label, without passwords; None for records held in memory."""
    output: str | None = None
    """The folder that the release is to get; None where it lives with its program."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """The public parameters: method, split, lists by their hashes; rationals, not floats."""
    purpose: str | None = None
    """What for, in the curator's words."""
    request_id: str | None = None
    """The key under which a repeated request is known; None: each request is a new one."""

    def __post_init__(self) -> None:
        for value, what in (
            (self.source, "the source's label"),
            (self.output, "the output's name"),
            (self.purpose, "the purpose"),
        ):
            if value is not None:
                words(value, what)
        if self.request_id is not None:
            checked_request_id(self.request_id)
        object.__setattr__(self, "parameters", exact_json(self.parameters, "the parameters"))

    def fields(self) -> dict[str, Json]:
        """As recorded."""
        return {
            "source": self.source,
            "output": self.output,
            "parameters": exact_json(self.parameters, "parameters"),
            "purpose": self.purpose,
            "request_id": self.request_id,
        }


def checked_request_id(value: object) -> str:
    """``value`` if it can name a request: one short line of printable text."""
    fits = isinstance(value, str) and 0 < len(value) <= _LONGEST_ID and value.strip() == value
    if isinstance(value, str) and fits and value.isprintable():
        return value
    raise UsageError(
        f"--request-id is one line of at most {_LONGEST_ID} printable characters, without spaces "
        f"at its ends: received {str(value)[:40]!r}. Type a name for this one request, such as "
        "--request-id visits-2026-11-17."
    )
