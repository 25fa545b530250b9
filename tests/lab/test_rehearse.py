"""Rehearsals: the real steps, uncharged, with counts remembered, beside the truth."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.curator.converse import Released
from crowdtally.curator.counting import count as counting
from crowdtally.curator.counting.count import Reading, count
from crowdtally.curator.questions import Question
from crowdtally.curator.request.request import Request, make_request
from crowdtally.curator.row_questions import Inside, RowQuestion, Scaled, UserRows, Whole
from crowdtally.errors import UsageError
from crowdtally.lab import rehearse
from crowdtally.lab.rehearse import (
    Keyed,
    Rehearsal,
    largest_contribution,
    mean_contribution,
    true_counts,
)
from crowdtally.noise.draws import SystemDraws
from crowdtally.records.duckdb import DuckDBEngine
from kit.draws import Recording, Seeded, SilentDraws
from kit.every_request import SHAPES, asked, every_request, town
from kit.publishing import run_steps
from kit.reference import ITEMS, MET, ROWS, USERS, Opened, listed, opening, plain, truth
from kit.subjects import known_keys

# ---- A rehearsal is a release that nobody pays for: the same steps, keys and laws, run again -----


TOWN = town()
HPA = {"method": ct.HPA(2, popularity_records=1)}


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDBEngine]:
    with DuckDBEngine() as opened:
        yield opened


def asking(shape: str = "contexts", **options: Any) -> Request:
    return SHAPES[shape].request(TOWN, **options)


def values(released: Released) -> dict[str, list[int]]:
    return {table.name: table.values.tolist() for table in released.tables}


class Watched:
    """Notes which questions of a place were counted, and on which records."""

    def __init__(self) -> None:
        self.seen: list[tuple[Reading, Question]] = []


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A rehearsal, and what is counted for each of its questions."""
    noted: dict[int, Watched] = {}

    def noting(question: Question, records: Any) -> Any:
        noted[records.seed % len(noted)].seen.append((records, question))
        return count(question, records)

    def made(request: Request, engine: DuckDBEngine) -> tuple[Rehearsal, list[Watched]]:
        rehearsal = Rehearsal(request, engine)
        noted.update({place: Watched() for place in range(rehearsal.method.questions)})
        return rehearsal, list(noted.values())

    monkeypatch.setattr(rehearse, "count", noting)
    return made


def test_one_seed_is_one_sample_and_another_seed_another(engine: DuckDBEngine) -> None:
    request = asking(method=ct.SRA(1))
    samples = [values(Rehearsal(request, engine).run(seed, SilentDraws())) for seed in (3, 3, 4)]
    assert samples[0] == samples[1] != samples[2]
    assert sum(samples[0]["edges"]) == sum(samples[2]["edges"]) == 40  # one record of each user
    assert samples[0]["items"] == np.array(samples[0]["edges"]).reshape(3, 5).sum(axis=1).tolist()


def test_keys_differ_between_seeds_and_steps(engine: DuckDBEngine, watched: Any) -> None:
    rehearsal, steps = watched(asking(**HPA), engine)
    for seed in range(6):
        rehearsal.run(seed, SilentDraws())
    keys = [reading.fresh_key() for step in steps for reading, _ in step.seen]
    assert len(keys) == len(set(keys)) == 12
    assert all(0 <= key < 2**63 for key in keys)
    one = Keyed(engine, rehearsal.prepared, 5)
    assert len({one.fresh_key() for _ in range(10)}) == 10


def test_what_it_releases_is_what_a_release_with_its_key_would(engine: DuckDBEngine) -> None:
    request = asking(method=ct.SRA(1))
    rehearsal = Rehearsal(request, engine)
    reading = Reading(engine, rehearsal.prepared)
    for seed in (0, 1, 7):
        key = Keyed(engine, rehearsal.prepared, seed).fresh_key()
        with known_keys(key):
            released = run_steps(request, reading, SystemDraws(Seeded(seed)))
        assert values(rehearsal.run(seed, SystemDraws(Seeded(seed)))) == values(released)


def test_records_are_counted_once_for_each_key(engine: DuckDBEngine, watched: Any) -> None:
    rehearsal, (step,) = watched(asking(method=ct.SRA(2)), engine)
    draws = SystemDraws()
    halfway = rehearsal.halfway(1, draws)
    noisy = [values(rehearsal.finish(halfway, draws))["edges"] for _ in range(5)]
    noisy += [values(rehearsal.run(1, draws))["edges"] for _ in range(5)]
    assert len(step.seen) == 1
    assert len({tuple(row) for row in noisy}) == 10  # the noise is new each time
    rehearsal.run(2, draws)
    assert len(step.seen) == 2


def test_counts_are_kept_only_for_what_was_released_before(
    engine: DuckDBEngine, watched: Any
) -> None:
    rehearsal, (popularity, tables) = watched(asking(**HPA), engine)
    draws = SystemDraws()
    runs = [values(rehearsal.run(1, draws))["popularity"] for _ in range(12)]
    assert len(popularity.seen) == 1
    decisions = Counter(question for _, question in tables.seen)
    assert len(decisions) > 1  # the popularity was drawn anew in each run
    assert set(decisions.values()) == {1}
    ranked = {tuple(np.unique(-np.array(run), return_inverse=True)[1].tolist()) for run in runs}
    assert {tuple(one.rule.steering().tolist()) for one in decisions} == ranked  # type: ignore[attr-defined]


def test_equal_counts_are_counted_anew_where_a_popularity_says_something_else(
    engine: DuckDBEngine, watched: Any
) -> None:
    """Kept counts are those that would be counted: for every popularity that says the same."""
    request = asking(method=ct.HPA(2, popularity_records=1))
    rehearsal, (_, tables) = watched(request, engine)
    draws = SystemDraws(Seeded(4))
    for _ in range(8):
        halfway = rehearsal.halfway(1, draws)
        again = Rehearsal(request, engine).counted(halfway.question, 1, 1)
        kept, anew = halfway.counted.found, again.found
        assert [c.dense().tolist() for c in kept] == [c.dense().tolist() for c in anew]
    assert 1 < len(tables.seen) - 8 <= 8  # each was counted anew once, to compare


def test_a_chosen_bound_decides_what_is_counted(engine: DuckDBEngine, watched: Any) -> None:
    request = make_request(
        ct.read(TOWN, user="user", item="item"), ct.Domain(["a", "b", "c"]),
        epsilon="1/2", method=ct.SRA(4, choose="rank"),
    )  # fmt: skip
    rehearsal, (choice, tables) = watched(request, engine)
    draws = SystemDraws(Seeded(2))
    limits = [rehearsal.run(1, draws).facts.bounds["items"].limit for _ in range(25)]
    assert len(choice.seen) == 1
    assert len(set(limits)) > 1
    assert len(tables.seen) == len(set(limits))


def test_what_bounding_keeps(engine: DuckDBEngine) -> None:
    rehearsal = Rehearsal(asking(method=ct.SRA(1)), engine)
    assert rehearsal.kept(rehearsal.halfway(1, SilentDraws())) == {"items": 40.0, "edges": 40.0}
    scaled = Rehearsal(asking(method=ct.DPSense(1), count="users"), engine)
    kept = scaled.kept(scaled.halfway(1, SilentDraws()))
    assert kept == pytest.approx({"items": 40, "edges": 40}, rel=1e-4)  # each row sums to 1
    for shape in ("rows", "discovery"):
        nobody_bounded = Rehearsal(asking(shape), engine)
        assert nobody_bounded.kept(nobody_bounded.halfway(1, SilentDraws())) == {}


class SilentRecording(Recording):
    """Notes each request, and answers that there is no noise."""

    def __init__(self) -> None:
        super().__init__()
        self._inner = SilentDraws()


DENSE = [
    (shape, method)
    for shape, method, form in every_request()
    if form == "dense"
    and (shape == "contexts" or method in ("sra", "none", "hpa, rank"))
    # How many cells somebody keeps there depends on the key, which is another one in each run.
    and shape != "discovery in context"
]


@pytest.mark.parametrize(("shape", "method"), DENSE)
def test_it_draws_what_a_release_draws(shape: str, method: str, engine: DuckDBEngine) -> None:
    """Every law, scale and size in order: with the counts, that is the whole law of a release."""
    request = asking(shape, **asked(method, "dense"))
    rehearsal = Rehearsal(request, engine)
    mine, theirs = SilentRecording(), SilentRecording()
    found = rehearsal.run(0, mine)
    released = run_steps(request, Reading(engine, rehearsal.prepared), theirs)
    assert mine.drawn == theirs.drawn
    assert mine.drawn
    assert [table.name for table in found.tables] == [table.name for table in released.tables]
    assert found.facts == released.facts
    assert [table.law for table in found.tables] == [table.law for table in released.tables]


# ---- Counts of ``auto`` are remembered by what was asked, and by nothing less --------------------


def test_questions_that_differ_are_told_apart() -> None:
    rows, measures = UserRows(per_user=False, repeats=True), [
        Scaled(2), Scaled(3), Scaled(2, "cells"), Scaled(3, above=2), Scaled(2, only_to=2),
        Whole(2), Inside((0, 2), 2), Inside((0, 3), 2), Scaled(2, by_norm=True),
    ]  # fmt: skip
    questions = {RowQuestion((), rows, (measure,)) for measure in measures}
    assert len(questions) == len(measures)
    assert RowQuestion((), UserRows(per_user=True, repeats=True), (Scaled(2),)) not in questions
    assert RowQuestion((), rows, (Scaled(2),)) in questions


def test_runs_of_one_question_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[Any] = []
    keys: list[int] = []
    for name, note in (("counted", counted), ("hold_rows", keys)):
        real = getattr(counting, name)

        def noted(*given: Any, _real: Any = real, _note: list[Any] = note) -> Any:
            _note.append(given[-1] if _note is keys else tuple(given[1]))
            return _real(*given)

        monkeypatch.setattr(counting, name, noted)
    with DuckDBEngine() as engine:
        rehearsal = Rehearsal(_request(), engine)
        runs = [rehearsal.run(0, SystemDraws()) for _ in range(4)]
        assert len(counted) == len(set(counted)), "what was asked before is known"
        assert len(keys) == 1, "one read serves all questions"
        rehearsal.run(1, SystemDraws())
    assert len(set(keys)) == len(keys) == 2, "another seed has rows of its own"
    values = {tuple(run.tables[0].values.tolist()) for run in runs}
    assert len(values) == len(runs), "noise is drawn anew"


def _request() -> Request:
    records = ct.read(pa.table({"user": [1, 1, 2], "item": [0, 1, 1]}), user="user", item="item")
    return make_request(records, ct.Domain(range(4)), epsilon=Fraction(1, 100))


# ---- The truth of rarer kinds; what every engine counts is in ``engines/test_truth.py`` -------


@pytest.fixture(scope="module")
def opened() -> Iterator[Opened]:
    with opening(DuckDBEngine) as rows:
        yield rows


def test_rows_are_persons_and_weights_are_several(opened: Opened) -> None:
    for name, quantities in (("rows", False), ("weights", True)):
        counts = Counter[int]()
        for _, item, day, times in plain(quantities=quantities, users=False):
            counts[item * 2 + day] += times
        assert truth(opened, name, "users")["edges"] == listed(counts, 8)
        engine, prepared, _ = opened(name)
        assert largest_contribution(engine, prepared, "users") == 1
        assert mean_contribution(engine, prepared, "users") == 1


def test_attributes(opened: Opened) -> None:
    counts = Counter(item * 2 + day for _, item, day, _ in plain())
    assert truth(opened, "attributes", "records") == {"cells": listed(counts, 8)}


def test_pairs_of_all_records(opened: Opened) -> None:
    own = defaultdict(list)
    for user, item in zip(USERS, MET, strict=True):
        if user is not None and item in ITEMS:
            own[user].append(ITEMS.index(item))
    of_records = Counter[int]()
    for items in own.values():
        for first, second in combinations(sorted(items), 2):
            if first != second:
                of_records[second * (second - 1) // 2 + first] += 1
    of_users = Counter(
        second * (second - 1) // 2 + first
        for items in own.values()
        for first, second in combinations(sorted(set(items)), 2)
    )
    assert truth(opened, "pairs", "records")["pairs"] == listed(of_records, 6)
    assert truth(opened, "pairs", "users")["pairs"] == listed(of_users, 6)


def test_contributions(opened: Opened) -> None:
    engine, prepared, _ = opened("records")
    records = Counter(user for user, _, _, _ in plain())
    cells = Counter(user for user, _, _ in {(u, i, d) for u, i, d, _ in plain()})
    assert largest_contribution(engine, prepared, "records") == max(records.values())
    assert largest_contribution(engine, prepared, "users") == max(cells.values())
    mean = sum(records.values()) / len(records)
    assert mean_contribution(engine, prepared, "records") == pytest.approx(mean)


def test_nobody_has_anything(opened: Opened) -> None:
    engine, prepared, _ = opened("nobody")
    assert truth(opened, "nobody", "records") == {"items": [0]}
    for what in ("records", "users"):
        assert largest_contribution(engine, prepared, what) == 0
        assert mean_contribution(engine, prepared, what) == 0


def test_what_has_no_dense_truth_is_refused(opened: Opened) -> None:
    engine, prepared, _ = opened("records")
    wide = make_request(
        ct.read(ROWS, user="user", attributes=["item", "day"]),
        ct.Domain(attributes={"item": range(10**4), "day": range(10**4)}),
        epsilon=1, method=ct.SRA(1), summary=ct.Filter(size=10),
    )  # fmt: skip
    with pytest.raises(UsageError, match="'cells' has 100000000 cells") as refused:
        true_counts(engine, prepared, "records", wide.tables)
    assert "shorten the lists" in str(refused.value)
    with pytest.raises(UsageError, match="items without a public list"):
        true_counts(engine, prepared, "records", ())
