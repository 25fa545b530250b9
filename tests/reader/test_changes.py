"""Changes between two releases: what is listed, its tails, and how often it is wrong."""

from __future__ import annotations

import json
from fractions import Fraction
from math import lgamma
from pathlib import Path

import numpy as np
import pytest

import crowdtally as ct
from crowdtally.core.counts import Keeping
from crowdtally.errors import UsageError
from crowdtally.format.withdrawal import write_note
from crowdtally.laws.base import Combination, NoiseLaw
from crowdtally.laws.cumulants import cumulants
from crowdtally.laws.interval import IntervalNoise
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.reader.changes.changes import ChangeList
from crowdtally.reader.changes.measured import bounds_of
from crowdtally.reader.changes.significance import adjusted, discovered, harmonic
from crowdtally.reader.changes.tails import Errors, Noise, Sample, reach, tail
from crowdtally.reader.release import Release
from kit.processes import HOSTILE
from kit.releases import release_of_changed
from kit.simulated_items import METHODS, Outcome, outcome
from kit.stored import stored

# ---- ``ct.changes`` on releases: what it lists, what it says beside, and what it refuses ---------


PLACES = [f"place {n}" for n in range(60)]
DAYS = ["Friday", "Saturday", "Sunday"]
LISTS = {"place": PLACES, "day": DAYS}
BEFORE = np.full((60, 3), 400)
AFTER = BEFORE.copy()
AFTER[3], AFTER[7], AFTER[11, 1] = 1200, 40, 1500
"""One item rose everywhere, one fell, and one rose on Saturdays alone."""


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Release, Release]:
    folder = tmp_path_factory.mktemp("pair")
    return (
        release_of_changed(folder / "a", LISTS, BEFORE, dataset="town"),
        release_of_changed(folder / "b", LISTS, AFTER, dataset="town"),
    )


def items(found: ChangeList) -> dict[object, str]:
    return {row.item: row.direction for row in found}


def test_what_rose_and_what_fell_is_listed(pair: tuple[Release, Release]) -> None:
    found = ct.changes(*pair, fdr="1e-6")
    assert items(found) == {"place 3": "rose", "place 7": "fell", "place 11": "rose"}
    for row in found:
        place = PLACES.index(str(row.item))
        true = int(AFTER[place].sum() - BEFORE[place].sum())
        assert abs(row.change - true) < 60  # the noise has the scale 1
        assert row.change_low is not None
        assert row.change_high is not None
        assert row.change - 800 < row.change_low < row.change < row.change_high < row.change + 800
        assert row.later_count is not None
        assert row.earlier_count is not None
        assert row.change == row.later_count - row.earlier_count
        assert row.earlier is not None
        assert abs(row.earlier - 1200) < 60
        assert row.q_value <= 1e-6
    assert [row.rank for row in found] == [1, 2, 3]
    assert (found.tested, found.discovered, found.fdr) == (60, 3, 1e-6)


def test_the_other_way_round_rises_are_falls(pair: tuple[Release, Release]) -> None:
    before, after = ct.changes(*pair, fdr="1e-6"), ct.changes(pair[1], pair[0], fdr="1e-6")
    turned = {"rose": "fell", "fell": "rose"}
    assert items(after) == {item: turned[way] for item, way in items(before).items()}
    assert {row.item: row.change for row in after} == {row.item: -row.change for row in before}
    assert {row.item: row.q_value for row in after} == pytest.approx(
        {row.item: row.q_value for row in before}
    )


def test_contexts_are_compared_by_themselves_or_together(pair: tuple[Release, Release]) -> None:
    friday = items(ct.changes(*pair, fdr="1e-6", day="Friday"))
    assert friday == {"place 3": "rose", "place 7": "fell"}
    weekend = ct.changes(*pair, fdr="1e-6", day=["Saturday", "Sunday"])
    assert items(weekend)["place 11"] == "rose"
    (row,) = (row for row in weekend if row.item == "place 11")
    assert row.change == pytest.approx(1100, abs=150)
    assert items(ct.changes(*pair, fdr="1e-6", context={"day": "Friday"})) == friday


def test_shares_are_relative_to_the_totals(tmp_path: Path) -> None:
    doubled = 2 * BEFORE
    doubled[5] *= 3
    first = release_of_changed(tmp_path / "a", {"place": PLACES}, BEFORE.sum(axis=1))
    second = release_of_changed(tmp_path / "b", {"place": PLACES}, doubled.sum(axis=1))
    assert len(ct.changes(first, second)) == 60
    found = ct.changes(first, second, of="shares", fdr="1e-6")
    assert items(found) == {"place 5": "rose"}
    share = 100 * (doubled[5].sum() / doubled.sum() - 1 / 60)
    assert found[0].change == pytest.approx(share, rel=0.1)


@pytest.mark.parametrize("sides", ["one", "two"])
def test_an_item_that_one_release_left_out_changed_if_all_it_can_be_says_so(
    tmp_path: Path, sides: str
) -> None:
    form = {"summary": ct.Filter(cut=200, sides=sides)}
    before, after = np.full(60, 300), np.full(60, 300)
    before[1], before[2] = 5000, 210  # both are left out later, and only of one it is a change
    after[1] = after[2] = 190
    releases = [
        release_of_changed(tmp_path / name, {"place": PLACES}, counts, form=form)  # type: ignore[arg-type]
        for name, counts in (("a", before), ("b", after))
    ]
    found = ct.changes(*releases, fdr="1e-6")
    assert items(found) == {"place 1": "fell"}
    (row,) = found
    assert row.later_count is None
    assert row.earlier_count is not None
    assert row.change == 200 - row.earlier_count
    assert row.change_low is None
    assert "left out" in str(found)
    low, high = bounds_of(np.array([np.nan, -300.0]), Keeping(200, None, sides), 1.0)  # type: ignore[arg-type]
    assert (low[0], high[0]) == (-200 if sides == "two" else -np.inf, 200)


def test_nothing_is_said_in_words(tmp_path: Path) -> None:
    both = [release_of_changed(tmp_path / name, LISTS, BEFORE) for name in "ab"]
    found = ct.changes(*both, fdr="1e-9")
    assert len(found) == 0
    assert str(found).startswith("No item rose or fell: of 60 items, none has numbers of records")
    assert found.to_dicts() == []
    assert [column.name for column in found.columns][:3] == ["rank", "item", "direction"]
    assert "No item rose" in found._repr_html_()


def test_sampling_widens_what_noise_alone_allows(tmp_path: Path) -> None:
    before, after = np.full(60, 100_000), np.full(60, 100_000)
    after[4] += 900  # 2 sampling deviations of the difference, and hundreds of the noise
    one = release_of_changed(tmp_path / "a", {"place": PLACES}, before)
    other = release_of_changed(tmp_path / "b", {"place": PLACES}, after)
    assert len(ct.changes(one, other)) == 0
    row = {"unit": {"kind": "row", "column": None}}
    one = release_of_changed(tmp_path / "c", {"place": PLACES}, before, guarantee=row)
    other = release_of_changed(tmp_path / "d", {"place": PLACES}, after, guarantee=row)
    assert items(ct.changes(one, other, fdr="1e-6")) == {"place 4": "rose"}


def test_k_lists_the_surest(pair: tuple[Release, Release]) -> None:
    every, first = ct.changes(*pair, fdr="1e-6"), ct.changes(*pair, fdr="1e-6", k=1)
    assert first.rows == every.rows[:1]
    assert first.discovered == 3
    assert "of the 1 surest" in str(first)


def test_two_releases_of_one_dataset_add_up(pair: tuple[Release, Release]) -> None:
    said = " ".join(ct.changes(*pair).notes)
    assert "ε = 1 + 1 = 2" in said
    assert "'town'" in said


def test_a_withdrawn_release_is_told_first(tmp_path: Path) -> None:
    one = release_of_changed(tmp_path / "a", LISTS, BEFORE)
    other = release_of_changed(tmp_path / "b", LISTS, AFTER)
    write_note(tmp_path / "b", "b", "2026-11-17T08:00:00+00:00", "a wrong\x1b[2J list")
    first = ct.changes(one, other).notes[0]
    assert first.startswith("The later release was withdrawn on 2026-11-17")
    assert "\x1b" not in first


def test_hostile_items_and_labels_are_shown_as_text(tmp_path: Path) -> None:
    names = sorted({name for name in HOSTILE if name.strip() and "\x00" not in name})
    before, after = np.full(len(names), 500), np.full(len(names), 5000)
    one = release_of_changed(tmp_path / "a", {"place": names}, before)
    other = release_of_changed(tmp_path / "b", {"place": names}, after)
    found = ct.changes(one, other.with_labels(dict(zip(names, names, strict=True))))
    assert len(found) == len(names)
    assert found.labelled == ("label",)
    for text in (str(found), repr(found)):
        assert all(line.isprintable() for line in text.split("\n"))
    assert "<script" not in found._repr_html_()
    assert {row["item"] for row in json.loads(found.to_json())} == set(names)


REFUSED = [
    ("two domains: 1 value of 'place' only in the later one ('new')",
     {"lists": {"place": [*PLACES[1:], "new", PLACES[0]], "day": DAYS},
      "table": np.ones((61, 3), int)}),
    ("has the same values in another order", {"lists": {"place": PLACES, "day": DAYS[::-1]}}),
    ("the contexts of the earlier one are 'day', of the later one none",
     {"lists": {"place": PLACES}, "table": BEFORE[:, 0]}),
    ("the items are 'place' in the earlier one and 'film'",
     {"lists": {"film": PLACES, "day": DAYS}}),
    ("counts records, the later one users", {"counted": "users"}),
    ("different units: user ('user') in the earlier one, user ('device')",
     {"guarantee": {"unit": {"kind": "user", "column": "device"}}}),
    ("different units", {"guarantee": {"unit": {"kind": "row", "column": None}}}),
    ("1 of each user in 'items' in the earlier release, sra, 2 of each user", {"bound": 2}),
    ("what is left of each user differs", {"method": {"bounding": "dpsense"}}),
]  # fmt: skip


@pytest.mark.parametrize(("words", "changed"), REFUSED)
def test_what_cannot_be_compared_is_refused(
    pair: tuple[Release, Release], tmp_path: Path, words: str, changed: dict
) -> None:
    given = {"lists": LISTS, "table": BEFORE} | changed
    other = release_of_changed(tmp_path / "x", given.pop("lists"), given.pop("table"), **given)
    with pytest.raises(UsageError) as refused:
        ct.changes(pair[0], other)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ("sra-items", "sra-items", "the same release"),
        ("sra-attributes", "sra-items", "earlier release is a table of attributes"),
        ("sra-items", "sra-attributes", "later release is a table of attributes"),
        ("discovered", "sra-items", "found its items itself"),
        ("sketch", "sra-items", "two domains"),
    ],
)
def test_stored_releases_that_do_not_go_together(first: str, second: str, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        ct.changes(stored(first), stored(second))
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"fdr": 0}, "between 0 and 1"),
        ({"fdr": "1"}, "between 0 and 1"),
        ({"of": "sums"}, "counts or shares"),
        ({"k": 0}, "at least 1"),
        ({"k": True}, "at least 1"),
        ({"day": "Fridy"}, "Did you mean 'Friday'"),
        ({"day": []}, "needs a value"),
        ({"dy": "Friday"}, "no context 'dy'"),
    ],
)
def test_bad_questions_are_refused(pair: tuple[Release, Release], given: dict, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        ct.changes(*pair, **given)
    assert words in str(refused.value)


def test_hpa_is_compared_by_its_popularity_and_never_in_contexts(tmp_path: Path) -> None:
    one = ct.load(stored("hpa"))
    other = one.save(tmp_path / "copy")
    facts = json.loads((tmp_path / "copy" / "release.json").read_text())
    other = Release(type(other._published)(tmp_path / "copy", facts | {"id": "another"}))
    found = ct.changes(one, other)
    assert len(found) == 0
    assert any("Compared is the popularity" in note for note in found.notes)
    context = next(iter(one.view.contexts), None)
    if context is not None:
        value = one.view.contexts[context].axis.values[0]
        with pytest.raises(UsageError, match="draws anew"):
            ct.changes(one, other, **{context: value})


# ---- P-values against exact convolutions; adjusted ones against the definition -------------------


LEAST = 1e-12
"""Tails that are compared: smaller ones nobody asks for."""


def masses(law: NoiseLaw, reach: int) -> np.ndarray:
    return np.exp(law.log_probabilities(np.arange(-reach, reach + 1)))


def tails_of(law: np.ndarray) -> np.ndarray:
    """Pr[T ≥ t] for t = 0, 1, …, of a law that is the same on both sides."""
    return law[::-1].cumsum()[::-1][(len(law) - 1) // 2 :]


def both(first: NoiseLaw, second: NoiseLaw, size: int) -> Errors:
    ones = np.ones(size)
    return Errors([Noise(cumulants(first), ones), Noise(cumulants(second), ones)], [], 0 * ones)


def laplace(scale: str) -> DiscreteLaplace:
    return DiscreteLaplace(Fraction(scale))


LAWS = [
    (laplace("10"), laplace("10")),
    (laplace("10"), laplace("40")),
    (laplace("2.5"), laplace("3")),
    (laplace("1"), laplace("1")),
    (laplace("0.3"), laplace("0.3")),
    (laplace("0.2"), laplace("1")),
    (IntervalNoise(Fraction(1, 5), 20, 2), IntervalNoise(Fraction(1, 5), 20, 2)),
    (IntervalNoise(Fraction(1, 2), 3), IntervalNoise(Fraction(1, 2), 3)),
    (IntervalNoise(Fraction(1), 7), IntervalNoise(Fraction(3, 10), 7)),
]


@pytest.mark.parametrize(("first", "second"), LAWS)
def test_a_tail_is_never_too_small_and_hardly_too_large(first: NoiseLaw, second: NoiseLaw) -> None:
    unit = float(first.unit)
    reached = int(30 * max(first.std(), second.std()) / unit) + 30
    exact = tails_of(np.convolve(masses(first, reached), masses(second, reached)))
    exact = exact[exact > LEAST]
    found = tail(both(first, second, len(exact)), np.arange(len(exact)) * unit)
    asked = found < 1
    ratio = found[asked] / exact[asked]
    assert ratio.min() >= 1.0
    coarse = max(first.std(), second.std()) < 2 * unit
    assert ratio.max() <= (2.0 if coarse else 1.2)
    assert exact[~asked].min() > 0.01, "only where no p-value is small a tail is taken for 1"


@pytest.mark.parametrize(("mean", "scale"), [(100, 10), (5, 3), (2, 8), (1000, 5)])
def test_sampling_is_counted_as_a_poisson_error(mean: int, scale: int) -> None:
    law, steps = laplace(str(scale)), np.arange(int(mean + 20 * mean**0.5 + 60))
    poisson = np.exp(steps * np.log(mean) - mean - np.array([lgamma(x + 1) for x in steps]))
    noise = masses(law, 60 * scale)
    exact = tails_of(np.convolve(np.convolve(noise, noise), np.convolve(poisson, poisson[::-1])))
    exact = exact[exact > LEAST]
    ones = np.ones(len(exact))
    samples = [Sample(mean * ones, 1.0), Sample(mean * ones, -1.0)]
    errors = Errors([Noise(cumulants(law), ones)] * 2, samples, 0 * ones)
    found = tail(errors, np.arange(len(exact)).astype(float))
    ratio = found[found < 1] / exact[found < 1]
    assert ratio.min() >= 1.0
    assert ratio.max() <= 1.2
    ends = reach(errors, np.full(len(exact), 0.001))
    assert abs(ends[0] - np.flatnonzero(exact <= 0.001)[0]) <= 1 + 0.02 * ends[0]


@pytest.mark.parametrize("cells", [1, 5])
def test_cells_of_one_draw_go_together(cells: int) -> None:
    law = IntervalNoise(Fraction(1, 3), 20, 2)
    bend = cumulants(law, cells).at(np.zeros(1))[2][0]
    assert bend == pytest.approx(law.std(Combination.of_cells(cells)) ** 2, rel=1e-3)
    apart = cumulants(law, 1, cells).at(np.zeros(1))[2][0]
    assert apart == pytest.approx(cells * law.std() ** 2, rel=1e-3)


def test_adjusted_values_are_the_least_rates_at_which_each_is_found() -> None:
    rng = np.random.default_rng(0)
    for size in (1, 2, 7, 40):
        chances = np.round(rng.random(size) ** 3, 3)
        ordered = np.sort(chances)
        rates = [ordered[j - 1] * size / j for j in range(1, size + 1)]
        by_rule = [
            min(1.0, *(rate for rate, value in zip(rates, ordered, strict=True) if value >= one))
            for one in chances
        ]
        assert adjusted(chances) == pytest.approx(by_rule)


def test_rises_and_falls_share_the_rate() -> None:
    one = np.array([0.03, 1.0])
    nothing = np.ones(2)
    assert len(discovered([one], [nothing], 0.06)) == 0
    found = discovered([one], [nothing], 0.12)
    assert found.lines.tolist() == [0]
    assert found.rose.tolist() == [True]
    assert found.q_values.tolist() == [pytest.approx(0.12)]
    assert found.p_values.tolist() == [pytest.approx(0.06)]


def test_any_dependence_is_paid_for() -> None:
    assert harmonic(1) == 1
    assert harmonic(4) == pytest.approx(25 / 12)


# ---- Of what ``changes`` lists, no more is wrong than the stated rate: pairs of simulated
#      releases


FDR = 0.1
CASES = [("none", False), ("some", False), ("all", True)]
"""Nothing changed; 5% of the items have twice the users; all have, so that no share changed."""


def holds(found: Outcome) -> bool:
    """Whether the rate is at most the stated one, but for two standard errors."""
    return found.rate <= FDR + 2 * found.error


QUICK = [
    ("sra", "none", False), ("hpa", "none", False), ("threshold", "some", False),
    ("interval", "none", False), ("interval", "all", True),
    *(("auto", what, shares) for what, shares in CASES),
]  # fmt: skip
"""The cheap ones; all of them are long."""


@pytest.mark.parametrize(("method", "what", "shares"), QUICK)
def test_the_false_discovery_rate_is_at_most_the_stated_one(
    method: str, what: str, shares: bool
) -> None:
    pairs = 12 if method == "auto" else 60
    found = outcome(METHODS[method], what, pairs, fdr=FDR, shares=shares, crowds=1, seed=1)
    print(f"{method}, {what}{' of shares' * shares}: {found}")
    assert holds(found), found


@pytest.mark.long
@pytest.mark.parametrize(("what", "shares"), [*CASES, ("none", True), ("all", False)])
@pytest.mark.parametrize("method", METHODS)
def test_the_rate_holds_over_500_pairs(method: str, what: str, shares: bool) -> None:
    found = outcome(METHODS[method], what, 500, fdr=FDR, shares=shares, seed=2)
    print(f"{method}, {what}{' of shares' * shares}: {found}")
    assert holds(found), found
    if what == "some":
        assert found.missed <= 0.05 + 2 * found.missed_error, found


@pytest.mark.parametrize("method", ["sra", "interval"])
def test_doubled_items_are_found_and_their_intervals_hold(method: str) -> None:
    found = outcome(METHODS[method], "some", 15, fdr=FDR, crowds=1, seed=3)
    assert found.power > 0.4, found
    assert found.missed <= 0.05 + 2 * found.missed_error, found


def test_twice_the_users_are_a_change_of_counts_and_none_of_shares() -> None:
    counts = outcome(METHODS["interval"], "all", 10, crowds=1)
    shares = outcome(METHODS["interval"], "all", 10, crowds=1, shares=True)
    assert counts.power > 0.9
    assert shares.rate == 0
