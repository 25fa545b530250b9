"""Cormode, Procopiuc, Srivastava and Tran: summaries of sparse tables.

::

    sparse      tables of counts, made up as in the paper
    real        LODES and Adult
    ways        the ways to publish, by name
    persons     auto on one record of each person
    queries     random subsets and ranges of cells
    accuracy    subset sums after each way
    ranges      range sums from trees, wavelets and cells
    timing      how long publishing takes, and how much it gives
    figure3 …   each figure: its parts, claims and words
"""

from __future__ import annotations

from crowdtally_research.reproducing.figure import Paper
from crowdtally_research.reproducing.papers.cormode import (
    figure3,
    figure4,
    figure5,
    figure6,
    figure7,
    figure8,
)

PAPER = Paper(
    "cormode",
    "Cormode, Procopiuc, Srivastava, Tran: Differentially Private Summaries for Sparse Data (ICDT "
    "2012)",
    (
        figure3.FIGURE,
        figure4.FIGURE,
        figure5.FIGURE,
        figure6.FIGURE,
        figure7.FIGURE,
        figure8.FIGURE,
    ),
)
