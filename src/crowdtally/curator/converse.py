"""A release is a conversation: a method asks questions and sees only noisy answers.

Contract. :class:`Conversation` is the only place that counts, pays and draws, in this order for
each question. It counts the first question when it is opened: that reads every record and draws
nothing, so a damaged source costs nothing. It draws for an :class:`Account` alone, and an account
is made of a durable reservation of the ledger and of nothing else. What was charged is spent once:
a question whose price is not on the account is refused before its noise is drawn.

A method is a generator. Its next question is a function of public parameters and of the answers so
far, all of them noisy. So the losses of its questions add up (adaptive composition), and they add
up to at most the charge, whatever the answers are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from crowdtally.core.privacy import Delta, Epsilon, Price, Rho
from crowdtally.curator.counting.bounded import Read
from crowdtally.curator.questions import Question, Tables
from crowdtally.errors import CrowdtallyError
from crowdtally.laws.conversion import delta_of, rho_of
from crowdtally.ledger import Charge, Part, Reservation
from crowdtally.noise.draws import Draws
from crowdtally.records.engine import Dropped

WHOLE = "zero-concentrated"
"""The mechanism of the one part of a charge of ε and δ for what is paid for in ρ."""
IN_STEPS = "adaptive"
"""The mechanism of a part that later questions of the method spend in steps."""
Progress = Callable[[str], None]
"""Is told what is being done, in words that any request of this kind would have."""


@dataclass(frozen=True)
class Facts:
    """What a method says of how it went: public, like the answers that it follows from."""

    def as_dict(self) -> dict[str, Any]:
        return {}


Asking = Generator[Question, Any, Facts]
"""A method at work: yields questions, is sent answers, returns its facts."""


class Method(Protocol):
    """One way to make a release, for one request. It reaches neither records nor draws."""

    @property
    def parts(self) -> tuple[Part, ...]:
        """All that it may spend, whatever the answers are: this is charged."""

    @property
    def questions(self) -> int:
        """How many questions it asks."""

    def ask(self) -> Asking:
        """Begin a conversation."""


@dataclass(frozen=True)
class Released:
    """What was released: all of it noisy, all of it public."""

    tables: Tables = ()
    facts: Facts = Facts()
    paid_by: str | None = None
    """The release whose charge paid for it; None of a rehearsal, which cannot be saved."""


class Steps:
    """A price that is charged as one and spent table by table, each once.

    The tables' prices add up to at most the whole, exactly. The first table that is paid for in ρ
    turns what is left of ε, with δ, into ρ, once.
    """

    def __init__(self, whole: Price, delta: Delta) -> None:
        self._kind, self._left, self._delta = type(whole), whole.value, delta
        self._names = set[str]()

    @classmethod
    def of(cls, part: Part) -> Steps | None:
        """The price of a part that is spent in steps; None where a part has a price of its own."""
        if part.mechanism == WHOLE and part.parameters.get(IN_STEPS):
            return cls(Rho.of(part.parameters[Rho.field]), Delta())
        whole = part.rho or part.epsilon
        return cls(whole, part.delta) if part.mechanism == IN_STEPS and whole else None

    def pay(self, part: Part) -> bool:
        """Take the price of a table off what is left; False where that does not pay for it."""
        price = part.rho or part.epsilon
        if price is None or part.delta.value or part.selects or part.name in self._names:
            return False
        if isinstance(price, Rho) and self._kind is Epsilon and self._delta.value:
            self._kind, self._left = Rho, rho_of(self._left, self._delta)
            self._delta = Delta()
        if type(price) is not self._kind or price.value > self._left:
            return False
        self._names.add(part.name)
        self._left -= price.value
        return True


class Account:
    """What was charged and is not yet spent."""

    def __init__(self, reservation: Reservation) -> None:
        if not isinstance(reservation, Reservation):
            raise CrowdtallyError(
                "noise would be drawn without a charge in a ledger. This is a bug in Crowdtally. "
                "Nothing was released."
            )
        self._open(reservation.charge.parts, reservation.charge.release_id)

    @classmethod
    def of(cls, reservation: Reservation) -> Account:
        """The account that a durable reservation opens; nothing else can."""
        return cls(reservation)

    def _open(self, parts: Sequence[Part], release: str | None) -> None:
        self.release = release
        only = parts[0]
        self._steps = Steps.of(only) if len(parts) == 1 else None
        self._whole = only if only.mechanism == WHOLE else None
        self._left: Counter[Hashable] = Counter(map(self._key, parts))
        if self._whole is not None:
            self._left = Counter(only.parameters["parts"])
        self._spent: list[Part] = []

    def pay(self, question: Question) -> None:
        """Take the price of a question off the account, before its noise is drawn.

        Each part is spent once, at its own price. A charge that is stated as one whole lists the
        names of its parts; what they cost together is converted to ε and δ and stays below it.
        """
        parts = question.parts()
        paid = bool(parts) and all(map(self._take, parts))
        if not paid or (self._whole and not self._steps and not self._covered(self._whole)):
            raise CrowdtallyError(
                f"the question {question.name!r} costs what was not charged, or what is spent "
                "already. This is a bug in Crowdtally. Nothing was released."
            )

    def _take(self, part: Part) -> bool:
        """Take a part off what is left; False where that does not pay for it."""
        if self._steps is not None:
            return self._steps.pay(part)
        if not self._left[self._key(part)]:
            return False
        self._left[self._key(part)] -= 1
        self._spent.append(part)
        return True

    def _key(self, part: Part) -> Hashable:
        """Name and price of a part, or its name where the charge has no more."""
        if self._whole is not None:
            return part.name
        return part.name, part.epsilon, part.rho, part.delta

    def _covered(self, whole: Part) -> bool:
        """Whether what was spent so far is within a charge that is stated as one whole."""
        spent, most = Charge.by_rho(whole.name, self._spent).loss, whole.loss
        if spent.epsilon or spent.rho > Fraction(whole.parameters["rho"]):
            return False
        return spent.delta + delta_of(spent.rho, most.epsilon) <= most.delta


class Conversation:
    """A method, and the records that it never sees."""

    def __init__(
        self,
        asking: Asking,
        count: Callable[[Question], Read[Any]],
        progress: Progress = lambda _: None,
    ) -> None:
        """Count the first question: every record is read, and nothing is charged."""
        self._asking, self._count, self._progress = asking, count, progress
        self._question = next(asking)
        self._counted = count(self._question)

    @property
    def dropped(self) -> Dropped:
        """The rows that the first question could not use; for the curator alone."""
        return self._counted.dropped

    def finish(self, account: Account, draws: Draws) -> Released:
        """Pay, draw, answer and count, until the method has no more questions."""
        tables: Tables = ()
        while True:
            self._progress(f"drawing noise for {self._question.name}")
            account.pay(self._question)
            answer = self._question.draw(self._counted.found, draws)
            tables += answer.tables
            try:
                self._question = self._asking.send(answer)
            except StopIteration as end:
                return Released(tables, end.value, account.release)
            self._progress(f"counting for {self._question.name}")
            self._counted = self._count(self._question)


def converse(
    asking: Asking, count: Callable[[Question], Read[Any]], account: Account, draws: Draws
) -> Released:
    return Conversation(asking, count).finish(account, draws)
