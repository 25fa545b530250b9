"""What a top list says is noise, and what it says is counted."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

import crowdtally as ct
from crowdtally.format import Published, load
from crowdtally.format.load import what_counts
from crowdtally.laws.base import Terms
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.reader.questions.top import spoken_for
from crowdtally.reader.questions.top_list import floor_of_cells
from kit.command import crowdtally
from kit.made import GivenNoise, made, visits
from kit.releases import axes_of, empty_items
from kit.silent import SilentDraws
from kit.stored import stored

PLACES = [f"p{n}" for n in range(50)]
DAYS = ["Mon", "Tue", "Wed"]
LAW = DiscreteLaplace(Fraction(4))
"""--epsilon 1/2 for one table, and --max-records 2."""
FORM = {"epsilon": "1/2", "max_records": 2}


def released(folder: Path, noise: list[int]) -> ct.Release:
    domain, rows = ct.Domain(PLACES), visits({-1: 1})
    return made(folder, rows, domain, draws=GivenNoise(noise), **FORM)


def test_a_list_of_noise_says_so_first(tmp_path: Path) -> None:
    floor = LAW.floor(50)
    found = released(tmp_path, [floor] + [0] * 49).top(3)
    assert (found.floor, found.ranked) == (floor, 50)
    assert not any(row.above_floor for row in found)
    first, *rest = str(found).splitlines()
    assert first.startswith("None of these items is told apart from noise")
    assert f"noise floor, {floor}." in first
    assert "----" not in "".join(rest)
    assert rest[-2:] == [found.floor_words, found.what_counts]


def test_the_line_is_drawn_between(tmp_path: Path) -> None:
    floor = LAW.floor(50)
    found = released(tmp_path, [floor + 1, floor + 9, floor] + [0] * 47).top(4)
    assert [row.above_floor for row in found] == [True, True, False, False]
    lines = str(found).splitlines()
    assert lines[0].split()[0] == "rank"
    assert [line.split()[-1] for line in lines[1:6] if "----" not in line] == [
        "p1", "p0", "p2", "p3",
    ]  # fmt: skip
    assert lines[3].startswith(f"---- {floor}: the noise floor")
    assert "not told apart from noise" in lines[3]
    assert "----" not in str(released(tmp_path / "more", [99] * 50).top(4))


def test_in_json_and_as_dicts(tmp_path: Path) -> None:
    release = released(tmp_path, [99] + [0] * 49)
    rows = json.loads(crowdtally("top", release.folder, "--json", "-k", "2").out)
    assert [(row["item"], row["floor"], row["above_floor"]) for row in rows] == [
        ("p0", LAW.floor(50), True), ("p1", LAW.floor(50), False),
    ]  # fmt: skip
    assert release.top(2).to_dicts() == rows
    found = json.loads(crowdtally("sum", release.folder, "--json").out)
    assert found["what_counts"] == release.top(2).what_counts


def test_the_floor_is_that_of_what_is_asked(tmp_path: Path) -> None:
    """Of all items, whether k are shown; of one cell each in a context, of a sum where summed."""
    domain = ct.Domain(PLACES, {"day": DAYS, "hour": [9, 10]})
    rows = visits({("p0", "Mon", 9): 1}, "day", "hour")
    split = {"items": "1/2", "edges": "1/2"}
    release = made(tmp_path, rows, domain, draws=SilentDraws(), split=split, **FORM)
    law = DiscreteLaplace(Fraction(8))
    for k in (1, 50):
        assert release.top(k).floor == law.floor(50)
        assert release.top(k, day="Mon", hour=10).floor == law.floor(50)
        assert release.top(k, day="Mon").floor == law.floor(50, Terms.of_cells(2))
        assert release.top(k, hour=9).floor == law.floor(50, Terms.of_cells(3))


def test_a_filter_has_the_floor_of_all_cells(tmp_path: Path) -> None:
    """Not of the few that passed: they are the largest noises of all."""
    items = axes_of({"item": list(range(5000))})
    release = empty_items(tmp_path, items, {"publishing": "filter", "size": 30}, "1/10")
    found = release.top(5000)
    assert 5 < len(found) < 100
    assert (found.floor, found.ranked) == (DiscreteLaplace(Fraction(10)).floor(5000), 5000)
    assert found.floor > DiscreteLaplace(Fraction(10)).floor(len(found))


def test_a_sampled_list_keeps_its_ranks_on_both_sides_of_the_line(tmp_path: Path) -> None:
    """An estimate may be above the floor where the count that it stands for is not."""
    sampled = {"publishing": "threshold", "threshold": "40", "max_records": 2, "epsilon": "1/2"}
    rows = visits(dict.fromkeys(PLACES[:20], 30) | {"p40": 60})
    found = made(tmp_path, rows, ct.Domain(PLACES), **sampled).top(50, raw=True)
    for row in found:
        assert row.above_floor == (row.count > found.floor)
        assert abs(row.estimate) >= 40
    ranks = [int(line.split()[0]) for line in str(found).splitlines() if line[:4].strip().isdigit()]
    assert sorted(ranks) == list(range(1, len(found) + 1))


def test_discovered_items_are_all_somebodys() -> None:
    found = ct.load(stored("discovered")).top(99)
    assert all(row.above_floor for row in found)
    assert "each item here has a user" in found.floor_words
    (table,) = ct.load(stored("discovered")).metadata["tables"]
    assert found.floor >= table["threshold"] - 1


def nobody(folder: Path, **options: object) -> ct.Release:
    """One user, whose record is of a place outside the list."""
    return made(folder, visits({-1: 1}), ct.Domain(PLACES), bounding="auto", **options)


def test_few_items_of_nobody_are_noise_whatever_is_believed(tmp_path: Path) -> None:
    """A flat prior on counts of at least 0 believes in every item, and that tells nothing."""
    believed = told = 0
    for n in range(4):
        found = nobody(tmp_path, name=f"r{n}").top(10)
        believed += all(row.estimate > 0 for row in found)
        told += any(row.above_floor for row in found)
    assert believed == 4
    assert told <= 2  # each with at most 5%: more, once in 2,000 times


def test_of_few_items_only_a_count_above_the_floor_speaks(tmp_path: Path) -> None:
    """Whatever the low end of an interval is: the prior alone may have put it there."""
    release = nobody(tmp_path)
    axes, estimator, where = release._axes, release._estimator, list(range(len(PLACES)))
    above = release.table("items").df()["count"].to_numpy() > floor_of_cells(estimator.base, 50)
    assert len(PLACES) == 50
    assert spoken_for(axes, estimator, where).tolist() == above.tolist()
    assert above.sum() < 5


def test_where_sizes_say_nothing_the_list_says_so(tmp_path: Path) -> None:
    assert "so half is assumed" in str(nobody(tmp_path).top(3))
    many = made(tmp_path, visits({"p1": 3000}), ct.Domain(PLACES), bounding="auto", name="many")
    assert "was measured too" in str(many.top(3))
    assert many.top(1)[0].above_floor


# ---- what is counted ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sra-one-context", "At most 4 records of each user are counted; noise intervals cover"),
        ("declared", "records of each user are counted"),
        ("sra-count-users", "Each user is counted at most once in a cell, and in at most 4 cells"),
        ("dpsense-users", "Each user is counted at most once in a cell, and their row scaled down"),
        ("dpsense-cap", "times in a cell, and their row scaled down to a sum of at most"),
        ("user-per-row", "Each row is counted once, as a person of its own"),
        ("user-per-row-weight", "Each row is counted as many times as its column 'persons' says"),
        ("discovered", "Each user is counted at most once in a cell, and in at most 3 cells"),
    ],
)
def test_releases_say_what_they_count(name: str, words: str) -> None:
    release = ct.load(stored(name))
    found = release.top(1)
    assert words in found.what_counts
    assert release.sum().what_counts == found.what_counts
    assert str(found).endswith(found.what_counts)
    assert str(release.sum()).endswith(found.what_counts)


def test_pairs_and_quantities_in_words() -> None:
    release = ct.load(stored("pairs"))
    item, other = (release.metadata["domain"]["items"]["values"][n] for n in (0, 1))
    name = release.metadata["domain"]["items"]["name"]
    pair = release.sum(**{name: item, f"other_{name}": other})
    assert pair.table == "pairs"
    assert pair.what_counts.startswith("Pairs of at most 4 records of each user are counted;")
    quantity = {"records": {"quantity": {"column": "amount", "most": 20}}}
    found = load(stored("sra-items"))
    told = Published(found.folder, {**found.metadata, **quantity})
    words = what_counts(told, told.tables[0]).words()
    assert words == "at most 4 records of each user are counted, each at most 20 times"


def test_a_release_says_it_once_on_stderr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROWDTALLY_LEDGER", str(tmp_path / "ledger.sqlite"))
    records = tmp_path / "visits.csv"
    records.write_text("user,item,day\n1,a,x\n2,b,y\n")
    listed = tmp_path / "items.csv"
    listed.write_text("item\na\nb\n")
    assert crowdtally("ledger", "create", "visits", "--epsilon", "1").code == 0
    ended = crowdtally(
        "release", records, "--user", "user", "--item", "item", "--items", listed,
        "--context", "day", "--values", "day=x,y", "--epsilon", "1", "--max-records", "3",
        "-o", tmp_path / "out", "--dataset", "visits",
    )  # fmt: skip
    assert ended.code == 0, str(ended)
    assert ended.err.count("At most 3 records of each user are counted; noise intervals") == 1
