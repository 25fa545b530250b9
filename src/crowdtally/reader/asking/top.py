"""The most popular items of a release, overall or in a context."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from crowdtally.errors import UsageError, did_you_mean
from crowdtally.published.table import TableFacts
from crowdtally.published.what_counts import what_counts
from crowdtally.reader.asking.floor import floor_words
from crowdtally.reader.asking.noisy_lines import NoisyLine, NoisyLines
from crowdtally.reader.asking.notebook import top_line, top_table
from crowdtally.reader.asking.printing import printed
from crowdtally.reader.asking.ranking import Ranked, by_estimate, with_crowd
from crowdtally.reader.axes import Axes
from crowdtally.reader.estimating.believed import Believed
from crowdtally.reader.estimating.covering import NOISE
from crowdtally.reader.estimating.covering import words as covering_words
from crowdtally.reader.estimating.estimator import Estimator
from crowdtally.reader.lookup import AxisLookup, Mask


@dataclass(frozen=True)
class TopItem:
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
    ``raw``."""
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
class TopList:
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

    def __iter__(self) -> Any:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int) -> TopItem:
        return self.rows[index]

    @property
    def notes(self) -> list[str]:
        """What must be said beside the list."""
        return [one for one in (self.estimate_words, self.floor_words, self.what_counts) if one]

    def to_dicts(self) -> list[dict[str, Any]]:
        """Plain dictionaries, for a DataFrame or for JSON."""
        return [asdict(row) for row in self.rows]

    def to_json(self) -> str:
        """JSON text."""
        return json.dumps(self.to_dicts(), ensure_ascii=False)

    def __repr__(self) -> str:
        return top_line(self.rows, self.counted)

    def _repr_html_(self) -> str:
        return top_table(self.rows, self.counted, self.notes)

    def __str__(self) -> str:
        return "\n".join([*printed(self.rows, self.floor), *self.notes])


def top(
    axes: Axes, estimator: Estimator, k: int, context: Mapping[str, object], *, raw: bool = False
) -> TopList:
    """The k items with the largest estimates, overall or where the context has these values.

    A context that is not named is summed over. With ``raw``, noisy counts alone decide.
    """
    if isinstance(k, bool) or not isinstance(k, int | np.integer) or k < 1:
        raise UsageError(f"k must be a whole number of at least 1: received {k!r}.")
    box = {name: _chosen(axes, name, value) for name, value in context.items()}
    if not axes.published.domain.has_items:
        raise UsageError("this release is a table of attributes: it has no items. Ask for sums.")
    item = next(iter(axes.by_name.values()))
    table = axes.find([item.name, *box])
    if table is None and raw:
        raise UsageError(
            "this release has no noisy counts of items in contexts, only estimates: leave out "
            "--raw, or ask without a context."
        )
    if table is None and estimator.contexts is None:
        table = axes.table([item.name, *box])
    _refuse_unnamed(axes, table, box)
    noisy = None if table is None else NoisyLines.of(axes, table, item, box)
    asked = _Asked(axes, estimator, item, min(int(k), len(item)), box, table, noisy)
    rows = asked.as_released() if raw else asked.as_believed()
    return asked.answer(rows)


@dataclass(frozen=True, eq=False)
class _Asked:
    """A question for a list."""

    axes: Axes
    estimator: Estimator
    item: AxisLookup
    k: int
    box: Mapping[str, Mask]
    table: TableFacts | None
    """The table that has noisy counts of just this."""
    noisy: NoisyLines | None
    """What is asked of it."""

    def as_released(self) -> list[TopItem]:
        """By noisy counts alone."""
        if self.noisy is None:
            return []
        lines = self.noisy.lines(self.noisy.largest(self.k))
        return [self._plain(rank, line) for rank, line in enumerate(lines, start=1)]

    def as_believed(self) -> list[TopItem]:
        """By estimates, where there are any."""
        of_items, estimator = self.estimator.items, self.estimator
        if self.box:
            believed = estimator.in_contexts(estimator.context_mask(self.box))
        else:
            believed = None if of_items is None else of_items.believed
        if believed is None or of_items is None:
            return self.as_released()
        in_order = of_items.in_order and not self.box
        lines = by_estimate(self.k, self.item, believed, self.noisy, in_order=in_order)
        if not self.box:
            lines = with_crowd(lines, estimator.crowd)
        chances = believed.chance_among(self.k)
        return [
            self._line(rank, line, believed, of_items.covers, float(chances[line.place]), in_order)
            for rank, line in enumerate(lines, start=1)
        ]

    def _plain(self, rank: int, line: NoisyLine) -> TopItem:
        floor = None if self.noisy is None else self.noisy.floor
        return TopItem(
            rank, line.item, line.stands_for, line.low, line.high, NOISE, None, None,
            line.count, line.noise_std, line.low, line.high, line.standard_error,
            floor, floor is None or line.count > floor,
        )  # fmt: skip

    def _line(
        self, rank: int, line: Ranked, of: Believed, covers: str, chance: float, in_order: bool
    ) -> TopItem:
        place, noisy = line.place, line.noisy
        floor = None if self.noisy is None else self.noisy.floor
        above = noisy is not None and floor is not None and noisy.count > floor
        if not in_order:  # more than one count speaks for it
            above = above or bool(of.low[place] > 0)
        return TopItem(
            rank,
            line.item,
            float(of.mean[place]),
            float(of.low[place]),
            float(of.high[place]),
            covers,
            float(of.median[place]),
            chance,
            None if noisy is None else noisy.count,
            None if noisy is None else noisy.noise_std,
            None if noisy is None else noisy.low,
            None if noisy is None else noisy.high,
            float(of.deviation[place]),
            floor,
            above,
        )

    def answer(self, rows: list[TopItem]) -> TopList:
        """The list, and what must be said beside it."""
        published = self.axes.published
        table = self.table or self.axes.table([self.item.name])
        floor = None if self.noisy is None else self.noisy.floor
        covers = rows[0].covers if rows else NOISE
        words = [covering_words(published, table, covers)]
        if self.box and self.estimator.contexts is not None and covers != NOISE:
            words.append(self.estimator.contexts.remark or "")
        return TopList(
            tuple(rows),
            table.kind.counts(published.counted),
            floor,
            len(self.item),
            "" if floor is None else floor_words(table, len(self.item), floor),
            what_counts(published, table).sentence(),
            " ".join(word for word in words if word),
        )


def _refuse_unnamed(axes: Axes, table: TableFacts | None, box: Mapping[str, Mask]) -> None:
    """Top items of each context are not those of all contexts together."""
    if table is None or not table.is_chosen or set(box) == set(axes.contexts):
        return
    named = " ".join(f"--context {name}=VALUE" for name in axes.contexts)
    raise UsageError(
        f"this release has the top items of each context alone: name one, with {named} "
        f"(in Python {', '.join(f'{name}=VALUE' for name in axes.contexts)})."
    )


def _chosen(axes: Axes, name: str, value: object) -> Mask:
    """Where a context has the value that is asked for."""
    contexts = axes.contexts
    if name == "k" and name not in contexts:
        raise UsageError(f"how many comes first, without a name: top({value!r}, …).")
    if not contexts:
        raise UsageError("this release has no contexts: ask for the top items overall.")
    if name not in contexts:
        raise UsageError(f"this release has no context {name!r}. {did_you_mean(name, contexts)}")
    return contexts[name].among([contexts[name].spelled(value)])
