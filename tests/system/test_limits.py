"""Long lists and nested text are read within the memory and time that are stated."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow.parquet
import pytest
from sqlglot import Dialect

import crowdtally as ct
from crowdtally.core.domain import Axis
from crowdtally.core.registry import DEEPEST
from crowdtally.errors import UsageError
from crowdtally.reader.axes import AxisLookup
from crowdtally.reader.conditions import parse
from crowdtally.records.expressions.parse import WHERE, row_expression
from kit.command import INSTALLED

# ---- A list of ten million items works, within the memory that docs/limits.md states -------------


ITEMS = 10_000_000
MEGABYTE = 2**20


@pytest.mark.long
@pytest.mark.parametrize(
    ("item", "most"),
    [("{}", 1500 * MEGABYTE), ("'item number ' || {}", 2500 * MEGABYTE)],
    ids=["integers", "text"],
)
def test_ten_million_items(tmp_path: Path, item: str, most: int) -> None:
    with duckdb.connect() as base:
        value, visited = item.format("range"), item.format(f"(range * 7919 % {ITEMS})")
        base.execute(
            f"COPY (SELECT {value} AS item FROM range({ITEMS})) TO '{tmp_path}/items.parquet'"
        )
        base.execute(
            f"COPY (SELECT 'u' || (range % 1000) AS who, {visited} AS item FROM range(100000)) "
            f"TO '{tmp_path}/records.parquet'"
        )
    arguments = [
        "release", "records.parquet", "--user", "who", "--item", "item", "--items",
        "items.parquet", "--epsilon", "1", "--output", "out", "--method", "sra:max-records=100",
        "--new-dataset",
    ]  # fmt: skip
    env = {**os.environ, "CROWDTALLY_LEDGER": str(tmp_path / "ledger.sqlite")}
    program = subprocess.Popen([str(INSTALLED), *arguments], cwd=tmp_path, env=env)
    _, status, used = os.wait4(program.pid, 0)
    program.returncode = os.waitstatus_to_exitcode(status)
    assert program.returncode == 0
    peak = used.ru_maxrss * 1024
    assert peak < most, f"{peak / MEGABYTE:.0f} MB"

    file = pyarrow.parquet.ParquetFile(tmp_path / "out" / "items.parquet")
    assert file.metadata.num_rows == ITEMS
    items = file.read(columns=["item"])["item"]
    assert items.equals(pyarrow.parquet.read_table(tmp_path / "items.parquet")["item"])
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["items.parquet", "release.json"]
    assert len(ct.load(tmp_path / "out").top(10)) == 10


# ---- Text that anybody can send is read in time that its length bounds, however it is nested -----
#
# A parser that goes back at each bracket takes twice as long with each bracket inside another:
# 150 letters would keep it busy for years. Each text here has its time; one that takes longer
# fails.


LISTS = {name: AxisLookup.of(Axis.of(name, [1, 2, 3])) for name in ("a", "x", "int")}
PER_LETTER, AT_LEAST = 0.005, 5
"""Seconds of the processor: generous on a busy machine, nothing to what doubles with a bracket."""
OPENING = (
    "array[", "[", "(", "case when a then ", "case when ", "cast(", "f(", "f(a, ", "{a: ",
    "map {1: ", "x[", "not ", "not (", "- ", "a between ", "a = ", "a = (", "interval ", "x -> ",
    "f(x -> ", "lambda x: ", "a in (", "date(", "timestamp(", "decimal(", "decimal(1, ", "row(",
    "struct(", "int(", "int[", "1::int[", "(a, ", "a = 1 and (", "a = 1 or not (", "(select ",
    "extract(year from ", "array<", "struct<a ", "1::struct(a ", "cast(1 as struct(a ", "columns(",
    "f() over (order by ", "f() filter (where ", "[x for x in ", "if(", "coalesce(", "exists(",
    "date ", "try_cast(", "unnest(", '"int"(', "a.b(", "varchar(", "'(' || (", "\"(\" = ", "/*",
)  # fmt: skip
CLOSED = {"(": ")", "[": "]", "{": "}"}
KEYWORDS = sorted(
    {word for word in Dialect.get_or_raise("duckdb").tokenizer_class.KEYWORDS if word.strip()}
)


def question(text: str) -> object:
    return parse(text, LISTS)


def expression(text: str) -> object:
    return row_expression(text, WHERE)


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    """Fail after so many seconds of the processor, whatever is being done."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _ends_in_time(read: Callable[[str], object], text: str) -> bool:
    """Whether the text was understood; a refusal is an answer too."""
    try:
        with _within(AT_LEAST + PER_LETTER * len(text)):
            read(text)
    except UsageError:
        return False
    except TimeoutError:
        pytest.fail(f"it takes too long: {text[:200]!r}")
    return True


def _nested(draw: random.Random) -> str:
    """Some constructs inside each other, mostly closed again."""
    few = draw.sample(OPENING, draw.randint(1, 3))
    if draw.random() < 0.4:
        few.append(draw.choice(KEYWORDS) + draw.choice("([{ "))
    opened = draw.choices(few, k=draw.randint(2, 70))
    text = "".join(opened) + draw.choice(["1", "a", "a = 1", "int", "'x'", "1, 2", "*", ""])
    if draw.random() < 0.15:
        return text
    for one in reversed(opened):
        text += " then 1 end" if one == "case when " else " end" if one.startswith("case") else ""
        text += " as int" if one in ("cast(", "try_cast(") else ""
        text += " and 2" if one == "a between " else ""
        text += "".join(CLOSED.get(letter, "") for letter in reversed(one))
        text += draw.choice([" and a = 1", ", 1", " + 1", "::int"]) if draw.random() < 0.1 else ""
    return text


@pytest.mark.parametrize("read", [question, expression])
@pytest.mark.parametrize("seed", range(4))
def test_nested_constructs_are_read_in_time(read: Callable[[str], object], seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(400):
        _ends_in_time(read, _nested(draw)[:2000])


@pytest.mark.parametrize("read", [question, expression])
@pytest.mark.parametrize("opening", ["(", "[", "(a, "])
def test_brackets_behind_every_word_are_read_in_time(
    read: Callable[[str], object], opening: str
) -> None:
    for word in (*KEYWORDS, *OPENING):
        _ends_in_time(read, f"{word}{opening}" * 24 + "1" + CLOSED[opening[0]] * 24)


@pytest.mark.parametrize("read", [question, expression])
@pytest.mark.parametrize("opening", ["(", "not ("])
def test_parentheses_that_a_person_could_type_are_understood(
    read: Callable[[str], object], opening: str
) -> None:
    depth = DEEPEST if opening == "(" else DEEPEST // 2  # sqlglot's stack is deeper behind a NOT
    assert _ends_in_time(read, opening * depth + "a = 1" + ")" * depth)
    assert not _ends_in_time(read, opening * (DEEPEST + 1) + "a = 1" + ")" * (DEEPEST + 1))


@pytest.mark.parametrize(
    ("text", "understood"),
    [
        ("array[array[array[1]]] = a", True),
        ("array[array[array[array[1]]]] = a", False),
        ("date(lower(date(lower(date(a))))) = a", True),
        ("date(lower(date(lower(date(lower(date(a))))))) = a", False),
        ("date(a) = 1 and date(a) = 1 and date(a) = 1 and date(a) = 1 and date(a) = 1", True),
        # What looks like a bracket inside a text or a name closes nothing.
        ("date(')' || date(\")\" || date(')' || date(a)))) = a", False),
        ("/* ((((((( */ a = 1", True),
    ],
)
def test_brackets_that_are_read_twice_may_be_three_deep(text: str, understood: bool) -> None:
    assert _ends_in_time(expression, text) is understood
    if not understood:
        with pytest.raises(UsageError, match="nested too deeply"):
            expression(text)


def test_a_question_of_any_length_is_read_in_time() -> None:
    """A condition has as many values as a command line takes: 20 microseconds for each letter."""
    some = {
        "nots": "not " * 25_000 + "a = 1",
        "ors": "a = 1 or " * 10_000 + "a = 1",
        "values": f"a in ({'1,' * 40_000}1)",
        "quotation marks": "a = " + "''" * 50_000,
        "an open one": "a = '" + "''" * 50_000,
        "blanks": "a" + " " * 100_000 + "= 1",
        "a number": "a = " + "9" * 100_000,
        "a name": "b" * 100_000 + " = 1",
        "signs": "=" * 100_000,
        "minus signs": "a = " + "-" * 100_000 + "1",
        "functions": "f(" * DEEPEST + "1," * 40_000 + ")" * DEEPEST + " = 1",
    }
    for name, text in some.items():
        begun = time.process_time()
        _ends_in_time(question, text)
        assert time.process_time() - begun < 20e-6 * len(text), name
    with pytest.raises(UsageError, match="more than 100,000 words and values"):
        question("a = 1 or " * 50_000 + "a = 1")
