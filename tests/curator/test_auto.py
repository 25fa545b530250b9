"""The method ``auto``: its questions follow from public parameters and noisy answers alone."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from crowdtally.core.counts import Counts, Memberships
from crowdtally.core.domain import Domain
from crowdtally.core.privacy import Delta, Epsilon, Rho
from crowdtally.curator.bounding.auto import Auto
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.converse import Released
from crowdtally.curator.method import method_of
from crowdtally.curator.methods.auto import AutoMethod, Design, Outcome, outcome_of
from crowdtally.curator.request.declare import declare
from crowdtally.curator.request.request import Request, make_request
from crowdtally.curator.row_questions import Inside, Lengths, RowQuestion, Scaled, UsersInside
from crowdtally.curator.table import AnyTable, Measured
from crowdtally.errors import UsageError
from crowdtally.inference.rows import BINS, LARGEST_BOUND, bin_of
from crowdtally.laws.conversion import rho_of
from crowdtally.noise.draws import SystemDraws

# ---- A method, answered with made-up numbers: there are no records -------------------------------


EPSILON = Fraction(2)
ONCE: dict[str, Any] = {"repeats": False}
BY_DAY: dict[str, Any] = {"aim": "recommend", "context_per_user": "day"}
SHORT, LONG = {1: 10**6, 3: 10**6}, {1: 900, 4: 900, 7: 900, 12: 900, 20: 900, 40: 900}
RICH = {length: users * 10 for length, users in LONG.items()}
"""How many users the first table says to have rows of which length."""


TOLD = ("aim", "repeats", "context_per_user")
"""What auto itself is told."""


def request_of(items: int = 2000, days: int = 0, **options: Any) -> Request:
    named = {"day": [f"day {n}" for n in range(days)]} if days else {}
    records = declare(pa.table({}), user="user", item="item", contexts=list(named))
    given = {name: value for name, value in options.items() if name not in TOLD}
    told = {name: value for name, value in options.items() if name in TOLD}
    if told:
        given["method"] = Auto(**told)
    return make_request(records, Domain(range(items), named), **{"epsilon": EPSILON, **given})


@dataclass
class MadeUp(SystemDraws):
    """Instead of noise: row lengths in the first table; then what the test says of each table."""

    lengths: dict[int, int]
    later: dict[int, np.ndarray] = field(default_factory=dict)
    """By the number of the draw."""
    asked: list[tuple[str, Fraction, int]] = field(default_factory=list)
    """Each draw: its law, its parameter, and of how many numbers."""

    def __post_init__(self) -> None:
        super().__init__()

    def _made(self, law: str, parameter: Fraction, size: int) -> np.ndarray:
        self.asked.append((law, parameter, size))
        number = len(self.asked)
        if number > 1:
            return self.later.get(number, np.zeros(size, dtype=np.int64))
        bins = np.zeros(size, dtype=np.int64)
        for length, users in self.lengths.items():
            bins[bin_of(length)] += users
        return bins

    def laplace(self, scale: Fraction, size: int) -> Any:
        return self._made("laplace", scale, size)

    def gaussian(self, variance: Fraction, size: int) -> Any:
        return self._made("gaussian", variance, size)

    def interval(self, rate: Fraction, size: int) -> Any:
        return self._made("interval", rate, size)


def nothing(table: AnyTable) -> Counts | Memberships:
    """The counts of a table if there are no records."""
    size = table.cells.size
    if isinstance(table, Measured) or type(table).__name__ == "MembersTable":
        return Memberships.of(size, [], [])
    return Counts(size, [], [], table.l1_bound, table.unit, squared=table.l2_squared)


@dataclass
class Run:
    """A whole conversation."""

    questions: list[RowQuestion]
    answers: list[Any]
    outcome: Outcome

    def tables(self, place: int) -> list[str]:
        return [table.name for table in self.questions[place].tables]

    def measure(self, name: str) -> Any:
        """What a table measures."""
        for question in self.questions:
            for table, measure in zip(question.tables, question.measures, strict=True):
                if table.name == name:
                    return measure
        raise AssertionError(f"there is no table {name}")


def run(request: Request, draws: MadeUp) -> Run:
    asking = method_of(request).ask()
    question: Any = next(asking)
    made = Run([], [], Outcome())
    while True:
        made.questions.append(question)
        made.answers.append(question.draw([nothing(one) for one in question.tables], draws))
        try:
            question = asking.send(made.answers[-1])
        except StopIteration as end:
            return replace(made, outcome=end.value)


PATHS: dict[str, tuple[dict[str, Any], dict[int, int], list[list[str]]]] = {
    "short": ({}, SHORT, [["sizes"], ["items"]]),
    "long": ({}, LONG, [["sizes"], ["items", "total"], ["head_rows"]]),
    "weak": ({}, {}, [["sizes"], ["items", "total"], ["zoom"], ["head_rows"]]),
    "weak, few items": ({"items": 29}, {}, [["sizes"], ["items", "total"], ["head_rows"]]),
    "once": (ONCE, LONG, [["sizes"], ["items", "total"], ["head"]]),
    "few items": ({"items": 3}, {}, [["sizes"], ["items", "total"]]),
    "rich": (
        ONCE, RICH, [["sizes"], ["pilot_short", "pilot"], ["items", "total"], ["head"]],
    ),
    "rich, in two classes": (
        {"items": 60}, LONG, [["sizes"], ["pilot_short", "pilot"], ["items", "items_short"]],
    ),
    "rich, in contexts": (
        {"items": 60, "days": 2}, RICH,
        [["sizes"], ["pilot_short", "pilot"], ["items", "edges", "contexts"]],
    ),
    "contexts": (
        {"days": 2}, LONG, [["sizes"], ["items", "total", "edges", "contexts"], ["head_rows"]],
    ),
    "top, once": (
        {"aim": "top", **ONCE}, RICH, [["sizes"], ["items", "total"], ["head"]],
    ),
    "recommend": (
        {"days": 2, "aim": "recommend"}, LONG,
        [["sizes"], ["items", "total", "edges", "contexts"], ["head_rows"]],
    ),
    "recommend, once": (
        {"days": 2, **ONCE, "aim": "recommend"}, LONG,
        [["sizes"], ["items", "total", "edges", "contexts"], ["head"]],
    ),
    "recommend by user": (
        {"days": 2, **BY_DAY, **ONCE}, LONG,
        [["sizes"], ["items", "total", "edges", "contexts"], ["head"]],
    ),
    "zoom": (
        {"items": 60_000}, LONG, [["sizes"], ["items", "total"], ["zoom"], ["head_rows"]],
    ),
    "sparse": ({"items": 2**22 + 9}, RICH, [["sizes"], ["items", "total"]]),
}  # fmt: skip


@pytest.mark.parametrize("name", PATHS)
def test_tables_that_are_known_at_once_are_one_question(name: str) -> None:
    options, lengths, wanted = PATHS[name]
    made = run(request_of(**options), MadeUp(lengths))
    assert [made.tables(place) for place in range(len(made.questions))] == wanted
    first = made.questions[0]
    assert first.measures == (Lengths(),)
    assert first.tables[0].cells.size == BINS
    assert len(made.questions) <= 4 == method_of(request_of()).questions


@pytest.mark.parametrize("name", [name for name in PATHS if name != "sparse"])
def test_each_table_has_a_draw_of_its_own_at_its_own_price(name: str) -> None:
    """One noise for two tables, or none for one of them, would tell what no price was paid for."""
    options, lengths, _ = PATHS[name]
    draws = MadeUp(lengths)
    made = run(request_of(**options), draws)
    tables = [table for question in made.questions for table in question.tables]
    wanted: list[tuple[str, Fraction, int]] = []
    for table in tables:
        if isinstance(table, Measured):
            each = ("interval", table.epsilon.value, table.cells.size // table.blocks)
            wanted += [(each[0], each[1], each[2] + table.phantoms)] * table.blocks
        else:
            wanted.append(("laplace", table.l1_bound / table.epsilon.value, table.cells.size))
    assert draws.asked == wanted


@pytest.mark.parametrize("name", PATHS)
def test_the_same_answers_give_equal_questions(name: str) -> None:
    """And of the next question nothing follows but from the answers before it."""
    options, lengths, _ = PATHS[name]
    request = request_of(**options)
    made = run(request, MadeUp(lengths))
    for end in range(len(made.questions)):
        asking = AutoMethod(Design.of(request)).ask()
        question: Any = next(asking)
        for answer in made.answers[:end]:
            question = asking.send(answer)
        assert question == made.questions[end]
        assert question.parts() == made.questions[end].parts()
    other = run(request, MadeUp({9: 10**7, 200: 10**6}))
    assert other.questions[0] == made.questions[0]
    assert name == "sparse" or other.questions[1:] != made.questions[1:]


def test_few_users_of_many_attributes_are_released_too() -> None:
    """Their table has another name than that of items, and is looked at again by it."""
    records = declare(pa.table({}), user="user", attributes=["age", "zone"])
    domain = Domain(attributes={"age": range(10), "zone": range(8)})
    made = run(make_request(records, domain, epsilon=1), MadeUp({}))
    assert made.tables(1) == ["cells", "total"]
    assert made.tables(len(made.questions) - 1) == ["head_rows"]


# ---- what is public decides, and nothing else ----------------------------------------------------


def test_users_are_counted_where_each_is_in_a_cell_once() -> None:
    """By what is declared, never by what the answers look like."""
    for repeats, measure in ((False, UsersInside), (True, Inside)):
        made = run(request_of(repeats=repeats), MadeUp(LONG))
        assert isinstance(made.questions[-1].measures[0], measure)
        assert not made.measure("items").by_norm  # in L1 such a row is long
        assert all(question.rows.repeats == repeats for question in made.questions)
    for options in ({"aim": "recommend"}, BY_DAY):
        made = run(request_of(days=2, **ONCE, **options), MadeUp(LONG))
        assert made.questions[-1].rows.per_user == (options is BY_DAY)


def test_the_pilot_and_two_classes() -> None:
    """A user of the pilot is in one of both tables; also in contexts, where the items have one."""
    tastes = np.zeros(300, dtype=np.int64)
    tastes[150:] = 10**4 * 2**20
    for days in (0, 2):
        made = run(request_of(300, days), MadeUp(LONG, {2: tastes, 3: tastes[::-1].copy()}))
        assert (made.outcome.path, made.outcome.rich) == ("rich", True)
        assert made.outcome.kappa > 1
        short, long = made.measure("pilot_short"), made.measure("pilot")
        assert short.only_to == short.to == long.above < long.to
        assert [part.name for part in made.questions[1].parts()] == ["pilot"]
        assert ("items_short" in made.tables(2)) == (days == 0)
        if days == 0:
            short, long = made.measure("items_short"), made.measure("items")
            assert short.only_to == short.to == long.above < long.to
            assert [part.name for part in made.questions[2].parts()] == ["items"]
        else:
            assert made.measure("items") == Scaled(made.measure("edges").to)
            assert made.measure("contexts") == Scaled(made.measure("edges").to, "contexts")


def test_a_histogram_that_says_nothing_takes_a_bound_of_eight() -> None:
    assert run(request_of(), MadeUp({})).measure("items") == Scaled(8)
    assert run(request_of(), MadeUp({2: 10**6, 5: 10**6})).measure("items") == Scaled(5)


def test_the_head_has_the_largest_items_of_the_answers() -> None:
    noisy = np.zeros(2000, dtype=np.int64)
    noisy[[700, 3, 1999]] = np.array([900, 800, 700]) * 2**20
    made = run(request_of(**ONCE), MadeUp(LONG, {2: noisy}))
    places = made.questions[-1].measures[0].places
    assert {3, 700, 1999} <= set(places)
    assert list(places) == sorted(set(places))
    assert len(places) == 16
    assert made.questions[-1].tables[0].cells.places.tolist() == list(places)


# ---- what is charged -----------------------------------------------------------------------------


def test_the_charge_is_the_whole() -> None:
    parts = {
        name: method_of(request_of(**options)).parts
        for name, options in {
            "pure": {}, "turned": {"delta": "1e-6"},
            "gaussian": {"delta": "1e-6", "noise": "gaussian"},
        }.items()
    }  # fmt: skip
    assert all(len(found) == 1 for found in parts.values())
    (pure,), (turned,), (gaussian,) = parts.values()
    assert (pure.epsilon, pure.rho, pure.delta) == (Epsilon(EPSILON), None, Delta())
    assert (turned.epsilon, turned.rho, turned.delta) == (Epsilon(EPSILON), None, Delta.of("1e-6"))
    assert gaussian.epsilon is None
    assert gaussian.rho == Rho(rho_of(EPSILON, Delta.of("1e-6")))
    assert {part.mechanism for (part,) in parts.values()} == {"adaptive"}


def test_tables_in_rho_have_gaussian_noise_of_their_l2_bound() -> None:
    for options in ({}, ONCE):
        draws = MadeUp(RICH)
        made = run(request_of(200, 2, delta="1e-6", noise="gaussian", **options), draws)
        tables = [table for question in made.questions for table in question.tables]
        variances = [table.l2_squared / (2 * table.price.value) for table in tables]
        assert [("gaussian", v, t.cells.size) for t, v in zip(tables, variances, strict=True)] == (
            draws.asked
        )
        g, theta = 2**20, made.measure("items").to
        found = {table.name: table.l2_squared for table in tables}
        assert found["items"] == found["edges"] == g**2 * (theta if options else theta**2)
        assert found["contexts"] == g**2 * made.measure("contexts").to ** 2
        assert made.measure("items").by_norm == made.measure("edges").by_norm == bool(options)
        assert made.measure("contexts").to == (15 if options else theta)  # the mean row
        assert found["sizes"] == 1


def test_epsilon_is_turned_into_rho_where_that_errs_less() -> None:
    few, many = (
        run(request_of(400, delta="1e-6", **ONCE), MadeUp(lengths))
        for lengths in ({1: 10**5, 2: 10**5}, {40: 10**5, 100: 10**5, 60: 10**5})
    )
    assert few.outcome.rho is None
    assert many.outcome.rho == Rho(rho_of(EPSILON * Fraction(39, 40), Delta.of("1e-6")))
    assert many.outcome.as_dict()["auto"]["rho"]
    kinds = [[type(table.price) for table in question.tables] for question in many.questions]
    assert kinds[0] == [Epsilon]
    assert {kind for later in kinds[1:] for kind in later} == {Rho}


# ---- what is said of it, and what is refused -----------------------------------------------------


def test_what_a_release_says_of_itself() -> None:
    made = run(request_of(8, epsilon=1), MadeUp(SHORT))
    said = made.outcome.as_dict()
    assert said == json.loads(json.dumps(said))
    assert said["bounds"] == {"items": {"bound": 3, "scaling": "1"}}
    assert {key: said["auto"][key] for key in ("path", "rich", "kappa")} == {
        "path": "short", "rich": False, "kappa": "0.550",
    }  # fmt: skip
    steps = said["auto"]["steps"]
    assert [(one["name"], one["epsilon"], one.get("theta")) for one in steps] == [
        ("sizes", "0.025", None), ("items", "0.975", 3),
    ]  # fmt: skip
    assert all(one["why"] for one in steps)
    assert "rho" not in said["auto"]
    assert outcome_of(Released((), made.outcome)) is made.outcome


def test_only_auto_has_such_facts() -> None:
    with pytest.raises(TypeError, match="only a release of auto"):
        outcome_of(Released())
    with pytest.raises(TypeError, match="leaves its method to auto"):
        Design.of(request_of(method=SRA(3)))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"split": {"items": "1"}}, "auto divides epsilon itself"),
        ({"aim": "recommend"}, "context"),
        ({"count": "users", "repeats": True}, "repeats"),
        ({"repeats": False, "noise": "interval", "count": "users"}, "remove --method"),
        ({"context_per_user": "day"}, "there are no contexts"),
    ],
)
def test_refusals(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        request_of(**options)


def test_questions_hold_nothing_but_what_is_public() -> None:
    """Tables, measures and rows: what is counted is told by numbers."""
    for question in run(request_of(**ONCE), MadeUp(RICH)).questions:
        assert set(vars(question)) == {"tables", "sizes", "rows", "measures"}
        told = [value for one in question.measures for value in vars(one).values()]
        assert all(isinstance(value, int | str | tuple | None) for value in told)
        assert hash(question) == hash(replace(question))


@pytest.mark.parametrize("number", [-(2**62), 2**62])
@pytest.mark.parametrize("options", [{}, {"days": 2, **BY_DAY, **ONCE}, {"items": 40}])
@pytest.mark.parametrize("lengths", [{}, RICH, {1: 2**61}, {16_000: 10**9, 9_000: 10**9}])
def test_any_answer_is_followed_by_questions_within_64_bits(
    lengths: dict[int, int], options: dict[str, Any], number: int
) -> None:
    """An answer that no sane noise gives is as public as any other, and stops no release."""
    later = {
        place: np.resize([number, *signs], 10**4)
        for place, signs in enumerate(([number], [0, 1], [-number], [1]), start=2)
    }

    class Extreme(MadeUp):
        def _made(self, law: str, parameter: Fraction, size: int) -> np.ndarray:
            return super()._made(law, parameter, size)[:size]

    made = run(request_of(**options), Extreme(lengths, later))
    for question in made.questions:
        for measure in question.measures:
            to = getattr(measure, "to", getattr(measure, "most", 1))
            assert 1 <= to <= LARGEST_BOUND
