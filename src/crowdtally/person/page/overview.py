"""The facts of each page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from crowdtally.errors import BudgetError, UsageError
from crowdtally.ledger import Balance, Charged, Loss
from crowdtally.ledger.amounts import for_people
from crowdtally.person.history import History
from crowdtally.person.page.asked import Asked
from crowdtally.person.page.choice import POLICY
from crowdtally.person.page.deeds import checked_name, free_name, which
from crowdtally.person.page.desk import Desk
from crowdtally.person.page.picture import picture
from crowdtally.person.page.rows import listed, presets, rows, table
from crowdtally.person.planning import Plan
from crowdtally.person.store import Draw
from crowdtally.person.words import leaves, reveals, so_far
from crowdtally.web.pages import Shown, moment, value

MOST_ITEMS = 200
"""Items of a draw that are listed on the page; the file has them all."""
MOST_CHARGES = 200
STATES = {
    "reserved": "charged, nothing drawn yet",
    "drawing": "begun and not finished",
    "published": "drawn and stored",
    "voided": "given back",
}


@dataclass(frozen=True)
class Paging:
    """Links to the pages of a list beside this one."""

    number: int
    """Which page this is."""
    pages: int
    """Of so many."""
    before: str
    """The address of the one before; empty on the first."""
    after: str
    """The address of the next one; empty on the last."""


def overview(desk: Desk, asked: Asked) -> dict[str, Any]:
    """The first page: the choice, what it means, the draw if there is one, and the categories."""
    plan, why = _planned(desk, asked)
    stored = [] if plan is None else desk.draws(plan)
    draw = which(stored, asked.draw)
    if draw is None and asked.draw is not None and plan is not None:
        raise UsageError("there is no such draw of this choice.")
    order = desk.by_own if asked.sort == "yours" else range(len(desk.catalogue.categories))
    places, here, pages = listed(order, desk, asked.sought, asked.page)
    made = None if draw is None else draw.perturbed
    found = rows(desk, asked.choice, places, plan, made)
    number = None if draw is None else draw.number
    return {
        **_choosing(desk, asked),
        "why": why,
        "history": len(desk.history),
        "notes": _left_out(desk.history),
        **_meaning(desk, plan),
        "draw": None if draw is None else _drawn(desk, asked, draw),
        "draws": [(one.number, f"?{asked.query(draw=one.number, file='')}") for one in stored],
        "sort": asked.sort,
        "chart": picture(found, number),
        "table": table(found, planned=plan is not None, number=number),
        "paging": _paging(here, pages, asked),
        "so_far": so_far(desk.store.charges(), desk.store.spent()),
        "exposed": desk.store.home.exposed(),
    }


def levels(desk: Desk, asked: Asked) -> dict[str, Any]:
    """The form of all levels, in the public order of the categories."""
    plan, why = _planned(desk, asked)
    order = range(len(desk.catalogue.categories))
    places, here, pages = listed(order, desk, asked.sought, asked.page)
    return {
        **_choosing(desk, asked),
        "why": why,
        "rows": rows(desk, asked.choice, places, plan, None),
        "presets": presets(),
        "page": here,
        "paging": _paging(here, pages, asked),
    }


def again(desk: Desk, asked: Asked) -> dict[str, Any]:
    """What another draw would mean."""
    plan = desk.plan(asked.choice)
    stored = desk.draws(plan)
    return {
        "fields": asked.choice.fields,
        "seen": len(stored),
        "cost": _cost(desk, plan),
        "twice": for_people((len(stored) + 1) * plan.cost.value),
    }


def released(desk: Desk) -> dict[str, Any]:
    """What was charged so far."""
    charges = desk.store.charges()
    balance = desk.store.balance()
    shown = Shown(
        "What was drawn on this device, the latest first",
        ["When", "Epsilon", "What became of it", "Entry"],
        [
            [moment(one.time), str(one.charge.epsilon), STATES[one.state], one.id]
            for one in charges[: -MOST_CHARGES - 1 : -1]
        ],
        words=(0, 2),
    )
    return {
        "so_far": so_far(charges, desk.store.spent()),
        "limit": _limit(balance),
        "table": shown if charges else None,
        "store": str(desk.store.home.path),
        "exposed": desk.store.home.exposed(),
    }


def _planned(desk: Desk, asked: Asked) -> tuple[Plan | None, str]:
    """The plan, or why there is none."""
    if not asked.choice.epsilon:
        return None, ""
    try:
        return desk.plan(asked.choice), ""
    except UsageError as error:
        return None, str(error)


def _meaning(desk: Desk, plan: Plan | None) -> dict[str, Any]:
    """What a choice means, in words; nothing without one."""
    if plan is None:
        return {"leaves": [], "reveals": [], "cost": None}
    perturbed = set(map(id, plan.groups))
    groups = desk.catalogue.groups
    own = desk.catalogue.group_of[desk.history.places].tolist()
    many = sum(id(groups[number]) in perturbed for number in own)
    return {
        "leaves": leaves(plan),
        "reveals": reveals(plan),
        "cost": _cost(desk, plan),
        "perturbed": many,
        "together": for_people(many * plan.cost.value),
    }


def _choosing(desk: Desk, asked: Asked) -> dict[str, Any]:
    """What every form needs."""
    epsilon = asked.choice.epsilon
    return {
        "typed": "" if epsilon == POLICY else epsilon,
        "by_policy": epsilon == POLICY,
        "own_levels": len(asked.choice.levels),
        "fields": asked.choice.fields,
        "packed": asked.choice.packed,
        "sought": asked.sought,
        "categories": len(desk.catalogue.categories),
    }


def _cost(desk: Desk, plan: Plan) -> dict[str, str]:
    """What a draw costs, and whether it may be had, as the ledger words it."""
    balance = desk.store.balance()
    spent = Fraction(0) if balance is None else balance.spent.epsilon
    refused = ""
    try:
        if balance is not None:
            balance.require(Loss(plan.cost.value))
    except BudgetError as error:
        refused = str(error)
    return {
        "epsilon": str(plan.cost),
        "after": for_people(spent + plan.cost.value),
        "limit": _limit(balance),
        "refused": refused,
    }


def _limit(balance: Balance | None) -> str:
    if balance is None or balance.remaining is None or balance.limit is None:
        return ""
    return (
        f"The limit of this device is epsilon {for_people(balance.limit.epsilon)}, and "
        f"{for_people(balance.remaining.epsilon)} of it is left."
    )


def _drawn(desk: Desk, asked: Asked, draw: Draw) -> dict[str, Any]:
    """A draw that is stored."""
    items = draw.perturbed.items
    charged = _charged(desk.store.charges(), draw)
    theirs = set(History.of(items, desk.catalogue).places.tolist())
    written = desk.folder / checked_name(asked.file) if asked.file else None
    return {
        "number": draw.number,
        "entry": draw.entry,
        "time": "" if charged is None else moment(charged.time),
        "many": len(items),
        "yours": len(theirs & set(desk.history.places.tolist())),
        "listed": [value(item) for item in items[:MOST_ITEMS]],
        "name": free_name(desk.folder),
        "folder": str(desk.folder),
        "written": value(asked.file) if written is not None and written.is_file() else "",
    }


def _charged(charges: Sequence[Charged], draw: Draw) -> Charged | None:
    return next((one for one in charges if one.id == draw.entry), None)


def _paging(here: int, pages: int, asked: Asked) -> Paging:
    def link(page: int) -> str:
        return f"?{asked.query(page=page if page > 1 else None)}" if 1 <= page <= pages else ""

    return Paging(here, pages, link(here - 1), link(here + 1))


def _left_out(history: History) -> list[str]:
    said = []
    if history.unknown:
        said.append(f"{history.unknown:,} items that the catalogue does not have were left out.")
    if history.repeated:
        said.append(f"Items that were named again, {history.repeated:,} times, count once.")
    return said
