"""Packages that only pages need: where one is missing, the message says what to install."""

from __future__ import annotations

from importlib import import_module

from crowdtally.errors import UsageError


def needs(module: str, what: str, extra: str) -> None:
    """Refuse with what to install where a package of an extra is missing."""
    try:
        import_module(module)
    except ImportError:
        name = module.replace("_", "-")
        raise UsageError(
            f"{what} needs the package {name}, which is not installed: "
            f"pip install 'crowdtally[{extra}]'."
        ) from None
