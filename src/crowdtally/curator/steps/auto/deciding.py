"""Which steps run, and with which shares: a function of the request and of the released sizes.

All shares are exact. What is decided here was either public before, or follows from what step 1
released: nothing is read off the records. The numbers are those of ``docs/accuracy.md``.
"""

from __future__ import annotations

from fractions import Fraction

from crowdtally.core.privacy import Epsilon, Price
from crowdtally.curator.steps.auto.course import Course, Decided, Shares, largest_theta, worth
from crowdtally.curator.steps.auto.design import Design
from crowdtally.inference.rows import Norm, Sizes, best_theta, expected_error, is_light, power_of
from crowdtally.laws.interval import MOST_CELLS, phantoms_for
from crowdtally.records.matching import WIDEST

SIZES, CROWD, BINS, HEAD, CONTEXTS = (Fraction(n, 100) for n in (3, 3, 3, 8, 2))
TOP_HEAD = (Fraction(30, 100), Fraction(45, 100))
"""Under ``--for top``, from few to many users per item: an item that the table does not show among
the largest is not in the head, however well that is measured."""
HEAD_ITEMS, TOP_ITEMS, ROWS_RECORD, ROWS_USER = 20, 30, 100, 50
_PREPARED = Fraction(86, 100)
"""What the table has, about, before anything but the sizes is known."""
_WELL_KEPT = 0.8
_FEW_USERS, _VERY_FEW_USERS = 0.5, 0.05
"""Users × ε per item below which a zoom pays: of sums of rows, and of norms."""
_NONE = Fraction(0)


def better_of(design: Design, sizes: Sizes, course: Course) -> Course:
    """The course as it is, or turned into ρ where that lets expect a smaller error of the items.

    By what is public and released alone, so that either way costs what was charged. A list that is
    too long to publish all of it stays with Laplace noise, which its thresholds are made for.
    """
    if design.is_sparse:
        return course
    turned = course.turn(design.delta)
    if _expected(design, sizes, turned.total) < _expected(design, sizes, course.total):
        return turned
    return course


def _expected(design: Design, sizes: Sizes, total: Price) -> float:
    """The squared error of an item that the table lets expect, as θ is chosen by it."""
    norm, e = norm_of(total), worth(total * _PREPARED)
    theta = _theta(design, sizes, e, norm, light=False)
    lost = sizes.lost(theta, power_of(norm, repeats=design.repeats))
    bounded = expected_error(theta, lost, e, sizes.records / design.items)
    small = _is_small(design, sizes, theta, norm)
    return min(bounded, 0.6 * _small_variance(design.items, norm) / e**2) if small else bounded


def norm_of(total: Price) -> Norm:
    """What is bounded of rows: Laplace noise asks for their sum, Gaussian noise for their norm."""
    return "l1" if isinstance(total, Epsilon) else "l2"


def _theta(design: Design, sizes: Sizes, e: float, norm: Norm, *, light: bool) -> int:
    power = power_of(norm, repeats=design.repeats)
    found = best_theta(sizes, e, design.items, light=light, power=power)
    return min(found, largest_theta(norm, design.items, repeats=design.repeats))


def decide(design: Design, sizes: Sizes, total: Price | None = None) -> Decided:
    """The steps and their shares of the total, which is what the release began with if not given.

    Args:
        design: what is public.
        sizes: what was released of the users' rows.
        total: what later steps are paid out of.
    """
    total = design.opening if total is None else total
    norm, q = norm_of(total), _per_context(design, sizes, total)
    density = sizes.users * worth(total) / design.items
    usual = _top_head(density) if design.aim == "top" else HEAD
    split, head, tastes, rows = _contexts(design, q, usual)
    prepared = worth(total * (_PREPARED - tastes - rows - (head - HEAD)))
    power = power_of(norm, repeats=design.repeats)
    light = is_light(sizes, prepared, design.items, power=power)
    theta = _theta(design, sizes, prepared, norm, light=light)
    small = _is_small(design, sizes, theta, norm)
    if small:  # it replaces all of these; split, it is drawn in each context
        head = rows = _NONE
    elif not _has_head(design, sizes.kept(theta, power), split=split):
        head, split = _NONE, False
    return Decided(
        sizes,
        Shares(
            _NONE if light or small or design.is_sparse else BINS, head,
            CONTEXTS if design.has_contexts else _NONE, tastes, rows,
        ),
        light, small, split,
        zooms=not small and _zooms(design, sizes, density, norm),
        zoom_mass=0.15 if density < 0.2 else 0.3,
        q=q,
        items=design.items,
        norm=norm,
        repeats=design.repeats,
    )  # fmt: skip


def _zooms(design: Design, sizes: Sizes, density: float, norm: Norm) -> bool:
    """Whether the items that hold most are measured twice: where there are few users per item.

    The norm of a row inside few items is not much smaller than that of all of it, other than its
    sum: with Gaussian noise a second look pays only where there are very few.
    """
    few = _FEW_USERS if norm == "l1" else _VERY_FEW_USERS
    return sizes.reliable and not design.is_sparse and density < few


def _per_context(design: Design, sizes: Sizes, total: Price) -> float:
    """q: users × ε per context value; 0 where that is not known.

    Small shares of ρ are worth more than the same shares of ε: what a head's share is worth counts.
    """
    if not sizes.reliable or not design.has_contexts:
        return 0.0
    whole = worth(total) if isinstance(total, Epsilon) else worth(total * HEAD) / float(HEAD)
    return sizes.users * whole / design.contexts


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


def _is_small(design: Design, sizes: Sizes, theta: int, norm: Norm) -> bool:
    """Whether noise on all items without bounds deviates no more than noise for θ.

    √((m+2)(m+3)/6) < √2·θ, in whole numbers; and there are no more cells than one draw can have.
    In L2, √m ≤ θ: no row is scaled at all.
    """
    m = design.items
    if design.repeats or not sizes.reliable:
        return False
    if norm == "l2":
        return m <= theta**2
    return m + phantoms_for(m) <= MOST_CELLS and (m + 2) * (m + 3) < 12 * theta**2


def _small_variance(items: int, norm: Norm) -> float:
    """Of an item where nobody is bounded, times ε² of interval noise or of what ρ is worth."""
    return (items + 2) * (items + 3) / 6 if norm == "l1" else 2.0 * items


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
