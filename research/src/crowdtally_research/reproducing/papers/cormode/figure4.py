"""Figure 4: how long publishing takes where ever fewer cells are occupied."""

from __future__ import annotations

from collections.abc import Sequence

from crowdtally.lab.compared.pictures.axes import Axis
from crowdtally_research.reproducing.datasets import Data
from crowdtally_research.reproducing.figure import Claim, Figure, Given, Judged, Panel, Part
from crowdtally_research.reproducing.numbers import Number, Numbers, Place
from crowdtally_research.reproducing.papers.cormode.judging import (
    is_below,
    judged,
    shown,
    times,
    where,
)
from crowdtally_research.reproducing.papers.cormode.noting import TIME_NOTE
from crowdtally_research.reproducing.papers.cormode.sparse import uniform
from crowdtally_research.reproducing.papers.cormode.timing import MOST_CELLS, timed, ways_of
from crowdtally_research.reproducing.papers.cormode.ways import (
    FILTER,
    FILTER_PRIORITY,
    GEOMETRIC,
    PRIORITY,
    THRESHOLD,
    WAVELET,
)

TIME, SIZE = "time", "size"
SUMMARIES = (FILTER, THRESHOLD, PRIORITY, FILTER_PRIORITY)
_POWERS = (1, 2, 3, 4, 5)
_SAME = 4.0
"""Times that differ by no more than this are about the same, on a scale of powers of ten."""
_MUCH = 10.0
_GROWS = 0.3
"""Time grows with the cells if it does so at least by this share of their ratio."""
_MOST_SHARE = 0.01
_SMALLER = 1000.0


def density(given: Given, *, occupied: int, power: int, runs: int) -> list[Number]:
    """All methods where one of 10^power cells is occupied."""
    sparse = uniform(occupied * 10**power, occupied, 20, seed=power)
    seen = timed(sparse, ways_of(sparse, occupied), runs)
    place = 10.0**-power
    return [
        number
        for name, runs_of in seen.items()
        for number in (
            Number.over(TIME, name, place, [one.seconds for one in runs_of]),
            Number.over(SIZE, name, place, [float(one.values) for one in runs_of]),
        )
    ]


def _parts(data: Data, quick: bool) -> Sequence[Part]:
    occupied, runs = (10_000, 2) if quick else (1_000_000, 5)
    return [
        Part(
            f"figure4-{power}", density,
            {"occupied": occupied, "power": power, "runs": runs}, is_timed=True,
        )
        for power in (_POWERS[:3] if quick else _POWERS)
    ]  # fmt: skip


def _filter_first(numbers: Numbers) -> Judged:
    """Among the methods of the paper, at every density."""
    slower: dict[str, list[Place]] = {}
    for other in SUMMARIES[1:]:
        one = numbers.curve(TIME, FILTER)
        theirs = numbers.curve(TIME, other)
        slower[other] = [x for x in one if is_below(theirs[x], one[x])]
    faster = {name: places for name, places in slower.items() if places}
    words = "; ".join(f"{name} is faster at {where(places)}" for name, places in faster.items())
    found = words or "no other summary is faster at any density"
    return judged(not faster, f"{found.capitalize()}.{_why_at_most(numbers)}")


def _why_at_most(numbers: Numbers) -> str:
    """How many cells a filter keeps where most are occupied: its size is not bounded."""
    sizes = numbers.curve(SIZE, FILTER)
    densest = max(sizes, key=float)
    return (
        f" At density {shown(densest)} filter publishes {shown(round(sizes[densest].mean))} cells: "
        "as many empty ones as were asked for, and the occupied ones beside them."
    )


def _sorting_costs(numbers: Numbers) -> Judged:
    slow = numbers.curve(TIME, PRIORITY), numbers.curve(TIME, FILTER_PRIORITY)
    quick = numbers.curve(TIME, THRESHOLD)
    ratios = [min(one[x].mean for one in slow) / quick[x].mean for x in quick]
    found = (
        f"Both take {times(min(ratios))} to {times(max(ratios))} as long as a threshold sample, "
        "which does not sort."
    )
    return judged(min(ratios) > 1, found)


def _same_where_dense(numbers: Numbers) -> Judged:
    places = numbers.curve(TIME, GEOMETRIC)
    densest = max(places, key=float)
    seconds = {line: numbers.mean(TIME, line, densest) for line in (GEOMETRIC, WAVELET, *SUMMARIES)}
    least, most = min(seconds, key=seconds.__getitem__), max(seconds, key=seconds.__getitem__)
    found = (
        f"At density {shown(densest)}: from {seconds[least]:.2f} s ({least}) to "
        f"{seconds[most]:.2f} s ({most}), geometric {seconds[GEOMETRIC]:.2f} s. About the same "
        f"means within {times(_SAME)}."
    )
    return judged(seconds[most] <= _SAME * seconds[least], found)


def _faster(numbers: Numbers) -> Judged:
    places = numbers.curve(TIME, GEOMETRIC)
    sparsest = min(places, key=float)
    ratios = {
        line: places[sparsest].mean / numbers.mean(TIME, line, sparsest) for line in SUMMARIES
    }
    found = (
        f"At density {shown(sparsest)}, the sparsest at which every cell can be published here, "
        f"{'; '.join(f'{line} {times(ratio)}' for line, ratio in ratios.items())} faster."
    )
    return judged(min(ratios.values()) >= _MUCH, found)


def _flat(numbers: Numbers) -> Judged:
    ratios = {}
    for line in SUMMARIES:
        curve = numbers.curve(TIME, line)
        ratios[line] = curve[min(curve, key=float)].mean / curve[max(curve, key=float)].mean
    found = "From the densest to the sparsest table the time grows " + ", ".join(
        f"{ratio:.2f} times ({line})" for line, ratio in ratios.items()
    )
    return judged(max(ratios.values()) < 2, f"{found}; the domain grows 10,000 times.")


def _dense_stop(numbers: Numbers) -> Judged:
    """Whether the time of dense methods grows as their cells do."""
    words, holds = [], True
    for line in (GEOMETRIC, WAVELET):
        curve = numbers.curve(TIME, line)
        sparsest, densest = min(curve, key=float), max(curve, key=float)
        ratio = curve[sparsest].mean / curve[densest].mean
        holds &= ratio >= _GROWS * float(densest) / float(sparsest)
        words.append(
            f"{line} takes {times(ratio)} as long at {shown(sparsest)} as at {shown(densest)}"
        )
    found = (
        f"{', '.join(words)}; beyond {MOST_CELLS:,} cells they do not fit the memory and are not "
        "run: there is no number, and none is guessed."
    )
    return judged(holds, found)


def _one_percent(numbers: Numbers) -> Judged:
    places = numbers.curve(TIME, GEOMETRIC)
    sparsest = min(places, key=float)
    best = min(SUMMARIES, key=lambda line: numbers.mean(TIME, line, sparsest))
    share = numbers.mean(TIME, best, sparsest) / places[sparsest].mean
    found = f"{best} takes {share:.1%} of the time of geometric at density {shown(sparsest)}."
    if share >= _MOST_SHARE and len(places) < len(numbers.curve(TIME, best)):
        why = "Sparser tables are too large for geometric here; Figure 6 has one that it can do."
        return Judged("cannot be checked", f"{found} {why}")
    return judged(share < _MOST_SHARE, found)


def _smaller(numbers: Numbers) -> Judged:
    """The domain over the summary: known also where geometric was not run."""
    sizes = numbers.curve(SIZE, FILTER_PRIORITY)
    sparsest = min(sizes, key=float)
    ratio = sizes[max(sizes, key=float)].mean / float(sparsest) / sizes[sparsest].mean
    found = (
        f"At density {shown(sparsest)} a summary of {shown(round(sizes[sparsest].mean))} cells "
        f"stands for a domain that is {times(ratio)} as large."
    )
    return judged(ratio >= _SMALLER, found)


FIGURE = Figure(
    "4",
    "Running time of publishing against the density of the table",
    "Paper: 1,000,000 occupied cells in domains of 10^7 to 10^11 cells, summaries of 1,000,000 "
    "cells, on a 3 GHz Xeon with 4 GB. We: the same tables, processor seconds of the publishing "
    "step in one process, five times each.",
    "Times of summaries are flat: they do not depend on the domain. Times of geometric and wavelet "
    "rise tenfold with each step to the left, until such tables do not fit the memory.",
    (
        Panel(
            TIME, "time", Axis("density: occupied cells / all cells", True),
            Axis("processor seconds", True),
        ),
        Panel(
            SIZE, "output", Axis("density: occupied cells / all cells", True),
            Axis("published values", True),
        ),
    ),
    (
        Claim("“Among all methods, Filter is the fastest.”", _filter_first),
        Claim("“Priority and Filter-Priority have a higher cost due to the extra effort to find "
              "the (s + 1)th priority.”", _sorting_costs),
        Claim("At density 0.1 “the running time is about the same for all methods”.",
              _same_where_dense),
        Claim("“As the data becomes more sparse, all our techniques are orders of magnitude faster "
              "than Geometric.”", _faster),
        Claim("The time of summaries is independent of the size of the domain (section 1).", _flat),
        Claim("The wavelet, as geometric, “fails to scale for large domains”.", _dense_stop),
        Claim("Summaries “can be computed in less than 1% of the time compared to standard "
              "methods” (abstract).", _one_percent),
        Claim("“The summaries are up to 1000 times smaller” (abstract).", _smaller),
    ),
    _parts,
    (
        "The κ of filter and filter-priority follows from the cells, the size and ε: as many empty "
        "cells as were asked for are expected to pass. So filter publishes up to twice that many.",
        "auto is its step that publishes the cells (beyond 2^22 cells a filter-priority summary of "
        "1,000,000), with 97% of ε; counting the persons before it is not timed.",
        TIME_NOTE,
    ),
)  # fmt: skip
