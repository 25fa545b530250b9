"""A top list: its lines, and what is said beside them."""

from __future__ import annotations

from dataclasses import dataclass

from crowdtally.reader.answers.answer import AnswerList, AnswerRow
from crowdtally.reader.asking.notebook import top_line, top_table
from crowdtally.reader.asking.printing import printed


@dataclass(frozen=True)
class TopItem(AnswerRow):
    """One line of a top list."""

    rank: int
    """1 for the largest estimate; equal ones keep the order of their noisy counts, then of the item
    list."""
    item: str | int
    """The item."""
    estimate: float
    """What its count is believed to be, from all that the release says; with ``raw``, or where
    cells have no estimates of their own, what ``count`` alone stands for: the same, but where cells
    were sampled at least the threshold."""
    estimate_low: float | None
    """The lower end of the 95% interval of the estimate; None where counts enter by weights."""
    estimate_high: float | None
    """Its upper end."""
    covers: str
    """What that interval covers: the true counts, the bounded counts, or the noise only."""
    median: float | None
    """As likely too large as too small: for small counts nearer than ``estimate``, which is the
    mean. None with ``raw``."""
    chance_in_top: float | None
    """How likely the item is one of the k largest, k being how many were asked for; None with
    ``raw``, and where only selected items were measured: others are not known."""
    count: float | None
    """Its noisy count, as released: it can be negative. Whole, unless rows were scaled. None where
    items in contexts have no noisy counts, only estimates."""
    noise_std: float | None
    """Standard deviation of the noise in ``count``."""
    low: float | None
    """``count`` less the half width of the noise interval; None where counts enter by weights."""
    high: float | None
    """``count`` plus the same."""
    standard_error: float
    """How far ``estimate`` typically is from what it is an estimate of."""
    floor: float | None
    """The noise floor of the list: where nobody is counted, the largest count of all items exceeds
    it with a probability of at most 5%."""
    above_floor: bool
    """Whether ``count`` is above it, or what else was measured shows that somebody is counted; else
    the item is not told apart from noise."""


@dataclass(frozen=True)
class TopList(AnswerList[TopItem]):
    """The answer to ``top``: a sequence of :class:`TopItem`."""

    rows: tuple[TopItem, ...]
    """The items, largest estimate first; fewer than asked for where fewer were published."""
    counted: str
    """What a count counts: records or users."""
    floor: float | None
    """The noise floor, the same for all items; None where there are no noisy counts."""
    ranked: int
    """How many items there are to rank, published or not: the floor follows from it."""
    floor_words: str
    """What the floor is, in a sentence."""
    what_counts: str
    """What is counted of one user, and what noise intervals do not cover, in a sentence."""
    estimate_words: str
    """What the estimates are estimates of, in a sentence or two."""
    k: int | None = None
    """How many were asked for, at most as many as there are items: ``chance_in_top`` goes by it.
    None: as many as there are lines."""

    @classmethod
    def row_type(cls) -> type[TopItem]:
        """The dataclass of its rows."""
        return TopItem

    @property
    def notes(self) -> list[str]:
        """What must be said beside the list."""
        shows_noise = not self.rows or any(row.count is not None for row in self.rows)
        told = (self.estimate_words, self.floor_words, self.what_counts if shows_noise else "")
        return [one for one in told if one]

    def __repr__(self) -> str:
        return top_line(self.rows, self.counted)

    def _repr_html_(self) -> str:
        return top_table(self.rows, self.counted, self.notes, self.labelled)

    def __str__(self) -> str:
        lines = printed(self.rows, self.floor, self.k, self.labelled)
        return "\n".join([*lines, *self.notes])
