"""A certified lower bound on ε from runs of a release with and without one user.

Contract. On runs of training an event and a direction are chosen in any way. On held-out runs,
independent of them, it is counted how often the event happened on either side. For every mechanism
that is (ε, δ)-differentially private, Pr[:attr:`Certificate.epsilon` > ε] ≤ ``alpha``. The proof is
in ``certifying.md``. A certificate can refute a claim, and can never prove one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from math import exp, log
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from crowdtally.errors import UsageError
from crowdtally.lab.auditing.observe import Aim, Runs, Stakes
from crowdtally.lab.auditing.ratios import Expected
from crowdtally.lab.auditing.search import Found, search
from crowdtally.lab.methods import aligned

# Exact one-sided bounds on a probability from how often an event was seen (Clopper and Pearson).
#
# Each is wrong with probability at most its ``alpha``, whatever the probability is.

_ROUNDING = 1e-9
"""Relative; far above the error of scipy's quantiles, and bounds are moved outwards by it."""


def at_least(seen: Any, runs: Any, alpha: float) -> NDArray[np.float64]:
    """The smallest p that leaves ``seen`` or more of ``runs`` a probability of ``alpha``.

    >>> round(float(at_least(10, 10, 0.05)), 4)  # 0.05^(1/10)
    0.7411
    """
    seen, runs = np.asarray(seen, dtype=np.float64), np.asarray(runs, dtype=np.float64)
    some = np.maximum(seen, 1)
    quantile = special.betaincinv(some, runs - some + 1, alpha)
    return np.where(seen > 0, quantile * (1 - _ROUNDING), 0.0)


def at_most(seen: Any, runs: Any, alpha: float) -> NDArray[np.float64]:
    """The largest p that leaves ``seen`` or fewer of ``runs`` a probability of ``alpha``.

    >>> round(float(at_most(0, 10, 0.05)), 4)  # 1 - 0.05^(1/10)
    0.2589
    """
    seen, runs = np.asarray(seen, dtype=np.float64), np.asarray(runs, dtype=np.float64)
    others = np.maximum(runs - seen, 1)
    # The mirror image: a quantile near 1 would lose its digits.
    quantile = special.betainccinv(seen + 1, others, alpha)
    return np.where(seen < runs, np.minimum(quantile * (1 + _ROUNDING), 1.0), 1.0)


_LEAST_RUNS = 20


@dataclass(frozen=True)
class Certificate:
    """What held-out runs prove about ε, with confidence 1 − :attr:`alpha`."""

    epsilon: float
    """The certified lower bound, at least 0."""
    claim: float
    delta: float
    delta_bound: float
    """The certified lower bound on δ at the claimed ε, at least 0."""
    event: str
    """In words, with the database on which it is the likelier one."""
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
        held_out: runs that nothing was learned from.
        names: of the columns.
        claim: the claimed ε of this release, or of this part of it.
        alpha: the error probability of this certificate; a table of r of them that may err with
            probability 0.001 in all gives each 0.001/r.
        delta: the claimed δ.
        expected: the exact vectors and the claimed noise, if known; the search is sharper with it.
        strata: the columns of a private choice (:attr:`Columns.choices`).
        events: how many events are tried on held-out runs; they share ``alpha``.
        aim: whether to look for a large ε at the claimed δ, or a large δ at the claimed ε.
    """
    _check(training, held_out, names, alpha, events)
    runs = len(held_out.with_user), len(held_out.without)
    stakes = Stakes(runs, alpha / events, delta, claim, aim)
    found = search(training, stakes, expected=expected, strata=strata, events=events)
    certified = [_certified(one, held_out, names, stakes, alpha) for one in found]
    return max(certified, key=lambda one: one.epsilon if aim == "epsilon" else one.delta_bound)


def _check(
    training: Runs, held_out: Runs, names: tuple[str, ...], alpha: float, events: int
) -> None:
    batches = (*training, *held_out)
    if min(map(len, batches)) < _LEAST_RUNS:
        raise UsageError(
            f"a certificate needs {_LEAST_RUNS} runs or more of each database, to learn from and "
            f"to test on: received {', '.join(str(len(batch)) for batch in batches)}."
        )
    if any(batch.shape[1] != len(names) for batch in batches):
        raise UsageError("all runs must have one column for each name.")
    if not 0 < alpha < 1 or events < 1:
        raise UsageError(f"alpha must lie between 0 and 1, and events above 0: {alpha}, {events}.")
    if any(np.shares_memory(a, b) for a, b in product(training, held_out)):
        raise UsageError("held-out runs must be other runs than those of training.")


def epsilon_bound(
    seen: tuple[int, int], runs: tuple[int, int], *, alpha: float, delta: float = 0.0
) -> float:
    """ln((p − δ)/q) at least 0, p from below and q from above, each wrong with alpha/2 at most.

    >>> round(epsilon_bound((7311, 2689), (10_000, 10_000), alpha=0.001), 3)
    0.926
    """
    p, q = _halves(seen, runs, alpha)
    return max(log((p - delta) / q), 0.0) if p > delta else 0.0


def delta_bound(
    seen: tuple[int, int], runs: tuple[int, int], *, alpha: float, epsilon: float
) -> float:
    """The δ that p − e^ε·q proves, at least 0, by the same two bounds."""
    p, q = _halves(seen, runs, alpha)
    if log(q) + epsilon >= 0:  # where e^ε is beyond any float, too
        return 0.0
    return max(p - exp(epsilon) * q, 0.0)


def _halves(seen: tuple[int, int], runs: tuple[int, int], alpha: float) -> tuple[float, float]:
    p, q = at_least(seen[0], runs[0], alpha / 2), at_most(seen[1], runs[1], alpha / 2)
    return float(p), float(q)


def _certified(
    found: Found, held_out: Runs, names: tuple[str, ...], stakes: Stakes, alpha: float
) -> Certificate:
    side, other = held_out if found.for_her else reversed(held_out)
    holds = found.event.holds
    seen = int(np.count_nonzero(holds(side))), int(np.count_nonzero(holds(other)))
    runs = len(side), len(other)
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


# The results of an audit: a row for each method, and for each part against its own share.

ABOUT = (
    "About the method, on made-up databases: what an attacker can prove about epsilon by watching "
    "many releases. No true record was read."
)
CONFIDENCE = 0.999
"""For all rows of one audit together."""
MEANING = (
    "Every certified epsilon is a lower bound of what the method truly loses, on these databases; "
    f"all of them hold together with a confidence of {CONFIDENCE:.1%}. One above its claim refutes "
    "the claim. One below it proves nothing: privacy is proved in the notes beside the code."
)
NOTHING = (
    "A row with 0.000 certifies nothing: too few runs to tell the databases apart. Give it more "
    "--seconds."
)
WITHIN_DELTA = (
    "New items are paid for by delta alone: epsilon 0.000 is what a right claim shows there, and "
    "the certified delta stands beside the claimed one."
)


@dataclass(frozen=True)
class Row:
    name: str
    """The method, and the part where it is one."""
    claim: float
    certified: float
    delta: float
    """The claimed δ, which the certificate allows."""
    runs: int
    """Held-out runs of each database."""
    pair: str
    event: str
    seconds: float
    certified_delta: float = 0.0
    """At the claimed ε."""

    @property
    def ratio(self) -> float:
        return self.certified / self.claim

    @property
    def leaks(self) -> bool:
        return self.certified > self.claim

    def sentence(self) -> str:
        allowed = f" (with delta {self.delta:g})" if self.delta else ""
        return (
            f"{self.name} leaks at least {self.certified:.3g} where {self.claim:.3g} is "
            f"claimed{allowed}: {self.pair}; {self.event}."
        )

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"ratio": self.ratio, "leaks": self.leaks}


@dataclass(frozen=True)
class Audit:
    epsilon: str
    rows: tuple[Row, ...]
    remarks: tuple[str, ...] = ()

    @property
    def leaks(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.leaks)

    def as_dict(self) -> dict[str, Any]:
        return {
            "about": ABOUT,
            "meaning": MEANING,
            "epsilon": self.epsilon,
            "confidence": CONFIDENCE,
            "remarks": list(self.remarks),
            "rows": [row.as_dict() for row in self.rows],
        }

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self) -> Iterator[str]:
        yield ABOUT
        yield from self.remarks
        yield from aligned([_HEAD, *map(_cells, self.rows)])
        yield MEANING
        yield from self._about_zeros()
        yield from (row.sentence() for row in self.leaks)

    def _about_zeros(self) -> Iterator[str]:
        """Why rows certify nothing."""
        zeros = [row for row in self.rows if row.certified == 0]
        if any(not row.certified_delta for row in zeros):
            yield NOTHING
        if any(row.certified_delta for row in zeros):
            yield WITHIN_DELTA

    def markdown(self, title: str = "The audit") -> str:
        lines = [f"# {title}", "", ABOUT, "", *self.remarks, *([""] if self.remarks else [])]
        lines += [f"ε = {self.epsilon} for each release. {MEANING}", ""]
        head = (*_HEAD, "seen by", "on")
        lines += [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
        for row in self.rows:
            cells = (*_cells(row), row.event, row.pair)
            lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
        lines += ["", *self._about_zeros(), *(f"**{row.sentence()}**" for row in self.leaks)]
        return "\n".join(lines).rstrip() + "\n"


_HEAD = ("method", "claim", "certified", "ratio", "delta", "runs")


def _cells(row: Row) -> tuple[str, ...]:
    delta = f"{row.delta:g}" if row.delta else "0"
    if row.certified_delta:
        delta += f" (≥ {row.certified_delta:.4f})"
    numbers = (f"{row.claim:.3g}", f"{row.certified:.3f}", f"{row.ratio:.2f}", delta)
    return (row.name, *numbers, f"{row.runs:,}")
