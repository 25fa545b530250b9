"""The facts of the person's pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from crowdtally.errors import BudgetError, UsageError
from crowdtally.laws.laplace import DiscreteLaplace
from crowdtally.ledger import Balance, Loss
from crowdtally.ledger.amounts import for_people
from crowdtally.person.history import History
from crowdtally.person.page.actions import (
    POLICY,
    Asked,
    Choice,
    Desk,
    checked_name,
    free_name,
    which,
)
from crowdtally.person.perturbation import Perturbed, counted
from crowdtally.person.plan import USUAL, Plan
from crowdtally.person.store import Draw
from crowdtally.person.words import leaves, own_counts, reveals, so_far
from crowdtally.web import gate
from crowdtally.web.charts import PALETTE, Chart, label
from crowdtally.web.gate import ALONE_POLICY, FORM_HEADERS, Refused, Token
from crowdtally.web.pages import Shown, between, grouped, moment, rendering, value

if TYPE_CHECKING:
    from starlette.responses import Response


# The categories in a list, for the person's eyes: own counts, noise, and what was drawn.

PER_PAGE = 20
LEVEL_WORDS = {"no": "no release", "all": "all release"}


@dataclass(frozen=True)
class Row:
    place: int
    name: str
    items: int
    """How many items of the catalogue have it."""
    own: int
    """How many of the person's items have it."""
    level: str
    """``no``, ``all`` or an ε; empty where the overall choice holds."""
    counted: int | None = None
    """How many of these are counted with noise; None where nothing is."""
    deviation: float | None = None
    width: int | None = None
    """Noise of at most this in 95 of 100 draws."""
    noisy: int | None = None
    """The count with its noise, once drawn."""
    leaves: int | None = None
    """How many items of the list that may leave have the category."""

    @property
    def reach(self) -> tuple[int | None, int | None]:
        """Where the noisy count mostly lies: both ends, or none."""
        if self.counted is None or self.width is None:
            return None, None
        return self.counted - self.width, self.counted + self.width

    @property
    def level_words(self) -> str:
        return LEVEL_WORDS.get(self.level, self.level) or "as overall"


def listed(places: Sequence[int], desk: Desk, sought: str, page: int) -> tuple[list[int], int, int]:
    """The places of a page of those categories that have a text in their names; page, pages."""
    names, part = desk.catalogue.categories, sought.casefold()
    found = [place for place in places if part in names[place].casefold()]
    pages = max(-(-len(found) // PER_PAGE), 1)
    here = min(max(page, 1), pages)
    return found[(here - 1) * PER_PAGE : here * PER_PAGE], here, pages


def rows(
    desk: Desk, choice: Choice, places: Sequence[int], plan: Plan | None, made: Perturbed | None
) -> list[Row]:
    """Some categories; without a plan their own counts alone, without a draw no noisy ones."""
    catalogue = desk.catalogue
    noise = {} if plan is None else {place: n for n, place in enumerate(plan.measured)}
    exact = () if plan is None else counted(desk.history, plan)
    left = None if made is None else own_counts(History.of(made.items, catalogue))
    found = []
    for place in places:
        name = catalogue.categories[place]
        more: dict[str, Any] = {} if left is None else {"leaves": left[name]}
        if plan is not None and place in noise:
            number = noise[place]
            law = DiscreteLaplace(plan.scales[number])
            more |= {
                "counted": exact[number],
                "deviation": law.std(),
                "width": law.half_width(USUAL),
                "noisy": None if made is None else made.noisy.values[number],
            }
        found.append(
            Row(place, value(name), int(catalogue.sizes[place]), desk.own[place],
                choice.levels.get(place, ""), **more)
        )  # fmt: skip
    return found


def table(found: Sequence[Row], *, planned: bool, number: int | None) -> Shown:
    partly = any(row.counted is not None and row.counted != row.own for row in found)
    heads, cells = ["Category", "Yours"], [[row.name, grouped(row.own)] for row in found]

    def column(head: str, of: Any) -> None:
        heads.append(head)
        for cell, row in zip(cells, found, strict=True):
            cell.append(of(row))

    if planned:
        if partly:
            column("Of these counted", lambda row: grouped(row.counted))
        if number is not None:
            column(f"With noise (draw\N{NO-BREAK SPACE}{number})", lambda row: grouped(row.noisy))
            column("In the list that may leave", lambda row: grouped(row.leaves))
        column("Noise: standard deviation", lambda row: grouped(row.deviation))
        column("Noise: mostly at most ±", lambda row: grouped(row.width))
        if number is None:
            column("So a noisy count mostly lies in", lambda row: between(*row.reach))
        column("Level", lambda row: row.level_words)
    caption = "Your categories, for your eyes only"
    note = "Once you choose, the noise on each count stands beside it."
    if planned:
        caption += ", beside the noise" if number is None else ", beside the draw"
        note = "“Mostly” is 95 of 100 draws. A noisy count can be negative. "
    if planned and partly:
        note += (
            "Not all of your items are counted with noise: those of “no release” leave "
            "no trace anywhere, and those of “all release” leave as they are."
        )
    return Shown(caption, heads, cells, words=(0,), note=note)


PRESETS = ("0.1", "0.2", "0.5", "1", "2", "3")
"""The ε that a list offers for a category; others are typed."""


# A page of the list as a drawing: own counts, how far noise reaches, and what was drawn.

_WIDTH, _STEP, _LONGEST = 300, 22, 22
_ACCENT, _OTHER, _SOFT = PALETTE["accent"], PALETTE["other"], PALETTE["soft"]


def picture(found: Sequence[Row], number: int | None) -> Chart | None:
    """The measured categories among these; None where there is none."""
    shown = [row for row in found if row.counted is not None and row.width is not None]
    if not shown:
        return None
    values = [
        {
            "category": f"{label(row.name, _LONGEST)}{' ' * place}",  # cut names may be alike
            "own": row.counted,
            "low": row.reach[0],
            "high": row.reach[1],
            "noisy": row.noisy,
        }
        for place, row in enumerate(shown)
    ]
    x: dict[str, Any] = {
        "type": "quantitative", "title": "Number of items",
        "axis": {"tickCount": 4, "format": "~s",
                 "labelExpr": "datum.value == 0 ? '0' : datum.label"},
    }  # fmt: skip
    layers: list[dict[str, Any]] = [
        {"mark": {"type": "rule", "color": _SOFT, "strokeWidth": 3, "opacity": 0.55},
         "encoding": {"x": {"field": "low", **x}, "x2": {"field": "high"}}},
        {"mark": {"type": "point", "filled": True, "color": _ACCENT, "size": 60, "opacity": 1},
         "encoding": {"x": {"field": "own", **x}}},
    ]  # fmt: skip
    said = "Blue dots: your own counts. Grey lines: where the noisy counts lie in 95 of 100 draws."
    if number is not None:
        layers.append({
            "mark": {"type": "point", "shape": "diamond", "filled": False, "color": _OTHER,
                     "size": 130, "strokeWidth": 2.5, "opacity": 1},
            "encoding": {"x": {"field": "noisy", **x}},
        })  # fmt: skip
        said += f" Orange diamonds: the noisy counts of draw {number}."
    rows = {"field": "category", "type": "nominal", "sort": None, "title": None,
            "axis": {"ticks": False, "domain": False, "labelPadding": 6}}  # fmt: skip
    spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "data": {"values": values},
        "width": _WIDTH,
        "height": {"step": _STEP},
        "encoding": {"y": rows},
        "layer": layers,
    }
    title = "Your counts and their noise" if number is None else "Your counts and the draw"
    return Chart("categories", title, f"{said} The table below has the same numbers.", spec)


# The facts of each page.

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
    number: int
    pages: int
    before: str
    after: str
    """Addresses; empty where there is no such page."""


def overview_rows(desk: Desk, asked: Asked) -> dict[str, Any]:
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


def level_rows(desk: Desk, asked: Asked) -> dict[str, Any]:
    """The form of all levels, in the public order of the categories."""
    plan, why = _planned(desk, asked)
    order = range(len(desk.catalogue.categories))
    places, here, pages = listed(order, desk, asked.sought, asked.page)
    return {
        **_choosing(desk, asked),
        "why": why,
        "rows": rows(desk, asked.choice, places, plan, None),
        "presets": PRESETS,
        "page": here,
        "paging": _paging(here, pages, asked),
    }


def drawn_before(desk: Desk, asked: Asked) -> dict[str, Any]:
    plan = desk.plan(asked.choice)
    stored = desk.draws(plan)
    return {
        "fields": asked.choice.fields,
        "seen": len(stored),
        "cost": _cost(desk, plan),
        "twice": for_people((len(stored) + 1) * plan.cost.value),
    }


def released(desk: Desk) -> dict[str, Any]:
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
    if not asked.choice.epsilon:
        return None, ""
    try:
        return desk.plan(asked.choice), ""
    except UsageError as error:
        return None, str(error)


def _meaning(desk: Desk, plan: Plan | None) -> dict[str, Any]:
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
    items = draw.perturbed.items
    charged = next((one for one in desk.store.charges() if one.id == draw.entry), None)
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


# Facts become pages.


@dataclass(frozen=True, eq=False)
class Pages:
    desk: Desk
    token: Token

    @cached_property
    def _render(self) -> Callable[..., str]:
        return rendering("crowdtally.person.page")

    def _page(
        self, name: str, asked: Asked, title: str, facts: dict[str, Any], status: int = 200
    ) -> Response:
        from starlette.responses import HTMLResponse

        text = self._render(
            f"{name}.html",
            title=title,
            here="" if name == "overview" else name,
            stylesheet=gate.address("style.css").lstrip("/"),
            icon=gate.address("icon.svg").lstrip("/"),
            referrer=FORM_HEADERS["referrer-policy"],
            query=asked.choice.query(draw=asked.draw if name == "overview" else None),
            **facts,
        )
        return HTMLResponse(text, status)

    def refusal(self, refused: Refused, path: str) -> Response:
        """The page that says why there is no other; without the token it leads nowhere."""
        home = "" if self.token.behind(path) is None else self.token.home
        said = gate.refusal(refused, path.removesuffix(".json"), home=home)
        said.headers["content-security-policy"] = ALONE_POLICY
        return said

    def overview(self, asked: Asked) -> Response:
        facts = overview_rows(self.desk, asked)
        title, status = "Your history, with noise", 400 if facts["why"] else 200
        return self._page("overview", asked, title, facts, status)

    def levels(self, asked: Asked) -> Response:
        return self._page("levels", asked, "Levels of categories", level_rows(self.desk, asked))

    def again(self, asked: Asked) -> Response:
        return self._page("again", asked, "Draw again?", drawn_before(self.desk, asked))

    def so_far(self, asked: Asked) -> Response:
        return self._page("so-far", asked, "So far", released(self.desk))

    def unfinished(self, asked: Asked) -> Response:
        return self._page("unfinished", asked, "This draw is not finished", {}, 409)
