"""Facts become pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from crowdtally.person.page import overview
from crowdtally.person.page.asked import Asked
from crowdtally.person.page.desk import Desk
from crowdtally.web import gate
from crowdtally.web.gate import ALONE_POLICY, FORM_HEADERS, Refused, Token
from crowdtally.web.pages import rendering

if TYPE_CHECKING:
    from starlette.responses import Response


@dataclass(frozen=True, eq=False)
class Pages:
    """The pages of a desk."""

    desk: Desk
    """Whose."""
    token: Token
    """What their addresses begin with."""

    @cached_property
    def _render(self) -> Callable[..., str]:
        return rendering("crowdtally.person.page")

    def _page(self, template: str, query: str, status: int = 200, **facts: Any) -> Response:
        from starlette.responses import HTMLResponse

        text = self._render(
            template,
            stylesheet=gate.address("style.css").lstrip("/"),
            icon=gate.address("icon.svg").lstrip("/"),
            referrer=FORM_HEADERS["referrer-policy"],
            query=query,
            **facts,
        )
        return HTMLResponse(text, status)

    def refusal(self, refused: Refused, path: str) -> Response:
        """The page that says why there is no other; without the token it leads nowhere."""
        home = "" if self.token.behind(path) is None else self.token.home
        said = gate.refusal(refused, path.removesuffix(".json"), home=home)
        said.headers["content-security-policy"] = ALONE_POLICY
        return said

    def overview(self, asked: Asked) -> Response:
        """The choice and what it means."""
        facts = overview.overview(self.desk, asked)
        query = asked.choice.query(draw=asked.draw)
        return self._page(
            "overview.html", query, 400 if facts["why"] else 200,
            title="Your history, with noise", here="", **facts,
        )  # fmt: skip

    def levels(self, asked: Asked) -> Response:
        """The form of all levels."""
        facts = overview.levels(self.desk, asked)
        title = "Levels of categories"
        return self._page("levels.html", asked.choice.query(), title=title, here="levels", **facts)

    def again(self, asked: Asked) -> Response:
        """Whether to draw again."""
        facts = overview.again(self.desk, asked)
        title = "Draw again?"
        return self._page("again.html", asked.choice.query(), title=title, here="again", **facts)

    def so_far(self, asked: Asked) -> Response:
        """What was charged."""
        facts = overview.released(self.desk)
        title = "So far"
        return self._page("so-far.html", asked.choice.query(), title=title, here="so-far", **facts)

    def unfinished(self, asked: Asked) -> Response:
        """A draw that somebody else began."""
        title, query = "This draw is not finished", asked.choice.query()
        return self._page("unfinished.html", query, 409, title=title, here="unfinished")
