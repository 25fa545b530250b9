"""How far sums from each publishing are off on real tables: relative error, over many releases.

Run ``CROWDTALLY_DATA=FOLDER python bench/sums.py [--runs 20] [--questions 40]``; the folder holds
``adult.parquet`` and ``lodes_ri_od_2019.parquet``. The relative error of one release is Σ|answer −
truth| / Σ truth over a fixed set of random questions; printed are the mean over the releases and
its standard error. The lists are the distinct values in the files, sorted: an experiment's licence,
not a release's. The last line printed is all figures as one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod, sqrt
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

import crowdtally as ct
from crowdtally.core import files
from crowdtally.core.counts import Counts
from crowdtally.core.domain import Axis
from crowdtally.core.layout import grid
from crowdtally.core.privacy import Epsilon
from crowdtally.curator.request.table_specs import formed
from crowdtally.curator.transforms.base import Untransformed
from crowdtally.format import SCHEMA, Published, tables
from crowdtally.format.parse import ZEROS
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.noise.draws import SystemDraws
from crowdtally.reader.release import Release

ADULT = "workclass education marital-status occupation relationship race gender".split()
EPSILONS = ("0.1", "1")
Masks = list[NDArray[np.bool_]]
"""A question: the values meant on each axis."""
Form = dict[str, Any]
"""A summary, a transform, or both."""


@dataclass(frozen=True, eq=False)
class Table:
    """A table of true counts, questions to it, and the forms to publish it in."""

    name: str
    axes: list[Axis]
    cells: NDArray[np.int64]
    counts: NDArray[np.int64]
    questions: dict[str, list[Masks]]
    forms: dict[str, Form]
    modelled_dense: bool = False
    """Whether the dense table is too large to write: then the noise of an answer is drawn alone."""

    def size(self) -> int:
        """N: how many cells it has."""
        return prod(len(axis) for axis in self.axes)

    def truth(self, masks: Masks) -> int:
        """The true answer to a question."""
        meant, rest = np.ones(len(self.cells), dtype=np.bool_), self.cells
        for axis, mask in zip(reversed(self.axes), reversed(masks), strict=True):
            rest, code = np.divmod(rest, len(axis))
            meant &= mask[code]
        return int(self.counts[meant].sum())


def load(folder: Path, file: str, columns: Sequence[str], weight: str) -> tuple[Any, Any, Any]:
    """The axes, the occupied cells and their counts of a Parquet file."""
    names = ", ".join(f'"{name}"' for name in columns)
    query = f"SELECT {names}, {weight} AS n FROM '{folder / file}' GROUP BY ALL"
    found = duckdb.execute(query).fetchnumpy()
    axes, cells = [], np.zeros(len(found["n"]), dtype=np.int64)
    for name in columns:
        values, codes = np.unique(found[name], return_inverse=True)
        axes.append(Axis.of(name, values.tolist()))
        cells = cells * len(values) + codes
    order = np.argsort(cells)
    return axes, cells[order], found["n"].astype(np.int64)[order]


def subset(axes: Sequence[Axis], share: float, rng: np.random.Generator) -> Masks:
    """A random ``share`` of the values of every axis, at least one of each."""
    masks = []
    for axis in axes:
        mask = np.zeros(len(axis), dtype=np.bool_)
        some = rng.permutation(len(axis))[: max(1, round(share * len(axis)))]
        mask[some] = True
        masks.append(mask)
    return masks


def ranges(axes: Sequence[Axis], along: Sequence[int], rng: np.random.Generator) -> Masks:
    """A random range of some axes; the others whole."""
    masks = []
    for place, axis in enumerate(axes):
        low, high = sorted(rng.choice(len(axis) + 1, 2, replace=False).tolist())
        if place not in along:
            low, high = 0, len(axis)
        codes = np.arange(len(axis))
        masks.append((codes >= low) & (codes < high))
    return masks


def persons(table: Sequence[Axis], cells: Any, counts: Any, rng: np.random.Generator) -> Masks:
    """The one cell of a random person."""
    rest = int(rng.choice(cells, p=counts / counts.sum()))
    masks: Masks = []
    for axis in reversed(table):
        rest, code = divmod(rest, len(axis))
        masks.insert(0, np.arange(len(axis)) == code)
    return masks


def summaries(size: int, guess: int) -> dict[str, Form]:
    """Every cell, and summaries of a wanted size."""
    return {
        "dense": {},
        "filter": {"summary": ct.Filter(size=size)},
        "threshold": {"summary": ct.Threshold(size=size, guess_total=guess)},
        "priority": {"summary": ct.Priority(size)},
        "filter-priority": {"summary": ct.FilterPriority(size)},
    }


def adult(folder: Path, questions: int, rng: np.random.Generator) -> Table:
    axes, cells, counts = load(folder, "adult.parquet", ADULT, "count(*)")
    asked = {
        "points": [persons(axes, cells, counts, rng) for _ in range(questions)],
        "subsets, small": [subset(axes, 0.35, rng) for _ in range(questions)],
        "subsets, large": [subset(axes, 0.7, rng) for _ in range(questions)],
        "ranges": [ranges(axes, (1, 3), rng) for _ in range(questions)],
    }
    both = ["education", "occupation"]
    forms = summaries(10_000, 50_000) | {
        "dyadic, filter": {
            "summary": ct.Filter(size=10_000), "transform": ct.Dyadic(both),
        },
        "haar, filter": {
            "summary": ct.Filter(size=10_000), "transform": ct.Haar("education"),
        },
    }  # fmt: skip
    return Table("adult", axes, cells, counts, asked, forms)


LODES, WORK, HOME = "lodes_ri_od_2019.parquet", "w_geocode", "h_geocode"


def lodes(folder: Path, questions: int, rng: np.random.Generator) -> Table:
    axes, cells, counts = load(folder, LODES, [WORK, HOME], "sum(S000)")
    asked = {
        "points": [persons(axes, cells, counts, rng) for _ in range(questions)],
        "subsets, small": [subset(axes, 0.01, rng) for _ in range(questions)],
        "subsets, large": [subset(axes, 0.1, rng) for _ in range(questions)],
        "ranges": [ranges(axes, (0, 1), rng) for _ in range(questions)],
    }
    forms = summaries(400_000, 500_000) | {
        "dyadic, filter": {
            "summary": ct.Filter(size=400_000), "transform": ct.Dyadic([WORK, HOME]),
        },
    }  # fmt: skip
    return Table("lodes", axes, cells, counts, asked, forms, modelled_dense=True)


def homes(folder: Path, questions: int, rng: np.random.Generator) -> Table:
    """One ordered attribute, nearly all of its values occupied."""
    axes, cells, counts = load(folder, LODES, [HOME], "sum(S000)")
    tree: Form = {"transform": ct.Dyadic(HOME)}
    wave: Form = {"transform": ct.Haar(HOME)}
    forms = summaries(2000, 500_000) | {
        "dyadic, dense": tree,
        "dyadic, filter": {**tree, "summary": ct.Filter(size=2000)},
        "dyadic, filter-priority": {**tree, "summary": ct.FilterPriority(2000)},
        "haar, dense": wave,
        "haar, filter": {**wave, "summary": ct.Filter(size=2000)},
        "sketch": {"transform": ct.Sketch(2000, rows=1)},
    }
    asked = {
        "points": [persons(axes, cells, counts, rng) for _ in range(questions)],
        "subsets": [subset(axes, 0.3, rng) for _ in range(questions)],
        "ranges": [ranges(axes, (0,), rng) for _ in range(questions)],
    }
    return Table("lodes homes", axes, cells, counts, asked, forms)


TABLES = {"adult": adult, "lodes": lodes, "homes": homes}


def released(folder: Path, table: Table, form: Form, epsilon: str) -> Release:
    layout = grid(table.axes)
    counts = Counts(layout.size, table.cells, table.counts, 1)
    transform, summary = form.get("transform", Untransformed()), form.get("summary", ct.Dense())
    asked = formed("cells", layout, Epsilon.of(epsilon), transform, summary, bound=1)
    noisy = asked.publish(counts, SystemDraws())
    tables.write(folder, {"cells": noisy.blocks()})
    axes = [
        {"name": axis.name, "kind": axis.kind, "size": len(axis), "values": axis.values.tolist()}
        for axis in table.axes
    ]
    entry = noisy.description() | {
        "rows": len(noisy.values), "sha256": files.digest(folder / "cells.parquet"),
    }  # fmt: skip
    facts = {
        "schema": SCHEMA,
        "id": "0" * 32,
        "created": "2026-01-01T00:00:00+00:00",
        "split": {},
        "versions": {},
        "datapackage": {"sha256": ZEROS},
        "sha256": ZEROS,
        "charged": {
            "entry": "1", "dataset": None, "epsilon": epsilon, "delta": "0",
            "spent_before": "0", "spent_after": epsilon, "limit": None,
        },
        "tables": [entry],
        "domain": {"attributes": axes},
        "counted": "users",
        "records": {
            "user": [], "same_person": False, "item": None, "item_expression": None,
            "contexts": {}, "where": None, "timezone": "UTC",
        },
        "guarantee": {
            "words": "", "epsilon": epsilon, "delta": "0", "neighbours": "",
            "unit": {"kind": "row", "column": None},
        },
        "method": dict.fromkeys(
            ("chosen_by", "largest_candidate", "popularity_records", "cap", "record_id")
        ) | {"bounding": "row", "bounds": {}},
    }  # fmt: skip
    return Release(Published(folder, facts))


def answer(release: Release, table: Table, masks: Masks) -> float:
    chosen = {
        axis.name: axis.values[mask].tolist()
        for axis, mask in zip(table.axes, masks, strict=True)
        if not mask.all()
    }
    value = release.sum(None, **chosen).value
    if value is None:
        raise SystemExit("this release has no noisy sums.")
    return value


def modelled(table: Table, masks: Masks, epsilon: str, rng: np.random.Generator) -> float:
    """The answer of a dense table: the truth and the noise of its r cells, r in the thousands."""
    cells = prod(int(mask.sum()) for mask in masks)
    std = DiscreteLaplace(1 / Epsilon.of(epsilon).value).std() * sqrt(cells)
    return table.truth(masks) + float(rng.normal(0, std))


def measure(table: Table, way: str, epsilon: str, runs: int) -> dict[str, tuple[float, float]]:
    """For each kind of question the mean relative error and its standard error."""
    rng = np.random.default_rng(2)
    errors: dict[str, list[float]] = {kind: [] for kind in table.questions}
    truths = {kind: [table.truth(q) for q in asked] for kind, asked in table.questions.items()}
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            virtual = table.modelled_dense and way == "dense"
            release = None if virtual else released(Path(folder), table, table.forms[way], epsilon)
            for kind, asked in table.questions.items():
                found = [
                    modelled(table, masks, epsilon, rng)
                    if release is None
                    else answer(release, table, masks)
                    for masks in asked
                ]
                off = np.abs(np.array(found) - np.array(truths[kind])).sum()
                errors[kind].append(float(off) / max(sum(truths[kind]), 1))
    return {
        kind: (float(np.mean(seen)), float(np.std(seen, ddof=1)) / sqrt(runs))
        for kind, seen in errors.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--questions", type=int, default=40)
    parser.add_argument("--tables", default=",".join(TABLES))
    given = parser.parse_args()
    folder = os.environ.get("CROWDTALLY_DATA")
    if not folder:
        raise SystemExit("set CROWDTALLY_DATA to the folder of adult and lodes_ri_od_2019.")
    figures: dict[str, Any] = {"runs": given.runs, "questions": given.questions}
    for name in given.tables.split(","):
        table = TABLES[name](Path(folder), given.questions, np.random.default_rng(1))
        typical = {
            kind: int(np.median([prod(int(m.sum()) for m in masks) for masks in asked]))
            for kind, asked in table.questions.items()
        }
        print(f"{table.name}: N = {table.size()}, n = {len(table.cells)}, cells {typical}")
        kept: dict[str, Any] = {"cells": table.size(), "question_cells": typical}
        for epsilon in EPSILONS:
            for way in table.forms:
                start = time.perf_counter()
                found = measure(table, way, epsilon, given.runs)
                spent = time.perf_counter() - start
                shown = "  ".join(f"{k} {m:.4g} ± {e:.2g}" for k, (m, e) in found.items())
                print(f"  ε = {epsilon:<4}{way:<25}{shown}  ({spent:.0f} s)", flush=True)
                kept.setdefault(epsilon, {})[way] = found
        figures[name] = kept
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
