"""Where a ledger is, a file on this machine or a PostgreSQL server, and who said so."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

from crowdtally.budget.database import system_file
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


def typed(place: Place) -> str:
    """How a command that a message suggests names this ledger; a server's URL has secrets."""
    return str(place) if isinstance(place, File) else "URL"


def option(place: Place) -> str:
    """The option that says so."""
    return f"--ledger {shlex.quote(typed(place))}"


ChosenBy = Literal["named", "variable", "system-file", "default"]


@dataclass(frozen=True)
class Chosen:
    """The place of a ledger, and what decided on it."""

    place: Place
    """Where it is."""
    by: ChosenBy
    """``named`` (``--ledger``), ``variable``, ``system-file``, or ``default``: nobody named one."""

    @property
    def why(self) -> str:
        """In words."""
        return {
            "named": "as --ledger says",
            "variable": f"as ${VARIABLE} says",
            "system-file": f"as {system_file.path()} says for every account of this computer",
            "default": "this account's own: neither --ledger nor "
            f"${VARIABLE} nor {system_file.path()} names another",
        }[self.by]


def choose(location: str | os.PathLike[str] | None) -> Chosen:
    """What was named here, else by $CROWDTALLY_LEDGER, else by the computer's file, else one's own.

    What is named and cannot be used is an error: another ledger instead would be a second budget
    for the same people.
    """
    if location is not None:
        return Chosen(_read(_text(location)), "named")
    if variable := os.environ.get(VARIABLE):
        return Chosen(_read(variable), "variable")
    if (said := system_file.ledger()) is not None:
        return Chosen(_shared(said), "system-file")
    from platformdirs import user_data_path

    own = user_data_path("crowdtally", appauthor=False) / "ledger.sqlite"
    return Chosen(File(own), "default")


def place(location: str | os.PathLike[str] | None) -> Place:
    """The place that a person named, or else the one that ``choose`` finds.

    >>> str(place("postgres://ana:secret@db.example/budget"))
    'postgresql://ana@db.example/budget'
    """
    return choose(location).place


def _text(location: object) -> str:
    if isinstance(location, str | os.PathLike):
        text = os.fspath(location)
        if isinstance(text, str):
            return text
    raise UsageError(
        f"a ledger is named by a path or a PostgreSQL URL: received a {type(location).__name__}."
    )


def _read(text: str) -> Place:
    scheme = _SCHEME.match(text)
    if scheme is None:
        return _file(text)
    name = scheme[1].lower()
    if name in _POSTGRES:
        return _server(text[scheme.end() :])
    if name == "sqlite":
        return _file(_path_of(text))
    raise UsageError(
        f"a ledger is a file or a PostgreSQL URL: received a URL that begins with {name}://. "
        "Give a path such as ledger.sqlite, or postgresql://user@host/database."
    )


def _shared(text: str) -> Place:
    """What the computer's file names: the same place from every folder and for every account."""
    if "\0" in text:  # whose refusal would repeat it
        raise system_file.wrong("its ledger has a character that no path has.")
    try:
        found = _read(text)
    except UsageError as error:
        raise system_file.wrong(str(error)) from None
    if isinstance(found, File) and not Path(_path_of(text)).is_absolute():
        raise system_file.wrong(
            "its ledger is a path that depends on the folder or the account from which it is "
            "used. Write the whole path, such as /srv/crowdtally/ledger.sqlite."
        )
    return found


def _path_of(text: str) -> str:
    """A file's path, also as SQLAlchemy writes it: ``sqlite:///relative``, ``sqlite:////whole``."""
    scheme = _SCHEME.match(text)
    return text if scheme is None else text[scheme.end() :].removeprefix("/")


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
