"""``crowdtally serve``: releases as pages on this machine, until somebody stops it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from crowdtally.errors import UsageError
from crowdtally.format import tables
from crowdtally.reader.explorer.app import Explorer
from crowdtally.reader.explorer.shelf import Shelf
from crowdtally.reader.release import Release
from crowdtally.web.extras import needs
from crowdtally.web.gate import Hosts, is_loopback
from crowdtally.web.server import bound, run, url_of

HOST, PORT = "127.0.0.1", 8765
MEMORY = "1GB"
"""What questions to tables may have together."""
OPEN_TO_OTHERS = (
    "others on the network can reach these pages: they show public releases, and nothing else, but "
    "anybody can ask them questions. Without --host only this machine can."
)


def serve(
    releases: Sequence[Release],
    *,
    host: str = HOST,
    port: int = PORT,
    names: Sequence[str] = (),
    ready: Callable[[str], None] = print,
    tell: Callable[[str], None] = lambda words: None,
) -> None:
    """Serve releases until a signal stops it.

    Args:
        releases: which; the first two are those that are compared by themselves.
        host: where to listen; other machines reach anything but a loopback address.
        port: 0 for any that is free.
        names: further names by which browsers reach it, such as that of a proxy before it.
        ready: is told the address once pages are answered.
        tell: is told what to know beforehand.
    """
    for package in ("starlette", "uvicorn", "jinja2", "vl_convert", "babel"):
        needs(package, "a server of pages", "web")
    if not releases:
        raise UsageError("name at least one release: crowdtally serve RELEASE.")
    Hosts.of(host, port, names)  # a name that is none is told before anything listens
    tables.hold_memory(MEMORY)
    listening = bound(host, port)
    try:
        if not is_loopback(host):
            tell(OPEN_TO_OTHERS)
        hosts = Hosts.of(host, listening.getsockname()[1], names)
        shelf = Shelf(releases)
        explorer = Explorer.of(shelf)
        shelf.prepare(explorer.pages.report)  # whose pictures take a while to draw
        try:
            run(explorer.app(hosts), listening, lambda: ready(f"{url_of(listening, host)}/"))
        finally:
            explorer.work.close()
            shelf.close()
    finally:
        listening.close()
