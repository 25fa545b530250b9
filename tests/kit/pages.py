"""Pages as they are served or written, with hostile labels: asked by a plain client, parsed."""

from __future__ import annotations

import asyncio
import http.client
import json
import signal
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, TypeVar
from unittest import mock
from urllib.parse import urlencode, urlsplit

import crowdtally as ct
from crowdtally.format import tables
from crowdtally.reader.server.app import serve
from crowdtally.web.server import Work
from kit.auto import adaptive, known_way
from kit.publishing import made, visits
from kit.stored import PLACES, hamlet, stored

# ---- A release whose labels would like to run, to break lines, and to be very long ---------------


SCRIPT = "<script>alert(1)</script>"
IMAGE = '"><img src=x onerror=alert(2)>'
ITEMS = [
    SCRIPT, IMAGE, "=cmd|' /C calc'!A0", "</svg><style>*{display:none}</style>", "&lt;b&gt;",
    "x" * 100_000, "\u202egpj.exe", "two\nlines", "a\x1b[2J", "{{ 7 * 7 }}", "قهوة", "id=\"top\"",
    "url(#top)", "var(--ink)", "#1b1d21", "zoo", "x" * 99_999 + "y",
]  # fmt: skip
HOURS = [f"{hour} o'clock <b>" if hour % 5 == 0 else str(hour) for hour in range(14)]
CONTEXT = "<i>hour</i>"


def hostile(folder: Path) -> ct.Release:
    """Its release, with little noise: the first items are the most common."""
    cells = {
        (item, HOURS[(place + shift) % 14]): 40 - 2 * place
        for place, item in enumerate(ITEMS)
        for shift in (0, 7)
    }
    domain = ct.Domain(ITEMS, {CONTEXT: HOURS})
    return made(folder, visits(cells, CONTEXT), domain, epsilon=40, method=ct.SRA(1))


# ---- The explorer as it is served: a real server on a free port, asked by a plain client ---------


STORED = (
    "sra-two-contexts", "sra-attributes", "pairs", "filter-one", "discovered", "discovered-none",
    "haar-items", "sketch-wide", "sra-integers-and-context", "sra-one-context", "sra-record-id",
)  # fmt: skip
"""Kinds that many tests share."""
MADE = (
    "auto", "by-user", "top", "top-in-contexts", "attributes", "labels", "hostile",
    "found-cells",
)  # fmt: skip
"""Kinds that are made here."""
KINDS = (*MADE, *STORED)
"""By the names that they have in addresses."""
LABELS = {"zoo": "The old Zoo", "arena": "Arène", "mill": "Mill 100%_wide"}
FOUND = {("mill", "Mon"): 60, ("mill", "Tue"): 40, ("zoo", "Tue"): 30, ("zoo", "Wed"): 1}
"""Users of each cell of a release that finds its cells itself; not that of Wednesday."""
PATIENCE = 300.0
SECONDS = 20.0
"""That a question has: a machine that tests is busy."""
_Found = TypeVar("_Found")


@dataclass(frozen=True)
class Answer:
    """What a server answered."""

    status: int
    headers: Mapping[str, str]
    """By names in small letters."""
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8")

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Served:
    """A server that runs."""

    url: str
    """As it was printed, with a slash at its end."""

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or 80

    def ask(
        self, path: str, method: str = "GET", headers: Mapping[str, str] | None = None,
        **query: object,
    ) -> Answer:  # fmt: skip
        """The answer to a path; lists in the query are several values of one name."""
        names = urlencode([(name.rstrip("_"), one) for name, given in query.items()
                           for one in (given if isinstance(given, list) else [given])])  # fmt: skip
        target = f"{path}{'&' if '?' in path else '?'}{names}" if names else path
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, target, headers=dict(headers or {}))
            answered = connection.getresponse()
            found = {name.lower(): value for name, value in answered.getheaders()}
            return Answer(answered.status, found, answered.read())
        finally:
            connection.close()

    def said(self, *lines: str, wait: float = PATIENCE) -> bytes:
        """All that comes back for lines as they are, until the server closes."""
        with self.connected(wait) as connection:
            connection.sendall("\r\n".join(lines).encode("latin-1"))
            return everything(connection)

    @contextmanager
    def connected(self, wait: float = PATIENCE) -> Iterator[socket.socket]:
        """A connection that says nothing yet."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait) as connection:
            yield connection

    def until_ready(self) -> Served:
        """The same server, once all its estimates are there."""
        end = time.monotonic() + PATIENCE
        while any(one["estimates"] == "computing" for one in self.ask("/releases.json").json):
            assert time.monotonic() < end, "estimates do not end"
            time.sleep(0.02)
        return self


def in_own_loop(task: Coroutine[Any, Any, _Found]) -> _Found:
    """What a task returns, in a thread of its own: a browser's loop may run in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, task).result()


def everything(connection: socket.socket) -> bytes:
    """What comes until the other side closes, or lets go."""
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


@contextmanager
def running(start: Callable[[Callable[[str], None]], None]) -> Iterator[Served]:
    """A server in a thread; it ends as a signal would end it.

    Args:
        start: runs it, and tells its address to what it is given.
    """
    stops: list[Callable[[int, Any], None]] = []
    failures: list[BaseException] = []
    found, ready = list[str](), threading.Event()

    @contextmanager
    def signals(handle: Callable[[int, Any], None]) -> Iterator[None]:
        stops.append(handle)
        yield

    def told(url: str) -> None:
        found.append(url)
        ready.set()

    def work() -> None:
        try:
            start(told)
        except BaseException as failure:
            failures.append(failure)
        finally:
            ready.set()

    with mock.patch("crowdtally.web.server._signals", signals):
        thread = threading.Thread(target=work, name="served")
        thread.start()
        ready.wait(PATIENCE)
    try:
        assert found, failures
        yield Served(found[0])
    finally:
        for stop in stops:
            stop(signal.SIGTERM, None)
        thread.join(PATIENCE)
    assert not thread.is_alive(), "the server does not stop"
    assert failures == []


@contextmanager
def serving(releases: Sequence[ct.Release], **options: Any) -> Iterator[Served]:
    """A server of some releases, on a free port; memory is held only as long as it runs."""
    held = list(tables._held)
    patient = mock.patch("crowdtally.reader.server.app.Work", partial(Work, seconds=SECONDS))

    def start(told: Callable[[str], None]) -> None:
        with patient:
            serve(releases, **{"port": 0, "ready": told, **options})

    try:
        with running(start) as one:
            yield one
    finally:
        tables._held[:] = held
        tables._database.cache_clear()


def of_kind(folder: Path, kind: str) -> ct.Release:
    """A small release of a kind, in a folder of that name."""
    if kind in STORED:
        return ct.load(stored(kind))
    if kind == "auto":
        return ct.load(adaptive(folder, kind, method=ct.Auto("recommend")))
    if kind == "labels":
        return hamlet(folder, name=kind, count="records").with_labels(
            {one: LABELS[one] for one in PLACES}
        )
    if kind == "hostile":
        inside = folder / kind
        inside.mkdir()
        made_there = hostile(inside)
        made_there.folder.rename(folder / "hostile-labels")
        return ct.load((folder / "hostile-labels").rename(inside / "hostile"))
    if kind == "found-cells":
        return made(
            folder, visits(FOUND, "day"), None, name=kind, epsilon=20, delta="1e-6",
            method=ct.Discover(["item", "day"], 1), roles={"contexts": ["day"]},
        )  # fmt: skip
    return known_way(kind.replace("-", " "))


def all_kinds(folder: Path) -> dict[str, ct.Release]:
    """One release of each kind, by its name in addresses."""
    return {kind: of_kind(folder, kind) for kind in KINDS}


# ---- The pages of a site, parsed: what they link to, the parts they have, and what would run -----


RUNS = ("application/json", "application/ld+json")
"""Types of scripts that are data."""


@dataclass
class Page:
    """One page."""

    path: Path
    links: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    data: dict[str, str] = field(default_factory=dict)
    """Content of elements that hold data, by their type."""
    running: list[str] = field(default_factory=list)
    """Scripts that run."""
    tags: list[str] = field(default_factory=list)
    attributes: set[str] = field(default_factory=set)
    text: str = ""
    """What is read, without style and scripts."""


class _Parser(HTMLParser):
    def __init__(self, page: Page) -> None:
        super().__init__()
        self._page = page
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self._page.tags.append(tag)
        self._page.attributes |= set(found)
        if tag in ("script", "style"):
            self._inside = found.get("type") or tag
            if self._inside == "script":
                self._page.running.append("")
        self._page.ids += [one] if (one := found.get("id")) else []
        self._page.links += [one for name in ("href", "src") if (one := found.get(name))]

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside in RUNS:
            self._page.data[self._inside] = self._page.data.get(self._inside, "") + data
        elif self._inside == "script":
            self._page.running[-1] += data
        elif not self._inside:
            self._page.text += data


def parsed(path: Path) -> Page:
    """The page in a file."""
    page = Page(path)
    parser = _Parser(page)
    parser.feed(path.read_text("utf-8"))
    parser.close()
    return page


def pages_of(site: Path) -> dict[str, Page]:
    """Every page of a site by its name."""
    return {one.name: parsed(one) for one in sorted(site.glob("*.html"))}


def broken_links(site: Path) -> list[str]:
    """Links that lead nowhere, or out of the site."""
    pages = pages_of(site)
    found = []
    for name, page in pages.items():
        for link in page.links:
            file, _, part = link.partition("#")
            target = (site / (file or name)).resolve()
            inside = target.is_file() and target.is_relative_to(site.resolve())
            known = not part or (target.name in pages and part in pages[target.name].ids)
            if ":" in link or not inside or not known:
                found.append(f"{name}: {link}")
    return found


def reached(site: Path, first: str = "index.html") -> set[str]:
    """The files that somebody finds who follows links from the first page."""
    pages, found, left = pages_of(site), {first}, [first]
    while left:
        page = pages.get(left.pop())
        links = {link.partition("#")[0] for link in page.links} if page else set()
        left += sorted(links - found - {""})
        found |= links - {""}
    return found
