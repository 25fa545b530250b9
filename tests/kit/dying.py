"""Run as a program: make one draw, and die without a word at a named step of it.

    python dying.py STORE STEP

A step is ``before:NAME`` or ``after:NAME`` of a function of the line in ``store.py``.
"""

from __future__ import annotations

import os
import sys

from crowdtally.ledger import Ledger
from crowdtally.person import draws, store
from crowdtally.person.catalogue import Catalogue
from crowdtally.person.plan import Plan

PLACES = {
    "reserve": (Ledger, "reserve"),
    "start_drawing": (Ledger, "start_drawing"),
    "perturb": (store, "perturb"),
    "write": (draws.Unfinished, "write"),
    "mark_published": (Ledger, "mark_published"),
    "place": (draws.Unfinished, "place"),
}
STEPS = [f"{when}:{name}" for name in PLACES for when in ("before", "after")]
OWN = ("Alien", "Heat")
FILMS = {"Alien": ["horror", "space"], "Saw": ["horror"], "Apollo": ["space"], "Heat": ["crime"]}


def plan() -> Plan:
    return Plan.of(Catalogue.of(FILMS), 1)


def die_at(step: str) -> None:
    when, _, name = step.partition(":")
    owner, attribute = PLACES[name]
    original = getattr(owner, attribute)

    def dying(*given: object, **named: object) -> None:
        if when == "after":
            original(*given, **named)
        os._exit(9)

    setattr(owner, attribute, dying)


if __name__ == "__main__":
    die_at(sys.argv[2])
    store.Store(sys.argv[1]).perturb(OWN, plan())
