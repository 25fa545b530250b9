"""What was found, as rows: what the tables and pictures are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Quality:
    """How well one recommender recommends to people who gave one kind of history."""

    recommender: str
    """Its name."""
    history: str
    """A kind of :data:`crowdtally_research.recommenders.histories.WORDS`; ``none`` for a list that
    is the same for all."""
    epsilon: str | None
    """ε of one item, exact, as text; None where nothing is drawn with it."""
    metric: str
    """``hit rate`` or ``ndcg``, of lists of the length that the facts say."""
    mean: float
    """Over people, and over draws where something is drawn."""
    standard_error: float
    """Of the mean, from the people's own means over all draws: people are independent."""
    gain: float
    """The mean less that of the popular list, of the same people."""
    gain_error: float
    """The standard error of the gain, from the people's own differences."""


@dataclass(frozen=True)
class Aggregates:
    """How far off the counts of categories are: a mean over people, draws and categories."""

    scales: str
    """``perturbed`` for the scales of least mean, ``uniform`` for the global sensitivity."""
    epsilon: str
    """ε of one item, exact, as text."""
    expected: float
    """The mean absolute error of the noisy counts by the noise's law."""
    measured: float
    """The same, measured."""
    measured_error: float
    """Its standard error."""
    rebuilt: float
    """The mean absolute error of the counts of the rebuilt history."""
    rebuilt_error: float
    """Its standard error."""


@dataclass(frozen=True)
class Facts:
    """What it was measured on."""

    command: str
    """What was typed."""
    items: int
    """Items of the catalogue."""
    categories: int
    """Its categories."""
    public: int
    """People that recommenders and priors were learned from."""
    people: int
    """Held-out people."""
    mean_history: float
    """Items of their histories, on average."""
    hidden: int
    """Items that were hidden of each."""
    length: int
    """Of the lists."""
    draws: int
    """How often every history was perturbed at each ε."""
    seed: int
    """Of the split."""
    rows: int
    """Rows of the records."""
    left_out: int
    """Rows without a person, or with an item outside the catalogue."""


@dataclass(frozen=True)
class Found:
    """All of it. Not private."""

    qualities: Sequence[Quality]
    """How well each recommends."""
    aggregates: Sequence[Aggregates]
    """How far off the categories are."""
    facts: Facts
    """What they are of."""
