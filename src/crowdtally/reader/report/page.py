"""The report as a page in one file, without scripts, or as a PDF."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from crowdtally.core.files import refuse_taken, write_new
from crowdtally.core.layout import KINDS
from crowdtally.core.privacy import Epsilon, Rho
from crowdtally.errors import UsageError, needs
from crowdtally.laws.conversion import percent as percent_of
from crowdtally.reader.report.charts import Name, figures, noise_warning, steps_chart, top_numbers
from crowdtally.reader.report.facts import Facts, Step, TableSize
from crowdtally.web.pages import Shown, between, grouped, rendered, value

_PACKAGE = "crowdtally.reader.report"
_LETTERS = {kind.field: kind.letter for kind in (Epsilon, Rho)}


def page(
    facts: Facts, *, fixed_colours: bool = False, home: str = "", stylesheet: str | None = None
) -> str:
    """The page.

    ``fixed_colours`` is for programs that know no variables in drawings, ``home`` the address of
    the site that the page is a part of, ``stylesheet`` that of a style sheet outside the page.
    """
    beside = {} if stylesheet is None else {"stylesheet": stylesheet}
    name, of = named(facts), facts.dataset
    return rendered(
        _PACKAGE,
        "report.html",
        title="Privacy report" + ("" if of is None else f" of {value(of, 60)}"),
        facts=facts,
        figures=figures(facts, name),
        beliefs=_beliefs(facts),
        steps=_steps(facts),
        steps_chart=steps_chart(facts.spent.steps),
        budget=_budget(facts),
        errors=_errors(facts),
        lists=_lists(facts),
        tables=_tables(facts),
        tops=[top_numbers(one.top, name, where_words(one.context)) for one in facts.tops],
        pairs=pairs_table(facts, name),
        fixed_colours=fixed_colours,
        home=home,
        **beside,
    )


def named(facts: Facts) -> Name:
    def name(item: object) -> str:
        found = facts.labels.get(str(item))
        return str(item) if found is None else f"{found} ({item})"

    return name


def where_words(context: Mapping[str, object]) -> str:
    return ", " + ", ".join(f"{value(one, 40)} = {value(at, 40)}" for one, at in context.items())


def _beliefs(facts: Facts) -> Shown:
    keys, heads = ("before", "after_at_most"), ("Belief before the release", "At most after it")
    rows = [tuple(percent_of(Fraction(one[key])) for key in keys) for one in facts.beliefs]
    return Shown("What somebody may believe about one person", heads, rows, words=())


def _steps(facts: Facts) -> Shown:
    def share(step: Step) -> str:
        return f"{100 * step.share:.3g}%" if step.share else "the same"

    rows = [
        (f"{one.place}. {value(one.name)}", cost, share(one), value(one.why, 400))
        for one, cost in zip(facts.spent.steps, _costs(facts.spent.steps), strict=True)
    ]
    heads = ("Step", _cost_head(facts.spent.steps), "Share", "Why, or what for")
    return Shown("The steps in their order", heads, rows, words=(0, 3))


def _cost_head(paid: Sequence[Step | TableSize]) -> str:
    """The head of a column of costs: what all are in, or that each says it."""
    kinds = {one.paid_in for one in paid}
    return _LETTERS[kinds.pop()] if len(kinds) == 1 else "Cost"


def _costs(paid: Sequence[Step | TableSize]) -> list[str]:
    mixed = len({one.paid_in for one in paid}) > 1
    return [f"{_LETTERS[one.paid_in]} {one.cost}" if mixed else one.cost for one in paid]


def _budget(facts: Facts) -> Shown:
    one = facts.budget
    rows = [
        ("Spent before", one.before),
        ("This release", one.charged),
        ("Spent after", one.after),
        ("Limit", one.limit or "none was set"),
        ("Left", one.left or "–"),
        ("δ of this release", one.delta),
    ]
    unit = f", in {one.unit}" if one.unit else ""
    return Shown(f"The budget of the dataset{unit}", ("What", one.unit or "Amount"), rows)


def _errors(facts: Facts) -> Shown:
    rows = [
        (value(one.name), grouped(one.noise_std), f"±{grouped(one.interval)}", one.bounding)
        for one in facts.tables
    ]
    level = f"{float(Fraction(facts.tables[0].level)):.0%} of noise within" if facts.tables else ""
    heads = ("Table", "By noise, std of one count", level, "By bounding")
    return Shown("Expected error of one count, by its two causes", heads, rows, words=(0, 3))


def _lists(facts: Facts) -> Shown:
    origin = {True: "found by the release", False: "a public list"}
    rows = [(value(one.name), grouped(one.values), origin[one.discovered]) for one in facts.lists]
    return Shown("The domain", ("Column", "Values", "From"), rows, words=(0, 2))


def _tables(facts: Facts) -> Shown:
    rows = [
        (value(one.name), grouped(one.cells), grouped(one.rows), grouped(one.bytes),
         cost, one.publishing, one.transform)
        for one, cost in zip(facts.tables, _costs(facts.tables), strict=True)
    ]  # fmt: skip
    heads = ("Table", "Cells", "Rows", "Bytes", _cost_head(facts.tables), "Published", "Transform")
    short = any(KINDS[one.name].short_rows for one in facts.tables)
    note = "A table of short rows costs nothing beside that of the others: nobody is in both."
    return Shown(
        "The tables of the release", heads, rows, words=(0, 5, 6), note=note if short else ""
    )


def pairs_table(facts: Facts, name: Name) -> Shown | None:
    found = facts.pairs
    if found is None:
        return None
    rows = [
        (f"{value(name(one.item))} and {value(name(one.other))}", grouped(one.count),
         between(one.low, one.high), "above" if one.above_floor else "not above")
        for one in found.rows
    ]  # fmt: skip
    warning = f"{noise_warning(found.rows, 'pairs')} ".lstrip()
    return Shown(
        "The pairs with the largest noisy counts",
        ("Pair", "Noisy count", "Noise interval", "Noise floor"),
        rows,
        note=f"{warning}Noise floor {grouped(found.floor)}: where nobody is counted, the largest "
        f"of {grouped(found.cells)} such counts exceeds it with a probability of at most 5%.",
    )


SUFFIXES = (".html", ".json", ".pdf")


def write(facts: Facts, path: str | os.PathLike[str]) -> Path:
    """Write the report to a new file, ``.html``, ``.json`` or ``.pdf``."""
    target = Path(path)
    check_target(target)
    write_new(target, _content(facts, target.suffix.lower()))
    return target


def check_target(target: Path) -> None:
    """Refuse what cannot be written there, before anything is computed."""
    if target.suffix.lower() not in SUFFIXES:
        raise UsageError(
            f"a report is a file that ends in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}: "
            f"received {target.name!r}. Type -o report.html."
        )
    refuse_taken(target)
    if target.suffix.lower() == ".pdf":
        needs("weasyprint", "a report as PDF", "pdf")


def _content(facts: Facts, suffix: str) -> bytes:
    if suffix == ".json":
        return (facts.to_json() + "\n").encode()
    return pdf(facts) if suffix == ".pdf" else page(facts).encode()


def pdf(facts: Facts) -> bytes:
    needs("weasyprint", "a report as PDF", "pdf")
    import weasyprint

    # Nothing is fetched: what is needed stands in the page.
    made = weasyprint.HTML(string=page(facts, fixed_colours=True), url_fetcher=_refuse)
    return bytes(made.write_pdf())


def _refuse(url: str, *_: object, **__: object) -> dict[str, object]:
    raise ValueError("a report has nothing from outside")
