"""ε-differential privacy by enumeration: every neighbouring pair of a family of tiny databases.

Behind the seam of the primitive draws, whose own laws are proven and tested elsewhere, the steps of
production run on every database; ``kit.losses`` gives the largest log-ratio over all outcomes of
each neighbouring pair, as an exact rational or a certified ball. It must be at most ε, for every
sampling key.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import pytest

from kit.rules import (
    CHOSEN,
    DERIVED,
    FORMED,
    MIXED,
    PAIRS,
    PLAIN,
    SAMPLES,
    SCALED,
    SQUARE,
    STEERED,
    TRIPLE,
    WIDE,
)
from kit.subjects import Bench, Findings, Subject, compare
from kit.tiny import Database, History, databases, histories
from kit.tracing import Tracer

KEYS = (1, 2**62 + 12345, 987654321987654321)
ALL = SAMPLES | DERIVED | STEERED | SCALED | PAIRS | FORMED | CHOSEN


def family(subject: Subject) -> Sequence[History]:
    """Histories with none, few and more records than are kept, in the subject's cells."""
    folded = {tuple(sorted(cell % subject.space.cells for cell in h)) for h in MIXED}
    return sorted(folded, key=lambda history: (-len(history), history))


def check(subject: Subject, tried: Iterable[Database], keys: Iterable[int]) -> Findings:
    findings = compare(subject, tried, keys)
    assert not findings.uncertified, "\n".join(findings.uncertified[:5])
    assert findings.pairs > 0
    return findings


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_of_three_users(name: str) -> None:
    subject = SAMPLES[name]
    assert check(subject, databases(family(subject), 3), KEYS[:1]).reached
    assert check(subject, databases([*family(subject)[:2], ()], 3), KEYS[1:]).reached


@pytest.mark.parametrize("name", DERIVED)
def test_records_that_are_chosen_and_derived(name: str) -> None:
    subject = DERIVED[name]
    assert check(subject, databases(family(subject), 3), KEYS[:1]).reached


@pytest.mark.parametrize("name", STEERED)
def test_steered_samples_of_three_users(name: str) -> None:
    subject = STEERED[name]
    assert check(subject, databases([*family(subject)[:2], ()], 3), KEYS[1:2]).reached


@pytest.mark.parametrize("name", SCALED)
def test_scaled_rows_of_three_users(name: str) -> None:
    subject = SCALED[name]
    assert check(subject, databases([*family(subject)[:3], ()], 3), KEYS[1:2]).reached


@pytest.mark.parametrize("name", PAIRS)
def test_pairs_of_three_users(name: str) -> None:
    subject = PAIRS[name]
    assert check(subject, databases([*family(subject)[:2], ()], 3), KEYS[1:2]).reached


@pytest.mark.parametrize("name", FORMED)
def test_transformed_counts_of_three_users(name: str) -> None:
    subject = FORMED[name]
    assert check(subject, databases([*family(subject)[:2], ()], 3), KEYS[1:2]).reached


def test_rows_that_are_one_person_each() -> None:
    subject = Subject(SQUARE, {}, user=None)
    assert check(subject, databases([(), *((cell,) for cell in range(4))], 3), KEYS[:1]).reached


def test_rows_that_were_bounded_elsewhere() -> None:
    """Every database of two persons of up to two rows each, as the publisher states."""
    subject = Subject(SQUARE, {}, user=None, roles={"bounded_to": 2})
    assert check(subject, databases(histories(4, 2), 2), KEYS[:1]).reached


@pytest.mark.parametrize("form", ["dyadic", "haar"])
def test_transformed_rows_that_were_bounded_elsewhere(form: str) -> None:
    options = {"transform": form, "ordered": ["context"]}
    subject = Subject(SQUARE, options, user=None, roles={"bounded_to": 3})
    assert check(subject, databases([(), (0, 0, 0), (0, 0, 1), (1, 2, 3)], 2), KEYS[:1]).reached


@pytest.mark.parametrize("name", CHOSEN)
def test_chosen_bounds(name: str) -> None:
    subject = CHOSEN[name]
    check(subject, databases([*family(subject)[:2], ()], 2), KEYS[2:])


@pytest.mark.parametrize("ids", ["none", "stored"])
def test_every_database_of_two_users_and_two_records_each(ids: str) -> None:
    subject = Subject(SQUARE, {"max_records": 1}, ids)  # type: ignore[arg-type]
    assert check(subject, databases(histories(4, 2), 2), KEYS[:1]).reached


@pytest.mark.parametrize("name", ALL)
def test_what_is_released_is_linear_in_the_draws(name: str) -> None:
    """The forms are read off at one point; at other points they must hold too."""
    subject = ALL[name]
    random_source = random.Random(name)
    with Bench(subject) as bench:
        for database in databases([*family(subject)[:2], ()], 2):
            tracer = Tracer(subject.room)
            forms = [tracer.read(int(v)) for v in _rest(subject, bench, database, tracer)]
            values = {i: random_source.randrange(10**6) for i in range(len(tracer.rates))}
            if subject.steering:  # what steers stays as it was
                values = {i: v for i, v in values.items() if i >= 2 * subject.space.items}
            again = Tracer(subject.room, values)
            released = [int(v) for v in _rest(subject, bench, database, again)]
            assert released == [form.at(values) for form in forms]


def _rest(subject: Subject, bench: Bench, database: Database, draws: Tracer) -> list[int]:
    tables = bench.tables(database, KEYS[0], draws)
    return [v for table in tables if table.name != "popularity" for v in table.values]


@pytest.mark.long
@pytest.mark.parametrize("ids", ["none", "stored"])
def test_every_database_of_three_users_and_two_records_each(ids: str) -> None:
    subject = Subject(WIDE, {"max_records": 1}, ids)  # type: ignore[arg-type]
    assert check(subject, databases(histories(WIDE.cells, 2), 3), KEYS[:1]).reached


@pytest.mark.long
@pytest.mark.parametrize("count", ["records", "users"])
@pytest.mark.parametrize("limit", [1, 2])
def test_every_database_of_three_users_and_three_records_each(limit: int, count: str) -> None:
    subject = Subject(TRIPLE, {"max_records": limit, "count": count})
    tried = databases(histories(TRIPLE.cells, 3), 3)
    assert check(subject, tried, KEYS[:1]).reached


@pytest.mark.long
@pytest.mark.parametrize("name", SAMPLES | DERIVED | STEERED | SCALED | FORMED)
def test_every_database_of_two_users_and_three_records_each(name: str) -> None:
    subject = ALL[name]
    most = 3 if subject.space in (PLAIN, SQUARE) else 2
    assert check(subject, databases(histories(subject.space.cells, most), 2), KEYS[:1]).reached


@pytest.mark.long
@pytest.mark.parametrize("name", PAIRS | CHOSEN)
def test_every_database_of_two_users_where_bounds_or_pairs_are(name: str) -> None:
    subject = ALL[name]
    most = 2 if name == "dpsense, dpsense" else 3
    check(subject, databases(histories(subject.space.cells, most), 2), KEYS[1:])
