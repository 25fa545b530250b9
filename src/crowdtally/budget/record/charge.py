"""What one release is charged for: its mechanisms, and what it was asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from crowdtally.budget.amounts import LONGEST, is_long, to_text
from crowdtally.budget.loss import Loss
from crowdtally.budget.record.canonical import Json, exact_json
from crowdtally.budget.record.fields import words
from crowdtally.core.privacy import Delta, Epsilon, Rho
from crowdtally.errors import UsageError
from crowdtally.laws.conversion import selection_rho

_LONGEST_ID = 200


@dataclass(frozen=True)
class Part:
    """One mechanism of a release and its share of the charge.

    It is one of four kinds: pure ``epsilon`` (perhaps with a ``delta``); a selection by the
    exponential mechanism of parameter ``epsilon``; Gaussian noise of ``rho``; unknown cells with
    Gaussian noise, ``rho`` and ``delta``.
    """

    name: str
    """What it is for: ``items``, ``edges``, ``popularity``, …"""
    epsilon: Epsilon | None
    """Its exact ε; ``None`` where it has a ρ."""
    mechanism: str
    """Its name, such as ``discrete-laplace``."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """What another accountant needs to re-check ε: scale, L1 bound, …; rationals, not floats."""
    delta: Delta = field(default_factory=Delta)
    """Its exact δ; of unknown cells, their δ₂."""
    rho: Rho | None = field(default=None, kw_only=True)
    """Its exact ρ; ``None`` where it has an ε."""
    selects: bool = field(default=False, kw_only=True)
    """Whether it is an exponential mechanism: by zCDP it costs less than another one of its ε."""

    def __post_init__(self) -> None:
        words(self.name, "the name of a part")
        words(self.mechanism, "the mechanism of a part")
        _set_amounts(self)
        if (self.epsilon is None) == (self.rho is None):
            raise UsageError(
                f"part {self.name!r} of a charge has an epsilon or a rho: give one of them. What "
                "has both is two parts."
            )
        if self.selects and (self.epsilon is None or self.delta.value):
            raise UsageError(f"part {self.name!r} selects: give its epsilon, and no delta.")
        parameters = exact_json(self.parameters, f"the parameters of part {self.name!r}")
        object.__setattr__(self, "parameters", parameters)

    @property
    def loss(self) -> Loss:
        """What it states."""
        return Loss.of(self.epsilon, self.delta, self.rho)

    def fields(self) -> dict[str, Json]:
        """As recorded."""
        return {
            "name": self.name,
            "epsilon": to_text(self.loss.epsilon),
            "delta": to_text(self.delta.value),
            "rho": to_text(self.loss.rho),
            "selects": self.selects,
            "mechanism": self.mechanism,
            "parameters": exact_json(self.parameters, "parameters"),
        }


@dataclass(frozen=True)
class Charge:
    """All that one release is going to do, charged at once."""

    release_id: str
    """The release that will carry it."""
    epsilon: Epsilon | None
    """The exact total of pure ε; ``None`` where there is none."""
    parts: tuple[Part, ...]
    """The mechanisms; their ε, δ and ρ must not sum to more than the totals."""
    delta: Delta = field(default_factory=Delta)
    """The exact total δ."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Of the programs that will do it."""
    rho: Rho | None = field(default=None, kw_only=True)
    """The exact total ρ, in which selections count by ε²/8; ``None`` for a charge of pure ε."""

    def __post_init__(self) -> None:
        words(self.release_id, "the release id of a charge")
        _set_amounts(self)
        object.__setattr__(self, "parts", tuple(self.parts))
        object.__setattr__(self, "versions", dict(self.versions))
        if not self.parts:
            raise UsageError("a charge must list at least one part: received none.")
        if self.epsilon is None and self.rho is None:
            raise UsageError("a charge must state an epsilon or a rho: received neither.")
        if self.rho is None and any(part.rho is not None for part in self.parts):
            raise UsageError("a charge with a part of rho must state its total rho: received none.")

    @property
    def loss(self) -> Loss:
        """The stated ε, δ and ρ."""
        return Loss.of(self.epsilon, self.delta, self.rho)

    @classmethod
    def by_rho(
        cls, release_id: str, parts: Iterable[Part], versions: Mapping[str, str] | None = None
    ) -> Charge:
        """The charge of a release that counts by zCDP: it states just what its parts sum to.

        >>> noise = Part("items", None, "discrete-gaussian", rho=Rho.of("0.01"))
        >>> rule = Part("bound", Epsilon.of("0.2"), "exponential", selects=True)
        >>> Charge.by_rho("release-1", [noise, rule]).rho.value
        Fraction(3, 200)
        """
        listed = tuple(parts)
        pure = sum((part.loss.epsilon for part in listed if not part.selects), Fraction(0))
        delta = sum((part.delta.value for part in listed), Fraction(0))
        rho = sum((part.loss.rho for part in listed), Fraction(0)) + sum(
            (selection_rho(part.epsilon).value for part in listed if part.selects and part.epsilon),
            Fraction(0),
        )
        return cls(
            release_id, Epsilon(pure) if pure else None, listed, Delta(delta), versions or {},
            rho=Rho(rho) if rho else None,
        )  # fmt: skip


def _set_amounts(stated: Part | Charge) -> None:
    """Each amount as its validated type, from whatever number it was given as."""
    for name, kind in (("epsilon", Epsilon), ("rho", Rho), ("delta", Delta)):
        value = getattr(stated, name)
        if value is None:
            continue
        amount = kind.of(value)
        if is_long(amount.value):
            raise UsageError(
                f"the {name} of a charge, or of a part of it, has more than {LONGEST:,} digits: "
                "give a number of fewer digits."
            )
        object.__setattr__(stated, name, amount)


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
