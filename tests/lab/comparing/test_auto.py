"""``auto`` among the methods that are compared, judged by the reader's estimates."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.core.domain import Domain
from crowdtally.core.records import Records
from crowdtally.curator.request.request import make_subject
from crowdtally.errors import UsageError
from crowdtally.lab.comparison.advice import lines
from crowdtally.lab.comparison.compare import Question, compared
from crowdtally.lab.comparison.plan import DENSE

ITEMS = 30


def records() -> tuple[Records, Domain]:
    rng = np.random.default_rng(1)
    users = np.repeat(np.arange(2_000), 8)
    items = (ITEMS * rng.random(len(users)) ** 2).astype(np.int64)
    table = pa.table({"user": users, "item": items, "day": np.array(["x", "y"])[users % 2]})
    read = ct.read(table, user="user", item="item", contexts=["day"])
    return read, ct.Domain(range(ITEMS), {"day": ["x", "y"]})


def test_auto_is_compared_by_what_a_reader_estimates(tmp_path: Path) -> None:
    question = Question.of(
        epsilon=1, methods="auto,sra", max_records=1, runs=2, jobs=1,
        options={"for_": "top", "context_per_user": "day"},
    )  # fmt: skip
    found = compared(make_subject(*records()), question, tmp_path, called="here")
    by_table = {(one.setting.method, one.table, one.metric): one for one in found.summaries}
    for table in ("items", "edges"):
        auto, sra = (by_table[method, table, "mae"] for method in ("auto", "sra"))
        assert auto.setting.max_records is None
        assert auto.runs == sra.runs == 2
        assert 0 < auto.mean < sra.mean, "estimates are of all records"
    shown = [line.split()[:2] for line in lines(found.summaries, found.facts)]
    assert ["auto", "own"] in shown
    assert found.facts.options["auto"] == "--for top --context-per-user day"


def test_auto_is_the_first_method_where_none_is_named() -> None:
    assert DENSE[0] == "auto"


def test_no_other_method_takes_what_auto_is_told() -> None:
    with pytest.raises(UsageError, match=r"no method that is compared takes for_"):
        ct.lab.compare(*records(), epsilon=1, methods="sra", runs=2, jobs=1, for_="top")
