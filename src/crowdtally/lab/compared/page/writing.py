"""A comparison as one page for people: no script, nothing from outside, every text escaped."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from crowdtally.lab.compared.facts import Facts
from crowdtally.lab.compared.page.facts import compared, meanings
from crowdtally.lab.compared.page.tables import at_epsilon, numbers_of
from crowdtally.lab.compared.pictures.drawing import pictures
from crowdtally.lab.compared.ranking import by_size
from crowdtally.lab.compared.recommending import Advice, advise, takes
from crowdtally.lab.compared.releasable import in_words
from crowdtally.lab.compared.summary import Summary
from crowdtally.lab.outputs import CHOSEN_BY_LOOKING, NOT_PRIVATE

NAME = "comparison.html"
"""Of the page, in the folder of a comparison."""


def write_page(folder: Path, summaries: Sequence[Summary], facts: Facts) -> None:
    """Write comparison.html, with its pictures in it."""
    (folder / NAME).write_text(page(summaries, facts), encoding="utf-8")


def page(summaries: Sequence[Summary], facts: Facts) -> str:
    """The page."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    here = files("crowdtally.lab.compared.page")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["unbroken"] = _unbroken
    template = environment.from_string(here.joinpath("page.html").read_text(encoding="utf-8"))
    return template.render(
        style=Markup(here.joinpath("style.css").read_text(encoding="utf-8")),
        not_private=NOT_PRIVATE,
        chosen_by_looking=CHOSEN_BY_LOOKING,
        facts=facts,
        takes=takes(summaries, facts),
        advice=_advice_table(advise(summaries, facts)),
        compared=compared(summaries, facts),
        meanings=meanings(summaries),
        epsilons=[(one, at_epsilon(summaries, facts, one)) for one in by_size(facts.epsilons)],
        pictures=[
            # vl_convert escapes what it draws; the tests parse it with hostile names.
            {"picture": one, "svg": Markup(one.svg()), "numbers": numbers_of(one)}
            for one in pictures(summaries, facts)
        ],
        skipped=_by_reason(facts),
    )


def _unbroken(text: str) -> str:
    """The text with formulas that a line does not break: ε = 1, 4 ± 2."""
    for sign in ("=", "±", "×"):
        text = text.replace(f" {sign} ", f"\N{NO-BREAK SPACE}{sign}\N{NO-BREAK SPACE}")
    return text


def _advice_table(advice: Sequence[Advice]) -> list[tuple[str, str, str, str, str]]:
    return [
        (one.epsilon, one.purpose.words, in_words(one.chosen.setting), one.reason, one.options)
        for one in advice
    ]


def _by_reason(facts: Facts) -> list[tuple[str, list[str]]]:
    """What was left out, by its reason: many bounds of one method may have the same."""
    reasons: dict[str, list[str]] = {}
    for name, reason in facts.skipped.items():
        reasons.setdefault(reason, []).append(name)
    return list(reasons.items())
