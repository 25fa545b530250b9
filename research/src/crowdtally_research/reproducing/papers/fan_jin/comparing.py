"""Work that is a comparison: all methods on one data set, many runs, every metric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from crowdtally.lab.compared.summary import Summary
from crowdtally.lab.comparing.comparison import Question, compared
from crowdtally_research.reproducing.figure import AUTO, Given
from crowdtally_research.reproducing.numbers import Number
from crowdtally_research.reproducing.papers.fan_jin.subjects import (
    EPSILON,
    SOURCES,
    Read,
    Source,
    read,
)
from crowdtally_research.reproducing.papers.fan_jin.theorem import Theorem, theorem_of

METHODS = ("lpa", "dft", "gs", "sra", "hpa")
"""The paper's, in the order of its figures."""
KS = (1, 3, 10, 20, 30, 50, 100, 300, 1000)
"""The lengths of lists."""
LIMITS = (1, 2, 3, 5, 10, 20, 30, 50, 100)
"""The values of l that figure 6 tries."""
LESS = "0.1"
"""A second ε of figure 6: one alone cannot show how the best l moves with it."""
THEOREM = "theorem 2, corrected"
TABLES = ("items", "edges")
MEASURED = {"mse": None, "kl": None, "kl_reversed": None, "precision": 10}
"""The metrics of figures 7 and 8, with the length of their list."""
_CALLED = "crowdtally lab reproduce fan-jin"


def panel_of(table: str, metric: str) -> str:
    """The panel of figures 7 and 8 for one metric of one table."""
    return f"{table} {metric}"


def top_panel(dataset: str) -> str:
    """The panel of figure 9 for one data set."""
    return f"top {dataset}"


def popularity_panel(dataset: str) -> str:
    """The panel of figure 5 for one data set."""
    return f"popularity {dataset}"


def limits_panel(table: str, epsilon: str) -> str:
    """The panel of figure 6 for one table at one ε."""
    return f"l {table} {epsilon}"


KEPT = "kept"
"""The panel of figure 10."""


def methods(given: Given, *, dataset: str, runs: int) -> Sequence[Number]:
    """The paper's methods on one data set, as figures 7 to 10 show them."""
    source = SOURCES[dataset]
    with read(given.data, dataset) as found:
        options = {"popularity_records": source.popularity_records}
        summaries = _compared(given, found, METHODS, runs, [source.limit], options)
    return [number for one in summaries for number in _shown(one, source)]


def auto(given: Given, *, dataset: str, runs: int, epsilon: str = str(EPSILON)) -> Sequence[Number]:
    """Our own method on one data set, for every figure that has it as a line."""
    source = SOURCES[dataset]
    with read(given.data, dataset) as found:
        summaries = _compared(given, found, (AUTO,), runs, None, source.declared, epsilon)
    return [
        number
        for one in summaries
        for number in (*_shown(one, source), *_beside_popularity(one, source), *_flat(one))
    ]


def limits(given: Given, *, dataset: str, runs: int, tried: Sequence[int]) -> Sequence[Number]:
    """SRA and HPA with many values of l, at two ε, beside what theory expects of SRA."""
    source = SOURCES[dataset]
    epsilons = (LESS, str(EPSILON))
    with read(given.data, dataset) as found:
        options = {"popularity_records": source.popularity_records}
        summaries = _compared(
            given, found, ("sra", "hpa"), runs, tried, options, ",".join(epsilons), ks=()
        )
        theory = theorem_of(found.subject)
    measured = [
        _number(one, limits_panel(one.table, one.setting.epsilon), float(one.setting.max_records))
        for one in summaries
        if one.metric == "mse" and one.setting.max_records is not None
    ]
    return [*measured, *(number for e in epsilons for number in _expected(theory, e, tried))]


def _compared(
    given: Given,
    found: Read,
    names: Sequence[str],
    runs: int,
    bounds: Sequence[int] | None,
    options: object,
    epsilon: object = EPSILON,
    ks: tuple[int, ...] = KS,
) -> Sequence[Summary]:
    question = Question.of(
        epsilon=epsilon, methods=list(names), max_records=bounds, runs=runs, jobs=given.jobs,
        options=options,  # type: ignore[arg-type]  # a mapping, of any values
    )  # fmt: skip
    name = found.source.title
    return compared(
        found.subject, replace(question, ks=ks), given.folder, called=_CALLED,
        stage=lambda words: given.tell(f"{name}: {words}"),
        progress=lambda done, total: given.tell(f"{name}: {done} of {total} runs"),
    ).summaries  # fmt: skip


def _shown(one: Summary, source: Source) -> Iterator[Number]:
    """What figures 7 to 10 show of it."""
    if one.setting.epsilon != str(EPSILON):
        return
    if one.metric in MEASURED and one.k == MEASURED[one.metric]:
        yield _number(one, panel_of(one.table, one.metric), source.title)
    if (one.table, one.metric) == ("items", "precision") and one.k is not None:
        yield _number(one, top_panel(source.name), float(one.k))
    if (one.table, one.metric) == ("items", "reduction"):
        yield _number(one, KEPT, source.title)


def _beside_popularity(one: Summary, source: Source) -> Iterator[Number]:
    for number in _shown(one, source):
        if number.panel == top_panel(source.name) and number.x in KS[2:]:
            yield replace(number, panel=popularity_panel(source.name))


def _flat(one: Summary) -> Iterator[Number]:
    """One number for every l: what has no l."""
    if one.metric == "mse":
        for limit in LIMITS:
            yield _number(one, limits_panel(one.table, one.setting.epsilon), float(limit))


def _number(one: Summary, panel: str, x: float | str) -> Number:
    return Number(panel, one.setting.method, x, one.mean, one.standard_error, one.runs)


def _expected(theory: Theorem, epsilon: str, tried: Sequence[int]) -> Iterator[Number]:
    share = float(epsilon) / 2  # SRA divides ε evenly between its two tables
    for table in TABLES:
        for limit in tried:
            mean = theory.error(table, limit, share)
            yield Number(limits_panel(table, epsilon), THEOREM, float(limit), mean)
