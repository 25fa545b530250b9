"""What a server answers to programs, and its own description of it."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import jsonschema
import polars as pl
import pyarrow.parquet as pq
import pytest

import crowdtally as ct
from crowdtally.reader.answers.answer import AnswerTable
from crowdtally.reader.server.app import FORMATS
from crowdtally.reader.server.views import VIEWS
from crowdtally.web.gate import TITLES
from kit.command import crowdtally
from kit.pages import KINDS, Served
from kit.stored import stored

# ---- What programs get is what the library and the command line say, in every form ---------------


Ask = Callable[[ct.Release], AnswerTable]
CASES: list[tuple[str, str, dict[str, Any], Ask]] = [
    ("auto", "top", {}, lambda r: r.top(10)),
    ("auto", "top", {"k": 3, "context": "day=Mon"}, lambda r: r.top(3, day="Mon")),
    ("auto", "top", {"context": ["day=Mon", "day=Sun"]}, lambda r: r.top(10, day=["Mon", "Sun"])),
    ("auto", "top", {"raw": "yes", "k": 1000}, lambda r: r.top(1000, raw=True)),
    ("by-user", "top", {"k": 100, "context": "sex=f"}, lambda r: r.top(100, sex="f")),
    ("labels", "top", {"context": "day=Tue", "raw": "no"}, lambda r: r.top(10, day="Tue")),
    ("top", "top", {"k": 5}, lambda r: r.top(5)),
    ("top-in-contexts", "top", {"context": "sex=m"}, lambda r: r.top(10, sex="m")),
    ("filter-one", "top", {"k": 7}, lambda r: r.top(7)),
    ("discovered", "top", {}, lambda r: r.top()),
    ("auto", "recommend", {"k": 2}, lambda r: r.recommend(2)),
    ("by-user", "recommend", {"by": "special", "context": "sex=f"},
     lambda r: r.recommend(by="special", sex="f")),
    ("by-user", "recommend", {"without": ["1", "2"], "context": "sex=m"},
     lambda r: r.recommend(without=[1, 2], sex="m")),
    ("labels", "recommend", {"without": "zoo", "raw": "yes"},
     lambda r: r.recommend(without="zoo", raw=True)),
    ("labels", "recommend", {}, lambda r: r.recommend()),
    ("auto", "sum", {}, lambda r: r.sum()),
    ("auto", "sum", {"where": "day = 'Mon'"}, lambda r: r.sum("day = 'Mon'")),
    ("auto", "sum", {"value": ["day=Mon", "item=zoo"]}, lambda r: r.sum(day="Mon", item="zoo")),
    ("auto", "sum", {"from_": "day=Mon", "to": "day=Sun"}, lambda r: r.range("day", "Mon", "Sun")),
    ("auto", "sum", {"to": "day=Mon", "value": "item=zoo"},
     lambda r: r.prefix("day", "Mon", item="zoo")),
    ("attributes", "sum", {"from_": "age=2", "to": "age=5", "value": "sex=f"},
     lambda r: r.range("age", 2, 5, sex="f")),
    ("sra-attributes", "sum", {}, lambda r: r.sum()),
    ("labels", "sum", {"where": "label = 'The old Zoo'"}, lambda r: r.sum("label = 'The old Zoo'")),
    ("auto", "item", {"item": "mill"}, lambda r: r.sum(item="mill")),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "view", "query", "ask"), CASES)
def test_json_is_the_librarys(
    kind: str, view: str, query: dict[str, Any], ask: Ask, server: Served,
    releases: dict[str, ct.Release],
) -> None:  # fmt: skip
    answer = server.ask(f"/r/{kind}/{view}.json", **query)
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.text == f"{ask(releases[kind]).to_json()}\n"


@pytest.mark.parametrize(("kind", "view", "query", "ask"), CASES[::3])
def test_files_read_back_equal(
    kind: str, view: str, query: dict[str, Any], ask: Ask, server: Served,
    releases: dict[str, ct.Release],
) -> None:  # fmt: skip
    wanted = ask(releases[kind])
    table = server.ask(f"/r/{kind}/{view}.csv", **query)
    assert table.headers["content-disposition"] == f'attachment; filename="{view}.csv"'
    assert table.body == wanted.to_csv().encode("utf-8-sig")
    answer = server.ask(f"/r/{kind}/{view}.parquet", **query)
    assert pq.read_table(io.BytesIO(answer.body)).to_pylist() == wanted.to_dicts()
    assert pl.read_csv(table.body).height == len(wanted.to_dicts())


@pytest.mark.parametrize(
    ("kind", "view", "query", "command"),
    [
        ("sra-two-contexts", "top", {}, ["top"]),
        ("sra-two-contexts", "top", {"k": 4, "context": ["day=Fri", "hour=12"]},
         ["top", "-k", 4, "--context", "day=Fri", "--context", "hour=12"]),
        ("sra-one-context", "top", {"raw": "yes"}, ["top", "--raw"]),
        ("pairs", "recommend", {"like": 3, "k": 5}, ["recommend", "--like", 3, "-k", 5]),
        ("sra-one-context", "recommend", {"context": ["day=Fri", "day=Sun"], "by": "popular"},
         ["recommend", "--context", "day=Fri", "--context", "day=Sun", "--by", "popular"]),
        ("sra-attributes", "sum", {"where": "sex = 'F'"}, ["sum", "--where", "sex = 'F'"]),
        ("haar-items", "sum", {}, ["sum"]),
    ],
)  # fmt: skip
def test_json_is_the_command_lines(
    kind: str, view: str, query: dict[str, Any], command: list[Any], server: Served
) -> None:
    ended = crowdtally(command[0], stored(kind), *command[1:], "--json")
    answer = server.ask(f"/r/{kind}/{view}.json", **query)
    if ended.code:
        assert answer.status == 400, ended
        assert answer.json["detail"] in ended.err
    else:
        assert answer.text == ended.out


@pytest.mark.parametrize("of", ["counts", "shares"])
def test_what_changed_is_the_command_lines(server: Served, of: str) -> None:
    pair = [stored("sra-one-context"), stored("sra-record-id")]
    query = {"earlier": "sra-one-context", "later": "sra-record-id", "fdr": "0.9", "of": of}
    for contexts in ([], ["day=Fri", "day=Sun"]):
        options = [word for one in contexts for word in ("--context", one)]
        ended = crowdtally(
            "changes", *pair, "--fdr", "0.9", "--of", of, *options, "-k", 50, "--json"
        )
        assert server.ask("/compare.json", **query, context=contexts).text == ended.out
        page = server.ask("/compare", **query, context=contexts)
        assert page.status == 200
        assert page.text.count("<tr>") >= len(json.loads(ended.out))


def test_what_cannot_be_compared_says_why_and_shows_both(server: Served) -> None:
    same = server.ask("/compare", earlier="auto", later="auto")
    assert same.status == 400
    assert "the same release" in same.text
    assert "Side by side" in same.text
    other = server.ask("/compare.json", earlier="auto", later="by-user")
    assert (other.status, "two domains" in other.json["detail"]) == (400, True)


def test_one_release_is_not_compared(releases: dict[str, ct.Release]) -> None:
    from kit.pages import serving

    with serving([releases["labels"]]) as alone:
        first = alone.ask("/")
        assert (first.status, first.headers["location"]) == (302, "/r/labels/")
        answer = alone.ask("/compare")
        assert (answer.status, "start with both" in answer.text) == (400, True)
        assert "/compare.json" not in alone.ask("/openapi.json").json["paths"]


# ---- The description for programs: valid, complete, and true of what is answered, also to
#      nonsense


QUICK, LONG = 12, 400
"""Examples of each question."""


@pytest.fixture(scope="module")
def described(server: Served) -> dict[str, Any]:
    answer = server.ask("/openapi.json")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    found: dict[str, Any] = answer.json
    return found


def test_it_is_valid(described: dict[str, Any]) -> None:
    import schemathesis

    schemathesis.openapi.from_dict(described).validate()
    for operation in described["paths"].values():
        schema = operation["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        jsonschema.Draft202012Validator.check_schema(schema)
        for one in operation["get"]["parameters"]:
            jsonschema.Draft202012Validator.check_schema(one["schema"])


def test_every_question_is_there_and_answers(described: dict[str, Any], server: Served) -> None:
    wanted = {f"/r/{{release}}/{one.name}.json" for one in VIEWS if one.answer is not None}
    assert set(described["paths"]) == wanted | {"/releases.json", "/compare.json"}
    asked = {"item": "?item=zoo", "compare": "?earlier=sra-one-context&later=sra-record-id"}
    for path, operation in described["paths"].items():
        name = operation["get"]["operationId"]
        answer = server.ask(path.format(release="labels") + asked.get(name, ""))
        assert answer.status == 200, path
        content = operation["get"]["responses"]["200"]["content"]["application/json"]
        jsonschema.validate(answer.json, content["schema"])


def test_every_release_is_named(described: dict[str, Any]) -> None:
    (release,) = (
        one for one in described["paths"]["/r/{release}/top.json"]["get"]["parameters"]
        if one["name"] == "release"
    )  # fmt: skip
    assert release["schema"]["enum"] == list(KINDS)
    assert described["info"]["version"] == ct.__version__


def test_every_status_has_its_heading(described: dict[str, Any]) -> None:
    for operation in described["paths"].values():
        told = {int(one) for one in operation["get"]["responses"]}
        assert {200, 400, 404, 405, 409, 410, 414, 421, 422, 429} == told
        assert told - {200} <= set(TITLES)


def test_pages_lead_to_what_is_described(described: dict[str, Any], server: Served) -> None:
    """Downloads of pages ask for what programs may ask."""
    for kind, view in (("labels", "top"), ("labels", "sum"), ("labels", "recommend")):
        text = server.ask(f"/r/{kind}/{view}").text
        for suffix in FORMATS:
            assert re.search(rf'href="{view}\{suffix}', text), (view, suffix)


def _fuzz(described: dict[str, Any], server: Served, examples: int) -> int:
    import hypothesis
    import schemathesis
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    checks = [
        not_a_server_error, status_code_conformance, content_type_conformance,
        response_schema_conformance,
    ]  # fmt: skip
    schema = schemathesis.openapi.from_dict(described)
    schema.config.update(base_url=server.url.rstrip("/"))
    asked = 0
    for found in schema.get_all_operations():
        operation = found.ok()
        for mode in (schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE):
            strategy = operation.as_strategy(generation_mode=mode)

            @hypothesis.settings(
                max_examples=examples, deadline=None, database=None, derandomize=True,
                suppress_health_check=list(hypothesis.HealthCheck),
            )  # fmt: skip
            @hypothesis.given(case=strategy)
            def ask(case: Any) -> None:
                nonlocal asked
                asked += 1
                case.call_and_validate(checks=checks)

            with suppress(hypothesis.errors.Unsatisfiable):  # nothing of it can be wrong
                ask()
    return asked


@pytest.mark.filterwarnings("ignore")
def test_nonsense_within_the_description_finds_no_failure(
    described: dict[str, Any], server: Served
) -> None:
    assert _fuzz(described, server, QUICK) >= 8 * QUICK


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_much_nonsense_finds_no_failure(described: dict[str, Any], server: Served) -> None:
    assert _fuzz(described, server, LONG) >= 4 * LONG
