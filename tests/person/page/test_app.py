"""Who may ask a person's page, and that nothing of the history is elsewhere."""

from __future__ import annotations

import http.client
import logging
from pathlib import Path

import pytest

from crowdtally.person.page.actions import Choice, Desk
from crowdtally.web.gate import Token
from kit.pages import PATIENCE
from kit.person import NAMES, OWN, PageServed, desk_in, page_of

# ---- Who may ask: with the secret, by the right name, from the own pages -------------------------


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


# ---- Nothing of the history is anywhere but on the person's own pages ----------------------------


def everything(page: PageServed) -> list[str]:
    """All that is answered where something is refused."""
    wrong = [
        page.ask("/"), page.ask(headers={"host": "evil.example"}), page.send("draw", {}),
        page.ask("nowhere"), page.ask("draw"), page.ask("?epsilon=x"), page.ask("?levels=no:99"),
        page.send("release", epsilon="1", levels="", draw=9, name="a.csv"),
        page.send("release", epsilon="1", levels="", draw=1, name="../a"),
        page.send("draw", epsilon="1", levels="all:0-1"),
    ]  # fmt: skip
    assert all(answer.status >= 400 for answer in wrong)
    return [answer.text for answer in wrong]


def test_no_item_is_in_addresses_refusals_logs_or_the_store(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    # "No release" of all of the history, so that no draw can have one of its items by chance.
    films = {
        "Mine-1618": ["mine"], "Also-0339": ["mine"],
        "Other-8874": ["other"], "Else-9894": ["other"],
    }  # fmt: skip
    own = ("Mine-1618", "Also-0339")
    with page_of(desk_in(tmp_path, films=films, own=own)) as page:
        choice = Choice("1", {0: "no"})
        page.draw(choice)
        page.draw(choice, seen=1)
        page.press("release", **dict(choice.fields), draw=1, name="a.csv")
        page.send("choose", overall="typed", epsilon="1", levels=choice.packed, **{"level-0": "no"})
        for look in ("", "levels", "so-far", f"again?{choice.query()}", f"?{choice.query()}"):
            page.ask(look)
        refused = everything(page)
    captured = capfd.readouterr()
    spoken = [*page.seen, *refused, captured.out, captured.err, caplog.text, *page.told]
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or not any(item.encode() in path.read_bytes() for item in own), (
            path
        )
    for item in own:
        assert not any(item in text for text in spoken)
    secret = page.home.strip("/")
    assert not any(secret in text for text in (captured.out, captured.err, caplog.text))
    assert captured.err == captured.out == ""


def test_addresses_say_the_same_whatever_the_history(tmp_path: Path) -> None:
    led = []
    for number, own in enumerate((OWN, (), ("Heat-9793", "Ronin-2384"))):
        with page_of(desk_in(tmp_path / str(number), own=own)) as page:
            page.draw(Choice("1"))
            page.press("release", epsilon="1", levels="", draw=1, name="a.csv")
            form = page.ask("levels").text
            page.send("choose", overall="typed", epsilon="2", levels="", **{"level-0": "no"})
            order = [form.index(f"<bdi>{name}</bdi>") for name in NAMES]
            assert order == sorted(order), "a form in another order would tell which are theirs"
            led.append([one.removeprefix(page.home) for one in page.seen])
    assert led[0] == led[1] == led[2]


def test_forms_keep_no_private_field(read: PageServed) -> None:
    import re

    for look in ("", "levels", "again?epsilon=1&levels="):
        names = set(re.findall(r'<input[^>]* name="([^"]+)"', read.ask(look).text))
        known = r"epsilon|levels|overall|q|page|seen|(level|other)-\d+"
        assert all(re.fullmatch(known, name) for name in names), names
        assert not any(item in read.ask(look).text for item in OWN), "items are not listed"


def test_nothing_shows_itself_by_accident(tmp_path: Path) -> None:
    desk: Desk = desk_in(tmp_path)
    assert "Alien" not in repr(desk)
    token = Token.new()
    assert token.text not in repr(token)
