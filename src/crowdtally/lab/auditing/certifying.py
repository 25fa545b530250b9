"""A certified lower bound on ε from runs of a release with and without one user.

Contract. On runs of training an event and a direction are chosen in any way. On held-out runs,
independent of them, it is counted how often the event happened on either side. For every mechanism
that is (ε, δ)-differentially private, Pr[:attr:`Certificate.epsilon` > ε] ≤ ``alpha``. The proof is
in ``certifying.md``. A certificate can refute a claim, and can never prove one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log

import numpy as np

from crowdtally.errors import UsageError
from crowdtally.lab.auditing.features import Matrix
from crowdtally.lab.auditing.fitting import Expected
from crowdtally.lab.auditing.promise import Aim, Stakes
from crowdtally.lab.auditing.proportions import at_least, at_most
from crowdtally.lab.auditing.searching import Found, search

WHOLE_TABLE = 0.001
"""The error probability of all certificates of a table together."""
_LEAST_RUNS = 20


@dataclass(frozen=True, eq=False)
class Runs:
    """Runs of two neighbouring databases, as :meth:`Columns.matrix` made them."""

    with_user: Matrix
    """Of the database with the user."""
    without: Matrix
    """Of the same database without her."""


@dataclass(frozen=True)
class Certificate:
    """What held-out runs prove about ε, with confidence 1 − :attr:`alpha`."""

    epsilon: float
    """The certified lower bound, at least 0."""
    claim: float
    """The ε that was claimed."""
    delta: float
    """The δ that was claimed."""
    delta_bound: float
    """The certified lower bound on δ at the claimed ε, at least 0."""
    event: str
    """The event in words, and the database on which it is the likelier one."""
    seen: tuple[int, int]
    """How often the event happened in held-out runs: on the likelier side, on the other."""
    runs: tuple[int, int]
    """How many held-out runs there were, in the same order."""
    alpha: float
    """The probability at which :attr:`epsilon` may exceed the true loss."""
    expected: float
    """What training runs promised, before the held-out ones were looked at."""

    @property
    def ratio(self) -> float:
        """The certified ε over the claimed one."""
        return self.epsilon / self.claim


def certify(
    training: Runs,
    held_out: Runs,
    names: tuple[str, ...],
    *,
    claim: float,
    alpha: float,
    delta: float = 0.0,
    expected: Expected | None = None,
    strata: Sequence[int] = (),
    events: int = 1,
    aim: Aim = "epsilon",
) -> Certificate:
    """Look for the most telling event in training, and certify it on held-out runs.

    Args:
        training: runs to learn from.
        held_out: as many runs that nothing was learned from.
        names: what the columns are called.
        claim: the ε that this release, or this part of it, is said to cost.
        alpha: the error probability of this certificate; a table of r of them that may err with
            probability 0.001 in all gives each 0.001/r.
        delta: the δ that it is said to cost.
        expected: the exact vectors and the claimed noise, if known; the search is sharper with it.
        strata: the columns of a private choice (:attr:`Columns.choices`).
        events: how many events are tried on held-out runs; they share ``alpha``.
        aim: whether to look for a large ε at the claimed δ, or a large δ at the claimed ε.
    """
    _check(training, held_out, names, alpha, events)
    runs = len(held_out.with_user), len(held_out.without)
    stakes = Stakes(runs, alpha / events, delta, claim, aim)
    both = training.with_user, training.without
    found = search(both, stakes, expected=expected, strata=strata, events=events)
    made = [_certified(one, held_out, names, stakes, alpha) for one in found]
    return max(made, key=lambda one: one.epsilon if aim == "epsilon" else one.delta_bound)


def _check(
    training: Runs, held_out: Runs, names: tuple[str, ...], alpha: float, events: int
) -> None:
    batches = (training.with_user, training.without, held_out.with_user, held_out.without)
    if min(len(batch) for batch in batches) < _LEAST_RUNS:
        raise UsageError(
            f"a certificate needs {_LEAST_RUNS} runs or more of each database, to learn from and "
            f"to test on: received {', '.join(str(len(batch)) for batch in batches)}."
        )
    if any(batch.shape[1] != len(names) for batch in batches):
        raise UsageError("all runs must have one column for each name.")
    if not 0 < alpha < 1 or events < 1:
        raise UsageError(f"alpha must lie between 0 and 1, and events above 0: {alpha}, {events}.")
    if any(np.shares_memory(a, b) for a in batches[:2] for b in batches[2:]):
        raise UsageError("held-out runs must be other runs than those of training.")


def epsilon_bound(
    seen: tuple[int, int], runs: tuple[int, int], *, alpha: float, delta: float = 0.0
) -> float:
    """ln((p − δ)/q) at least 0, p from below and q from above, each wrong with alpha/2 at most.

    >>> round(epsilon_bound((7311, 2689), (10_000, 10_000), alpha=0.001), 3)
    0.926
    """
    p = float(at_least(seen[0], runs[0], alpha / 2))
    q = float(at_most(seen[1], runs[1], alpha / 2))
    return max(log((p - delta) / q), 0.0) if p > delta else 0.0


def delta_bound(
    seen: tuple[int, int], runs: tuple[int, int], *, alpha: float, epsilon: float
) -> float:
    """The δ that p − e^ε·q proves, at least 0, by the same two bounds."""
    p = float(at_least(seen[0], runs[0], alpha / 2))
    q = float(at_most(seen[1], runs[1], alpha / 2))
    if log(q) + epsilon >= 0:  # where e^ε is beyond any float, too
        return 0.0
    return max(p - exp(epsilon) * q, 0.0)


def _certified(
    found: Found, held_out: Runs, names: tuple[str, ...], stakes: Stakes, alpha: float
) -> Certificate:
    sides = [held_out.with_user, held_out.without]
    if not found.for_her:
        sides.reverse()
    likelier, other = (int(np.count_nonzero(found.event.holds(side))) for side in sides)
    seen, runs = (likelier, other), (len(sides[0]), len(sides[1]))
    whom = "with the user" if found.for_her else "without the user"
    return Certificate(
        epsilon=epsilon_bound(seen, runs, alpha=stakes.alpha, delta=stakes.delta),
        claim=stakes.claim,
        delta=stakes.delta,
        delta_bound=delta_bound(seen, runs, alpha=stakes.alpha, epsilon=stakes.claim),
        event=f"{found.event.words(names)}: likelier {whom}",
        seen=seen,
        runs=runs,
        alpha=alpha,
        expected=found.promise,
    )
