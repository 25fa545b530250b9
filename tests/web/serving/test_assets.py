"""The few files that pages need: known by their content, and nothing else."""

from __future__ import annotations

import hashlib
from importlib.resources import files

import pytest

from crowdtally.web import gate

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
