"""Commands of the lab: compare, audit, audit-request."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdtally.cli import options, syntax
from crowdtally.cli.options import GroupedCommand
from crowdtally.cli.plugins import PluggableGroup
from crowdtally.cli.request import takes_counted, takes_request

if TYPE_CHECKING:
    from crowdtally.lab.auditing.certify import Audit
    from crowdtally.lab.comparison.compare import Comparison


@options.command
def audit(
    methods: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="METHOD",
            help="METHOD[+CHOICE][/TRANSFORM][/SUMMARY], such as sra, hpa/filter or "
            "dpsense-s+dpsense; or contexts, discovery, pairs, quantity, rows.",
        ),
    ] = None,
    every: bool = False,
    epsilon: str = "1",
    seconds: str = "20",
    processes: options.Positive = None,
    output: Path | None = None,
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Attack methods on made-up databases: a certified lower bound on their epsilon.

    Options:
        every (--all): Every method, as without METHOD.
        epsilon (E): Of each release that is attacked.
        processes (N): Rows at once; by default one a core.

    Engine and output:
        output (-o FILE): Write the table as Markdown too; what was there is replaced.
    """
    from crowdtally.errors import check_libraries

    check_libraries()  # before what is imported below, which cannot do without them
    from crowdtally.errors import UsageError
    from crowdtally.lab.auditing.attack import audit_methods

    if every and methods:
        raise UsageError("--all is every method: remove it, or the names beside it.")
    _check(output)
    with _interrupted():
        found = audit_methods(methods or [], epsilon, seconds, processes, options.remark(quiet))
    _show_audit(found, output, as_json)


@takes_request
def audit_request(
    make_request: Callable[..., Any],
    epsilon: str | None = None,
    seconds: str = "20",
    output: Path | None = None,
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Attack a request of your own, typed as for release: its records are not read.

    Engine and output:
        output (-o FILE): Write the table as Markdown too; what was there is replaced.
    """
    from crowdtally.errors import check_libraries

    check_libraries()
    from crowdtally.errors import UsageError
    from crowdtally.lab.auditing.attack import attack_request, checked_seconds

    if epsilon is None:
        raise UsageError("say what your release would cost: --epsilon E.")
    each = checked_seconds(seconds)
    _check(output)
    request = make_request(None, epsilon=epsilon)
    with _interrupted():
        found = attack_request(request, each, options.remark(quiet))
    _show_audit(found, output, as_json)


@contextmanager
def _interrupted() -> Iterator[None]:
    """An interruption says that there is nothing to look after."""
    from crowdtally.errors import StoppedError

    try:
        yield
    except KeyboardInterrupt as error:
        raise StoppedError(
            "interrupted: an audit keeps nothing, and charges nothing. Fewer METHODs or --seconds "
            "end sooner."
        ) from error


def _check(output: Path | None) -> None:
    from crowdtally.errors import UsageError
    from crowdtally.lab.methods import check_apart

    if output is None:
        return
    check_apart(output)
    if output.is_dir() or not output.absolute().parent.is_dir():
        raise UsageError(f"-o names the file to write, in a folder that exists: received {output}.")


def _show_audit(found: Audit, output: Path | None, as_json: bool) -> None:
    """Print what was found; exit code 1 where a claim is refuted."""
    if output is not None:
        output.write_text(found.markdown(), encoding="utf-8")
    print(json.dumps(found.as_dict(), ensure_ascii=False) if as_json else found)
    if found.leaks:
        for row in found.leaks:
            print(f"crowdtally: {row.sentence()}", file=sys.stderr)
        raise typer.Exit(1)


def _tried(flag: str) -> Any:
    """An option of a release that means nothing here; typed, it is refused with words."""
    return typer.Option(flag, hidden=True, rich_help_panel="method", help="Not taken.")


@takes_counted
def compare(
    make_subject: Callable[[], Any],
    epsilon: str,
    output: Path,
    methods: str | None = None,
    max_records: str | None = None,
    fields: str | None = None,
    runs: int = 20,
    jobs: int | None = None,
    engine: Annotated[str | None, _tried("--engine")] = None,
    engine_setting: Annotated[list[str] | None, _tried("--engine-setting")] = None,
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Compare methods on RECORDS beside the truth. Not private, and not to be published.

    What everyone needs:
        epsilon (E[,E…]): The whole cost of every method, exact; several make a picture.
        output (-o DIR): A folder for runs, tables, pictures and the page; the same command goes on
            with it.

    Method and form:
        methods (NAME,…): sra, hpa+rank, sra/filter, lpa, …; else all that can run on these records.
        max_records (L[,L…]): The bounds per user to try, the largest also as the largest candidate;
            else 1,3,10,30,100, up to the first that cuts nobody.
        fields (FIELD=VALUE,…): Fields of methods, summaries and transforms, such as
            cap=5,size=3000: each is for those that have it.
        runs (N): Of each method, bound and epsilon: 20 are 5 sampling keys with 4 noises each.

    Engine and output:
        jobs (N): How many processes; else as many as there are cores.
    """
    from crowdtally.cli.output import Progress
    from crowdtally.errors import check_libraries
    from crowdtally.lab.comparison.compare import Question, compared, write
    from crowdtally.lab.comparison.plan import typed_fields
    from crowdtally.lab.comparison.run import check_folder
    from crowdtally.lab.methods import CHOSEN_BY_LOOKING, NOT_PRIVATE

    print(f"{NOT_PRIVATE}\n{CHOSEN_BY_LOOKING}", file=sys.stderr)
    _check_engine(engine, syntax.settings(engine_setting or []))
    check_libraries()
    question = Question.of(
        epsilon=epsilon, methods=methods, max_records=max_records, runs=runs, jobs=jobs,
        fields=typed_fields(fields),
    )  # fmt: skip
    check_folder(output)
    with gone_on_with(output), Progress.on_terminal(quiet=quiet) as stages:
        subject = make_subject()
        with _bar(stages, quiet) as progress:
            found = compared(
                subject, question, output, called=typed(), stage=stages.stage, progress=progress
            )
        stages.stage("drawing the pictures")
        write(found, output)
    _show_comparison(found, output, as_json)


def _check_engine(engine: str | None, settings: Any) -> None:
    from crowdtally.errors import UsageError

    if (engine is not None and engine != "duckdb") or settings:
        raise UsageError(
            "a comparison runs on DuckDB, in processes of its own, which reads the same files and "
            "databases: remove --engine and --engine-setting."
        )


def typed() -> str:
    from crowdtally.core.records import without_secrets

    words = [without_secrets(word) if "://" in word else word for word in sys.argv[1:]]
    return shlex.join(["crowdtally", *words])


@contextmanager
def gone_on_with(output: Path, files: str = "*.json") -> Iterator[None]:
    """An interruption says what is kept, each part in one of the files, and how to go on."""
    from crowdtally.errors import StoppedError

    try:
        yield
    except KeyboardInterrupt as error:
        kept = len(list((output / "runs").glob(files))) if output.is_dir() else 0
        what = f"{kept} finished parts are kept in {output}" if kept else "no part was finished"
        raise StoppedError(
            f"interrupted: {what}. The same command goes on from there; nothing was charged."
        ) from error


@contextmanager
def _bar(stages: Any, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    if quiet or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("comparing"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(file=sys.stderr), transient=True)
    task = bar.add_task("comparing")

    def told(done: int, total: int) -> None:
        stages.clear()  # the reading has ended
        if total:
            bar.start()
            bar.update(task, completed=done, total=total)

    try:
        yield told
    finally:
        bar.stop()


def _show_comparison(found: Comparison, output: Path, as_json: bool) -> None:
    from crowdtally.lab.comparison.advice import lines, recommendation
    from crowdtally.lab.comparison.page import facts_as_json, rows
    from crowdtally.lab.methods import CHOSEN_BY_LOOKING, NOT_PRIVATE

    advice = recommendation(found.summaries, found.facts)
    page = output / "comparison.html"
    if as_json:
        document = {
            "warning": f"{NOT_PRIVATE} {CHOSEN_BY_LOOKING}",
            "recommendation": advice,
            "page": str(page),
            "facts": facts_as_json(found.facts),
            "rows": rows(found.summaries),
        }
        print(json.dumps(document, ensure_ascii=False))
        return
    print(f"{NOT_PRIVATE}\n{CHOSEN_BY_LOOKING}\n")
    for line in lines(found.summaries, found.facts):
        print(line)
    print(f"{advice}\n\nThe page: {page}")


app = typer.Typer(
    cls=PluggableGroup,
    help="For researchers who hold the true data: nothing that it prints is private.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def lab() -> None:
    """For researchers who hold the true data: nothing that it prints is private."""


app.command("compare", cls=GroupedCommand)(compare)
app.command("audit")(audit)
app.command("audit-request", cls=GroupedCommand)(audit_request)
