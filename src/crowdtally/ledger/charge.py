"""What a release charges and was asked for, and the canonical JSON that is hashed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, ClassVar, Self, TypeAlias, TypeVar

from crowdtally.core.privacy import Delta, Epsilon, PrivacyUnit, Rho
from crowdtally.errors import UsageError
from crowdtally.laws.conversion import selection_rho
from crowdtally.ledger.amounts import LONGEST, Loss, from_text, is_long, to_text

# One text for one meaning: the JSON that is hashed.
#
# Keys sorted, no spaces, ASCII only, no floats. Two programs that agree on the content agree on
# the bytes, and therefore on the hash.

Json: TypeAlias = "bool | int | str | list[Json] | dict[str, Json] | None"

# Readers in other languages hold a JSON number in a float; beyond this it would change silently.
_LARGEST_NUMBER = 2**53
# What is nested without end can be written, and not be read again by a program that recurses.
_DEEPEST = 22
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)


def canonical(value: Json) -> str:
    """The text that is hashed.

    >>> canonical({"b": "1/3", "a": [1, None]})
    '{"a":[1,null],"b":"1/3"}'
    """
    return _ENCODER.encode(value)


def exact_json(value: object, name: str, room: int = _DEEPEST) -> Json:
    """``value`` as JSON without loss; ``name`` is what a message calls it.

    Lists and mappings within each other are refused beyond ``room`` levels.

    Rationals become strings, and so do integers that a reader's float could not hold. A float is
    refused: nobody can say which number its author meant.

    >>> exact_json({"scale": Fraction(1, 3), "bound": 4}, "parameters")
    {'scale': '1/3', 'bound': 4}
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Epsilon | Delta | Rho):
        return to_text(value.value)
    if isinstance(value, int):
        return value if abs(value) <= _LARGEST_NUMBER else to_text(Fraction(value))
    if isinstance(value, Fraction):
        return to_text(value)
    if isinstance(value, Mapping):
        _require_room(room, name)
        return {
            _key(key, name): item
            if type(item) is str  # most are, and need no name
            else exact_json(item, f"{name}.{key}", room - 1)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        _require_room(room, name)
        return [exact_json(item, f"{name}[{place}]", room - 1) for place, item in enumerate(value)]
    raise UsageError(
        f"{name} cannot be recorded exactly: received a {type(value).__name__}; "
        "give a Fraction, an integer, a string, or a list or mapping of these."
    )


def _require_room(room: int, name: str) -> None:
    if room <= 0:
        raise UsageError(
            f"{name[:80]} cannot be recorded: lists and mappings within each other go deeper than "
            f"{_DEEPEST} levels. Give flatter ones."
        )


def _key(key: object, name: str) -> str:
    if not isinstance(key, str):
        raise UsageError(f"{name} has a key that is not a string: received {key!r}.")
    return key


_SHORT = 40  # characters of an amount that is worth keeping


def words(value: object, what: str) -> str:
    """``value`` if it is a string with something in it; ``what`` is what a message calls it."""
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{what} must be a non-empty text: received {value!r}.")
    return value


def unit_fields(unit: PrivacyUnit | None) -> Json:
    return None if unit is None else {"kind": unit.kind, "column": unit.column}


def read_unit(fields: Any) -> PrivacyUnit | None:
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


class Recorded:
    """A dataclass that is recorded field by field, in one form for each type."""

    called: ClassVar[str]
    """What a message calls it."""

    def __post_init__(self) -> None:
        for name, kind in _kinds(type(self)):  # type: ignore[arg-type]
            value = getattr(self, name)
            if kind == "str" or (kind == "str | None" and value is not None):
                words(value, f"the {name} of {self.called}")

    def fields(self) -> dict[str, Json]:
        return {name: _written(value) for name, value in vars(self).items()}

    @classmethod
    def read(cls, recorded: Any) -> Self:
        """What ``fields`` wrote; a ``KeyError`` where a field is missing."""
        values = {}
        for name, kind in _kinds(cls):  # type: ignore[arg-type]
            value, reader = recorded[name], _READERS.get(kind)
            values[name] = value if reader is None else reader(value)
        return cls(**values)


@cache  # a ledger has many entries, of few types
def _kinds(recorded: type) -> tuple[tuple[str, str], ...]:
    """Each field of a type, with its annotation."""
    return tuple((one.name, str(one.type)) for one in fields(recorded))


def _written(value: Any) -> Json:
    if isinstance(value, Recorded):
        return value.fields()
    if isinstance(value, Loss):
        return loss_fields(value)
    if isinstance(value, PrivacyUnit):
        return unit_fields(value)
    return list(value) if isinstance(value, tuple) else value


def _some_loss(recorded: Any) -> Loss:
    loss = read_loss(recorded)
    if loss is None:
        raise ValueError("no amount")
    return loss


_READERS = {"Loss": _some_loss, "Loss | None": read_loss, "PrivacyUnit | None": read_unit}
"""How a field is read, by its annotation; others are taken as they are, and checked later."""
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
        return Loss.of(self.epsilon, self.delta, self.rho)

    def fields(self) -> dict[str, Json]:
        return {
            "name": self.name,
            **amount_fields(self.loss),
            "selects": self.selects,
            "mechanism": self.mechanism,
            "parameters": dict(self.parameters),
        }

    @classmethod
    def read(cls, recorded: Any) -> Part:
        if not isinstance(recorded["selects"], bool):
            raise ValueError("neither true nor false")
        return cls(
            recorded["name"],
            _some(Epsilon, recorded["epsilon"]),
            recorded["mechanism"],
            recorded["parameters"],
            Delta(read_amount(recorded["delta"])),
            rho=_some(Rho, recorded["rho"]),
            selects=recorded["selects"],
        )


@dataclass(frozen=True)
class Charge:
    """All that one release is going to do, charged at once."""

    release_id: str
    epsilon: Epsilon | None
    """The exact total of pure ε; ``None`` where there is none."""
    parts: tuple[Part, ...]
    """The mechanisms; their ε, δ and ρ must not sum to more than the totals."""
    delta: Delta = field(default_factory=Delta)
    versions: Mapping[str, str] = field(default_factory=dict)
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
        return Loss.of(self.epsilon, self.delta, self.rho)

    def fields(self) -> dict[str, Json]:
        return {
            "release": self.release_id,
            **amount_fields(self.loss),
            "parts": [part.fields() for part in self.parts],
            "versions": exact_json(self.versions, "versions"),
        }

    @classmethod
    def read(cls, recorded: Any) -> Charge:
        return cls(
            recorded["release"],
            _some(Epsilon, recorded["epsilon"]),
            _parts(canonical(recorded["parts"])),
            Delta(read_amount(recorded["delta"])),
            recorded["versions"],
            rho=_some(Rho, recorded["rho"]),
        )

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


@lru_cache(maxsize=256)
def _parts(text: str) -> tuple[Part, ...]:
    """Most charges have the parts of an earlier one, so the same text is read once."""
    return tuple(map(Part.read, json.loads(text)))


def amount_fields(loss: Loss) -> dict[str, Json]:
    return {name: to_text(getattr(loss, name)) for name in ("epsilon", "delta", "rho")}


A = TypeVar("A", Epsilon, Rho)


def _some(kind: type[A], recorded: object) -> A | None:
    """The amount; ``None`` for nothing."""
    amount = read_amount(recorded)
    return kind(amount) if amount else None


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
        return dict(vars(self))


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
