"""``crowdtally person show``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from crowdtally.cli import options
from crowdtally.cli.person import asking
from crowdtally.cli.person.tables import table

if TYPE_CHECKING:
    from crowdtally.person.store import Draw
    from crowdtally.person.words import CategoryRow


@asking.takes_plan
def show(
    make_plan: Callable[[], Any],
    history: asking.HistoryArgument,
    popularity: asking.PopularityOption = None,
    drop_unknown: asking.DropUnknownOption = False,
    store: asking.StoreOption = None,
    as_json: options.JsonOption = False,
    quiet: options.QuietOption = False,
    debug: options.DebugOption = False,
) -> None:
    """Say what would leave the device, or what the stored draw is, and what it reveals at most.

    Draws nothing and charges nothing. Your own counts are shown on stderr alone.
    """
    from crowdtally.core.display import printable_json
    from crowdtally.person.store import Store
    from crowdtally.person.words import category_rows, leaves, own_counts, reveals, so_far

    plan, kept = make_plan(), Store(store)
    own = asking.history_from(history, plan.catalogue, drop_unknown=drop_unknown)
    weights = asking.popularity_from(popularity, plan.catalogue)
    draws, rows = kept.stored(own, plan, popularity=weights), category_rows(plan)
    said = [*leaves(plan), *reveals(plan), so_far(kept.charges(), kept.spent())]
    if as_json:
        facts = {
            "epsilon": str(plan.cost),
            "words": said,
            "categories": [row.as_json() for row in rows],
            "draws": [_facts(draw) for draw in draws],
        }
        print(printable_json(facts))
    else:
        _print(said, rows, draws)
    if not quiet:  # private: never on stdout, where a file may take it along
        mine = list(own_counts(own).items())
        print("\n".join(table(("category", "yours"), mine)), file=sys.stderr)


def _facts(draw: Draw) -> dict[str, object]:
    return {
        "draw": draw.number,
        "items": list(draw.perturbed.items),
        "noisy_counts": dict(
            zip(draw.perturbed.noisy.categories, draw.perturbed.noisy.values, strict=True)
        ),
    }


def _print(said: list[str], rows: list[CategoryRow], draws: list[Draw]) -> None:
    for words in said:
        print(words)
    print()
    drawn = [
        dict(zip(draw.perturbed.noisy.categories, draw.perturbed.noisy.values, strict=True))
        for draw in draws
    ]
    titles = ("category", "items", "level", "noise ±", *(f"draw {draw.number}" for draw in draws))
    shown = [
        (
            row.category,
            row.items,
            row.level,
            row.half_width,
            *(one.get(row.category) for one in drawn),
        )
        for row in rows
    ]
    print("\n".join(table(titles, shown)))
    if not draws:
        print(
            "\nNothing is drawn yet for this request: only how wide the noise will be can be shown "
            "beforehand. `crowdtally person perturb` draws once, and is charged."
        )
    for draw in draws:
        many = len(draw.perturbed.items)
        print(f"\nDraw {draw.number} is stored. It has {many:,} items:")
        print(", ".join(map(str, draw.perturbed.items)))
