"""Facts become pages: the menu, the state of the estimates, and what every page says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from crowdtally.core.deadline import TooMuchError
from crowdtally.core.numbers import show
from crowdtally.errors import UsageError
from crowdtally.format.manifest import Guarantee
from crowdtally.laws.conversion import odds_words
from crowdtally.reader.describing.withdrawal import withdrawal_lines
from crowdtally.reader.explorer import comparing
from crowdtally.reader.explorer.asked import Asked
from crowdtally.reader.explorer.opened import COMPUTING, Opened
from crowdtally.reader.explorer.shelf import Shelf
from crowdtally.reader.explorer.view import View
from crowdtally.reader.explorer.wording import for_readers
from crowdtally.reader.report.page import page as report_page
from crowdtally.web import gate
from crowdtally.web.gate import Refused
from crowdtally.web.pages import current, rendering, value

if TYPE_CHECKING:
    from starlette.responses import Response

HIDDEN = frozenset(["item"])
"""Views that other pages lead to, and no menu."""


@dataclass(frozen=True, eq=False)
class Pages:
    """The pages of the explorer."""

    shelf: Shelf
    """The releases."""
    views: Sequence[View]
    """What can be looked at."""

    @cached_property
    def _render(self) -> Callable[..., str]:
        return rendering("crowdtally.reader.explorer", "crowdtally.reader.pages")

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
        """The page that says why there is no other."""
        if not gate.wants_json(path):
            refused.words = for_readers(refused.words)
        return gate.refusal(refused, path, stylesheet=gate.address("style.css"))

    def first(self) -> Response:
        """The list of releases."""
        rows = [
            (
                one,
                one.title,
                _promised(one.source.published.guarantee),
                one.release.withdrawn,
            )
            for one in self.shelf
        ]
        return self._page("shelf.html", title="Releases", rows=rows, here="")

    def compared(self, asked: Asked) -> Response:
        """Two releases side by side."""
        facts = comparing.page(self.shelf, asked)
        return self._page(
            "compare.html", 400 if facts["why"] else 200, title="What changed", here="compare",
            query=asked.query(), releases=[one.name for one in self.shelf], **facts,
        )  # fmt: skip

    def viewed(self, opened: Opened, view: View, asked: Asked) -> Response:
        """One view of a release."""
        if opened.state == COMPUTING and not view.early:
            return self._waiting(opened, view, asked)
        if view.name == "report":
            return self._report(opened)
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
        common = self._common(opened, view)
        return self._page(template, status, **common, query=asked.query(), **facts)

    def _common(self, opened: Opened, view: View) -> dict[str, Any]:
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
        }  # fmt: skip

    def _waiting(self, opened: Opened, view: View, asked: Asked) -> Response:
        return self._page("waiting.html", **self._common(opened, view), query=asked.query())

    def _report(self, opened: Opened) -> Response:
        from starlette.responses import HTMLResponse

        return HTMLResponse(self.report(opened))

    def report(self, opened: Opened) -> str:
        """The report, with numbers as the reader writes them."""
        return opened.remember(
            ("report", current()),
            lambda: report_page(opened.facts, home="./", stylesheet=gate.address("style.css")),
        )


def _promised(guarantee: Guarantee) -> str:
    """What is promised, as odds, and how rarely it is not."""
    rarely = f", but for a chance of {show(guarantee.delta)}" if guarantee.delta else ""
    return f"{odds_words(guarantee.epsilon)}{rarely}"
