"""Fan and Jin 2015: sampling a bounded number of records of each user, by chance or by hand."""

from crowdtally_research.reproducing.figure import Paper
from crowdtally_research.reproducing.papers.fan_jin import (
    figures5and6,
    figures9to11,
    table5,
    utility,
)

PAPER = Paper(
    "fan-jin",
    "Liyue Fan and Hongxia Jin, A Practical Framework for Privacy-Preserving Data Analytics, "
    "WWW 2015",
    (
        figures5and6.FIGURE_5,
        figures5and6.FIGURE_6,
        utility.FIGURE_7,
        utility.FIGURE_8,
        figures9to11.FIGURE_9,
        figures9to11.FIGURE_10,
        figures9to11.FIGURE_11,
        table5.FIGURE,
    ),
)
