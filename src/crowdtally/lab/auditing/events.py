"""Events of a release: what an attacker looks for, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from crowdtally.lab.auditing.features import ABSENT, Matrix

Comparison = Literal["at least", "at most", "exactly"]


class Statistic(Protocol):
    """One number for each run."""

    def of(self, matrix: Matrix) -> NDArray[np.int64]:
        """Its value in each run; ABSENT where it has none."""

    def words(self, names: tuple[str, ...]) -> str:
        """What it is, given what the columns are called."""


@dataclass(frozen=True)
class Single:
    """A column itself."""

    column: int
    """Which."""

    def of(self, matrix: Matrix) -> NDArray[np.int64]:
        """The column."""
        return matrix[:, self.column]

    def words(self, names: tuple[str, ...]) -> str:
        """Its name."""
        return names[self.column]


@dataclass(frozen=True)
class Combined:
    """The sum or the difference of two columns; it has no value where either has none."""

    first: int
    """A column."""
    second: int
    """Another one."""
    sign: Literal[1, -1]
    """1 for the sum, −1 for the difference."""

    def of(self, matrix: Matrix) -> NDArray[np.int64]:
        """First ± second."""
        first, second = matrix[:, self.first], matrix[:, self.second]
        both = (first != ABSENT) & (second != ABSENT)
        return np.where(both, first + self.sign * np.where(both, second, 0), ABSENT)

    def words(self, names: tuple[str, ...]) -> str:
        """The names with a sign between."""
        return f"{names[self.first]} {'+' if self.sign > 0 else '−'} {names[self.second]}"


@dataclass(frozen=True)
class Condition:
    """A statistic compared with a number."""

    statistic: Statistic
    """What is compared."""
    comparison: Comparison
    """How. A missing value is below every number."""
    value: int
    """With what."""
    may_be_absent: bool = False
    """Whether it was ever missing in training; only the words depend on it."""

    def holds(self, matrix: Matrix) -> NDArray[np.bool_]:
        """In which runs."""
        values = self.statistic.of(matrix)
        if self.comparison == "at least":
            return values >= self.value
        return values <= self.value if self.comparison == "at most" else values == self.value

    def words(self, names: tuple[str, ...]) -> str:
        """A half sentence."""
        subject = self.statistic.words(names)
        if self.value == ABSENT:
            return f"{subject} is {'seen or not' if self.comparison == 'at least' else 'absent'}"
        absent = "absent or " if self.may_be_absent and self.comparison == "at most" else ""
        return f"{subject} is {absent}{self.comparison} {self.value}"


@dataclass(frozen=True)
class Event:
    """All of its conditions hold."""

    conditions: tuple[Condition, ...]
    """The conditions; without any it always happens."""

    @property
    def is_plain(self) -> bool:
        """Whether it is about single columns: of two events as good, a reader likes this one."""
        return all(isinstance(condition.statistic, Single) for condition in self.conditions)

    def holds(self, matrix: Matrix) -> NDArray[np.bool_]:
        """In which runs it happened."""
        held = np.ones(len(matrix), dtype=np.bool_)
        for condition in self.conditions:
            held &= condition.holds(matrix)
        return held

    def words(self, names: tuple[str, ...]) -> str:
        """The whole sentence."""
        return " and ".join(condition.words(names) for condition in self.conditions) or "anything"
