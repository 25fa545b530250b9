"""Where the ledger is: a path or URL, by option, environment or system setting."""

from __future__ import annotations

import difflib
import os
import re
import shlex
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from crowdtally.errors import CrowdtallyError, UsageError, closest

# The computer's own setting: a file that names one ledger for every account.
#
#     ledger = "postgresql://budget.example/ledger"
#
# Where it exists it is obeyed or it is an error. To go on with another ledger, because the name
# of this one could not be read, would give the same people a second budget.

_KEYS = ("ledger",)
_SHOWN_KEY = re.compile(r"[A-Za-z_-]{1,40}")


def path() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("PROGRAMDATA") or r"C:\ProgramData", "crowdtally", "config.toml")
    if sys.platform == "darwin":
        return Path("/Library/Application Support/crowdtally/config.toml")
    return Path("/etc/crowdtally/config.toml")


def ledger() -> str | None:
    """The ledger that it names; ``None`` where there is no such file."""
    try:
        content = path().read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        said = error.strerror or "the disk reports an error"
        raise wrong(f"it cannot be read ({said}). Let every account read it.") from None
    return _named(_parsed(content))


def wrong(what: str) -> CrowdtallyError:
    """It cannot be obeyed; no word of its content is repeated, since a password may be in it."""
    return CrowdtallyError(
        f"{path()} says which ledger this computer uses, and {what} Whoever looks after the "
        "computer can correct it; until then name the ledger with --ledger PATH|URL."
    )


def _parsed(content: bytes) -> dict[str, Any]:
    try:
        return tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise wrong("it is no text in UTF-8.") from None
    except (ValueError, RecursionError) as error:  # also numbers and lists beyond all measure
        # Only the place: the parser's words may quote what it stumbled over.
        where = re.search(r"at line \d+, column \d+|at end of document", str(error))
        at = f" ({where[0]})" if where else ""
        raise wrong(
            f'it is no TOML{at}. Write one line, ledger = "PATH or URL", in quotes.'
        ) from None


def _named(settings: dict[str, Any]) -> str:
    for key in settings.keys() - set(_KEYS):
        shown = f" {key!r}" if _SHOWN_KEY.fullmatch(key) else ""
        meant = closest(key, _KEYS)
        hint = f" Did you mean {meant!r}?" if meant else ""
        raise wrong(f"it has a setting{shown} that does not exist.{hint} There is: ledger.")
    named = settings.get("ledger")
    if not isinstance(named, str) or not named.strip():
        raise wrong('it names none. Write one line, ledger = "PATH or URL", in quotes.')
    return named


VARIABLE = "CROWDTALLY_LEDGER"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_POSTGRES = {"postgresql", "postgres", "postgresql+psycopg"}


@dataclass(frozen=True)
class File:
    path: Path

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True)
class Server:
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
    return f"--ledger {shlex.quote(typed(place))}"


ChosenBy = Literal["named", "variable", "system-file", "default"]


@dataclass(frozen=True)
class Chosen:
    """The place of a ledger, and what decided on it."""

    place: Place
    by: ChosenBy
    """``named`` (``--ledger``), ``variable``, ``system-file``, or ``default``: nobody named one."""

    @property
    def why(self) -> str:
        return {
            "named": "as --ledger says",
            "variable": f"as ${VARIABLE} says",
            "system-file": f"as {path()} says for every account of this computer",
            "default": "this account's own: neither --ledger nor "
            f"${VARIABLE} nor {path()} names another",
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
    if (said := ledger()) is not None:
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
        raise wrong("its ledger has a character that no path has.")
    try:
        found = _read(text)
    except UsageError as error:
        raise wrong(str(error)) from None
    if isinstance(found, File) and not Path(_path_of(text)).is_absolute():
        raise wrong(
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


_SQLITE = b"SQLite format 3\0"
_MOST = 10_000
_CLOSE = 5


def alike(path: Path) -> Path | None:
    """A database in the same folder whose name is almost this one; ``None`` without one."""
    try:
        with os.scandir(path.parent) as found:
            names = [entry.name for entry, _ in zip(found, range(_MOST), strict=False)]
    except OSError:
        return None
    folded = {name.casefold(): name for name in names if name != path.name}
    close = difflib.get_close_matches(path.name.casefold(), folded, n=_CLOSE)
    beside = (path.with_name(folded[name]) for name in close)
    return next((file for file in beside if _is_database(file)), None)


def _is_database(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:
        return False
