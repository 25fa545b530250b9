"""``crowdtally ledger limits-file``: what an officer and an analyst type, and what they read."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from budget.ledger_kit import NOBODY, PostgresServer, running_server, skip
from crowdtally.budget import Ledger
from kit.command import Ended, crowdtally, without_rights
from kit.town import Town

FAILURE, USAGE, BUDGET = 1, 2, 3
LIMITS = """\
[visits]
epsilon = 2
each_epsilon = 1
reason = "approved by the board"

["taxi.csv"]
epsilon = "1/3"
reason = "a trial"
"""


@dataclass(frozen=True)
class Desk:
    """A town whose records are an analyst's, and a limits file that is not."""

    town: Town
    file: Path

    def ledger(self, *words: object) -> Ended:
        """A command of the officer's about the ledger."""
        return crowdtally("ledger", *words, "--ledger", self.town.ledger)

    def refuses(self, code: int, said: tuple[str, ...], *words: object) -> None:
        """The officer's command fails with these words and leaves nothing behind."""
        self.town.refuses(
            ["ledger", *map(str, words), "--ledger", str(self.town.ledger)], code, *said
        )

    def analyst(self, *words: object) -> Ended:
        """Any command of the analyst's."""
        town = self.town
        env = {"CROWDTALLY_LEDGER": str(town.ledger), "TMPDIR": str(town.scratch)}
        return without_rights(town.folder, NOBODY, *words, env=env)


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """Outside pytest's folders, which are closed to other accounts."""
    with tempfile.TemporaryDirectory(prefix="crowdtally-officer-") as name:
        base = Path(name)
        town = Town.build(base)
        Ledger.open(town.ledger, create=True)
        if os.getuid() == 0:
            for path in base.rglob("*"):
                os.chown(path, NOBODY, NOBODY)
        base.chmod(0o755)
        office = base / "officer"
        office.mkdir(mode=0o755)
        file = office / "limits.toml"
        file.write_text(LIMITS)
        file.chmod(0o644)
        monkeypatch.chdir(town.folder)
        yield Desk(town, file)


@pytest.fixture
def begun(desk: Desk) -> Desk:
    """The file is in use, and visits exists."""
    assert desk.ledger("limits-file", desk.file, "--reason", "the board's rules").code == 0
    assert desk.ledger("create", "visits").code == 0
    return desk


def test_the_officer_reads_what_it_does_and_what_it_does_not(desk: Desk) -> None:
    assert desk.ledger("create", "old", "--epsilon", "1").code == 0
    ended = desk.ledger("limits-file", "../officer/limits.toml", "--reason", "the board's rules")
    assert ended.code == 0, ended
    path = desk.file.resolve()
    assert f"The limits are in {path} (why: the board's rules)" in ended.out
    assert "does not list 'old': nothing can be charged there" in ended.out
    assert "visits: ε = 2; a single release ε = 1 (approved by the board)" in ended.out
    assert "taxi.csv: ε = 1/3" in ended.out
    assert "stops slips, not a hostile writer" in ended.out
    assert f"{desk.town.ledger} can rebuild its chain" in ended.out
    assert desk.ledger("verify").code == 0


def test_slips_of_the_officer(desk: Desk) -> None:
    desk.refuses(USAGE, ("--reason",), "limits-file", desk.file)
    desk.refuses(USAGE, ("non-empty",), "limits-file", desk.file, "--reason", "")
    desk.refuses(FAILURE, ("is not there",), "limits-file", "limit.toml", "--reason", "r")
    desk.refuses(FAILURE, ("not TOML",), "limits-file", "places.csv", "--reason", "r")
    desk.refuses(USAGE, ("--epsilon E",), "create", "visits")
    desk.file.chmod(0o664)
    said = ("can be changed by others than its keeper (mode 664)", f"chmod go-w {desk.file}")
    desk.refuses(FAILURE, said, "limits-file", desk.file, "--reason", "r")
    assert Ledger.open(desk.town.ledger).limits_file() is None


def test_without_a_ledger(desk: Desk) -> None:
    """It is not made by this: a slip in its name would be another budget."""
    desk.town.ledger.unlink()
    for words in (["limits-file", desk.file, "--reason", "r"], ["create", "visits"]):
        ended = desk.ledger(*words)
        assert (ended.code, ended.out) == (FAILURE, ""), ended
        assert "there is no ledger at" in ended.err
    assert not desk.town.ledger.exists()


def test_on_a_server() -> None:
    server: PostgresServer = running_server()
    url = server.new_schema()
    Ledger.open(url, create=True)
    ended = crowdtally("ledger", "limits-file", "limits.toml", "--reason", "r", "--ledger", url)
    assert ended.code == USAGE, ended
    assert "crowdtally ledger grant" in ended.err
    assert server.password not in ended.err


def test_with_the_file_limits_are_changed_there(begun: Desk) -> None:
    begun.refuses(
        FAILURE, (f"are in {begun.file}: change them there",),
        "limit", "visits", "--epsilon", "9", "--reason", "more",
    )  # fmt: skip
    begun.refuses(USAGE, ("Leave out --epsilon",), "create", "taxi.csv", "--epsilon", "9")
    begun.refuses(USAGE, ("Did you mean 'visits'", "ask whoever keeps"), "create", "visit")
    assert "of ε = 1/3" in begun.ledger("create", "taxi.csv", "--user", "driver").out


def test_a_release_is_charged_by_the_file(begun: Desk) -> None:
    town, to = begun.town, {"ledger": str(begun.town.ledger), "dataset": "visits"}
    town.refuses(town.arguments(epsilon="1.5", **to), BUDGET, "a single release")
    ended = crowdtally(*town.arguments(**to))
    assert ended.code == 0, ended
    begun.file.write_text(LIMITS.replace("epsilon = 2", "epsilon = 1.5"))
    town.refuses(town.arguments(output="two", **to), BUDGET, "remaining 0.5")
    begun.file.unlink()
    said = ("limits.toml is not there", "nothing is charged")
    town.refuses(town.arguments(output="two", **to), FAILURE, *said)


def test_an_analyst_charges_and_does_nothing_else(begun: Desk) -> None:
    if os.getuid() != 0:
        skip("only root can drop its rights")
    released = begun.analyst(*begun.town.arguments(dataset="visits"))
    assert released.code == 0, released
    books = Ledger.open(begun.town.ledger)
    (made,) = books.charges()
    assert str(made.by).startswith("nobody@")
    unfinished = books.reserve("visits", made.unit, made.charge)  # type: ignore[arg-type]
    mine = begun.town.write("mine.toml", '[visits]\nepsilon = 99\nreason = "mine"\n')
    entries = begun.town.charged()
    for words in (
        ["void", unfinished.id, "--reason", "mine"],
        ["create", "taxi.csv"],
        ["limits-file", mine, "--reason", "mine"],
    ):
        ended = begun.analyst("ledger", *words)
        begun.town.check(ended, FAILURE, f"only whoever can write the limits file {begun.file}")
        assert "this account, nobody, cannot" in ended.err
    limit = begun.analyst("ledger", "limit", "visits", "--epsilon", "9", "--reason", "mine")
    begun.town.check(limit, FAILURE, "change them there")
    assert begun.town.charged() == entries
    assert books.verify().ok
