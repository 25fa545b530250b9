"""The most popular items, and which of them are noise."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import crowdtally as ct
from crowdtally.format import Published, load
from crowdtally.format.load import what_counts
from crowdtally.laws.base import Combination, Terms
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.reader.questions.top import spoken_for
from crowdtally.reader.questions.top_list import TopItem, TopList, floor_of_cells
from kit.command import crowdtally
from kit.draws import SilentDraws
from kit.publishing import GivenNoise, made, visits
from kit.releases import axes_of, empty_items
from kit.stored import stored

# ---- The most popular items: the right ones, in the right order, with the noise they carry -------


PLACES = ["zoo", "arena", "mill", "bank", "yard"]
DAYS, HOURS = ["Tue", "Mon"], [9, 10, 11]
LEVEL = Fraction(19, 20)


def counts() -> dict[tuple[str, str, int], int]:
    rng = np.random.default_rng(3)
    cells = [(p, d, h) for p in PLACES for d in DAYS for h in HOURS]
    return dict(zip(cells, rng.integers(0, 30, len(cells)).tolist(), strict=True))


def totals(**chosen: object) -> list[tuple[str, int]]:
    """Items by their count where the contexts have these values; ties in the order of the list."""
    names = ("item", "day", "hour")
    found = dict.fromkeys(PLACES, 0)
    for cell, times in counts().items():
        if all(cell[names.index(name)] == value for name, value in chosen.items()):
            found[cell[0]] += times
    return sorted(found.items(), key=lambda pair: (-pair[1], PLACES.index(pair[0])))


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> ct.Release:
    domain = ct.Domain(PLACES, {"day": DAYS, "hour": HOURS})
    rows = visits(counts(), "day", "hour")
    folder = tmp_path_factory.mktemp("top")
    return made(folder, rows, domain, draws=SilentDraws(), method=ct.SRA(1), epsilon="1/5")


@pytest.mark.parametrize(
    ("chosen", "terms", "table"),
    [
        ({}, 1, "items"),
        ({"day": "Mon", "hour": 10}, 1, "edges"),
        ({"day": "Mon"}, 3, "edges"),
        ({"hour": 9}, 2, "edges"),
    ],
)
def test_overall_in_a_context_and_summed_over_one(
    release: ct.Release, chosen: dict[str, object], terms: int, table: str
) -> None:
    found = release.top(5, raw=True, **chosen)
    assert [(row.item, row.count) for row in found] == totals(**chosen)
    assert [row.rank for row in found] == [1, 2, 3, 4, 5]
    (facts,) = (t for t in release.metadata["tables"] if t["name"] == table)
    scale = Fraction(facts["noise"]["scale"])
    assert scale == 10
    width = DiscreteLaplace(scale).half_width(LEVEL, terms)
    for row in found:
        assert (row.low, row.high) == (row.count - width, row.count + width)
        assert row.noise_std == pytest.approx(
            DiscreteLaplace(scale).std(Combination.of_cells(terms))
        )
        assert row.estimate == row.count
        assert (row.estimate_low, row.estimate_high) == (row.low, row.high)
        assert (row.covers, row.median, row.chance_in_top) == ("the noise only", None, None)
    released = {row.item: (row.count, row.noise_std, row.low, row.high) for row in found}
    for row in release.top(5, **chosen):  # what is believed stands beside it
        assert (row.count, row.noise_std, row.low, row.high) == released[row.item]


def test_k(release: ct.Release) -> None:
    for k in (1, 3, 5, 1000):
        assert [(row.item, row.count) for row in release.top(k, raw=True)] == totals()[:k]
        assert len(release.top(k)) == min(k, len(PLACES))
    for k in (0, -1, True, "3", 2.0, None):
        with pytest.raises(ct.UsageError, match="whole number of at least 1"):
            release.top(k)  # type: ignore[arg-type]


def test_a_value_as_text_as_on_the_command_line(release: ct.Release) -> None:
    assert release.top(5, hour="9") == release.top(5, hour=9)


def test_unknown_context_or_value(release: ct.Release, tmp_path: Path) -> None:
    with pytest.raises(ct.UsageError, match=r"no context 'dya'.*Did you mean 'day'\?"):
        release.top(5, dya="Mon")
    with pytest.raises(ct.UsageError, match=r"'Mo'.*Did you mean 'Mon'\?"):
        release.top(5, day="Mo")
    with pytest.raises(ct.UsageError, match="'item'"):
        release.top(5, item="zoo")
    with pytest.raises(ct.UsageError):
        release.top(5, hour=True)
    bare = made(tmp_path, visits({"zoo": 1}), ct.Domain(PLACES), draws=SilentDraws())
    with pytest.raises(ct.UsageError, match="has no contexts"):
        bare.top(5, day="Mon")


def test_ties_keep_the_order_of_the_list(tmp_path: Path) -> None:
    items = [f"i{n * 37 % 50:02}" for n in range(50)]
    rows = visits(dict.fromkeys(items[:20], 3))
    found = made(tmp_path, rows, ct.Domain(items), draws=SilentDraws()).top(50)
    assert [row.item for row in found] == items
    assert [row.count for row in found] == [3] * 20 + [0] * 30


def test_negative_counts_come_last_and_as_they_are(tmp_path: Path) -> None:
    draws = GivenNoise([5, -7, 0, -9, 1])
    release = made(tmp_path, visits({"zoo": 1}), ct.Domain(PLACES), draws=draws)
    found = [(row.item, row.count) for row in release.top(5)]
    assert found == [("zoo", 6), ("yard", 1), ("mill", 0), ("arena", -7), ("bank", -9)]


def test_a_sum_over_a_context_adds_the_noise_of_each_cell(tmp_path: Path) -> None:
    edges = [10, -1, 2, 2, 0, 0, -5, 1, 3, -9]
    draws = GivenNoise([0] * 5, edges)
    domain = ct.Domain(PLACES, {"day": DAYS})
    release = made(tmp_path, visits({("zoo", "Mon"): 1}, "day"), domain, draws=draws)
    assert {row.item: row.count for row in release.top(5, day="Tue")} == dict(
        zip(PLACES, edges[::2], strict=True)
    )
    tuesday = {row.item: row.count for row in release.top(5, day="Mon")}
    assert tuesday == dict(zip(PLACES, [0, *edges[3::2]], strict=True))


def test_a_context_of_one_value_is_no_short_cut(tmp_path: Path) -> None:
    """All rows count then, but an item still has several."""
    domain = ct.Domain(PLACES, {"year": [2020], "day": DAYS})
    rows = visits({("zoo", 2020, "Mon"): 2, ("zoo", 2020, "Tue"): 3}, "year", "day")
    release = made(tmp_path, rows, domain, draws=SilentDraws())
    assert [(row.item, row.count) for row in release.top(1, year=2020)] == [("zoo", 5)]
    assert len(release.top(99, year=2020)) == len(PLACES)


def test_printed_and_as_json(release: ct.Release) -> None:
    lines = str(release.top(2)).splitlines()
    assert " ".join(lines[0].split()) == "rank estimate 95% within in top 2 noisy count item"
    found = release.top(2, raw=True)
    lines = str(found).splitlines()
    assert lines[0].split() == ["rank", "count", "noise", "interval", "item"]
    assert lines[1].split()[:2] == ["1", str(totals()[0][1])]
    assert lines[1].endswith(totals()[0][0])
    assert [row["item"] for row in json.loads(found.to_json())] == [p for p, _ in totals()[:2]]
    assert found.counted == "records"
    assert len(found) == 2
    assert found[0].rank == 1


def test_a_sampled_table_as_json(tmp_path: Path) -> None:
    """A threshold that is no whole number makes no decimals of the sums."""
    sampled = {"method": ct.SRA(1), "summary": ct.Threshold("20.5")}
    items = [f"i{n}" for n in range(60)]  # each is kept with probability 15/20.5
    rows = visits(dict.fromkeys(items, 15))
    release = made(tmp_path, rows, ct.Domain(items), epsilon=50, **sampled)
    found = json.loads(release.top(60, raw=True).to_json())
    assert {row["estimate"] for row in found} == {20.5}
    believed = json.loads(release.top(60).to_json())
    assert {row["estimate"] for row in believed} == {15.0}  # what a count is, not what it counts


def test_odd_names_and_values(tmp_path: Path) -> None:
    odd = ['a"b', "a'b", "", " ", "\u00e9", "x, y", "NULL", "--"]
    rows = visits({(item, item): n + 1 for n, item in enumerate(odd)}, 'the "day"')
    domain = ct.Domain(odd, {'the "day"': odd})
    release = made(tmp_path, rows, domain, draws=SilentDraws())
    assert [row.item for row in release.top(8)] == odd[::-1]
    for n, item in enumerate(odd):
        found = release.top(1, raw=True, **{'the "day"': item})
        assert (found[0].item, found[0].count) == (item, n + 1)


# ---- how often the noise lies within its interval -----------------------------------------------


@pytest.mark.parametrize("epsilon", ["8", "1", "1/50"])
def test_coverage_of_the_noise_interval(tmp_path: Path, epsilon: str) -> None:
    """A large table of zeros: the exact probability of the interval, to five standard errors."""
    cells = 200_000
    domain = ct.Domain(np.arange(cells))
    rows = visits({-1: 1})  # one record, outside the list
    release = made(tmp_path, rows, domain, epsilon=epsilon, method=ct.SRA(1))
    (facts,) = release.metadata["tables"]
    scale = Fraction(facts["noise"]["scale"])
    exact = 1 - DiscreteLaplace(scale).tail(facts["noise"]["interval_half_width"])
    assert exact >= LEVEL
    values = release.table().fetchnumpy()
    covered = float(((values["low"] <= 0) & (values["high"] >= 0)).mean())
    error = (exact * (1 - exact) / cells) ** 0.5
    assert abs(covered - exact) <= 5 * error, f"{covered} where {exact} ± {error} was expected"
    counts = values["count"].astype(float)
    tailed = float(
        (counts**4).mean() / (counts**2).mean() ** 2
    )  # how far a sample's std may be off
    off = 5 * (tailed / cells) ** 0.5 / 2
    assert float(np.std(counts)) == pytest.approx(DiscreteLaplace(scale).std(), rel=off)


def test_coverage_of_the_interval_of_a_sum(tmp_path: Path) -> None:
    """Contexts not named are summed over: the interval of five noises holds its level."""
    cells = 10_000
    domain = ct.Domain(np.arange(cells), {"a": ["x", "y"], "b": [1, 2, 3, 4, 5]})
    rows = visits({(-1, "x", 1): 1}, "a", "b")
    release = made(tmp_path, rows, domain, method=ct.SRA(1), epsilon="2/3")
    found = release.top(cells, a="x")
    covered = sum(row.low <= 0 <= row.high for row in found) / cells
    error = (0.95 * 0.05 / cells) ** 0.5
    assert 0.95 - 5 * error <= covered <= 0.965, covered
    spread = float(np.std([row.count for row in found]))
    assert spread == pytest.approx(found[0].noise_std, rel=0.05)


def test_more_than_there_are_and_numbers_of_numpy(release: ct.Release) -> None:
    assert len(release.top(10**30)) == len(PLACES)
    assert release.top(np.int64(2)) == release.top(2)
    with pytest.raises(ct.UsageError, match=r"without a name: top\(3, …\)"):
        release.top(k=3)


def test_counts_that_are_not_whole_are_shown_to_a_tenth() -> None:
    count, low, high = 4358.37786768, 3719.08860067, 4997.66713469
    item = TopItem(
        rank=1, item="zoo", estimate=count, estimate_low=low, estimate_high=high,
        covers="the noise only", median=None, chance_in_top=None, count=count, noise_std=1.0,
        low=low, high=high, standard_error=1.0, floor=10, above_floor=True,
    )  # fmt: skip
    shown = str(TopList((item,), "users", 10, 1, "", "", ""))
    assert "4358.4        3719.1 … 4997.7  zoo" in shown


def test_a_table_becomes_any_frame(release: ct.Release) -> None:
    found = release.table("items")
    frames = [found.df(), found.pl().to_pandas(), found.to_arrow_table().to_pandas()]
    for frame in frames:
        assert frame["item"].tolist() == PLACES
        assert frame["count"].tolist() == frames[0]["count"].tolist()


def test_values_to_sum_may_be_an_array_or_a_series(release: ct.Release) -> None:
    names = release.table("items").df()["item"][:2]
    assert (
        release.sum(item=names)
        == release.sum(item=names.to_numpy())
        == release.sum(item=["zoo", "arena"])
    )
    with pytest.raises(ct.UsageError, match="a condition is text"):
        release.sum(5)  # type: ignore[arg-type]


# ---- What a top list says is noise, and what it says is counted ----------------------------------


PLACES_FLOOR = [f"p{n}" for n in range(50)]
DAYS_FLOOR = ["Mon", "Tue", "Wed"]
LAW = DiscreteLaplace(Fraction(4))
"""ε = 1/2 for one table, and a bound of 2."""
FORM = {"epsilon": "1/2", "method": ct.SRA(2)}


def released(folder: Path, noise: list[int]) -> ct.Release:
    domain, rows = ct.Domain(PLACES_FLOOR), visits({-1: 1})
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
    domain = ct.Domain(PLACES_FLOOR, {"day": DAYS_FLOOR, "hour": [9, 10]})
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
    release = empty_items(tmp_path, items, {"summary": ct.Filter(size=30)}, "1/10")
    found = release.top(5000)
    assert 5 < len(found) < 100
    assert (found.floor, found.ranked) == (DiscreteLaplace(Fraction(10)).floor(5000), 5000)
    assert found.floor > DiscreteLaplace(Fraction(10)).floor(len(found))


def test_a_sampled_list_keeps_its_ranks_on_both_sides_of_the_line(tmp_path: Path) -> None:
    """An estimate may be above the floor where the count that it stands for is not."""
    sampled = {"method": ct.SRA(2), "summary": ct.Threshold("40"), "epsilon": "1/2"}
    rows = visits(dict.fromkeys(PLACES_FLOOR[:20], 30) | {"p40": 60})
    found = made(tmp_path, rows, ct.Domain(PLACES_FLOOR), **sampled).top(50, raw=True)
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
    return made(folder, visits({-1: 1}), ct.Domain(PLACES_FLOOR), method=ct.Auto(), **options)


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
    view, where = release.view, list(range(len(PLACES_FLOOR)))
    above = release.table("items").df()["count"].to_numpy() > floor_of_cells(view.base, 50)
    assert len(PLACES_FLOOR) == 50
    assert spoken_for(view, where).tolist() == above.tolist()
    assert above.sum() < 5


def test_where_sizes_say_nothing_the_list_says_so(tmp_path: Path) -> None:
    assert "may be far too low" in str(nobody(tmp_path).top(3))
    many = made(
        tmp_path, visits({"p1": 3000}), ct.Domain(PLACES_FLOOR), method=ct.Auto(), name="many"
    )
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
    found = load(stored("sra-items"))
    quantity = {"quantity": {"column": "amount", "most": 20}}
    told = Published(
        found.folder, {**found.metadata, "records": {**found.metadata["records"], **quantity}}
    )
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
        "--context", "day", "--values", "day=x,y", "--epsilon", "1", "--method",
        "sra:max-records=3",
        "-o", tmp_path / "out", "--dataset", "visits",
    )  # fmt: skip
    assert ended.code == 0, str(ended)
    assert ended.err.count("At most 3 records of each user are counted; noise intervals") == 1
