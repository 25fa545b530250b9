"""The server of pages: its addresses and answers, and ``crowdtally serve``."""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crowdtally.core import files
from crowdtally.core.deadline import TooMuchError
from crowdtally.core.numbers import show
from crowdtally.errors import CrowdtallyError, InputError, UsageError, needs
from crowdtally.format import tables
from crowdtally.reader.answers.answer import AnswerTable
from crowdtally.reader.answers.files import SUFFIXES
from crowdtally.reader.release import Release
from crowdtally.reader.server import view as comparing
from crowdtally.reader.server.pages import Pages, description
from crowdtally.reader.server.parameters import Asked
from crowdtally.reader.server.releases import Opened, Shelf
from crowdtally.reader.server.view import View
from crowdtally.reader.server.views import VIEWS
from crowdtally.web import gate
from crowdtally.web.charts import drawing
from crowdtally.web.gate import Gate, Hosts, Refused, is_loopback
from crowdtally.web.pages import of_reader, written_as
from crowdtally.web.server import Work, bound, run, url_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


FORMATS = {
    ".json": "application/json",
    ".csv": "text/csv; charset=utf-8",
    ".parquet": "application/vnd.apache.parquet",
}
PICTURE = ".svg"
_PICTURE_POLICY = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"
}
"""A picture has its style with it, and runs nothing wherever it is opened."""
_FRESH = {"cache-control": "no-cache"}


@dataclass(frozen=True, eq=False)
class Explorer:
    """Answers requests about the releases of a shelf."""

    shelf: Shelf
    pages: Pages
    work: Work

    @classmethod
    def of(cls, shelf: Shelf) -> Explorer:
        return cls(shelf, Pages(shelf, VIEWS), Work())

    def app(self, hosts: Hosts) -> Gate:
        from starlette.routing import Route, Router

        routes = [
            Route("/", self._first),
            Route("/releases.json", self._listed),
            Route("/openapi.json", self._described),
            Route("/compare", self._compared),
            Route("/compare{suffix}", self._compared),
            Route(f"{gate.STATIC}{{name}}", self._asset),
            Route("/r/{release}", self._slashed),
            Route("/r/{release}/", self._viewed),
            Route("/r/{release}/files/{name}", self._file),
            Route("/r/{release}/{view}", self._viewed),
        ]
        router = Router(routes, redirect_slashes=False, default=_nowhere)
        return Gate(router, hosts, self.pages.refusal, headers=_FRESH)

    @cached_property
    def _folders(self) -> dict[str, str]:
        """What messages say instead of where releases lie: readers may be anywhere."""
        folders = sorted((str(one.release.folder) for one in self.shelf), key=len, reverse=True)
        return {one: Path(one).name for one in folders if Path(one).is_absolute()}

    async def _answered(self, request: Request, task: Callable[[], Response]) -> Response:
        """What a task answers, within its time, with numbers as the reader writes them."""
        numerals = of_reader(request.headers.get("accept-language", ""))

        def work() -> Response:
            with written_as(numerals), _refusing(self._folders):
                return task()

        return await self.work.run(work)

    async def _first(self, request: Request) -> Response:
        from starlette.responses import RedirectResponse

        _nothing_asked(request)
        if len(self.shelf) == 1:
            (only,) = self.shelf
            return RedirectResponse(f"/r/{only.name}/", 302)
        return await self._answered(request, self.pages.first)

    async def _slashed(self, request: Request) -> Response:
        """To the overview; by its path alone, since a proxy may have another scheme and port."""
        from starlette.responses import RedirectResponse

        _nothing_asked(request)
        return RedirectResponse(f"/r/{self.shelf[request.path_params['release']].name}/", 302)

    async def _listed(self, request: Request) -> Response:
        from starlette.responses import JSONResponse

        _nothing_asked(request)

        return await self._answered(
            request, lambda: JSONResponse([_about(one) for one in self.shelf])
        )

    async def _described(self, request: Request) -> Response:
        from starlette.responses import JSONResponse

        _nothing_asked(request)
        return JSONResponse(description(self.shelf, VIEWS))

    async def _asset(self, request: Request) -> Response:
        found = gate.response(request.path_params["name"])
        if found is None:
            raise Refused(404, "There is no such file.")
        return found

    async def _file(self, request: Request) -> Response:
        from starlette.responses import FileResponse

        opened, name = self.shelf[request.path_params["release"]], request.path_params["name"]
        _nothing_asked(request)

        def found() -> Response:
            opened.look()
            published = opened.source.published
            path = published.folder / name
            if name not in published.files or path.is_symlink():
                raise Refused(404, "The release has no such file: its downloads are listed.")
            file = files.open_regular(path)
            given = FileResponse(
                files.again(file, path),
                filename=name,
                stat_result=os.fstat(file.fileno()),
                content_disposition_type="attachment",
            )
            weakref.finalize(given, file.close)  # also where it was not sent to its end
            return given

        return await self._answered(request, found)

    async def _compared(self, request: Request) -> Response:
        suffix, query = request.path_params.get("suffix", ""), request.url.query
        if suffix not in ("", *FORMATS):
            raise Refused(404, _no_page(f"compare{suffix}"))

        def compared() -> Response:
            asked = Asked.of(query, comparing.ASKS)
            if suffix:
                return _file_of(comparing.changes(self.shelf, asked), suffix, "compare")
            return self.pages.compared(asked)

        return await self._answered(request, compared)

    async def _viewed(self, request: Request) -> Response:
        opened = self.shelf[request.path_params["release"]]
        name, dot, ending = request.path_params.get("view", "").partition(".")
        view = next((one for one in VIEWS if one.name == name and one.is_there(opened)), None)
        if view is None:
            raise Refused(404, _no_page(name))
        work = partial(self._view, opened, view, f"{dot}{ending}", request.url.query)
        return await self._answered(request, work)

    def _view(self, opened: Opened, view: View, suffix: str, query: str) -> Response:
        opened.look()
        if not suffix:
            return self.pages.viewed(opened, view, Asked.of(query, view.parameters))
        if suffix == PICTURE and view.picture is not None:
            return _drawn(view.picture(opened, Asked.of(query, view.parameters)))
        if suffix in FORMATS and view.answer is not None:
            return _file_of(view.answer(opened, Asked.of(query, view.asks)), suffix, view.name)
        raise Refused(404, _no_page(f"{view.name}{suffix}"))


async def _nowhere(scope: Any, receive: Any, send: Any) -> None:
    raise Refused(404, _no_page(scope["path"]))


def _no_page(name: str) -> str:
    return f"Nothing is at {name[:60]!r}. The first page leads to all that is here."


def _nothing_asked(request: Request) -> None:
    try:
        Asked.of(request.url.query, ())
    except UsageError as error:
        raise Refused(400, str(error)) from None


@contextmanager
def _refusing(folders: Mapping[str, str]) -> Iterator[None]:
    """Refuse what is wrong with a question; messages have names instead of ``folders``."""

    def refused(status: int, error: Exception, advice: str = "") -> Refused:
        found = str(error)
        for folder, name in folders.items():
            found = found.replace(folder, name)
        return Refused(status, f"{found}{advice}")

    try:
        yield
    except TooMuchError as error:
        raise refused(422, error) from None
    except UsageError as error:
        raise refused(400, error) from None
    except InputError as error:  # a file was damaged, or is gone
        advice = " Put the folder right and load the page again, or serve what is there now anew."
        raise refused(410, error, advice) from None
    except (CrowdtallyError, MemoryError, OSError):
        raise Refused(409, "The machine could not do it now: try again.") from None


def _about(opened: Opened) -> dict[str, str]:
    promised = opened.source.published.guarantee
    return {
        "name": opened.name,
        "title": opened.title,
        "id": opened.source.published.id,
        "epsilon": show(promised.epsilon),
        "delta": show(promised.delta),
        "estimates": opened.state,
    }


def _file_of(answer: AnswerTable, suffix: str, name: str) -> Response:
    """An answer as a file; JSON is shown, the others are saved."""
    from starlette.responses import Response

    if suffix == ".json":
        return Response(f"{answer.to_json()}\n", media_type=FORMATS[suffix])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{name}{suffix}")
        SUFFIXES[suffix](answer, path)
        content = path.read_bytes()
    saved = {"content-disposition": f'attachment; filename="{name}{suffix}"'}
    return Response(content, media_type=FORMATS[suffix], headers=saved)


def _drawn(chart: Any) -> Response:
    from starlette.responses import Response

    if chart is None:
        raise Refused(404, "There is nothing to draw here.")
    return Response(drawing(chart), media_type="image/svg+xml", headers=_PICTURE_POLICY)


HOST, PORT = "127.0.0.1", 8765
MEMORY = "1GB"
"""What questions to tables may have together."""
OPEN_TO_OTHERS = (
    "others on the network can reach these pages: they show public releases, and nothing else, but "
    "anybody can ask them questions. Without --host only this machine can."
)


def serve(
    releases: Sequence[Release],
    *,
    host: str = HOST,
    port: int = PORT,
    names: Sequence[str] = (),
    ready: Callable[[str], None] = print,
    tell: Callable[[str], None] = lambda words: None,
) -> None:
    """Serve releases until a signal stops it.

    Args:
        releases: which; the first two are those that are compared by themselves.
        host: where to listen; other machines reach anything but a loopback address.
        port: 0 for any that is free.
        names: further names by which browsers reach it, such as that of a proxy before it.
        ready: is called with the address once pages are answered.
        tell: is called with warnings beforehand.
    """
    for package in ("starlette", "uvicorn", "jinja2", "vl_convert", "babel"):
        needs(package, "a server of pages", "web")
    if not releases:
        raise UsageError("name at least one release: crowdtally serve RELEASE.")
    Hosts.of(host, port, names)  # refuses a wrong name before anything listens
    tables.hold_memory(MEMORY)
    listening = bound(host, port)
    try:
        if not is_loopback(host):
            tell(OPEN_TO_OTHERS)
        hosts = Hosts.of(host, listening.getsockname()[1], names)
        shelf = Shelf(releases)
        explorer = Explorer.of(shelf)
        shelf.prepare(explorer.pages.report)  # whose pictures take a while to draw
        try:
            run(explorer.app(hosts), listening, lambda: ready(f"{url_of(listening, host)}/"))
        finally:
            explorer.work.close()
            shelf.close()
    finally:
        listening.close()
