"""A public list of values: what one column of a table may hold, and in which order."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from crowdtally.errors import InputError, UsageError
from crowdtally.showing import one_line, some
from crowdtally.values.origin import Origin

Kind = Literal["text", "integer"]

_FEW = 3


@dataclass(frozen=True, eq=False)
class Axis:
    """One public list of values, in the order that tables and ranges use."""

    name: str
    """The column it belongs to."""
    values: NDArray[np.int64] | NDArray[np.object_]
    """Distinct 64-bit integers, or distinct NFC strings (an object array)."""
    origin: Origin | None = field(default=None, kw_only=True)
    """Where the list was read from; None where it was typed or computed."""

    def __post_init__(self) -> None:
        if not self.name:
            raise UsageError("a list of values needs a name: the column it belongs to.")
        if len(self.values) == 0:
            raise InputError(f"the list of values for {self.name!r} is empty: give at least one.")
        if self.kind == "text":
            _check_text(self.name, self.values)
        if _distinct(self.values) != len(self.values):
            raise InputError(
                f"the list of values for {self.name!r} holds {len(self.values)} values of which "
                f"only {_distinct(self.values)} are distinct: remove the repeated ones."
            )

    @classmethod
    def of(cls, name: str, values: Iterable[object]) -> Axis:
        """An axis from a Python sequence, array or Series of text or integers.

        >>> Axis.of("day", ["Mon", "Tue"]).kind
        'text'
        """
        listed = _listed(name, values)
        if any(value is None or value != value for value in listed):
            raise InputError(f"the list of values for {name!r} contains a null: remove it.")
        kinds = {type(value) for value in listed}
        if kinds <= {str}:
            return cls(name, _objects(listed))
        if kinds == {int} and all(-(2**63) <= value < 2**63 for value in listed):
            return cls(name, np.array(listed, dtype=np.int64))
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise UsageError(
            f"values of {name!r} must be all text or all 64-bit integers: received {names}."
        )

    @classmethod
    def plainest(cls, name: str, texts: Sequence[str], *, origin: Origin | None = None) -> Axis:
        """An axis from a place without types (CSV, the command line).

        The list alone decides its type: integers where all of it are, in plain spelling.

        >>> Axis.plainest("age", ["7", "11"]).kind, Axis.plainest("zip", ["02139", "7"]).kind
        ('integer', 'text')
        """
        numbers = _plain_integers(texts) if len(texts) else None
        if numbers is None:
            return cls(name, _objects(texts), origin=origin)
        return cls(name, np.array(numbers, dtype=np.int64), origin=origin)

    @property
    def kind(self) -> Kind:
        """Whether the values are text or integers."""
        return "integer" if self.values.dtype == np.int64 else "text"

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return one_line(f"<Axis {self.name!r} of {len(self):,}: {self.first()}>")

    def first(self) -> str:
        """The first values, and how many more there are, for people."""
        return some(self.values[:_FEW].tolist(), len(self))

    def renamed(self, name: str) -> Axis:
        """The same list under another name."""
        if name == self.name:
            return self
        # The values were checked when this axis was made; a list may have ten million of them.
        other = object.__new__(Axis)
        for field_name, value in (("name", name), ("values", self.values), ("origin", self.origin)):
            object.__setattr__(other, field_name, value)
        return other


def _plain_integers(texts: Iterable[str]) -> list[int] | None:
    numbers = []
    for text in texts:
        number = plain_integer(text)
        if number is None:
            return None
        numbers.append(number)
    return numbers


def plain_integer(text: str) -> int | None:
    """The 64-bit integer that a text spells in the one plain way, so that no two fall together.

    >>> [plain_integer(text) for text in ("7", "-7", "07", "7.0", "seven")]
    [7, -7, None, None, None]
    """
    try:
        number = int(text)
    except ValueError:
        return None
    return number if str(number) == text and -(2**63) <= number < 2**63 else None


def _listed(name: str, values: Iterable[object]) -> list[Any]:
    """Plain Python values, also from arrays, Series and pyarrow columns."""
    if isinstance(values, str | bytes):
        raise UsageError(
            f'values of {name!r} must be a list, not one string: type for example ["a", "b"].'
        )
    if hasattr(values, "columns"):  # listing a data frame would give the names of its columns
        raise UsageError(
            f"values of {name!r} must be one list: received a table ({type(values).__name__}); "
            "give one of its columns."
        )
    for method in ("tolist", "to_pylist"):
        if hasattr(values, method):
            values = getattr(values, method)()
            break
    if not isinstance(values, Iterable):
        raise UsageError(
            f"values of {name!r} must be a list: received {type(values).__name__}; "
            'type for example ["a", "b"] or range(10).'
        )
    return list(values)


def _objects(values: Sequence[object]) -> NDArray[np.object_]:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _distinct(values: NDArray[np.int64] | NDArray[np.object_]) -> int:
    """How many different values there are; a list may have ten million of them."""
    if values.dtype == np.int64:
        return _runs(np.sort(values))
    hashes = np.fromiter(map(hash, values), dtype=np.int64, count=len(values))
    # Different hashes are different values; a set of them all would take half a gigabyte.
    return len(values) if _runs(np.sort(hashes)) == len(values) else len(set(values))


def _runs(ascending: NDArray[np.int64]) -> int:
    return int((ascending[1:] != ascending[:-1]).sum()) + 1 if len(ascending) else 0


def _check_text(name: str, values: NDArray[Any]) -> None:
    for position, value in enumerate(values):
        if not isinstance(value, str):
            raise InputError(f"the list of values for {name!r} contains a null: remove it.")
        if not value.isascii() and not unicodedata.is_normalized("NFC", value):
            raise InputError(
                f"value {position + 1} of the list for {name!r} is not in Unicode normal form C, "
                "so it could look equal to a record's value and not match: normalise the list and "
                "the records to NFC."
            )
