"""Figures 5 and 6: the first table of HPA, and the error by l."""

from __future__ import annotations

from collections.abc import Sequence

from crowdtally.lab.comparison.charts import Axis
from crowdtally_research.reproducing.figure import (
    Claim,
    Data,
    Figure,
    Judged,
    Number,
    Numbers,
    Panel,
    Part,
)
from crowdtally_research.reproducing.papers.fan_jin.shared import (
    MARGIN,
    QUICK_RUNS,
    RUNS,
    Check,
    at_least,
    auto_part,
    judged,
    larger,
    shown,
)
from crowdtally_research.reproducing.papers.fan_jin.work import (
    EPSILON,
    LESS,
    LIMITS,
    POPULARITY,
    SOURCES,
    TABLES,
    THEOREM,
    limits,
    limits_panel,
    popularity,
    popularity_panel,
)

# Figure 5: what HPA's first, small table alone shows of the most popular items.

DATASETS = ("foursquare", "netflix")
_STAND_IN = (
    "How steep the head of the list is decides this number, and the paper prints nothing of it: "
    "the look-alike's head is fitted to a public file of the same origin, or invented."
)


def _reaches(dataset: str, k: int, level: float) -> Claim:
    def judge(numbers: Numbers) -> Judged:
        found = numbers.at(popularity_panel(dataset), POPULARITY, float(k))
        told = f"{shown(found)} of the true top {k}"
        return judged([Check("", at_least(found, level), told)], _STAND_IN)

    return Claim(_WORDS[dataset, k], judge)


_WORDS = {
    ("foursquare", 20): "“more than 60% of top-20 popular locations in Foursquare”",
    ("netflix", 20): "“70% top-20 popular movies on Netflix”",
    ("foursquare", 100): "at K = 100 it “captures 40% of the real popular locations”",
    ("netflix", 100): "at K = 100 it captures “almost 80% popular movies” (here: 75% or more)",
}
_LEVELS = {20: {"foursquare": 0.6, "netflix": 0.7}, 100: {"foursquare": 0.4, "netflix": 0.75}}


def _parts_5(data: Data, quick: bool) -> Sequence[Part]:
    runs = {"keys": 2, "noises": 1} if quick else {"keys": 5, "noises": 4}
    found = [
        Part(f"popularity-{name}", popularity, {"dataset": name, **runs}, (name,))
        for name in DATASETS
    ]
    return [*found, *(auto_part(name, quick) for name in DATASETS)]


FIGURE_5 = Figure(
    "5",
    "Popular items by the first table of HPA alone",
    "One record of each user (d = min|T_k| = 1), ε₀ = 0.1; 5 sampling keys with 4 noises each.",
    "The share of the true top K that the noisy popularity shows. auto is the list of a whole "
    "release at ε = 1, ten times the cost of the popularity: what HPA's guide can at best become.",
    tuple(
        Panel(
            popularity_panel(name),
            SOURCES[name].title,
            Axis("K", True),
            Axis("share of the true top K found", False, (0.0, 1.0)),
        )
        for name in DATASETS
    ),
    tuple(_reaches(name, k, _LEVELS[k][name]) for k in (20, 100) for name in DATASETS),
    _parts_5,
    (
        f"A share reaches a level where it misses it by less than {MARGIN} standard errors; to "
        "find more than the paper did agrees with it.",
        "d = min|T_k| is read off the data, as in the paper; a release must not do that.",
    ),
)


# Figure 6: how the error of SRA and HPA depends on l.

DATASET = "foursquare"
BEST = {"items": 30, "edges": 5}
"""The l of least error, as the paper found it."""
_OURS = ("sra", "hpa")
_NEAR = 0.1
_QUICK = (1, 5, 30)
_EPSILONS = (str(EPSILON), LESS)
_TITLES = {"items": "Items (q1)", "edges": "Items by weekday (q2)"}


def _curve(numbers: Numbers, table: str, line: str, epsilon: object = EPSILON) -> list[Number]:
    found = list(numbers.curve(limits_panel(table, str(epsilon)), line).values())
    if not found:
        raise KeyError((limits_panel(table, str(epsilon)), line))
    return found


def least(curve: Sequence[Number]) -> Number:
    return min(curve, key=lambda one: one.mean)


def _turns(numbers: Numbers) -> Judged:
    """Whether each curve first falls and then grows."""
    checks = []
    for table in TABLES:
        for line in _OURS:
            curve = _curve(numbers, table, line)
            low = least(curve)
            holds = larger(curve[0], low) and larger(curve[-1], low)
            ends = f"{shown(curve[0])} at l = {curve[0].x:g}, {shown(low)} at {low.x:g}"
            told = f"{line} {ends}, {shown(curve[-1])} at {curve[-1].x:g}"
            checks.append(Check(table, holds, told))
    return judged(checks)


def _best_at(table: str) -> Claim:
    wanted = BEST[table]

    def judge(numbers: Numbers) -> Judged:
        checks = []
        for line in _OURS:
            curve, panel = _curve(numbers, table, line), limits_panel(table, str(EPSILON))
            low, there = least(curve), numbers.at(panel, line, float(wanted))
            told = f"least at l = {low.x:g} ({shown(low)}); {shown(there)} at l = {wanted}"
            checks.append(Check(line, there.mean <= (1 + _NEAR) * low.mean, told))
        why = (
            "The best l follows from the noise, 2(l/ε)² on each cell, which is the same here and "
            "there, and from how much of the counts lies beyond l in heavy users, which the paper "
            "does not print."
        )
        return judged(checks, why)

    query = {"items": "q₁", "edges": "q₂"}[table]
    return Claim(
        f"“both SRA and HPA achieve minimum MSE with relatively small l values”: l = {wanted} for "
        f"{query} (here: within {_NEAR:.0%} of the least)",
        judge,
    )


def _grows(numbers: Numbers) -> Judged:
    """Theorem 2: the best l is larger at a larger ε."""
    checks = []
    for line in (*_OURS, THEOREM):
        low, high = (least(_curve(numbers, "items", line, e)).x for e in (LESS, EPSILON))
        told = f"l = {low:g} at ε = {LESS}, l = {high:g} at ε = {EPSILON}"
        checks.append(Check(line, float(low) < float(high), told))
    return judged(checks)


def _as_theory(numbers: Numbers) -> Judged:
    """Whether the corrected formula tells the best l, within the next l that was tried."""
    checks = []
    for table in TABLES:
        tried = [one.x for one in _curve(numbers, table, "sra")]
        places = [tried.index(least(_curve(numbers, table, line)).x) for line in ("sra", THEOREM)]
        measured, expected = (f"{tried[place]:g}" for place in places)
        told = f"least at l = {measured}, by the formula at l = {expected}"
        checks.append(Check(table, abs(places[0] - places[1]) <= 1, told))
    why = (
        "The theorem takes every user to have the same number of records; here few have very many, "
        "so that records are lost at every l."
    )
    return judged(checks, why)


def _parts_6(data: Data, quick: bool) -> Sequence[Part]:
    runs, tried = (QUICK_RUNS, _QUICK) if quick else (RUNS, LIMITS)
    told = {"dataset": DATASET, "runs": runs, "tried": list(tried)}
    part = Part("limits", limits, told, (DATASET,), is_spread=True)
    return [part, auto_part(DATASET, quick)]


FIGURE_6 = Figure(
    "6",
    "The error by l, the records kept of a user",
    "SRA and HPA on Foursquare at ε = 1 (half of it, or 0.45, for each table); 20 runs of each l. "
    "The paper has no ε = 0.1: it is added, because one ε cannot show how the best l moves.",
    "To the left records are lost, to the right the noise grows with l². The corrected Theorem 2 "
    "is what SRA is expected to have if all users had as many records as the mean. auto has no l: "
    "it is a flat line.",
    tuple(
        Panel(
            limits_panel(table, epsilon),
            f"{_TITLES[table]}, ε = {epsilon}",
            Axis("l, records kept of each user", True),
            Axis("mean squared error (records²)", True),
        )
        for epsilon in _EPSILONS
        for table in TABLES
    ),
    (
        Claim(
            "“when l value increases, the MSE of the noisy output by our methods first drops”, and "
            "“when further increasing l, the MSE grows”",
            _turns,
        ),
        _best_at("items"),
        _best_at("edges"),
        Claim("“Our findings in Theorem 2 are confirmed”: the best l grows with ε (items)", _grows),
        Claim(
            "“The optimal value of l depends on actual data distribution and the privacy parameter "
            "ε₁, according to Theorem 2” (here: SRA's best l is that of the corrected formula, or "
            "the next one tried)",
            _as_theory,
        ),
    ),
    _parts_6,
    (
        "The theorem's printed MSE has the variance of the records that are kept in the place of "
        "those that are lost; the line here is corrected.",
        "The paper's Table 4 gives Foursquare 60.2 records per user on average, which is not "
        "1,276,988 / 45,289 = 28.2; the look-alike has the records and users of the table.",
    ),
)
