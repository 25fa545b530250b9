"""``ct.changes``: which items rose or fell between two releases of one domain."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdtally.core.display import some
from crowdtally.core.numbers import Number, exact
from crowdtally.errors import UsageError, did_you_mean
from crowdtally.format import Published
from crowdtally.reader.answers.answer import AnswerList, AnswerRow
from crowdtally.reader.axes import Axes, Floats, Mask
from crowdtally.reader.changes.measured import POPULAR, Reading, read
from crowdtally.reader.changes.significance import Discovered, Pair, discovered, pairs_of
from crowdtally.reader.changes.words import change_line, change_table, printed, remarks
from crowdtally.reader.estimates.estimator import is_bounded
from crowdtally.reader.questions.chosen import how_many
from crowdtally.reader.release import Release, load


@dataclass(frozen=True)
class Change(AnswerRow):
    """One item that rose or fell."""

    rank: int
    """1 for the surest change: the smallest ``q_value``; of equal ones the larger change."""
    item: str | int
    """The item."""
    direction: str
    """``rose`` or ``fell``."""
    earlier: float | None
    """What its count is believed to be in the earlier release, as ``top`` says it; None where
    there is no estimate."""
    earlier_low: float | None
    """The lower end of its 95% interval."""
    earlier_high: float | None
    """The upper end of the same."""
    later: float | None
    """The same in the later release."""
    later_low: float | None
    """The lower end of its 95% interval."""
    later_high: float | None
    """The upper end of the same."""
    change: float
    """The later value less the earlier one, as both were measured, without a prior: not quite the
    difference of the estimates. Of shares, in percentage points. Where one release left the item
    out, the least change that agrees with that."""
    change_low: float | None
    """The lower end of the interval of the change. Of all intervals of a list, 5% miss their change
    on average, although the list was chosen by what it shows. None where one release left the item
    out and there is no such end."""
    change_high: float | None
    """The upper end of the same."""
    p_value: float
    """How likely so large a difference, up or down, is without a change."""
    q_value: float
    """The smallest false discovery rate with which the item is still listed."""
    earlier_count: float | None
    """The noisy count of the earlier release; None where it was left out."""
    later_count: float | None
    """The noisy count of the later release; None likewise."""


@dataclass(frozen=True)
class ChangeList(AnswerList[Change]):
    """The answer to ``changes``: a sequence of :class:`Change`."""

    rows: tuple[Change, ...]
    """The items that changed, the surest first."""
    fdr: float
    """The false discovery rate: of the items listed, this share at most is wrong on average."""
    of: str
    """What is compared: ``counts`` or ``shares``."""
    counted: str
    """What a count counts: records or users."""
    tested: int
    """How many items were looked at: all of the public list."""
    discovered: int
    """How many changed; more than there are rows where only the first k were asked for."""
    remarks: tuple[str, ...] = ()
    """What must be said beside the list."""

    @classmethod
    def row_type(cls) -> type[Change]:
        return Change

    @property
    def notes(self) -> list[str]:
        return list(self.remarks)

    def __repr__(self) -> str:
        return change_line(self)

    def _repr_html_(self) -> str:
        return change_table(self)

    def __str__(self) -> str:
        return "\n".join(printed(self))


# Refuse two releases that do not count the same thing, and say how they differ.

_FEW = 3


def refuse_unlike(earlier: Axes, later: Axes) -> None:
    """Raise a UsageError unless both count the same thing of the same lists."""
    before, after = earlier.published, later.published
    _refuse_same(before, after)
    for which, one in (("earlier", before), ("later", after)):
        if not one.domain.has_items:
            raise UsageError(
                f"the {which} release is a table of attributes: it has no items that could rise "
                "or fall. Compare sums of both releases."
            )
        if one.domain.is_discovered:
            found = "items" if one.domain.lists[0].is_discovered else "contexts"
            raise UsageError(
                f"the {which} release found its {found} itself, without a public list: an item "
                "that it lacks may have any count below its threshold. Release both with one list, "
                "--items FILE, and without --discover."
            )
    _refuse_lists(earlier, later)
    _refuse_counted(before, after)
    _refuse_bounding(before, after)


def _refuse_same(before: Published, after: Published) -> None:
    ids = before.metadata.get("id"), after.metadata.get("id")
    same = ids[0] == ids[1] and ids[0] is not None
    if same or before.folder.resolve() == after.folder.resolve():
        raise UsageError(
            "both are the same release: nothing can have changed. Give an earlier and a later one."
        )


def _refuse_lists(earlier: Axes, later: Axes) -> None:
    lists = [axes.published.domain for axes in (earlier, later)]
    items = [one.lists[0].name for one in lists]
    if items[0] != items[1]:
        _differ(f"the items are {items[0]!r} in the earlier one and {items[1]!r} in the later one")
    contexts = [[one.name for one in domain.contexts] for domain in lists]
    if contexts[0] != contexts[1]:
        said = [", ".join(map(repr, names)) or "none" for names in contexts]
        _differ(f"the contexts of the earlier one are {said[0]}, of the later one {said[1]}")
    _refuse_values(earlier, later, lists[0].names)


def _refuse_values(earlier: Axes, later: Axes, names: Sequence[str]) -> None:
    for name in names:
        before, after = (axes.by_name[name].axis for axes in (earlier, later))
        if before.kind != after.kind:
            _differ(f"{name!r} is {before.kind} in the earlier one and {after.kind} in the later")
        if not np.array_equal(before.values, after.values):
            _differ(_how(name, before.values.tolist(), after.values.tolist()))


def _how(name: str, before: list[Any], after: list[Any]) -> str:
    """How two lists differ, by a few of their values, which are public."""
    olds, news = set(before), set(after)
    gone = [one for one in before if one not in news]
    come = [one for one in after if one not in olds]
    if not gone and not come:
        return f"the list of {name!r} has the same values in another order"
    parts = []
    for values, which in ((gone, "earlier"), (come, "later")):
        if values:
            number = "1 value" if len(values) == 1 else f"{len(values):,} values"
            told = some(values[:_FEW], len(values))
            parts.append(f"{number} of {name!r} only in the {which} one ({told})")
    return "; ".join(parts)


def _differ(how: str) -> None:
    raise UsageError(f"these are releases of two domains: {how}. Release both with the same lists.")


def _refuse_counted(before: Published, after: Published) -> None:
    if before.counted != after.counted:
        raise UsageError(
            f"the earlier release counts {before.counted}, the later one {after.counted}: they "
            "cannot be compared. Release both with the same --count."
        )
    units = [(one.guarantee.unit, one.guarantee.column) for one in (before, after)]
    if units[0] != units[1]:
        said = [unit if column is None else f"{unit} ({column!r})" for unit, column in units]
        raise UsageError(
            f"the releases protect different units: {said[0]} in the earlier one, {said[1]} in "
            "the later one, so a count is of something else. Release both with the same --user."
        )
    most = [one.records.most for one in (before, after)]
    columns = [one.records.quantity for one in (before, after)]
    if most[0] != most[1] or (columns[0] is None) != (columns[1] is None):
        raise UsageError(
            f"a record counts up to {most[0]} in the earlier release and up to {most[1]} in the "
            "later one: release both with the same --quantity and --max-quantity."
        )


def _refuse_bounding(before: Published, after: Published) -> None:
    said = [tuple(_bounding(one)) for one in (before, after)]
    if said[0] == said[1]:
        return
    words = [", ".join(one) for one in said]
    raise UsageError(
        f"what is left of each user differs: {words[0]} in the earlier release, {words[1]} in the "
        "later one, so counts differ even where nothing changed. Release both with the same "
        "--method and the same bound, such as sra:max-records=10, or both with auto, whose counts "
        "are of all records."
    )


def _bounding(published: Published) -> Iterator[str]:
    """What decides how much of a user counts, in words; the same words are the same thing."""
    method = published.method
    if published.auto is not None or method.bounding == "distinct":
        repeats = published.auto is not None and published.auto.repeats
        yield "all records counted" if repeats else "all users counted"
        return
    if not is_bounded(published):
        yield "every row counted"
        return
    yield method.bounding
    if method.bounding == POPULAR:  # compared by the popularity, which is a sample of its own
        yield f"a popularity of {method.popularity_records} records of each user"
        return
    for name, bound in sorted(method.bounds.items()):
        yield f"{bound.bound} of each user in {name!r}"
        if bound.scaling != 1:
            yield f"scaled by {bound.scaling}"
    if method.cap is not None:
        yield f"cap {method.cap}"
    if method.norm != "l1":
        yield "rows scaled to a norm"


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
    rate, most = _rate(fdr), None if k is None else how_many(k)
    if of not in OF:
        raise UsageError(f"what is compared is counts or shares: received {of!r}.")
    both = [one if isinstance(one, Release) else load(one) for one in (earlier, later)]
    views = [one.view for one in both]
    refuse_unlike(*views)
    asked = {**(context or {}), **contexts}
    readings = [read(one, _box(one, asked)) for one in views]
    pairs = pairs_of(readings[0].ways, readings[1].ways, shares=of == "shares")
    found = _found(pairs, rate)
    rows = _rows(views[0], readings, pairs, found, most, shares=of == "shares")
    before, after = (one.published for one in views)
    made = ChangeList(
        rows, rate, of, before.counted, len(pairs[0].later), len(found),
        remarks(before, after, readings[1], pairs, rate, of),
        item_kind=before.domain.lists[0].kind,
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


def _box(axes: Axes, asked: Mapping[str, object]) -> dict[str, Mask]:
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
    if not len(found):
        return ()
    change, low, high = _measured(pairs, found)
    unit = 1.0
    if shares:  # in percentage points of the later total
        whole = pairs[0].later.whole
        unit = 100 / (1.0 if whole is None else whole.value)
    order = np.lexsort((-np.abs(change), found.q_values))[:most]
    items = axes.by_name[axes.published.domain.lists[0].name].axis.values[found.lines].tolist()
    rows = list[Change]()
    for rank, one in enumerate(order.tolist(), start=1):
        line, pair = int(found.lines[one]), pairs[int(found.ways[one])]
        before, after = (_believed(reading, line) for reading in readings)
        rows.append(Change(
            rank, items[one], "rose" if found.rose[one] else "fell", *before, *after,
            float(change[one] * unit), _number(low[one] * unit), _number(high[one] * unit),
            float(found.p_values[one]), float(found.q_values[one]),
            _number(pair.earlier.counts[line]), _number(pair.later.counts[line]),
        ))  # fmt: skip
    return tuple(rows)


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


def _believed(reading: Reading, line: int) -> tuple[float | None, float | None, float | None]:
    of = reading.believed
    if of is None:
        return None, None, None
    return float(of.mean[line]), float(of.low[line]), float(of.high[line])


def _number(value: float | Floats) -> float | None:
    return None if np.isnan(value) else float(value)
