"""Options of commands: from docstrings, in groups, with completion."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial, wraps
from importlib import import_module
from inspect import Parameter, Signature, cleandoc, signature
from typing import Annotated, Any, get_origin, get_type_hints

import typer
from typer.core import TyperCommand

from crowdtally.core.registry import Registry
from crowdtally.core.values import explained, read
from crowdtally.errors import UsageError

# Help in groups: what everyone needs first, then the rest by what it is about.
#
# The section of a docstring is the group of its options; ``docs/cli.md`` has the same groups.

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


_HIGHEST_PORT = 65535


def typed_whole(text: object) -> int:
    """A whole number as typed; the option's own range is checked with the others."""
    try:
        return int(str(text))
    except ValueError:
        raise typer.BadParameter(f"{str(text)!r} is not a whole number, such as 10.") from None


def positive(text: object) -> int:
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
    if not 0 <= port <= _HIGHEST_PORT:
        raise UsageError(f"a port is a number from 0 to {_HIGHEST_PORT}: received {port}.")


Column = Annotated[str | None, {"autocompletion": column}]
Columns = Annotated[str | None, {"autocompletion": columns}]
Dataset = Annotated[str | None, {"autocompletion": dataset}]
Engine = Annotated[str | None, {"autocompletion": one_of(("duckdb", "spark"))}]
Positive = Annotated[int | None, {"parser": positive}]


def words(known: Sequence[str]) -> dict[str, Any]:
    """What an option is that takes one of these words."""
    return {"parser": word_of(known), "autocompletion": one_of(known)}


def value_in(registry: Callable[[], Registry]) -> dict[str, Any]:
    """What an option is that takes a value of a registry."""
    return {"parser": value_of(registry), "autocompletion": one_of(registry)}


# Options are the parameters of a command. The docstring describes them in sections, one for each
# group of the help: ``name (-o, --other METAVAR): help``. Their types can be ``Annotated`` with
# further keywords of ``typer.Option``.

_SECTION = re.compile(r"^([A-Z].*):$", re.MULTILINE)
_ENTRY = re.compile(r"^    (\w+)(?: \((.*?)\))?: (.*(?:\n {8}.*)*)", re.MULTILINE)
_PANELS = {title: name for name, title in TITLES.items()}


def described(text: str) -> tuple[str, dict[str, dict[str, Any]]]:
    r"""What a docstring says before its sections, and of each option.

    >>> described("Run.\n\nOptions:\n    out (-o DIR): A folder.")[1]["out"]["flags"]
    ['--out', '-o']
    """
    summary, *sections = _SECTION.split(cleandoc(text))
    found = {}
    for title, entries in zip(sections[::2], sections[1::2], strict=True):
        for name, shape, words in _ENTRY.findall(entries):
            pieces = shape.split()
            flags = [piece.rstrip(",") for piece in pieces if piece.startswith("-")]
            if not any(flag.startswith("--") for flag in flags):
                flags.insert(0, f"--{name.replace('_', '-')}")
            metavar = " ".join(piece for piece in pieces if not piece.startswith("-"))
            found[name] = {
                "flags": flags, "metavar": metavar or None, "help": " ".join(words.split()),
                "rich_help_panel": _PANELS.get(title),
            }  # fmt: skip
    return summary.strip(), found


_, _SHARED = described(
    """What several commands take; a command's own words go first.

    What everyone needs:
        epsilon (E): The whole cost, exact: 0.1, 1/3, 1e-3.

    Budget:
        ledger (PATH|URL): A SQLite file or postgresql://…; else $CROWDTALLY_LEDGER, else your own.
        dataset (NAME): The name to charge under; else the source's own.
        new_dataset: Make the dataset, and the ledger, if there is none.
        seconds (S): How long each row is attacked; longer certifies more.

    Engine and output:
        engine (ENGINE): duckdb (default), spark, or Spark's spark://…, sc://…
        engine_setting (KEY=VALUE): A setting of Spark's. Repeatable.
        as_json (--json): Print JSON on stdout.
        quiet: Print no remarks on stderr.
        debug: Show a traceback on failure.
        labels (FILE[:LABEL[,CATEGORY]]): A public catalogue (CSV, Parquet, JSON lines): each item's
            label, and perhaps its category.
        wanted (--format table|csv|json): How to print the answer: a table for people (default), CSV
            or JSON.
        output (-o FILE): Write the answer to a new file instead: .csv, .json, .parquet or .xlsx.

    Options:
        k (-k, --top K): How many items.
        raw: Rank by noisy counts alone, without estimates.
        each_delta (D): With --each: its delta; else that of the total.
        each_rho (R): As --each, as rho of zCDP.
        store (DIR): Your own folder of draws and their ledger; else $CROWDTALLY_PERSON_STORE, else
            one in your data folder.
        popularity (FILE[:COL]): Public weights of the items: which of those with the same
            categories are taken; else chance decides evenly.
        drop_unknown: Leave out items that the catalogue does not have; else refused.
    """
)


def parameters_of(run: Any, known: dict[str, Any] | None = None) -> dict[str, Parameter]:
    """The arguments and options of a function, as Typer wants them.

    Parameters that nothing describes are left out. ``known`` are names in annotations that are
    not imported at run time.
    """
    about = {**_SHARED, **described(run.__doc__ or "")[1]}
    hints = get_type_hints(run, {**run.__globals__, **(known or {})}, include_extras=True)
    return {
        name: parameter.replace(annotation=_annotated(hints[name], about.get(name)))
        for name, parameter in signature(run).parameters.items()
        if name in about or get_origin(hints[name]) is Annotated
    }


def _annotated(hint: Any, about: dict[str, Any] | None) -> Any:
    kind, more = hint, {}
    if get_origin(hint) is Annotated:
        kind, (more,) = hint.__origin__, hint.__metadata__
    if not isinstance(more, dict):
        return hint  # an argument or an option as Typer declares them
    return Annotated[kind, _option(kind, **{**(about or {}), **more})]


def _option(kind: Any, flags: Sequence[str], **more: Any) -> Any:
    if kind in (int, int | None):
        more = {"parser": typed_whole, **more}
    return typer.Option(*flags, **more)


def declared(run: Callable[..., None], parameters: Iterable[Parameter]) -> Callable[..., None]:
    """The function as Typer sees it: with these keywords, and ``--debug``, which ``main`` reads."""

    @wraps(run)
    def callback(**given: Any) -> None:
        given.pop("debug")
        run(**given)

    debug = Annotated[bool, _option(bool, **_SHARED["debug"])]
    ordered = sorted(parameters, key=lambda one: one.default is not Parameter.empty)
    ordered.append(Parameter("debug", Parameter.KEYWORD_ONLY, default=False, annotation=debug))
    callback.__annotations__ = {one.name: one.annotation for one in ordered}
    keywords = [one.replace(kind=one.KEYWORD_ONLY) for one in ordered]
    callback.__signature__ = Signature(keywords)  # type: ignore[attr-defined]
    callback.__doc__, _ = described(run.__doc__ or "")
    return callback


def command(run: Callable[..., None]) -> Callable[..., None]:
    """Let Typer see the options that a function's docstring describes."""
    return declared(run, parameters_of(run).values())


RecordsArgument = Annotated[
    str,
    typer.Argument(
        metavar="RECORDS", help="Path, glob, file.duckdb#table, file.sqlite#table or URL#table."
    ),
]
# For commands of other distributions.
JsonOption = Annotated[bool, _option(bool, **_SHARED["as_json"])]
QuietOption = Annotated[bool, _option(bool, **_SHARED["quiet"])]
DebugOption = Annotated[bool, _option(bool, **_SHARED["debug"])]


def remark(quiet: bool) -> Any:
    """A function that prints remarks for the curator on stderr, or not at all."""
    return (lambda _: None) if quiet else (lambda words: print(words, file=sys.stderr))
