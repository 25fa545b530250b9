"""Figure 1: quality and error against θ."""

from __future__ import annotations

from crowdtally.lab.compared.pictures.axes import Axis
from crowdtally_research.reproducing.figure import Figure, Panel
from crowdtally_research.reproducing.papers.day_li import panels
from crowdtally_research.reproducing.papers.day_li.claims1 import CLAIMS
from crowdtally_research.reproducing.papers.day_li.setting import SETS, parts

_THETA = Axis("θ, ones that a row may have", True)
_SET = Axis("data set", False)


def _panels() -> tuple[Panel, ...]:
    count = Axis("count of a column", False)
    above = [
        Panel(
            panels.curves(one.name),
            f"{one.title}: quality and MAE (mean row {one.row_mean:.3g})",
            _THETA,
            count,
        )
        for one in SETS
    ]
    below = [
        Panel(panels.averages(one.name), f"{one.title}: the average of both", _THETA, count)
        for one in SETS
    ]
    return (*above, *below, *_bars())


def _bars() -> tuple[Panel, ...]:
    gap = Axis("% of the mean column count", False)
    return (
        Panel(panels.OPTIMUM, "The θ of the least MAE, of the best quality", _SET,
              Axis("θ over the mean row count", True), is_bars=True),
        Panel(panels.REGRET, "DPSense, its θ chosen privately", _SET,
              Axis("MAE over that at the best θ", False), is_bars=True),
        Panel(panels.SAMPLING, "Rows sampled instead of normalised to θ", _SET,
              Axis("MAE over that of normalised rows", False), is_bars=True),
        Panel(panels.GAP, "The average's distance from half the mean column count", _SET, gap,
              is_bars=True),
        Panel(panels.GAP_KEPT, "The same with negative counts kept", _SET, gap, is_bars=True),
    )  # fmt: skip


FIGURE = Figure(
    "1",
    "Quality function and error against θ",
    "DPSense publishes at fixed θ with 0.9ε, for ε = ln 1.5 and ln 3, 30 runs at each θ. The "
    "places are multiples of the mean row count and the θ of the best quality.",
    "MAE falls, then rises with θ; the quality is nearly its mirror image. Their average leaves "
    "half the mean column count where θ is large, because negative counts are set to 0; with "
    "these kept it stays (last panels). auto needs no θ: its error is a level line below the "
    "curve's least.",
    _panels(),
    CLAIMS,
    parts,
    (
        "ε = ln 1.5 and ln 3 are no rationals: 0.4054 and 1.0986, rounded down, are spent.",
        "Negative counts are set to 0 (line 11 of Algorithm 1), where nothing else is said.",
        "The rows are read once for all θ; the counts are those of a release's own step, and the "
        "noise is drawn by it.",
        "None of the six files is at hand: these are look-alikes with the numbers of Table 2, the "
        "Document set with a twentieth of its rows. How row lengths and popularities are spread "
        "beyond these numbers is not printed, and is ours.",
    ),
)
