"""``crowdtally person``: what is printed where, what is refused, and that nothing leaks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from crowdtally.person.store import Store
from kit.command import crowdtally
from kit.town import Town

USAGE, BUDGET, INPUT = 2, 3, 4
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
