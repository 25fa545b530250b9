"""The description for programs: valid, complete, and true of what is answered, also to nonsense."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

import jsonschema
import pytest

import crowdtally as ct
from crowdtally.reader.server.app import FORMATS
from crowdtally.reader.server.views import VIEWS
from crowdtally.web.gate import TITLES
from kit.served import KINDS, Served

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
