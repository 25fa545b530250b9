"""Shared options, help groups, completion."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from inspect import Parameter, Signature
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from crowdtally.errors import UsageError

# Help in groups: what everyone needs first, then the rest by what it is about.
#
# The group of an option is declared with it; ``docs/cli.md`` has its tables from the same groups.

TITLES = {
    "first": "What everyone needs",
    "what": "What is counted",
    "who": "Who is protected",
    "method": "Method (how a user is bounded)",
    "form": "Form (what is published)",
    "budget": "Budget",
    "guess": "Public guesses",
    "stop": "Before the charge",
    "engine": "Engine",
    "output": "Output",
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


def one_of(names: Iterable[str]) -> Callable[[str], list[str]]:
    def offered(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

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


RecordsArgument = Annotated[
    str,
    typer.Argument(
        metavar="RECORDS", help="Path, glob, file.duckdb#table, file.sqlite#table or URL#table."
    ),
]
UserOption = Annotated[
    str | None,
    typer.Option(
        "--user", metavar="COL[,COL…]", rich_help_panel="first",
        autocompletion=columns,
        help="Whose record it is; all of a user's records are protected together. Several columns "
        "make one id.",
    ),
]  # fmt: skip
SamePersonOption = Annotated[
    str | None,
    typer.Option(
        "--same-person", metavar="FILE[:COL]", rich_help_panel="who",
        help="A table of which ids are one person's: the columns of --user, and COL, which names "
        "the person. What is protected is then the person.",
    ),
]  # fmt: skip
PerRowOption = Annotated[
    bool,
    typer.Option(
        "--user-per-row", rich_help_panel="who",
        help="Instead of --user: each row is one person, and the release says so.",
    ),
]  # fmt: skip
WeightOption = Annotated[
    str | None,
    typer.Option(
        "--weight", metavar="COL", rich_help_panel="who", autocompletion=column,
        help="With --user-per-row: how many persons a row stands for.",
    ),
]  # fmt: skip
BoundedToOption = Annotated[
    int | None,
    typer.Option(
        "--bounded-to", metavar="L", parser=typed_whole, rich_help_panel="who",
        help="Instead of --user, for records bounded elsewhere and without ids: you state that "
        "nobody has more than L rows. It is not checked, and the release says so.",
    ),
]  # fmt: skip
CellsOnceOption = Annotated[
    bool,
    typer.Option(
        "--cells-once", rich_help_panel="who",
        help="With --bounded-to: you also state that no two rows of a person are in one cell (an "
        "item in its contexts).",
    ),
]  # fmt: skip
ItemOption = Annotated[
    str | None,
    typer.Option(
        "--item", metavar="COL|NAME=EXPR", rich_help_panel="first",
        autocompletion=column,
        help="What is counted: a column, also of a joined table, or a row-wise SQL expression.",
    ),
]  # fmt: skip
WhereOption = Annotated[
    str | None,
    typer.Option(
        "--where", metavar="EXPR", rich_help_panel="what",
        help="Take only rows for which this row-wise SQL condition holds; others are no records.",
    ),
]  # fmt: skip
TimezoneOption = Annotated[
    str,
    typer.Option(
        "--timezone", metavar="ZONE", rich_help_panel="what",
        help="Where days and hours are: UTC, or an Area/City such as Europe/Vienna. Times stored "
        "without a zone stay as they are.",
    ),
]  # fmt: skip
TypeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--type", metavar="COL=TYPE", rich_help_panel="what",
        help="Read a column as int64, float64, text, bool, date, timestamp or timestamptz; a value "
        "that does not fit is missing. Columns of CSV files and of views are text else. "
        "Repeatable.",
    ),
]  # fmt: skip
QuantityOption = Annotated[
    str | None,
    typer.Option(
        "--quantity", metavar="COL", rich_help_panel="what", autocompletion=column,
        help="How often a record counts: a whole number of at least 1.",
    ),
]  # fmt: skip
MaxQuantityOption = Annotated[
    int | None,
    typer.Option(
        "--max-quantity", metavar="C", parser=typed_whole, rich_help_panel="what",
        help="With --quantity: the most that one record counts.",
    ),
]  # fmt: skip
AttributesOption = Annotated[
    str | None,
    typer.Option(
        "--attributes", metavar="A,B,…", rich_help_panel="what",
        autocompletion=columns,
        help="Instead of --item: the columns of one table of attributes.",
    ),
]  # fmt: skip
ItemsOption = Annotated[
    str | None,
    typer.Option(
        "--items", metavar="FILE[:COL]", rich_help_panel="first",
        help="The public list of items; COL is by default the item's column, else the only one.",
    ),
]  # fmt: skip
_EPSILON = typer.Option(
    "--epsilon", metavar="E", rich_help_panel="first",
    help="The whole cost, exact: 0.1, 1/3, 2, 1e-3.",
)  # fmt: skip
EpsilonOption = Annotated[str, _EPSILON]
PerhapsEpsilonOption = Annotated[str | None, _EPSILON]
ContextOption = Annotated[
    list[str] | None,
    typer.Option(
        "--context", metavar="COL|NAME=EXPR", rich_help_panel="first",
        autocompletion=column,
        help="Count items in this context too: a column, or a row-wise SQL expression. "
        "Repeatable: several make one joint table.",
    ),
]  # fmt: skip
ValuesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--values", metavar="NAME=a,b|0..9|@FILE[:COL]", rich_help_panel="what",
        help="The public values of a context or attribute, in the order of the table. Repeatable.",
    ),
]  # fmt: skip
JoinOption = Annotated[
    list[str] | None,
    typer.Option(
        "--join", metavar="FILE:KEY[=KEY]", rich_help_panel="what",
        help="Look up columns of another table, in which KEY must not repeat; the second KEY is "
        "the table's, where it has another name. Repeatable.",
    ),
]  # fmt: skip
RecordIdOption = Annotated[
    str | None,
    typer.Option(
        "--record-id", metavar="COL", rich_help_panel="who", autocompletion=column,
        help="A stored column that tells a user's records apart; quicker than without.",
    ),
]  # fmt: skip
DeltaOption = Annotated[
    str,
    typer.Option(
        "--delta", metavar="D", rich_help_panel="budget",
        help="Gaussian noise, --discover: the probability of exceeding epsilon, such as 1e-9.",
    ),
]  # fmt: skip
SplitOption = Annotated[
    str | None,
    typer.Option(
        "--split", metavar="NAME=SHARE,…", rich_help_panel="budget",
        help="Exact shares of epsilon that sum to 1; a plan prints the usual ones.",
    ),
]  # fmt: skip
LedgerOption = Annotated[
    str | None,
    typer.Option(
        "--ledger", metavar="PATH|URL", rich_help_panel="budget",
        help="The ledger: a SQLite file or postgresql://…; else $CROWDTALLY_LEDGER, else the "
        "computer's, else your own.",
    ),
]  # fmt: skip
DatasetOption = Annotated[
    str | None,
    typer.Option(
        "--dataset", metavar="NAME", rich_help_panel="budget", autocompletion=dataset,
        help="The name to charge under, one for the same records wherever they lie; else the "
        "source's own.",
    ),
]  # fmt: skip
NewDatasetOption = Annotated[
    bool,
    typer.Option(
        "--new-dataset", rich_help_panel="budget",
        help="Make the dataset, and the ledger, if there is none; else a name that the ledger does "
        "not know is refused.",
    ),
]  # fmt: skip
EngineOption = Annotated[
    str | None,
    typer.Option(
        "--engine", metavar="ENGINE", rich_help_panel="engine",
        autocompletion=one_of(("duckdb", "spark")),
        help="duckdb (default), spark, or Spark's spark://…, sc://…, yarn, local[N].",
    ),
]  # fmt: skip
EngineSettingOption = Annotated[
    list[str] | None,
    typer.Option(
        "--engine-setting", metavar="KEY=VALUE", rich_help_panel="engine",
        help="A setting of Spark's. Repeatable.",
    ),
]  # fmt: skip
JsonOption = Annotated[
    bool, typer.Option("--json", rich_help_panel="output", help="Print JSON on stdout.")
]
QuietOption = Annotated[
    bool, typer.Option("--quiet", rich_help_panel="output", help="Print no remarks on stderr.")
]
DebugOption = Annotated[
    bool, typer.Option("--debug", rich_help_panel="output", help="Show a traceback on failure.")
]


def remark(quiet: bool) -> Any:
    """A function that prints remarks for the curator on stderr, or not at all."""
    return (lambda _: None) if quiet else (lambda words: print(words, file=sys.stderr))
