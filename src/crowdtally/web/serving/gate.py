"""Before every answer: whether the request is one that this server answers at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from crowdtally.web.serving.hosts import Hosts
from crowdtally.web.serving.origin import is_own
from crowdtally.web.serving.policy import HEADERS
from crowdtally.web.serving.refusing import Refused
from crowdtally.web.serving.token import Token

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LONGEST = 8192
"""Letters of an address."""
READING = ("GET", "HEAD")


class Gate:
    """An application behind checks of the name, the method and the length of each request.

    What is not only read, such as a form that is sent, must come from a page of the same server.

    Args:
        app: what answers.
        hosts: the names of the server.
        refusal: makes the answer to what is refused, from the refusal and the request's path.
        methods: those that are answered.
        longest: letters of an address.
        token: with one, all addresses begin with it, and the application sees what is behind it.
        headers: further ones of every answer.
        tell: is told of what nobody foresaw.
    """

    def __init__(
        self,
        app: ASGIApp,
        hosts: Hosts,
        refusal: Callable[[Refused, str], Response],
        *,
        methods: tuple[str, ...] = READING,
        longest: int = LONGEST,
        token: Token | None = None,
        headers: Mapping[str, str] | None = None,
        tell: Callable[[Exception], None] = lambda error: None,
    ) -> None:
        self._app = app
        self._hosts = hosts
        self._refusal = refusal
        self._methods = methods
        self._longest = longest
        self._token = token
        self._tell = tell
        everywhere = {**HEADERS, **(headers or {})}
        self._headers = [(name.encode(), value.encode()) for name, value in everywhere.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":  # there are no web sockets here, and nothing to prepare
            return

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = {name for name, _ in message.get("headers", ())}
                more = [one for one in self._headers if one[0] not in own]
                message["headers"] = [*message.get("headers", ()), *more]
            await send(message)

        try:
            self._look_at_name(scope)
            _look_at_sender(scope)
            inside = self._opened(scope)
            self._look_at(scope)
            await self._app(inside, receive, headed)
        except Refused as refused:
            await self._refusal(refused, scope["path"])(scope, receive, headed)
        except Exception as error:  # a last net: no traceback reaches a browser
            self._tell(error)
            words = f"An unforeseen failure ({type(error).__name__}): please report it."
            await self._refusal(Refused(500, words), scope["path"])(scope, receive, headed)

    def _look_at_name(self, scope: Mapping[str, Any]) -> None:
        """Refuse another server's name, before anything else looks at the request."""
        names = [value for name, value in scope["headers"] if name == b"host"]
        if len(names) != 1 or not self._hosts.knows(names[0].decode("latin-1")):
            known = sorted(self._hosts.names)
            raise Refused(
                421,
                "The request names another host. Open the address that was printed when the server "
                f"started: it is one of {', '.join(known)}, port {self._hosts.port}.",
            )

    def _opened(self, scope: Scope) -> Scope:
        """The request with the path behind the token; without it every request is refused alike."""
        if self._token is None:
            return scope
        path = self._token.behind(scope["path"])
        if path is None:
            raise Refused(
                404,
                "Open the whole address that was printed when the server started, with the long "
                "random word in it.",
            )
        return {**scope, "path": path, "raw_path": path.encode()}

    def _look_at(self, scope: Mapping[str, Any]) -> None:
        """Refuse what this server does not answer."""
        if scope["method"] not in self._methods:
            raise Refused(
                405,
                f"Ask with {' or '.join(self._methods)}: received {scope['method'][:20]!r}.",
                allow=", ".join(self._methods),
            )
        length = len(scope["raw_path"]) + len(scope["query_string"])
        if length > self._longest:
            raise Refused(
                414,
                f"It has {length:,} letters, and at most {self._longest:,} are read. Ask for fewer "
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
        # A proxy before this server may go by the other one, and take a body for a request.
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
