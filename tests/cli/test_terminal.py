"""At a terminal: a question before the charge, and progress that leaves the screen as it was."""

from __future__ import annotations

import re
import subprocess
import sys
import threading

import pytest

from crowdtally.cli.output import Progress
from kit.command import crowdtally
from kit.terminal import Session, at_terminal
from kit.town import SECRETS, Town

FEW = "place\nXANADU\nbar\n"
"""A quarter of the rows have an item of this list."""
QUESTION = "release all the same? [y/N]"
SLOW = """
import sys, time
from crowdtally.curator.methods.tables import SampledTables
count = SampledTables.count
def slowly(*given):
    time.sleep(2.2)
    return count(*given)
SampledTables.count = slowly
from crowdtally.cli import main
main()
"""
"""The program, but reading takes more than two seconds."""


def quiet_on_secrets(session: Session) -> None:
    for secret in SECRETS:
        assert secret not in session.shown
    assert "Traceback" not in session.shown


@pytest.mark.parametrize("answer", ["n\n", "\n", "\x04", "yess\n"])
def test_anything_but_yes_stops_before_the_charge(town: Town, answer: str) -> None:
    town.write("places.csv", FEW)
    state = town.state()
    session = at_terminal(*town.arguments(), folder=town.folder, answers={QUESTION: answer})
    assert session.code == 1, session.shown
    assert "Of 240 rows, 180 would be dropped" in session.shown
    assert "180 because of item 'place'" in session.shown
    assert "nothing was charged and nothing was released" in session.shown.replace("\r\n", "\n")
    assert session.out == ""
    assert town.charged() == []
    assert town.state() == state
    quiet_on_secrets(session)


@pytest.mark.parametrize("answer", ["y\n", "YES\n"])
def test_yes_releases(town: Town, answer: str) -> None:
    town.write("places.csv", "place\nBAR\n")
    session = at_terminal(*town.arguments(), folder=town.folder, answers={QUESTION: answer})
    assert session.code == 0, session.shown
    assert "No row matches the list of 'place'" in session.shown
    assert "Nothing would be left but noise." in session.shown
    assert session.out == "out\n"
    assert crowdtally("check", "out").code == 0
    quiet_on_secrets(session)


@pytest.mark.parametrize("more", [["--yes"], ["-y"], ["--most-dropped", "0.9"]])
def test_answered_beforehand(town: Town, more: list[str]) -> None:
    town.write("places.csv", FEW)
    session = at_terminal(*town.arguments(), *more, folder=town.folder)
    assert session.code == 0, session.shown
    assert QUESTION not in session.shown


def test_half_is_not_asked_about(town: Town) -> None:
    town.write("places.csv", "place\nbar\ncafe\n")  # 120 of 240
    session = at_terminal(*town.arguments(), folder=town.folder)
    assert session.code == 0, session.shown
    assert QUESTION not in session.shown


def test_without_a_terminal_nobody_is_asked(town: Town) -> None:
    town.write("places.csv", FEW)
    ended = crowdtally(*town.arguments())
    assert ended.code == 0
    assert QUESTION not in ended.err


def test_refused_by_a_share_at_a_terminal_too(town: Town) -> None:
    town.write("places.csv", FEW)
    arguments = [*town.arguments(), "--most-dropped", "1/2"]
    session = at_terminal(*arguments, folder=town.folder)
    assert session.code == 4
    assert "--most-dropped 0.5: of 240 rows, 180" in session.shown
    assert town.charged() == []
    town.refuses(arguments, 4, "--most-dropped 0.5: of 240 rows", "Nothing was charged")
    town.refuses([*arguments, "--strict"], 2, "--strict means --most-dropped 0")
    for wrong in ("2", "-1", "most"):
        town.refuses([*town.arguments(), "--most-dropped", wrong], 2, "--most-dropped", wrong)


def plain(shown: str) -> str:
    """What is left on the screen: what was erased is not."""
    lines, row = [""], 0
    for piece in re.findall(r"\x1b\[[0-9;?]*[A-Za-z]|\n|[^\x1b\n]+", shown):
        if piece == "\n":
            row += 1
            lines += [""] * (row == len(lines))
        elif piece == "\x1b[1A":
            row -= 1
        elif piece == "\x1b[2K":
            lines[row] = ""
        elif not piece.startswith("\x1b"):
            lines[row] += piece.replace("\r", "")
    return "\n".join(lines)


def slow(town: Town, *more: str, answers: dict[str, str] | None = None) -> Session:
    return at_terminal(*town.arguments(), *more, folder=town.folder, answers=answers, script=SLOW)


def test_a_long_stage_is_named_while_it_lasts_and_leaves_one_line(town: Town) -> None:
    session = slow(town)
    assert session.code == 0, session.shown
    assert "reading and counting …" in session.shown
    assert re.search("reading and counting … [2-9] s", session.shown)
    left = plain(session.shown)
    assert re.search(r"^reading and counting: \d+ s$", left, re.MULTILINE)
    assert "…" not in left
    assert "\x1b[?25h" in session.shown  # the cursor is back


def test_what_moves_is_gone_before_a_question(town: Town) -> None:
    town.write("places.csv", FEW)
    session = slow(town, answers={QUESTION: "n\n"})
    assert session.code == 1
    before, asked, after = session.shown.partition("Of 240 rows")
    assert "reading and counting …" in before
    assert asked
    assert "reading and counting …" not in after


def test_quiet_shows_nothing(town: Town) -> None:
    session = slow(town, "--quiet")
    assert (session.code, session.shown) == (0, "")


def test_a_quick_stage_leaves_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(shown=True) as progress:
        for number in range(50):
            progress.stage(f"stage {number}")
    timers = [one for one in threading.enumerate() if isinstance(one, threading.Timer)]
    assert all(one.finished.is_set() for one in timers), "timers are cancelled"
    assert capsys.readouterr() == ("", "")


def test_nothing_is_shown_where_there_is_no_terminal(town: Town) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", SLOW, *town.arguments()], capture_output=True, text=True, check=True
    )
    assert "reading and counting" not in ended.stderr


def test_an_inspection_at_a_terminal(town: Town) -> None:
    arguments = ["inspect", *town.arguments(output=None)[1:]]
    session = at_terminal(*arguments, folder=town.folder)
    assert session.code == 0, session.shown
    assert session.out.startswith("For your eyes only")
    assert "For your eyes only" not in session.shown
    quiet_on_secrets(session)
