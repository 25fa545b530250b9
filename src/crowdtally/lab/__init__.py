"""For a researcher with the true data: nothing here is private, and every output says so."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES: dict[str, str] = {
    "Compared": "metrics",
    "METRICS": "metrics",
    "audit": "auditing.attack",
    "audit_request": "auditing.attack",
    "compare": "comparison.compare",
    "measured": "metrics",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'crowdtally.lab' has no attribute {name!r}")
    from crowdtally.errors import check_libraries

    check_libraries()
    value = getattr(import_module(f"crowdtally.lab.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
