"""What one user can change in each table, by rule and bound: known before any record is read."""

from __future__ import annotations

from fractions import Fraction

from crowdtally.curator.request.method import Method

GRID = 2**20
"""g: units per count where rows are scaled; rounding loses less than 2^−20 per user and cell."""


def l1_bound(method: Method, table: str, bound: int) -> tuple[int, Fraction]:
    """The L1 bound of a table in integer units, and what a unit means as a count.

    >>> l1_bound(Method("sra"), "items", 10), l1_bound(Method("sra"), "pairs", 10)
    ((10, Fraction(1, 1)), (45, Fraction(1, 1)))
    """
    if method.by_row:
        return 1, Fraction(1)
    if not method.samples:
        return GRID * bound, Fraction(1, GRID)
    if table == "pairs":
        # Unordered pairs of at most l kept records, never a record with itself.
        return bound * (bound - 1) // 2, Fraction(1)
    return bound, Fraction(1)
