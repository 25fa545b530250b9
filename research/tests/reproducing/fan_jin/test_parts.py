"""The parts of the paper on a few records, and all of it, quickly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.core.domain import Domain
from crowdtally.core.records import Records
from crowdtally.curator.request.request import make_request, make_subject
from crowdtally.lab.demo import DAYS
from crowdtally_research.reproducing import reproduction
from crowdtally_research.reproducing.figure import AUTO, Data, Given, Number, Numbers
from crowdtally_research.reproducing.papers.fan_jin import PAPER, table5, work
from crowdtally_research.reproducing.papers.fan_jin.work import SOURCES, Read, Theorem, theorem_of
from crowdtally_research.reproducing.reproduction import Question, reproduced
from kit.draws import SilentDraws

# ---- The work behind the figures, on a few made-up records, beside a plain computation -----------


ITEMS = 40
WEEK = [(user, item, DAYS[(user + item) % 7]) for user in range(30) for item in range(user + 1)]
"""User 0 has one record, user 29 has thirty: item i is met by 30 − i users."""
_ALL = ct.HPA(10, popularity_records=30)
"""A popularity in which everyone has all records."""
FILMS = [
    (user, item, "M" if user % 2 else "F", ("Under 25", "25-34")[user % 4 // 2])
    for user in range(40)
    for item in range(user % 20 + 1)
]


def _read(name: str) -> Read:
    movies = name == "movielens"
    columns = ("user", "item", "gender", "age") if movies else ("user", "item", "weekday")
    rows = zip(*(FILMS if movies else WEEK), strict=True)
    table = pa.table(dict(zip(columns, map(list, rows), strict=True)))
    contexts = work.SHAPES[name].contexts.values
    records = Records(table, "user", "item", dict.fromkeys(contexts))
    subject = make_subject(records, Domain(list(range(ITEMS)), contexts))
    titles = tuple(f"movie {item}" for item in range(ITEMS)) if movies else ()
    return Read(SOURCES[name], subject, titles)


@contextmanager
def _few(data: Data, name: str) -> Iterator[Read]:
    yield _read(name)


@pytest.fixture
def given(tmp_path: Path) -> Iterator[Given]:
    """A few records in the place of every data set."""
    with (
        mock.patch.object(work, "read", _few),
        mock.patch.object(work, "read", _few),
    ):
        yield Given(Data(tmp_path / "made"), tmp_path / "own")


@pytest.fixture
def silent() -> Iterator[None]:
    """No noise."""
    with (
        mock.patch.object(work, "SystemDraws", SilentDraws),
        mock.patch.object(table5, "SystemDraws", SilentDraws),
    ):
        yield


def _places(numbers: Sequence[Number], panel: str, line: str) -> list[float]:
    return [one.mean for one in numbers if (one.panel, one.line) == (panel, line)]


def test_the_papers_methods_are_measured_for_four_figures(given: Given) -> None:
    found = work.methods(given, dataset="gowalla", runs=4)
    numbers = Numbers(found)
    for panel in ("items mse", "edges kl", "edges kl_reversed", "items precision"):
        assert numbers.lines(panel) == list(work.METHODS)
        assert numbers.at(panel, "gs", "Gowalla").runs == 4
    assert list(numbers.curve("top gowalla", "lpa")) == [1, 3, 10, 20, 30]  # of 40 items
    kept = sum(min(10, user + 1) for user in range(30)) / len(WEEK)
    for line in ("sra", "hpa"):
        assert numbers.mean("kept", line, "Gowalla") == pytest.approx(kept)
    # LPA: noise of scale M/(ε/2) for M = 30, the variance of which is known.
    alpha = np.exp(-1 / 60)
    mse = numbers.at("edges mse", "lpa", "Gowalla")
    assert mse.mean == pytest.approx(2 * alpha / (1 - alpha) ** 2, rel=0.4)


def test_auto_is_one_line_for_lists_and_a_flat_one_for_l(given: Given) -> None:
    found = work.auto(given, dataset="foursquare", runs=2, epsilon="0.1,1")
    numbers = Numbers(found)
    assert len(found) == len(numbers)  # none stands in the place of another
    assert {one.line for one in numbers} == {"auto"}
    for epsilon in ("0.1", "1"):
        flat = numbers.curve(f"l items {epsilon}", "auto")
        assert list(flat) == list(work.LIMITS)
        assert len({one.mean for one in flat.values()}) == 1
    own = numbers.mean("items mse", "auto", "Foursquare")
    assert numbers.mean("l items 1", "auto", 10.0) == own
    assert numbers.mean("l items 0.1", "auto", 10.0) != own
    lists = numbers.curve("top foursquare", "auto")
    shown = numbers.curve("popularity foursquare", "auto")
    assert {k: one.mean for k, one in shown.items()} == {
        k: one.mean for k, one in lists.items() if float(k) >= 10
    }


def test_every_l_is_tried_at_both_epsilons_beside_the_theorem(given: Given) -> None:
    found = work.limits(given, dataset="foursquare", runs=2, tried=[1, 30])
    numbers = Numbers(found)
    for table in ("items", "edges"):
        for epsilon in ("0.1", "1"):
            panel = f"l {table} {epsilon}"
            assert numbers.lines(panel) == ["sra", "hpa", work.THEOREM]
            assert list(numbers.curve(panel, "hpa")) == [1.0, 30.0]
    # Nobody has more than 30 records, so all that is left at l = 30 is noise of scale l/(ε/2).
    expected = numbers.mean("l edges 1", work.THEOREM, 30.0)
    assert expected == pytest.approx(2 * 60**2)
    assert numbers.mean("l edges 1", "sra", 30.0) == pytest.approx(expected, rel=0.5)


def test_the_theorem_is_what_its_model_gives() -> None:
    """The model itself, drawn: every record of an item with its probability, l of M kept."""
    rng = np.random.default_rng(3)
    few, many = np.array([0.5, 0.3, 0.2]), np.full(100, 0.01)
    for users, records, limit, epsilon, shares in ((50, 8, 3, 0.7, few), (5, 9, 1, 9.0, many)):
        lost = rng.multinomial(users * (records - limit), shares, size=20_000)
        noise = rng.laplace(scale=limit / epsilon, size=lost.shape)
        theorem = Theorem(users, records, {"items": shares})
        drawn = ((noise - lost) ** 2).mean()
        assert theorem.error("items", limit, epsilon) == pytest.approx(drawn, rel=0.02)


def test_the_best_l_is_the_least_of_the_expected_errors() -> None:
    theorem = Theorem(200, 90, {"items": np.array([0.02, 0.001, 0.0005])})
    for epsilon in (0.02, 0.1):
        errors = {limit: theorem.error("items", limit, epsilon) for limit in range(1, 91)}
        assert theorem.best("items", epsilon) == pytest.approx(
            min(errors, key=errors.__getitem__), abs=1
        )
    assert theorem.best("items", 0.02) < theorem.best("items", 0.1)
    assert Theorem(1, 5, {"items": np.array([1e-9])}).best("items", 0.01) == 1


def test_the_theorem_reads_its_model_off_the_records() -> None:
    theorem = theorem_of(_read("foursquare").subject)
    assert theorem.users == pytest.approx(30)
    assert theorem.records == pytest.approx(len(WEEK) / 30)
    assert theorem.shares["items"][0] == pytest.approx(30 / len(WEEK))
    assert theorem.shares["edges"].sum() == pytest.approx(1)


@pytest.mark.usefixtures("silent")
def test_a_popularity_of_all_records_shows_the_true_list(given: Given) -> None:
    with mock.patch.object(Read, "method", return_value=_ALL):
        found = work.popularity(given, dataset="netflix", keys=2, noises=3)
    assert [(number.x, number.mean, number.runs) for number in found] == [
        (10.0, 1.0, 6), (20.0, 1.0, 6), (30.0, 1.0, 6),
    ]  # fmt: skip


def test_a_popularity_of_one_record_with_noise_shows_little(given: Given) -> None:
    found = work.popularity(given, dataset="netflix", keys=3, noises=2)
    assert found[0].mean < 0.8  # noise of scale 10 on counts of about 1
    assert {(one.panel, one.line) for one in found} == {("popularity netflix", "popularity of hpa")}


def test_the_weight_that_auto_counts_is_that_of_rows_scaled_to_some_bound(given: Given) -> None:
    (found,) = work.weights(given, dataset="gowalla", runs=2)
    assert (found.panel, found.line, found.x, found.runs) == ("kept", "auto", "Gowalla", 2)
    rows = np.arange(1, 31)
    able = [np.minimum(rows, theta).sum() / rows.sum() for theta in range(1, 31)]
    means = {(one + other) / 2 for one in able for other in able}
    assert min(abs(found.mean - one) for one in means) < 1e-4


@pytest.mark.usefixtures("silent")
def test_a_week_is_counted_in_all_records_and_in_samples(given: Given) -> None:
    found = work.week(given, dataset="foursquare", runs=3)
    days = Counter(day for _, _, day in WEEK)
    original = _places(found, "week", "original")
    assert original == pytest.approx([100 * days[day] / len(WEEK) for day in DAYS])
    for line in ("original", "sra", "hpa", "auto"):
        assert sum(_places(found, "week", line)) == pytest.approx(100)
    assert _places(found, "week", "sra") != pytest.approx(original, abs=1e-6)
    assert {one.runs for one in found if one.line == "hpa"} == {3}
    moved = np.array(_places(found, "week", "hpa")) - original
    assert _places(found, "moved", "hpa") == pytest.approx(moved)
    # Without noise HPA keeps the first items of everyone, whatever the key.
    kept = Counter(day for user, item, day in WEEK if item < 10)
    hpa = _places(found, "week", "hpa")
    assert hpa == pytest.approx([100 * kept[day] / sum(kept.values()) for day in DAYS], abs=3)


@pytest.mark.usefixtures("silent")
def test_without_noise_and_bound_every_list_is_the_true_one(given: Given) -> None:
    found = table5.recommendations(given, dataset="movielens", runs=2)
    numbers = Numbers(found)
    truth = [one.text for one in numbers.curve("lists", "truth").values()]
    men = Counter(item for user, item, gender, age in FILMS if (gender, age) == ("M", "Under 25"))
    assert {men[int(title.split()[1])] for title in truth[:2]} == {men[0]}
    assert [men[int(title.split()[1])] for title in truth] == sorted(men.values(), reverse=True)[
        :10
    ]
    for line in ("sra", "hpa"):  # nobody has more than 20 movies: 30 of them cut nobody
        assert [one.text for one in numbers.curve("lists", line).values()] == truth
        assert numbers.mean("found", line, table5.MEN) == 10
    assert [one.mean for one in numbers.curve("lists", "truth").values()] == list(range(1, 11))
    assert not numbers.has("lists", table5.PAPER_SRA)


def test_places_count_from_one_and_equal_counts_share_no_place() -> None:
    counts = np.array([5, 9, 9, 0])
    assert sorted(table5.places(counts).tolist()) == [1, 2, 3, 4]
    assert table5.places(counts)[3] == 4
    assert set(table5.best(counts, 2).tolist()) == {1, 2}


def test_the_printed_lists_have_as_many_of_the_true_ten_as_the_text_says() -> None:
    true = set(table5.PRINTED)
    assert len(true & set(table5.PRINTED_HPA)) == 8
    assert len(true & set(table5.PRINTED_SRA)) == 3
    assert all(len(set(column)) == 10 for column in (
        table5.PRINTED, table5.PRINTED_SRA, table5.PRINTED_HPA
    ))  # fmt: skip


def test_releases_are_asked_for_with_the_papers_settings() -> None:
    for name, limit, records in (("netflix", 10, 1), ("movielens", 30, 20)):
        one = _read(name)
        sra, hpa = (
            make_request(
                one.subject.records, one.subject.domain, epsilon=1, method=one.method(method)
            )
            for method in ("sra", "hpa")
        )
        assert sra.method.rule.limit == hpa.method.rule.limit == limit
        assert hpa.popularity is not None
        assert hpa.popularity.bound == records
        assert dict(sra.shares) == {"items": Fraction(1, 2), "edges": Fraction(1, 2)}
        assert dict(hpa.shares) == {
            "popularity": Fraction(1, 10), "items": Fraction(9, 20), "edges": Fraction(9, 20),
        }  # fmt: skip


def test_a_look_alike_is_read_with_its_list_and_its_contexts(tmp_path: Path) -> None:
    with work.read(Data(tmp_path, is_quick=True), "gowalla") as found:
        domain = found.subject.domain
        assert domain is not None
        assert len(domain.items) == 15_200
        assert [str(day) for day in domain.contexts[0].values] == list(DAYS)
        assert found.subject.records.record_id == "record_id"


def test_each_part_has_a_name_of_its_own_and_the_same_work_in_every_figure(tmp_path: Path) -> None:
    for quick in (True, False):
        parts = {}
        for figure in PAPER.figures:
            for part in figure.parts(Data(tmp_path), quick):
                assert parts.setdefault(part.name, part) == part
        runs = {part.arguments.get("runs", 20) for part in parts.values()}
        assert runs == ({2, 20} if quick else {5, 20})


# ---- The whole paper, quickly: every panel is drawn, every claim is judged, nothing is run
#      twice


@pytest.mark.long
def test_every_panel_has_numbers_and_auto_and_every_claim_a_verdict(tmp_path: Path) -> None:
    with mock.patch.object(reproduction, "papers", return_value=(PAPER,)):
        question = Question.of("fan-jin", None, quick=True, jobs=2)
        found = reproduced(question, tmp_path / "out")
    assert [one.figure.name for one in found] == [figure.name for figure in PAPER.figures]
    for one in found:
        for panel in one.figure.panels:
            lines = one.numbers.lines(panel.name)
            assert lines[-1] == AUTO or "figure 7" in panel.title, (one.figure.name, panel.name)
        for claim, judged in one.judged:
            assert judged.found, claim.words
            assert one.figure.name == "6" or "nothing was measured" not in judged.found
    assert (tmp_path / "out" / "pictures" / "fan-jin-table5.svg").is_file()
