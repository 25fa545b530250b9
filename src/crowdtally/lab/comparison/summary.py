"""The results of a comparison: its settings, numbers, facts, and how they are worded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import floor, isfinite, log10
from typing import Any

from crowdtally.core.values import written
from crowdtally.curator.bounding import METHODS
from crowdtally.curator.summaries import PUBLISHINGS
from crowdtally.curator.transforms import TRANSFORMS
from crowdtally.errors import UsageError
from crowdtally.lab.methods import Method
from crowdtally.lab.metrics import METRICS


@dataclass(frozen=True)
class Setting:
    """One way to spend ε on the records."""

    method: str
    """A method of :mod:`crowdtally.lab.methods` or a baseline, by its name."""
    epsilon: str
    """The whole ε, exact, as text."""
    max_records: int | None = None
    """The bound per user, or the largest one to choose from; None where the method has none."""


@dataclass(frozen=True)
class Summary:
    """One number of one setting: its mean over all runs, and how far that may be off."""

    setting: Setting
    table: str
    """``items``, ``edges`` or ``cells``."""
    metric: str
    k: int | None
    """The length of a list, for metrics of top lists."""
    mean: float
    standard_error: float
    """Of the mean, from the means of the keys: runs with one key are not independent."""
    keys: int
    runs: int


@dataclass(frozen=True)
class Facts:
    """The records, the runs and the program of a comparison. Not private."""

    source: str
    """Where the records came from, as its user named it, without a password."""
    count: str
    """``records`` or ``users``."""
    records: int
    """Within the public lists."""
    users: int
    """With such a record."""
    items: int
    cells: Mapping[str, int]
    """Of each table that was compared, by its name."""
    largest: int
    """M: the most that one user contributes, read off the records; the bound of the baselines."""
    epsilons: tuple[str, ...]
    """Each whole ε, exact, as text, in the given order."""
    runs: int
    """Of each setting."""
    keys: int
    """Sampling keys of each setting."""
    started: datetime
    finished: datetime
    command: str
    """What makes the comparison again, in one line of the command line or of Python."""
    versions: Mapping[str, str] = field(default_factory=dict)
    contexts: Mapping[str, int] = field(default_factory=dict)
    """The number of values of each context, by the name of its column."""
    baselines: frozenset[str] = frozenset()
    """Methods that no release can be asked for."""
    fields: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The fields of methods, beside their bounds: ``{"dpsense": {"cap": 5}}``."""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Why a method was left out, by its name."""
    notes: tuple[str, ...] = ()
    """Further remarks, a sentence each."""


# Names of metrics on a page and at an axis.

TABLES = {"items": "items", "edges": "items in contexts", "cells": "cells"}
"""Each table in words; in the order of a page."""


@dataclass(frozen=True)
class Words:
    name: str
    """In a sentence: "the mean absolute error"; ``{k}`` where it is one of a list."""
    short: str
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
    table: str
    metric: str
    k: int | None = None

    @classmethod
    def of(cls, summary: Summary) -> Measure:
        return cls(summary.table, summary.metric, summary.k)

    @property
    def lower_is_better(self) -> bool:
        return METRICS[self.metric].better == "lower"

    @property
    def judges(self) -> bool:
        """Whether a better value makes a better release: a larger rest after bounding does not."""
        return self.metric != "reduction"

    @property
    def name(self) -> str:
        """In a sentence.

        >>> Measure("items", "precision", 10).name
        'share of the true top 10 found'
        """
        return WORDS[self.metric].name.format(k="K" if self.k is None else self.k)

    @property
    def short(self) -> str:
        return WORDS[self.metric].short.format(k="K" if self.k is None else self.k)

    def unit(self, count: str) -> str:
        return WORDS[self.metric].unit.format(count=count)

    def title(self, count: str) -> str:
        """At an axis."""
        return f"{capital(self.name)} ({self.unit(count)})"


def measures(summaries: Sequence[Summary]) -> list[Measure]:
    """Every measure, in the order of a page."""
    tables, metrics = [*TABLES], [*WORDS]

    def place(measure: Measure) -> tuple[int, int, int]:
        return tables.index(measure.table), metrics.index(measure.metric), measure.k or 0

    return sorted({Measure.of(summary) for summary in summaries}, key=place)


def error_of(table: str, found: Sequence[Measure]) -> Measure | None:
    """The measure that judges the counts of a table: the mean absolute error, if any."""
    errors = (Measure(table, metric) for metric in ("mae", "mse"))
    return next((one for one in errors if one in found), None)


def precisions_of(table: str, found: Sequence[Measure]) -> list[Measure]:
    """The precisions of top lists of a table, by their length."""
    return [one for one in found if one.table == table and one.metric == "precision"]


def capital(words: str) -> str:
    return words[:1].upper() + words[1:]


# A mean and its standard error, rounded together.

NO_NUMBER = "–"
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_PLAIN = range(-3, 6)
"""Powers of ten of numbers that are written out."""
_DIGITS = 4
"""Significant digits of a mean whose error is 0 or unknown."""
_MOST_DIGITS = 6
"""Significant digits of any mean."""


def with_error(mean: float, error: float) -> str:
    """A mean ± its standard error: the error to two digits, the mean to the same place.

    >>> with_error(234.1234, 1.987), with_error(42_812_345.0, 301_234.0)
    ('234.1 ± 2.0', '(4.281 ± 0.030) × 10⁷')
    >>> with_error(0.5, 0.0), with_error(12_345.6, float("nan")), with_error(float("nan"), 1.0)
    ('0.5 ± 0', '12,350', '–')
    """
    if not isfinite(mean):
        return NO_NUMBER
    power = _power(max(abs(mean), error if isfinite(error) else 0.0))
    shift = 0 if power in _PLAIN else power
    mean, error = mean / 10.0**shift, error / 10.0**shift
    if not isfinite(error) or error == 0:
        text = _significant(mean) + (" ± 0" if error == 0 else "")
        return _scaled(text, shift, bracketed=error == 0)
    places = 1 - _power(error)
    most = _MOST_DIGITS - 1 - _power(mean) if mean else places
    if round(error, most) == 0:  # an error of the arithmetic itself, say
        return _scaled(f"{_fixed(mean, most)} ± 0", shift, bracketed=True)
    places = min(places, most)
    text = f"{_fixed(mean, places)} ± {_fixed(error, places)}"
    return _scaled(text, shift, bracketed=True)


def alone(number: float) -> str:
    """A number without an error.

    >>> alone(0.25), alone(1234567.0), alone(0.0)
    ('0.25', '1.235 × 10⁶', '0')
    """
    return with_error(number, float("nan"))


def _power(number: float) -> int:
    """The power of ten of a number's first digit; 0 for 0."""
    return floor(log10(abs(number))) if number else 0


def _significant(number: float) -> str:
    text = _fixed(number, _DIGITS - 1 - _power(number))
    return text.rstrip("0").rstrip(".") if "." in text else text


def _fixed(number: float, places: int) -> str:
    """So many decimal places; where they are negative, that many digits are 0."""
    rounded = round(number, places) + 0.0  # no minus sign before a zero
    return f"{rounded:,.{max(places, 0)}f}"


def _scaled(text: str, shift: int, *, bracketed: bool) -> str:
    if not shift:
        return text
    front = f"({text})" if bracketed else text
    return f"{front} × 10{str(shift).translate(_SUPERSCRIPTS)}"


# Settings that a release can be asked for.


def can_be_released(setting: Setting, facts: Facts) -> bool:
    """Whether a release can be asked for it, with nothing read off the records."""
    if setting.method in facts.baselines:
        return False
    try:
        method = Method.of(setting.method)
    except UsageError:
        return False
    # A declared bound that is the largest contribution was read off the records, like a baseline's.
    return method.bounding != "declared" or setting.max_records != max(facts.largest, 1)


def label(setting: Setting, facts: Facts) -> str:
    """A method in a legend and in a table, marked where no release can be asked for it."""
    released = can_be_released(setting, facts)
    return setting.method if released else f"{setting.method} (comparison only)"


def typed(setting: Setting, facts: Facts) -> str:
    """The options of a release for a setting, as they are typed."""
    bound = {} if setting.max_records is None else {"max_records": setting.max_records}
    fields = {**facts.fields.get(setting.method, {}), **bound}
    registries = {"method": METHODS, "summary": PUBLISHINGS, "transform": TRANSFORMS}
    words = [
        f"--{name} {written(registries[name], one, 'max_records')}"
        for name, one in Method.of(setting.method).options(fields).items()
    ]
    return " ".join([*words, *(["--count users"] if facts.count == "users" else [])])


def in_words(setting: Setting) -> str:
    """A setting in a sentence.

    >>> in_words(Setting("sra", "1", 30)), in_words(Setting("dpsense+rank", "1", 100))
    ('sra with at most 30 records per user', 'dpsense+rank with a bound chosen up to 100')
    """
    if setting.max_records is None:
        return setting.method
    if "+" in setting.method:
        return f"{setting.method} with a bound chosen up to {setting.max_records:,}"
    unit = "record" if setting.max_records == 1 else "records"
    return f"{setting.method} with at most {setting.max_records:,} {unit} per user"
