"""The computer's own setting: a file that names one ledger for every account.

    ledger = "postgresql://budget.example/ledger"

Where it exists it is obeyed or it is an error. To go on with another ledger, because the name of
this one could not be read, would give the same people a second budget.
"""

from __future__ import annotations

import os
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from crowdtally.errors import CrowdtallyError, closest

_KEYS = ("ledger",)
_SHOWN_KEY = re.compile(r"[A-Za-z_-]{1,40}")


def path() -> Path:
    """Where it would be on this computer."""
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
