"""Figures 9 to 11: top-K mining, data reduction, and the week of sampled records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from crowdtally.lab.comparison.charts import Axis
from crowdtally_research.lookalikes.drawing import Weekdays
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
    ALL,
    QUICK_RUNS,
    READ_OFF,
    RUNS,
    SAID,
    TOLD,
    Check,
    against,
    all_methods,
    judged,
    larger,
    methods_part,
    shown,
)
from crowdtally_research.reproducing.papers.fan_jin.utility import EXISTING, OURS
from crowdtally_research.reproducing.papers.fan_jin.work import (
    KEPT,
    KS,
    MOVED,
    SOURCES,
    WEEK,
    top_panel,
    week,
    weights,
)

# Figure 9: how much of the true top K each method finds, K from 1 to 1000.

_FIRST, _LAST, _UP_TO = float(KS[0]), float(KS[-1]), 100.0
_GOOD = 0.5

At = Callable[[str, float], Number]
"""(line, K) → the share of the true top K."""


def _on_each(words: str, test: Callable[[At], tuple[bool, str]], why: str = "") -> Claim:
    def judge(numbers: Numbers) -> Judged:
        def at(dataset: str) -> At:
            return lambda line, k: numbers.at(top_panel(dataset), line, k)

        return judged([Check(one.title, *test(at(name))) for name, one in SOURCES.items()], why)

    return Claim(words, judge)


def _hpa_first(at: At) -> tuple[bool, str]:
    return at("hpa", _FIRST).mean >= ALL, shown(at("hpa", _FIRST))


def _drops(line: str) -> Callable[[At], tuple[bool, str]]:
    def test(at: At) -> tuple[bool, str]:
        first, last = at(line, _FIRST), at(line, _LAST)
        return first.mean > last.mean, f"{shown(first)} at K = 1, {shown(last)} at K = 1000"

    return test


def _slower(at: At) -> tuple[bool, str]:
    falls = {line: at(line, _FIRST).mean - at(line, _LAST).mean for line in OURS}
    told = ", ".join(f"{line} {-fall:+.2f}" for line, fall in falls.items())
    return falls["sra"] < falls["hpa"], f"{told} from K = 1 to 1000"


def _existing_first(at: At) -> tuple[bool, str]:
    found = [at(line, _FIRST) for line in EXISTING]
    return all(one.mean == 0 for one in found), against(*found)


def _existing_grow(at: At) -> tuple[bool, str]:
    firsts, lasts = ([at(line, k) for line in EXISTING] for k in (_FIRST, _LAST))
    grows = all(larger(last, first) for first, last in zip(firsts, lasts, strict=True))
    return grows, f"at K = 1000 {against(*lasts)}"


def _superior(at: At) -> tuple[bool, str]:
    """SRA and HPA are above the others at every K up to 100; told is where they are nearest."""

    def lead(k: float) -> tuple[Number, Number]:
        own = min((at(line, k) for line in OURS), key=lambda one: one.mean)
        return own, max((at(line, k) for line in EXISTING), key=lambda one: one.mean)

    leads = [lead(float(k)) for k in KS if k <= _UP_TO]
    own, other = min(leads, key=lambda pair: pair[0].mean - pair[1].mean)
    is_above = all(one.mean > another.mean for one, another in leads)
    return is_above, f"nearest at K = {own.x:g}: {against(own, other)}"


def _good(at: At) -> tuple[bool, str]:
    best = max((at(line, _LAST) for line in EXISTING), key=lambda one: one.mean)
    return best.mean >= _GOOD, against(best)


_GUIDE = (
    "Where the noisy popularity of a run puts other items before the first one, HPA loses records "
    "of it."
)
_FLAT = (
    "On the look-alike of Netflix the first places are nearly equal, and which of them is the "
    "first is left to the sample: SRA finds all of a long list sooner than the first of it."
)

FIGURE_9 = Figure(
    "9",
    "Top-K mining",
    "Items at ε = 1, l = 10 (MovieLens: 30); the same runs as figure 7. The text does not say "
    "which data set the paper draws: here are all four.",
    "SRA, HPA and auto know the head of the list; HPA loses the rest, because it keeps what is "
    "popular. The existing methods find nothing at the head and more of long lists.",
    tuple(
        Panel(
            top_panel(name),
            source.title,
            Axis("K", True),
            Axis("share of the true top K found", False, (0.0, 1.0)),
        )
        for name, source in SOURCES.items()
    ),
    (
        _on_each(
            f"HPA “is 100% when K = 1” (here: in {ALL:.0%} of the runs or more)", _hpa_first, _GUIDE
        ),
        _on_each("HPA “drops as K increases”", _drops("hpa")),
        _on_each("SRA “also shows decreasing precision as K increases”", _drops("sra"), _FLAT),
        _on_each(
            "SRA's “decreasing rate is much slower compared to that of HPA”",
            _slower,
            "HPA starts lower there: at K = 1 it already misses the first item in some runs.",
        ),
        _on_each("“LPA, DFT, and GS show 0% precision when K = 1”", _existing_first),
        _on_each("LPA, DFT and GS show “higher precision as K increases”", _existing_grow),
        _on_each(
            "SRA and HPA are “superior to existing approaches up to K = 100” (here: the means of "
            "both, at each K)",
            _superior,
        ),
        _on_each(
            "the existing approaches “might provide good precision for large K, e.g. K ≥ 1000” "
            f"(here: the best finds {_GOOD:.0%} or more)",
            _good,
        ),
    ),
    all_methods,
    (SAID, READ_OFF, TOLD),
)


# Figure 10: how many records are left once users are bounded.

_HALF, _TWENTIETH = 0.5, 0.05
_RUNS = 5
OURS_10 = ("sra", "hpa")


def _less_than(words: str, level: float, titles: Sequence[str]) -> Claim:
    def judge(numbers: Numbers) -> Judged:
        checks = []
        for title in titles:
            found = [numbers.at(KEPT, line, title) for line in OURS_10]
            checks.append(Check(title, all(one.mean < level for one in found), against(*found)))
        return judged(checks)

    return Claim(words, judge)


def _parts_10(data: Data, quick: bool) -> Sequence[Part]:
    parts = [methods_part(name, quick) for name in SOURCES]
    runs = QUICK_RUNS if quick else _RUNS
    return [
        *parts,
        *(
            Part(f"weights-{name}", weights, {"dataset": name, "runs": runs}, (name,))
            for name in SOURCES
        ),
    ]


FIGURE_10 = Figure(
    "10",
    "Data reduction",
    "l = 10 (MovieLens: 30) at ε = 1.",
    "The share of all records that SRA and HPA count: both keep min(l, |T_k|) of each user, so "
    "they are equal. auto drops no record: it scales each user's row to a sum of at most θ, which "
    "it chooses privately. Its bar is the weight that is left, Σ min(|T_k|, θ) / Σ |T_k|, with the "
    "records at items that it counts apart.",
    (
        Panel(
            KEPT,
            "Share of the records that are counted",
            Axis("data set", False),
            Axis("share of all records", False),
            is_bars=True,
        ),
    ),
    (
        _less_than(
            "“the sampled data is much smaller than the raw input for every data set” (here: less "
            "than half)",
            _HALF,
            [source.title for source in SOURCES.values()],
        ),
        _less_than(
            "On Netflix “sample databases with less than 5% of the original data”",
            _TWENTIETH,
            [SOURCES["netflix"].title],
        ),
    ),
    _parts_10,
    (
        "auto is run 5 times up to its table of items; its other small tables look at the records "
        "again.",
    ),
)


# Figure 11: the weekdays of the records that samples keep.

DATASET = "foursquare"
OURS_11 = ("sra", "hpa")
END = ("Fri", "Sat", "Sun")
_SLIGHT = 0.5
"""Percentage points: a smaller move of a day's share is nobody's habit."""
_STAND_IN = (
    "The look-alike draws weekdays without regard to how active a user is, or how popular a place: "
    "the habit that the paper saw is not in it."
)


def _moves(numbers: Numbers, line: str) -> dict[str, Number]:
    """By how many percentage points each day's share is larger in a sample."""
    found = {str(day): move for day, move in numbers.curve(MOVED, line).items()}
    if not found:
        raise KeyError((MOVED, line))
    return found


def _later(numbers: Numbers) -> Judged:
    """Whether each day moved as the paper says; where nothing moved, that cannot be told."""
    moves = {line: _moves(numbers, line) for line in OURS_11}
    largest = max((one for by in moves.values() for one in by.values()), key=lambda o: abs(o.mean))
    if abs(largest.mean) < _SLIGHT:
        told = f"no day moves by more than {abs(largest.mean):.2f} percentage points"
        return Judged("cannot be checked", f"{told}. {_STAND_IN}")
    zero = Number(MOVED, "", "", 0.0)
    checks = []
    for line, by_day in moves.items():
        ends = all(larger(move, zero) for day, move in by_day.items() if day in END)
        rest = all(larger(zero, move) for day, move in by_day.items() if day not in END)
        told = ", ".join(f"{day} {move.mean:+.2f}" for day, move in by_day.items())
        checks.append(Check(line, ends and rest, f"{told} percentage points"))
    return judged(checks, _STAND_IN)


def _closer(numbers: Numbers) -> Judged:
    """Whether SRA's shares are closer to the original, and HPA's clearly closer on no day."""
    sra, hpa = (
        {day: replace(move, mean=abs(move.mean)) for day, move in _moves(numbers, line).items()}
        for line in OURS_11
    )
    days = [day for day in sra if larger(sra[day], hpa[day])]
    total = [sum(move.mean for move in by.values()) / 2 for by in (sra, hpa)]
    told = f"SRA is {total[0]:.2f} and HPA {total[1]:.2f} percentage points from it in all"
    if days:
        told += f"; HPA is closer on {', '.join(days)}"
    return Judged("agrees" if total[0] < total[1] and not days else "differs", f"{told}.")


def _parts_11(data: Data, quick: bool) -> Sequence[Part]:
    runs = QUICK_RUNS if quick else RUNS
    return [Part("week", week, {"dataset": DATASET, "runs": runs}, (DATASET,))]


FIGURE_11 = Figure(
    "11",
    "Weekly distribution of the sampled records",
    "Foursquare, l = 10, ε = 1 (HPA's popularity: 0.1); 20 sampling keys. SRA and HPA are their "
    "samples before any noise, as in the paper.",
    "Left the share of each weekday in all records and in the samples, right the difference. auto "
    "takes no sample: its bars are the shares that a reader of its release is told, with noise.",
    (
        Panel(
            WEEK,
            "Share of each weekday",
            Axis("weekday", False),
            Axis("share of the records (%)", False),
            is_bars=True,
        ),
        Panel(
            MOVED,
            "How far it is from the share in all records",
            Axis("weekday", False),
            Axis("difference (percentage points)", False),
            is_bars=True,
        ),
    ),
    (
        Claim(
            "“the percentage of Friday, Saturday, and Sunday check-ins is higher in the sampled "
            "databases”, that of “Monday-Thursday check-ins is lower than the original”",
            _later,
        ),
        Claim(
            "“the SRA sampled data is constantly closer to the original data distribution, "
            "compared to HPA” (here: in all, and HPA is clearly closer on no day)",
            _closer,
        ),
    ),
    _parts_11,
    (
        f"In the look-alike {Weekdays.habit:.0%} of the records fall on the user's own favourite "
        f"day and {Weekdays.suits:.0%} on the place's; the rest follow the week.",
    ),
)
