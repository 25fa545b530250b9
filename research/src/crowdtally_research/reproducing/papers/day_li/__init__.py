"""Day & Li 2015: DPSense, on six look-alikes.

::

    budgets, setting   the two ε, the data sets, and one part of work for each
    rows               what DPSense counts at any θ, from one reading
    bench, dpsense     the methods, each by the product's own steps
    curves, sampling   the numbers of figure 1
    errors             the numbers of the comparisons
    experiment         all numbers of one data set
    panels, judging    what numbers are called, and what claims are judged with
    figure1, claims1, table2, comparisons, claims_errors   the figures
"""

from crowdtally_research.reproducing.figure import Paper
from crowdtally_research.reproducing.papers.day_li import comparisons, figure1, table2

PAPER = Paper(
    "day-li",
    "Day & Li, Differentially Private Publishing of High-dimensional Data Using Sensitivity "
    "Control, ASIACCS 2015",
    (
        table2.FIGURE,
        figure1.FIGURE,
        comparisons.MAE,
        comparisons.MRE,
        comparisons.TOP_MAE,
        comparisons.TOP_MRE,
        comparisons.TOP,
    ),
)
