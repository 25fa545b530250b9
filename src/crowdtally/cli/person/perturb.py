"""``crowdtally person perturb``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdtally.cli import options
from crowdtally.cli.person import asking
from crowdtally.errors import UsageError

if TYPE_CHECKING:
    from crowdtally.person.plan import Plan
    from crowdtally.person.store import Draw, Store


@asking.takes_plan
def perturb(
    make_plan: Callable[[], Any],
    history: asking.HistoryArgument,
    again: Annotated[
        bool,
        typer.Option("--again", help="Draw anew and be charged anew, where there is a draw."),
    ] = False,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE",
            help="Write the perturbed items to a new file, .csv, .json or .txt; else they are "
            "printed.",
        ),
    ] = None,
    counts: Annotated[
        bool,
        typer.Option(
            "--counts",
            help="Send the noisy counts of the categories too, as JSON: it costs nothing more, and "
            "a recommender can make more of them.",
        ),
    ] = False,
    popularity: asking.PopularityOption = None,
    drop_unknown: asking.DropUnknownOption = False,
    store: asking.StoreOption = None,
    as_json: options.JsonOption = False,
    quiet: options.QuietOption = False,
    debug: options.DebugOption = False,
) -> None:  # fmt: skip
    """Perturb a history once: charged and stored before it is shown; the same request shows it."""
    from crowdtally.core.display import plainly
    from crowdtally.person.device import as_json as in_json
    from crowdtally.person.device import checked_target, hand_over
    from crowdtally.person.store import Store

    remark = options.remark(quiet)
    if counts and output is None and not as_json:
        raise UsageError("counts are written as JSON: add --json, or -o FILE.json.")
    target = None if output is None else checked_target(output, counts=counts)
    plan, kept = make_plan(), Store(store)
    own = asking.history_from(history, plan.catalogue, drop_unknown=drop_unknown)
    weights = asking.popularity_from(popularity, plan.catalogue)
    for words in asking.left_out(own):
        remark(words)
    draw = kept.perturb(own, plan, again=again, popularity=weights)  # stored when it returns
    for words in _told(draw, plan, kept):
        remark(words)
    if target is not None:
        hand_over(draw.perturbed, plan, target, counts=counts)
    if as_json:
        print(in_json(draw.perturbed, plan, counts=counts))
    elif target is None:
        for item in draw.perturbed.items:
            print(plainly(item))


def _told(draw: Draw, plan: Plan, kept: Store) -> list[str]:
    """For the person's eyes: what it cost, and what it means."""
    from crowdtally.ledger.amounts import for_people
    from crowdtally.person.words import reveals

    spent = f"All draws of {str(kept.home.path)!r} together: epsilon {for_people(kept.spent())}."
    if not draw.new:
        return [
            f"This request was made before: its draw is shown again (entry {draw.entry}, draw "
            f"{draw.number}). Nothing was charged. {spent}",
            "Whoever has it already learns from a second copy that your history is the same.",
        ]
    exposed = kept.home.exposed()
    return [
        f"Charged epsilon {plan.cost} (entry {draw.entry}, draw {draw.number}). {spent}",
        *reveals(plan),
        *([] if exposed is None else [exposed]),
    ]
