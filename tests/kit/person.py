"""A person's catalogues, page and interrupted draws."""

from __future__ import annotations

import hashlib
import http.client
import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from itertools import chain, combinations
from pathlib import Path
from urllib.parse import urlencode, urljoin, urlsplit

import numpy as np

from crowdtally.person.catalogue import Catalogue
from crowdtally.person.history import History
from crowdtally.person.page.actions import Choice, Desk
from crowdtally.person.page.app import serve
from crowdtally.person.store import Store
from kit.pages import PATIENCE, Answer, running

# ---- Public catalogues to perturb histories of: the papers' example, and random ones from a
#      seed


PRINTED = {
    "item 1": ["1", "2", "3"],
    "item 2": ["1", "3", "4"],
    "item 3": ["1", "5"],
    "item 4": ["1", "3"],
    "item 5": ["1", "2"],
}
"""The running example of EpicRec: 5 items, 5 categories."""


def printed() -> Catalogue:
    return Catalogue.of(PRINTED)


def random_catalogue(seed: int, items: int = 40, categories: int = 8, most: int = 4) -> Catalogue:
    """Items with 1 to ``most`` categories, some categories much more frequent than others."""
    generator = np.random.default_rng(seed)
    weights = 1 / np.arange(1, categories + 1)
    names = [f"c{number:03}" for number in range(categories)]
    return Catalogue.of(
        {
            f"i{number}": generator.choice(
                names,
                size=generator.integers(1, min(most, categories) + 1),
                replace=False,
                p=weights / weights.sum(),
            ).tolist()
            for number in range(items)
        }
    )


def histories(catalogue: Catalogue) -> Iterator[tuple[str | int, ...]]:
    """Every history of a tiny catalogue."""
    items = catalogue.items
    return chain.from_iterable(combinations(items, size) for size in range(len(items) + 1))


# ---- The person's own page as it is served: a real server on a free port, asked by a plain
#      client


FILMS = {
    "Alien-3141": ["horror", "space"],
    "Aliens-5926": ["action", "horror", "space"],
    "Gravity-5358": ["space", "drama"],
    "Heat-9793": ["crime", "drama"],
    "Ronin-2384": ["crime", "action"],
    "Fargo-6264": ["crime", "comedy"],
    "Brazil-3383": ["comedy", "drama"],
    "Airplane-2795": ["comedy"],
    "Casablanca-0288": ["drama", "romance"],
}
OWN = ("Alien-3141", "Gravity-5358", "Brazil-3383", "Airplane-2795")
"""The history: these names are looked for where they must not be."""
NAMES = tuple(sorted({name for names in FILMS.values() for name in names}))
PLACE = {name: place for place, name in enumerate(NAMES)}


class PageAnswer(Answer):
    """What the page answered."""

    @property
    def words(self) -> str:
        """The text of the page, without its tags."""
        plain = re.sub(r"<(style|svg)\b.*?</\1>|<[^>]*>", " ", self.text, flags=re.DOTALL)
        return " ".join(unescape(plain).split())


@dataclass
class PageServed:
    """A page that is served."""

    desk: Desk
    url: str
    """As it was printed: with the secret, and a slash at its end."""
    told: list[str] = field(default_factory=list)
    """What was told at the end."""
    seen: list[str] = field(default_factory=list)
    """Every address that was asked for or led to."""

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or 80

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def home(self) -> str:
        return urlsplit(self.url).path

    def ask(
        self, path: str = "", method: str = "GET", headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> PageAnswer:  # fmt: skip
        """The answer to a path behind the secret, or to a whole one that begins with a slash."""
        target = path if path.startswith("/") else f"{self.home}{path}"
        self.seen.append(target)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            connection.request(method, target, body, headers=dict(headers or {}))
            answered = connection.getresponse()
            found = {name.lower(): value for name, value in answered.getheaders()}
            if "location" in found:
                self.seen.append(found["location"])
            return PageAnswer(answered.status, found, answered.read())
        finally:
            connection.close()

    def send(
        self, path: str, headers: Mapping[str, str] | None = None, /, **fields: object
    ) -> PageAnswer:
        """Send a form as the server's own page does; other headers instead, if they are given."""
        form = {"content-type": "application/x-www-form-urlencoded"}
        own = {"origin": self.origin} if headers is None else dict(headers)
        body = urlencode({name: str(value) for name, value in fields.items()}).encode()
        return self.ask(path, "POST", {**form, **own}, body)

    def press(self, path: str, **fields: object) -> PageAnswer:
        """Send a form, and follow where it leads."""
        answer = self.send(path, **fields)
        assert answer.status == 303, answer.words
        return self.ask(urljoin(f"{self.home}{path}", answer.headers["location"]).partition("#")[0])

    def draw(self, choice: Choice, **fields: object) -> PageAnswer:
        return self.press("draw", **dict(choice.fields), **fields)

    def charges(self) -> list[str]:
        """What became of each charge."""
        return [one.state for one in self.desk.store.charges()]

    def begin(self, path: str, **fields: object) -> socket.socket:
        """Send a form and do not wait: somebody may go away."""
        body = urlencode(fields).encode()
        head = (
            f"POST {self.home}{path} HTTP/1.1\r\nhost: 127.0.0.1:{self.port}\r\n"
            f"origin: {self.origin}\r\ncontent-type: application/x-www-form-urlencoded\r\n"
            f"content-length: {len(body)}\r\n\r\n"
        )
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        connection.sendall(head.encode() + body)
        return connection


def desk_in(
    folder: Path, *, films: Mapping[str, list[str]] = FILMS, own: tuple[str, ...] = OWN,
    start: Choice | None = None,
) -> Desk:  # fmt: skip
    """A history of a few films; its store and its files in a folder."""
    files = folder / "files"
    files.mkdir(parents=True, exist_ok=True)
    catalogue = Catalogue.of(films, item="film")
    return Desk(
        History.of(own, catalogue), Store(folder / "store"), files, start=start or Choice("1")
    )


@contextmanager
def page_of(desk: Desk) -> Iterator[PageServed]:
    """The page in a thread; it ends as a signal would end it."""
    told: list[str] = []
    with running(lambda ready: serve(desk, ready=ready, tell=told.append)) as server:
        yield PageServed(desk, server.url, told)


def content(*folders: Path) -> dict[str, str]:
    """Every file below some folders, by its hash."""
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
