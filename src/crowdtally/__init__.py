"""Crowdtally publishes counts about a crowd without publishing anyone in it.

::

    import crowdtally as ct

    records = ct.read("visits.parquet", user="user_id", item="place", contexts=["weekday"])
    domain = ct.Domain(ct.read_list("places.csv", "place"), {"weekday": ["Monday", "Sunday"]})
    release = ct.release(records, domain, epsilon="1", max_records=10, new_dataset=True)
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
    from crowdtally.curator.request.declare import read_list
    from crowdtally.curator.request.options import ReleaseOptions
    from crowdtally.errors import BudgetError, CrowdtallyError, InputError, UsageError
    from crowdtally.ledger import Ledger
    from crowdtally.reader.changes.changes import changes
    from crowdtally.reader.release import Release, load

_HOMES = {
    "Axis": "core.domain",
    "BudgetError": "errors",
    "CrowdtallyError": "errors",
    "Delta": "core.privacy",
    "Domain": "core.domain",
    "Epsilon": "core.privacy",
    "InputError": "errors",
    "Ledger": "ledger",
    "PrivacyUnit": "core.privacy",
    "Records": "core.records",
    "Release": "reader.release",
    "ReleaseOptions": "curator.request.options",
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
    "Axis",
    "BudgetError",
    "CrowdtallyError",
    "Delta",
    "Domain",
    "Epsilon",
    "InputError",
    "Ledger",
    "PrivacyUnit",
    "Records",
    "Release",
    "ReleaseOptions",
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
