"""What a server does not answer, and the page that says so: what was wrong, and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crowdtally.web.pages import rendered

if TYPE_CHECKING:
    from starlette.responses import Response

TITLES = {
    400: "This cannot be understood",
    403: "This request comes from elsewhere",
    404: "There is no such page",
    405: "These pages are only read",
    408: "This took too long to come",
    409: "This cannot be done now",
    410: "This release is not served any more",
    413: "This is too long",
    414: "This address is too long",
    415: "This is no form of these pages",
    421: "This server has another name",
    422: "This takes too long",
    429: "Too many questions at once",
}
"""The heading of a page, by its status."""
PROBLEM = "application/problem+json"
"""The type of a refusal for programs (RFC 9457)."""
_PACKAGE = "crowdtally.web"


class Refused(Exception):
    """A request that is not answered, with its status and words for whoever asked."""

    def __init__(self, status: int, words: str, **headers: str) -> None:
        super().__init__(words)
        self.status = status
        self.words = words
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    @property
    def title(self) -> str:
        """The heading."""
        return TITLES.get(self.status, "This went wrong")


def wants_json(path: str) -> bool:
    """Whether a program asks: such addresses end in ``.json``."""
    return path.endswith(".json")


def problem(refused: Refused) -> dict[str, Any]:
    """The refusal for programs."""
    return {"title": refused.title, "status": refused.status, "detail": refused.words}


def refusal(refused: Refused, path: str, **facts: Any) -> Response:
    """The answer that says why there is none.

    Args:
        refused: what is said.
        path: of the request: programs get JSON.
        facts: for the page, such as the address of its style sheet.
    """
    from starlette.responses import HTMLResponse, JSONResponse

    if wants_json(path):
        return JSONResponse(
            problem(refused), refused.status, media_type=PROBLEM, headers=refused.headers
        )
    page = rendered(_PACKAGE, "refused.html", title=refused.title, words=refused.words, **facts)
    return HTMLResponse(page, refused.status, headers=refused.headers)
