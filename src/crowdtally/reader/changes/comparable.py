"""Whether two releases speak of the same thing; if not, how they differ and what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from crowdtally.core.display import some
from crowdtally.errors import UsageError
from crowdtally.format import Published
from crowdtally.reader.axes import Axes
from crowdtally.reader.changes.reading import POPULAR
from crowdtally.reader.estimating.covering import is_bounded

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
        "--bounding and the same bound, such as --max-records 10, or both with auto, whose counts "
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
