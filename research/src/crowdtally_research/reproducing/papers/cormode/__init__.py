"""Cormode, Procopiuc, Srivastava and Tran: summaries of sparse tables.

::

    tables      tables of counts, made up or real; ways to publish them, and queries
    measuring   errors of subset and range sums after each way, time and size
    judging     what claims are judged with, and what the figures on real data share
    figure…     the figures: their parts, claims and words
"""

from __future__ import annotations

from crowdtally_research.reproducing.figure import Paper
from crowdtally_research.reproducing.papers.cormode import figure8, figures3and4, figures5to7

PAPER = Paper(
    "cormode",
    "Cormode, Procopiuc, Srivastava, Tran: Differentially Private Summaries for Sparse Data (ICDT "
    "2012)",
    (
        figures3and4.FIGURE_3,
        figures3and4.FIGURE_4,
        figures5to7.FIGURE_5,
        figures5to7.FIGURE_6,
        figures5to7.FIGURE_7,
        figure8.FIGURE,
    ),
)
