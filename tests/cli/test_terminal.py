"""At a terminal and in a pipe: questions, progress, signals, encodings."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import crowdtally as ct
from crowdtally.cli.output import Progress
from kit.command import INPUT, INSTALLED, SECRETS, USAGE, Session, Town, at_terminal, crowdtally

# ---- At a terminal: a question before the charge, and progress that leaves the screen as it
#      was


FEW = "place\nXANADU\nbar\n"
"""A quarter of the rows have an item of this list."""
QUESTION = "release all the same? [y/N]"
SLOW = """
import sys, time
from crowdtally.curator import publish
count = publish.count
def slowly(*given, **named):
    time.sleep(2.2)
    return count(*given, **named)
publish.count = slowly
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


# ---- How the program behaves around its commands: signals, encodings, suggestions, what it
#      tells


HEEDING = [
    sys.executable,
    "-c",
    "import os, signal, sys; signal.signal(int(sys.argv[1]), signal.SIG_DFL);"
    "os.execv(sys.argv[2], sys.argv[2:])",
]
"""What runs a program that heeds a signal, also where the tests were started to ignore it."""


def test_version() -> None:
    ended = crowdtally("--version")
    assert (ended.code, ended.out) == (0, f"crowdtally {ct.__version__}\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interruption_says_so_and_leaves_nothing_half_written(
    town: Town, number: signal.Signals
) -> None:
    """At the deepest moment: the engine reads a pipe that never ends, the folder is staged."""
    os.mkfifo(town.folder / "endless.csv")
    words = [*HEEDING, str(number.value), str(INSTALLED), *town.arguments("endless.csv")]
    with subprocess.Popen(words, cwd=town.folder, stderr=subprocess.PIPE, text=True) as program:
        try:
            with open(town.folder / "endless.csv", "w") as pipe:  # until the program opens it
                pipe.write("user_id,place\n")
                pipe.flush()
                time.sleep(0.3)
                program.send_signal(number)
            _, said = program.communicate(timeout=300)
        finally:
            program.kill()  # else one that does not end stays, and a later test is blamed
    assert program.returncode == 128 + number, said
    assert said.startswith("crowdtally: interrupted. `crowdtally ledger show`")
    assert "Traceback" not in said
    assert not [path for path in town.folder.iterdir() if path.name.endswith(".part")]


def test_handlers_of_signals_are_given_back() -> None:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    crowdtally("--version")
    assert [signal.getsignal(number) for number in numbers] == before


@pytest.mark.parametrize(
    "encoding", ["ascii", pytest.param("latin-1", marks=pytest.mark.long), "cp1252"]
)
def test_any_encoding_of_the_output_will_do(town: Town, encoding: str) -> None:
    town.write("places.csv", "place\nbar\ncafé\n東京\n🍺\n")
    env = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    assert crowdtally(*town.arguments()).code == 0
    for more in ([], ["--json"]):
        words = [str(INSTALLED), "top", "out", *more]
        shown = subprocess.run(words, env=env, stdout=subprocess.PIPE, check=True).stdout
    items = {row["item"] for row in json.loads(shown.decode(encoding))}
    assert items == {"bar", "café", "東京", "🍺"}


def test_a_file_that_is_missing_is_looked_for_beside(town: Town) -> None:
    town.refuses(town.arguments("recrods.parquet"), INPUT, "Did you mean 'records.parquet'?")
    town.refuses(town.arguments(items="place.csv"), INPUT, "Did you mean 'places.csv'?")
    town.refuses(town.arguments("no/such.csv"), INPUT, "There is no folder 'no'")
    town.refuses(town.arguments(""), USAGE, "name is empty")
    town.refuses(town.arguments("https://example.org/a.csv"), USAGE, "download it")


def test_slips_in_lists_and_names(town: Town) -> None:
    twice = [*town.arguments(), "--context", "weekday", "--context", "weekday=place"]
    town.refuses([*twice, "--values", "weekday=Mon,Tue"], USAGE, "'weekday' is given twice")
    for values in ("weekday=Mon,,Tue", "weekday=Mon,Tue,"):
        given = town.arguments(context="weekday", values=values)
        town.refuses(given, USAGE, "an empty value between two commas")
    rows = ["release", "records.parquet", "--user-per-row", "--epsilon", "1", "-o", "out"]
    rows += ["--new-dataset"]
    town.refuses([*rows, "--attributes", "place,"], USAGE, "received 'place,'")
    town.refuses([*rows, "--attributes", "place"], USAGE, "--values place=a,b,c")
    town.refuses(town.arguments(method="SRA"), USAGE, "Did you mean 'sra'?")


def test_what_was_chosen_and_discovered_is_told(town: Town) -> None:
    chosen = crowdtally(*town.arguments(method="sra:max-records=9,choose=rank"))
    bound = ct.load("out").metadata["method"]["bounds"]["items"]["bound"]
    assert f"Chosen privately for items: a bound of {bound} (at most 9)." in chosen.err
    found = town.arguments(
        items=None, delta="1e-6", output="found", dataset="d", method=None, discover="item"
    )
    told = crowdtally(*found, "--noise", "laplace")
    metadata = ct.load("found").metadata
    assert f"Discovered {metadata['domain']['items']['size']} items" in told.err
    assert f"all others together: {metadata['other']['count']} " in told.err
    assert "--epsilon E --delta D" in told.err
    assert "  epsilon 1  delta 1e-6  published" in crowdtally("ledger", "show", "d").out
    empty = crowdtally("top", "found")
    assert empty.code == USAGE
    assert f"at least {metadata['tables'][0]['threshold']} users" in empty.err


def test_a_release_of_nothing_says_so(town: Town) -> None:
    town.write("places.csv", "place\nBAR\nCAFE\n")
    told = crowdtally(*town.arguments())
    assert told.code == 0
    assert "No row is left to count" in told.err
    town.write("none.csv", "user_id,place\n")
    told = crowdtally(*town.arguments("none.csv", output="none"))
    assert "The source has no rows" in told.err


def test_printing_records_or_a_plan_shows_no_record(town: Town) -> None:
    import pyarrow.parquet

    held = pyarrow.parquet.read_table(town.folder / "records.parquet")
    prices = held.select(["visit", "price"])
    held = held.drop_columns(["price"])
    for source in (held, held.to_pandas()):
        records = ct.read(source, user="user_id", item="place", joins=[(prices, "visit")])
        plan = ct.plan(records, ct.Domain(["bar"]), epsilon=1, method=ct.SRA(10))
        decides = ct.plan(records, ct.Domain(["bar"]), epsilon=1)
        for text in (repr(records), repr(plan), str(plan), repr(decides), str(decides)):
            assert not any(secret in text for secret in SECRETS)
    assert str(decides).startswith("Cost: epsilon 1 per user.\nMethod: auto")
    assert str(plan).startswith("Cost: epsilon 1 per user.\nSplit: items 1.\nTable items")
    secret = ct.read("postgresql://me:hush@host/db#t", user="u", item="i")
    assert repr(secret) == "Records('postgresql://host/db#t', user='u', item='i')"


@pytest.mark.parametrize(
    ("mistake", "words"),
    [
        (lambda r, d: ct.release([1], d, epsilon=1, new_dataset=True), "records come from ct.read"),
        (
            lambda r, d: ct.release(r, ["bar"], epsilon=1, new_dataset=True),
            "a domain comes from ct.Domain",
        ),
        (
            lambda r, d: ct.release(r, d, epsilon=1, split="items=1", new_dataset=True),
            "a split is {'items'",
        ),
        (
            lambda r, d: ct.release(r, d, epsilon=1, method="hpa", new_dataset=True),
            "method is a value such as ct.SRA(max_records=10)",
        ),
        (lambda r, d: ct.read("x", user="u", item="i", contexts=5), "names of columns"),
        (lambda r, d: ct.read("x", user="u", item="i", joins=["t"]), "pairs of a source"),
    ],
)
def test_what_a_notebook_passes_by_mistake(town: Town, mistake, words: str) -> None:
    records = ct.read(town.folder / "records.parquet", user="user_id", item="place")
    with pytest.raises(ct.UsageError) as caught:
        mistake(records, ct.Domain(["bar"]))
    assert words in str(caught.value)


def test_an_edited_release_is_an_input_that_is_damaged(town: Town) -> None:
    assert crowdtally(*town.arguments(context="weekday", values="weekday=Mon,Tue")).code == 0
    path = Path("out/release.json")
    whole = json.loads(path.read_text())
    for edit in (
        lambda m: m["tables"][0]["noise"].update(scale="abc"),
        lambda m: m["domain"]["contexts"][0].update(values="Mon"),
    ):
        edited = json.loads(json.dumps(whole))
        edit(edited)
        path.write_text(json.dumps(edited))
        ended = crowdtally("top", "out")
        assert ended.code == INPUT
        assert "damaged" in ended.err
    assert "it is a file" in crowdtally("top", "places.csv").err
    assert "no such folder" in crowdtally("sum", "nowhere").err


def test_the_hint_to_set_a_limit_names_the_ledger_that_was_named(town: Town) -> None:
    found = town.arguments(
        items=None, delta="1e-6", dataset="d", ledger="my own.sqlite", method=None, discover="item"
    )
    assert crowdtally(*found).code == 0
    hint = "crowdtally ledger limit d --epsilon E --delta D --reason TEXT --ledger 'my own.sqlite'"
    assert hint in crowdtally("ledger", "show", "--ledger", "my own.sqlite").out
    plan = ["plan", *town.arguments(output=None, dataset="d", ledger="my own.sqlite")[1:]]
    assert hint in crowdtally(*plan).out


# ---- Readers of the output that go away early, as ``head`` does: the exit code is that of the
#      work


PROGRAM = [sys.executable, "-m", "crowdtally"]


@pytest.fixture
def released(town: Town) -> Path:
    ended = crowdtally(*town.arguments())
    assert ended.code == 0, str(ended)
    return town.folder / "out"


def with_a_reader_gone(*arguments: str, env: dict[str, str] | None = None) -> tuple[int, str]:
    """Exit code and stderr of the program whose output is a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ended = subprocess.run(
            [*PROGRAM, *arguments], stdout=writing, stderr=subprocess.PIPE, text=True, check=False,
            env={**os.environ, **(env or {})},
        )  # fmt: skip
    finally:
        os.close(writing)
    return ended.returncode, ended.stderr


@pytest.mark.parametrize("buffered", [True, False], ids=["buffered until the exit", "unbuffered"])
def test_an_answer_that_nobody_reads_is_no_failure(released: Path, buffered: bool) -> None:
    env = {} if buffered else {"PYTHONUNBUFFERED": "1"}
    assert with_a_reader_gone("top", str(released), env=env) == (0, "")


def test_more_than_a_pipe_holds(town: Town) -> None:
    """The reader takes one line and goes while the program is still writing."""
    town.write("places.csv", "place\n" + "".join(f"place {n:05}\n" for n in range(20_000)))
    assert crowdtally(*town.arguments()).code == 0
    command = f"set -o pipefail; {' '.join(PROGRAM)} top out -k 20000 | head -1"
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("None of these items is told apart from noise")


def test_the_exit_code_is_still_the_works(released: Path) -> None:
    (released / "items.parquet").write_bytes(b"damaged")
    code, said = with_a_reader_gone("check", str(released))
    assert code == INPUT
    assert said.startswith("crowdtally: ")


def test_a_release_whose_words_nobody_reads_is_made(town: Town) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    ended = subprocess.run(
        [*PROGRAM, *town.arguments()], stdout=writing, stderr=writing, check=False
    )
    os.close(writing)
    assert ended.returncode == 0
    assert crowdtally("check", "out").code == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_a_full_disk_is_still_told(released: Path) -> None:
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [*PROGRAM, "top", str(released)], stdout=full, stderr=subprocess.PIPE, text=True,
            check=False,
        )  # fmt: skip
    assert ended.returncode == 1
    assert "No space left" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_no_output_at_all(released: Path) -> None:
    ended = subprocess.run(
        ["sh", "-c", f"{' '.join(PROGRAM)} top {released} >&-"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ended.returncode, ended.stderr) == (0, "")
