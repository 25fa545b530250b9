"""Which requests a server answers: hosts, origins, secrets in addresses, files of pages."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
from starlette.responses import PlainTextResponse

from crowdtally.errors import UsageError
from crowdtally.web import gate
from crowdtally.web import gate as module
from crowdtally.web.gate import (
    HEADERS,
    LONGEST,
    POLICY,
    Gate,
    Hosts,
    Refused,
    Token,
    is_loopback,
    is_own,
    refusal,
)
from crowdtally.web.server import bound, run, url_of
from kit.pages import Served, in_own_loop, running

# ---- Which requests a server answers at all, and what every answer says to browsers --------------


PORT = 8080
HOME = Hosts.of("127.0.0.1", PORT)
EVERYWHERE = Hosts.of("0.0.0.0", PORT)


@pytest.mark.parametrize(
    "header",
    ["127.0.0.1:8080", "localhost:8080", "LocalHost:8080", "[::1]:8080"],
)
def test_names_of_the_machine_itself_are_known(header: str) -> None:
    assert HOME.knows(header)
    assert EVERYWHERE.knows(header)


@pytest.mark.parametrize(
    "header",
    [
        "evil.example", "evil.example:8080", "127.0.0.1.evil.example:8080", "localhost.:8080",
        "localhost", "127.0.0.1", "[::1]", "localhost:80", "localhost:", ":8080", "", "8080",
        "localhost:8080:8080", "localhost:08080", "localhost:8080 ", "evil@localhost:8080",
        "localhost:8080/", "[::1]:8081", "[::1", "::1:8080", "0x7f000001:8080", "2130706433:8080",
        "127.1:8080", "localhost\x00:8080", "lоcalhost:8080",
    ],
)  # fmt: skip
def test_others_are_not(header: str) -> None:
    assert not HOME.knows(header)


def test_a_server_for_all_knows_addresses_but_no_names() -> None:
    assert EVERYWHERE.knows("192.168.1.7:8080")
    assert EVERYWHERE.knows("[fe80::1]:8080")
    assert not EVERYWHERE.knows("evil.example:8080")
    assert not HOME.knows("192.168.1.7:8080")


def test_a_further_name_is_known_with_any_port_and_alone() -> None:
    hosts = Hosts.of("127.0.0.1", PORT, ["Counts.Example.org", "::2"])
    for header in ("counts.example.org", "counts.example.org:443", "[::2]:8080", "localhost:8080"):
        assert hosts.knows(header)
    assert not hosts.knows("example.org")
    assert not hosts.knows("other.counts.example.org")


def test_the_address_at_which_it_listens_is_known() -> None:
    assert Hosts.of("192.168.1.7", PORT).knows("192.168.1.7:8080")
    assert Hosts.of("MyBox", PORT).knows("mybox:8080")
    assert Hosts.of("80", 80).knows("localhost"), "browsers leave port 80 out"


@pytest.mark.parametrize("name", ["", "*", "a:80", "http://a", "a/b", "a b", "[", "a..b", ".a"])
def test_a_further_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="that of a host alone"):
        Hosts.of("127.0.0.1", PORT, [name])


def test_which_addresses_others_can_reach() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "localhost", "::1", "[::1]")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.168.1.7", "", "example.org")))


async def _app(scope: Any, receive: Any, send: Any) -> None:
    match scope["path"]:
        case "/boom" | "/boom.json":
            raise ZeroDivisionError("a secret")
        case "/refused" | "/refused.json":
            raise Refused(429, "Try <b>again</b>.", retry_after="2")
        case "/late":
            await PlainTextResponse("begun")(scope, receive, send)
            raise ZeroDivisionError
    await PlainTextResponse("hello", headers={"x-frame-options": "OWN"})(scope, receive, send)


@pytest.fixture(scope="module")
def told() -> list[Exception]:
    return []


@pytest.fixture(scope="module")
def server(told: list[Exception]) -> Iterator[Served]:
    with bound("127.0.0.1", 0) as listening:
        hosts = Hosts.of("127.0.0.1", listening.getsockname()[1], ["proxy.example"])
        gate = Gate(_app, hosts, refusal, headers={"x-more": "1"}, tell=told.append)
        address = f"{url_of(listening, '127.0.0.1')}/"
        with running(lambda ready: run(gate, listening, lambda: ready(address))) as found:
            yield found


def test_every_kind_of_answer_has_the_policy(server: Served) -> None:
    asked = [
        (server.ask("/"), 200), (server.ask("/boom"), 500), (server.ask("/boom.json"), 500),
        (server.ask("/refused"), 429), (server.ask("/", "POST"), 405),
        (server.ask("/", "HEAD"), 200), (server.ask("/", headers={"Host": "evil.example"}), 421),
        (server.ask("/?" + "x" * LONGEST), 414),
    ]  # fmt: skip
    for answer, status in asked:
        assert answer.status == status
        assert answer.headers["x-more"] == "1"
        for name, value in HEADERS.items():
            assert answer.headers[name] in (value, "OWN"), name
        assert "server" not in answer.headers
    assert asked[0][0].headers["x-frame-options"] == "OWN", "an answer's own stays, once"


def test_the_policy_lets_no_script_in() -> None:
    rules = dict(one.split(" ", 1) for one in POLICY.split("; "))
    assert rules["default-src"] == "'none'"
    assert rules["script-src"] == "'self'"
    assert "'unsafe-inline'" not in rules["script-src"] + rules["style-src"]
    assert "unsafe-eval" not in POLICY
    assert rules["frame-ancestors"] == rules["base-uri"] == "'none'"


@pytest.mark.parametrize("name", ["localhost", "proxy.example", "proxy.example:443"])
def test_a_known_name_is_answered(server: Served, name: str) -> None:
    host = f"localhost:{server.port}" if name == "localhost" else name
    assert server.ask("/", headers={"Host": host}).text == "hello"


def test_a_forged_name_is_told_the_right_one(server: Served) -> None:
    for name in ("evil.example", f"evil.example:{server.port}", "127.0.0.1:1", "127.0.0.1"):
        answer = server.ask("/", headers={"Host": name})
        assert answer.status == 421
        assert f"port {server.port}" in answer.text
        assert "hello" not in answer.text


@pytest.mark.parametrize(
    "hosts",
    [[], ["Host: 127.0.0.1:{port}", "Host: evil.example"], ["Host: 127.0.0.1:{port}"] * 2],
)
def test_a_request_without_a_name_or_with_two_is_refused(server: Served, hosts: list[str]) -> None:
    lines = [one.format(port=server.port) for one in hosts]
    found = server.said("GET / HTTP/1.1", *lines, "", "")
    assert found.startswith(b"HTTP/1.1 400 "), found
    assert b"its host exactly once" in found
    assert POLICY.encode() in found
    assert b"hello" not in found


def test_an_old_request_without_a_name_is_refused(server: Served) -> None:
    assert server.said("GET / HTTP/1.0", "", "").startswith(b"HTTP/1.1 421 ")


@pytest.mark.parametrize(
    "line",
    ["GET /", "\x16\x03\x01\x02", "GET /a b HTTP/1.1", "GET /ü HTTP/1.1", "\x00"],
)
def test_what_is_no_http_is_told_so(server: Served, line: str) -> None:
    found = server.said(line, f"Host: 127.0.0.1:{server.port}", "", "")
    assert found.startswith(b"HTTP/1.1 400 "), found
    assert b"no request that is understood" in found
    assert server.ask("/").status == 200


def test_an_address_elsewhere_is_not_fetched(server: Served) -> None:
    found = server.said(
        "GET http://evil.example/ HTTP/1.1", f"Host: 127.0.0.1:{server.port}", "Connection: close",
        "", "",
    )  # fmt: skip
    assert found.split(b" ")[1] in (b"200", b"404"), "it is a path like any other"
    assert b"hello" in found


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "FOO"])
def test_other_methods_are_told_which_are_answered(server: Served, method: str) -> None:
    answer = server.ask("/", method)
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")


def test_a_million_letters_are_told_how_many_are_read(server: Served) -> None:
    answer = server.ask("/?q=" + "x" * 10**6)
    assert answer.status == 414
    assert "at most 8,192" in answer.text
    assert server.ask("/?" + "x" * (LONGEST - 1)).status == 200
    # More than that is not even read: the connection ends, or says why.
    head = f"GET /?{'x' * (3 << 20)} HTTP/1.1"
    try:
        found = server.said(head, f"Host: 127.0.0.1:{server.port}", "", "")
    except (BrokenPipeError, ConnectionResetError):
        found = b""
    assert found[:13] in (b"", b"HTTP/1.1 400 ")
    assert server.ask("/").status == 200


def test_a_failure_tells_no_secret_and_is_told(server: Served, told: list[Exception]) -> None:
    told.clear()
    answer = server.ask("/boom")
    assert (answer.status, "a secret" in answer.text, "Traceback" in answer.text) == (
        500, False, False,
    )  # fmt: skip
    assert list(map(str, told)) == ["a secret"]
    assert server.ask("/boom.json").json["status"] == 500


def test_a_failure_after_an_answer_began_ends_it(server: Served) -> None:
    assert server.ask("/late").text == "begun"
    assert server.ask("/").status == 200


def test_programs_get_a_problem_and_people_a_page(server: Served) -> None:
    page, problem = server.ask("/refused"), server.ask("/refused.json")
    assert page.headers["retry-after"] == problem.headers["retry-after"] == "2"
    assert page.headers["content-type"].startswith("text/html")
    assert "Try &lt;b&gt;again" in page.text
    assert problem.headers["content-type"] == "application/problem+json"
    assert problem.json == {
        "title": "Too many questions at once", "status": 429, "detail": "Try <b>again</b>.",
    }  # fmt: skip


def test_what_is_no_request_over_http_is_not_answered() -> None:
    gate = Gate(_app, HOME, refusal)

    async def nobody(*_: object) -> None:
        raise AssertionError

    for kind in ("websocket", "lifespan"):
        in_own_loop(gate({"type": kind}, nobody, nobody))


@pytest.mark.parametrize("path", ["/", "/sum.json"])
def test_a_page_of_another_site_gets_nothing(server: Served, path: str) -> None:
    """An image whose address is a question would be asked by any page that somebody looks at."""
    for name in ("Sec-Fetch-Site", "sec-fetch-site"):
        answer = server.ask(path, headers={name: "cross-site"})
        assert (answer.status, "hello" in answer.text) == (403, False)
        assert "another site" in answer.text
    for site in ("same-origin", "same-site", "none"):
        assert server.ask(path, headers={"Sec-Fetch-Site": site}).text == "hello"


def test_a_request_that_says_its_length_in_two_ways_is_refused(server: Served) -> None:
    """A proxy that goes by the other one would take the rest for a request of somebody else."""
    host = f"Host: 127.0.0.1:{server.port}"
    length, chunked = "Content-Length: 4", "Transfer-Encoding: chunked"
    for both in ((length, chunked), (chunked, length)):
        rest = ("", "0", "", f"GET /smuggled HTTP/1.1\r\n{host}", "", "")
        found = server.said("GET / HTTP/1.1", host, *both, *rest)
        assert found.count(b"HTTP/1.1 ") == 1, "the connection ends with the refusal"
        assert found.startswith(b"HTTP/1.1 400 ")
        assert b"both Content-Length and Transfer-Encoding" in found
    alone = server.said("GET / HTTP/1.1", host, "Connection: close", chunked, "", "0", "", "")
    assert alone.startswith(b"HTTP/1.1 200 ")


# ---- A secret in the address, and whose page it was that sent a form -----------------------------


HOST = (b"host", b"127.0.0.1:8000")


@pytest.mark.parametrize(
    ("path", "behind"),
    [
        ("/secret/", "/"), ("/secret/a/b", "/a/b"), ("/secret", ""), ("/secret//", "//"),
        ("/secre/", None), ("/secrets/", None), ("secret/", None), ("//secret/", None),
        ("/x/secret/", None), ("/", None), ("", None), ("/sécret/", None), ("/\udcff/", None),
    ],
)  # fmt: skip
def test_the_path_behind_the_secret(path: str, behind: str | None) -> None:
    assert Token("secret").behind(path) == behind


def test_secrets_are_compared_in_constant_time() -> None:
    assert "compare_digest(" in inspect.getsource(module.Token.behind)


@pytest.mark.parametrize(
    ("headers", "own"),
    [
        ([HOST, (b"origin", b"http://127.0.0.1:8000")], True),
        ([HOST, (b"Origin", b"HTTP://127.0.0.1:8000")], True),
        ([HOST, (b"sec-fetch-site", b"same-origin")], True),
        ([HOST], False),
        ([HOST, (b"origin", b"null")], False),
        ([HOST, (b"origin", b"")], False),
        ([HOST, (b"origin", b"http://127.0.0.1")], False),
        ([HOST, (b"origin", b"https://127.0.0.1:8000")], False),
        ([HOST, (b"origin", b"http://localhost:8000")], False),
        ([HOST, (b"origin", b"http://127.0.0.1:8000"), (b"origin", b"http://evil")], False),
        ([HOST, (b"origin", b"http://evil"), (b"sec-fetch-site", b"same-origin")], False),
        ([HOST, (b"sec-fetch-site", b"same-site")], False),
        ([HOST, (b"sec-fetch-site", b"same-origin"), (b"sec-fetch-site", b"none")], False),
        ([(b"origin", b"http://")], False),
    ],
)
def test_whose_page_it_was(headers: list[tuple[bytes, bytes]], own: bool) -> None:
    assert is_own(headers) is own


# ---- The few files that pages need: known by their content, and nothing else ---------------------


HTMX = "2.0.11"


@pytest.mark.parametrize("name", ["style.css", "htmx.min.js", "icon.svg"])
def test_another_content_has_another_address(name: str) -> None:
    content = files("crowdtally.web").joinpath("static", name).read_bytes()
    assert gate.address(name) == f"/static/{name}?v={hashlib.sha256(content).hexdigest()[:12]}"
    answer = gate.response(name)
    assert answer is not None
    assert answer.body == content
    assert "immutable" in answer.headers["cache-control"]


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "style.css/", "../pages.py", "../static/style.css", "nothing.css", "STYLE.CSS",
     "style.css\x00", "x" * 5000 + ".css", "__init__.py", "style"],
)  # fmt: skip
def test_nothing_else_is_found(name: str) -> None:
    assert gate.asset(name) is None
    assert gate.response(name) is None
    with pytest.raises(ValueError, match="no asset"):
        gate.address(name)


def test_the_script_is_the_version_that_notices_name_and_needs_no_eval() -> None:
    found = gate.asset("htmx.min.js")
    assert found is not None
    assert f'version:"{HTMX}"'.encode() in found.content
    assert b"http://" not in found.content.replace(b"http://www.w3.org", b"")
