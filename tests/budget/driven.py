"""What the driver's modes share: a charge, and children that may die."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from fractions import Fraction

from crowdtally.budget import Charge, Part
from crowdtally.values.epsilon import Epsilon
from crowdtally.values.unit import PrivacyUnit

UNIT = PrivacyUnit("user", "user_id")
EACH = Fraction(1, 7)


def charge() -> Charge:
    return Charge("r", Epsilon(EACH), (Part("items", Epsilon(EACH), "discrete-laplace"),))


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
