"""Two releases side by side: their lists, and what changed between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crowdtally.errors import UsageError
from crowdtally.reader.answers.schema import schema_of
from crowdtally.reader.changes.change_list import Change, ChangeList
from crowdtally.reader.changes.comparing import OF
from crowdtally.reader.changes.comparing import changes as compare
from crowdtally.reader.explorer.asked import Asked, Parameter
from crowdtally.reader.explorer.opened import Opened
from crowdtally.reader.explorer.shelf import Shelf
from crowdtally.reader.explorer.switching import choices, where_words
from crowdtally.reader.explorer.view import CONTEXT, MOST_ROWS, how_many
from crowdtally.web.pages import Shown, between, grouped, value

EARLIER = Parameter("earlier", "The name of the earlier release.", {"type": "string"})
LATER = Parameter("later", "The name of the later release.", {"type": "string"})
_OF = Parameter(
    "of", "Compare counts, or shares of the totals.", {"type": "string", "enum": list(OF)}
)
_FDR = Parameter(
    "fdr", "The false discovery rate: the share of the list that may be wrong on average.",
    {"type": "string"},
)  # fmt: skip
ASKS = (EARLIER, LATER, CONTEXT, _OF, _FDR, how_many(50))
SCHEMA = schema_of(Change, many=True)
_SIDE = 20
"""Items of each list."""


@dataclass(frozen=True)
class Two:
    """The releases that are compared."""

    earlier: Opened
    later: Opened

    @classmethod
    def of(cls, shelf: Shelf, asked: Asked) -> Two:
        """Those that are named; by themselves the first two that are served."""
        opened = list(shelf)
        if len(opened) < 2:
            raise UsageError(
                "one release is served, and two are compared: start with both, `crowdtally serve "
                "EARLIER LATER`."
            )
        names = [asked.text("earlier", opened[0].name), asked.text("later", opened[1].name)]
        found = cls(*(shelf[str(name)] for name in names))
        for one in (found.earlier, found.later):
            one.look()
            one.wait()
        return found


def changes(shelf: Shelf, asked: Asked) -> ChangeList:
    """What rose and what fell."""
    two, k = Two.of(shelf, asked), asked.whole("k", 50, most=MOST_ROWS)
    of, fdr = asked.choice("of", OF), asked.text("fdr", "0.05") or "0.05"
    contexts = asked.pairs("context")
    key = ("changes", two.earlier.name, of, fdr, k, repr(contexts))
    return two.later.remember(
        key,
        lambda: compare(
            two.earlier.release, two.later.release, fdr=fdr, of=of, k=k, context=contexts
        ),
    )


def page(shelf: Shelf, asked: Asked) -> dict[str, Any]:
    """Facts of the page."""
    two, contexts = Two.of(shelf, asked), asked.pairs("context")
    found, why = None, ""
    try:
        found = changes(shelf, asked)
    except UsageError as error:  # the lists can still be looked at side by side
        why = str(error)
    return {
        "two": two,
        "of": asked.choice("of", OF),
        "fdr": asked.text("fdr", "0.05"),
        "where": where_words(contexts),
        "choices": choices(two.later.source.axes.contexts.values(), contexts),
        "why": why,
        "table": _change_table(two, found) if found is not None and found.rows else None,
        "tested": "" if found is None else grouped(found.tested),
        "discovered": "" if found is None else grouped(found.discovered),
        "sides": _sides(two, contexts),
        "notes": [] if found is None else found.notes,
    }


def _change_table(two: Two, found: ChangeList) -> Shown:
    name = two.later.source.name
    unit = "percentage points" if found.of == "shares" else found.counted
    rows = [
        (value(name(row.item)), row.direction, grouped(row.earlier), grouped(row.later),
         grouped(row.change), between(row.change_low, row.change_high))
        for row in found.rows
    ]  # fmt: skip
    heads = ("Item", "Direction", "Earlier, estimate", "Later, estimate", f"Change ({unit})",
             "Interval of the change")  # fmt: skip
    return Shown("What changed, the surest first", heads, rows, words=(0, 1))


def _sides(two: Two, contexts: dict[str, list[str]]) -> Shown | None:
    """The later list beside the ranks and estimates of the earlier one."""
    lists = [one.source.popular(_SIDE, contexts) for one in (two.earlier, two.later)]
    before, after = lists
    if before is None or after is None:
        return None
    earlier = {row.item: row for row in before.rows}
    items = [row.item for row in after.rows]
    items += [row.item for row in before.rows if row.item not in set(items)]
    later = {row.item: row for row in after.rows}

    def cells(row: Any) -> tuple[str, str, str]:
        if row is None:
            return f"below {_SIDE}", "", ""
        return (grouped(row.rank), grouped(row.estimate),
                between(row.estimate_low, row.estimate_high))  # fmt: skip

    rows = [
        (value(two.later.source.name(one)), *cells(earlier.get(one)), *cells(later.get(one)))
        for one in items
    ]
    heads = ("Item", "Earlier: rank", "Estimate", "95% interval", "Later: rank", "Estimate",
             "95% interval")  # fmt: skip
    return Shown(f"The {_SIDE} largest items of each", heads, rows)
