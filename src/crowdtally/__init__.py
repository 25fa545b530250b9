"""Crowdtally publishes counts about a crowd without publishing anyone in it.

::

    import crowdtally as ct

    records = ct.read("visits.parquet", user="user_id", item="place", contexts=["weekday"])
    domain = ct.Domain(ct.read_list("places.csv", "place"), {"weekday": ["Monday", "Sunday"]})
    release = ct.release(records, domain, epsilon="1", new_dataset=True)
    print(release.top(10, weekday="Monday"))
    release.save("visits-release")

The names below are loaded when they are first used, so that importing the package is quick.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crowdtally import person
    from crowdtally.api import inspect, plan, read, release, withdraw
    from crowdtally.core.domain import Axis, Domain
    from crowdtally.core.privacy import Delta, Epsilon, PrivacyUnit
    from crowdtally.core.records import Records
    from crowdtally.curator.bounding.auto import Auto
    from crowdtally.curator.bounding.rules import Discover, Top
    from crowdtally.curator.bounding.sampling import HPA, SRA, Declared
    from crowdtally.curator.bounding.scaling import DPSense, DPSenseS
    from crowdtally.curator.request.declare import read_list
    from crowdtally.curator.summaries.base import Dense
    from crowdtally.curator.summaries.priority import FilterPriority, Priority
    from crowdtally.curator.summaries.threshold import Filter, Threshold
    from crowdtally.curator.transforms.base import Sketch
    from crowdtally.curator.transforms.trees import Dyadic, Haar
    from crowdtally.errors import BudgetError, CrowdtallyError, InputError, UsageError
    from crowdtally.ledger import Ledger
    from crowdtally.reader.changes.changes import changes
    from crowdtally.reader.release import Release, load

_HOMES = {
    "Auto": "curator.bounding.auto",
    "Axis": "core.domain",
    "BudgetError": "errors",
    "CrowdtallyError": "errors",
    "DPSense": "curator.bounding.scaling",
    "DPSenseS": "curator.bounding.scaling",
    "Declared": "curator.bounding.sampling",
    "Delta": "core.privacy",
    "Dense": "curator.summaries.base",
    "Discover": "curator.bounding.rules",
    "Domain": "core.domain",
    "Dyadic": "curator.transforms.trees",
    "Epsilon": "core.privacy",
    "Filter": "curator.summaries.threshold",
    "FilterPriority": "curator.summaries.priority",
    "HPA": "curator.bounding.sampling",
    "Haar": "curator.transforms.trees",
    "InputError": "errors",
    "Ledger": "ledger",
    "Priority": "curator.summaries.priority",
    "PrivacyUnit": "core.privacy",
    "Records": "core.records",
    "Release": "reader.release",
    "SRA": "curator.bounding.sampling",
    "Sketch": "curator.transforms.base",
    "Threshold": "curator.summaries.threshold",
    "Top": "curator.bounding.rules",
    "UsageError": "errors",
    "changes": "reader.changes.changes",
    "inspect": "api",
    "load": "reader.release",
    "plan": "api",
    "read": "api",
    "read_list": "curator.request.declare",
    "release": "api",
    "withdraw": "api",
}

__all__ = [
    "HPA",
    "SRA",
    "Auto",
    "Axis",
    "BudgetError",
    "CrowdtallyError",
    "DPSense",
    "DPSenseS",
    "Declared",
    "Delta",
    "Dense",
    "Discover",
    "Domain",
    "Dyadic",
    "Epsilon",
    "Filter",
    "FilterPriority",
    "Haar",
    "InputError",
    "Ledger",
    "Priority",
    "PrivacyUnit",
    "Records",
    "Release",
    "Sketch",
    "Threshold",
    "Top",
    "UsageError",
    "changes",
    "inspect",
    "load",
    "person",
    "plan",
    "read",
    "read_list",
    "release",
    "withdraw",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("crowdtally")
    if name == "person":  # a package of its own: what one person runs, on their device
        return import_module("crowdtally.person")
    if name not in _HOMES:
        raise AttributeError(f"module 'crowdtally' has no attribute {name!r}")
    value = getattr(import_module(f"crowdtally.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
