"""Where a ledger is: a file on this machine, or a PostgreSQL server."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from crowdtally.errors import UsageError

VARIABLE = "CROWDTALLY_LEDGER"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_POSTGRES = {"postgresql", "postgres", "postgresql+psycopg"}


@dataclass(frozen=True)
class File:
    """A SQLite file."""

    path: Path
    """Where."""

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True)
class Server:
    """A PostgreSQL database."""

    url: str
    """With its password, if it has one; for the driver only."""

    def __str__(self) -> str:
        """Without password and parameters: a message may travel further than the ledger."""
        parts = urlsplit(self.url)
        user = f"{unquote(parts.username)}@" if parts.username else ""
        host = parts.netloc.rpartition("@")[2]
        return f"postgresql://{user}{host}{parts.path}"

    @property
    def secrets(self) -> tuple[str, ...]:
        """What no message may repeat."""
        parts = urlsplit(self.url)
        found = re.findall(r"(?:^|&)[^=&]*pass[^=&]*=([^&]*)", parts.query)
        return tuple(
            word
            for text in (parts.password or "", *found)
            for word in (text, unquote(text))
            if word
        )


Place = File | Server


def place(location: str | os.PathLike[str] | None) -> Place:
    """The place that a person named; ``None`` is $CROWDTALLY_LEDGER, else the per-user folder.

    >>> str(place("postgres://ana:secret@db.example/budget"))
    'postgresql://ana@db.example/budget'
    """
    chosen = location if location is not None else os.environ.get(VARIABLE) or None
    if chosen is None:
        from platformdirs import user_data_path

        return File(user_data_path("crowdtally", appauthor=False) / "ledger.sqlite")
    text = os.fspath(chosen)
    scheme = _SCHEME.match(text)
    if scheme is None:
        return _file(text)
    name = scheme[1].lower()
    if name in _POSTGRES:
        return _server(text[scheme.end() :])
    if name == "sqlite":
        # As SQLAlchemy writes it: three slashes before a relative path, four before an absolute.
        return _file(text[scheme.end() :].removeprefix("/"))
    raise UsageError(
        f"a ledger is a file or a PostgreSQL URL: received a URL that begins with {name}://. "
        "Give a path such as ledger.sqlite, or postgresql://user@host/database."
    )


def _file(text: str) -> File:
    if not text.strip() or "\0" in text or text == ":memory:":
        raise UsageError(
            f"a ledger needs a file that outlives the program: received {text!r}. "
            "Give a path such as ledger.sqlite."
        )
    return File(Path(text).expanduser().absolute())


def _server(rest: str) -> Server:
    url = f"postgresql+psycopg://{rest}"
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - a port that is no number raises here, not in the driver
        if parts.fragment or "@" in parts.path or (not parts.username and "@" in parts.query):
            raise ValueError("a part of the password, which a message would repeat")
    except ValueError:
        raise UsageError(
            "the ledger's URL cannot be read. Give postgresql://user@host:5432/database, with "
            "special characters of a password written as %XX."
        ) from None
    return Server(url)
