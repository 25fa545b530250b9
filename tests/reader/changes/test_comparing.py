"""``ct.changes`` on releases: what it lists, what it says beside, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import crowdtally as ct
from crowdtally.core.counts import Keeping
from crowdtally.errors import UsageError
from crowdtally.format.withdrawal import write_note
from crowdtally.reader.changes.changes import ChangeList
from crowdtally.reader.changes.measured import bounds_of
from crowdtally.reader.release import Release
from kit.answered import HOSTILE
from kit.changed_releases import release_of
from kit.stored import stored

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
        release_of(folder / "a", LISTS, BEFORE, dataset="town"),
        release_of(folder / "b", LISTS, AFTER, dataset="town"),
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
    first = release_of(tmp_path / "a", {"place": PLACES}, BEFORE.sum(axis=1))
    second = release_of(tmp_path / "b", {"place": PLACES}, doubled.sum(axis=1))
    assert len(ct.changes(first, second)) == 60
    found = ct.changes(first, second, of="shares", fdr="1e-6")
    assert items(found) == {"place 5": "rose"}
    share = 100 * (doubled[5].sum() / doubled.sum() - 1 / 60)
    assert found[0].change == pytest.approx(share, rel=0.1)


@pytest.mark.parametrize("sides", ["one", "two"])
def test_an_item_that_one_release_left_out_changed_if_all_it_can_be_says_so(
    tmp_path: Path, sides: str
) -> None:
    form = {"publishing": "filter", "cut": 200, "sides": sides}
    before, after = np.full(60, 300), np.full(60, 300)
    before[1], before[2] = 5000, 210  # both are left out later, and only of one it is a change
    after[1] = after[2] = 190
    releases = [
        release_of(tmp_path / name, {"place": PLACES}, counts, form=form)  # type: ignore[arg-type]
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
    both = [release_of(tmp_path / name, LISTS, BEFORE) for name in "ab"]
    found = ct.changes(*both, fdr="1e-9")
    assert len(found) == 0
    assert str(found).startswith("No item rose or fell: of 60 items, none has numbers of records")
    assert found.to_dicts() == []
    assert [column.name for column in found.columns][:3] == ["rank", "item", "direction"]
    assert "No item rose" in found._repr_html_()


def test_sampling_widens_what_noise_alone_allows(tmp_path: Path) -> None:
    before, after = np.full(60, 100_000), np.full(60, 100_000)
    after[4] += 900  # 2 sampling deviations of the difference, and hundreds of the noise
    one = release_of(tmp_path / "a", {"place": PLACES}, before)
    other = release_of(tmp_path / "b", {"place": PLACES}, after)
    assert len(ct.changes(one, other)) == 0
    row = {"unit": {"kind": "row", "column": None}}
    one = release_of(tmp_path / "c", {"place": PLACES}, before, guarantee=row)
    other = release_of(tmp_path / "d", {"place": PLACES}, after, guarantee=row)
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
    one = release_of(tmp_path / "a", LISTS, BEFORE)
    other = release_of(tmp_path / "b", LISTS, AFTER)
    write_note(tmp_path / "b", "b", "2026-11-17T08:00:00+00:00", "a wrong\x1b[2J list")
    first = ct.changes(one, other).notes[0]
    assert first.startswith("The later release was withdrawn on 2026-11-17")
    assert "\x1b" not in first


def test_hostile_items_and_labels_are_shown_as_text(tmp_path: Path) -> None:
    names = sorted({name for name in HOSTILE if name.strip() and "\x00" not in name})
    before, after = np.full(len(names), 500), np.full(len(names), 5000)
    one = release_of(tmp_path / "a", {"place": names}, before)
    other = release_of(tmp_path / "b", {"place": names}, after)
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
    other = release_of(tmp_path / "x", given.pop("lists"), given.pop("table"), **given)
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
    context = next(iter(one._axes.contexts), None)
    if context is not None:
        value = one._axes.contexts[context].axis.values[0]
        with pytest.raises(UsageError, match="draws anew"):
            ct.changes(one, other, **{context: value})
