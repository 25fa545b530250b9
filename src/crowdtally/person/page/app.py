"""Addresses of the person's pages, and what answers them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crowdtally.errors import BudgetError, CrowdtallyError, UsageError, needs
from crowdtally.ledger import DrawnBeforeError
from crowdtally.person.page.actions import (
    POLICY,
    Asked,
    Choice,
    Deeds,
    Desk,
    once,
    typed_epsilon,
    whole,
)
from crowdtally.person.page.pages import Pages
from crowdtally.person.store import Draw
from crowdtally.web import gate
from crowdtally.web.gate import FORM_HEADERS, STILL_POLICY, Gate, Hosts, Refused, Token
from crowdtally.web.pages import of_reader, written_as
from crowdtally.web.server import Finishing, Work, bound, fields, run, url_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


# Addresses, and what answers them: GET reads and changes nothing, POST does what a button says.

METHODS = ("GET", "HEAD", "POST")
LONGEST = 1 << 16
"""Letters of an address: a thousand categories can have levels of their own."""
SECONDS = 120.0
"""What a page may take: the noise of a long catalogue is worked out once for each choice."""
HEADERS = {
    **FORM_HEADERS,
    "content-security-policy": STILL_POLICY,
    "cache-control": "no-store",
}
_COMMANDS = (
    "(Where this speaks of commands: “Draw once” is the same command again, and “Draw again” is "
    "--again.)"
)
Answering = Callable[["Request"], Awaitable["Response"]]


@dataclass(frozen=True, eq=False)
class PersonPage:
    desk: Desk
    token: Token = field(default_factory=Token.new)
    work: Work = field(default_factory=lambda: Work(threads=2, seconds=SECONDS))
    finishing: Finishing = field(default_factory=Finishing)

    def app(self, hosts: Hosts) -> Gate:
        return Gate(
            self._answer, hosts, self._pages.refusal, methods=METHODS, longest=LONGEST,
            token=self.token, headers=HEADERS,
        )  # fmt: skip

    @property
    def _pages(self) -> Pages:
        return Pages(self.desk, self.token)

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        from starlette.requests import Request
        from starlette.responses import RedirectResponse

        request, path = Request(scope, receive), str(scope["path"])
        if path == "":  # without it the page's own links would lead elsewhere
            await RedirectResponse(self.token.home, 302)(scope, receive, send)
            return
        if path.startswith(gate.STATIC):
            answer = _asset(path.removeprefix(gate.STATIC))
        else:
            answer = await self._found(path, scope["method"])(request)
        await answer(scope, receive, send)

    def _found(self, path: str, method: str) -> Answering:
        """What answers at this path; a page is not asked for with POST, nor a deed with GET."""
        looks: Mapping[str, Callable[[Asked], Response]] = {
            "/": self._pages.overview,
            "/levels": self._pages.levels,
            "/again": self._pages.again,
            "/so-far": self._pages.so_far,
        }
        deeds: Mapping[str, Answering] = {
            "/choose": self._choose,
            "/draw": self._draw,
            "/release": self._release,
        }
        if path not in looks and path not in deeds:
            raise Refused(404, "Nothing is here. The first page leads to all that is.")
        allowed = ("POST",) if path in deeds else ("GET", "HEAD")
        if method not in allowed:
            words = "This address belongs to a button: open the first page, and press it there."
            raise Refused(405, words, allow=", ".join(allowed))
        return deeds[path] if path in deeds else lambda request: self._look(request, looks[path])

    async def _look(self, request: Request, page: Callable[[Asked], Response]) -> Response:
        """A page; numbers as the reader writes them."""
        numerals = of_reader(request.headers.get("accept-language", ""))

        def made() -> Response:
            with written_as(numerals), _refusing():
                return page(Asked.of(request.url.query, self.desk))

        return await self.work.run(made)

    async def _choose(self, request: Request) -> Response:
        """Another choice: an address, and nothing is done."""
        given = await fields(request)
        with _refusing():
            return _onwards(*self._chosen(dict(given)))

    def _chosen(self, given: Mapping[str, str]) -> tuple[str, str]:
        """Where a form of levels leads: the page, and the end of its address."""
        many = len(self.desk.catalogue.categories)
        by_policy = given.get("overall") == POLICY
        epsilon = POLICY if by_policy else typed_epsilon(given.get("epsilon", ""))
        changed: dict[int, str] = {}
        for name, text in given.items():
            what, dash, place = name.partition("-")
            if dash and what == "level":
                number = whole(place, "a category", least=0)
                if number >= many:
                    raise UsageError("there is no such category: load the page again.")
                changed[number] = given.get(f"other-{place}", "").strip() or text
        choice = Choice.of(epsilon, given.get("levels", ""), many).with_levels(changed)
        if given.get("to") == "levels":
            page = whole(given.get("page", "") or "1", "a page")
            return "levels", Asked(choice, sought=given.get("q", ""), page=page + 1).query()
        return "./", choice.query()

    async def _draw(self, request: Request) -> Response:
        """Draw once, or again. Back and reload lead to the draw's address, which draws nothing."""
        sent = await fields(request)
        with _refusing():
            given = once(sent, ("epsilon", "levels", "seen"))
            choice = self._choice(given)
            task = self._drawing(choice, given.get("seen"))
        try:
            with _refusing(_COMMANDS):
                draw = await self.finishing.run(task)
        except DrawnBeforeError:
            return self._pages.unfinished(Asked(choice))
        return _onwards("./", choice.query(draw=draw.number), "#draw")

    def _drawing(self, choice: Choice, seen: str | None) -> Callable[[], Draw]:
        deeds = Deeds(self.desk)
        if seen is None:
            return lambda: deeds.draw(choice)
        number = whole(seen, "the draws that were seen", least=0)
        return lambda: deeds.draw_again(choice, number)

    async def _release(self, request: Request) -> Response:
        """Write the file."""
        sent = await fields(request)
        deeds = Deeds(self.desk)
        with _refusing():
            given = once(sent, ("epsilon", "levels", "draw", "name"))
            choice, number = self._choice(given), whole(given.get("draw", ""), "a draw")
            path = await self.finishing.run(
                lambda: deeds.release(choice, number, given.get("name", ""))
            )
        return _onwards("./", choice.query(draw=number, file=path.name), "#draw")

    def _choice(self, given: Mapping[str, str]) -> Choice:
        many = len(self.desk.catalogue.categories)
        return Choice.of(given.get("epsilon", ""), given.get("levels", ""), many)


def _onwards(page: str, query: str, place: str = "") -> Response:
    """To a page that is read: to load it again does nothing again."""
    from starlette.responses import Response

    return Response(status_code=303, headers={"location": f"{page}?{query}{place}"})


def _asset(name: str) -> Response:
    found = gate.response(name)
    if found is None:
        raise Refused(404, "There is no such file.")
    found.headers["cache-control"] = HEADERS["cache-control"]
    return found


@contextmanager
def _refusing(more: str = "") -> Iterator[None]:
    """What is wrong becomes a page that says so; an unfinished draw has a page of its own."""
    try:
        yield
    except DrawnBeforeError:
        raise
    except UsageError as error:
        raise Refused(400, str(error)) from None
    except BudgetError as error:
        raise Refused(409, str(error)) from None
    except CrowdtallyError as error:
        raise Refused(409, f"{error} {more}".strip()) from None
    except (MemoryError, OSError):
        raise Refused(409, "The machine could not do it now: try again.") from None


# ``crowdtally person page``: the pages at 127.0.0.1, until somebody stops it.

HOST = "127.0.0.1"
"""Nobody else's machine ever reaches these pages."""
FINISHING = "finishing what is begun, so that nothing is paid for in vain…"


def serve(
    desk: Desk,
    *,
    port: int = 0,
    ready: Callable[[str], None] = print,
    tell: Callable[[str], None] = lambda words: None,
) -> None:
    """Serve the pages of a desk until a signal stops it; what was begun is finished first.

    ``ready`` gets the address, with its secret, once pages are answered.
    """
    for package in ("starlette", "uvicorn", "jinja2", "vl_convert", "babel"):
        needs(package, "a server of pages", "web")
    listening = bound(HOST, port)
    page = PersonPage(desk)
    try:
        hosts = Hosts.of(HOST, listening.getsockname()[1])
        url = f"{url_of(listening, HOST)}{page.token.home}"
        run(page.app(hosts), listening, lambda: ready(url))
    finally:
        listening.close()
        page.work.close()
        if page.finishing.is_busy:
            tell(FINISHING)
        page.finishing.close()
