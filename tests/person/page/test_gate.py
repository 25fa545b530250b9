"""Who may ask: with the secret, by the right name, from the own pages."""

from __future__ import annotations

import http.client

import pytest

from crowdtally.web.gate import Token
from kit.person_page import PageServed
from kit.served import PATIENCE

PAGES = ("", "?epsilon=1&levels=", "levels", "again", "so-far", "static/style.css")
HEADERS = {
    "cache-control": "no-store",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
ONCE = {"epsilon": "1", "levels": ""}


def test_the_secret_is_long_random_and_another_one_each_time() -> None:
    found = {Token.new().text for _ in range(100)}
    assert len(found) == 100
    assert all(len(text) >= 43 for text in found), "256 bits in base 64"


def test_without_the_secret_every_address_is_refused_alike(read: PageServed) -> None:
    secret = read.home.strip("/")
    wrong = [
        "/", "/static/style.css", "/levels", f"/{secret[:-1]}/", f"/{secret}x/", f"/x{secret}/",
        f"/{secret.swapcase()}/", f"//{secret}/", f"/x/{secret}/", f"/%20{secret}/", "/%ff/",
        "/%C3%A9/", f"/?{secret}", "/favicon.ico", "/x.json", f"/{'a' * 5000}/",
    ]  # fmt: skip
    found = [read.ask(path) for path in wrong]
    found += [read.ask("/", method) for method in ("POST", "PUT", "OPTIONS", "DELETE")]
    assert {answer.status for answer in found} == {404}
    assert len({answer.body for answer in found}) == 1, "one refusal for all"
    assert secret not in found[0].text
    assert found[0].text.count("href=") == 1, "it skips to the content, and leads nowhere"


def test_the_secret_without_a_slash_leads_to_the_first_page(read: PageServed) -> None:
    answer = read.ask(read.home.rstrip("/"))
    assert (answer.status, answer.headers["location"]) == (302, read.home)


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1",
     "127.0.0.1.evil.example:{port}", "0.0.0.0:{port}"],
)  # fmt: skip
def test_another_name_is_refused_also_with_the_secret(read: PageServed, host: str) -> None:
    named = {"host": host.format(port=read.port)}
    for answer in (read.ask(headers=named), read.ask("draw", "POST", named)):
        assert answer.status == 421
        assert "comedy" not in answer.text


def test_names_of_this_machine_are_known(read: PageServed) -> None:
    assert read.ask(headers={"host": f"localhost:{read.port}"}).status == 200


def test_a_request_with_two_names_is_refused(read: PageServed) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", read.port, timeout=PATIENCE)
    connection.putrequest("GET", read.home, skip_host=True)
    for name in (f"127.0.0.1:{read.port}", "evil.example"):
        connection.putheader("host", name)
    connection.endheaders()
    assert connection.getresponse().status in (400, 421)
    connection.close()


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "null"},
        {"origin": "http://evil.example"},
        {"origin": "http://127.0.0.1"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": "https://127.0.0.1:{port}"},
        {"origin": "http://localhost:{port}"},
        {"origin": "http://127.0.0.1:{port}.evil.example"},
        {"origin": "null", "sec-fetch-site": "same-origin"},
        {"origin": "http://evil.example", "sec-fetch-site": "same-origin"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "none"},
        {"referer": "http://127.0.0.1:{port}/"},
    ],
)
@pytest.mark.parametrize("path", ["draw", "release", "choose"])
def test_a_form_from_elsewhere_does_nothing(
    read: PageServed, path: str, headers: dict[str, str]
) -> None:
    sent = {name: value.format(port=read.port) for name, value in headers.items()}
    answer = read.send(path, sent, **ONCE)
    assert answer.status == 403
    assert not read.desk.store.home.path.exists()


def test_a_form_of_a_browser_that_names_no_origin_is_taken(read: PageServed) -> None:
    answer = read.send("choose", {"sec-fetch-site": "same-origin"}, overall="typed", epsilon="2")
    assert (answer.status, answer.headers["location"]) == (303, "./?epsilon=2&levels=")


@pytest.mark.parametrize("path", ["draw", "release", "choose"])
def test_what_a_button_does_is_not_done_by_looking(read: PageServed, path: str) -> None:
    for method in ("GET", "HEAD"):
        answer = read.ask(f"{path}?epsilon=1&levels=", method)
        assert (answer.status, answer.headers["allow"]) == (405, "POST")


def test_pages_are_not_sent_to(read: PageServed) -> None:
    for path in ("", "levels", "again", "so-far"):
        assert read.send(path, **ONCE).status == 405
    for method in ("PUT", "DELETE", "OPTIONS", "PATCH"):
        answer = read.ask("", method)
        assert answer.status == 405
        assert "access-control-allow-origin" not in answer.headers


def test_every_answer_has_the_strict_headers(read: PageServed) -> None:
    answers = [read.ask(path) for path in (*PAGES, "nowhere", "?epsilon=x", "draw")]
    answers += [read.ask("/"), read.send("draw", {}), read.send("choose", epsilon="1")]
    for answer in answers:
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
        parts = answer.headers["content-security-policy"].split("; ")
        policy = dict(part.split(" ", 1) for part in parts)
        assert policy["default-src"] == "'none'"
        assert policy["frame-ancestors"] == policy["base-uri"] == "'none'"
        assert policy["form-action"] in ("'self'", "'none'")
        assert "script-src" not in policy, "so none runs"
        assert policy["style-src"] == "'self'" or answer.status >= 400
        assert "<script" not in answer.text.lower()


def test_links_lead_nowhere_else_and_do_not_spell_the_secret(read: PageServed) -> None:
    import re

    for path in PAGES[:-1]:
        text = read.ask(path).text
        targets = re.findall(r'(?:href|src|action)="([^"]*)"', text)
        assert targets
        assert all(not re.match(r"[a-z]+:|/", target) for target in targets), targets
        assert read.home.strip("/") not in text
        assert 'name="referrer" content="same-origin"' in text, "else browsers say Origin: null"


def test_a_form_that_is_none_is_refused(read: PageServed) -> None:
    own = {"origin": read.origin}
    form = {**own, "content-type": "application/x-www-form-urlencoded"}
    assert read.ask("draw", "POST", own, b"epsilon=1").status == 415
    assert (
        read.ask("draw", "POST", {**own, "content-type": "text/plain"}, b"epsilon=1").status == 415
    )
    assert read.ask("draw", "POST", form, b"x" * (1 << 19)).status == 413
    assert read.ask("draw", "POST", form, b"epsilon=%ff").status == 400
    assert read.ask("draw", "POST", form, "epsilon=ü".encode()).status == 400
    assert read.ask("draw", "POST", form, b"&".join([b"a=1"] * 2000)).status == 400
    for damaged in (
        "epsilon=1&epsilon=2",
        "epsilon=1&strange=2",
        "epsilon=1&seen=-1",
        "epsilon=1&seen=x",
    ):
        assert read.ask("draw", "POST", form, damaged.encode()).status == 400
    assert read.ask("", headers={"accept-language": "x" * 5000}).status == 200


def test_an_address_that_is_damaged_is_refused_with_a_way_back(read: PageServed) -> None:
    for query in (
        "epsilon=0", "epsilon=-1", "epsilon=1e99", "epsilon=x", "strange=1", "epsilon=1&epsilon=2",
        "levels=no", "levels=no:99", "levels=no:3-1", "levels=:1", "levels=policy:1", "levels=no:x",
        "epsilon=1&page=0", "epsilon=1&page=x", "epsilon=1&draw=0", "sort=fast", "epsilon=%ff",
        "epsilon=" + "1" * 100, "epsilon=1&draw=7", "levels=no:0-999999999999",
    ):  # fmt: skip
        answer = read.ask(f"?{query}")
        assert answer.status == 400, query
        assert f'href="{read.home}"' in answer.text
    assert read.ask(f"?q={'x' * 70_000}").status == 414
