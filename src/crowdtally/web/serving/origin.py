"""Whether a request that changes something comes from a page of this server.

A page of somebody else can make a browser send a form here, with whatever it contains. Browsers say
in the header Origin whose page it was, and no page can change that. Under the referrer policy
``no-referrer`` they say ``null`` of every page, so pages with forms need ``same-origin``.
"""

from __future__ import annotations

from collections.abc import Iterable

FORM_HEADERS = {"referrer-policy": "same-origin"}
"""Of pages that have forms which change something."""


def is_own(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether these headers, whose Host was looked at before, say that our own page sent them.

    >>> host = (b"host", b"127.0.0.1:8000")
    >>> is_own([host, (b"origin", b"http://127.0.0.1:8000")])
    True
    >>> is_own([host, (b"origin", b"null")]), is_own([host])
    (False, False)
    """
    found: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        found.setdefault(name.lower(), []).append(value.lower())
    hosts, origins = found.get(b"host", []), found.get(b"origin", [])
    if origins:
        return len(hosts) == 1 and origins == [b"http://" + hosts[0]]
    return found.get(b"sec-fetch-site") == [b"same-origin"]
