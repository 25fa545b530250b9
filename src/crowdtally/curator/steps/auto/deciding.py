"""Which steps run, and with which shares: a function of the request and of the released sizes.

All shares are exact. What is decided here was either public before, or follows from what step 1
released: nothing is read off the records. The numbers are those of ``docs/accuracy.md``.
"""

from __future__ import annotations

from fractions import Fraction

from crowdtally.curator.engine.matching import WIDEST
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.decided import Decided, Shares
from crowdtally.estimation.bounds import best_theta, is_light
from crowdtally.estimation.sizes import Sizes
from crowdtally.laws.interval import MOST_CELLS, phantoms_for

SIZES, CROWD, BINS, HEAD, CONTEXTS = (Fraction(n, 100) for n in (3, 3, 3, 8, 2))
TOP_HEAD = (Fraction(30, 100), Fraction(45, 100))
"""Under ``--for top``, from few to many users per item: an item that the table does not show among
the largest is not in the head, however well that is measured."""
HEAD_ITEMS, TOP_ITEMS, ROWS_RECORD, ROWS_USER = 20, 30, 100, 50
_PREPARED = Fraction(86, 100)
"""What the table has, about, before anything but the sizes is known."""
_WELL_KEPT = 0.8
_NONE = Fraction(0)


def decide(design: Design, sizes: Sizes) -> Decided:
    """The steps and their shares."""
    q = _per_context(design, sizes)
    density = sizes.users * float(design.epsilon) / design.items
    usual = _top_head(density) if design.aim == "top" else HEAD
    split, head, tastes, rows = _contexts(design, q, usual)
    prepared = float((_PREPARED - tastes - rows - (head - HEAD)) * design.epsilon)
    light = is_light(sizes, prepared, design.items)
    theta = best_theta(sizes, prepared, design.items, light=light)
    small = _is_small(design, sizes, theta)
    if small:  # it replaces all of these; split, it is drawn in each context
        head = rows = _NONE
    elif not _has_head(design, sizes.kept(theta), split=split):
        head, split = _NONE, False
    return Decided(
        sizes,
        Shares(
            _NONE if light or small or design.is_sparse else BINS, head,
            CONTEXTS if design.has_contexts else _NONE, tastes, rows,
        ),
        light, small, split,
        zooms=sizes.reliable and not small and not design.is_sparse and density < 0.5,
        zoom_mass=0.15 if density < 0.2 else 0.3,
        q=q,
        items=design.items,
    )  # fmt: skip


def _per_context(design: Design, sizes: Sizes) -> float:
    """q: users × ε per context value; 0 where that is not known."""
    known = sizes.reliable and design.has_contexts
    return sizes.users * float(design.epsilon) / design.contexts if known else 0.0


def head_items(design: Design) -> int:
    """K: how many items are measured directly; none where that is much of a short list.

    Cells of attributes beyond 64 bits have no numbers that the engine could choose them by.
    """
    wanted = TOP_ITEMS if design.aim == "top" else HEAD_ITEMS
    return wanted if wanted <= design.items // 4 and design.items <= WIDEST else 0


def _has_head(design: Design, kept: float, *, split: bool) -> bool:
    """Whether the largest items are measured directly; not where bounding keeps most anyway."""
    always = split or design.aim == "top"
    return head_items(design) > 0 and (always or kept <= _WELL_KEPT)


def _is_small(design: Design, sizes: Sizes, theta: int) -> bool:
    """Whether interval noise on all items deviates less than noise of scale θ.

    √((m+2)(m+3)/6) < √2·θ, in whole numbers; and there are no more cells than one draw can have.
    """
    m = design.items
    if design.repeats or not sizes.reliable or m + phantoms_for(m) > MOST_CELLS:
        return False
    return (m + 2) * (m + 3) < 12 * theta**2


def _top_head(density: float) -> Fraction:
    """The head's share under ``--for top``: 0.3 × users × ε per item, rounded down to 1/10,000.

    >>> [str(_top_head(density)) for density in (0.1, 1.2, 9.0)]
    ['3/10', '9/25', '9/20']
    """
    least, most = TOP_HEAD
    share = Fraction(int(min(float(least) * density, 1.0) * 10_000), 10_000)
    return min(max(share, least), most)


def _contexts(
    design: Design, q: float, usual: Fraction
) -> tuple[bool, Fraction, Fraction, Fraction]:
    """Whether the head is split, and the shares of head, tastes and head rows."""
    none = (False, usual, _NONE, _NONE)
    if not design.has_contexts or design.aim == "top":
        return none
    if design.aim == "counts":
        return _for_counts(design, q)
    if not design.per_user:
        return (False, usual, _NONE, _clip(600, q, 8, 15)) if q >= 1000 else none
    tastes = _clip(300, q, 3, 10) if design.features is not None and q >= 450 else _NONE
    if design.repeats:
        return False, usual, tastes, Fraction(1, 10) if q >= 800 else _NONE
    return (True, _clip(450, q, 8, 15), tastes, _NONE) if q >= 450 else none


def _for_counts(design: Design, q: float) -> tuple[bool, Fraction, Fraction, Fraction]:
    measured = design.per_user and q >= 2000
    tastes = Fraction(3, 100) if measured and design.features is not None else _NONE
    return measured and not design.repeats, HEAD, tastes, _NONE


def _clip(amount: int, q: float, least: int, most: int) -> Fraction:
    """amount/q as a share within so many per cent, rounded down to 1/10,000."""
    share = Fraction(int(amount / q * 10_000), 10_000)
    return min(max(share, Fraction(least, 100)), Fraction(most, 100))
