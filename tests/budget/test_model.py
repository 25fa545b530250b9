"""Random histories against a model that is a few sums of Fractions."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from budget.ledger_kit import ROW, SHA, USER, charge, memory
from crowdtally.budget import Ledger, OverBudgetError
from crowdtally.errors import UsageError
from crowdtally.values.unit import PrivacyUnit

NAMES = st.sampled_from(["a", "b"])
UNITS = st.sampled_from([USER, USER, USER, ROW])
EPSILONS = st.one_of(
    st.fractions(min_value=0, max_value=3).filter(bool),
    st.sampled_from(
        [Fraction(1, 300000), Fraction(1, 10), Fraction(5, 10**324), Fraction(10**308)]
    ),
)
DELTAS = st.one_of(st.just(Fraction(0)), st.sampled_from([Fraction(1, 10**9), Fraction(1, 3)]))
LIMITS = st.one_of(st.none(), st.tuples(EPSILONS, DELTAS))


@dataclass
class Dataset:
    unit: PrivacyUnit | None = None
    limit: tuple[Fraction, Fraction] | None = None
    spent: list[Fraction] = field(default_factory=lambda: [Fraction(0), Fraction(0)])


class History(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory(dir=memory())
        self.ledger = Ledger.open(Path(self.folder.name) / "ledger.sqlite", create=True)
        self.model: dict[str, Dataset] = {}
        self.made: list[tuple[str, str, Fraction, Fraction]] = []
        self.state: dict[str, str] = {}
        self.entries = 0

    @rule(name=NAMES, unit=UNITS, epsilon=EPSILONS, delta=DELTAS)
    def reserve(self, name: str, unit: PrivacyUnit, epsilon: Fraction, delta: Fraction) -> None:
        known = self.model.get(name, Dataset())
        expected: type[Exception] | None = None
        if known.unit not in (None, unit):
            expected = UsageError
        elif known.limit is not None and (
            known.spent[0] + epsilon > known.limit[0]
            or (delta and known.spent[1] + delta > known.limit[1])
        ):
            expected = OverBudgetError
        if expected is not None:
            with pytest.raises(expected):
                self.ledger.reserve(name, unit, charge(epsilon, delta), new_dataset=True)
            return
        made = self.ledger.reserve(name, unit, charge(epsilon, delta), new_dataset=True)
        self.entries += 1 if name in self.model else 2
        known.unit = unit
        known.spent = [known.spent[0] + epsilon, known.spent[1] + delta]
        self.model[name] = known
        self.made.append((made.id, name, epsilon, delta))
        self.state[made.id] = "reserved"

    @rule(name=NAMES, limit=LIMITS)
    def set_limit(self, name: str, limit: tuple[Fraction, Fraction] | None) -> None:
        epsilon, delta = limit or (None, None)
        if name not in self.model:
            self.ledger.create(name, epsilon=epsilon, delta=delta)
            self.model[name] = Dataset()
        else:
            self.ledger.set_limit(name, epsilon=epsilon, delta=delta, reason="decided")
        self.entries += 1
        self.model[name].limit = limit

    @precondition(lambda self: self.made)
    @rule(data=st.data())
    def void(self, data: st.DataObject) -> None:
        made, name, epsilon, delta = data.draw(st.sampled_from(self.made))
        if self.state[made] != "reserved":
            with pytest.raises(UsageError):
                self.ledger.void(made, "certain")
            return
        self.ledger.void(made, "certain")
        self.state[made] = "voided"
        self.entries += 1
        spent = self.model[name].spent
        self.model[name].spent = [spent[0] - epsilon, spent[1] - delta]

    @precondition(lambda self: "reserved" in self.state.values())
    @rule(data=st.data())
    def publish(self, data: st.DataObject) -> None:
        waiting = [made for made, state in self.state.items() if state == "reserved"]
        made = data.draw(st.sampled_from(waiting))
        self.ledger.mark_published(made, SHA)
        self.state[made] = "published"
        self.entries += 1

    @rule()
    def reopen(self) -> None:
        self.ledger = Ledger.open(Path(self.folder.name) / "ledger.sqlite", create=False)

    @invariant()
    def agrees(self) -> None:
        found = {balance.dataset: balance for balance in self.ledger.datasets()}
        assert found.keys() == self.model.keys()
        for name, known in self.model.items():
            spent = found[name].spent
            assert [spent.epsilon, spent.delta] == known.spent
            assert found[name].unit == known.unit
        assert self.ledger.head().number == self.entries
        assert {c.id: c.state for c in self.ledger.charges()} == self.state

    def teardown(self) -> None:
        assert self.ledger.verify().ok
        self.folder.cleanup()


TestHistory = History.TestCase
TestHistory.settings = settings(
    max_examples=25,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
