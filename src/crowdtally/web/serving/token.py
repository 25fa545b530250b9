"""A secret in the address: who does not know it finds nothing, not even where to ask.

Other accounts of a machine, and pages of others in a browser, can reach a server at 127.0.0.1. The
random word that begins every address of it is known only to whoever saw it printed.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from hmac import compare_digest

_BYTES = 32
"""Random bytes: 256 bits."""


@dataclass(frozen=True, repr=False)
class Token:
    """The random word that every address of a server begins with."""

    text: str
    """Letters, digits, hyphens and underscores."""

    @classmethod
    def new(cls) -> Token:
        """Another one for each run."""
        return cls(secrets.token_urlsafe(_BYTES))

    @property
    def home(self) -> str:
        """The path of the first page."""
        return f"/{self.text}/"

    def behind(self, path: str) -> str | None:
        """The path behind the word; None where the word is not there.

        >>> token = Token("secret")
        >>> token.behind("/secret/draw"), token.behind("/Secret/draw"), token.behind("/secret")
        ('/draw', None, '')
        """
        empty, _, rest = path.partition("/")
        first, slash, after = rest.partition("/")
        known = compare_digest(first.encode("utf-8", "replace"), self.text.encode())
        return f"{slash}{after}" if known and not empty else None

    def __repr__(self) -> str:
        return "<Token: secret>"
