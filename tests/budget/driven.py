"""What the driver's modes share: a charge, and children that may die."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Sequence
from fractions import Fraction

from crowdtally.core.privacy import Epsilon, PrivacyUnit
from crowdtally.ledger import Charge, Ledger, Part

UNIT = PrivacyUnit("user", "user_id")
EACH = Fraction(1, 7)
SHA = "5a" * 32
"""Any SHA-256."""


def charge(release: str = "r") -> Charge:
    return Charge(release, Epsilon(EACH), (Part("items", Epsilon(EACH), "discrete-laplace"),))


def publish(ledger: Ledger, reservation_id: str) -> None:
    """What a run does with its charge, to the end."""
    ledger.start_drawing(reservation_id)
    ledger.mark_published(reservation_id, SHA)


def in_child(work: Callable[[], object]) -> int:
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child


def moments(calls: Sequence[str], torn: bool, step: int = 1, offset: int = 0) -> list[int]:
    """At which calls to kill: one of ``step`` that write a page, from ``offset``, and each other.

    Those that write pages are most of them, one like the next. Where writes are torn, only at
    writes: elsewhere there is nothing to tear, and another run kills there.
    """
    paging = [at for at, call in enumerate(calls, 1) if call == "pwrite"]
    left_out = {*paging} - {*paging[offset % step :: step]}
    return [
        at
        for at, call in enumerate(calls, 1)
        if at not in left_out and (not torn or "write" in call)
    ]
