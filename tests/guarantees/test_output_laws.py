"""Complete output laws of releases on all tiny databases, and the exact loss between neighbours."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import exp, log
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import crowdtally as ct
from crowdtally.core.counts import Counts
from crowdtally.core.domain import Axis
from crowdtally.core.layout import grid
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.summaries.base import dense
from crowdtally.format import Published
from crowdtally.ledger import Ledger
from crowdtally.noise.draws import Draws, SystemDraws
from crowdtally.records.locate import Sources
from kit.databases import Database, History, databases, histories
from kit.draws import Choice, Form, Tracer, Unreadable, every_choice
from kit.exact import ENDLESS, LawLoss, Loss, enumerated_loss, loss, losses
from kit.publishing import publish
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
from kit.subjects import Bench, Findings, Subject, compare, known_keys

# ---- ε-differential privacy by enumeration: every neighbouring pair of a family of tiny
#      databases
#
# Behind the seam of the primitive draws, whose own laws are proven and tested elsewhere, the
# steps of production run on every database; ``kit.exact`` gives the largest log-ratio over all
# outcomes of each neighbouring pair, as an exact rational or a certified ball. It must be at most
# ε, for every sampling key.


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
    options = {"transform": {"dyadic": ct.Dyadic, "haar": ct.Haar}[form]("context")}
    subject = Subject(SQUARE, options, user=None, roles={"bounded_to": 3})
    assert check(subject, databases([(), (0, 0, 0), (0, 0, 1), (1, 2, 3)], 2), KEYS[:1]).reached


@pytest.mark.parametrize("name", CHOSEN)
def test_chosen_bounds(name: str) -> None:
    subject = CHOSEN[name]
    check(subject, databases([*family(subject)[:2], ()], 2), KEYS[2:])


@pytest.mark.parametrize("ids", ["none", "stored"])
def test_every_database_of_two_users_and_two_records_each(ids: str) -> None:
    subject = Subject(SQUARE, {"method": ct.SRA(1)}, ids)  # type: ignore[arg-type]
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
    subject = Subject(WIDE, {"method": ct.SRA(1)}, ids)  # type: ignore[arg-type]
    assert check(subject, databases(histories(WIDE.cells, 2), 3), KEYS[:1]).reached


@pytest.mark.long
@pytest.mark.parametrize("count", ["records", "users"])
@pytest.mark.parametrize("limit", [1, 2])
def test_every_database_of_three_users_and_three_records_each(limit: int, count: str) -> None:
    subject = Subject(TRIPLE, {"method": ct.SRA(limit), "count": count})
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


# ---- The arithmetic of the enumeration itself, against laws that are known -----------------------


RATE = Fraction(1, 3)


def laplace(constant: int, draw: int = 0) -> Form:
    return Form(constant, ((draw, 1), (draw + 1, -1)))


def law(*forms: Form, rate: Fraction = RATE) -> LawLoss:
    return LawLoss(forms, (rate,) * 8)


def test_laplace_noise_loses_the_distance_times_the_rate() -> None:
    assert loss(law(laplace(0)), law(laplace(5))).exact == 5 * RATE


def test_losses_of_independent_outcomes_add_up() -> None:
    one = law(laplace(0), laplace(2, draw=2))
    other = law(laplace(1), laplace(0, draw=2))
    assert loss(one, other).exact == 3 * RATE


def test_enumeration_comes_close_to_the_exact_loss_from_below() -> None:
    one, other = law(laplace(2), rate=Fraction(1)), law(laplace(0), rate=Fraction(1))
    enumerated = enumerated_loss([0], one, other)
    assert not enumerated.certainly_exceeds(Fraction(2))
    assert enumerated.certainly_exceeds(Fraction(19, 10))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (law(Form(0, ())), law(Form(1, ()))),
        (law(Form(0, ())), law(laplace(0))),
        (law(laplace(0)), law(laplace(0), rate=RATE / 2)),
        (law(laplace(0)), law(laplace(0), laplace(0, draw=2))),
    ],
)
def test_outcomes_of_one_law_alone_lose_everything(one: LawLoss, other: LawLoss) -> None:
    assert loss(one, other) == ENDLESS
    assert loss(one, other).certainly_exceeds(Fraction(10**6))


def test_equal_constants_lose_nothing() -> None:
    assert loss(law(Form(3, ())), law(Form(3, ()))).exact == 0


def test_one_noise_on_two_counts_shows_their_difference() -> None:
    shared = [law(laplace(0), laplace(0)), law(laplace(1), laplace(0))]
    found = loss(*shared)
    assert found.certainly_exceeds(Fraction(2))
    assert not found.certainly_at_most(Fraction(100))


def test_one_sided_noise_makes_outcomes_impossible() -> None:
    one, other = law(Form(0, ((0, 1),))), law(Form(1, ((0, 1),)))
    assert loss(one, other).certainly_exceeds(Fraction(2))


def test_an_unknown_shape_is_never_certified() -> None:
    doubled = Form(0, ((0, 2), (1, -2)))
    assert not loss(law(doubled), law(doubled)).certainly_at_most(Fraction(10))
    assert not loss(law(doubled), law(doubled)).certainly_exceeds(Fraction(0))


def test_choices_lose_their_log_ratio() -> None:
    one, other = (LawLoss((), (), (Choice(scores, RATE, 0),)) for scores in ((3, 0), (1, 0)))
    wanted = log(exp(1) / (exp(1) + 1)) - log(exp(1 / 3) / (exp(1 / 3) + 1))
    found = loss(one, other)
    assert found.certainly_at_most(Fraction(wanted) + Fraction(1, 10**9))
    assert found.certainly_exceeds(Fraction(wanted) - Fraction(1, 10**9))


def test_other_paths_lose_everything() -> None:
    assert losses({(0,): law()}, {(0,): law(), (1,): law()}) == [ENDLESS]


def test_steering_is_bounded_over_all_values_and_known_at_one() -> None:
    def steered(constant: int, value: int) -> LawLoss:
        return LawLoss((), (), (), ((laplace(constant), value),), (RATE,) * 2)

    assert loss(steered(1, 100), steered(0, 100)).exact == RATE
    backwards = loss(steered(0, 100), steered(1, 100))
    assert (backwards.least, backwards.most) == (-RATE, RATE)
    assert loss(steered(0, 1), steered(0, 2)) == ENDLESS


@pytest.mark.parametrize("value", [0, 7, -9, 100])
def test_the_tracer_reads_back_what_it_handed_out(value: int) -> None:
    tracer = Tracer()
    a, b, c = tracer.geometric(RATE, 3).tolist()
    assert tracer.read(value + a - 2 * c) == Form(value, ((0, 1), (2, -2)))
    assert tracer.read(value - b) == Form(value, ((1, -1),))
    with pytest.raises(Unreadable):
        tracer.read(a * c)


def test_every_way_a_choice_can_fall_out_is_taken_once() -> None:
    def run(script: tuple[int, ...]) -> Tracer:
        tracer = Tracer(script=script)
        if tracer.choose([0, 1, 2], RATE) == 1:
            tracer.choose([0, 1], RATE)
        return tracer

    taken = [tuple(choice.picked for choice in tracer.choices) for tracer in every_choice(run)]
    assert sorted(taken) == [(0,), (1, 0), (1, 1), (2,)]


def test_certainty_at_the_boundary() -> None:
    at = loss(law(laplace(0)), law(laplace(3)))
    assert at.certainly_at_most(Fraction(1))
    assert not at.certainly_exceeds(Fraction(1))
    assert not at.certainly_at_most(Fraction(10**30 - 1, 10**30))
    assert str(at) == "1.0"
    assert isinstance(at, Loss)


# ---- What lies in the folder of a release is what the enumeration says the steps put out ---------


DATABASE: Database = ((0, 0, 1), (1, 2, 3), (0,))
KEY = 31337
WHOLE = {
    name: (SAMPLES | STEERED | PAIRS | CHOSEN)[name]
    for name in (
        "two records, no ids",
        "two records, repeated ids",
        "users, two cells",
        "items alone",
        "hpa, one record",
        "pairs of two records",
        "sra, rank",
    )
}


def released(subject: Subject, folder: Path, draws: Draws) -> Published:
    """A release by ``publish`` itself: its own engine, a ledger, files."""
    cells = tuple(tuple(cell % subject.space.cells for cell in h) for h in DATABASE)
    rows = subject.space.rows(cells, subject.ids)
    names = ("user", "item", "context", "id")
    table = pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
    sources = Sources(replace(subject.records, source=table))
    request = replace(subject.request, sources=sources)
    ledger = Ledger.open(folder / "ledger.db", create=True)
    with known_keys(KEY):
        return publish(
            request, "tiny", folder / "release", ledger=ledger, draws=draws, tell=pytest.fail
        )


@pytest.mark.parametrize("name", WHOLE)
def test_files_hold_what_the_steps_release(name: str, tmp_path: Path) -> None:
    subject = WHOLE[name]
    cells = tuple(tuple(cell % subject.space.cells for cell in h) for h in DATABASE)
    made = released(subject, tmp_path, Tracer(subject.room))
    with Bench(subject) as bench:
        tables = bench.tables(cells, KEY, Tracer(subject.room))
    assert [table["name"] for table in made.metadata["tables"]] == [t.name for t in tables]
    for table in tables:
        told = made.table(table.name)
        assert told is not None
        stored = parquet.read_table(made.path(told))
        assert stored["count"].to_pylist() == table.values.tolist()
        assert told.law == table.law


@given(
    counts=st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=4),
    noises=st.lists(st.integers(-(2**70), 2**70), min_size=4, max_size=4),
)
@example(counts=[2**63 - 1], noises=[1, 0, 0, 0])  # in 64 bits the sum would wrap round
def test_dense_values_are_held_within_64_bits(counts: list[int], noises: list[int]) -> None:
    """Beyond what the tracer's numbers reach: the noise stays exact, the sum is clipped."""

    class Fixed(SystemDraws):
        def laplace(self, scale: Fraction, size: int) -> np.ndarray:
            small = all(-(2**63) <= noise < 2**63 for noise in noises)
            return np.array(noises[:size], dtype=np.int64 if small else object)

    axis = Axis.of("item", range(len(counts)))
    layout = grid([axis])
    exact = Counts(layout.size, np.arange(len(counts)), np.array(counts, dtype=np.int64), 1)
    table = dense(exact, Epsilon.of(1), Fixed())
    wanted = [c + x for c, x in zip(counts, noises, strict=False)]
    assert table.values.tolist() == [min(max(v, -(2**63)), 2**63 - 1) for v in wanted]
