"""A declaration of records: where they are and which column plays which role."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from crowdtally.errors import UsageError
from crowdtally.values.unit import PrivacyUnit


@dataclass(frozen=True)
class Records:
    """Records as declared; nothing has been read.

    Everything here is public: it says how to read, never what is in the records.
    """

    source: object
    """A path, glob or URL#table, or a frame, relation or Ibis table."""
    user: str | None
    """The column that says whose record it is; None where each row is one person."""
    item: str | None
    """The column that says what it is about; None for a table of attributes."""
    contexts: Mapping[str, str | None] = field(default_factory=dict)
    """For each context a row-wise SQL expression, or None where it is a column of that name."""
    record_id: str | None = None
    """A stored column that tells a user's records apart; None: their content does."""
    joins: tuple[tuple[object, str], ...] = ()
    """Tables to look up, each with the key column it shares with the records."""
    attributes: tuple[str, ...] = ()
    """The columns (or derived contexts) of a table of attributes, instead of an item."""
    weight: str | None = None
    """Where each row is one person: a column that says how many persons a row stands for."""

    def __repr__(self) -> str:
        """The declaration alone: a frame's own repr would show records, a URL a password."""
        roles = {name: value for name, value in vars(self).items() if name != "source" and value}
        if self.joins:
            roles["joins"] = [(_shown(source), key) for source, key in self.joins]
        named = "".join(f", {name}={value!r}" for name, value in roles.items())
        return f"Records({_shown(self.source)!r}{named})"

    def __post_init__(self) -> None:
        if (self.item is None) == (not self.attributes):
            raise UsageError("say what is counted: --item COL, or --attributes A,B,C; not both.")
        if len(set(self.attributes)) != len(self.attributes):
            raise UsageError("--attributes names a column twice: name each once.")
        if self.weight is not None and self.user is not None:
            raise UsageError(
                "--weight says how many persons a row stands for, so it goes with --user-per-row."
            )
        if self.user is None and self.record_id is not None:
            raise UsageError("--record-id tells a user's records apart: not with --user-per-row.")

    @property
    def unit(self) -> PrivacyUnit:
        """What one unit of protection covers."""
        if self.user is not None:
            return PrivacyUnit("user", self.user)
        return PrivacyUnit("row") if self.weight is None else PrivacyUnit("person", self.weight)


def _shown(source: object) -> str:
    """What a source may be called in public."""
    if isinstance(source, str | os.PathLike):
        return without_secrets(os.fspath(source))
    return f"a {type(source).__module__.partition('.')[0]} {type(source).__name__}"


def without_secrets(url: str) -> str:
    """The address without user and password, wherever they stand in it.

    >>> without_secrets("postgres://ana:p@ss@host/db?sslmode=on&password=x#t")
    'postgres://host/db?sslmode=on&password=…#t'
    """
    bare = re.sub(r"//[^/?#]*@", "//", url)
    return re.sub(r"([?&][^=&#]*(?:pass|secret|token|key)[^=&#]*=)[^&#]*", r"\1…", bare)
