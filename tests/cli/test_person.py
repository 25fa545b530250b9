"""``crowdtally person`` and its page: what is printed where, and what is refused."""

from __future__ import annotations

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from crowdtally.person.store import Store
from kit.command import BUDGET, COMMANDS, INPUT, USAGE, Town, crowdtally
from kit.person import FILMS as FILMS_PAGE
from kit.person import OWN

# ---- ``crowdtally person``: what is printed where, what is refused, and that nothing leaks -------


FILMS = "item,category\nAlien,horror\nAlien,space\nSaw,horror\nApollo,space\nHeat,crime\nXanadu,x\n"
PUBLIC = ("--catalogue", "films.csv", "--epsilon", "1")


@pytest.fixture
def home(town: Town, monkeypatch: pytest.MonkeyPatch) -> Town:
    """A town with a catalogue, and a history that has a secret."""
    town.write("films.csv", FILMS)
    town.write("own.csv", "item\nXanadu\nHeat\n")
    monkeypatch.setenv("CROWDTALLY_PERSON_STORE", str(town.folder / "own"))
    return town


def test_one_request_one_draw(home: Town) -> None:
    first = crowdtally("person", "perturb", "own.csv", *PUBLIC, "--json")
    assert first.code == 0, str(first)
    assert "Charged epsilon 1" in first.err
    assert "a belief of 1% can become at most 2.7%" in first.err
    assert "20 × 1 = 20" in first.err
    again = crowdtally("person", "perturb", "own.csv", *PUBLIC, "--json")
    assert again.out == first.out
    assert "Nothing was charged" in again.err
    plain = crowdtally("person", "perturb", "own.csv", *PUBLIC, "--quiet")
    assert plain.out.split() == json.loads(first.out)["items"]
    assert plain.err == ""
    another = crowdtally("person", "perturb", "own.csv", *PUBLIC, "--again", "--json")
    assert "draw 2" in another.err
    assert "together: epsilon 2." in another.err


def test_the_file_says_the_same_whichever_draw_it_is(home: Town) -> None:
    assert crowdtally("person", "perturb", "own.csv", *PUBLIC, "-o", "out.json").out == ""
    facts = json.loads((home.folder / "out.json").read_text())
    assert set(facts) == {"items", "epsilon", "guarantee"}
    home.write("other.csv", "item\n")
    crowdtally("person", "perturb", "other.csv", *PUBLIC, "--again", "-o", "other.json")
    other = json.loads((home.folder / "other.json").read_text())
    assert {**facts, "items": 0} == {**other, "items": 0}


def test_counts_are_sent_where_they_are_asked_for_and_cost_nothing_more(home: Town) -> None:
    plain = crowdtally("person", "perturb", "own.csv", *PUBLIC, "-o", "out.json")
    assert "Charged epsilon 1" in plain.err
    told = crowdtally("person", "perturb", "own.csv", *PUBLIC, "--counts", "-o", "more.json")
    assert "Nothing was charged" in told.err
    facts, more = (json.loads((home.folder / f"{one}.json").read_text()) for one in ("out", "more"))
    counts = more.pop("categories")
    assert more == facts
    assert counts
    assert all(isinstance(count, int) for count in counts.values())
    shown = crowdtally("person", "perturb", "own.csv", *PUBLIC, "--counts", "--json")
    assert json.loads(shown.out)["categories"] == counts
    noisy = crowdtally("person", "show", "own.csv", *PUBLIC, "--json")
    assert all(str(count) in noisy.out for count in counts.values())


def test_a_preview_shows_widths_only_and_charges_nothing(home: Town) -> None:
    before = home.state()
    shown = crowdtally("person", "show", "own.csv", *PUBLIC)
    assert shown.code == 0
    assert "Nothing is drawn yet" in shown.out
    assert "So far nothing was drawn" in shown.out
    assert "category  yours" not in shown.out
    assert "category  yours" in shown.err
    assert home.state() == before
    same = crowdtally("person", "show", "own.csv", *PUBLIC)
    assert same.out == shown.out, "a preview that is drawn"
    home.write("other.csv", "item\nSaw\n")
    assert crowdtally("person", "show", "other.csv", *PUBLIC).out == shown.out


def test_a_stored_draw_is_shown_as_it_is(home: Town) -> None:
    drawn = json.loads(crowdtally("person", "perturb", "own.csv", *PUBLIC, "--json").out)
    shown = crowdtally("person", "show", "own.csv", *PUBLIC, "--json")
    facts = json.loads(shown.out)
    assert [draw["items"] for draw in facts["draws"]] == [drawn["items"]]
    assert Store().spent() == 1
    assert "draw 1" in crowdtally("person", "show", "own.csv", *PUBLIC).out
    assert (
        json.loads(crowdtally("person", "show", "films.csv", *PUBLIC, "--json").out)["draws"] == []
    )


def test_levels_are_listed_and_own_counts_stay_off_stdout(home: Town) -> None:
    listed = crowdtally("person", "levels", *PUBLIC, "--level", "horror=no", "--history", "own.csv")
    assert listed.out.splitlines()[0].split() == ["category", "items", "level", "noise", "±"]
    assert "horror        2     no        -" in listed.out
    assert "yours" in listed.err
    rows = json.loads(crowdtally("person", "levels", *PUBLIC, "--level", "x=2", "--json").out)
    assert {row["category"]: row["level"] for row in rows}["x"] == "2"
    assert all(set(row) == {"category", "items", "level", "half_width"} for row in rows)


def test_quantified_is_labelled_as_a_reconstruction(home: Town) -> None:
    words = ("--catalogue", "films.csv", "--quantify", "--eta", "1")
    for ended in (
        crowdtally("person", "show", "own.csv", *words).out,
        crowdtally("person", "perturb", "own.csv", *words).err,
    ):
        assert "S-PBQ as reconstructed by Crowdtally" in ended


def test_histories_from_standard_input(home: Town) -> None:
    import subprocess

    from kit.command import INSTALLED

    words = [str(INSTALLED), "person", "perturb", "-", *PUBLIC, "--json"]
    done = subprocess.run(words, input=b"Heat\nXanadu\n", capture_output=True, check=True)
    assert done.stdout.decode() == crowdtally("person", "perturb", "own.csv", *PUBLIC, "--json").out


@pytest.mark.parametrize("own", ["item\n", "item\nAlien\nSaw\nApollo\nHeat\nXanadu\n"])
def test_nothing_and_everything_are_histories_like_any_other(home: Town, own: str) -> None:
    home.write("own.csv", own)
    ended = crowdtally("person", "perturb", "own.csv", *PUBLIC)
    assert ended.code == 0
    assert "Charged epsilon 1" in ended.err


def test_repeated_and_unknown_items(home: Town) -> None:
    home.write("own.csv", "item\nHeat\nHeat\nQwghlm\n")
    ended = crowdtally("person", "perturb", "own.csv", *PUBLIC, "--drop-unknown")
    assert ended.code == 0
    assert "1 items that the catalogue does not have were left out." in ended.err
    assert "count once" in ended.err


PERTURB = ("person", "perturb", "own.csv", "--catalogue", "films.csv")


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (PERTURB, USAGE, ["either --epsilon E", "--quantify"]),
        ((*PERTURB, "--epsilon", "1", "--quantify"), USAGE, ["either --epsilon"]),
        ((*PERTURB, "--epsilon", "1", "--eta", "2"), USAGE, ["--eta goes with --quantify"]),
        ((*PERTURB, "--epsilon", "1e-9"), USAGE, ["too small", "between 1e-6 and"]),
        ((*PERTURB, "--epsilon", "1e-400"), USAGE, ["too small"]),
        ((*PERTURB, "--epsilon", "1e9"), USAGE, ["too large"]),
        ((*PERTURB, "--epsilon", "nan"), USAGE, ["exact finite number"]),
        ((*PERTURB, "--epsilon", "1", "--level", "space=all"), USAGE, ["contradict", "'horror'"]),
        ((*PERTURB, "--epsilon", "1", "--level", "spac=no"), USAGE, ["Did you mean 'space'"]),
        ((*PERTURB, "--epsilon", "1", "--level", "space"), USAGE, ["--level is CATEGORY=no"]),
        ((*PERTURB, "--epsilon", "1", "--levels", "no.csv"), INPUT, ["is not a file"]),
        ((*PERTURB, "--epsilon", "1", "--item", "film"), USAGE, ["no column 'film'"]),
        ((*PERTURB, "--epsilon", "1", "-o", "films.csv"), USAGE, ["exists"]),
        ((*PERTURB, "--epsilon", "1", "-o", "out.parquet"), USAGE, ["ends in none of"]),
        ((*PERTURB, "--epsilon", "1", "--counts"), USAGE, ["add --json, or -o FILE.json"]),
        ((*PERTURB, "--epsilon", "1", "--counts", "-o", "out.csv"), USAGE, ["end 'out.csv' in"]),
        ((*PERTURB, "--epsilon", "1", "--store", "films.csv"), USAGE, ["is not a folder"]),
        (("person", "perturb", "no.csv", *PUBLIC), INPUT, ["is not a file"]),
        (("person", "perturb", "odd.csv", *PUBLIC), INPUT, ["item 2 of", "--drop-unknown"]),
        (("person", "perturb", "own.csv", "--catalogue", "bare.csv", "--epsilon", "1"), INPUT,
         ["1 of the catalogue's 2 items have no category"]),
        (("person", "show", "odd.csv", *PUBLIC), INPUT, ["item 2 of"]),
        (("person", "levels", "--catalogue", "films.csv"), USAGE, ["either --epsilon"]),
    ],
)  # fmt: skip
def test_bad_input_is_refused_and_leaves_nothing(
    home: Town, arguments: tuple[str, ...], code: int, words: list[str]
) -> None:
    home.write("odd.csv", "item\nHeat\nQwghlm\n")
    home.write("bare.csv", "item,category\nHeat,\nXanadu,x\n")
    home.refuses(list(arguments), code, *words)
    assert not (home.folder / "own").exists()


def test_a_limit_is_told_with_its_own_exit_code(home: Town) -> None:
    assert crowdtally("person", "perturb", "own.csv", *PUBLIC).code == 0
    ledger = str(Path(home.folder / "own" / "ledger.sqlite"))
    limited = crowdtally("ledger", "limit", "history", "--epsilon", "1", "--reason", "enough",
                         "--ledger", ledger)  # fmt: skip
    assert limited.code == 0, str(limited)
    ended = crowdtally("person", "perturb", "own.csv", *PUBLIC, "--again")
    Town.check(ended, BUDGET, "does not allow this", "Nothing was charged")


def test_the_python_verb_is_the_command(home: Town) -> None:
    import crowdtally as ct

    printed = json.loads(crowdtally("person", "perturb", "own.csv", *PUBLIC, "--json").out)
    draw = ct.person.perturb(["Heat", "Xanadu"], "films.csv", epsilon=1)
    assert list(draw.perturbed.items) == printed["items"]
    assert not draw.new
    mapping = {"Heat": ["crime"], "Saw": ["horror"]}
    policy = ct.person.Policy.of(eta=2)
    assert ct.person.perturb(["Saw", "x"], mapping, epsilon=policy, drop_unknown=True).new
    with pytest.raises(ct.UsageError, match="a catalogue is a Catalogue"):
        ct.person.perturb([], 7, epsilon=1)  # type: ignore[arg-type]


def test_popularity_decides_which_items_of_a_kind_are_taken(home: Town) -> None:
    many = [f"f{number},drama" for number in range(200)]
    home.write("films.csv", "\n".join(["item,category", *many]) + "\n")
    home.write("seen.csv", "item,seen\n" + "".join(f"f{number},1\n" for number in range(40)))
    home.write("own.csv", "item\n" + "".join(f"f{number}\n" for number in range(180, 200)))
    weighted = (*PUBLIC, "--popularity", "seen.csv", "--json")
    drawn = json.loads(crowdtally("person", "perturb", "own.csv", *weighted).out)["items"]
    assert set(drawn) <= {f"f{number}" for number in range(40)}
    shown = json.loads(crowdtally("person", "show", "own.csv", *weighted).out)
    assert [draw["items"] for draw in shown["draws"]] == [drawn]
    assert json.loads(crowdtally("person", "show", "own.csv", *PUBLIC, "--json").out)["draws"] == []


# ---- ``crowdtally person page``: what it prints, what it refuses before it listens, how it
#      stops


ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/[\w-]{43}/\n")


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """A history and its catalogue, as arguments."""
    rows = [f"{film},{name}" for film, names in FILMS_PAGE.items() for name in names]
    (tmp_path / "films.csv").write_text("\n".join(["item,category", *rows]))
    (tmp_path / "mine.txt").write_text("\n".join(OWN))
    store = str(tmp_path / "store")
    return [
        str(tmp_path / "mine.txt"),
        "--catalogue",
        str(tmp_path / "films.csv"),
        "--store",
        store,
    ]


def test_it_prints_its_address_and_stops_cleanly(files: list[str], tmp_path: Path) -> None:
    command = [sys.executable, "-m", "crowdtally", "person", "page", *files]
    options = ["--level", "horror=no", "--epsilon", "1/2", "--output-folder", str(tmp_path)]
    process = subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline()
        assert ADDRESS.fullmatch(address), address
        parts = urlsplit(address.strip())
        connection = http.client.HTTPConnection("127.0.0.1", parts.port or 0, timeout=300)
        connection.request("GET", parts.path)
        page = connection.getresponse().read().decode()
        assert "Draw once: costs epsilon 0.5" in page
        assert 'value="no:4"' in page
        with pytest.raises(OSError, match=r"refused|denied"):
            socket.create_connection((_other_address(), parts.port or 0), timeout=2)
    finally:
        process.send_signal(signal.SIGINT)  # while the connection is still open
        out, err = process.communicate(timeout=300)
        connection.close()
    assert (process.returncode, out) == (0, "")
    assert err.splitlines()[-1] == "stopped."
    assert parts.path.strip("/") not in err
    assert not any(item in err for item in OWN)
    assert not (tmp_path / "store").exists(), "looking made nothing"


def _other_address() -> str:
    """An address of this machine that others use too, or one that only it has."""
    found = socket.gethostbyname(socket.gethostname())
    return found if found != "127.0.0.1" else "127.0.0.2"


def test_only_this_machine_is_served() -> None:
    options = {name for one in COMMANDS["crowdtally person page"].params for name in one.opts}
    assert "--host" not in options
    assert {"--port", "--store", "--output-folder", "--epsilon", "--quantify", "--level"} <= options


@pytest.mark.parametrize(
    ("more", "code", "said"),
    [
        (["--port", "70000"], 2, "a port is a number from 0 to 65535"),
        (["--port", "-1"], 2, "a port is a number"),
        (["--port", "x"], 2, "whole number"),
        (["--host", "0.0.0.0"], 2, "--host"),
        (["--epsilon", "0"], 2, "epsilon must be greater than 0"),
        (["--epsilon", "1", "--quantify"], 2, "either --epsilon"),
        (["--eta", "2"], 2, "--eta goes with --quantify"),
        (["--level", "horor=no"], 2, "Did you mean 'horror'"),
        (["--level", "horror=much"], 2, "a level is no"),
        (["--output-folder", "nowhere"], 2, "'nowhere' is not a folder"),
    ],
)
def test_what_is_wrong_is_said_before_it_listens(
    files: list[str], more: list[str], code: int, said: str
) -> None:
    ended = crowdtally("person", "page", *files, *more)
    assert ended.code == code, ended
    assert said in ended.err
    assert ended.out == ""


def test_a_strange_history_or_store_is_refused_without_its_items(
    files: list[str], tmp_path: Path
) -> None:
    (tmp_path / "mine.txt").write_text("Nosferatu-1922\n")
    ended = crowdtally("person", "page", *files)
    assert ended.code == 4
    assert "Nosferatu" not in ended.err
    (tmp_path / "mine.txt").write_text("\n".join(OWN))
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "letter.txt").touch()
    ended = crowdtally("person", "page", *files)
    assert ended.code == 2
    assert "no store" in ended.err


def test_a_port_that_is_taken_is_said(files: list[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = crowdtally("person", "page", *files, "--port", taken.getsockname()[1])
    assert ended.code == 2
    assert "is taken" in ended.err


def test_without_the_extra_it_says_what_to_install(
    files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "babel", None)
    ended = crowdtally("person", "page", *files)
    assert ended.code == 2
    assert "pip install 'crowdtally[web]'" in ended.err
