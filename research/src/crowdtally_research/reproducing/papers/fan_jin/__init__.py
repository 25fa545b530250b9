"""Fan and Jin 2015: sampling a bounded number of records of each user, by chance or by hand."""

from crowdtally_research.reproducing.figure import Paper
from crowdtally_research.reproducing.papers.fan_jin import (
    figure5,
    figure6,
    figure9,
    figure10,
    figure11,
    table5,
    utility,
)

PAPER = Paper(
    "fan-jin",
    "Liyue Fan and Hongxia Jin, A Practical Framework for Privacy-Preserving Data Analytics, "
    "WWW 2015",
    (
        figure5.FIGURE,
        figure6.FIGURE,
        utility.FIGURE_7,
        utility.FIGURE_8,
        figure9.FIGURE,
        figure10.FIGURE,
        figure11.FIGURE,
        table5.FIGURE,
    ),
)
