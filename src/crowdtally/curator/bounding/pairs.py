"""What one user can change in a table of pairs of items, of whom at most l records are kept."""

from __future__ import annotations

from crowdtally.core.counts import What


def pairs_l1(limit: int) -> int:
    """Unordered pairs of at most l kept records, never a record with itself."""
    return limit * (limit - 1) // 2


def pairs_l2_squared(limit: int, what: What) -> int:
    """The L2 bound, squared.

    Of distinct items each pair is one cell, by 1. Where items repeat, n_i records of item i make
    n_i·n_j pairs of one cell, and most in L2 are those of two items with half of the records each.

    >>> pairs_l2_squared(10, "users"), pairs_l2_squared(10, "records")
    (45, 625)
    """
    return pairs_l1(limit) if what == "users" else max((limit * limit // 4) ** 2, 1)
