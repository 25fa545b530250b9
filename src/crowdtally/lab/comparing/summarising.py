"""From the numbers of all runs to means and how far these may be off."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from statistics import fmean, stdev

from crowdtally.lab.compared.summary import Measured, Setting, Summary

_Of = tuple[Setting, str, str, int | None]


def summaries_of(measured: Iterable[Measured]) -> list[Summary]:
    """One summary for each number of each setting, in the order in which they were met.

    A metric that is not defined in some run, such as a share of nothing, is averaged over the
    others.
    """
    found: dict[_Of, dict[int, list[float]]] = {}
    for one in measured:
        of = (one.setting, one.table, one.metric, one.k)
        found.setdefault(of, {}).setdefault(one.key, []).append(one.value)
    return [_summary(of, by_key) for of, by_key in found.items()]


def _summary(of: _Of, by_key: Mapping[int, list[float]]) -> Summary:
    every = [value for values in by_key.values() for value in values]
    return Summary(*of, fmean(every), standard_error(by_key), len(by_key), len(every))


def standard_error(by_key: Mapping[int, list[float]]) -> float:
    """Of the mean: s/√K of the K keys' own means, because runs with one key are alike.

    NaN for one key alone.

    >>> standard_error({0: [1.0, 3.0], 1: [4.0, 4.0]})
    1.0
    """
    means = [fmean(values) for values in by_key.values()]
    return stdev(means) / math.sqrt(len(means)) if len(means) > 1 else math.nan
