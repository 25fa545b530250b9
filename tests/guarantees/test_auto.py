"""The exact loss of ``auto``, of each step and of whole releases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.core.domain import Domain
from crowdtally.core.privacy import Epsilon
from crowdtally.core.records import Records
from crowdtally.curator.counting.rows import Visits
from crowdtally.curator.request.request import Request, make_request
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.questions import AllItems, ChosenItems, Groups
from crowdtally.lab.auditing.databases import Record, on_records
from crowdtally.lab.rehearse import Rehearsal
from crowdtally.records.duckdb import DuckDBEngine
from crowdtally.records.engine import Dropped
from kit.auto import Followed, Wild, follow
from kit.draws import Tracer
from kit.exact import LawLoss, losses

# ---- The whole of ``auto`` keeps ε: on every path that is followed, the exact losses add up to
#      it
#
# Paths are led by noise of any size, so that a few made-up users come to every decision.


EPSILON = Fraction(3, 2)
CROWD = (
    Record(1, (0, 0)), Record(1, (0, 0)), Record(1, (3, 1)), Record(2, (1, 1)), Record(2, (5, 0)),
    Record(3, (2, 0)), Record(3, (7, 1)), Record(3, (6, 0)),
)  # fmt: skip
HERS: Mapping[str, tuple[Record, ...]] = {
    "one record": (Record(0, (1, 0)),),
    "many records of one item": tuple(Record(0, (0, 0)) for _ in range(70)),
    "every item, in every context": tuple(
        Record(0, (item, context)) for item in range(8) for context in (0, 1)
    ),
    "a long row of unequal parts": tuple(
        Record(0, (item, item % 2)) for item in range(8) for _ in range(item * item + 1)
    ),
}
BY_USER: dict[str, Any] = {"for_": "recommend", "context_per_user": "day"}
DESIGNS: Mapping[str, tuple[int, int, dict[str, Any]]] = {
    "items": (8, 0, {}),
    "short list, once": (8, 0, {"repeats": "no"}),
    "long list, once": (2000, 0, {"repeats": "no"}),
    "for top": (120, 0, {"for_": "top", "repeats": "no"}),
    "contexts": (80, 2, {}),
    "recommend by record": (80, 2, {"for_": "recommend"}),
    "recommend by user": (200, 2, BY_USER | {"repeats": "no"}),
    "recommend by user, features": (200, 2, BY_USER | {"repeats": "no", "features": True}),
    "recommend by user, repeats": (80, 2, BY_USER),
    "short list by user": (8, 2, BY_USER | {"repeats": "no"}),
}  # fmt: skip
USERS = (0, 150, 3_000, 300_000)
"""How many users the noisy sizes speak of."""


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Public features of 200 items: a kind each."""
    file = tmp_path_factory.mktemp("features") / "kinds.csv"
    rows = [f"item {n},{'abc'[n % 3]}" for n in range(200)]
    file.write_text("\n".join(["item,kind", *rows]) + "\n")
    return file


def request_of(items: int, contexts: int, options: dict[str, Any], kinds: Path) -> Request:
    named = {"day": [f"day {n}" for n in range(contexts)]} if contexts else {}
    records = Records(pa.table({}), "user", "item", dict.fromkeys(named))
    domain = Domain([f"item {n}" for n in range(items)], named)
    given = options | ({"features": kinds} if options.get("features") else {})
    return make_request(records, domain, epsilon=EPSILON, **given)


def made(request: Request, records: tuple[Record, ...]) -> tuple[Record, ...]:
    """The records, without their contexts where there are none."""
    axes = len(request.domain.axes) if request.domain is not None else 1
    return tuple(Record(one.user, one.cell[:axes]) for one in records)


def paths(
    request: Request, hers: tuple[Record, ...], seeds: range, speak_of: Sequence[int]
) -> Iterator[Followed]:
    """Paths that each of the two databases leads, and the loss of it against the other."""
    others = made(request, CROWD)
    with DuckDBEngine() as with_her, DuckDBEngine() as without:
        both = [
            Rehearsal(on_records(request, records), engine)
            for records, engine in ((others + made(request, hers), with_her), (others, without))
        ]
        for seed in seeds:
            for users in speak_of:
                first, second = both if seed % 2 else both[::-1]
                yield follow(first, second, Wild(seed, users))


def checked(
    name: str, kinds: Path, seeds: range, speak_of: Sequence[int] = USERS
) -> frozenset[str]:
    """The steps that were taken on some path; no path loses more than ε."""
    request = request_of(*DESIGNS[name], kinds)
    taken: set[str] = set()
    for words, hers in HERS.items():
        for path in paths(request, hers, seeds, speak_of):
            assert path.loss <= path.spent <= EPSILON, (name, words, sorted(path.taken))
            taken |= path.taken
    return frozenset(taken)


MET = {
    "items": {"sizes", "items", "bins"},
    "short list, once": {"sizes", "items"},
    "long list, once": {"sizes", "pilot", "crowd", "items", "zoom", "bins", "head"},
    "for top": {"sizes", "items", "bins", "head"},
    "contexts": {"sizes", "items", "bins", "head", "contexts"},
    "recommend by record": {"sizes", "items", "contexts", "head_rows"},
    "recommend by user": {"sizes", "items", "contexts", "split_head"},
    "recommend by user, features": {"sizes", "items", "contexts", "tastes", "tastes_again"},
    "recommend by user, repeats": {"sizes", "items", "contexts", "head_rows"},
    "short list by user": {"sizes", "edges", "contexts"},
}
"""Steps that must have been taken, else nothing is said about them."""


@pytest.mark.parametrize("name", ["contexts", "recommend by user, features"])
def test_no_path_loses_more_than_epsilon(name: str, kinds: Path) -> None:
    assert checked(name, kinds, range(1), (0, 3_000)) >= {"sizes", "items", "contexts"}


@pytest.mark.long
@pytest.mark.parametrize("name", DESIGNS)
def test_no_path_loses_more_than_epsilon_in_any_design(name: str, kinds: Path) -> None:
    assert checked(name, kinds, range(4)) >= MET[name]


# ---- The exact output law of every scaled step of ``auto``, on all tiny rows and their
#      neighbours
#
# Noise is drawn behind the seam of geometric draws: what is released is read as an exact count
# plus draws of known rates, and the loss between neighbours follows in exact arithmetic.


EPSILON_STEPS = Epsilon(Fraction(5, 7))
ITEMS = 4
OTHERS: list[tuple[int, ...]] = [(0, 1, 1, 3), (2, 3)]
ROWS = [
    row for number in range(1, 4) for row in combinations_with_replacement(range(ITEMS), number)
]  # fmt: skip
_ROOM = 26
"""Bits for counts of up to g·θ·users."""


def design() -> Design:
    records = ct.read({"user": [1], "item": [0]}, user="user", item="item")
    return Design.of(make_request(records, ct.Domain(range(ITEMS)), epsilon=1))


DESIGN = design()
NONE = np.array([], dtype=np.int64)
QUESTIONS: dict[str, Any] = {
    "pilot": AllItems(DESIGN, "pilot", 1, NONE),
    "items, without a crowd": AllItems(DESIGN, "items", 2, NONE),
    "items, without two": AllItems(DESIGN, "items", 2, np.array([0, 3])),
    "zoom": ChosenItems(DESIGN, "zoom", 1, np.array([1, 2])),
    "bins": Groups("bins", 2, np.array([0, 1, -1, 1]), 2),
}


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDBEngine]:
    with DuckDBEngine() as one:
        yield one


def law(engine: DuckDBEngine, question: Any, rows: list[tuple[int, ...]]) -> LawLoss:
    """What a step releases on these users' rows."""
    cells = [(u, i, x) for u, row in enumerate(rows) for i, x in sorted(Counter(row).items())]
    columns = zip(("user", "item", "amount"), np.array(cells, dtype=np.int64).T, strict=True)
    held = engine.load("rows", dict(columns))
    visits = Visits(engine, held, held, Dropped(len(cells), 0, 0), 1, DESIGN.domain)
    tracer = Tracer(_ROOM)
    released = question.table(EPSILON_STEPS).publish(question.count(visits), tracer)
    forms = tuple(tracer.read(int(value)) for value in released.values)
    return LawLoss(forms, tuple(tracer.rates))


@pytest.mark.parametrize("name", QUESTIONS)
def test_nobody_loses_more_than_epsilon(engine: DuckDBEngine, name: str) -> None:
    question = QUESTIONS[name]
    without = law(engine, question, OTHERS)
    found = [
        loss
        for row in ROWS
        for loss in losses({0: law(engine, question, [*OTHERS, row])}, {0: without})
    ]
    assert all(loss.certainly_at_most(EPSILON_STEPS.value) for loss in found)
    assert max(
        loss.exact for loss in found if loss.exact is not None
    ) > EPSILON_STEPS.value * Fraction(999_999, 1_000_000)
