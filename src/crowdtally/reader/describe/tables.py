"""What is counted, table by table, and what ``auto`` did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import prod

from crowdtally.core import layout as kinds
from crowdtally.core.numbers import show
from crowdtally.core.privacy import Epsilon, Rho
from crowdtally.format import Published, manifest
from crowdtally.reader.describe.words import amount, code, examples, listed, number, several, who
from crowdtally.reader.estimates.facts import base_table, short_rows

_WORDS = {
    kinds.SIZES.name: "how many users have how many {rows}: from 1 to 8, then 9 to 16, 17 to 32 "
    "and so on, in {bins}; the last one has all longer rows",
    kinds.PILOT_SHORT.name: "a first look at {cells}, from users of at most {bound}",
    kinds.PILOT.name: "a first look at {cells}, from the other users",
    kinds.ITEMS_SHORT.name: "{counted} for every {over}, {cells}, from users of at most {bound}: "
    "they were counted whole",
    kinds.TOTAL.name: "how many {rows} there are in all, at most {bound} of each user",
    kinds.CONTEXTS.name: "the total of each of {contexts}, from rows scaled down",
    kinds.HEAD.name: "users of {items}, {chosen}",
    kinds.HEADS.name: "users of {each} in each of {contexts}, selected privately",
    kinds.HEAD_ROWS.name: "{counted} of {items}, chosen by their estimates, from rows that have "
    "nothing else",
    kinds.ZOOM.name: "{counted} of {items} that seem to have much of all, from rows that have "
    "nothing else",
}


def step_table(published: Published, table: manifest.TableFacts) -> str | None:
    """What the rows of a table are; None for a table that is no step's."""
    words = _WORDS.get(table.name)
    if words is None:
        return None
    auto, lists = published.auto, published.domain.contexts
    row = "different item" if published.counted == "users" else "record"
    theta = 0 if auto is None else auto.theta(table.name) or 0
    return words.format(
        rows=f"{row}s",
        bins=several(table.cells, "bin"),
        cells=several(table.cells, "cell"),
        items=several(table.cells, "item"),
        counted=counts(published),
        over=_named(table.axes),
        bound=number(theta) if table.kind is kinds.TOTAL else several(theta, row),
        chosen="selected privately" if auto is None else "chosen by their estimates",
        each=several(table.cells // prod(one.length for one in lists), "item"),
        contexts=_contexts(lists),
    )


def _contexts(lists: Sequence[manifest.PublicList]) -> str:
    kind = "combinations" if len(lists) > 1 else "values"
    combinations = prod(one.length for one in lists)
    return f"{number(combinations)} {kind} of {_named([one.name for one in lists])}"


def _named(names: Sequence[str]) -> str:
    return listed([repr(name) for name in names] or [""])


_COUNTED = {
    "row": "rows, each of them one person",
    "bounded-elsewhere": "rows",
    "person": "persons",
}
"""What a count counts where there are no users."""


def what_lines(published: Published) -> Iterator[str]:
    yield subject_line(published)
    yield from declared_lines(published)
    yield from table_lines(published)
    if (other := published.metadata.get("other")) is not None:
        yield f"Beside it: a {other['counts']}, {number(int(other['count']))}."
    dataset = published.charged.dataset
    named = f" of the dataset {dataset!r}" if dataset is not None else ""
    yield f"It is the release {published.id}{named}, begun at {published.metadata['created']}."


def table_lines(published: Published) -> Iterator[str]:
    for table in published.tables:
        summary = "" if table.summary is None else f" {_summary(table, table.summary)}"
        yield f"Table {table.name!r} ({table.file}): {_cells(published, table)}.{summary}"


def declared_lines(published: Published) -> Iterator[str]:
    records, record_id = published.records, published.method.record_id
    yield from _computed(records)
    yield from _selected(records)
    if record_id is not None:
        yield f"One user's records were told apart by the column {record_id!r}."


def subject_line(published: Published) -> str:
    domain, counted = published.domain, counts(published)
    if domain.is_discovered:
        return _found_line(domain)
    lists = [f"{one.name!r} ({_sized(one)})" for one in domain.lists]
    if not domain.has_items:
        return f"Noisy numbers of {counted}, for every combination of {listed(lists)}."
    if published.table(kinds.HEAD.name) and published.auto is None:
        return f"Noisy numbers of users of some of {lists[0]}: those that most users have."
    if published.table(kinds.HEADS.name):
        where = listed(lists[1:])
        return f"Noisy numbers of users of some of {lists[0]}: the most common ones by {where}."
    inside = f", and in every combination with {listed(lists[1:])}" if lists[1:] else ""
    if published.auto is not None and lists[1:] and published.table(kinds.EDGES.name) is None:
        whole = published.table(kinds.CONTEXTS.name) is not None
        inside = f", and in all by {listed(lists[1:])}" if whole else ""
    return f"Noisy numbers of {counted}, for every {lists[0]}{inside}."


def _found_line(domain: manifest.PublicDomain) -> str:
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
    return _COUNTED.get(published.guarantee.unit, published.counted)


def _sized(one: manifest.PublicList) -> str:
    return f"a public list of {several(one.length, 'value')}{examples(one.values)}"


def _computed(records: manifest.RecordFacts) -> Iterator[str]:
    expressions = {name: how for name, how in records.contexts.items() if how is not None}
    if records.item is not None and records.item_expression is not None:
        expressions = {records.item: records.item_expression, **expressions}
    for name, how in expressions.items():
        yield f"{name!r} was computed from each row as {code(how)}."
    for name, kind in records.types.items():
        yield f"Column {name!r} was read as {kind}; a value that does not fit was missing."
    if expressions or records.where is not None or records.timezone != "UTC":
        yield f"Where times became days and hours, it was in the zone {records.timezone}."


def _selected(records: manifest.RecordFacts) -> Iterator[str]:
    if records.where is not None:
        yield f"Only rows that meet the condition {code(records.where)} were records."
    else:
        yield "There was no condition: every row with listed values was a record."
    if records.quantity is not None:
        yield (
            f"A record counted as often as its column {records.quantity!r} says, and at most "
            f"{several(records.most, 'time')}."
        )


def _cells(published: Published, table: manifest.TableFacts) -> str:
    counted = table.kind.counts(counts(published))
    if table.is_discovered:
        return _found_cells(table)
    if table.kind is kinds.POPULARITY:
        return (
            f"a rough popularity of {several(table.cells, 'item')}, by which it was decided which "
            "records are kept; questions are not answered from it"
        )
    if table.kind is kinds.PAIRS:
        return f"{counted} for each unordered pair of items, {several(table.cells, 'cell')}"
    step = step_table(published, table)
    if step is not None:
        return step
    over = listed([repr(axis) for axis in table.axes])
    if table.transform.kind != "none":
        cells = prod(published.domain.by_name[axis].length for axis in table.axes)
        return f"{counted} by {over} ({several(cells, 'cell')}), {_transformed(table)}"
    if table.kind is kinds.EDGES or len(table.axes) > 1:
        sizes = " × ".join(number(one.length) for one in published.domain.lists)
        return (
            f"{counted} for every combination of {over}, {sizes} = {several(table.cells, 'cell')}"
        )
    others = "" if short_rows(published, table) is None else ", from the users of longer rows"
    return f"{counted} for every {over}, {several(table.cells, 'cell')}{others}"


def _found_cells(table: manifest.TableFacts) -> str:
    what = several(table.cells, "released item")
    if table.axes[1:]:
        over = listed([repr(axis) for axis in table.axes])
        what = f"{several(table.cells, 'released combination')} of {over}"
    return (
        f"users of each of {what}: those with a noisy number of at least "
        f"{number(table.discovery_threshold or 0)}"
    )


def _transformed(table: manifest.TableFacts) -> str:
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


def _summary(table: manifest.TableFacts, summary: manifest.TableFacts) -> str:
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


# What ``auto`` did, step by step, and what estimates from it assume.

AIMS = {
    "counts": "numbers that are near the truth for all items",
    "top": "the order and the numbers of the largest items",
    "recommend": "what to recommend in each context, for which numbers may be a little farther off",
}
"""What a release is for, in words."""


def course_lines(published: Published) -> Iterator[str]:
    """The tables with their share and why; nothing where a method was named."""
    auto = published.auto
    if auto is None:
        return
    yield (
        f"No method was named, so the release measured its own way, for "
        f"{AIMS.get(auto.purpose, auto.purpose)} (aim {auto.purpose})."
    )
    for place, step in enumerate(auto.steps, start=1):
        yield _step(published, place, step, auto.share(step, published.guarantee.epsilon))
    yield _total(auto, published.guarantee)
    yield (
        "Which tables there are, with which share and which bound, was decided by public facts and "
        "by what earlier steps had released, never by the records. So the decisions cost nothing: "
        "whatever came out on the way, the shares add up to all of "
        f"{'ε' if auto.rho is None else 'ε and δ'} (adaptive composition)."
    )


def _step(published: Published, place: int, step: manifest.StepFacts, part: Fraction) -> str:
    why, sign = step.why.rstrip("."), "ρ" if step.paid_in == Rho.field else "ε"
    paid = f"{share(part)} of {sign}"
    if kinds.KINDS[step.name].short_rows:
        paid = f"at the same {paid} as {longer_rows(published, kinds.KINDS[step.name])!r}"
    return f"Step {place}, {step.name!r}, {paid}: {why}."


def longer_rows(published: Published, kind: kinds.TableKind) -> str:
    """The table that has the users of longer rows, where this kind has those of short ones."""
    base = base_table(published)
    return base.name if kind is kinds.ITEMS_SHORT and base is not None else kinds.PILOT.name


def share(part: Fraction) -> str:
    """A share of ε, for people.

    >>> share(Fraction(3, 100)), share(Fraction(1, 3)), share(Fraction(1, 5000))
    ('3%', '33.3%', '0.02%')
    """
    return f"{amount(float(100 * part))}%"


def _total(auto: manifest.AutoFacts, promised: manifest.Guarantee) -> str:
    sign, whole = ("ε", promised.epsilon) if auto.rho is None else ("ρ", auto.rho)
    pure = auto.spent(Epsilon.field)
    turned = ""
    if auto.rho is not None and pure:
        turned = (
            f" Once the sizes were released, Gaussian noise was expected to be nearer: the other "
            f"ε {show(promised.epsilon - pure)} and δ {show(promised.delta)} bought ρ "
            f"{show(auto.rho)} of zero-concentrated differential privacy."
        )
    return f"Together they spent all of {sign} {show(whole)}.{turned}"


def assumed_lines(published: Published) -> Iterator[str]:
    """What an estimate from a release of ``auto`` assumes, and what nothing promises."""
    auto = published.auto
    if auto is None:
        return
    yield f"What estimates assume. {_ASSUMED[auto.path].format(who=who(published))}"
    if auto.path == "long":
        yield (
            "How much was lost in all is known from the released lengths of rows and from the "
            f"table {kinds.TOTAL.name!r}. If a few rows are so long that the lengths do not show "
            "them, all estimates are too low together."
        )
    yield from _context_steps(published, auto)


_ASSUMED = {
    "short": "Nearly all rows are short, and they were counted whole. The released lengths of "
    "rows tell what was cut off the few long ones. Estimates put it back, in proportion.",
    "rich": "Most rows were counted whole. The released lengths of rows tell what was cut off "
    "long ones, and estimates put it back, in proportion. An item that is liked by {who}s of very "
    "long rows alone can be farther off than its interval says.",
    "long": "Scaling rows down lost a part of the counts, and estimates put it back. That assumes "
    "that what was lost follows an item's popularity smoothly: an item of unusual {who}s can be "
    "farther off than its interval says.",
}


def _context_steps(published: Published, auto: manifest.AutoFacts) -> Iterator[str]:
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
    if published.table(kinds.EDGES.name) is None:
        whole = published.table(kinds.CONTEXTS.name) is not None
        what = "Only the totals of contexts were" if whole else "Nothing was"
        yield f"{what} measured there: items and contexts make too many cells together."
    if auto.path != "short":
        yield (
            "Shares of contexts lean towards those of people with few records, because long rows "
            "were scaled down more."
        )
