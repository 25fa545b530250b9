"""What was found, in words and tables: plain text for a screen, Markdown for a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from crowdtally.lab.compared.rounding import alone, with_error
from crowdtally_research.recommenders.found import Aggregates, Facts, Found, Quality
from crowdtally_research.recommenders.histories import DRAWN, RANDOM, RAW, WORDS

_SURE = 2.0
"""Standard errors by which a gain must differ from 0 to be told."""
_NO_EPSILON = "no ε"


def title(metric: str, facts: Facts) -> str:
    """The metric with the length of its lists, as people write it.

    >>> from types import SimpleNamespace
    >>> title("ndcg", SimpleNamespace(length=10)), title("hit rate", SimpleNamespace(length=5))
    ('NDCG@10', 'hit rate@5')
    """
    return f"{metric.upper() if metric == 'ndcg' else metric}@{facts.length}"


def metrics_of(found: Found) -> list[str]:
    """The metrics in their order."""
    return list(dict.fromkeys(one.metric for one in found.qualities))


def recommenders_of(found: Found) -> list[str]:
    """The recommenders that look at a history."""
    return list(dict.fromkeys(one.recommender for one in found.qualities if one.history == RAW))


def popular_list(found: Found, metric: str) -> Quality:
    """The list that is the same for all."""
    return next(q for q in found.qualities if q.history == "none" and q.metric == metric)


def quality_table(found: Found, metric: str, recommender: str) -> list[list[str]]:
    """A row for each kind of history, a column for each ε; the heads first."""
    here = {
        (q.history, q.epsilon): q
        for q in found.qualities
        if q.metric == metric and q.recommender == recommender
    }
    epsilons = list(dict.fromkeys(q.epsilon for q in found.qualities if q.epsilon is not None))
    rows = [["history", _NO_EPSILON, *(f"ε = {epsilon}" for epsilon in epsilons)]]
    for history in (RAW, *DRAWN, RANDOM):
        cells = [here.get((history, epsilon)) for epsilon in (None, *epsilons)]
        shown = [with_error(q.mean, q.standard_error) if q is not None else "" for q in cells]
        rows.append([history, *shown])
    return rows


def aggregates_table(aggregates: Sequence[Aggregates]) -> list[list[str]]:
    """A row for each ε: expected, measured and rebuilt, with scales of least mean and uniform."""
    kinds = list(dict.fromkeys(one.scales for one in aggregates))
    parts = ("expected", "measured", "rebuilt")
    rows = [["ε", *(f"{kind}, {part}" for kind in kinds for part in parts)]]
    for epsilon in dict.fromkeys(one.epsilon for one in aggregates):
        row = [epsilon]
        for one in (a for a in aggregates if a.epsilon == epsilon):
            row += [alone(one.expected), with_error(one.measured, one.measured_error)]
            row += [with_error(one.rebuilt, one.rebuilt_error)]
        rows.append(row)
    return rows


def sentences(found: Found) -> Iterator[str]:
    """The answer in words, for each kind of history that keeps ε, by a rule that is told."""
    metric = metrics_of(found)[0]
    for history in DRAWN:
        for recommender in recommenders_of(found):
            here = [
                q for q in found.qualities
                if (q.history, q.recommender, q.metric) == (history, recommender, metric)
            ]  # fmt: skip
            better = [str(q.epsilon) for q in here if q.gain > _SURE * q.gain_error]
            worse = [str(q.epsilon) for q in here if q.gain < -_SURE * q.gain_error]
            parts = [
                f"{word} at ε = {', '.join(at)}"
                for word, at in (("better", better), ("worse", worse))
                if at
            ]
            told = " and ".join(parts) or "no better and no worse at any ε"
            yield f"{history}, {recommender}: {told}."


def facts_in_words(facts: Facts) -> Iterator[str]:
    """What the numbers are of."""
    yield (
        f"{facts.people:,} people to recommend to, {facts.mean_history:.1f} items in a history and "
        f"{facts.hidden} hidden of each; {facts.public:,} other people to learn from; "
        f"{facts.items:,} items in {facts.categories:,} categories; {facts.draws} "
        f"{'draw' if facts.draws == 1 else 'draws'} at each ε."
    )
    yield (
        "ε is that of one item: a whole history of t items has t·ε, here "
        f"{facts.mean_history:.0f}·ε on average."
    )
    if facts.left_out:
        yield (
            f"Of {facts.rows:,} rows, {facts.left_out:,} have no person or an item that is not in "
            "the catalogue, and were left out."
        )


def lines(found: Found) -> Iterator[str]:
    """All of it for a screen."""
    yield from facts_in_words(found.facts)
    for metric in metrics_of(found):
        base = popular_list(found, metric)
        name = title(metric, found.facts)
        yield f"\n{name} of the popular list, the same for all: " + with_error(
            base.mean, base.standard_error
        )
        for recommender in recommenders_of(found):
            yield f"\n{name}, {recommender}:"
            yield from aligned(quality_table(found, metric, recommender))
    yield "\nMean absolute error of the counts of categories:"
    yield from aligned(aggregates_table(found.aggregates))
    name = title(metrics_of(found)[0], found.facts)
    yield f"\nBeside the popular list, by {name} and {_SURE:g} standard errors of the difference:"
    yield from (f"  {one}" for one in sentences(found))


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The rows with their columns below each other."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *others in rows:
        cells = [word.rjust(width) for word, width in zip(others, widths[1:], strict=True)]
        yield f"  {first.ljust(widths[0])}  {'  '.join(cells)}".rstrip()


def markdown(found: Found) -> str:
    """All of it as a page."""
    parts = ["# Does a perturbed history still recommend?", *facts_in_words(found.facts)]
    parts.append(f"```sh\n{found.facts.command}\n```")
    parts.append(_table([["history", "what it is"], *([k, w] for k, w in WORDS.items())]))
    for metric in metrics_of(found):
        base, name = popular_list(found, metric), title(metric, found.facts)
        parts.append(f"## {name[0].upper()}{name[1:]}")
        parts.append(
            f"Of the popular list, the same for all: {with_error(base.mean, base.standard_error)}."
        )
        for recommender in recommenders_of(found):
            parts += [f"### {recommender}", _table(quality_table(found, metric, recommender))]
    parts += ["## Mean absolute error of the counts of categories"]
    parts += [_table(aggregates_table(found.aggregates))]
    name = title(metrics_of(found)[0], found.facts)
    parts += [f"## Beside the popular list, by {name}"]
    parts += [f"A difference is told where it is above {_SURE:g} standard errors of its own."]
    parts += ["\n".join(f"- {one}" for one in sentences(found))]
    return "\n\n".join(parts) + "\n"


def _table(rows: Sequence[Sequence[str]]) -> str:
    head, *others = rows
    ruled = [head, ["---"] * len(head), *others]
    return "\n".join(f"| {' | '.join(row)} |" for row in ruled)
