"""The style sheet and the scripts: a few files, known by their content."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.responses import Response

STATIC = "/static/"
"""Where they are found."""
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_FOR_EVER = {"cache-control": "public, max-age=31536000, immutable"}


@dataclass(frozen=True)
class Asset:
    """One file."""

    content: bytes
    """Its bytes."""
    media_type: str
    """What it is."""
    version: str
    """Changes with its content."""


@cache
def asset(name: str) -> Asset | None:
    """A file by its name; None where there is none."""
    suffix = name[name.rfind(".") :]
    if suffix not in _TYPES or name not in _names():
        return None
    content = files("crowdtally.web").joinpath("static", name).read_bytes()
    return Asset(content, _TYPES[suffix], hashlib.sha256(content).hexdigest()[:12])


@cache
def _names() -> frozenset[str]:
    return frozenset(one.name for one in files("crowdtally.web").joinpath("static").iterdir())


def address(name: str) -> str:
    """Where a page finds a file; another content has another address."""
    found = asset(name)
    if found is None:
        raise ValueError(f"there is no asset {name!r}")
    return f"{STATIC}{name}?v={found.version}"


def response(name: str) -> Response | None:
    """The file as an answer, kept by browsers for ever: its address changes with it."""
    from starlette.responses import Response

    found = asset(name)
    if found is None:
        return None
    return Response(found.content, media_type=found.media_type, headers=_FOR_EVER)
