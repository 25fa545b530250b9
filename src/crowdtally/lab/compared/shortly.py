"""A comparison in a few lines: of each method the bound with the smallest error."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from crowdtally.lab.compared.facts import Facts
from crowdtally.lab.compared.summary import Setting, Summary

_SHOWN = (("mae", None), ("mse", None), ("precision", 10), ("kl", None))
_HEADINGS = ("method", "best l", "MAE", "± s.e.", "MSE", "precision@10", "KL")


def lines(summaries: Sequence[Summary], facts: Facts) -> Iterator[str]:
    """A table for each ε and each table of counts, the smallest error first."""
    for epsilon in facts.epsilons:
        for table, cells in facts.cells.items():
            here = [s for s in summaries if s.table == table and s.setting.epsilon == epsilon]
            number = f"{cells:,} cell" + ("s" if cells > 1 else "")
            yield f"epsilon {epsilon}, {table} ({number}), {facts.runs} runs each:"
            yield from _aligned([_HEADINGS, *_rows(here, facts)])
            yield ""
    by_reason: dict[str, list[str]] = {}
    for name, words in facts.skipped.items():
        by_reason.setdefault(words, []).append(name)
    left_out = [f"Left out: {', '.join(names)}: {words}" for words, names in by_reason.items()]
    for remark in (*left_out, *facts.notes):
        yield f"{remark}\n"


def _rows(here: Sequence[Summary], facts: Facts) -> Iterator[tuple[str, ...]]:
    by = {(s.setting, s.metric, s.k): s for s in here}
    errors = [s for s in here if s.metric == "mae"]
    best: dict[str, Summary] = {}
    for one in sorted(errors, key=lambda s: s.mean):
        best.setdefault(one.setting.method, one)
    for method, one in best.items():
        found = [by.get((one.setting, metric, k)) for metric, k in _SHOWN]
        mae, *others = [_number(s.mean) if s is not None else "–" for s in found]
        yield method, _bound(one.setting, facts), mae, _number(one.standard_error), *others


def _bound(setting: Setting, facts: Facts) -> str:
    if setting.max_records is not None:
        return str(setting.max_records)
    return f"M={facts.largest}" if setting.method in facts.baselines else "own"


def _number(value: float) -> str:
    """Three digits, as people write them.

    >>> _number(1234.5), _number(0.01234), _number(0.0)
    ('1,230', '0.0123', '0')
    """
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "–"
    digits = 2 - math.floor(math.log10(abs(value)))
    if digits < -6:
        return f"{value:.2e}"
    return f"{round(value, digits):,.{max(digits, 0)}f}"


def _aligned(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *others in rows:
        cells = [word.rjust(width) for word, width in zip(others, widths[1:], strict=True)]
        yield f"  {first.ljust(widths[0])}  {'  '.join(cells)}".rstrip()
