"""On one person's own device: a history is perturbed before anything of it leaves.

::

    import crowdtally as ct

    draw = ct.person.perturb(["Alien", "Heat"], "films.csv", epsilon="1")
    draw.perturbed.items      # may leave the device; charged and stored already

    catalogue     public items and their categories; groups of items with one set of categories
    levels        no release, perturbed, all release: for each category
    scales        phase 1: the noise rates of least mean noise, verified in rationals (barrier)
    quantify      an epsilon from a public policy (S-PBQ, a reconstruction)
    planning      all of the above, public: a Plan
    history       the private set of items
    perturbing    exact noise on the counts of categories, then phase 2: pure
    noisy         the noisy counts, all that phase 2 may see
    rebuild       phase 2: least squares on the public catalogue, then rounding
    store         the one draw: charged, drawn, stored, and only then shown (home, drawn, requests)
    handing       the file for the recommender
    words         what leaves, and what that reveals at most

Nobody else is trusted on this side. What is protected is one item of one history
(``PrivacyUnit("item")``), not the person: a history of t items can lose t·ε together.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crowdtally.person.catalogue import Catalogue, read_catalogue
    from crowdtally.person.device import perturb
    from crowdtally.person.levels import Levels
    from crowdtally.person.plan import Plan, Policy
    from crowdtally.person.store import Draw, Store

_HOMES = {
    "Catalogue": "catalogue",
    "Draw": "store",
    "Levels": "levels",
    "Plan": "plan",
    "Policy": "plan",
    "Store": "store",
    "perturb": "device",
    "read_catalogue": "catalogue",
}

__all__ = ["Catalogue", "Draw", "Levels", "Plan", "Policy", "Store", "perturb", "read_catalogue"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'crowdtally.person' has no attribute {name!r}")
    value = getattr(import_module(f"crowdtally.person.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
