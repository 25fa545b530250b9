"""Shen & Jin 2016: EpicRec's noise on a person's own device.

::

    example   figure 4, the running example
    people    MovieLens by genres, or made-up people
    errors    the error of category counts by what is made of them
    figures   the figure of these errors
"""

from crowdtally_research.reproducing.figure import Paper
from crowdtally_research.reproducing.papers.shen_jin import example, figures

PAPER = Paper(
    "shen-jin",
    "Shen & Jin, EpicRec: Towards Practical Differentially Private Framework for Personalized "
    "Recommendation, CCS 2016",
    (example.FIGURE, figures.FIGURE),
)
