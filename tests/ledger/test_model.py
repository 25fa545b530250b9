"""Random histories by several clients against a model that is a few sums of Fractions."""

from __future__ import annotations

import tempfile
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from crowdtally.core.privacy import PrivacyUnit
from crowdtally.errors import UsageError
from crowdtally.ledger import (
    Asked,
    Drawing,
    DrawnBeforeError,
    Head,
    Ledger,
    LedgerError,
    Loss,
    MarkedPublished,
    OverBudgetError,
    Reserved,
    TooMuchAtOnceError,
    Voided,
    VoidedError,
)
from kit.ledgers import ROW, SHA, USER, charge, running_server
from kit.repeatable import memory

CLIENTS = 3
NAMES = st.sampled_from(["a", "b"])
UNITS = st.sampled_from([USER, USER, USER, ROW])
EPSILONS = st.one_of(
    st.fractions(min_value=0, max_value=3, max_denominator=20).filter(bool),
    st.sampled_from(
        [Fraction(1, 300000), Fraction(1, 10), Fraction(5, 10**324), Fraction(10**308)]
    ),
)
DELTAS = st.one_of(st.just(Fraction(0)), st.sampled_from([Fraction(1, 10**9), Fraction(1, 3)]))
LIMITS = st.one_of(st.none(), st.tuples(EPSILONS, DELTAS))
KEYS = st.sampled_from([None, None, "monday", "tuesday"])
LIMITED = st.sampled_from([("epsilon",), ("each",), ("epsilon", "each")])
client = st.integers(0, CLIENTS - 1)


@dataclass
class Dataset:
    unit: PrivacyUnit | None = None
    limit: tuple[Fraction, Fraction] | None = None
    each: tuple[Fraction, Fraction] | None = None


@dataclass
class Made:
    """A charge as the model remembers it."""

    id: str
    dataset: str
    unit: PrivacyUnit
    cost: tuple[Fraction, Fraction]
    key: str | None
    release: str
    state: str = "reserved"
    withdrawn: bool = False


@dataclass
class Wish:
    """A charge that somebody asks for."""

    dataset: str
    unit: PrivacyUnit
    cost: tuple[Fraction, Fraction]
    key: str | None = None
    new: bool = True
    asked: Asked = field(init=False)

    def __post_init__(self) -> None:
        self.asked = Asked("records.csv", request_id=self.key)


class History(RuleBasedStateMachine):
    """One ledger, opened by several clients, and what must be in it."""

    def __init__(self) -> None:
        super().__init__()
        self.location = self.new_place()
        self.clients = [Ledger.open(self.location, create=True) for _ in range(CLIENTS)]
        self.model: dict[str, Dataset] = {}
        self.made: list[Made] = []
        self.hashes: list[str] = []
        self.start = self.clients[0].head()

    def new_place(self) -> str:
        self.folder = tempfile.TemporaryDirectory(dir=memory())
        return str(Path(self.folder.name) / "ledger.sqlite")

    def spent(self, name: str, *states: str) -> Loss:
        costs = [m.cost for m in self.made if m.dataset == name and m.state in states]
        return Loss(
            sum((e for e, _ in costs), Fraction(0)), sum((d for _, d in costs), Fraction(0))
        )

    def refusal(self, wish: Wish) -> type[Exception] | None:
        """What a new charge is refused with."""
        known = self.model.get(wish.dataset)
        if known is None:
            return None if wish.new else UsageError
        if known.unit not in (None, wish.unit):
            return UsageError
        if known.each is not None and not _fits(wish.cost, known.each):
            return TooMuchAtOnceError
        spent = self.spent(wish.dataset, "reserved", "drawing", "published")
        if known.limit is not None:
            left = (known.limit[0] - spent.epsilon, known.limit[1] - spent.delta)
            if not _fits(wish.cost, (max(left[0], Fraction(0)), max(left[1], Fraction(0)))):
                return OverBudgetError
        return None

    @rule(by=client, name=NAMES, limit=LIMITS, each=LIMITS)
    def create(self, by: int, name: str, limit: Any, each: Any) -> None:
        def make() -> None:
            (epsilon, delta), (each_epsilon, each_delta) = limit or (None,) * 2, each or (None,) * 2
            self.clients[by].create(
                name, epsilon=epsilon, delta=delta, each_epsilon=each_epsilon, each_delta=each_delta
            )

        if name in self.model:
            with pytest.raises(UsageError, match="exists already"):
                make()
        else:
            make()
            self.model[name] = Dataset(None, limit, each)

    @rule(
        by=client,
        name=NAMES,
        unit=UNITS,
        epsilon=EPSILONS,
        delta=DELTAS,
        key=KEYS,
        new=st.booleans(),
    )
    def charge(
        self, by: int, name: str, unit: PrivacyUnit, epsilon: Fraction, delta: Fraction,
        key: str | None, new: bool,
    ) -> None:  # fmt: skip
        self.ask(by, Wish(name, unit, (epsilon, delta), key, new))

    @precondition(lambda self: any(made.key for made in self.made))
    @rule(by=client, data=st.data(), same=st.sampled_from([True, True, False]))
    def retry(self, by: int, data: st.DataObject, same: bool) -> None:
        """A request that was made before: just so, or with something changed."""
        earlier = data.draw(st.sampled_from([made for made in self.made if made.key]))
        cost = earlier.cost if same else (earlier.cost[0] + 1, earlier.cost[1])
        self.ask(by, Wish(earlier.dataset, earlier.unit, cost, earlier.key, new=False))

    def ask(self, by: int, wish: Wish) -> None:
        ledger, release = self.clients[by], f"release-{len(self.made)}"

        def reserve() -> Any:
            return ledger.reserve(
                wish.dataset, wish.unit, charge(*wish.cost, release=release),
                asked=wish.asked, new_dataset=wish.new,
            )  # fmt: skip

        earlier = next((m for m in self.made if m.key == wish.key is not None), None)
        if earlier is not None:
            same = (earlier.dataset, earlier.unit, earlier.cost) == (
                wish.dataset, wish.unit, wish.cost,
            )  # fmt: skip
            if not same or earlier.state != "reserved":
                drawn = same and earlier.state != "voided"
                with pytest.raises(DrawnBeforeError if drawn else UsageError):
                    reserve()
                return
            found = reserve()
            assert (found.id, found.taken_up) == (earlier.id, True)
            return
        expected = self.refusal(wish)
        if expected is not None:
            for attempt in (reserve, lambda: self.check(by, wish)):
                with pytest.raises(expected):
                    attempt()
            return
        self.check(by, wish)
        made = reserve()
        known = self.model.setdefault(wish.dataset, Dataset())
        known.unit = wish.unit
        assert not made.taken_up
        self.made.append(Made(made.id, wish.dataset, wish.unit, wish.cost, wish.key, release))

    def check(self, by: int, wish: Wish) -> None:
        self.clients[by].check(wish.dataset, wish.unit, *wish.cost, new_dataset=wish.new)

    @precondition(lambda self: self.model)
    @rule(by=client, data=st.data(), which=LIMITED, limit=LIMITS, each=LIMITS)
    def set_limit(self, by: int, data: st.DataObject, which: Any, limit: Any, each: Any) -> None:
        name = data.draw(st.sampled_from(sorted(self.model)))
        changes: dict[str, Any] = {}
        if "epsilon" in which:
            changes["epsilon"], changes["delta"] = limit or (None, None)
            self.model[name].limit = limit
        if "each" in which:
            changes["each_epsilon"], changes["each_delta"] = each or (None, None)
            self.model[name].each = each
        self.clients[by].set_limit(name, reason="decided", **changes)

    @precondition(lambda self: self.made)
    @rule(by=client, data=st.data())
    def start_drawing(self, by: int, data: st.DataObject) -> None:
        made = data.draw(st.sampled_from(self.made))
        if made.state != "reserved":
            expected = VoidedError if made.state == "voided" else DrawnBeforeError
            with pytest.raises(expected):
                self.clients[by].start_drawing(made.id)
            return
        self.clients[by].start_drawing(made.id)
        made.state = "drawing"

    @precondition(lambda self: self.made)
    @rule(by=client, data=st.data())
    def publish(self, by: int, data: st.DataObject) -> None:
        made = data.draw(st.sampled_from(self.made))
        if made.state != "drawing":
            with pytest.raises(VoidedError if made.state == "voided" else LedgerError):
                self.clients[by].mark_published(made.id, SHA)
            return
        self.clients[by].mark_published(made.id, SHA)
        made.state = "published"

    @precondition(lambda self: self.made)
    @rule(by=client, data=st.data())
    def void(self, by: int, data: st.DataObject) -> None:
        made = data.draw(st.sampled_from(self.made))
        if made.state in {"published", "voided"}:
            with pytest.raises(UsageError, match="cannot be voided"):
                self.clients[by].void(made.id, "certain")
            return
        self.clients[by].void(made.id, "certain")
        made.state = "voided"

    @precondition(lambda self: self.made)
    @rule(by=client, data=st.data())
    def withdraw(self, by: int, data: st.DataObject) -> None:
        made = data.draw(st.sampled_from(self.made))
        if made.state != "published":
            with pytest.raises(UsageError, match="only what was published"):
                self.clients[by].withdraw(made.release, "a wrong list")
            return
        found = self.clients[by].withdraw(made.release, "a wrong list")
        assert (found.id, found.state) == (made.id, "published")
        made.withdrawn = True

    @rule(by=client, data=st.data())
    def verify(self, by: int, data: st.DataObject) -> None:
        """Every head that there ever was is still on the way to the last one."""
        number = data.draw(st.integers(0, len(self.hashes)))
        kept = Head(number, self.hashes[number - 1]) if number else self.start
        assert self.clients[by].verify(kept).ok

    @rule(by=client)
    def reopen(self, by: int) -> None:
        self.clients[by].close()
        self.clients[by] = Ledger.open(self.location)

    @invariant()
    def sums_are_those_of_the_charges(self) -> None:
        found = {balance.dataset: balance for balance in self.clients[0].datasets()}
        assert found.keys() == self.model.keys()
        for name, known in self.model.items():
            spent, released = found[name].spent, self.spent(name, "published")
            assert spent == self.spent(name, "reserved", "drawing", "published")
            assert released.within(spent)
            assert found[name].unit == known.unit
            assert (_pair(found[name].limit), _pair(found[name].each)) == (known.limit, known.each)

    @invariant()
    def charges_are_those_that_were_made(self) -> None:
        found = {c.id: (c.state, c.withdrawn is not None) for c in self.clients[1].charges()}
        assert found == {made.id: (made.state, made.withdrawn) for made in self.made}

    @invariant()
    def nothing_on_the_record_changes(self) -> None:
        entries = self.clients[2].entries()
        hashes = [entry.hash for entry in entries]
        assert hashes[: len(self.hashes)] == self.hashes
        self.hashes = hashes
        keys: Counter[str] = Counter()
        ends: dict[str, list[type]] = {}
        for entry in entries:
            event = entry.event
            if isinstance(event, Reserved) and event.asked and event.asked.request_id:
                keys[event.asked.request_id] += 1
            if isinstance(event, Drawing | MarkedPublished | Voided):
                ends.setdefault(event.reservation, []).append(type(event))
        assert all(times == 1 for times in keys.values())
        drawn = [Drawing]
        for happened in ends.values():
            assert happened in (drawn, [*drawn, MarkedPublished], [*drawn, Voided], [Voided])

    def teardown(self) -> None:
        assert self.clients[0].verify(self.start).ok
        for ledger in self.clients:
            ledger.close()
        self.clean()

    def clean(self) -> None:
        self.folder.cleanup()


class HistoryOnAServer(History):
    """The same, on PostgreSQL."""

    def new_place(self) -> str:
        return running_server().new_schema()

    def clean(self) -> None:
        schema = self.location.rpartition("%3D")[2]
        running_server().execute(f"DROP SCHEMA {schema} CASCADE")


def _fits(cost: tuple[Fraction, Fraction], left: tuple[Fraction, Fraction]) -> bool:
    return cost[0] <= left[0] and cost[1] <= left[1]


def _pair(loss: Loss | None) -> tuple[Fraction, Fraction] | None:
    return None if loss is None else (loss.epsilon, loss.delta)


UNHURRIED = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
TestHistory = History.TestCase
TestHistory.settings = settings(UNHURRIED, max_examples=25, stateful_step_count=25)
TestHistoryOnAServer = HistoryOnAServer.TestCase
TestHistoryOnAServer.settings = settings(UNHURRIED, max_examples=3, stateful_step_count=15)
