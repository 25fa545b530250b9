"""Counts of ``auto`` are remembered by what was asked, and by nothing less."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.curator.counting.rows import Visits
from crowdtally.curator.request.request import Request, make_request
from crowdtally.curator.steps.auto.design import Design
from crowdtally.curator.steps.auto.questions import AllItems, ChosenItems, Groups
from crowdtally.lab.rehearse import Rehearsal, asked
from crowdtally.noise.draws import SystemDraws
from crowdtally.records.duckdb import DuckDBEngine


def test_questions_that_differ_are_told_apart() -> None:
    design = Design.of(_request())
    some, others = np.array([0, 2]), np.array([0, 3])
    questions = [
        AllItems(design, "items", 2, some), AllItems(design, "items", 3, some),
        AllItems(design, "items", 2, others), AllItems(design, "pilot", 2, some),
        ChosenItems(design, "items", 2, some), ChosenItems(design, "items", 2, others),
        Groups("bins", 2, some, 3), Groups("bins", 2, others, 3), Groups("bins", 2, some, 4),
    ]  # fmt: skip
    assert len({asked(one) for one in questions}) == len(questions)
    again = AllItems(Design.of(_request()), "items", 2, some.copy())
    assert asked(again) == asked(questions[0])


def test_runs_of_one_question_count_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    real = AllItems.count

    def count(self: AllItems, visits: Visits) -> object:
        counted.append(visits.key)
        return real(self, visits)

    monkeypatch.setattr(AllItems, "count", count)
    with DuckDBEngine() as engine:
        rehearsal = Rehearsal(_request(), engine)
        runs = [rehearsal.run(0, SystemDraws()) for _ in range(4)]
        thetas = {run.bounds["items"].limit for run in runs}
        assert len(counted) == len(thetas)
        rehearsal.run(1, SystemDraws())
    assert len(set(counted)) == 2, "another seed has rows of its own"
    tables = [run.table("items") for run in runs]
    values = {tuple(table.values.tolist()) for table in tables if table is not None}
    assert len(values) == len(runs), "noise is drawn anew"


def _request() -> Request:
    records = ct.read(pa.table({"user": [1, 1, 2], "item": [0, 1, 1]}), user="user", item="item")
    return make_request(records, ct.Domain(range(4)), epsilon=1)
