"""Adding or removing any user of a tiny database: each part of a baseline loses at most its ε."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import pytest

from crowdtally.core.privacy import Epsilon
from crowdtally.lab.baselines import BASELINES
from kit.remembering import RememberingEngine
from kit.subjects import Subject
from kit.tiny import Space, databases, neighbours
from lab.baselines.conditioned import Bench, Held, Vector, events

EPSILON = Epsilon(Fraction(3, 2))
LIMIT = 2
FIVE = Subject(Space(5, 1), {"max_records": 1})
SQUARE = Subject(Space(2, 2), {"max_records": 1})
USERS = Subject(Space(2, 2), {"max_records": 1, "count": "users"})
SEVERAL = Subject(Space(2, 2), {"max_records": 1}, "quantities")

# None, few, as many as are kept and more; twice in one cell, and in the list's last.
HISTORIES = {
    "five": [(), (4, 4), (0, 4), (1, 2, 3)],
    "square": [(), (3,), (0, 0), (0, 1, 3)],
}
CASES = {
    "five items": (FIVE, "five"),
    "items in context": (SQUARE, "square"),
    "users in context": (USERS, "square"),
    "quantities in context": (SEVERAL, "square"),
}
# Cells in every order that makes other groups of two and one; candidates from first to last.
ORDERS = [order for order in permutations(range(5)) if order[0] < order[1] and order[2] < order[3]]


def scripts(name):
    """Whatever is released, as far as it can steer what is drawn later."""
    if name == "gs":
        return [{"released": lambda size, o=o: [c for c in o if c < size]} for o in ORDERS[::3]]
    return [{"pick": pick} for pick in range(3)] if name == "dft" else [{}]


@pytest.fixture(scope="module", params=CASES)
def case(request):
    subject, family = CASES[request.param]
    with RememberingEngine() as engine:
        yield Bench(subject, LIMIT, engine), databases(HISTORIES[family], users=2)


@pytest.mark.parametrize("name", BASELINES)
def test_no_part_loses_more_than_its_epsilon(name, case):
    bench, family = case
    baseline = bench.baseline(name)
    parts, reached = baseline.parts(EPSILON), set()
    counted = {database: bench.count(baseline, database) for database in family}
    for script in scripts(name):
        found = {d: events(baseline, counted[d], EPSILON, Held(**script)) for d in counted}
        pairs = [(d, n) for d in found for n in neighbours(d)]
        assert len(pairs) == 24
        for database, other in pairs:
            for part, one, two in zip(parts, found[database], found[other], strict=True):
                epsilon = part.epsilon.value
                assert one.loses_at_most(two, epsilon), (database, other, part)
                if isinstance(one, Vector) and one.loss(two) == epsilon:
                    reached.add(part.name)
    # Nor is there more noise than needed: some user changes each vector by its whole bound. Only
    # distinct cells cannot all be the one that counts most in a transform.
    if not (name == "dft" and bench.subject is USERS):
        assert reached == {part.name for part in parts if part.mechanism == "discrete-laplace"}


def test_every_grouping_of_five_cells_is_among_the_scripts():
    assert len(ORDERS) == 30
