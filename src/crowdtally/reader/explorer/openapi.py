"""The description of what programs can ask (OpenAPI 3.1), made from the views themselves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from crowdtally.reader.explorer import comparing
from crowdtally.reader.explorer.asked import Parameter
from crowdtally.reader.explorer.shelf import Shelf
from crowdtally.reader.explorer.view import View
from crowdtally.web.gate import PROBLEM, TITLES

_PROBLEM = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
    },
    "required": ["title", "status", "detail"],
}
_STATUSES = (400, 404, 405, 409, 410, 414, 421, 422, 429)
LISTED = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "title": {"type": "string"},
            "id": {"type": "string"},
            "epsilon": {"type": "string"},
            "delta": {"type": "string"},
            "estimates": {"type": "string", "enum": ["computing", "ready", "failed"]},
        },
        "required": ["name", "title", "id", "epsilon", "delta", "estimates"],
        "additionalProperties": False,
    },
}
"""The schema of the list of releases."""


def description(shelf: Shelf, views: Sequence[View]) -> dict[str, Any]:
    """All that programs can ask this server."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Crowdtally releases",
            "version": version("crowdtally"),
            "description": "Questions to differentially private releases. Asking costs nothing: "
            "everything follows from the releases, which are public. Answers are those of the "
            "command line with --json.",
        },
        "paths": dict(_paths(shelf, views)),
    }


def _paths(shelf: Shelf, views: Sequence[View]) -> Iterator[tuple[str, Any]]:
    yield "/releases.json", _asking("releases", "The releases that are served.", (), LISTED)
    names = [one.name for one in shelf]
    for view in views:
        if view.answer is not None and view.schema is not None:
            asked = _asking(view.name, view.words, view.asks, view.schema)
            asked["get"]["parameters"].insert(
                0,
                {"name": "release", "in": "path", "required": True,
                 "description": "The name of a release.",
                 "schema": {"type": "string", "enum": names}},
            )  # fmt: skip
            yield f"/r/{{release}}/{view.name}.json", asked
    if len(names) > 1:
        words = "What rose and fell between two releases, beyond noise and sampling."
        yield "/compare.json", _asking("compare", words, comparing.ASKS, comparing.SCHEMA)


def _asking(
    name: str, words: str, parameters: Sequence[Parameter], schema: Mapping[str, Any]
) -> dict[str, Any]:
    content = {"application/json": {"schema": dict(schema)}}
    refused = {
        str(status): {
            "description": TITLES[status],
            "content": {PROBLEM: {"schema": _PROBLEM}},
        }
        for status in _STATUSES
    }
    return {
        "get": {
            "operationId": name,
            "summary": words,
            "parameters": [_parameter(one) for one in parameters],
            "responses": {"200": {"description": "The answer.", "content": content}, **refused},
        }
    }


def _parameter(one: Parameter) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": one.name,
        "in": "query",
        "description": one.words,
        "schema": dict(one.schema),
    }
    return {**found, "style": "form", "explode": True} if one.several else found
