"""One draw: noise is drawn once for a request, charged and stored before anybody sees it.

Looking at a draw and drawing again until it pleases would break the guarantee, so the same request
returns the same draw, byte for byte, and another draw is charged like the first. The order is that
of ``curator/publish.py``:

    public and input checks ─▶ look the request up ─▶ reserve, durably ─▶ record that it is drawn
    ─▶ draw ─▶ write and flush ─▶ mark as published ─▶ rename ─▶ show

A failure after the reservation stays charged. Until noise may have been drawn, the same request
takes its charge up; afterwards it is never drawn again without a new one.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from crowdtally.ledger import Asked, Balance, Charge, Charged, DrawnBeforeError, Ledger, Part
from crowdtally.noise.draws import Draws, SystemDraws
from crowdtally.person.catalogue import Popularity, weights_of
from crowdtally.person.draws import (
    decoded,
    draws_of,
    encoded,
    fingerprint,
    kept,
    request_id,
    unfinished,
)
from crowdtally.person.history import History
from crowdtally.person.home import Home, drawing, marking, placing, reserving, starting
from crowdtally.person.perturbation import Perturbed, perturb
from crowdtally.person.plan import Plan
from crowdtally.person.words import UNIT

DATASET = "history"


@dataclass(frozen=True)
class Draw:
    """A draw that is stored: only such a one is shown."""

    perturbed: Perturbed
    number: int
    """Which draw of this request it is: the first, unless another one was asked for."""
    entry: str
    new: bool


class Store:
    """A person's own folder of draws, and the ledger of what they cost."""

    def __init__(self, location: str | os.PathLike[str] | None = None) -> None:
        self.home = Home.of(location)

    def __repr__(self) -> str:
        return f"<Store {self.home.path}>"

    def perturb(
        self,
        history: History | Iterable[object],
        plan: Plan,
        *,
        again: bool = False,
        popularity: Popularity | None = None,
        draws: Draws | None = None,
    ) -> Draw:
        """The draw of this request: the stored one, or a new one that is charged first.

        ``again`` draws anew and charges anew; ``draws`` is for tests.
        """
        own = History.of(history, plan.catalogue)  # refused before anything is made
        if popularity is not None:
            weights_of(popularity, plan.catalogue)
        self.home.make()
        with Ledger.open(self.home.ledger, create=True) as ledger:
            mark = fingerprint(self.home.key(), own, plan, popularity)
            number, found = _which(list(draws_of(ledger.request, mark)), again=again)
            if found is not None and found.state == "published":
                old = kept(self.home.draws, found)
                return Draw(old, number, found.id, new=False)  # nothing is charged or drawn
            if found is None:  # else it is charged already, and nothing was drawn
                ledger.check(DATASET, UNIT, plan.cost, new_dataset=True)
            asked = Asked(request_id=request_id(mark, number))
            with unfinished(self.home.draws) as draft:
                with reserving():  # durable when it returns
                    reserved = ledger.reserve(
                        DATASET, UNIT, _charge(plan), asked=asked, new_dataset=True
                    )
                with starting(reserved):
                    ledger.start_drawing(reserved.id, staged=draft.path)  # durable; one run gets it
                with drawing(reserved):
                    made = perturb(own, plan, draws or SystemDraws(), popularity=popularity)
                    raw = encoded(made, plan)
                    digest = draft.write(raw)  # flushed, under another name
                with marking(reserved, draft):
                    ledger.mark_published(reserved.id, digest)  # paid for, whatever happens
                with placing(reserved):
                    draft.place(reserved.charge.release_id)  # only now can anybody find it
            # What is shown is made of the bytes that are kept.
            return Draw(decoded(raw), number, reserved.id, new=True)

    def stored(
        self,
        history: History | Iterable[object],
        plan: Plan,
        *,
        popularity: Popularity | None = None,
    ) -> list[Draw]:
        """The draws of this request that are stored already, in order; changes nothing."""
        own = History.of(history, plan.catalogue)
        self.home.require_ours()
        if not self.home.is_made:
            return []
        with Ledger.open(self.home.ledger) as ledger:
            mark = fingerprint(self.home.key(), own, plan, popularity)
            found = enumerate(draws_of(ledger.request, mark), 1)
            return [
                Draw(kept(self.home.draws, one, settle=False), number, one.id, new=False)
                for number, one in found
                if one.state == "published"
            ]

    def spent(self) -> Fraction:
        """The total ε of all draws of this store: at most so much was lost of any one item."""
        balance = self.balance()
        return Fraction(0) if balance is None else balance.spent.epsilon

    def balance(self) -> Balance | None:
        """What was spent here and what may be; None where nothing was ever charged."""
        self.home.require_ours()
        if not self.home.is_made:
            return None
        with Ledger.open(self.home.ledger) as ledger:
            known = {balance.dataset: balance for balance in ledger.datasets()}
        return known.get(DATASET)

    def charges(self) -> list[Charged]:
        """Every charge of this store and what became of it, in order."""
        self.home.require_ours()
        if not self.home.is_made:
            return []
        with Ledger.open(self.home.ledger) as ledger:
            return ledger.charges()


def _which(earlier: list[Charged], *, again: bool) -> tuple[int, Charged | None]:
    """Which draw of the request is meant, and its charge if there is one.

    Without ``again`` the draw that was published first. A charge without a draw is that of a run
    that died in between, and is taken up. One that was given back does not count.
    """
    numbered = list(enumerate(earlier, 1))
    published = [pair for pair in numbered if pair[1].state == "published"]
    if published and not again:
        return min(published, key=lambda pair: (str(pair[1].published_at), pair[0]))
    paid = [pair for pair in numbered if pair[1].state == "reserved"]
    if paid:
        return paid[-1]
    begun = [one for one in earlier if one.state == "drawing"]
    if begun and not again:
        raise DrawnBeforeError(
            f"a draw of this request was begun at {begun[0].drawing_at} and is not finished (entry "
            f"{begun[0].id}). If another run is making it, wait and run again: it shows that draw. "
            "If that run was stopped, its noise may have been seen, so nothing is drawn in its "
            "place: --again draws anew, and is charged anew. Nothing was charged now."
        )
    return len(earlier) + 1, None


def _charge(plan: Plan) -> Charge:
    """What is going to be done; rates are in the draw, which any accountant can check."""
    parameters = {
        "catalogue_sha256": plan.catalogue.sha256,
        "categories": len(plan.measured),
        "rule": "the rates of an item's categories sum to epsilon at most",
    }
    part = Part("categories", plan.cost, "discrete-laplace", parameters)
    return Charge(secrets.token_hex(16), plan.cost, (part,))
