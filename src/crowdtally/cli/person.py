"""Commands for one person, on their own device."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdtally.cli import options
from crowdtally.core.display import plainly
from crowdtally.errors import UsageError

if TYPE_CHECKING:
    from crowdtally.core.privacy import Epsilon
    from crowdtally.person.catalogue import Catalogue, Popularity
    from crowdtally.person.history import History
    from crowdtally.person.levels import Levels
    from crowdtally.person.plan import Plan, Policy
    from crowdtally.person.store import Draw, Store
    from crowdtally.person.words import CategoryRow


# The public options that all commands of a person share: catalogue, ε and levels.

HistoryArgument = Annotated[
    str,
    typer.Argument(
        metavar="HISTORY",
        help="The item ids: FILE[:COLUMN], a .txt with an id on each line, or - for such lines "
        "from standard input.",
    ),
]


def plan_from(
    catalogue: str,
    item: str | None = None,
    category: str | None = None,
    separator: str | None = None,
    epsilon: str | None = None,
    quantify: bool = False,
    eta: str | None = None,
    least: str | None = None,
    most: str | None = None,
    level: list[str] | None = None,
    levels_file: str | None = None,
) -> Plan:
    """The plan that the options describe: all of it public.

    Options:
        catalogue (FILE): The public catalogue, CSV, Parquet or JSON lines: a row for each item and
            category.
        item (COL): The catalogue's column of items; else item, or the first of two columns.
        category (COL): Its column of categories; else category, or the second of two columns.
        separator (TEXT): What stands between categories, where a row has all of an item's.
        epsilon (E): What one item of the history may lose, exact: 0.1, 1/3, 2.
        quantify: Instead of --epsilon: find it by a public policy (S-PBQ, a reconstruction).
        eta (N): With --quantify: by how much one more unit of epsilon must lower the mean error of
            a count; else 1.
        least (E): With --quantify: none below it; else 0.1.
        most (E): With --quantify: none above it; else 3.
        level (CATEGORY=no|all|E): What may leave of a category: nothing, everything as it is, or
            perturbed with an epsilon of its own. Repeatable.
        levels_file (--levels FILE): Levels from a table with the columns category and level.
    """
    from crowdtally.person.device import plan_of

    # Public parameters first: a slip in one should not cost the reading of a long catalogue.
    wanted = _either(epsilon, _policy(quantify, eta=eta, least=least, most=most))
    chosen = _levels(level, levels_file)
    return plan_of(_read(catalogue, item, category, separator), wanted, chosen)


@dataclass(frozen=True)
class Public:
    """What the same options say where nothing needs to be chosen yet."""

    catalogue: Catalogue
    epsilon: Epsilon | None
    policy: Policy | None
    levels: Levels


def public_from(
    *, epsilon: str | None, quantify: bool, eta: str | None, least: str | None, most: str | None,
    level: list[str] | None, levels_file: str | None, **catalogue: Any,
) -> Public:  # fmt: skip
    """The same options, of which neither --epsilon nor --quantify is needed."""
    policy = _policy(quantify, eta=eta, least=least, most=most)
    wanted = None if epsilon is None and policy is None else _either(epsilon, policy)
    chosen = _levels(level, levels_file)
    read = _read(catalogue["catalogue"], *(catalogue[n] for n in ("item", "category", "separator")))
    chosen.require_known(read.categories)
    return Public(read, None if policy is not None else wanted, policy, chosen)


def takes_plan(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the public options, and first a function that makes the plan."""
    return _takes(command, plan_from)


def takes_public(command: Callable[..., None]) -> Callable[..., None]:
    """The same for a command that lets a person choose later: it receives a :class:`Public`."""
    return _takes(command, public_from)


def _takes(command: Callable[..., None], make: Callable[..., Any]) -> Callable[..., None]:
    # The plan's own type would import the solver, and the command line does not need it.
    shared = options.parameters_of(plan_from, {"Plan": object})
    mine = options.parameters_of(command)

    @wraps(command)
    def run(**given: Any) -> None:
        public = {name: given.pop(name) for name in shared}
        command(lambda: make(**public), **given)

    return options.declared(run, [*shared.values(), *mine.values()])


def history_from(source: str, catalogue: Catalogue, *, drop_unknown: bool) -> History:
    """The history that was named; what was left out of it is for the person's own eyes."""
    from crowdtally.person.history import History, read_history

    ids = read_history(source, catalogue.item_axis.name)
    return History.of(ids, catalogue, drop_unknown=drop_unknown)


def popularity_from(source: str | None, catalogue: Catalogue) -> Popularity | None:
    from crowdtally.person.catalogue import read_popularity

    return None if source is None else read_popularity(source, catalogue)


def left_out(history: History) -> list[str]:
    """What was not counted of a history as it was given, for stderr."""
    said = []
    if history.unknown:
        said.append(f"{history.unknown} items that the catalogue does not have were left out.")
    if history.repeated:
        said.append(f"Items that were named again, {history.repeated} times, count once.")
    return said


def _levels(typed: list[str] | None, file: str | None) -> Levels:
    from crowdtally.person.levels import read_levels, together, typed_levels

    options = typed_levels(typed or [])
    return together(None if file is None else read_levels(file), options)


def _policy(quantify: bool, **given: str | None) -> Policy | None:
    from crowdtally.person.plan import Policy

    typed = {name: text for name, text in given.items() if text is not None}
    if not quantify:
        if typed:
            names = ", ".join(f"--{name}" for name in typed)
            raise UsageError(f"{names} goes with --quantify, which finds an epsilon by a policy.")
        return None
    return Policy.of(**typed)


def _either(epsilon: str | None, policy: Policy | None) -> Any:
    if (epsilon is None) == (policy is None):
        raise UsageError(
            "say how much may be lost: either --epsilon E, such as --epsilon 1, or --quantify, "
            "which finds one by a public policy."
        )
    if policy is not None:
        return policy
    from crowdtally.core.privacy import Epsilon
    from crowdtally.person.levels import checked

    return checked(Epsilon.of(epsilon))


def _read(file: str, item: str | None, category: str | None, separator: str | None) -> Catalogue:
    from crowdtally.person.catalogue import read_catalogue

    return read_catalogue(file, item=item, category=category, separator=separator)


@takes_public
def page(
    read: Callable[[], Any],
    history: HistoryArgument,
    output_folder: str = ".",
    port: int = 0,
    popularity: str | None = None,
    drop_unknown: bool = False,
    store: str | None = None,
    quiet: bool = False,
) -> None:
    """Choose, look and draw on a page of your own, which this machine alone can reach.

    Prints its address, with a secret in it, and runs until stopped with Ctrl-C. Looking draws
    nothing; a draw is charged and stored before it is shown; “Release” writes a file.

    Options:
        output_folder (DIR): Where “Release” writes its files; else the current folder.
        port (PORT): Where to listen on this machine; 0 takes a port that is free.
    """
    from crowdtally.person.page.actions import POLICY, Choice, Desk
    from crowdtally.person.page.app import serve
    from crowdtally.person.plan import Policy
    from crowdtally.person.store import Store

    remark = options.remark(quiet)
    options.check_port(port)
    folder = Path(output_folder).absolute()
    if not folder.is_dir():
        raise UsageError(f"{output_folder!r} is not a folder: create it first.")
    public, kept = read(), Store(store)
    own = history_from(history, public.catalogue, drop_unknown=drop_unknown)
    kept.home.require_ours()
    place = {name: number for number, name in enumerate(public.catalogue.categories)}
    start = Choice(
        POLICY if public.policy is not None else str(public.epsilon or ""),
        {place[name]: level for name, level in public.levels.as_json().items()},
    )
    weights = popularity_from(popularity, public.catalogue)
    desk = Desk(own, kept, folder, public.policy or Policy(), start, weights)

    def ready(url: str) -> None:
        print(url, flush=True)
        remark("Open this address in a browser on this machine, and tell nobody.")
        remark("Press Ctrl-C to stop.")

    serve(desk, port=port, ready=ready, tell=lambda words: print(words, file=sys.stderr))
    remark("stopped.")


@takes_plan
def perturb(
    make_plan: Callable[[], Any],
    history: HistoryArgument,
    again: bool = False,
    output: str | None = None,
    counts: bool = False,
    popularity: str | None = None,
    drop_unknown: bool = False,
    store: str | None = None,
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Perturb a history once: charged and stored before it is shown; the same request shows it.

    Options:
        again: Draw anew and be charged anew, where there is a draw.
        output (-o FILE): Write the perturbed items to a new file, .csv, .json or .txt; else they
            are printed.
        counts: Send the noisy counts of the categories too, as JSON: it costs nothing more, and a
            recommender can make more of them.
    """
    from crowdtally.core.display import plainly
    from crowdtally.person.device import as_json as in_json
    from crowdtally.person.device import checked_target, hand_over
    from crowdtally.person.store import Store

    remark = options.remark(quiet)
    if counts and output is None and not as_json:
        raise UsageError("counts are written as JSON: add --json, or -o FILE.json.")
    target = None if output is None else checked_target(output, counts=counts)
    plan, kept = make_plan(), Store(store)
    own = history_from(history, plan.catalogue, drop_unknown=drop_unknown)
    weights = popularity_from(popularity, plan.catalogue)
    for words in left_out(own):
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


# Small tables for a terminal: text to the left, numbers to the right.


def table(titles: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    """The lines of a table; the first column is text."""
    cells = [list(titles), *([_cell(value) for value in row] for row in rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(titles))]
    for row in cells:
        rest = (text.rjust(width) for text, width in zip(row[1:], widths[1:], strict=True))
        yield "  ".join([row[0].ljust(widths[0]), *rest]).rstrip()


def _cell(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else plainly(value)


@takes_plan
def levels(
    make_plan: Callable[[], Any],
    history: str | None = None,
    drop_unknown: bool = False,
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """List the categories: their items, the level of each, and the noise that it means.

    Options:
        history (HISTORY): Show your own counts too, on stderr: FILE[:COLUMN], a .txt, or -.
    """
    from crowdtally.core.display import printable_json
    from crowdtally.person.words import category_rows, own_counts

    plan = make_plan()
    rows = category_rows(plan)
    if as_json:
        print(printable_json([row.as_json() for row in rows]))
    else:
        shown = [(row.category, row.items, row.level, row.half_width) for row in rows]
        print("\n".join(table(("category", "items", "level", "noise ±"), shown)))
    if history is not None:  # private: never on stdout, where a file may take it along
        own = history_from(history, plan.catalogue, drop_unknown=drop_unknown)
        mine = list(own_counts(own).items())
        print("\n".join(table(("category", "yours"), mine)), file=sys.stderr)


@takes_plan
def show(
    make_plan: Callable[[], Any],
    history: HistoryArgument,
    popularity: str | None = None,
    drop_unknown: bool = False,
    store: str | None = None,
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Say what would leave the device, or what the stored draw is, and what it reveals at most.

    Draws nothing and charges nothing. Your own counts are shown on stderr alone.
    """
    from crowdtally.core.display import printable_json
    from crowdtally.person.store import Store
    from crowdtally.person.words import category_rows, leaves, own_counts, reveals, so_far

    plan, kept = make_plan(), Store(store)
    own = history_from(history, plan.catalogue, drop_unknown=drop_unknown)
    weights = popularity_from(popularity, plan.catalogue)
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
        "noisy_counts": draw.perturbed.noisy.by_category,
    }


def _print(said: list[str], rows: list[CategoryRow], draws: list[Draw]) -> None:
    for words in said:
        print(words)
    print()
    drawn = [draw.perturbed.noisy.by_category for draw in draws]
    titles = ("category", "items", "level", "noise ±", *(f"draw {draw.number}" for draw in draws))
    shown = []
    for row in rows:
        noisy = (one.get(row.category) for one in drawn)
        shown.append((row.category, row.items, row.level, row.half_width, *noisy))
    print("\n".join(table(titles, shown)))
    if not draws:
        print(
            "\nNothing is drawn yet for this request: only how wide the noise will be can be shown "
            "beforehand. `crowdtally person perturb` draws once, and is charged."
        )
    for draw in draws:
        print(f"\nDraw {draw.number} is stored. It has {len(draw.perturbed.items):,} items:")
        print(", ".join(map(str, draw.perturbed.items)))


app = typer.Typer(
    help="For one person, on their own device: perturb a history before anything of it leaves.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def person() -> None:
    """For one person, on their own device: perturb a history before anything of it leaves."""


app.command()(perturb)
app.command()(levels)
app.command()(show)
app.command()(page)
