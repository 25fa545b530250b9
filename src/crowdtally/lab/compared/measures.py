"""What each metric is called on a page and at an axis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crowdtally.lab.compared.summary import Summary
from crowdtally.lab.metrics import METRICS

TABLES = {
    "items": "items",
    "edges": "items in contexts",
    "cells": "cells",
}
"""Each table in words; in the order of a page."""


@dataclass(frozen=True)
class Words:
    """A metric in words."""

    name: str
    """In a sentence: "the mean absolute error"; ``{k}`` where it is one of a list."""
    short: str
    """At the head of a column."""
    unit: str
    """Of a value; ``{count}`` is records or users."""


WORDS: Mapping[str, Words] = {
    "mae": Words("mean absolute error", "Mean absolute error", "{count}"),
    "mse": Words("mean squared error", "Mean squared error", "{count}²"),
    "mre": Words("mean relative error", "Mean relative error", "ratio"),
    "kl": Words("divergence of the true from the released shares", "KL (true‖released)", "nats"),
    "kl_reversed": Words(
        "divergence of the released from the true shares", "KL (released‖true)", "nats"
    ),
    "precision": Words("share of the true top {k} found", "Top {k} found", "share"),
    "top_mae": Words(
        "mean absolute error of the true top {k}", "Mean absolute error, top {k}", "{count}"
    ),
    "top_mre": Words(
        "mean relative error of the true top {k}", "Mean relative error, top {k}", "ratio"
    ),
    "subset_error": Words("relative error of sums over subsets", "Subset sums, relative", "ratio"),
    "range_error": Words("relative error of sums over ranges", "Range sums, relative", "ratio"),
    "reduction": Words("share of the total left by bounding", "Left by bounding", "share"),
    "context_distance": Words(
        "distance of the shares of the contexts", "Distance of context shares", "share"
    ),
}


@dataclass(frozen=True)
class Measure:
    """One metric of one table."""

    table: str
    """``items``, ``edges`` or ``cells``."""
    metric: str
    """A metric of :mod:`crowdtally.lab.metrics`."""
    k: int | None = None
    """The length of a list, for metrics of top lists."""

    @classmethod
    def of(cls, summary: Summary) -> Measure:
        """What a summary measured."""
        return cls(summary.table, summary.metric, summary.k)

    @property
    def _words(self) -> Words:
        plain = self.metric.replace("_", " ")
        return WORDS.get(self.metric, Words(plain, plain, ""))

    @property
    def lower_is_better(self) -> bool:
        """Whether a smaller value is the better one."""
        return self.metric not in METRICS or METRICS[self.metric].better == "lower"

    @property
    def judges(self) -> bool:
        """Whether a better value makes a better release: what bounding leaves does not alone."""
        return self.metric != "reduction"

    @property
    def name(self) -> str:
        """In a sentence.

        >>> Measure("items", "precision", 10).name
        'share of the true top 10 found'
        """
        return self._words.name.format(k="K" if self.k is None else self.k)

    @property
    def short(self) -> str:
        """At the head of a column."""
        return self._words.short.format(k="K" if self.k is None else self.k)

    def unit(self, count: str) -> str:
        """Of its values, where ``count`` is counted.

        >>> Measure("items", "mse").unit("users")
        'users²'
        """
        return self._words.unit.format(count=count)

    def title(self, count: str) -> str:
        """At an axis."""
        unit = self.unit(count)
        return capital(self.name) + (f" ({unit})" if unit else "")


def measures(summaries: Sequence[Summary]) -> list[Measure]:
    """All that was measured, in the order of a page."""
    tables, metrics = list(TABLES), list(WORDS)

    def place(measure: Measure) -> tuple[int, str, int, str, int]:
        table = tables.index(measure.table) if measure.table in tables else len(tables)
        metric = metrics.index(measure.metric) if measure.metric in metrics else len(metrics)
        return table, measure.table, metric, measure.metric, measure.k or 0

    return sorted({Measure.of(summary) for summary in summaries}, key=place)


def error_of(table: str, found: Sequence[Measure]) -> Measure | None:
    """The measure by which the counts of a table are judged: the mean absolute error, if any."""
    for metric in ("mae", "mse"):
        if Measure(table, metric) in found:
            return Measure(table, metric)
    return None


def precisions_of(table: str, found: Sequence[Measure]) -> list[Measure]:
    """How well top lists of a table are found, by their length."""
    return [one for one in found if one.table == table and one.metric == "precision"]


def capital(words: str) -> str:
    """The words as the beginning of a sentence."""
    return words[:1].upper() + words[1:]
