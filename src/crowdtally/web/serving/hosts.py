"""By which names a server may be asked: a page of somebody else cannot reach it by another name.

A browser that was told that ``evil.example`` has the address 127.0.0.1 sends the name
``evil.example`` in the header Host; whoever accepts that lets pages of that name read the answers.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import ip_address

from crowdtally.errors import UsageError

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
"""Names of the machine itself."""
_EVERYWHERE = ("0.0.0.0", "::")
_NAME = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*")
"""A host as browsers write it, without a port; addresses of version 6 look otherwise."""


@dataclass(frozen=True)
class Hosts:
    """The names of a server."""

    names: frozenset[str]
    """Without a port, in small letters."""
    port: int
    """Where it listens."""
    any_address: bool = False
    """Whether any plain IP address is one: a name of somebody else never is."""

    @classmethod
    def of(cls, host: str, port: int, also: Collection[str] = ()) -> Hosts:
        """The names of a server that listens at ``host``; ``also`` are further ones.

        Raises:
            UsageError: a further one is no name of a host.
        """
        own = () if host in _EVERYWHERE else (bracketed(host.lower()),)
        named = (*LOOPBACK, *own, *map(_named, also))
        return cls(frozenset(named), port, any_address=host in _EVERYWHERE)

    def knows(self, header: str) -> bool:
        """Whether the header Host names this server.

        >>> hosts = Hosts.of("127.0.0.1", 8080)
        >>> [hosts.knows(f"{name}:8080") for name in ("localhost", "evil.example")]
        [True, False]
        """
        name, colon, port = header.lower().rpartition(":")
        if not colon or (header.startswith("[") and header.endswith("]")):
            name, port = header.lower(), "80"
        # Behind another server the port is that server's, and the name one that was allowed.
        if port != str(self.port) and name in LOOPBACK:
            return False
        return name in self.names or (self.any_address and _is_address(name))


def bracketed(host: str) -> str:
    """A host as it stands in an address.

    >>> bracketed("::1"), bracketed("localhost")
    ('[::1]', 'localhost')
    """
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def _named(host: str) -> str:
    found = bracketed(host.lower())
    if _NAME.fullmatch(found) is None and not (found.startswith("[") and _is_address(found)):
        raise UsageError(
            "a further name is that of a host alone, such as counts.example.org, without a port "
            f"or a path: received {host[:60]!r}."
        )
    return found


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server there."""
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _is_address(name: str) -> bool:
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
