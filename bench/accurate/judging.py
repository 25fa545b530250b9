"""Means over runs, what must be shown, and whether it is."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import NamedTuple

from accurate.kept import Run
from accurate.scores import LISTS
from accurate.ways import Way

BEFORE = Path(__file__).with_name("before.json")
"""The scores of the ``auto`` that was replaced, on the same files."""
COUNTS, RECOMMEND = Way("auto", "counts"), Way("auto", "recommend")
SHORT = 8
"""Records of a user: files with short rows have none that is longer."""
OVER_SEED, OVER_LAPLACE, OVER_OLD, WITH_DELTA = 1.1, 1.15, 1.1, 0.3
"""The most that an MSE may be over another."""
COVERED = 0.9
"""The least share of 95% intervals that hold the truth."""
AS_OLD, OF_OLD = ("MovieLens", "Gowalla", "Foursquare NYC"), 0.9
"""Files whose lists in contexts are held against the old ``auto``'s, and the least share."""
AS_SEEDS = ("trivago", "GoBike", "Ask Ubuntu tags")
"""Files whose lists in contexts are held against the best seed method's."""
ONE_SIDED = 1.645
"""Standard errors below the mean: a confidence limit of 95%."""


class Mean(NamedTuple):
    """A number, and how far it may be off."""

    value: float
    error: float
    """The standard error."""

    @classmethod
    def of(cls, by_key: Sequence[Sequence[float]]) -> Mean:
        """From the runs of each sampling key; those of one key are alike, so its mean counts."""
        alike = [fmean(values) for values in by_key] if len(by_key) > 1 else by_key[0]
        error = stdev(alike) / math.sqrt(len(alike))
        return cls(float(f"{fmean(alike):.6g}"), float(f"{error:.3g}"))

    def over(self, other: Mean) -> Mean:
        """The ratio; relative errors are added in squares."""
        ratio = self.value / other.value
        return Mean(ratio, math.hypot(self.error, ratio * other.error) / abs(other.value))

    def __str__(self) -> str:
        return f"{self.value:.4g} ± {self.error:.2g}"


@dataclass(frozen=True)
class Line:
    """All scores of one way on one table of one file."""

    subject: str
    """The file, what is counted and in which contexts."""
    table: str
    """``items`` or ``cells``."""
    epsilon: str
    way: Way
    longest: int
    """The most records of one user."""
    runs: int
    """How many there were."""
    scores: Mapping[str, Mean]

    def __str__(self) -> str:
        return f"ε {self.epsilon}, {self.subject}, {self.table}, {self.way}"

    @property
    def on(self) -> tuple[object, ...]:
        """What it was measured on; a file of the same name may hold other records."""
        return self.subject, self.longest, self.table, self.epsilon

    def beside(self, lines: Iterable[Line], kind: str) -> list[Line]:
        """Ways of a kind on the same."""
        return [one for one in lines if one.on == self.on and one.way.kind == kind]

    def olds(self, lines: Iterable[Line]) -> list[Line]:
        """The same of the old ``auto``, where it was measured."""
        way = replace(self.way, kind="old auto")
        return [one for one in self.beside(lines, "old auto") if one.way == way]


def line_of(
    subject: str, table: str, epsilon: str, way: Way, longest: int, keys: Sequence[Sequence[Run]]
) -> Line:
    """The means over the runs of each sampling key."""
    names = keys[0][0][table]
    scores = {name: Mean.of([[run[table][name] for run in key] for key in keys]) for name in names}
    return Line(subject, table, epsilon, way, longest, sum(map(len, keys)), scores)


def save(lines: Iterable[Line], path: Path) -> None:
    """As JSON, each on a line of text."""
    rows = [json.dumps(asdict(line), ensure_ascii=False) for line in lines]
    path.write_text("[\n" + ",\n".join(rows) + "\n]\n", encoding="utf-8")


def before() -> Iterator[Line]:
    """The scores of the old ``auto``; none where they are not there."""
    for row in json.loads(BEFORE.read_text("utf-8")) if BEFORE.is_file() else []:
        scores = {name: Mean(*pair) for name, pair in row["scores"].items()}
        way = replace(Way(**row["way"]), kind="old auto")
        yield Line(**{**row, "way": way, "scores": scores})


def best(lines: Sequence[Line], name: str) -> Line | None:
    """The way with the best score; None where none has it."""
    known = [line for line in lines if name in line.scores]
    choose = max if name in (*LISTS, "precision@10") else min
    return choose(known, key=lambda line: line.scores[name].value, default=None)


@dataclass(frozen=True)
class Verdict:
    """One target, and whether it is met."""

    target: str
    wanted: float
    """The number that was to be reached."""
    found: Mean
    met: bool

    def __str__(self) -> str:
        return f"{self.target}: {self.found}, wanted {self.wanted:.4g}"


def _at_most(target: str, wanted: float, found: Mean) -> Verdict:
    return Verdict(target, wanted, found, found.value <= wanted)


def _at_least(target: str, wanted: float, found: Mean) -> Verdict:
    return Verdict(target, wanted, found, found.value >= wanted)


def verdicts(lines: Sequence[Line]) -> Iterator[Verdict]:
    """Every target that the lines of one ε, the old auto's among them, can be judged by."""
    counts = [line for line in lines if line.way == COUNTS]
    for line in counts:
        yield from _over_others(line, lines)
    yield from _over_old(counts, lines)
    yield from _covered([line for line in counts if line.table == "items"])
    for line in lines:
        if line.way == RECOMMEND and line.table == "cells":
            yield from _of_lists(line, lines)
        elif line.way.kind == "auto" and line.way.delta != "0" and line.table == "items":
            for pure in line.beside(counts, "auto"):
                found = line.scores["mse"].over(pure.scores["mse"])
                yield _at_most(f"{line}: MSE over that of pure ε", WITH_DELTA, found)


def _over_others(line: Line, lines: Sequence[Line]) -> Iterator[Verdict]:
    seeds = line.beside(lines, "seed")
    for name, wanted in (("mse", OVER_SEED), ("kl", 1.0)):
        if (seed := best(seeds, name)) is not None:
            found = line.scores[name].over(seed.scores[name])
            yield _at_most(f"{line}: {name.upper()} over that of {seed.way}", wanted, found)
    for laplace in line.beside(lines, "laplace") if line.longest <= SHORT else ():
        found = line.scores["mse"].over(laplace.scores["mse"])
        yield _at_most(f"{line}: MSE over that of {laplace.way}", OVER_LAPLACE, found)


def _over_old(counts: Sequence[Line], lines: Sequence[Line]) -> Iterator[Verdict]:
    for table in ("items", "cells"):
        ratios = [
            line.scores["mse"].over(old.scores["mse"])
            for line in counts if line.table == table and line.longest > SHORT
            for old in line.olds(lines)
        ]  # fmt: skip
        if ratios:
            mean = math.exp(fmean(math.log(one.value) for one in ratios))
            error = math.hypot(*(one.error / one.value for one in ratios)) / len(ratios)
            words = f"ε {counts[0].epsilon}, {table} of {len(ratios)} files with long rows"
            found = Mean(mean, mean * error)
            yield _at_most(f"{words}: geometric mean of MSE over the old auto's", OVER_OLD, found)


def _covered(items: Sequence[Line]) -> Iterator[Verdict]:
    """Pooled over files; shown where its lower confidence limit is high enough."""
    for name in ("covered listed 10", "covered listed 100", "covered true 100", "covered total"):
        if items:
            means = [line.scores[name] for line in items]
            error = math.hypot(*(one.error for one in means)) / len(means)
            found = Mean(fmean(one.value for one in means), error)
            words = f"ε {items[0].epsilon}, {len(means)} files pooled: {name}"
            yield Verdict(words, COVERED, found, found.value - ONE_SIDED * error >= COVERED)


def _of_lists(line: Line, lines: Sequence[Line]) -> Iterator[Verdict]:
    name = line.subject.split(" × ")[0]
    others, share = (line.olds(lines), OF_OLD) if name in AS_OLD else ([], 1.0)
    if name in AS_SEEDS:
        others = line.beside(lines, "seed")
    for score in LISTS:
        if (other := best(others, score)) is not None:
            wanted, words = share * other.scores[score].value, f"{share} of that of {other.way}"
            yield _at_least(f"{line}: {score}, {words}", wanted, line.scores[score])
