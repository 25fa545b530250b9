"""The audit: each method attacked for a while, and what held-out runs certify about its ε.

A row's time is spent in three parts. Some tries all pairs of databases, some trains on the most
promising one, the rest are the held-out runs. Their number is fixed before the first of them is
made, and each row looks at them once: with r rows, each errs with probability 0.001/r.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import get_context
from os import cpu_count
from typing import Any

from crowdtally.core.domain import Domain
from crowdtally.core.numbers import exact, show
from crowdtally.core.privacy import Epsilon
from crowdtally.core.records import Records
from crowdtally.curator.request.method import CHOOSE
from crowdtally.curator.request.request import Request, make_request
from crowdtally.curator.request.wording import python_words
from crowdtally.errors import UsageError
from crowdtally.lab.auditing.cases import OWN, Case, cases_of, charged_parts, every_name
from crowdtally.lab.auditing.certify import CONFIDENCE, Audit, Row, certify
from crowdtally.lab.auditing.databases import Pair, pairs_of, swinging
from crowdtally.lab.auditing.observe import Runs, Stakes
from crowdtally.lab.auditing.run import Attack, Shared, joined
from crowdtally.lab.auditing.search import search

SECONDS = 20
"""For each row, unless another time is given: all methods then take about a quarter of an hour on
two cores."""
_LEAST_SECONDS = 1
_TRYING, _TRAINING = 0.15, 0.3
"""Shares of a row's time."""
_FEWEST = 100
"""Runs of each database with which a pair is tried; no certificate is made of fewer."""
_FEWEST_STEERED = 2_000
"""The same where noise comes before bounding and has few values: later runs seldom count anew."""
_FAVOUR = 0.1
"""The lead of the first pair, in shares of the claim: it puts all that she may change into one
cell, which a run shows most clearly, and few runs of training flatter other pairs."""
_MOST = 500_000
"""Held-out runs of each database: with 256 columns, the most that there are, two gigabytes."""

Progress = Callable[[str], None]


def audit(
    *methods: str,
    epsilon: object = 1,
    seconds: object = SECONDS,
    processes: int | None = None,
    progress: Progress = lambda _: None,
) -> Audit:
    """Attack methods, and certify how much of ε they lose at least.

    Nothing is read and nothing is charged: the databases are made up.

    Args:
        methods: such as ``sra``, ``hpa/filter``, ``dpsense-s+dpsense``, ``sra/dyadic``,
            ``discovery``; all that there are where none is given.
        epsilon: ε of each release that is attacked.
        seconds: how long each row is attacked.
        processes: how many rows at once; as many as there are cores where it is not given.
        progress: gets, in words, what is being attacked.
    """
    with python_words():
        return audit_methods(methods, epsilon, seconds, processes, progress)


def audit_methods(
    methods: Sequence[str],
    epsilon: object,
    seconds: object,
    processes: int | None,
    progress: Progress,
    *,
    parts: bool = True,
) -> Audit:
    """The same, with messages in the words of the command line.

    Without ``parts`` only one whole release of each method is attacked.
    """
    if isinstance(epsilon, list | tuple) or (isinstance(epsilon, str) and "," in epsilon):
        raise UsageError("an audit has one epsilon, such as --epsilon 1: received several.")
    total, each = Epsilon.of(epsilon), checked_seconds(seconds)
    names = [str(name) for name in methods] or every_name()
    every = (case for name in names for case in cases_of(name, total))
    cases = {case.name: case for case in every if parts or case.name == case.method}
    return attack_all(list(cases.values()), total, each, processes, progress)


def attack_all(
    cases: Sequence[Case],
    epsilon: Epsilon,
    seconds: float,
    processes: int | None = None,
    progress: Progress = lambda _: None,
    remarks: Sequence[str] = (),
) -> Audit:
    """Attack cases, in several processes where there are several groups of them."""
    alpha = (1 - CONFIDENCE) / len(cases)
    groups = _grouped(cases)
    workers = min(processes or cpu_count() or 1, len(groups))
    rows: dict[str, Row] = {}
    if workers == 1:
        for group in groups:
            rows |= _attack_group(group, seconds, alpha, progress)
    else:
        tasks = [([case.name for case in group], str(epsilon), seconds, alpha) for group in groups]
        # Fresh interpreters: each has its own engine and keys its noise from the OS.
        with get_context("spawn").Pool(workers) as pool:
            for found in pool.imap_unordered(_attack_named, tasks):
                rows |= found
                progress(f"{len(rows)} of {len(cases)}: {', '.join(found)}")
    return Audit(show(epsilon.value), tuple(rows[case.name] for case in cases), tuple(remarks))


def _attack_named(task: tuple[list[str], str, float, float]) -> dict[str, Row]:
    """Runs in another process, which makes the cases again: they cannot be pickled."""
    names, epsilon, seconds, alpha = task
    methods = dict.fromkeys(name.split(":")[0] for name in names)
    every = [case for name in methods for case in cases_of(name, Epsilon.of(epsilon))]
    cases = [case for case in every if case.name in names]
    return _attack_group(cases, seconds, alpha, lambda _: None)


def _attack_group(
    cases: Sequence[Case], seconds: float, alpha: float, progress: Progress
) -> dict[str, Row]:
    rows = {}
    with Shared() as shared:
        for case in cases:
            progress(f"attacking {case.name}")
            rows[case.name] = attack(case, shared, seconds, alpha)
    return rows


def _grouped(cases: Sequence[Case]) -> list[list[Case]]:
    """Cases whose counts are worth sharing go together, first; the others one by one."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        shared = case.steered or case.method == OWN  # attacked in one process
        groups.setdefault(case.group if shared else case.name, []).append(case)
    return sorted(groups.values(), key=len, reverse=True)


def attack(case: Case, shared: Shared, seconds: float, alpha: float) -> Row:
    """The most promising pair of databases, and what it certifies."""
    start = time.perf_counter()
    attacks = [Attack(case, pair, shared) for pair in _tried(case)]
    best, training = _best(attacks, seconds * _TRYING / len(attacks), seconds, alpha)
    more, pace = best.runs_for(seconds * _TRAINING, _FEWEST)
    training = joined([training, more])
    left = max(seconds * (1 - _TRYING - _TRAINING), seconds - (time.perf_counter() - start))
    fewest = _FEWEST_STEERED if case.steered else _FEWEST
    number = max(fewest, min(_MOST, int(left / pace)))
    return carried_through(best, training, number, alpha, start)


def carried_through(
    one: Attack, training: Runs, number: int, alpha: float, start: float | None = None
) -> Row:
    """Certify the most telling event of training on so many fresh runs."""
    case, start = one.case, time.perf_counter() if start is None else start
    held_out = one.runs(number)  # drawn after training, and looked at once
    found = certify(
        training, held_out, one.names,
        claim=float(case.claim.value), alpha=alpha, delta=float(case.delta),
        expected=one.expected, strata=one.choices, aim=case.aim,
    )  # fmt: skip
    return Row(
        case.name, float(case.claim.value), found.epsilon, float(case.delta), number,
        one.pair.words, found.event, time.perf_counter() - start,
        found.delta_bound if case.aim == "delta" else 0.0,
    )  # fmt: skip


def _tried(case: Case) -> Sequence[Pair]:
    """All pairs; the first alone where noise steers the bounding, because few runs fit the time.

    The parts of such a release, given its earlier answers, are attacked with all pairs, and a
    choice with crowds that change its outcome.
    """
    if case.part == CHOOSE:
        return list(swinging(case.request)) or pairs_of(case.request)
    pairs = pairs_of(case.request)
    if case.alone:
        # The mass of the others keeps its own share given the items that passed: here none does.
        return [pair for pair in pairs if not pair.others]
    return pairs[:1] if case.steered else pairs


def _best(
    attacks: Sequence[Attack], seconds: float, whole: float, alpha: float
) -> tuple[Attack, Runs]:
    """The pair whose training runs promise most, given how many runs of it fit the time."""
    if len(attacks) == 1:
        return attacks[0], attacks[0].runs(_FEWEST)
    promised: list[tuple[float, Attack, Runs]] = []
    for one in attacks:
        training, pace = one.runs_for(seconds, _FEWEST)
        number = max(_FEWEST, int(whole / 2 / pace))
        case, runs = one.case, (number, number)
        stakes = Stakes(runs, alpha, float(case.delta), float(case.claim.value), case.aim)
        (found, *_) = search(training, stakes, expected=one.expected, strata=one.choices)
        lead = 0.0 if promised else _FAVOUR * float(case.claim.value)
        promised.append((found.promise + lead, one, training))
    _, best, training = max(promised, key=lambda one: one[0])
    return best, training


def checked_seconds(given: object) -> float:
    seconds = float(exact(given, "--seconds"))
    if seconds < _LEAST_SECONDS:
        raise UsageError(
            f"--seconds is how long each row is attacked, at least {_LEAST_SECONDS}: in less no "
            f"run would certify anything. Received {given}; {SECONDS} is usual."
        )
    return seconds


# An attack on a request of one's own: its domain, its method and its numbers, on made-up records.

SMALLER = (
    "The numbers are those of your request, and not chosen for an attack: at a large bound, with "
    "many cells or with a part of a small share, fewer runs tell the databases apart, and what is "
    "certified is lower than for the same method in docs/audit.md. That says nothing in its favour."
)
LEFT_OUT = (
    "The made-up records name their cells directly: conditions, expressions, joins and "
    "--same-person were not attacked."
)
_STEERED = (
    "The bounding follows a noisy popularity, so every run of the whole would count anew: its "
    "parts were attacked instead, with the popularity held. Their epsilons add up to the whole's."
)


def audit_request(
    records: Records,
    domain: Domain | None = None,
    *,
    epsilon: object,
    delta: object = 0,
    split: Mapping[str, object] | None = None,
    seconds: object = SECONDS,
    progress: Progress = lambda _: None,
    **options: Any,
) -> Audit:
    """Attack a request of your own, as :func:`crowdtally.release` takes it.

    The records are not read: the databases are made up for the domain and the method.

    Args:
        records: of the release.
        domain: its public lists.
        epsilon: its ε.
        delta: its δ.
        split: its exact shares of ε.
        seconds: how long the whole, and each part that it charges for, is attacked.
        progress: gets, in words, what is being attacked.
        options: ``method``, ``summary``, ``transform``, ``noise``, ``count`` and ``pairs``, as
            :func:`crowdtally.release` takes them.
    """
    with python_words():
        request = make_request(
            records, domain, epsilon=epsilon, delta=delta, split=split, **options
        )
        return attack_request(request, checked_seconds(seconds), progress)


def attack_request(request: Request, seconds: float, progress: Progress) -> Audit:
    """Attack a request, and each part that it charges for."""
    parts = charged_parts(request)
    steered = request.popularity is not None
    cases = [] if steered else [Case(OWN, OWN, request, group=OWN)]
    if len(parts) > 1:
        # What a discovery leaves over depends on what it found, so it has no share of its own; and
        # a share of ρ is no ε that could be refuted.
        alone = parts if request.discovery is None and request.paid.rho is None else []
        cases += [Case(f"{OWN}: {part}", OWN, request, part, group=OWN) for part in alone]
    remarks = [SMALLER, LEFT_OUT, *([_STEERED] if steered else [])]
    return attack_all(cases, request.epsilon, seconds, 1, progress, remarks=remarks)
