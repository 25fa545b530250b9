"""Which steps run, and with which shares: a function of the request and of the released sizes.

All shares are exact. What is decided here was either public before, or follows from what step 1
released: nothing is read off the records. The numbers are those of ``docs/accuracy.md``.
"""

from __future__ import annotations

from fractions import Fraction
from math import isqrt, sqrt

from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.decided import Decided, Shares
from crowdtally.estimation.bounds import best_theta, is_light
from crowdtally.estimation.sizes import Sizes

SIZES, CROWD, BINS, HEAD, CONTEXTS = (Fraction(n, 100) for n in (3, 3, 3, 8, 2))
TOP_HEAD = Fraction(45, 100)
HEAD_ITEMS, TOP_ITEMS, ROWS_RECORD, ROWS_USER = 20, 30, 100, 50
_PREPARED = Fraction(86, 100)
"""What the table has, about, before anything but the sizes is known."""
_WELL_KEPT = 0.8


def decide(design: Design, sizes: Sizes) -> Decided:
    """The steps and their shares."""
    epsilon = float(design.epsilon)
    q = sizes.users * epsilon / design.contexts if sizes.reliable and design.has_contexts else 0.0
    split, head, tastes, rows = _contexts(design, q)
    prepared = float((_PREPARED - tastes - rows - (head - HEAD)) * design.epsilon)
    light = sizes.reliable and is_light(sizes, prepared, design.items)
    theta = best_theta(sizes, prepared, design.items, light=light) if sizes.reliable else 1
    small = _is_small(design, sizes, theta)
    if small:
        head = rows = Fraction(0)
        split = split and q >= 0
    elif not (split or design.aim == "top") and sizes.reliable and sizes.kept(theta) > _WELL_KEPT:
        head = Fraction(0)
    if head_items(design) < 1:
        head, split = Fraction(0), split and small
    density = sizes.users * epsilon / design.items
    return Decided(
        sizes,
        Shares(
            Fraction(0) if light or small else BINS, head,
            CONTEXTS if design.has_contexts else Fraction(0), tastes, rows,
        ),
        light, small, split,
        zooms=sizes.reliable and not small and not design.is_sparse and density < 0.5,
        zoom_mass=0.15 if density < 0.2 else 0.3,
        q=q,
        items=design.items,
    )  # fmt: skip


def head_items(design: Design) -> int:
    """K: how many items are measured directly; none where that would be most of a short list."""
    wanted = TOP_ITEMS if design.aim == "top" else HEAD_ITEMS
    return wanted if wanted <= design.items // 4 else 0


def _is_small(design: Design, sizes: Sizes, theta: int) -> bool:
    """Whether interval noise on all items deviates less than noise of scale θ."""
    if design.repeats or design.is_sparse or not sizes.reliable:
        return False
    m = design.items
    return sqrt((m + 2) * (m + 3) / 6) < sqrt(2) * theta


def _contexts(design: Design, q: float) -> tuple[bool, Fraction, Fraction, Fraction]:
    """Whether the head is split, and the shares of head, tastes and head rows."""
    usual = TOP_HEAD if design.aim == "top" else HEAD
    none = (False, usual, Fraction(0), Fraction(0))
    if not design.has_contexts or design.aim == "top":
        return none
    if design.aim == "counts":
        return _for_counts(design, q)
    if not design.per_user:
        return (False, usual, Fraction(0), _clip(600, q, 8, 15)) if q >= 1000 else none
    tastes = _clip(300, q, 3, 10) if design.features is not None and q >= 450 else Fraction(0)
    if design.repeats:
        return False, usual, tastes, Fraction(1, 10) if q >= 800 else Fraction(0)
    return (True, _clip(450, q, 8, 15), tastes, Fraction(0)) if q >= 450 else none


def _for_counts(design: Design, q: float) -> tuple[bool, Fraction, Fraction, Fraction]:
    measured = design.per_user and q >= 2000
    tastes = Fraction(3, 100) if measured and design.features is not None else Fraction(0)
    return measured and not design.repeats, HEAD, tastes, Fraction(0)


def _clip(amount: int, q: float, least: int, most: int) -> Fraction:
    """amount/q as a share within so many per cent, rounded down to 1/10,000."""
    share = Fraction(int(amount / q * 10_000), 10_000)
    return min(max(share, Fraction(least, 100)), Fraction(most, 100))


def phantoms(cells: int) -> int:
    """D: empty cells that show the common shift of interval noise, where counts matter."""
    return max(isqrt(2 * cells + 1) // 2 - 1, 0) if cells else 0
