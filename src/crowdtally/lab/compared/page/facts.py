"""What was compared, in words: the head of the page."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from crowdtally.curator.bounding import BOUNDINGS, CHOICES
from crowdtally.curator.summaries import PUBLISHINGS
from crowdtally.curator.transforms import TRANSFORMS
from crowdtally.lab.baselines import BASELINES
from crowdtally.lab.compared.facts import Facts
from crowdtally.lab.compared.measures import TABLES
from crowdtally.lab.compared.ranking import by_size
from crowdtally.lab.compared.summary import Summary


def compared(summaries: Sequence[Summary], facts: Facts) -> list[tuple[str, str]]:
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
        ("Methods", f"{len(methods):,}, in {len(settings):,} settings of method, bound and ε"),
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
    draws = "draw" if noises == 1 else "draws"
    spread = f" ({facts.keys:,} sampling keys, {noises:,} {draws} of noise with each)"
    return f"{facts.runs:,} of each setting" + (spread if noises * facts.keys == facts.runs else "")


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S %Z").strip()


def meanings(summaries: Sequence[Summary]) -> list[tuple[str, str]]:
    """Each part of a method's name that occurs, and what it means.

    >>> from crowdtally.lab.compared.summary import Setting
    >>> meanings([Summary(Setting("sra/filter", "1", 3), "items", "mae", None, 1.0, 0.1, 5, 20)])[0]
    ('sra', "a uniform sample of each user's records")
    """
    names = {one.setting.method for one in summaries}
    rules = {name.partition("/")[0] for name in names}
    forms = {form for name in names for form in name.split("/")[1:]}
    boundings = {rule.partition("+")[0] for rule in rules}
    choices = {rule.partition("+")[2] for rule in rules}
    found = (
        ("", BOUNDINGS, boundings),
        ("+", CHOICES, choices),
        ("/", TRANSFORMS, forms),
        ("/", PUBLISHINGS, forms),
        ("", BASELINES, boundings),
    )
    return [
        (f"{sign}{name}", registry[name].words)
        for sign, registry, present in found
        for name in registry
        if name in present
    ]
