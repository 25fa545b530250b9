"""A comparison as one page for people: no script, nothing from outside, every text escaped."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from importlib.resources import files
from pathlib import Path

from crowdtally.lab.comparing.facts import Facts
from crowdtally.lab.comparing.measures import TABLES
from crowdtally.lab.comparing.page_tables import at_epsilon, numbers_of
from crowdtally.lab.comparing.pictures import pictures
from crowdtally.lab.comparing.ranking import by_size
from crowdtally.lab.comparing.recommending import Advice, advise, recommendation
from crowdtally.lab.comparing.releasable import in_words
from crowdtally.lab.comparing.summary import Summary
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

    here = files("crowdtally.lab.comparing")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    template = environment.from_string(here.joinpath("page.html").read_text(encoding="utf-8"))
    return template.render(
        style=Markup(here.joinpath("style.css").read_text(encoding="utf-8")),
        not_private=NOT_PRIVATE,
        chosen_by_looking=CHOSEN_BY_LOOKING,
        facts=facts,
        recommendation=recommendation(summaries, facts),
        advice=_advice_table(advise(summaries, facts)),
        compared=_compared(summaries, facts),
        epsilons=[(one, at_epsilon(summaries, facts, one)) for one in by_size(facts.epsilons)],
        pictures=[
            # vl_convert escapes what it draws; the tests parse it with hostile names.
            {"picture": one, "svg": Markup(one.svg()), "numbers": numbers_of(one)}
            for one in pictures(summaries, facts)
        ],
        skipped=_by_reason(facts),
    )


def _compared(summaries: Sequence[Summary], facts: Facts) -> list[tuple[str, str]]:
    """What was compared, as words and values."""
    methods = {one.setting.method for one in summaries}
    settings = {one.setting for one in summaries}
    contexts = ", ".join(f"{name} ({values:,} values)" for name, values in facts.contexts.items())
    cells = ", ".join(f"{TABLES.get(name, name)}: {n:,}" for name, n in facts.cells.items())
    return [
        ("Records", f"{facts.source}: {facts.records:,} records of {facts.users:,} users"),
        ("Counted", _counted(facts)),
        ("Items", f"{facts.items:,} in the public list"),
        ("Contexts", contexts or "none"),
        ("Cells", cells),
        ("ε of a whole release", ", ".join(by_size(facts.epsilons))),
        ("Methods", f"{len(methods):,}, with their bounds and ε {len(settings):,} settings"),
        ("Runs", _runs(facts)),
        ("Largest contribution, M", f"{facts.largest:,} {_of_one(facts)}, read off the records"),
        ("Started", _time(facts.started)),
        ("Finished", _time(facts.finished)),
        ("Versions", ", ".join(f"{name} {version}" for name, version in facts.versions.items())),
    ]


def _counted(facts: Facts) -> str:
    return "records" if facts.count == "records" else "distinct users of each cell"


def _of_one(facts: Facts) -> str:
    return "records of one user" if facts.count == "records" else "cells of one user"


def _runs(facts: Facts) -> str:
    noises = facts.runs // facts.keys if facts.keys else 0
    spread = f" ({facts.keys:,} sampling keys, {noises:,} draws of noise with each)"
    return f"{facts.runs:,} of each setting" + (spread if noises * facts.keys == facts.runs else "")


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S %Z").strip()


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
