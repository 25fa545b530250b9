"""Day & Li 2015: DPSense, on six look-alikes.

::

    panels        the two ε, what numbers are called, and what claims are judged with
    bench         what DPSense counts at any θ, from one reading; the methods it is held against
    methods       DPSense and the numbers of figure 1 and of the comparisons
    experiment    all numbers of one data set; the data sets; table 2
    figure1, comparisons   the other figures, with their claims
"""

from crowdtally_research.reproducing.figure import Paper
from crowdtally_research.reproducing.papers.day_li import comparisons, experiment, figure1

PAPER = Paper(
    "day-li",
    "Day & Li, Differentially Private Publishing of High-dimensional Data Using Sensitivity "
    "Control, ASIACCS 2015",
    (
        experiment.FIGURE,
        figure1.FIGURE,
        comparisons.MAE,
        comparisons.MRE,
        comparisons.TOP_MAE,
        comparisons.TOP_MRE,
        comparisons.TOP,
    ),
)
