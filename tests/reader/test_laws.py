"""A second noise law is one class: the reader asks the table's law, whichever it is."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, sqrt
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pytest

import crowdtally as ct
from crowdtally import reader
from crowdtally.core.counts import Keeping
from crowdtally.core.domain import Axis
from crowdtally.core.layout import grid
from crowdtally.core.numbers import recorded, show
from crowdtally.core.privacy import Price
from crowdtally.format import NoisyTable, staging
from crowdtally.laws import registry
from crowdtally.laws.base import ONE_CELL, ONE_LINE, Combination, EmptyCell, Terms
from crowdtally.laws.laplace import DiscreteLaplace
from kit.damage import edit
from kit.draws import SilentDraws
from kit.publishing import made, visits
from kit.releases import redrawn


@dataclass(frozen=True)
class HalfCorrelated:
    """Every two cells have correlation 1/2: X_i = (Y_i + Y_0)/√2 with independent Y of variance v.

    Var Σ a_i·X_i = v·(Σ a_i² + (Σ a_i)²)/2, and v = scale² here.
    """

    kind: ClassVar[str] = "toy"
    per_cell: ClassVar[bool] = False
    bounded_by: ClassVar[str] = "l1"
    drawn_together: ClassVar[bool] = True
    blocks: ClassVar[int] = 1
    words: ClassVar[str] = "toy: every two cells have correlation 1/2"

    scale: Fraction
    unit: Fraction = Fraction(1)

    def std(self, of: Combination = ONE_CELL) -> float:
        return float(self.scale * self.unit) * sqrt((of.squares + of.total**2) / 2)

    def half_width(self, level: Fraction, cells: int = 1) -> int:
        return ceil(2 * float(self.scale) * sqrt((cells + cells**2) / 2))

    def log_probabilities(self, values: Any) -> Any:
        return -0.5 * (np.asarray(values, dtype=np.float64) / float(self.scale)) ** 2

    def floor(self, lines: int, of: Terms = ONE_LINE) -> float:
        """By Cantelli's inequality and a union bound: correlated lines are no lines apart."""
        squares = sum(times * weight**2 for weight, times in of.weights)
        total = sum(times * weight for weight, times in of.weights)
        return self.std(Combination(squares, total)) * sqrt(20 * lines - 1)

    def empty_cell(self, keeping: Keeping) -> EmptyCell:
        return EmptyCell(1 / 4, 0.0, float(self.scale) ** 2 / 4, 0.0)

    def reach(self, level: Fraction, of: Combination) -> float:
        return self.half_width(level, int(of.squares))

    def disagreement(self, price: Price, sensitivity: int, squared: int, cells: int) -> str | None:
        fits = sensitivity / price.value == SCALE
        return None if fits else "has a noise scale of another table"

    def to_json(self) -> dict[str, Any]:
        return {"law": self.words, "unit": show(self.unit), "scale": show(self.scale)}

    @classmethod
    def from_json(cls, facts: Mapping[str, Any]) -> Self:
        return cls(recorded(facts["scale"]), recorded(facts["unit"]))


SCALE = Fraction(8)
LAW = HalfCorrelated(SCALE)
ITEMS, DAYS = ["zoo", "arena", "mill", "quay"], ["Tue", "Mon", "Sun"]
COUNTS = np.array([[5, 9, 1], [30, 2, 4], [0, 0, 7], [12, 11, 10]])


@pytest.fixture(autouse=True)
def _one_law_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_LAWS", (*registry._LAWS, HalfCorrelated))


def released(
    folder: Path, counts: np.ndarray = COUNTS, form: dict[str, Any] | None = None
) -> ct.Release:
    """A release of items and items in contexts whose tables have the toy law.

    What it says of itself is that of an ordinary release; its tables are written with this law.
    """
    lists = {"item": ITEMS, "day": DAYS, "hour": [9, 10]}
    axes = [Axis.of(name, lists[name]) for name in list(lists)[: counts.ndim]]
    domain = ct.Domain(axes[0], {axis.name: axis for axis in axes[1:]})
    rows = visits({tuple(axis.values[0] for axis in axes): 1}, *(axis.name for axis in axes[1:]))
    ordinary = made(folder, rows, domain, name="ordinary", method=ct.SRA(4), draws=SilentDraws())
    tables = []
    for facts in ordinary.metadata["tables"]:
        whole = facts["name"] == "edges"
        flat = counts.ravel() if whole else counts.reshape(len(ITEMS), -1).sum(axis=1)
        over = axes if whole else axes[:1]
        more = {name: facts[name] for name in ("epsilon", "sensitivity", "publishing", "transform")}
        kept = np.flatnonzero(flat >= form["cut"]) if form else None
        if form and kept is not None:
            more |= form | {
                "domain_cells": len(flat), "published_cells": len(kept), "sides": "two",
                "sampling_threshold": None, "estimating_threshold": None, "size": None,
                "short": False, "consistency": "none",
            }  # fmt: skip
        values = flat if kept is None else flat[kept]
        tables.append(NoisyTable(facts["name"], grid(over), values, LAW, more, kept))
    told = redrawn(ordinary, tables)
    with staging(folder / "toy") as staged:
        staged.write(told, tables)
        staged.commit()
    return ct.load(folder / "toy")


def std(cells: int) -> float:
    """By the definition: v·(r + r²)/2 for r cells of weight 1."""
    return 8 * sqrt((cells + cells**2) / 2)


def test_it_is_the_law_that_is_read_and_checked(tmp_path: Path) -> None:
    folder = released(tmp_path).folder
    edit(folder, lambda facts: facts["tables"][0]["noise"].update(std=DiscreteLaplace(SCALE).std()))
    with pytest.raises(ct.InputError, match=r"standard deviation .* its scale makes 8"):
        ct.load(folder)
    edit(folder, lambda facts: facts["tables"][0]["noise"].update(law="unheard of"))
    with pytest.raises(ct.InputError, match="has noise of a law that is unknown here"):
        ct.load(folder)


@pytest.mark.parametrize(
    ("where", "cells", "value"),
    [
        ("item = 'zoo'", 1, 15),
        (None, 4, 91),
        ("item = 'zoo' and day = 'Mon'", 1, 9),
        ("day = 'Mon'", 4, 22),
        ("item != 'zoo' and day != 'Mon'", 6, 63),
        ("item = 'zoo' or day = 'Mon'", 6, 28),  # two boxes
        ("(item = 'zoo' and day = 'Tue') or (item = 'mill' and day = 'Sun')", 2, 12),
    ],
)
def test_sums_have_its_deviation_and_interval(
    tmp_path: Path, where: str | None, cells: int, value: int
) -> None:
    found = released(tmp_path).sum(where)
    assert (found.value, found.cells) == (value, cells)
    assert found.standard_error == pytest.approx(std(cells))
    reach = LAW.half_width(Fraction(19, 20), cells)
    assert (found.low, found.high) == (value - reach, value + reach)


@pytest.mark.parametrize(("context", "cells"), [({}, 1), ({"day": "Mon"}, 1)])
def test_top_lists_have_its_deviation_and_interval(
    tmp_path: Path, context: dict[str, str], cells: int
) -> None:
    found = released(tmp_path).top(4, raw=True, **context)
    column = COUNTS[:, 1] if context else COUNTS.sum(axis=1)
    assert [row.count for row in found] == sorted(column.tolist(), reverse=True)
    reach = LAW.half_width(Fraction(19, 20), cells)
    for row in found:
        assert row.noise_std == row.standard_error == pytest.approx(std(cells))
        assert (row.low, row.high) == (row.count - reach, row.count + reach)


def test_a_top_list_that_adds_up_cells_has_the_deviation_of_their_sum(tmp_path: Path) -> None:
    counts = np.stack([COUNTS, COUNTS[::-1]], axis=2)
    found = released(tmp_path, counts).top(4, day="Mon", raw=True)  # over both hours
    assert {row.item: row.count for row in found} == dict(
        zip(ITEMS, counts[:, 1].sum(axis=1).tolist(), strict=True)
    )
    reach = LAW.half_width(Fraction(19, 20), 2)
    for row in found:
        assert row.noise_std == row.standard_error == pytest.approx(std(2))
        assert (row.low, row.high) == (row.count - reach, row.count + reach)


def test_a_filtered_table_asks_it_too(tmp_path: Path) -> None:
    """Cells that passed carry its noise, correlated; the others that of empty ones."""
    found = released(tmp_path, form={"publishing": "filter", "cut": 6}).sum("day = 'Tue'")
    assert (found.value, found.cells) == (42, 4)  # 30 and 12 passed
    assert found.standard_error == pytest.approx(sqrt(std(2) ** 2 + 2 * 8**2 / 4))
    assert found.low is None


def test_of_weights_both_sums_count(tmp_path: Path) -> None:
    """Coefficients enter with weights: Σa and Σa² are products over the axes."""
    from crowdtally.reader.questions.noisy_sums import Parts, Summed, combined

    halves = Parts(None, 0.5, 0.25), Parts(None, 3.0, 3.0)
    question = Summed(halves)
    # In blocks, one for each context: three of them, each with a sum of 0.25.
    assert question.combination == Combination(1.5, 0.75, 3 * 0.25**2)
    assert question.at_each(0).combination == Combination(3.0, 3.0, 3.0)
    assert question.at_each(1).combination == Combination(0.5, 0.25, 0.25**2)
    both = combined([question, question])
    assert (both.squares, both.total) == (3.0, 1.5)
    assert both.within == pytest.approx(3 * 0.5**2)
    assert LAW.std(question.combination) == pytest.approx(8 * sqrt((1.5 + 0.75**2) / 2))


def test_the_reader_names_no_law() -> None:
    """It asks the law of a table: a new law needs no change there."""
    laws = {law.__name__ for law in registry._LAWS}
    for path in Path(reader.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert not laws & {one.name for one in node.names}, path
