"""The lab: comparisons, attacks, rehearsals, look-alikes, reproductions.

Not ``lab recommend``: the factorisation of the library that it uses depends on the processor.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import numpy as np

import crowdtally as ct
from same import inputs, seams
from same.stage import Scene, Stage
from same.texts import json_text

_ITEM = "--user who --item place --items places.csv"
_DAY = "--context day --values day=Mon,Tue,Wed"
_COMPARED = {
    "items": f"{_ITEM} --epsilon 1 --methods sra,hpa,lpa,sra/filter --max-records 2,8 --runs 4",
    "contexts": f"{_ITEM} {_DAY} --epsilon 1,4 --methods sra,auto,sra/filter-priority "
    "--fields size=8 --max-records 4 --runs 2",
    "users": f"{_ITEM} {_DAY} --count users --epsilon 1 --methods dpsense,dpsense+rank,sra+rank "
    "--max-records 4 --runs 2",
    "ranges": "--user who --attributes day,hour --values day=Mon,Tue,Wed --values hour=0..7 "
    "--epsilon 1 --methods sra,sra/dyadic,sra/haar --fields columns=hour --max-records 4 --runs 2",
}
_ATTACKED = ("rows", "sra", "discovery")


def _town(stage: Stage) -> None:
    inputs.lists(stage)
    inputs.SOURCES["csv"](stage)


def _compare(stage: Stage) -> None:
    _town(stage)
    for name, words in _COMPARED.items():
        given = ("lab", "compare", "visits.csv", *shlex.split(words), "-o", name, "--jobs", "1")
        stage.case(name, *given, "--json", files=(name,), quick=name == "items")
        stage.case(f"{name}, told", *given, quick=name == "items")


def _audit(stage: Stage) -> None:
    _town(stage)
    for method in _ATTACKED:
        with seams.slow_clock(0.02 if method == "rows" else 0.2):
            stage.case(method, "lab", "audit", method, "--seconds", "1", "--processes", "1",
                       "--json", quick=method == "rows")  # fmt: skip
    with seams.slow_clock(0.1):
        stage.case("own", "lab", "audit-request", "visits.csv", *_ITEM.split(), "--epsilon", "1",
                   "--method", "sra:max-records=2", "--seconds", "1", quick=False)  # fmt: skip


def _rehearse(stage: Stage) -> None:
    domain = ct.Domain(inputs.PLACES, {"day": inputs.DAYS}, item="place")
    records = ct.read(inputs.arrow(), user="who", item="place", contexts=["day"])
    for name, options in (
        ("sra", {"method": ct.SRA(3)}),
        ("hpa", {"method": ct.HPA(3)}),
        ("chosen", {"method": ct.SRA(9, choose="rank")}),
        ("dpsense", {"method": ct.DPSense(3), "count": "users"}),
        ("auto", {}),
        ("filter", {"method": ct.SRA(3), "summary": ct.Filter(cut=3)}),
    ):
        stage.seed(name)
        runs = seams.rehearsal(records, domain, epsilon=2, **options)
        stage.note(name, *(_tables(run.tables) for run in runs))


def _tables(tables: object) -> str:
    found = [
        [one.name, np.asarray(one.values).tolist(),
         None if one.cells is None else np.asarray(one.cells).tolist(), one.law.to_json()]
        for one in tables  # type: ignore[attr-defined]
    ]  # fmt: skip
    return json_text(found)


def _made_up(stage: Stage) -> None:
    for name in ("kosarak", "gowalla", "movielens"):
        stage.case(name, "lab", "lookalike", name, "-o", f"{name}.parquet", "--scale", "1/500",
                   files=(f"{name}.parquet",), quick=name == "kosarak")  # fmt: skip
    stage.case("demo", "demo", "--records", "20000", "-o", "demo", files=("demo",), quick=False)


def scenes() -> Iterator[Scene]:
    """One scene for each command."""
    yield Scene("lab compare", _compare, quick=True)
    yield Scene("lab audit", _audit, quick=True)
    yield Scene("lab rehearse", _rehearse, quick=True)
    yield Scene("lab made up", _made_up, quick=True)
