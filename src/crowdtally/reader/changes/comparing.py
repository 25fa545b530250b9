"""``ct.changes``: what rose and what fell between two releases of one domain."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import numpy as np

from crowdtally.core.numbers import Number, exact
from crowdtally.errors import UsageError, did_you_mean
from crowdtally.reader.axes import Axes
from crowdtally.reader.changes.change_list import Change, ChangeList
from crowdtally.reader.changes.comparable import refuse_unlike
from crowdtally.reader.changes.discovering import Discovered, Floats, discovered
from crowdtally.reader.changes.reading import Reading, read
from crowdtally.reader.changes.remarks import remarks
from crowdtally.reader.changes.testing import Pair, pairs_of
from crowdtally.reader.lookup import Mask
from crowdtally.reader.opening import load
from crowdtally.reader.release import Release

MISSED = 0.05
"""The share of the intervals of a list that may miss their change."""
OF = ("counts", "shares")
"""What can be compared."""


def changes(
    earlier: Release | str | os.PathLike[str],
    later: Release | str | os.PathLike[str],
    /,
    *,
    fdr: Number = "0.05",
    of: str = "counts",
    k: int | None = None,
    context: Mapping[str, object] | None = None,
    **contexts: object,
) -> ChangeList:
    """Which items rose and which fell, beyond what noise and sampling explain.

    Of the items listed, a share of at most ``fdr`` has not changed, on average.

    Args:
        earlier: a release, or its folder.
        later: another of the same domain.
        fdr: the false discovery rate.
        of: ``"counts"``, or ``"shares"``: relative to the totals, so that twice the users are no
            change.
        k: how many items to list, the surest first; all that changed by default.
        context: values of contexts whose names are those of other parameters.
        contexts: ``day="Friday"``, or a list of values, which count together. Contexts that are
            not named are summed over.

    Raises:
        UsageError: the releases cannot be compared; the message says why, and what to do.
    """
    rate, most = _rate(fdr), _most(k)
    if of not in OF:
        raise UsageError(f"what is compared is counts or shares: received {of!r}.")
    both = [one if isinstance(one, Release) else load(one) for one in (earlier, later)]
    axes = [one._axes for one in both]
    refuse_unlike(*axes)
    asked = {**(context or {}), **contexts}
    boxes = [_box(one, asked) for one in axes]
    readings = [read(one._axes, one._estimator, box) for one, box in zip(both, boxes, strict=True)]
    pairs = pairs_of(readings[0].ways, readings[1].ways, shares=of == "shares")
    found = _found(pairs, rate)
    rows = _rows(axes[0], readings, pairs, found, most, shares=of == "shares")
    item = axes[0].published.domain.lists[0]
    made = ChangeList(
        rows, rate, of, axes[0].published.counted, len(pairs[0].later), len(found),
        remarks(axes, readings, pairs, rate, of), item_kind=item.kind,
    )  # fmt: skip
    labels = both[1]._labels or both[0]._labels
    return made if labels is None else made.with_labels(labels)


def _found(pairs: Sequence[Pair], rate: float) -> Discovered:
    chances = [pair.p_values() for pair in pairs]
    return discovered([up for up, _ in chances], [down for _, down in chances], rate)


def _rate(fdr: Number) -> float:
    rate = exact(fdr, "the false discovery rate")
    if not 0 < rate < 1:
        raise UsageError(
            f"the false discovery rate is a share between 0 and 1, such as 0.05: received {fdr!r}."
        )
    return float(rate)


def _most(k: int | None) -> int | None:
    if k is not None and (isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1):
        raise UsageError(f"k must be a whole number of at least 1: received {k!r}.")
    return None if k is None else int(k)


def _box(axes: Axes, asked: Mapping[str, object]) -> dict[str, Mask]:
    """Where contexts have the values that are asked for."""
    contexts, found = axes.contexts, dict[str, Mask]()
    for name, value in asked.items():
        if not contexts:
            raise UsageError("these releases have no contexts: compare without one.")
        if name not in contexts:
            raise UsageError(
                f"these releases have no context {name!r}. {did_you_mean(name, contexts)}"
            )
        several = isinstance(value, Sequence | set | frozenset) and not isinstance(value, str)
        values = list(value) if several else [value]  # type: ignore[call-overload]
        if not values:
            raise UsageError(f"the context {name!r} needs a value, or several.")
        lookup = contexts[name]
        found[name] = lookup.among([lookup.spelled(one) for one in values])
    return found


def _rows(
    axes: Axes,
    readings: Sequence[Reading],
    pairs: Sequence[Pair],
    found: Discovered,
    most: int | None,
    *,
    shares: bool,
) -> tuple[Change, ...]:
    """The lines of the list, the surest first."""
    if not len(found):
        return ()
    change, low, high = _measured(pairs, found)
    unit = 1.0
    if shares:  # in percentage points of the later total
        whole = pairs[0].later.whole
        unit = 100 / (1.0 if whole is None else whole.value)
    order = np.lexsort((-np.abs(change), found.q_values))[:most]
    items = axes.by_name[axes.published.domain.lists[0].name].axis.values
    return tuple(
        _row(rank, one, items[found.lines[one]], readings, pairs, found,
             tuple(part[one] * unit for part in (change, low, high)))
        for rank, one in enumerate(order.tolist(), start=1)
    )  # fmt: skip


def _measured(pairs: Sequence[Pair], found: Discovered) -> tuple[Floats, Floats, Floats]:
    """The change of each discovered item as measured, and both ends of its interval."""
    low, high, change = (np.full(len(found), np.nan) for _ in range(3))
    missed = MISSED * len(found) / len(pairs[0].later)
    for way, pair in enumerate(pairs):
        for up in (True, False):
            here = np.flatnonzero((found.ways == way) & (found.rose == up))
            if not len(here):
                continue
            lines = found.lines[here]
            sign, values = (1, pair.risen()) if up else (-1, pair.fallen())
            near, far = (sign * end for end in pair.intervals(lines, missed, up=up))
            change[here] = sign * values[lines]
            low[here], high[here] = (near, far) if up else (far, near)
    return change, low, high


def _row(
    rank: int,
    one: int,
    item: object,
    readings: Sequence[Reading],
    pairs: Sequence[Pair],
    found: Discovered,
    changed: tuple[float, ...],
) -> Change:
    line, pair = int(found.lines[one]), pairs[int(found.ways[one])]
    before, after = (_believed(reading, line) for reading in readings)
    return Change(
        rank, item.item() if isinstance(item, np.generic) else item,  # type: ignore[arg-type]
        "rose" if found.rose[one] else "fell", *before, *after,
        float(changed[0]), _number(changed[1]), _number(changed[2]),
        float(found.p_values[one]), float(found.q_values[one]),
        _number(pair.earlier.counts[line]), _number(pair.later.counts[line]),
    )  # fmt: skip


def _believed(reading: Reading, line: int) -> tuple[float | None, float | None, float | None]:
    of = reading.believed
    if of is None:
        return None, None, None
    return float(of.mean[line]), float(of.low[line]), float(of.high[line])


def _number(value: float | Floats) -> float | None:
    return None if np.isnan(value) else float(value)
