"""The life of a ledger, in a file and on a server, in both ways of adding up."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from functools import partial

from same import inputs, seams
from same.stage import Scene, Stage

_RELEASE = "--user who --item place --items places.csv --method sra:max-records=3"
_SEQUENTIAL = (
    "create town --epsilon 5 --delta 1e-3 --each 3 --each-delta 1e-4 --user who",
    "create other --epsilon 1/3",
    "create town --epsilon 9",
    "release --epsilon 1 --dataset town --purpose weekly -o a",
    "release --epsilon 1/3 --dataset town -o b",
    "release --epsilon 4 --dataset town -o c",
    "release --epsilon 2 --delta 1e-3 --noise gaussian --dataset town -o c",
    "release --epsilon 1 --delta 1e-6 --noise gaussian --dataset town -o c --purpose trial",
    "release --epsilon 1 --dataset twon -o d",
    "release --epsilon 1 --dataset town --request-id once -o d",
    "release --epsilon 1 --dataset town --request-id once -o d",
    "release --epsilon 3 --dataset town -o e",
)
_CONCENTRATED = (
    "create town --epsilon 4 --delta 1e-6 --accountant zcdp --user who",
    "create other --rho 1/2 --each-rho 1/8 --accountant zcdp",
    "release --epsilon 1 --delta 1e-6 --noise gaussian --dataset town -o a --purpose weekly",
    "release --epsilon 1/2 --dataset town -o b",
    "release --epsilon 1 --delta 1e-6 --noise gaussian --dataset other -o c",
    "release --epsilon 4 --delta 1e-6 --noise gaussian --dataset town -o c",
    "release --epsilon 1/10 --delta 1e-6 --noise gaussian --dataset town -o c",
)
_AFTER = (
    "limit town --epsilon 9 --delta 1e-2 --reason \"the board agreed\"",
    "limit town --epsilon none --each none --reason \"no limit at all\"",
    "limit other --epsilon 1/7 --reason less",
    "show", "show --json", "show town", "show other --json", "show --by purpose",
    "show --by person --json", "show --by unit", "show --head", "verify", "export",
    "backup copy.sqlite", "backup copy.sqlite",
)  # fmt: skip
_ROLE = "DO $$ BEGIN CREATE ROLE {}; EXCEPTION WHEN duplicate_object THEN NULL; END $$"
_MOVED = ("show", "verify", "export")


def _typed(words: str, location: str) -> list[str]:
    """A command of the ledger's; ``release`` has the town's records."""
    typed = shlex.split(words)
    if typed[0] == "release":
        return ["release", "visits.csv", *_RELEASE.split(), *typed[1:], "--ledger", location]
    return ["ledger", *typed, "--ledger", location]


def _life(script: tuple[str, ...], place: str, stage: Stage) -> None:
    inputs.lists(stage)
    inputs.SOURCES["csv"](stage)
    location = inputs.new_database(stage) if place == "postgres" else "ledger.sqlite"
    for number, words in enumerate((*script, *_AFTER)):
        stage.case(f"{number:02} {words}", *_typed(words, location))
    _given_back(stage, location)
    for case, typed in (
        ("withdraw", ["withdraw", "a", "--reason", "a <slip>", "--ledger", location]),
        ("withdraw again", ["withdraw", "a", "--reason", "more", "--ledger", location]),
        ("top of a withdrawn one", ["top", "a"]),
        ("describe a withdrawn one", ["describe", "a"]),
        ("check a withdrawn one", ["check", "a", "--ledger", location]),
        ("report a withdrawn one", ["report", "a", "-o", "a.json"]),
    ):
        stage.case(case, *typed)
    _moved(stage, location)
    _rest(stage, location, place)


def _given_back(stage: Stage, location: str) -> None:
    """Charges of which nothing was drawn, or perhaps something."""
    stage.seed("reserved")
    ids = seams.reserved(location, "town", 3)
    # Their names have random digits, so commands with them have other names here.
    for number, charged in enumerate(ids):
        stage.case(f"void {number}", *_typed(f'void {charged} --reason "none left"', location))
    stage.case("void twice", *_typed(f"void {ids[0]} --reason more", location))
    stage.case("after voids", *_typed("show town", location))


def _moved(stage: Stage, location: str) -> None:
    for words in _MOVED:
        stage.case(f"copy: {words}", *_typed(words, "copy.sqlite"))
    stage.case("charge a copy", *_typed("limit town --epsilon 3 --reason x", "copy.sqlite"))
    stage.case("move", "ledger", "import", location, "--ledger", "new.sqlite")
    for words in _MOVED:
        stage.case(f"moved: {words}", *_typed(words, "new.sqlite"))
    stage.case("the old place", *_typed("show", location))
    stage.case("charge the old place", *_typed("limit town --epsilon 3 --reason x", location))


def _rest(stage: Stage, location: str, place: str) -> None:
    limits = '[town]\nepsilon = 2\neach_epsilon = 1\nreason = "approved"\n'
    path = stage.write("limits.toml", limits)
    os.chmod(path, 0o644)
    stage.case("limits file", *_typed(f"limits-file {path} --reason asked", "new.sqlite"))
    stage.case("after the limits file", *_typed("show", "new.sqlite"))
    stage.case("over it", *_typed("release --epsilon 2 --dataset town -o z", "new.sqlite"))
    if place == "postgres":
        fresh = inputs.new_database(stage)
        stage.case("fresh", *_typed("create town --epsilon 2", fresh))
        for role in ("analyst", "officer"):
            seams.postgres().execute(_ROLE.format(role))
        for words in ("grant analyst", "grant officer --officer", "grant analyst --run"):
            stage.case(words, *_typed(words, fresh))
        other = inputs.new_database(stage)
        stage.case("to a server", "ledger", "import", "new.sqlite", "--ledger", other)
        stage.case("on the server", *_typed("export", other))


def scenes() -> Iterator[Scene]:
    """Each way of adding up in each place."""
    for name, script in (("sequential", _SEQUENTIAL), ("zcdp", _CONCENTRATED)):
        for place in ("sqlite", "postgres"):
            yield Scene(
                f"ledger {name} {place}", partial(_life, script, place), place == "sqlite",
                "postgres" if place == "postgres" else "",
            )  # fmt: skip
