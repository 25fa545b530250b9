"""A request of one's own, attacked: its domain, its method and its numbers, on made-up records."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crowdtally.core.domain import Domain
from crowdtally.core.records import Records
from crowdtally.curator.request.options import python_words, with_options
from crowdtally.curator.request.request import Request, make_request
from crowdtally.lab.auditing.attack import SECONDS, Progress, attack_all, checked_seconds
from crowdtally.lab.auditing.cases import OWN, Case, charged_parts
from crowdtally.lab.auditing.rows import Audit

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


@with_options
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
        records: what a release would be of.
        domain: its public lists.
        epsilon: its ε.
        delta: its δ.
        split: its exact shares of ε.
        seconds: how long the whole, and each part that it charges for, is attacked.
        progress: is told, in words, what is being attacked.
        options: those of a release.
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
        apart = request.discovery is None and request.paid.rho is None
        alone = parts if apart else []
        cases += [Case(f"{OWN}: {part}", OWN, request, part, group=OWN) for part in alone]
    remarks = [SMALLER, LEFT_OUT, *([_STEERED] if steered else [])]
    return attack_all(cases, request.epsilon, seconds, 1, progress, remarks=remarks)
