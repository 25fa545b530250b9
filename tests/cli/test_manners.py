"""How the program behaves around its commands: signals, encodings, suggestions, what it tells."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import crowdtally as ct
from kit.command import INSTALLED, crowdtally
from kit.town import SECRETS, Town

USAGE, INPUT = 2, 4
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
    town.refuses(town.arguments(bounding="SRA"), USAGE, "Did you mean 'sra'?")


def test_what_was_chosen_and_discovered_is_told(town: Town) -> None:
    chosen = crowdtally(*town.arguments(choose="rank", max_records="9"))
    bound = ct.load("out").metadata["method"]["bounds"]["items"]["bound"]
    assert f"Chosen privately for items: a bound of {bound} (at most 9)." in chosen.err
    found = town.arguments(items=None, delta="1e-6", output="found", dataset="d")
    told = crowdtally(*found, "--discover-items", "--noise", "laplace")
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
        plan = ct.plan(records, ct.Domain(["bar"]), epsilon=1, max_records=10)
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
            lambda r, d: ct.release(r, d, epsilon=1, bonding="hpa", new_dataset=True),
            "Did you mean 'bounding'?",
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
    found = town.arguments(items=None, delta="1e-6", dataset="d", ledger="my own.sqlite")
    assert crowdtally(*found, "--discover-items").code == 0
    hint = "crowdtally ledger limit d --epsilon E --delta D --reason TEXT --ledger 'my own.sqlite'"
    assert hint in crowdtally("ledger", "show", "--ledger", "my own.sqlite").out
    plan = ["plan", *town.arguments(output=None, dataset="d", ledger="my own.sqlite")[1:]]
    assert hint in crowdtally(*plan).out
