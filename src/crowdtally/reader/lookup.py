"""One axis of a release's domain: values and ranges are looked up, and unknown ones refused."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdtally.core.domain import Axis
from crowdtally.errors import UsageError, did_you_mean

Mask = NDArray[np.bool_]
Value = str | int

_SEARCHED = 5000
"""Values among which a misspelled one is looked for: beyond that it takes seconds."""
_LONGEST = 100
"""Letters of a value that are compared and shown: a label may have any number."""


@dataclass(frozen=True, eq=False)
class AxisLookup:
    """One axis of a release's domain, where values and ranges are looked up."""

    name: str
    """The column."""
    length: int
    """How many values it has."""
    read: Callable[[], Axis]
    """Gives the list; asked only where values matter, since it may be long and lie in a table."""

    @classmethod
    def of(cls, axis: Axis) -> AxisLookup:
        """The look-up of a list that is at hand."""
        return cls(axis.name, len(axis), lambda: axis)

    def __len__(self) -> int:
        return self.length

    @cached_property
    def axis(self) -> Axis:
        """The list, in the order that ranges use."""
        return self.read()

    @cached_property
    def places(self) -> dict[Value, int]:
        """The position of every value."""
        return {value: place for place, value in enumerate(self.axis.values.tolist())}

    def places_of(self, values: Sequence[Value] | NDArray[Any]) -> NDArray[np.int64]:
        """The positions of values that are all listed; of millions too, where integers ascend."""
        listed = self.axis.values
        if self.axis.kind == "integer" and self.ascends:
            found = np.searchsorted(listed, np.asarray(values, dtype=np.int64))
            if np.array_equal(listed[np.minimum(found, len(listed) - 1)], values):
                return np.asarray(found, dtype=np.int64)
        known = self.places
        return np.array([known[value] for value in np.asarray(values).tolist()], dtype=np.int64)

    @cached_property
    def ascends(self) -> bool:
        """Whether the list of integers is in numerical order."""
        return bool((self.axis.values[1:] > self.axis.values[:-1]).all())

    def among(self, values: Iterable[Value]) -> Mask:
        """Which positions hold one of these values; a value that is not listed is refused."""
        mask = np.zeros(len(self), dtype=np.bool_)
        for value in values:
            mask[self.place(value)] = True
        return mask

    def between(
        self, low: Value | None, high: Value | None, open_low: bool, open_high: bool
    ) -> Mask:
        """Which positions lie from ``low`` to ``high`` in the order of the list; None has no end.

        Integers need not be listed themselves, but their list must ascend, or the order of the
        list and that of the numbers would be two things.
        """
        if self.axis.kind == "integer" and not self.ascends:
            raise UsageError(
                f"{self.name!r} has whole numbers that are not listed in ascending order, so a "
                f"range of it could mean two things: name the values, {self.name} IN (…)."
            )
        first = 0 if low is None else self._position(low, after=open_low)
        end = len(self) if high is None else self._position(high, after=not open_high)
        places = np.arange(len(self))
        return np.asarray((places >= first) & (places < end))

    def _position(self, value: Value, *, after: bool) -> int:
        """How many values come before ``value``, or up to it."""
        if self.axis.kind == "text":
            return self.place(value) + after
        self._check_kind(value)
        return (bisect_right if after else bisect_left)(self.axis.values, value)

    def place(self, value: Value) -> int:
        """The position of a value."""
        self._check_kind(value)
        if value in self.places:
            return self.places[value]
        raise UsageError(f"{self.name!r} has no value {value!r}. {self._suggestion(str(value))}")

    def spelled(self, value: object) -> Value:
        """The listed value that is or is written like ``value``: command lines have only text."""
        if isinstance(value, bool) or not isinstance(value, str | int | np.integer):
            raise UsageError(
                f"a value of {self.name!r} is text or a whole number: received {value!r}."
            )
        if isinstance(value, str) and self.axis.kind == "integer":
            written = {str(known): known for known in self.places}
            return written.get(value, value)
        return str(value) if self.axis.kind == "text" else int(value)

    def _check_kind(self, value: Value) -> None:
        if self.axis.kind == "integer" and isinstance(value, str):
            raise UsageError(
                f"{self.name!r} holds whole numbers: received the text {value!r}. Write the number "
                "without quotes."
            )
        if self.axis.kind == "text" and not isinstance(value, str):
            raise UsageError(
                f"{self.name!r} holds text: received the number {value!r}. Write it in single "
                f"quotes, '{value}'."
            )

    def _suggestion(self, received: str) -> str:
        known = [_clipped(str(value)) for value in self.places]
        if len(known) > _SEARCHED:
            known = [value for value in known if value[:1].lower() == received[:1].lower()]
        return did_you_mean(received, known[:_SEARCHED])


def _clipped(value: str) -> str:
    return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…"


def column(name: str, lists: Mapping[str, AxisLookup]) -> AxisLookup:
    """The axis of a column, or a UsageError that names the columns there are."""
    if name not in lists:
        raise UsageError(f"this release has no column {name!r}. {did_you_mean(name, lists)}")
    return lists[name]
