"""What a figure is made of: means over runs, each at its place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite, sqrt
from typing import Any

Place = float | str
"""Where a number stands: a point of an axis, or the name of a group of bars."""


@dataclass(frozen=True)
class Number:
    """One number of a figure."""

    panel: str
    """The name of the panel that it stands in."""
    line: str
    """Whose it is: a method, or another curve."""
    x: Place
    """Where it stands."""
    mean: float
    """Over all runs."""
    standard_error: float = 0.0
    """Of the mean; 0 where nothing was drawn at random."""
    runs: int = 1
    """How many runs."""
    text: str = ""
    """What stands there in words, such as the titles of a list."""

    @classmethod
    def over(cls, panel: str, line: str, x: Place, values: Sequence[float]) -> Number:
        """The mean of independent runs.

        >>> Number.over("items", "sra", 10, [1.0, 3.0])
        Number(panel='items', line='sra', x=10, mean=2.0, standard_error=1.0, runs=2, text='')
        """
        number = len(values)
        mean = sum(values) / number
        spread = sum((value - mean) ** 2 for value in values)
        error = sqrt(spread / (number - 1) / number) if number > 1 else 0.0
        return cls(panel, line, x, mean, error, number)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> Number:
        """From JSON; KeyError, TypeError or ValueError where it is damaged."""
        x = told["x"]
        if isinstance(x, bool) or not isinstance(x, str | int | float):
            raise TypeError("a place is a number or a name")
        mean, error = float(told["mean"]), float(told["standard_error"])
        if not isfinite(mean) or not isfinite(error):
            raise ValueError("a number of a figure is finite")
        words = {name: str(told[name]) for name in ("panel", "line", "text")}
        return cls(**words, x=x, mean=mean, standard_error=error, runs=int(told["runs"]))


class Numbers:
    """The numbers of a figure, to be asked by panel, line and place."""

    def __init__(self, numbers: Iterable[Number]) -> None:
        self._by_place = {(one.panel, one.line, one.x): one for one in numbers}

    def __iter__(self) -> Iterator[Number]:
        return iter(self._by_place.values())

    def __len__(self) -> int:
        return len(self._by_place)

    def at(self, panel: str, line: str, x: Place) -> Number:
        """The number at one place; KeyError where there is none."""
        return self._by_place[panel, line, x]

    def mean(self, panel: str, line: str, x: Place) -> float:
        """Its mean."""
        return self.at(panel, line, x).mean

    def has(self, panel: str, line: str) -> bool:
        """Whether a panel has a line."""
        return any(one.panel == panel and one.line == line for one in self)

    def lines(self, panel: str) -> list[str]:
        """The lines of a panel, in the order in which they were measured."""
        return list(dict.fromkeys(one.line for one in self if one.panel == panel))

    def curve(self, panel: str, line: str) -> dict[Place, Number]:
        """A line of a panel: its numbers by their place, in the order of the axis."""
        found = [one for one in self if one.panel == panel and one.line == line]
        if all(not isinstance(one.x, str) for one in found):
            found.sort(key=lambda one: float(one.x))
        return {one.x: one for one in found}
