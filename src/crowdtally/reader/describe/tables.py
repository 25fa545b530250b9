"""What is counted, table by table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import prod
from typing import Any

from crowdtally.core.layout import (
    BINS,
    CONTEXTS,
    CROWD,
    EDGES,
    HEAD,
    HEAD_ROWS,
    HEAD_ROWS_AGAIN,
    HEADS,
    PAIRS,
    PILOT,
    POPULARITY,
    SIZES,
    SPLIT_HEAD,
    TASTES,
    TASTES_AGAIN,
    ZOOM,
)
from crowdtally.core.numbers import show
from crowdtally.core.privacy import Epsilon, Rho
from crowdtally.format import Published
from crowdtally.format.manifest import (
    AutoFacts,
    Guarantee,
    PublicDomain,
    PublicList,
    RecordFacts,
    StepFacts,
    SummaryFacts,
    TableFacts,
)
from crowdtally.laws.gaussian import GaussianNoise
from crowdtally.reader.describe.words import amount, code, examples, listed, number, several, who

# What the tables of ``auto`` and of top items hold, in words.

_WORDS = {
    SIZES.name: "how many users have how many {counted}: 1, 2 to 3, 4 to 7 and so on, in {bins}, "
    "the last one open",
    PILOT.name: "a first, rough look at {items}, from rows scaled to a sum of 1",
    CROWD.name: "users of {items} that very many have, by the table 'pilot'",
    ZOOM.name: "{items} with much of the estimated total, measured once more in rows of their own",
    BINS.name: "totals of {groups} of items of about equal weight, the most popular items first",
    HEAD.name: "users of {items}, {chosen}",
    HEADS.name: "users of {each} in each of {contexts}, selected privately",
    SPLIT_HEAD.name: "users of {each}, chosen by their estimates, in each of {contexts}",
    CONTEXTS.name: "the total of each of {contexts}, from rows scaled down",
    TASTES.name: "how far users of each of {contexts} like {features} of the items more or less "
    "than all users do",
    HEAD_ROWS.name: "{each}, chosen by their estimates, in each of {contexts}, from rows scaled to "
    "a sum of 1 within them",
}
_AGAIN = (
    "the cells of {refines!r} with half of its noise, which was refined and not drawn anew: both "
    "tables together cost the ε of this one"
)
_MEAN = (
    "the mean of {refines!r} and of a second look at its cells: both tables together cost the ρ of "
    "this one"
)


def step_table(published: Published, table: TableFacts) -> str | None:
    """What the rows of a table are; None for a table that is no step's."""
    words = _WORDS.get(table.name)
    if table.name in (TASTES_AGAIN.name, HEAD_ROWS_AGAIN.name):
        words = _MEAN if table.law.kind == GaussianNoise.kind else _AGAIN
    if words is None:
        return None
    lists = published.domain.contexts
    combinations = prod(one.length for one in lists)
    each = table.cells // combinations
    kind = "combinations" if len(lists) > 1 else "values"
    names = listed([repr(one.name) for one in lists]) if lists else ""
    return words.format(
        counted="different items" if published.counted == "users" else "records",
        bins=several(table.cells, "bin"),
        items=several(table.cells, "item"),
        groups=several(table.cells, "group"),
        chosen="selected privately" if published.auto is None else "chosen by their estimates",
        each=several(each, "item"),
        features=several(each - 1, "feature"),  # the last row counts users
        contexts=f"{number(combinations)} {kind} of {names}",
        refines=table.kind.refines,
    )


# What is counted: the first part of a description.

_COUNTED = {
    "row": "rows, each of them one person",
    "bounded-elsewhere": "rows",
    "person": "persons",
}
"""What a count counts where there are no users."""


def what_lines(published: Published) -> Iterator[str]:
    """What is counted, from which columns, and which tables it makes."""
    yield subject_line(published)
    yield from declared_lines(published)
    yield from table_lines(published)
    if (other := published.metadata.get("other")) is not None:
        yield f"Beside it: a {other['counts']}, {number(int(other['count']))}."
    dataset = published.charged.dataset
    named = f" of the dataset {dataset!r}" if dataset is not None else ""
    yield f"It is the release {published.id}{named}, begun at {published.metadata['created']}."


def table_lines(published: Published) -> Iterator[str]:
    """What each table holds."""
    for table in published.tables:
        summary = "" if table.summary is None else f" {_summary(table, table.summary)}"
        yield f"Table {table.name!r} ({table.file}): {_cells(published, table)}.{summary}"


def declared_lines(published: Published) -> Iterator[str]:
    """How rows became records."""
    records, record_id = published.records, published.method.record_id
    yield from _computed(records)
    yield from _selected(records)
    if record_id is not None:
        yield f"One user's records were told apart by the column {record_id!r}."


def subject_line(published: Published) -> str:
    """What is counted, and over which lists."""
    domain, counted = published.domain, counts(published)
    if domain.is_discovered:
        return _found_line(domain)
    lists = [f"{one.name!r} ({_sized(one)})" for one in domain.lists]
    if not domain.has_items:
        return f"Noisy numbers of {counted}, for every combination of {listed(lists)}."
    if published.table(HEAD.name) and published.auto is None:
        return f"Noisy numbers of users of some of {lists[0]}: those that most users have."
    if published.table(HEADS.name):
        where = listed(lists[1:])
        return f"Noisy numbers of users of some of {lists[0]}: the most common ones by {where}."
    inside = f", and in every combination with {listed(lists[1:])}" if lists[1:] else ""
    if published.auto is not None and lists[1:] and published.table(EDGES.name) is None:
        inside = f", and what is needed to estimate them by {listed(lists[1:])}"
    return f"Noisy numbers of {counted}, for every {lists[0]}{inside}."


def _found_line(domain: PublicDomain) -> str:
    """The same where the release itself found the values of some columns."""
    first, *others = (repr(name) for name in domain.names)
    if domain.has_items and not others:
        return (
            f"Noisy numbers of users for items of {first}. There was no public list of items: the "
            "release itself found them among the records."
        )
    over = f"combinations of {listed([first, *others])}"
    if domain.has_items:
        over = f"items of {first}, and for them in combination with {listed(others)}"
    found = listed([repr(one.name) for one in domain.discovered])
    known = [f"{one.name!r} has {_sized(one)}" for one in domain.lists if not one.is_discovered]
    rest = f" {listed(known)}." if known else ""
    return (
        f"Noisy numbers of users for {over}. There was no public list of {found}: the release "
        f"itself found the values among the records.{rest}"
    )


def counts(published: Published) -> str:
    """What a count counts, in words."""
    return _COUNTED.get(published.guarantee.unit, published.counted)


def _sized(one: PublicList) -> str:
    return f"a public list of {several(one.length, 'value')}{examples(one.values)}"


def _computed(records: RecordFacts) -> Iterator[str]:
    expressions = {name: how for name, how in records.contexts.items() if how is not None}
    if records.item is not None and records.item_expression is not None:
        expressions = {records.item: records.item_expression, **expressions}
    for name, how in expressions.items():
        yield f"{name!r} was computed from each row as {code(how)}."
    for name, kind in records.types.items():
        yield f"Column {name!r} was read as {kind}; a value that does not fit was missing."
    if expressions or records.where is not None or records.timezone != "UTC":
        yield f"Where times became days and hours, it was in the zone {records.timezone}."


def _selected(records: RecordFacts) -> Iterator[str]:
    if records.where is not None:
        yield f"Only rows that meet the condition {code(records.where)} were records."
    else:
        yield "There was no condition: every row with listed values was a record."
    if records.quantity is not None:
        yield (
            f"A record counted as often as its column {records.quantity!r} says, and at most "
            f"{several(records.most, 'time')}."
        )


def _cells(published: Published, table: TableFacts) -> str:
    """What its rows are, and how many."""
    counted = table.kind.counts(counts(published))
    if table.is_discovered:
        return _found_cells(table)
    if table.kind is POPULARITY:
        return (
            f"a rough popularity of {several(table.cells, 'item')}, by which it was decided which "
            "records are kept; questions are not answered from it"
        )
    if table.kind is PAIRS:
        return f"{counted} for each unordered pair of items, {several(table.cells, 'cell')}"
    step = step_table(published, table)
    if step is not None:
        return step
    over = listed([repr(axis) for axis in table.axes])
    if table.transform.kind != "none":
        cells = prod(published.domain.by_name[axis].length for axis in table.axes)
        return f"{counted} by {over} ({several(cells, 'cell')}), {_transformed(table)}"
    if table.kind is EDGES or len(table.axes) > 1:
        sizes = " × ".join(number(one.length) for one in published.domain.lists)
        return (
            f"{counted} for every combination of {over}, {sizes} = {several(table.cells, 'cell')}"
        )
    return f"{counted} for every {over}, {several(table.cells, 'cell')}"


def _found_cells(table: TableFacts) -> str:
    what = several(table.cells, "released item")
    if table.axes[1:]:
        over = listed([repr(axis) for axis in table.axes])
        what = f"{several(table.cells, 'released combination')} of {over}"
    return (
        f"users of each of {what}: those with a noisy number of at least "
        f"{number(table.discovery_threshold or 0)}"
    )


def _transformed(table: TableFacts) -> str:
    transform = table.transform
    ordered, size = listed([repr(name) for name in transform.ordered] or ["?"]), number(table.cells)
    return {
        "dyadic": f"as a tree of counts over ranges of {ordered} ({size} nodes)",
        "haar": f"as Haar coefficients along {ordered} ({size} of them)",
        "sketch": (
            f"as a count sketch of {several(transform.rows, 'row')} of "
            f"{several(transform.buckets, 'bucket')} under public hashes: single cells are "
            "estimated from it"
        ),
    }[transform.kind]


def _summary(table: TableFacts, summary: SummaryFacts) -> str:
    """How the cells were chosen, all of it by their noisy counts alone."""
    unit, keeping = float(table.law.unit), summary.keeping
    rules = []
    if keeping.sides == "one":
        rules.append("only positive noisy counts were kept")
    if keeping.cut:
        least = amount(keeping.cut * unit)
        rules.append(f"noisy counts nearer to 0 than {least} were dropped")
    if summary.size is not None:
        left = "of what was left " if rules else ""
        rules.append(f"{left}a sample of at most {number(summary.size)} was drawn")
    if keeping.samples and keeping.threshold is not None:
        reach = amount(float(keeping.threshold) * unit)
        rules.append(f"smaller counts were kept by chance, in proportion to them, below {reach}")
    if summary.drops_orphans:
        rules.append("ranges inside a dropped range were dropped too")
    how = f": {listed(rules)}" if rules else ""
    return (
        f"It is a summary of type {table.publishing!r}: "
        f"{several(summary.published_cells, 'row')} of {number(summary.domain_cells)} "
        f"{'is' if summary.published_cells == 1 else 'are'} published{how}. Which rows these are "
        "was decided by noisy counts, never by the true ones."
    )


# What ``auto`` did, step by step, and what an estimate from it assumes.

AIMS = {
    "counts": "numbers that are near the truth for all items",
    "top": "the order and the numbers of the largest items",
    "recommend": "what to recommend in each context, for which numbers may be a little farther off",
}
"""What a release is for, in words."""
IN_CONTEXT = (EDGES, SPLIT_HEAD, TASTES, HEAD_ROWS)
"""Tables that say how contexts differ, not only how large they are."""


def course_lines(published: Published) -> Iterator[str]:
    """The steps with their share and why, and what was left; nothing where a method was named."""
    auto = published.auto
    if auto is None:
        return
    yield (
        f"No method was named, so the release measured its own way, for "
        f"{AIMS.get(auto.purpose, auto.purpose)} (--for {auto.purpose})."
    )
    for place, step in enumerate(auto.steps, start=1):
        yield _step(place, step, auto.share(step, published.guarantee.epsilon))
    yield _total(auto, published.guarantee)
    yield (
        "Which steps were taken, with which share and which bound, was decided by public facts and "
        "by what earlier steps had released, never by the records. So the decisions cost nothing: "
        "whatever came out on the way, the shares add up to at most "
        f"{'ε' if auto.rho is None else 'ε and δ'} (adaptive composition)."
    )


def _step(place: int, step: StepFacts, part: Fraction) -> str:
    why = step.why.rstrip(".")
    if not step.is_taken:
        return f"Step {place}, {step.name!r}, not taken: {why}."
    sign = "ρ" if step.paid_in == Rho.field else "ε"
    return f"Step {place}, {step.name!r}, {share(part)} of {sign}: {why}{_decided(step.facts)}."


def share(part: Fraction) -> str:
    """A share of ε, for people.

    >>> share(Fraction(3, 100)), share(Fraction(1, 3)), share(Fraction(1, 5000))
    ('3%', '33.3%', '0.02%')
    """
    return f"{amount(float(100 * part))}%"


def _decided(facts: Mapping[str, Any]) -> str:
    """What was decided for a step, as far as it is a word or a number."""
    plain = [
        f"{name.replace('_', ' ')} {number(value) if isinstance(value, int) else value}"
        for name, value in facts.items()
        if isinstance(value, str | int | float) and not isinstance(value, bool)
    ]
    return f" ({', '.join(plain)})" if plain else ""


def _total(auto: AutoFacts, promised: Guarantee) -> str:
    sign, whole = ("ε", promised.epsilon) if auto.rho is None else ("ρ", auto.rho)
    pure = auto.spent(Epsilon.field)
    turned = ""
    if auto.rho is not None and pure:
        turned = (
            f" Once the sizes were released, Gaussian noise was expected to be nearer: the other "
            f"ε {show(promised.epsilon - pure)} and δ {show(promised.delta)} bought ρ "
            f"{show(auto.rho)} of zero-concentrated differential privacy."
        )
    spent = show(whole - auto.unspent)
    if not auto.unspent:
        return f"Together they spent all of {sign} {spent}.{turned}"
    return (
        f"Together they spent {sign} {spent} of the {show(whole)} that was charged. The rest, "
        f"{show(auto.unspent)}, is not given back.{turned}"
    )


def assumed_lines(published: Published) -> Iterator[str]:
    """What an estimate from a release of ``auto`` assumes, and what nothing promises."""
    auto = published.auto
    if auto is None:
        return
    yield from _calibration(published, auto)
    yield from _context_steps(published, auto)


def _calibration(published: Published, auto: AutoFacts) -> Iterator[str]:
    names = {table.name for table in published.tables}
    measured = [repr(kind.name) for kind in (BINS, HEAD, SPLIT_HEAD) if kind.name in names]
    if not published.method.bounds:
        return
    if measured:
        yield (
            "What estimates assume. Scaling rows down lost a part of the counts; estimates put it "
            f"back by {listed(measured)}, which were measured almost without a bound. That assumes "
            "that what was lost follows an item's popularity smoothly: an item of unusual "
            f"{who(published)}s can be farther off than its interval says."
        )
    else:
        yield (
            "What estimates assume. Scaling rows down lost a part of the counts, by the released "
            "sizes so little that it was not measured item by item: estimates put back a share of "
            "it that is the same for all."
        )
    if auto.repeats and names & {HEAD.name, SPLIT_HEAD.name}:
        yield (
            "The largest items were measured in users, not in records. Estimates of their records "
            "may stay a fifth to two fifths too low."
        )


def _context_steps(published: Published, auto: AutoFacts) -> Iterator[str]:
    contexts = [repr(one.name) for one in published.domain.contexts]
    if not contexts:
        return
    person = who(published)
    if auto.context_per_user:
        yield (
            f"Each {person} was counted with one value of {listed(contexts)}, drawn from that "
            f"{person}'s own at random, in all tables. Of a {person} with several values the "
            "others are not shown."
        )
    if not any(published.table(kind.name) for kind in IN_CONTEXT):
        yield (
            "Each context has the overall ranking: only the totals of the contexts were measured, "
            "because there were too few people in each, or the release was for something else."
        )
    yield (
        "Shares of contexts lean towards those of people with few records, because long rows were "
        "scaled down more."
    )
