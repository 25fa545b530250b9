"""``crowdtally person page``: the pages at 127.0.0.1, until somebody stops it."""

from __future__ import annotations

from collections.abc import Callable

from crowdtally.person.page.app import PersonPage
from crowdtally.person.page.desk import Desk
from crowdtally.web.extras import needs
from crowdtally.web.gate import Hosts
from crowdtally.web.server import bound, run, url_of

HOST = "127.0.0.1"
"""Nobody else's machine ever reaches these pages."""
FINISHING = "finishing what is begun, so that nothing is paid for in vain…"


def serve(
    desk: Desk,
    *,
    port: int = 0,
    ready: Callable[[str], None] = print,
    tell: Callable[[str], None] = lambda words: None,
) -> None:
    """Serve the pages of a desk until a signal stops it; what was begun is finished first.

    Args:
        desk: whose history, and what may be done with it.
        port: 0 for any that is free.
        ready: is told the address, with its secret, once pages are answered.
        tell: is told where the end takes longer.
    """
    for package in ("starlette", "uvicorn", "jinja2", "vl_convert", "babel"):
        needs(package, "a server of pages", "web")
    listening = bound(HOST, port)
    page = PersonPage(desk)
    try:
        hosts = Hosts.of(HOST, listening.getsockname()[1])
        url = f"{url_of(listening, HOST)}{page.token.home}"
        run(page.app(hosts), listening, lambda: ready(url))
    finally:
        listening.close()
        page.work.close()
        if page.finishing.is_busy:
            tell(FINISHING)
        page.finishing.close()
