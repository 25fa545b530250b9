"""Conditions as text against brute force over every cell of a small domain; and what is refused."""

from __future__ import annotations

import operator
from itertools import product
from math import prod

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from crowdtally.core.domain import Axis
from crowdtally.errors import UsageError
from crowdtally.reader import conditions
from crowdtally.reader.axes import AxisLookup
from crowdtally.reader.conditions import Among, boxes, every, negated, pieces, some
from crowdtally.reader.conditions import parse as stated

LISTS = {
    "age": [-3, 0, 10, 20, 35],
    "level": ["low", "mid", "it's high", "Ünder"],
    "zip": [30, 10, 20],
    "marital-status": ["yes", "no"],
}
NAMES = list(LISTS)
AXES = {name: AxisLookup.of(Axis.of(name, values)) for name, values in LISTS.items()}
CELLS = [dict(zip(NAMES, cell, strict=True)) for cell in product(*LISTS.values())]
SIGNS = {
    "=": operator.eq, "==": operator.eq, "!=": operator.ne, "<>": operator.ne,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def spelled(value) -> str:
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


def parse(text, lists):
    """The condition alone; which columns are named is at stake in test_asked_tables."""
    return stated(text, lists).condition


def place(name, value):
    """Where a value stands in the order that ranges go by; integers may stand between others."""
    return value if isinstance(value, int) else LISTS[name].index(value)


@st.composite
def comparisons(draw):
    """A text, and the function of a cell that it means."""
    name = draw(st.sampled_from(NAMES))
    column = f'"{name}"' if "-" in name else name
    value = st.sampled_from(LISTS[name])
    signs = ["=", "==", "!=", "<>"]
    if name != "zip":  # not in ascending order: no ranges
        signs += ["<", "<=", ">", ">=", "between", "not between"]
    sign = draw(st.sampled_from([*signs, "in", "not in"]))
    bound = st.integers(-10, 50) if name == "age" and sign not in ("=", "==", "!=", "<>") else value
    if "in" in sign.split():
        chosen = draw(st.lists(value, min_size=1, max_size=4))
        text = f"{column} {sign} ({', '.join(map(spelled, chosen))})"
        return text, lambda cell: (cell[name] in chosen) != ("not" in sign)
    if "between" in sign:
        low, high = draw(bound), draw(bound)
        text = f"{column} {sign} {spelled(low)} AND {spelled(high)}"
        ends = place(name, low), place(name, high)
        return text, lambda cell: (ends[0] <= place(name, cell[name]) <= ends[1]) != ("not" in sign)
    wanted = draw(bound)
    meaning = SIGNS[sign]
    if draw(st.booleans()):
        text = f"{column} {sign} {spelled(wanted)}"
    else:
        text = f"{spelled(wanted)} {MIRRORED.get(sign, sign)} ({column})"
    return text, lambda cell: meaning(place(name, cell[name]), place(name, wanted))


def joined(parts):
    @st.composite
    def join(draw):
        found = draw(st.lists(parts, min_size=2, max_size=3))
        word, how = draw(st.sampled_from([(" and ", all), (" OR ", any)]))
        text = word.join(f"({text})" for text, _ in found)
        return text, lambda cell: how(means(cell) for _, means in found)

    return join() | parts.map(lambda p: (f"NOT ({p[0]})", lambda cell: not p[1](cell)))


CONDITIONS = st.recursive(comparisons(), joined, max_leaves=8)


def cells_in(box) -> list[tuple[int, ...]]:
    """The positions of a box's cells."""
    masks = [box.get(name, np.ones(len(AXES[name]), dtype=bool)) for name in NAMES]
    return list(product(*(np.flatnonzero(mask).tolist() for mask in masks)))


def size_of(box) -> int:
    return prod(int(box[n].sum()) if n in box else len(AXES[n]) for n in NAMES)


POSITIONS = list(product(*(range(len(values)) for values in LISTS.values())))


def says_what_it_means(made, order) -> bool:
    """Whether the boxes of a condition hold its cells: none is missing, none is in two of them."""
    text, means = made
    wanted = [place for place, cell in zip(POSITIONS, CELLS, strict=True) if means(cell)]
    found = boxes(parse(text, AXES), order)
    listed = sorted(cell for box in found for cell in cells_in(box))
    return listed == wanted and sum(map(size_of, found)) == len(wanted)


@settings(max_examples=300, deadline=None)
@given(CONDITIONS, st.permutations(NAMES))
def test_a_condition_means_what_it_says(made, order):
    assert says_what_it_means(made, order), made[0]


@settings(max_examples=100, deadline=None)
@given(CONDITIONS)
def test_negation_holds_for_the_other_cells(made):
    meant = parse(made[0], AXES)
    both = [boxes(meant, NAMES), boxes(negated(meant), NAMES)]
    listed = sorted(cell for half in both for box in half for cell in cells_in(box))
    assert listed == POSITIONS


@settings(max_examples=40, deadline=None)
@given(CONDITIONS, st.permutations(NAMES))
def test_values_of_the_last_axis_stay_together(made, order):
    """So a range of an ordered axis is asked for whole: no two differ in the last axis only."""
    seen = set()
    for box in boxes(parse(made[0], AXES), order):
        before = tuple(box[name].tobytes() if name in box else b"" for name in order[:-1])
        assert before not in seen
        seen.add(before)


def test_a_conjunction_is_one_box():
    meant = parse("age between 0 and 20 and level in ('low', 'mid') and not zip = 10", AXES)
    (box,) = boxes(meant, NAMES)
    assert {name: mask.astype(int).tolist() for name, mask in box.items()} == {
        "age": [0, 1, 1, 1, 0], "level": [1, 1, 0, 0], "zip": [1, 0, 1],
    }  # fmt: skip


def test_forty_attributes_are_counted_exactly():
    """'One of forty is 0' holds for 10^40 − 9^40 cells, in forty boxes."""
    lists = {f"a{i}": AxisLookup.of(Axis.of(f"a{i}", range(10))) for i in range(40)}
    meant = parse(" or ".join(f"a{i} = 0" for i in range(40)), lists)
    found = boxes(meant, list(lists))
    assert len(found) == 40
    sizes = [prod(int(box[n].sum()) if n in box else 10 for n in lists) for box in found]
    assert sum(sizes) == 10**40 - 9**40


def test_a_condition_in_too_many_pieces_is_refused():
    lists = {f"a{i}": AxisLookup.of(Axis.of(f"a{i}", range(2))) for i in range(24)}
    pairs = " and ".join(f"(a{i} = 0 or a{i + 1} = 0)" for i in range(0, 24, 2))
    with pytest.raises(UsageError, match="more than 1000 separate boxes"):
        boxes(parse(pairs, lists), list(lists))


def test_a_contradiction_behind_many_pieces_is_found():
    """Half a million ways through the first axes all end in nothing."""
    lists = {f"a{i}": AxisLookup.of(Axis.of(f"a{i}", range(2))) for i in range(40)}
    pairs = " and ".join(f"(a{i} = 0 or a{i + 1} = 0)" for i in range(0, 40, 2))
    assert boxes(parse(f"{pairs} and (a38 = 1 and a39 = 1)", lists), list(lists)) == []


def test_thousands_of_values_are_one_test():
    lists = {"n": AxisLookup.of(Axis.of("n", range(3000)))}
    meant = parse(" or ".join(f"n = {i}" for i in range(0, 3000, 2)), lists)
    assert isinstance(meant, Among)
    assert meant.mask.sum() == 1500


def test_parts_without_a_doubt_disappear():
    age = Among("age", np.array([True, False]))
    nothing = Among("age", np.array([False, False]))
    assert every([]) is True
    assert some([]) is False
    assert some([age, negated(age)]) is True
    assert every([age, negated(age)]) is False
    assert every([nothing, Among("b", np.ones(2, bool))]) is False
    assert [test.axis for test in pieces(every([age, Among("b", np.array([True, False]))]))] == [
        "age", "b",
    ]  # fmt: skip


REFUSED = {
    "": "condition is empty",
    "   ": "condition is empty",
    "ag = 3": "no column 'ag'. Did you mean 'age'",
    "count > 3": "no column 'count'",
    "level = 'hi'": "no value 'hi'",
    "level = 'Low'": "Did you mean 'low'",
    "level < 'hi'": "no value 'hi'",
    "age = 11": "no value 11",
    "age != 11": "no value 11",
    "age in (10, 11)": "no value 11",
    "age = '10'": "'age' holds whole numbers",
    "age < '10'": "'age' holds whole numbers",
    "level = 3": "'level' holds text",
    "level between 1 and 2": "'level' holds text",
    "zip < 20": "not listed in ascending order",
    "zip between 10 and 20": "not listed in ascending order",
    "age = 10.5": "text in single quotes or a whole number",
    "age < 1e1": "text in single quotes or a whole number",
    "age = true": "text in single quotes or a whole number",
    "age = null": "text in single quotes or a whole number",
    "age = 9" + "9" * 5000: "text in single quotes or a whole number",
    "age = ?": "text in single quotes or a whole number",
    "age = $1": "text in single quotes or a whole number",
    "age = cast('10' as int)": "text in single quotes or a whole number",
    "age = 5 + 5": "text in single quotes or a whole number",
    "age = (select 10)": "text in single quotes or a whole number",
    "level = -'low'": "text in single quotes or a whole number",
    'level = "low"': "text stands in single quotes, 'low'",
    "age = zip": "A column is compared with values",
    "marital-status = 'yes'": 'in double quotes: "marital-status"',
    "abs(age) = 10": "Functions, arithmetic and subqueries are not understood",
    "age + 1 = 10": "Functions, arithmetic and subqueries are not understood",
    "-age = 10": "Functions, arithmetic and subqueries are not understood",
    "t.age = 10": "Functions, arithmetic and subqueries are not understood",
    "10 = 10": "Functions, arithmetic and subqueries are not understood",
    "read_text('x') = 'a'": "Functions, arithmetic and subqueries are not understood",
    "(age, zip) in ((10, 10))": "Functions, arithmetic and subqueries are not understood",
    "age": "not a condition that is understood",
    "age = 10 and level": "not a condition that is understood",
    "true": "not a condition that is understood",
    "level like 'l%'": "not a condition that is understood",
    "age is null": "not a condition that is understood",
    "age in (select 10)": "text in single quotes or a whole number",
    "age in ()": "cannot be read",
    "age in 10": "cannot be read",
    "age in (10,)": "cannot be read",
    "age in (10 = 10)": "cannot be read",
    "age between 10 or 20": "cannot be read",
    "age between symmetric 20 and 10": "text in single quotes or a whole number",
    "exists (select 1)": "not a condition that is understood",
    "case when age = 10 then true end": "Functions, arithmetic and subqueries are not understood",
    "not age": "not a condition that is understood",
    "(age) or age = 10": "not a condition that is understood",
    "select 1": "not a condition that is understood",
    "drop table t": "not a condition that is understood",
    "age = 10 order by age": "text in single quotes or a whole number",
    "age = 10 = 10": "cannot be read",
    "(age = 10) zip = 10": "cannot be read",
    "(age = 10, zip = 10)": "cannot be read",
    "age not = 10": "cannot be read",
    "age = 10)": "cannot be read",
    ")(": "cannot be read",
    "=": "cannot be read",
    "age = \"x": "cannot be read",
    "age = 10; zip = 10": "give one condition",
    "age =": "cannot be read",
    "age = 10 or": "cannot be read",
    "age = 'x": "cannot be read",
    "(age = 10": "cannot be read",
    "(" * 20000 + "age = 10" + ")" * 20000: "nested too deeply",
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: repr(text[:40]))
def test_what_is_not_a_condition_is_refused_with_a_reason(text):
    with pytest.raises(UsageError) as raised:
        parse(text, AXES)
    assert REFUSED[text] in str(raised.value)


@pytest.mark.parametrize("name", ["copy", "set", "show", "order", "user", "date", "left", "count_"])
def test_columns_that_are_words_of_sql(name):
    """A condition is not a statement, so words that start one are names like others."""
    lists = {name: AxisLookup.of(Axis.of(name, ["a", "b"]))}
    meant = parse(f"{name} = 'b'", lists)
    assert isinstance(meant, Among)
    assert meant.mask.tolist() == [False, True]


def test_a_misspelled_value_of_a_long_list_is_found_at_once():
    lists = {
        "place": AxisLookup.of(
            Axis.of("place", [f"place {i}" for i in range(50_000)] + ["Harbour"])
        )
    }
    with pytest.raises(UsageError, match="Did you mean 'Harbour'"):
        parse("place = 'Harbor'", lists)


@pytest.mark.parametrize("sign", ["<", "<=", ">", ">="])
def test_numbers_beyond_64_bits_are_compared_exactly(sign):
    ends = [-(2**63), -1, 2**63 - 1]
    lists = {"n": AxisLookup.of(Axis.of("n", ends))}
    for value in (*ends, 2**63, -(2**63) - 1, 10**30):
        meant = parse(f"n {sign} {value}", lists)
        wanted = [SIGNS[sign](end, value) for end in ends]
        assert isinstance(meant, Among)
        assert meant.mask.tolist() == wanted


# Mutants: a condition whose pieces overlap, or that forgets one, must not pass the tests above.


def _forgets_the_last_case(stated, axis, cases=conditions._cases):
    return cases(stated, axis)[:-1]


def _takes_each_value_whole(stated, axis, cases=conditions._cases):
    return [(left, np.ones_like(mask)) for left, mask in cases(stated, axis)]


@pytest.mark.parametrize("mutant", [_forgets_the_last_case, _takes_each_value_whole])
def test_wrong_boxes_are_caught(monkeypatch, mutant):
    monkeypatch.setattr(conditions, "_cases", mutant)
    quick = settings(max_examples=300, deadline=None, phases=[Phase.generate])
    wrong = find(
        st.tuples(CONDITIONS, st.permutations(NAMES)),
        lambda asked: not says_what_it_means(*asked),
        settings=quick,
    )
    assert wrong
