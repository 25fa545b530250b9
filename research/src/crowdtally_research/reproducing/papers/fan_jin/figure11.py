"""Figure 11: the weekdays of the records that samples keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from crowdtally.lab.compared.pictures.axes import Axis
from crowdtally_research.lookalikes.contexts import Weekdays
from crowdtally_research.reproducing.datasets import Data
from crowdtally_research.reproducing.figure import Claim, Figure, Judged, Panel, Part
from crowdtally_research.reproducing.numbers import Number, Numbers
from crowdtally_research.reproducing.papers.fan_jin.judging import Check, judged, larger
from crowdtally_research.reproducing.papers.fan_jin.sampling import MOVED, WEEK, week
from crowdtally_research.reproducing.papers.fan_jin.shared import QUICK_RUNS, RUNS

DATASET = "foursquare"
OURS = ("sra", "hpa")
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
    moves = {line: _moves(numbers, line) for line in OURS}
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
        for line in OURS
    )
    days = [day for day in sra if larger(sra[day], hpa[day])]
    total = [sum(move.mean for move in by.values()) / 2 for by in (sra, hpa)]
    told = f"SRA is {total[0]:.2f} and HPA {total[1]:.2f} percentage points from it in all"
    if days:
        told += f"; HPA is closer on {', '.join(days)}"
    return Judged("agrees" if total[0] < total[1] and not days else "differs", f"{told}.")


def _parts(data: Data, quick: bool) -> Sequence[Part]:
    runs = QUICK_RUNS if quick else RUNS
    return [Part("week", week, {"dataset": DATASET, "runs": runs}, (DATASET,))]


FIGURE = Figure(
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
    _parts,
    (
        f"In the look-alike {Weekdays.habit:.0%} of the records fall on the user's own favourite "
        f"day and {Weekdays.suits:.0%} on the place's; the rest follow the week.",
    ),
)
