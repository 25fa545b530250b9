"""Pages from facts, and the description of what programs can ask (OpenAPI)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from crowdtally.core.deadline import TooMuchError
from crowdtally.core.numbers import show
from crowdtally.errors import UsageError
from crowdtally.format.manifest import Guarantee
from crowdtally.laws.conversion import odds_words
from crowdtally.reader.describe.description import withdrawal_lines
from crowdtally.reader.report.page import page as report_page
from crowdtally.reader.server import view as comparing
from crowdtally.reader.server.parameters import Asked, Parameter, for_readers
from crowdtally.reader.server.releases import COMPUTING, Opened, Shelf
from crowdtally.reader.server.view import View
from crowdtally.web import gate
from crowdtally.web.gate import PROBLEM, TITLES, Refused
from crowdtally.web.pages import current, rendering, value

if TYPE_CHECKING:
    from starlette.responses import Response


HIDDEN = frozenset(["item"])
"""Views that other pages lead to, and no menu."""


@dataclass(frozen=True, eq=False)
class Pages:
    shelf: Shelf
    views: Sequence[View]

    @cached_property
    def _render(self) -> Callable[..., str]:
        return rendering("crowdtally.reader.server", "crowdtally.reader")

    def _page(self, template: str, status: int = 200, **facts: Any) -> Response:
        from starlette.responses import HTMLResponse

        text = self._render(
            template,
            stylesheet=gate.address("style.css"),
            htmx=gate.address("htmx.min.js"),
            many=len(self.shelf) > 1,
            **facts,
        )
        return HTMLResponse(text, status)

    def refusal(self, refused: Refused, path: str) -> Response:
        if not gate.wants_json(path):
            refused.words = for_readers(refused.words)
        return gate.refusal(refused, path, stylesheet=gate.address("style.css"))

    def first(self) -> Response:
        rows = [
            (one, one.title, _promised(one.source.published.guarantee), one.release.withdrawn)
            for one in self.shelf
        ]
        return self._page("shelf.html", title="Releases", rows=rows, here="")

    def compared(self, asked: Asked) -> Response:
        facts = comparing.page(self.shelf, asked)
        return self._page(
            "compare.html", 400 if facts["why"] else 200, title="What changed", here="compare",
            query=asked.query(), releases=[one.name for one in self.shelf], **facts,
        )  # fmt: skip

    def viewed(self, opened: Opened, view: View, asked: Asked) -> Response:
        from starlette.responses import HTMLResponse

        if opened.state == COMPUTING and not view.early:
            return self._page("waiting.html", **self._common(opened, view, asked))
        if view.name == "report":
            return HTMLResponse(self.report(opened))
        template, status, facts = "explorer.html", 200, dict[str, Any]()
        try:
            if view.form is not None:
                facts, template = view.form(opened, asked), f"{view.name}.html"
            facts |= view.page(opened, asked)
            template = f"{view.name or 'overview'}.html"
        except TooMuchError:
            raise
        except UsageError as error:  # said below the form, or alone, in a page that leads on
            status, facts["refused"] = 400, for_readers(str(error))
        return self._page(template, status, **self._common(opened, view, asked), **facts)

    def _common(self, opened: Opened, view: View, asked: Asked) -> dict[str, Any]:
        published = opened.source.published
        return {
            "title": view.title if view.name else opened.title,
            "here": view.name,
            "site": opened.title,
            "menu": [(one.name, one.title) for one in self.views
                     if one.name not in HIDDEN and one.is_there(opened)],
            "state": opened.state,
            "withdrawn": tuple(withdrawal_lines(opened.release.withdrawn)),
            "release_id": value(published.id),
            "created": str(published.metadata["created"]),
            "labelled": opened.source.labels is not None,
            "query": asked.query(),
        }  # fmt: skip

    def report(self, opened: Opened) -> str:
        return opened.kept.get(
            ("report", current()),
            lambda: report_page(opened.facts, home="./", stylesheet=gate.address("style.css")),
        )


def _promised(guarantee: Guarantee) -> str:
    rarely = f", but for a chance of {show(guarantee.delta)}" if guarantee.delta else ""
    return f"{odds_words(guarantee.epsilon)}{rarely}"


# OpenAPI 3.1, made from the views themselves.

_TEXT = {"type": "string"}
_PROBLEM = {
    "type": "object",
    "properties": {"title": _TEXT, "status": {"type": "integer"}, "detail": _TEXT},
    "required": ["title", "status", "detail"],
}
_STATUSES = (400, 404, 405, 409, 410, 414, 421, 422, 429)
_SERVED = dict.fromkeys(("name", "title", "id", "epsilon", "delta"), _TEXT)
LISTED = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            **_SERVED,
            "estimates": {"type": "string", "enum": ["computing", "ready", "failed"]},
        },
        "required": [*_SERVED, "estimates"],
        "additionalProperties": False,
    },
}


def description(shelf: Shelf, views: Sequence[View]) -> dict[str, Any]:
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
        str(status): {"description": TITLES[status], "content": {PROBLEM: {"schema": _PROBLEM}}}
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
