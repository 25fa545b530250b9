"""The public lists to choose from. Nothing here may depend on a record."""

from __future__ import annotations

from crowdtally.core.numbers import is_whole, whole_number
from crowdtally.errors import UsageError

MOST_CANDIDATES = 1_000_000
"""Beyond it a choice would take longer than the release: each candidate costs an exponential."""


def log_spaced(most: int, *, fineness: int = 8) -> tuple[int, ...]:
    """1, 2, … while they are small, then each about 1/fineness larger than the last, to ``most``.

    A candidate is followed by itself plus ⌊itself/fineness⌋, at least 1: integers decide, so every
    platform makes the same list.

    >>> log_spaced(40, fineness=4)
    (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 18, 22, 27, 33, 40)
    """
    whole_number(most, "the largest candidate", 1, 2**62)
    whole_number(fineness, "the fineness of the candidates", 1, 10_000)
    candidates = [1]
    while candidates[-1] < most:
        last = candidates[-1]
        candidates.append(min(most, last + max(1, last // fineness)))
    return tuple(candidates)


def check_theta(most: int, cells: int, cap: int, candidates: int) -> None:
    """Refuse a largest θ that no row could reach, or that makes too many candidates.

    Args:
        most: the largest θ.
        cells: N, the number of columns.
        cap: r, the most that one user may count in one column.
        candidates: how many there would be.
    """
    whole_number(cells, "the number of cells", 1, 2**62)
    whole_number(cap, "the cap per cell", 1, 2**31)
    if not is_whole(most) or not 1 <= most <= cells * cap:
        raise UsageError(
            f"--max-records must be a whole number between 1 and {cells * cap} (cells times the "
            f"cap per cell), which no row can exceed: received {most!r}."
        )
    if candidates > MOST_CANDIDATES:
        raise UsageError(
            f"there would be {candidates} candidates to choose from, and at most {MOST_CANDIDATES} "
            "are weighed: lower the largest bound, or use the rank rule (--choose rank)."
        )
