"""Shared options, help groups, completion."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from inspect import Parameter, Signature
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from crowdtally.core.registry import Registry
from crowdtally.core.values import explained, read
from crowdtally.errors import UsageError

# Help in groups: what everyone needs first, then the rest by what it is about.
#
# The group of an option is declared with it; ``docs/cli.md`` has its tables from the same groups.

TITLES = {
    "first": "What everyone needs",
    "what": "What is counted",
    "who": "Who is protected",
    "method": "Method and form",
    "budget": "Budget",
    "guess": "Public guesses",
    "stop": "Before the charge",
    "output": "Engine and output",
}
"""Each group and how the help calls it, in the help's order."""
GROUPED = ("release", "plan", "inspect")
"""The commands that have so many options that their help has groups."""
_OTHERS = "Options"


class GroupedCommand(TyperCommand):
    """A command whose help lists its options by their groups."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The arguments, then each group that has an option."""
        parameters = self.get_params(ctx)
        arguments = [p for p in parameters if p.param_type_name == "argument"]
        for title, members in [("Arguments", arguments), *by_group(parameters)]:
            shown = [record for p in members if (record := p.get_help_record(ctx)) is not None]
            if shown:
                with formatter.section(title):
                    formatter.write_dl(shown)


def by_group(parameters: Iterable[Any]) -> Iterator[tuple[str, list[Any]]]:
    """The options among parameters by the titles of their groups; those without a group last."""
    options = [p for p in parameters if p.param_type_name == "option"]
    for name, title in TITLES.items():
        yield title, [p for p in options if getattr(p, "rich_help_panel", None) == name]
    yield _OTHERS, [p for p in options if getattr(p, "rich_help_panel", None) not in TITLES]


# What a shell offers for a value that is being typed. Whatever goes wrong, it offers nothing.
#
# Names of columns come from a look at the schema of what lies on this machine, and no record is
# read.

_QUICKLY_SEEN = ("parquet", "csv", "duckdb", "sqlite")
"""Kinds of sources that lie in a file: a server is not asked between two keys."""


def _curators(module: str, name: str) -> Any:
    """What the curator has under a name."""
    return getattr(import_module(f"crowdtally.curator.{module}"), name)


# Imported when they are used: a reader needs nothing of the curator's.
METHODS, PUBLISHINGS, TRANSFORMS, NOISES, COUNTED = (
    partial(_curators, *found)
    for found in (
        ("bounding", "METHODS"), ("summaries", "PUBLISHINGS"), ("transforms", "TRANSFORMS"),
        ("request.options", "NOISES"), ("request.options", "COUNTED"),
    )
)  # fmt: skip


def one_of(names: Iterable[str] | Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    def offered(incomplete: str) -> list[str]:
        found = names() if callable(names) else names
        return [name for name in found if name.startswith(incomplete)]

    return offered


def column(ctx: typer.Context, incomplete: str) -> list[str]:
    """A column of RECORDS or of a table that was joined before."""
    return [name for name in _columns(ctx) if name.startswith(incomplete)]


def columns(ctx: typer.Context, incomplete: str) -> list[str]:
    """The last of several columns, ``A,B,…``."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in _columns(ctx) if name.startswith(last)]


def dataset(ctx: typer.Context, incomplete: str) -> list[str]:
    """A dataset that the ledger has; no ledger is made."""
    found: list[str] = []
    with suppress(Exception):  # between two keys nobody can be told
        from crowdtally.ledger import Ledger

        with Ledger.open(ctx.params.get("ledger"), create=False) as ledger:
            found = ledger.names()
    return [name for name in found if name.startswith(incomplete)]


def _columns(ctx: typer.Context) -> list[str]:
    names: list[str] = []
    with suppress(Exception):
        from crowdtally.cli.syntax import joined
        from crowdtally.records.locate import locate
        from crowdtally.records.start import can_look, without_rows

        given: dict[str, Any] = ctx.params
        # An option without its value, as here, leaves arguments unread.
        records = given.get("records") or ctx.args[0]
        tables = [records, *(joined(text)[0] for text in given.get("join") or ())]
        with without_rows() as engine:
            for number, table in enumerate(tables):
                located = locate(table)
                if located.kind in _QUICKLY_SEEN and can_look(located):
                    names += engine.open(located, f"table_{number}")
    return list(dict.fromkeys(names))


# Options that several commands share, each with its group; ``docs/cli.md`` has them from here.


_HIGHEST_PORT = 65535


def typed_whole(text: object) -> int:
    """A whole number as typed; the option's own range is checked with the others."""
    try:
        return int(str(text))
    except ValueError:
        raise typer.BadParameter(f"{str(text)!r} is not a whole number, such as 10.") from None


def positive(text: object) -> int:
    """A whole number of at least 1."""
    number = typed_whole(text)
    if number < 1:
        raise typer.BadParameter(f"{number} is not a whole number of 1 or more.")
    return number


def value_of(registry: Callable[[], Registry]) -> Callable[[object], object]:
    """A parser of the values of a registry; ``help`` and ``NAME:help`` list what there is."""

    def parsed(text: object) -> object:
        name, _, rest = str(text).partition(":")
        if "help" in (name, rest):
            print(*explained(registry(), None if name == "help" else name), sep="\n")
            raise typer.Exit
        return read(registry(), str(text))

    return parsed


def word_of(words: Sequence[str]) -> Callable[[object], str]:
    """A parser that takes one of these words."""

    def parsed(text: object) -> str:
        if text not in words:
            raise typer.BadParameter(f"{str(text)!r} is none of {', '.join(words)}.")
        return str(text)

    return parsed


def check_port(port: int) -> None:
    """Refuse what is no port."""
    if not 0 <= port <= _HIGHEST_PORT:
        raise UsageError(f"a port is a number from 0 to {_HIGHEST_PORT}: received {port}.")


def declare(run: Any, parameters: list[Parameter]) -> None:
    """Make these the keywords that Typer sees of a function, those without a default first."""
    ordered = sorted(parameters, key=lambda one: one.default is not Parameter.empty)
    run.__annotations__ = {one.name: one.annotation for one in ordered}
    run.__signature__ = Signature([one.replace(kind=one.KEYWORD_ONLY) for one in ordered])


_first, _what, _who, _method, _budget, _output = (
    partial(typer.Option, rich_help_panel=group)
    for group in ("first", "what", "who", "method", "budget", "output")
)
RecordsArgument = Annotated[
    str,
    typer.Argument(
        metavar="RECORDS", help="Path, glob, file.duckdb#table, file.sqlite#table or URL#table."
    ),
]
UserOption = Annotated[str | None, _first(
    "--user", metavar="COL[,COL…]", autocompletion=columns,
    help="Whose record it is; all of a user's are protected together.",
)]  # fmt: skip
SamePersonOption = Annotated[str | None, _who(
    "--same-person", metavar="FILE[:COL]",
    help="A table of which ids are one person's, whom COL names.",
)]  # fmt: skip
PerRowOption = Annotated[bool, _who(
    "--user-per-row",
    help="Instead of --user: each row is one person.",
)]  # fmt: skip
WeightOption = Annotated[str | None, _who(
    "--weight", metavar="COL", autocompletion=column,
    help="With --user-per-row: how many persons a row is.",
)]  # fmt: skip
BoundedToOption = Annotated[int | None, _who(
    "--bounded-to", metavar="L", parser=typed_whole,
    help="Instead of --user, for records bounded elsewhere: you state that nobody has more than "
    "L rows. It is not checked, and the release says so.",
)]  # fmt: skip
CellsOnceOption = Annotated[bool, _who(
    "--cells-once",
    help="With --bounded-to: you also state that no two rows of a person are in one cell.",
)]  # fmt: skip
ItemOption = Annotated[str | None, _first(
    "--item", metavar="COL|NAME=EXPR", autocompletion=column,
    help="What is counted: a column, or a row-wise SQL expression.",
)]  # fmt: skip
WhereOption = Annotated[str | None, _what(
    "--where", metavar="EXPR",
    help="Take only rows for which this SQL condition holds.",
)]  # fmt: skip
TimezoneOption = Annotated[str, _what(
    "--timezone", metavar="ZONE",
    help="Where days and hours are, such as Europe/Vienna.",
)]  # fmt: skip
TypeOption = Annotated[list[str] | None, _what(
    "--type", metavar="COL=TYPE",
    help="Read a column as int64, float64, text, bool, date, timestamp or timestamptz; what does "
    "not fit is missing. Repeatable.",
)]  # fmt: skip
QuantityOption = Annotated[str | None, _what(
    "--quantity", metavar="COL", autocompletion=column,
    help="How often a record counts, at least once.",
)]  # fmt: skip
MaxQuantityOption = Annotated[int | None, _what(
    "--max-quantity", metavar="C", parser=typed_whole,
    help="With --quantity: the most that one record counts.",
)]  # fmt: skip
AttributesOption = Annotated[str | None, _what(
    "--attributes", metavar="A,B,…", autocompletion=columns,
    help="Instead of --item: the columns of one table.",
)]  # fmt: skip
ItemsOption = Annotated[str | None, _first(
    "--items", metavar="FILE[:COL]",
    help="The public list of items.",
)]  # fmt: skip
_EPSILON = _first(
    "--epsilon", metavar="E",
    help="The whole cost, exact: 0.1, 1/3, 1e-3.",
)  # fmt: skip
EpsilonOption = Annotated[str, _EPSILON]
PerhapsEpsilonOption = Annotated[str | None, _EPSILON]
ContextOption = Annotated[list[str] | None, _first(
    "--context", metavar="COL|NAME=EXPR", autocompletion=column,
    help="Count items in this context too. Repeatable: several make one joint table.",
)]  # fmt: skip
ValuesOption = Annotated[list[str] | None, _what(
    "--values", metavar="NAME=LIST",
    help="The public values of a context or attribute: a,b or 0..9 or @FILE[:COL]. Repeatable.",
)]  # fmt: skip
JoinOption = Annotated[list[str] | None, _what(
    "--join", metavar="FILE:KEY[=KEY]",
    help="Look up columns of another table by KEY, there called =KEY. Repeatable.",
)]  # fmt: skip
RecordIdOption = Annotated[str | None, _who(
    "--record-id", metavar="COL", autocompletion=column,
    help="A stored column that tells a user's records apart.",
)]  # fmt: skip
DeltaOption = Annotated[str, _budget(
    "--delta", metavar="D",
    help="The chance of exceeding epsilon, such as 1e-9.",
)]  # fmt: skip
SplitOption = Annotated[str | None, _budget(
    "--split", metavar="NAME=SHARE,…",
    help="Exact shares of epsilon; a plan prints the usual ones.",
)]  # fmt: skip
MethodOption = Annotated[object, _method(
    "--method", metavar="VALUE", parser=value_of(METHODS), autocompletion=one_of(METHODS),
    help="How users are bounded: auto (default), sra:max-records=10, hpa, …; `--method help` "
    "lists them, and `--method hpa:help` the fields of one.",
)]  # fmt: skip
TopOption = Annotated[int | None, _method(
    "--top", metavar="K", parser=typed_whole,
    help="Only the K items that most users have: top:k=K in short.",
)]  # fmt: skip
DiscoverOption = Annotated[str | None, _method(
    "--discover", metavar="COL,…",
    help="Columns without a public list: discover:columns=COL,…",
)]  # fmt: skip
NoiseOption = Annotated[str, _method(
    "--noise", metavar="NOISE", autocompletion=one_of(NOISES), show_default=False,
    help="auto (default), laplace, gaussian (with --delta) or interval.",
)]  # fmt: skip
CountOption = Annotated[str, _what(
    "--count", metavar="records|users", autocompletion=one_of(COUNTED),
    help="What a count counts.",
)]  # fmt: skip
PairsOption = Annotated[bool, _what(
    "--pairs",
    help="Count pairs of items of one user too.",
)]  # fmt: skip
SummaryOption = Annotated[object, _method(
    "--summary", metavar="VALUE", parser=value_of(PUBLISHINGS), autocompletion=one_of(PUBLISHINGS),
    help="Which noisy counts: dense (default), filter:size=3000, …",
)]  # fmt: skip
TransformOption = Annotated[object, _method(
    "--transform", metavar="VALUE", parser=value_of(TRANSFORMS), autocompletion=one_of(TRANSFORMS),
    help="What instead of cells: dyadic:columns=age, …",
)]  # fmt: skip
LedgerOption = Annotated[str | None, _budget(
    "--ledger", metavar="PATH|URL",
    help="A SQLite file or postgresql://…; else $CROWDTALLY_LEDGER, else your own.",
)]  # fmt: skip
DatasetOption = Annotated[str | None, _budget(
    "--dataset", metavar="NAME", autocompletion=dataset,
    help="The name to charge under; else the source's own.",
)]  # fmt: skip
NewDatasetOption = Annotated[bool, _budget(
    "--new-dataset",
    help="Make the dataset, and the ledger, if there is none.",
)]  # fmt: skip
EngineOption = Annotated[str | None, _output(
    "--engine", metavar="ENGINE", autocompletion=one_of(("duckdb", "spark")),
    help="duckdb (default), spark, or Spark's spark://…, sc://…",
)]  # fmt: skip
EngineSettingOption = Annotated[list[str] | None, _output(
    "--engine-setting", metavar="KEY=VALUE",
    help="A setting of Spark's. Repeatable.",
)]  # fmt: skip
JsonOption = Annotated[bool, _output(
    "--json",
    help="Print JSON on stdout.",
)]  # fmt: skip
QuietOption = Annotated[bool, _output(
    "--quiet",
    help="Print no remarks on stderr.",
)]  # fmt: skip
DebugOption = Annotated[bool, _output(
    "--debug",
    help="Show a traceback on failure.",
)]  # fmt: skip


def remark(quiet: bool) -> Any:
    """A function that prints remarks for the curator on stderr, or not at all."""
    return (lambda _: None) if quiet else (lambda words: print(words, file=sys.stderr))
