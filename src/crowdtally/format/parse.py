"""How a file of a release is read, checked and written: by the types of its fields.

A file is a msgspec struct. Fields that it does not have are left alone, so that later versions may
add some; exact numbers are text.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, Meta, Struct

from crowdtally.core.numbers import recorded, show
from crowdtally.errors import InputError

T = TypeVar("T")

Name = Annotated[str, Meta(min_length=1)]
Sha256 = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
Natural = Annotated[int, Meta(ge=0)]
AtLeastOne = Annotated[int, Meta(ge=1)]
Often = Annotated[int, Meta(ge=1, le=2**31)]
Measure = Annotated[float, Meta(ge=0, le=sys.float_info.max)]
"""A number for people to read."""

if TYPE_CHECKING:
    LeftOut: TypeAlias = T | None
    Positive = Fraction
    NotNegative = Fraction
    Share = Fraction
    Level = Fraction
else:

    class LeftOut:
        """A field that is None where it is left out: null is refused."""

        def __class_getitem__(cls, kind: Any) -> Any:
            return kind

    class _Exact(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, Fraction)

    class Positive(metaclass=_Exact):
        words, fits = "above 0", staticmethod(lambda number: number > 0)

    class NotNegative(metaclass=_Exact):
        words, fits = "of at least 0", staticmethod(lambda number: number >= 0)

    class Share(metaclass=_Exact):
        words, fits = "from 0 to 1", staticmethod(lambda number: 0 <= number <= 1)

    class Level(metaclass=_Exact):
        words, fits = "between 0 and 1", staticmethod(lambda number: 0 < number < 1)


ABSENT: Any = UNSET
"""The default of a field that only some objects have: those look for it with ``needs``."""


class Facts(Struct, frozen=True, omit_defaults=True, dict=True):
    """An object of a file. ``dict`` lets it keep what was computed from it."""

    def needs(self, *names: str, or_null: Sequence[str] = ()) -> None:
        """Refuse an object without these fields, which others of its kind lack."""
        written = dict(zip(self.__struct_fields__, self.__struct_encode_fields__, strict=True))
        for name in (*names, *or_null):
            value = getattr(self, name)
            if value is UNSET or (value is None and name not in or_null):
                raise ValueError(f"lacks {written[name]!r}")


def _exact(kind: Any, value: object) -> Fraction:
    """Read an exact number; msgspec asks for what is no kind of JSON."""
    try:
        number = recorded(value) if isinstance(value, str) else None
    except ValueError:
        number = None
    if number is None or not kind.fits(number):
        raise ValueError(f"must be an exact number {kind.words}, as text")
    return number


def shaped(facts: Any, kind: type[T], fault: Callable[[str], InputError]) -> T:
    """Some JSON as a struct; ``fault`` makes the error from what is wrong with it."""
    try:
        return msgspec.convert(facts, kind, dec_hook=_exact)
    except msgspec.ValidationError as error:
        raise fault(_words(str(error), facts)) from None


def plain(facts: object) -> Any:
    """The JSON that a struct, or a collection of structs, is written as."""
    return json.loads(msgspec.json.encode(facts, enc_hook=show))


def json_object(raw: bytes, fault: Callable[[str], InputError]) -> dict[str, Any]:
    """The JSON object that a file holds; ``fault`` makes the error from what is wrong with it."""
    try:
        found = json.loads(
            raw.decode("utf-8"), object_pairs_hook=_distinct, parse_constant=_refused
        )
        msgspec.json.encode(found)  # fails on half a character, which JSON can spell
    except UnicodeDecodeError:
        raise fault("it is not text in UTF-8") from None
    except (ValueError, RecursionError):
        raise fault("it is not the JSON that a release has") from None
    if not isinstance(found, dict):
        raise fault(f"it must hold an object, and holds {received(found)}")
    return found


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a field stands there twice")
    return found


def _refused(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _words(error: str, facts: Any) -> str:
    """What msgspec found, in words that name the field and show what it holds."""
    what, _, way = error.rpartition(" - at `$") if " - at `$" in error else (error, "", "")
    where = way.rstrip("`").removeprefix(".")
    lacking = re.match(r"(?:Object missing required field|lacks) [`'](\w+)", what)
    if lacking:
        return f"it lacks {f'{where}.{lacking[1]}'.removeprefix('.')!r}"
    if what.endswith("out of range"):
        what = "must be a number that is not beyond all measure"
    if what.startswith("Invalid enum value"):
        what = "must be one of the known texts"
    wanted = what.partition(", got ")[0].replace("Expected ", "must be ")
    wanted = re.sub("`([a-z |]+)`", lambda kinds: _kinds(kinds[1]), wanted)
    held = _held(way, facts) if wanted.startswith("must be ") else ""
    return f"{where or 'it'} {wanted}{held}"


_KINDS = {
    "int": "a whole number", "float": "a number", "str": "a text", "bool": "true or false",
    "array": "a list", "object": "an object",
}  # fmt: skip


def _kinds(names: str) -> str:
    return " or ".join(_KINDS.get(name, name) for name in names.split(" | "))


def _held(way: str, facts: Any) -> str:
    """What stands where msgspec says, which names no key of a map."""
    for name, place in re.findall(r"\.(\w+)|\[(\d+|\.\.\.)\]", way):
        if place == "...":
            return ""
        facts = facts[name or int(place)]
    return f", and is {received(facts)}"


_LONGEST = 60


def received(value: object) -> str:
    """What was found in a field, for a message.

    >>> received(None), received([1, 2]), received("ab")
    ('null', 'a list', "'ab'")
    """
    if value is None:
        return "null"
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 100:
        return "a number of too many digits"
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def damaged(path: Path, what: str) -> InputError:
    """The error for a file of a release; ``what`` says what is wrong with it."""
    return InputError(f"{str(path)!r} is damaged: {what}. Copy the release again.")


# ``release.json`` carries its own SHA-256, so that a changed byte in it is seen.
#
# The hash is of the file as it would be with 64 zeros instead of the hash. It is against
# accidents: who changes the file on purpose can compute it anew. Against that stands the ledger.

FIELD = "sha256"
"""The last field of ``release.json``."""
ZEROS = "0" * 64


def sealed(metadata: dict[str, Any]) -> bytes:
    """The bytes of ``release.json``; ``metadata`` gets the hash, as its last field."""
    metadata.pop(FIELD, None)
    metadata[FIELD] = ZEROS
    text = json.dumps(metadata, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    metadata[FIELD] = hashlib.sha256(text.encode()).hexdigest()
    # The last occurrence: a value of a public list may be 64 zeros too.
    before, _, after = text.rpartition(ZEROS)
    return f"{before}{metadata[FIELD]}{after}".encode()


def holds(raw: bytes, digest: str) -> bool:
    """Whether ``digest``, found in the file ``raw``, is the file's own."""
    before, _, after = raw.rpartition(digest.encode())
    return hashlib.sha256(before + ZEROS.encode() + after).hexdigest() == digest
