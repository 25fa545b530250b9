"""What is counted: the first part of a description."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from crowdtally.core.layout import EDGES, HEAD, HEADS, PAIRS, POPULARITY
from crowdtally.format import Published
from crowdtally.format.manifest import (
    PublicDomain,
    PublicList,
    RecordFacts,
    SummaryFacts,
    TableFacts,
)
from crowdtally.reader.describing.step_tables import step_table
from crowdtally.reader.describing.words import amount, code, examples, listed, number, several

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
    yield from _other(published)
    dataset = published.charged.dataset
    named = f" of the dataset {dataset!r}" if dataset is not None else ""
    yield f"It is the release {published.id}{named}, begun at {published.metadata['created']}."


def table_lines(published: Published) -> Iterator[str]:
    """What each table holds."""
    for table in published.tables:
        yield _table(published, table)


def declared_lines(published: Published) -> Iterator[str]:
    """How rows became records."""
    yield from _declared(published.records, published.method.record_id)


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


def _declared(records: RecordFacts, record_id: str | None) -> Iterator[str]:
    yield from _computed(records)
    yield from _selected(records)
    if record_id is not None:
        yield f"One user's records were told apart by the column {record_id!r}."


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


def _table(published: Published, table: TableFacts) -> str:
    head = f"Table {table.name!r} ({table.file}): {_cells(published, table)}"
    summary = "" if table.summary is None else f" {_summary(table, table.summary)}"
    return f"{head}.{summary}"


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
        return f"{counted} for every combination of {over}, {sizes} = {_cell_count(table)}"
    return f"{counted} for every {over}, {_cell_count(table)}"


def _found_cells(table: TableFacts) -> str:
    what = several(table.cells, "released item")
    if table.axes[1:]:
        over = listed([repr(axis) for axis in table.axes])
        what = f"{several(table.cells, 'released combination')} of {over}"
    return (
        f"users of each of {what}: those with a noisy number of at least "
        f"{number(table.discovery_threshold or 0)}"
    )


def _cell_count(table: TableFacts) -> str:
    return several(table.cells, "cell")


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


def _other(published: Published) -> Iterator[str]:
    other = published.metadata.get("other")
    if other is not None:
        yield f"Beside it: a {other['counts']}, {number(int(other['count']))}."
