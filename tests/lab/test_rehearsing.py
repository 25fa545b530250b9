"""A rehearsal is a release that nobody pays for: the same steps, keys and laws, run again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import crowdtally as ct
from crowdtally.curator.converse import Reading, Released, Step
from crowdtally.curator.request.request import Request, make_request
from crowdtally.lab.rehearse import Keyed, Rehearsal, decided
from crowdtally.noise.draws import SystemDraws
from crowdtally.records.duckdb import DuckDBEngine
from kit.every_request import SHAPES, asked, every_request, town
from kit.publishing import run_steps
from kit.recording import Recording
from kit.silent import SilentDraws
from kit.subjects import known_keys
from kit.words import Seeded

TOWN = town()
HPA = {"bounding": "hpa", "max_records": 2, "popularity_records": 1}


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDBEngine]:
    with DuckDBEngine() as opened:
        yield opened


def asking(shape: str = "contexts", **options: Any) -> Request:
    return SHAPES[shape].request(TOWN, **options)


def values(released: Released) -> dict[str, list[int]]:
    return {table.name: table.values.tolist() for table in released.tables}


class Watched:
    """A step that notes how often the records were counted, and after what was released."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self.seen: list[Any] = []

    def count(self, reading: Reading, released: Released) -> Any:
        self.seen.append((reading, decided(self._step, released)))
        return self._step.count(reading, released)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._step, name)


def watched(request: Request, engine: DuckDBEngine) -> tuple[Rehearsal, list[Watched]]:
    rehearsal = Rehearsal(request, engine)
    steps = [Watched(step) for step in rehearsal.steps]
    rehearsal.steps = tuple(steps)  # type: ignore[assignment]
    return rehearsal, steps


def test_one_seed_is_one_sample_and_another_seed_another(engine: DuckDBEngine) -> None:
    request = asking(max_records=1)
    samples = [values(Rehearsal(request, engine).run(seed, SilentDraws())) for seed in (3, 3, 4)]
    assert samples[0] == samples[1] != samples[2]
    assert sum(samples[0]["edges"]) == sum(samples[2]["edges"]) == 40  # one record of each user
    assert samples[0]["items"] == np.array(samples[0]["edges"]).reshape(3, 5).sum(axis=1).tolist()


def test_keys_differ_between_seeds_and_steps(engine: DuckDBEngine) -> None:
    rehearsal, steps = watched(asking(**HPA), engine)
    for seed in range(6):
        rehearsal.run(seed, SilentDraws())
    keys = [reading.fresh_key() for step in steps for reading, _ in step.seen]
    assert len(keys) == len(set(keys)) == 12
    assert all(0 <= key < 2**63 for key in keys)
    one = Keyed(engine, rehearsal.prepared, 5)
    assert len({one.fresh_key() for _ in range(10)}) == 10


def test_what_it_releases_is_what_a_release_with_its_key_would(engine: DuckDBEngine) -> None:
    request = asking(max_records=1)
    rehearsal = Rehearsal(request, engine)
    reading = Reading(engine, rehearsal.prepared)
    for seed in (0, 1, 7):
        key = Keyed(engine, rehearsal.prepared, seed).fresh_key()
        with known_keys(key):
            released = run_steps(request, reading, SystemDraws(Seeded(seed)))
        assert values(rehearsal.run(seed, SystemDraws(Seeded(seed)))) == values(released)


def test_records_are_counted_once_for_each_key(engine: DuckDBEngine) -> None:
    rehearsal, (step,) = watched(asking(max_records=2), engine)
    draws = SystemDraws()
    halfway = rehearsal.halfway(1, draws)
    noisy = [values(rehearsal.finish(halfway, draws))["edges"] for _ in range(5)]
    noisy += [values(rehearsal.run(1, draws))["edges"] for _ in range(5)]
    assert len(step.seen) == 1
    assert len({tuple(row) for row in noisy}) == 10  # the noise is new each time
    rehearsal.run(2, draws)
    assert len(step.seen) == 2


def test_counts_are_kept_only_for_what_was_released_before(engine: DuckDBEngine) -> None:
    rehearsal, (popularity, tables) = watched(asking(**HPA), engine)
    draws = SystemDraws()
    runs = [values(rehearsal.run(1, draws))["popularity"] for _ in range(12)]
    assert len(popularity.seen) == 1
    decisions = Counter(before for _, before in tables.seen)
    assert len(decisions) > 1  # the popularity was drawn anew in each run
    assert set(decisions.values()) == {1}
    ranked = {tuple(np.unique(-np.array(run), return_inverse=True)[1].tolist()) for run in runs}
    assert {before[0] for before in decisions} == ranked


@pytest.mark.parametrize("bounding", ["hpa"])
def test_equal_counts_are_counted_anew_where_a_popularity_says_something_else(
    bounding: str, engine: DuckDBEngine
) -> None:
    """Kept counts are those that would be counted: for every popularity that says the same."""
    request = asking(bounding=bounding, max_records=2, popularity_records=1)
    rehearsal, (_, tables) = watched(request, engine)
    draws = SystemDraws(Seeded(4))
    for _ in range(8):
        halfway = rehearsal.halfway(1, draws)
        again = Rehearsal(request, engine).counted(1, 1, halfway.released)
        (_, kept), (_, anew) = halfway.counted.found, again.found
        assert [c.dense().tolist() for c in kept] == [c.dense().tolist() for c in anew]
    assert 1 < len(tables.seen) <= 8


def test_a_chosen_bound_decides_what_is_counted(engine: DuckDBEngine) -> None:
    request = make_request(
        ct.read(TOWN, user="user", item="item"), ct.Domain(["a", "b", "c"]),
        epsilon="1/2", max_records=4, choose="rank",
    )  # fmt: skip
    rehearsal, (choice, tables) = watched(request, engine)
    draws = SystemDraws(Seeded(2))
    limits = [rehearsal.run(1, draws).bounds["items"].limit for _ in range(25)]
    assert len(choice.seen) == 1
    assert len(set(limits)) > 1
    assert len(tables.seen) == len(set(limits))


def test_what_bounding_keeps(engine: DuckDBEngine) -> None:
    rehearsal = Rehearsal(asking(max_records=1), engine)
    assert rehearsal.kept(rehearsal.halfway(1, SilentDraws())) == {"items": 40.0, "edges": 40.0}
    scaled = Rehearsal(asking(bounding="dpsense", max_records=1, count="users"), engine)
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
    assert found.bounds == released.bounds
    assert [table.law for table in found.tables] == [table.law for table in released.tables]
