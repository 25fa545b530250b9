"""Servers as they are: in a process of their own, asked by a plain client."""

from __future__ import annotations

import http.client
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlencode, urljoin, urlsplit

from same import inputs
from same.stage import Scene, Stage

_ENTRY = Path(__file__).resolve().parent.parent / "equal.py"
_PATIENCE = 300
_MOST_PAGES = 60
_BUSY, _ATTEMPTS = (422, 429), 30
"""What a server answers that ran out of time or of threads; how often to ask then."""
_VOLATILE = ("date", "content-length", "etag", "last-modified")
_TYPES = ("text/", "application/json", "application/problem+json", "application/geo+json")


class _Page(HTMLParser):
    """The links and the forms of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.forms: dict[str, dict[str, str]] = {}
        self._form: dict[str, str] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what leads on, and what a form would send as it is."""
        given = {name: value or "" for name, value in attrs}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "form":
            self._form = self.forms.setdefault(given.get("action", ""), {})
        chosen = given.get("type") not in ("radio", "checkbox") or "checked" in given
        if tag == "input" and "name" in given and chosen:
            self._form[given["name"]] = given.get("value", "")


@dataclass
class Server:
    """One that runs."""

    url: str

    @property
    def home(self) -> str:
        """The path that was told."""
        return urlsplit(self.url).path

    def _asked(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, dict[str, str], bytes]:
        """The answer; asked again where the machine was too busy for one in time."""
        for _ in range(_ATTEMPTS):
            found = self._answered(method, path, body, headers)
            if found[0] not in _BUSY:
                break
            time.sleep(1)
        return found

    def _answered(
        self, method: str, path: str, body: bytes | None, headers: dict[str, str]
    ) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection(
            "127.0.0.1", urlsplit(self.url).port, timeout=_PATIENCE
        )
        try:
            connection.request(method, path, body, headers)
            answered = connection.getresponse()
            found = {name.lower(): value for name, value in answered.getheaders()}
            return answered.status, found, answered.read()
        finally:
            connection.close()

    def body(self, path: str) -> str:
        """The text of a page."""
        return self._asked("GET", path, None, {})[2].decode("utf-8", "backslashreplace")

    def ask(self, path: str) -> str:
        """A page, its status and its headers."""
        return self._told(*self._asked("GET", path, None, {}))

    def send_form(self, page: str, action: str) -> str:
        """Send a page's form as it stands there."""
        fields = _Page(self.body(page)).forms[action]
        origin = f"http://127.0.0.1:{urlsplit(self.url).port}"
        headers = {"content-type": "application/x-www-form-urlencoded", "origin": origin}
        body = urlencode(fields).encode()
        return self._told(*self._asked("POST", urljoin(page, action), body, headers))

    def _told(self, status: int, headers: dict[str, str], body: bytes) -> str:
        kept = {name: value for name, value in sorted(headers.items()) if name not in _VOLATILE}
        plain = kept.get("content-type", "text/").startswith(_TYPES)
        text = body.decode("utf-8", "backslashreplace") if plain else "not a text"
        return f"{status} {kept}\n{text}"

    def crawl(self, first: str) -> Iterator[tuple[str, str]]:
        """Pages that can be reached by links, nearest first."""
        ahead, seen = [first], {first}
        for _ in range(_MOST_PAGES):
            if not ahead:
                return
            path = ahead.pop(0)
            text = self.ask(path)
            yield path, text
            for link in _Page(text).links:
                target = urlsplit(urljoin(path, link))
                lead = f"{target.path}{'?' * bool(target.query)}{target.query}"
                if not target.netloc and not target.scheme and lead not in seen:
                    seen.add(lead)
                    ahead.append(lead)


@contextmanager
def process(stage: Stage, *typed: str) -> Iterator[Server]:
    """A server that a command starts; it ends as Ctrl-C ends it."""
    command = [sys.executable, str(_ENTRY), "--run", stage.scene, *typed]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=stage.folder
    ) as running:
        url = running.stdout.readline().strip() if running.stdout else ""
        if not url:
            raise RuntimeError(f"no server starts with {' '.join(typed)}")
        secret = max(urlsplit(url).path.split("/"), key=len)
        stage.places |= {secret: "<secret>"} if len(secret) > 1 else {}
        try:
            yield Server(url)
        finally:
            running.send_signal(signal.SIGINT)
            running.wait(_PATIENCE)


_CELLS = "--attributes day,hour --values day=Mon,Tue,Wed --values hour=0..7"
_ITEM = "--item place --items places.csv"
_SERVED = {
    "contexts": f"{_ITEM} --context day --values day=Mon,Tue,Wed --method sra:max-records=4",
    "again": f"{_ITEM} --context day --values day=Mon,Tue,Wed --method sra:max-records=4",
    "pairs": f"{_ITEM} --pairs --method sra:max-records=4",
    "ranges": f"{_CELLS} --method sra:max-records=4 --transform dyadic:columns=hour",
    "adaptive": f"{_ITEM} --context day --values day=Mon,Tue,Wed --method auto:aim=recommend",
    "filtered": f"{_ITEM} --method sra:max-records=4 --summary filter:cut=3",
}
_ASKED = (
    "/openapi.json", "/releases.json", "/r/contexts/top.json?k=3&context=day%3DMon",
    "/r/contexts/top.csv", "/r/contexts/top?k=x", "/r/contexts/top.json?raw=yes&sort=list",
    "/r/contexts/recommend.json?context=day%3DMon&by=special", "/r/pairs/recommend.json?like=p0",
    "/r/contexts/sum.json?where=day+%3D+'Mon'", "/r/contexts/sum?where=plce", "/r/ranges/sum.json",
    "/r/ranges/sum.json?value=day%3DMon", "/r/contexts/map", "/r/contexts/search?q=p1",
    "/r/contexts/search.json?q=p1", "/r/contexts/item?item=p1", "/r/contexts/item.json?item=p2",
    "/compare.json?earlier=contexts&later=adaptive", "/compare?earlier=contexts&later=again",
    "/compare.json?earlier=contexts&later=again&of=shares", "/r/contexts/files/release.json",
    "/r/nothing/", "/nothing",
)  # fmt: skip


def _explore(stage: Stage) -> None:
    inputs.lists(stage)
    inputs.SOURCES["csv"](stage)
    for name, words in _SERVED.items():
        stage.seed(name)
        typed = ("--epsilon", "4", "--ledger", "ledger.sqlite", "--dataset", "town",
                 "--new-dataset", "-o", name)  # fmt: skip
        stage.run("release", "visits.csv", "--user", "who", *shlex.split(words), *typed)
    with process(stage, "serve", *_SERVED, "--port", "0") as server:
        while re.search(r'"estimates": ?"computing"', server.body("/releases.json")):
            time.sleep(0.05)
        for path, text in server.crawl("/"):
            stage.note(f"page {path}", text)
        for path in _ASKED:
            stage.note(f"asked {path}", server.ask(path))


def scenes() -> Iterator[Scene]:
    """One server of some releases."""
    yield Scene("server", _explore, quick=True)
