"""Exception tree, exit codes, did_you_mean."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec

# What can go wrong, and the exit code that says so.
#
# ::
#
#     CrowdtallyError            1  a failure: disk, engine, database
#     ├── UsageError             2  a parameter or flag is wrong
#     ├── BudgetError            3  the privacy budget does not allow it
#     ├── InputError             4  the input breaks its declaration (columns, types, lists, files)
#     └── StoppedError         130  somebody interrupted it; the message says what is kept
#
# A message says what was wrong, what was received and what to type instead. It never contains a
# record's value or a user id: messages travel further than the records do.

_MOST_SHOWN = 40
_LONGEST_SHOWN = 400


class CrowdtallyError(Exception):
    """A failure that is nobody's declaration: a full disk, an engine that stopped."""

    exit_code = 1


class UsageError(CrowdtallyError):
    """A parameter, flag or combination of them is wrong."""

    exit_code = 2


class BudgetError(CrowdtallyError):
    """The privacy budget does not allow the request; nothing was charged."""

    exit_code = 3


class InputError(CrowdtallyError):
    """The input breaks its declaration: columns, types, lists or a damaged file."""

    exit_code = 4


class StoppedError(CrowdtallyError):
    """Somebody interrupted what can be gone on with; the message says how."""

    exit_code = 130


def did_you_mean(received: str, known: Iterable[str]) -> str:
    """A sentence that lists what exists and, where one is close, suggests it.

    >>> did_you_mean("itm", ["user", "item"])
    "Did you mean 'item'? There are: user, item."
    """
    names = list(known)
    close = closest(received, names)
    suggestion = f"Did you mean {close!r}? " if close is not None else ""
    shown = names[:_MOST_SHOWN]
    while len(shown) > 1 and sum(map(len, shown)) > _LONGEST_SHOWN:
        shown.pop()
    more = ", …" if len(names) > len(shown) else ""
    return f"{suggestion}There are: {', '.join(shown) or 'none'}{more}."


def closest(received: str, known: Iterable[str]) -> str | None:
    """The name that was probably meant, whatever its capitals; None where none is close.

    >>> closest("ITM", ["user", "item"])
    'item'
    """
    folded = {name.casefold(): name for name in reversed(list(known))}
    close = difflib.get_close_matches(received.casefold(), folded, n=1)
    return folded[close[0]] if close else None


def needs(module: str, what: str, extra: str) -> None:
    """Refuse with what to install where a package of an extra is missing."""
    try:
        import_module(module)
    except ImportError:
        name = module.replace("_", "-")
        raise UsageError(
            f"{what} needs the package {name}, which is not installed: "
            f"pip install 'crowdtally[{extra}]'."
        ) from None


_NEEDED = ("jinja2", "pandas", "pyarrow", "scipy", "vl_convert")


def check_libraries() -> None:
    """Refuse, with what to install, where one of them is missing."""
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise UsageError(f"the lab needs {', '.join(missing)}: pip install 'crowdtally[lab]'.")
