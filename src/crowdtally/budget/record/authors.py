"""Who added an entry, as the system says: no word of it is taken from the environment."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from typing import Any

from crowdtally.budget.record.canonical import Json
from crowdtally.budget.record.fields import words


@dataclass(frozen=True)
class Author:
    """The account and the computer that an entry came from."""

    account: str
    """The operating system's name for the account."""
    host: str
    """The computer's name."""
    role: str | None = None
    """The role that the PostgreSQL server knew it by; ``None`` in a file."""

    def __post_init__(self) -> None:
        words(self.account, "the account of an entry")
        words(self.host, "the host of an entry")
        if self.role is not None:
            words(self.role, "the role of an entry")

    def __str__(self) -> str:
        role = f" (role {self.role})" if self.role is not None else ""
        return f"{self.account}@{self.host}{role}"

    def fields(self) -> dict[str, Json]:
        """As recorded."""
        return {"account": self.account, "host": self.host, "role": self.role}

    @classmethod
    def read(cls, fields: Any) -> Author:
        """What ``fields`` wrote."""
        author = cls(fields["account"], fields["host"], fields["role"])
        if author.fields() != fields:
            raise ValueError("an author with other fields")
        return author


def this_author(role: str | None = None) -> Author:
    """Whoever runs this program."""
    return Author(_account(), this_host(), role)


def this_host() -> str:
    """This computer's name."""
    return platform.node() or "localhost"


def _account() -> str:
    """By the number that the kernel knows: $USER and $LOGNAME say what anybody wants."""
    try:
        import pwd
    except ImportError:  # Windows
        return os.getlogin()
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:  # an account without a name, as in some containers
        return f"uid {number}"
