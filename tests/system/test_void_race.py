"""``void``, with and without deleting, against a run: what can be found is paid for, always.

The run is the real main line with nothing to count, and fails by itself now and then. The void
comes at a random moment of it.
"""

from __future__ import annotations

import queue
import random
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from budget.ledger_kit import PostgresServer, folder, server
from crowdtally.core.privacy import Epsilon
from crowdtally.errors import CrowdtallyError, UsageError
from crowdtally.ledger import Ledger, Reservation
from kit.bare import DATASET, bare_publish, nothing_to_count, released

__all__ = ["folder", "server"]
EACH = Epsilon.of("1/7")
BATCH = 20
"""Races in one ledger: a void verifies all of it, which must stay quick."""


class Watched(Ledger):
    """A ledger that tells of each reservation, as a person who watches the run would see it.

    The drawing and the mark come after pauses, so that a void often falls before either.
    """

    made: queue.SimpleQueue[str]
    pauses: tuple[float, float]

    def reserve(self, *given: object, **named: object) -> Reservation:
        made = super().reserve(*given, **named)  # type: ignore[arg-type]
        self.made.put(made.id)
        return made

    def start_drawing(self, *given: str, **named: object) -> None:
        time.sleep(self.pauses[0])
        super().start_drawing(*given, **named)  # type: ignore[arg-type]

    def mark_published(self, *given: str) -> None:
        time.sleep(self.pauses[1])
        super().mark_published(*given)


class Race:
    """One run and one void."""

    def __init__(self, location: str, out: Path, chance: random.Random) -> None:
        self._voiding = Ledger.open(location, create=True)
        self._running = Watched.open(location, create=True)
        self._running.made = queue.SimpleQueue()
        self._running.pauses = (chance.uniform(0, 0.02), chance.uniform(0, 0.02))
        self._out = out
        self._wait, self._delete = chance.uniform(0, 0.04), chance.random() < 0.5
        self.outcome: list[str] = []

    def run(self) -> None:
        try:
            bare_publish(self._running, self._out)
            self.outcome.append("released")
        except CrowdtallyError as error:
            self.outcome.append(f"run: {type(error).__name__}")

    def void(self) -> None:
        reservation = self._running.made.get(timeout=60)
        time.sleep(self._wait)
        how = "deleting" if self._delete else "looking"
        try:
            self._voiding.void(reservation, "raced", delete_staged=self._delete)
            self.outcome.append(f"voided, {how}")
        except UsageError:
            self.outcome.append(f"refused, {how}")

    def start(self) -> None:
        threads = [threading.Thread(target=work) for work in (self.run, self.void)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self._running.close()
        self._voiding.close()


def races(number: int, home: Path, new_ledger: Callable[[], str], seed: int) -> Counter[str]:
    """How often what happened; each batch is checked as a whole."""
    chance, seen = random.Random(seed), Counter[str]()

    def sometimes_fail() -> None:
        time.sleep(chance.uniform(0, 0.01))
        if chance.random() < 0.25:
            raise ValueError

    with nothing_to_count(EACH, sometimes_fail):
        for start in range(0, number, BATCH):
            place, location = home / f"batch-{start}", new_ledger()
            place.mkdir()
            for turn in range(min(BATCH, number - start)):
                race = Race(location, place / f"out-{turn}", chance)
                race.start()
                seen.update(race.outcome)
                assert len(race.outcome) == 2, "neither may end in anything unforeseen"
            seen.update(check(location, place))
            shutil.rmtree(place)
    return seen


def check(location: str, place: Path) -> list[str]:
    """Nothing to be found without a standing charge, and nothing left of what was given back.

    Says of each void whether it came before the first draw.
    """
    with Ledger.open(location, create=True) as ledger:
        charges = ledger.charges()
        standing = [made for made in charges if made.state != "voided"]
        paid = {(made.id, made.sha256) for made in charges if made.state == "published"}
        assert set(released(place)) <= paid
        assert ledger.balance(DATASET).spent.epsilon == len(standing) * EACH.value
        assert [path for path in place.iterdir() if path.name.startswith(".")] == []
        assert ledger.verify().ok
        voided = [made for made in charges if made.state == "voided"]
        return [f"voided {'undrawn' if made.drawing_at is None else 'drawn'}" for made in voided]


def everything_happened(seen: Counter[str]) -> None:
    """Races that all end alike would show nothing."""
    for outcome in (
        "released", "run: VoidedError", "run: CrowdtallyError", "voided, deleting",
        "voided, looking", "refused, deleting", "refused, looking", "voided undrawn",
        "voided drawn",
    ):  # fmt: skip
        assert seen[outcome], seen


def on_sqlite(folder: Path, number: int, seed: int) -> Counter[str]:
    names = (str(folder / f"{n}.sqlite") for n in range(number))
    return races(number, folder, lambda: next(names), seed)


def test_a_hundred_races(folder: Path) -> None:
    everything_happened(on_sqlite(folder, 100, seed=1))


@pytest.mark.long
def test_a_thousand_races(folder: Path) -> None:
    everything_happened(on_sqlite(folder, 1000, seed=2))


def test_races_on_postgresql(server: PostgresServer, folder: Path) -> None:
    seen = races(50, folder, server.new_schema, seed=3)
    assert seen["released"], seen
    assert seen["voided, deleting"], seen
