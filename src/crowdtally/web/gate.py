"""What stands before every server of pages: host, origin, token, policy, refusals, assets."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from hmac import compare_digest
from importlib.resources import files
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from crowdtally.errors import UsageError
from crowdtally.web.pages import rendered

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


# Host names. A browser that was told that ``evil.example`` has the address 127.0.0.1 sends
# ``evil.example`` in the header Host; a server that accepts that lets pages of ``evil.example``
# read its answers.

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_EVERYWHERE = ("0.0.0.0", "::")
_NAME = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*")
"""A host as browsers write it, without a port; addresses of version 6 look otherwise."""


@dataclass(frozen=True)
class Hosts:
    names: frozenset[str]
    """Without a port, in lower case."""
    port: int
    any_address: bool = False
    """Whether any plain IP address is one; foreign names never are."""

    @classmethod
    def of(cls, host: str, port: int, also: Collection[str] = ()) -> Hosts:
        """The names of a server at ``host``; a UsageError if one of ``also`` is no name."""
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
    """A host as a part of an address.

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
    return host == "localhost" or (_is_address(host) and ip_address(host.strip("[]")).is_loopback)


def _is_address(name: str) -> bool:
    try:
        ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


# Requests that change something must come from a page of this server. A page of another site can
# make a browser send a form here. Browsers name the page's site in the header Origin, which no page
# can change. Under the referrer policy ``no-referrer`` they send ``null``, so pages with forms need
# ``same-origin``.

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


# Headers of every answer: nothing from outside, and only our own scripts.

# Attributes may have a style: drawings say how wide they may get. Elements with one may not.
_WITHOUT_SCRIPTS = (
    "default-src 'none'",
    "style-src 'self'",
    "style-src-attr 'unsafe-inline'",
    "img-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
)
POLICY = "; ".join((*_WITHOUT_SCRIPTS, "script-src 'self'", "connect-src 'self'"))
"""Of pages with our own scripts."""
STILL_POLICY = "; ".join(_WITHOUT_SCRIPTS)
"""Of pages that have no script at all."""
ALONE_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
"""Of a page that has its style with it and asks for nothing."""
HEADERS: Mapping[str, str] = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}

# A random word begins every address, known only to whoever saw it printed: other accounts of a
# machine, and pages of others in a browser, can reach a server at 127.0.0.1.

_BYTES = 32
"""Random bytes: 256 bits."""


@dataclass(frozen=True, repr=False)
class Token:
    """The random word that every address of a server begins with."""

    text: str

    @classmethod
    def new(cls) -> Token:
        return cls(secrets.token_urlsafe(_BYTES))

    @property
    def home(self) -> str:
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


STATIC = "/static/"
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_FOR_EVER = {"cache-control": "public, max-age=31536000, immutable"}


@dataclass(frozen=True)
class Asset:
    content: bytes
    media_type: str
    version: str
    """Changes with its content."""


@cache
def asset(name: str) -> Asset | None:
    suffix = name[name.rfind(".") :]
    if suffix not in _TYPES or name not in _names():
        return None
    content = files("crowdtally.web").joinpath("static", name).read_bytes()
    return Asset(content, _TYPES[suffix], hashlib.sha256(content).hexdigest()[:12])


@cache
def _names() -> frozenset[str]:
    return frozenset(one.name for one in files("crowdtally.web").joinpath("static").iterdir())


def address(name: str) -> str:
    """Where a page finds a file; another content has another address."""
    found = asset(name)
    if found is None:
        raise ValueError(f"there is no asset {name!r}")
    return f"{STATIC}{name}?v={found.version}"


def response(name: str) -> Response | None:
    """The file as an answer that browsers keep: its address changes with its content."""
    from starlette.responses import Response

    found = asset(name)
    if found is None:
        return None
    return Response(found.content, media_type=found.media_type, headers=_FOR_EVER)


TITLES = {
    400: "This cannot be understood",
    403: "This request comes from elsewhere",
    404: "There is no such page",
    405: "These pages are only read",
    408: "This took too long to come",
    409: "This cannot be done now",
    410: "This release is not served any more",
    413: "This is too long",
    414: "This address is too long",
    415: "This is no form of these pages",
    421: "This server has another name",
    422: "This takes too long",
    429: "Too many questions at once",
}
PROBLEM = "application/problem+json"
"""The type of a refusal for programs (RFC 9457)."""
_PACKAGE = "crowdtally.web"


class Refused(Exception):
    """A request that is refused, with its status and a message."""

    def __init__(self, status: int, words: str, **headers: str) -> None:
        super().__init__(words)
        self.status = status
        self.words = words
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}

    @property
    def title(self) -> str:
        return TITLES.get(self.status, "This went wrong")


def wants_json(path: str) -> bool:
    return path.endswith(".json")


def problem(refused: Refused) -> dict[str, Any]:
    return {"title": refused.title, "status": refused.status, "detail": refused.words}


def refusal(refused: Refused, path: str, **facts: Any) -> Response:
    """The page that refuses a request, or JSON for programs; ``facts`` are for the page."""
    from starlette.responses import HTMLResponse, JSONResponse

    if wants_json(path):
        return JSONResponse(
            problem(refused), refused.status, media_type=PROBLEM, headers=refused.headers
        )
    page = rendered(_PACKAGE, "refused.html", title=refused.title, words=refused.words, **facts)
    return HTMLResponse(page, refused.status, headers=refused.headers)


LONGEST = 8192
READING = ("GET", "HEAD")


@dataclass(frozen=True, eq=False)
class Gate:
    """An application behind checks of the name, the method and the length of each request.

    What is not only read, such as a form that is sent, must come from a page of the same server.
    """

    app: ASGIApp
    hosts: Hosts
    refusal: Callable[[Refused, str], Response]
    """Makes the answer to what is refused, from the refusal and the request's path."""
    methods: tuple[str, ...] = READING
    longest: int = LONGEST
    token: Token | None = None
    """With one, all addresses begin with it, and the application sees what is behind it."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Further ones of every answer."""
    tell: Callable[[Exception], None] = lambda error: None
    """Is called with unforeseen failures."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # there are no web sockets here, and nothing to prepare
            return

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = list(message.get("headers", ()))
                named = {name for name, _ in own}
                pairs = {**HEADERS, **self.headers}.items()
                more = [(name.encode(), value.encode()) for name, value in pairs]
                message["headers"] = [*own, *(one for one in more if one[0] not in named)]
            await send(message)

        try:
            self._look_at_name(scope)
            _look_at_sender(scope)
            inside = self._opened(scope)
            self._look_at(scope)
            await self.app(inside, receive, headed)
        except Refused as refused:
            await self.refusal(refused, scope["path"])(scope, receive, headed)
        except Exception as error:  # a last net: no traceback reaches a browser
            self.tell(error)
            words = f"An unforeseen failure ({type(error).__name__}): please report it."
            await self.refusal(Refused(500, words), scope["path"])(scope, receive, headed)

    def _look_at_name(self, scope: Mapping[str, Any]) -> None:
        """Refuse another server's name, before anything else looks at the request."""
        names = [value for name, value in scope["headers"] if name == b"host"]
        if len(names) != 1 or not self.hosts.knows(names[0].decode("latin-1")):
            known = sorted(self.hosts.names)
            raise Refused(
                421,
                "The request names another host. Open the address that was printed when the server "
                f"started: it is one of {', '.join(known)}, port {self.hosts.port}.",
            )

    def _opened(self, scope: Scope) -> Scope:
        """The request with the path behind the token; without it every request is refused alike."""
        if self.token is None:
            return scope
        path = self.token.behind(scope["path"])
        if path is None:
            raise Refused(
                404,
                "Open the whole address that was printed when the server started, with the long "
                "random word in it.",
            )
        return {**scope, "path": path, "raw_path": path.encode()}

    def _look_at(self, scope: Mapping[str, Any]) -> None:
        if scope["method"] not in self.methods:
            raise Refused(
                405,
                f"Ask with {' or '.join(self.methods)}: received {scope['method'][:20]!r}.",
                allow=", ".join(self.methods),
            )
        length = len(scope["raw_path"]) + len(scope["query_string"])
        if length > self.longest:
            raise Refused(
                414,
                f"It has {length:,} letters, and at most {self.longest:,} are read. Ask for fewer "
                "values, or shorten the condition.",
            )
        if scope["method"] not in READING and not is_own(scope["headers"]):
            raise Refused(
                403,
                "Only a page of this server may ask for it. Nothing was done. Open the address "
                "that was printed when the server started, and begin there.",
            )


def _look_at_sender(scope: Mapping[str, Any]) -> None:
    """Refuse what a page of another site asks for, and what says its length in two ways."""
    named = [name for name, _ in scope["headers"]]
    if b"content-length" in named and b"transfer-encoding" in named:
        # A proxy before this server may trust the other one, and take a body for a request.
        raise Refused(
            400,
            "It has both Content-Length and Transfer-Encoding: send one of them.",
            connection="close",
        )
    if (b"sec-fetch-site", b"cross-site") in scope["headers"]:
        raise Refused(
            403,
            "A page of another site asked for it. To see it, type its address into the browser.",
        )
