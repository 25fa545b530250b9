"""A secret in the address, and whose page it was that sent a form."""

from __future__ import annotations

import inspect

import pytest

from crowdtally.web import gate as module
from crowdtally.web.gate import Token, is_own

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
