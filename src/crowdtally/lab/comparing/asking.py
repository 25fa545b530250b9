"""What a comparison is asked for: ε's, bounds, runs, processes. All of it is checked first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from crowdtally.core.numbers import is_whole, received, whole_number
from crowdtally.core.privacy import Epsilon
from crowdtally.errors import UsageError
from crowdtally.lab.apart.machine import cores

USUAL_RUNS = 20
USUAL_BOUNDS = (1, 3, 10, 30, 100)
"""The bounds to try where none are given, up to the first that cuts nobody."""
_MOST_RUNS = 10_000
_MOST_JOBS = 1024
_MOST_NOISES = 4
_LARGEST_BOUND = 2**31

One = TypeVar("One")


@dataclass(frozen=True)
class Runs:
    """How often each setting is run: every key with as many noises."""

    keys: int
    """Draws of the sampling key, and of all that is released before the last noise."""
    noises: int
    """Draws of the last noise with each key."""

    @classmethod
    def of(cls, runs: object) -> Runs:
        """Up to 4 noises with a key, as many as divide the runs and leave 2 keys or more.

        >>> Runs.of(20), Runs.of(7), Runs.of(4)
        (Runs(keys=5, noises=4), Runs(keys=7, noises=1), Runs(keys=2, noises=2))
        """
        if is_whole(runs) and int(str(runs)) < 2:
            raise UsageError(
                "--runs must be 2 or more, because a standard error needs two keys: received "
                f"{runs}. 20 is usual."
            )
        number = whole_number(runs, "--runs", 2, _MOST_RUNS)
        noises = next(n for n in range(_MOST_NOISES, 0, -1) if number % n == 0 and number // n >= 2)
        return cls(number // noises, noises)

    @property
    def total(self) -> int:
        """All runs of a setting."""
        return self.keys * self.noises


def epsilons_of(given: object) -> tuple[Epsilon, ...]:
    """Each whole ε, exact: from ``"0.1,1"``, a number, or several of them.

    >>> [str(epsilon) for epsilon in epsilons_of("0.1, 1/3")]
    ['0.1', '1/3']
    """
    parts = _parts(given, "--epsilon", "0.1,1")
    return _once(parts, Epsilon.of, "--epsilon")


def bounds_of(given: object) -> tuple[int, ...] | None:
    """Each bound of records per user, ascending; None where none is given."""
    if given is None:
        return None
    parts = _parts(given, "--max-records", "1,10,100")
    return tuple(sorted(_once(parts, _bound, "--max-records")))


def jobs_of(given: object) -> int:
    """How many processes; by default as many as there are cores."""
    if given is None:
        return cores()
    return whole_number(given, "--jobs", 1, _MOST_JOBS)


def names_of(given: object) -> tuple[str, ...] | None:
    """The names of methods; None where all are meant that can run."""
    if given is None:
        return None
    parts = [str(part).strip() for part in _parts(given, "--methods", "sra,hpa,lpa")]
    if "all" in parts:
        if len(parts) > 1:
            raise UsageError("--methods all means every method: name no other beside it.")
        return None
    return _once(parts, str, "--methods")


def _parts(given: object, option: str, example: str) -> list[object]:
    """What a comma divides, or the members of a list."""
    if isinstance(given, str):
        parts: list[object] = [part.strip() for part in given.split(",")]
    elif isinstance(given, Sequence) and not isinstance(given, bytes):
        parts = list(given)
    else:
        parts = [given]
    if not parts or any(isinstance(part, str) and not part for part in parts):
        raise UsageError(
            f"{option} has an empty entry: received {given!r}; type a list such as {example}."
        )
    return parts


def _once(parts: Iterable[object], read: Callable[[object], One], option: str) -> tuple[One, ...]:
    """Each part read, none of them twice."""
    found: list[One] = []
    for part in parts:
        one = read(part)
        if one in found:
            raise UsageError(f"{option} names {one} twice: name it once.")
        found.append(one)
    return tuple(found)


def _bound(part: object) -> int:
    text = str(part) if isinstance(part, str | int | Fraction) else ""
    if isinstance(part, bool) or not (text.isascii() and text.isdigit()):
        raise UsageError(
            "--max-records is one bound per user or a list of them, such as 1,10,100: received "
            f"{received(part)}."
        )
    return whole_number(int(text), "--max-records", 1, _LARGEST_BOUND)
