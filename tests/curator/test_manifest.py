"""What the ledger keeps of a request: everything that would make it another one, and no more."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.curator.manifest import asked_of, parameters
from crowdtally.curator.method import charge_of, method_of
from crowdtally.curator.request.options import declared
from crowdtally.curator.request.request import make_request
from crowdtally.ledger import Asked


class Own:
    """A rule that somebody else wrote."""

    name = "own"

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def keep(self, engine: Any, rows: Any, **_: Any) -> Any:
        return rows


VISITS = pa.table(
    {"who": ["a"], "shop": ["s"], "item": ["x"], "day": ["Mon"], "n": [2], "id": [1], "age": [3]}
)
ITEMS, DAYS = ["x", "y", "z"], ["Mon", "Tue"]


def request(roles: dict[str, Any] | None = None, *, auto: bool = False, **options: Any) -> Any:
    """A request about items and days, or as ``roles`` and ``options`` say."""
    lists = {"items": ITEMS, "values": {"day": DAYS}} | options.pop("lists", {})
    said = {"user": "who", "item": "item", "contexts": ["day"]} | (roles or {})
    domain: Any = ct.Domain(lists["items"], lists["values"]) if said["item"] else None
    if said["item"] is None:
        domain = ct.Domain(attributes=lists["values"])
    if options.get("discover_items") or options.get("discover") == "item,day":
        domain = None
    free = auto or said.get("user_per_row") or {"top", "noise"} & set(options)
    bound = {} if free else {"bounding": "sra"}
    given = {"epsilon": 1} | bound | options
    return make_request(ct.read(options.pop("source", VISITS), **said), domain, **given)


def kept(**given: Any) -> Any:
    """The parameters as they stand in the ledger."""
    return asked_of(request(**given), source=None, output=None).fields()["parameters"]


def test_what_auto_is_told() -> None:
    """Nothing of a bound, which it measures; a repeated request must be for the same."""
    told = kept(auto=True)
    assert "max_records" not in told
    names = ("count", "bounding", "for", "repeats", "split", "publishing")
    assert {name: told[name] for name in names} == {
        "count": "records", "bounding": "auto", "for": "counts", "repeats": "yes",
        "split": {"auto": "1"}, "publishing": "dense",
    }  # fmt: skip
    assert "context_per_user" not in told
    others = [{"for_": "top"}, {"repeats": "no"}, {"context_per_user": "day"}, {"count": "users"}]
    asked = [told, *(kept(auto=True, **other) for other in others)]
    assert all(one != other for n, one in enumerate(asked) for other in asked[:n])
    assert asked[3]["context_per_user"] == ["day"]


def test_the_plain_request() -> None:
    assert kept() == {
        "user": ["who"],
        "item": "item",
        "context": {"day": "day"},
        "timezone": "UTC",
        "count": "records",
        "bounding": "sra",
        "max_records": 10,
        "transform": "none",
        "publishing": "dense",
        "items": {"size": 3, "sha256": hashlib.sha256(b'"x"\n"y"\n"z"\n').hexdigest()},
        "values": {"day": {"size": 2, "sha256": hashlib.sha256(b'"Mon"\n"Tue"\n').hexdigest()}},
        "split": {"items": "1/2", "edges": "1/2"},
    }


OTHERS: dict[str, Any] = {
    "user": {"roles": {"user": ["who", "shop"]}},
    "user_per_row": {"roles": {"user": None, "user_per_row": True}},
    "weight": {"roles": {"user": None, "user_per_row": True, "weight": "n"}},
    "item": {"roles": {"item": "shop"}},
    "item's expression": {"roles": {"item": {"item": "lower(item)"}}},
    "context's expression": {"roles": {"contexts": {"day": "upper(day)"}}},
    "attributes": {"roles": {"item": None, "contexts": (), "attributes": ["day"]}},
    "where": {"roles": {"where": "n > 1"}},
    "timezone": {"roles": {"timezone": "Europe/Vienna"}},
    "type": {"roles": {"types": {"n": "int64"}}},
    "another type": {"roles": {"types": {"n": "float64"}}},
    "record_id": {"roles": {"record_id": "id"}},
    "quantity": {"roles": {"quantity": "n", "max_quantity": 3}},
    "max_quantity": {"roles": {"quantity": "n", "max_quantity": 4}},
    "items": {"lists": {"items": ["x", "y", "w"]}},
    "items' order": {"lists": {"items": ["x", "z", "y"]}},
    "items' type": {"lists": {"items": [1, 2, 3]}},
    "items as text": {"lists": {"items": ["1", "2", "3"]}},
    "values": {"lists": {"values": {"day": ["Mon", "Wed"]}}},
    "count": {"count": "users"},
    "bounding": {"bounding": "hpa"},
    "own rule": {"bounding": Own(2)},
    "own rule's limit": {"bounding": Own(3)},
    "max_records": {"max_records": 3},
    "auto": {"auto": True},
    "for_": {"auto": True, "for_": "top"},
    "repeats": {"auto": True, "repeats": "no"},
    "context_per_user": {"auto": True, "context_per_user": "day"},
    "top": {"auto": True, "top": 2},
    "other top": {"auto": True, "top": 1},
    "choose": {"choose": "rank"},
    "popularity_records": {"bounding": "hpa", "popularity_records": 3},
    "cap": {"bounding": "dpsense", "cap": 2, "max_records": 2},
    "no cap": {"bounding": "dpsense", "count": "users", "max_records": 2},
    "scalings": {"bounding": "dpsense-s", "count": "users", "max_records": 2, "scalings": ["3/2"]},
    "other scalings": {"bounding": "dpsense-s", "count": "users", "max_records": 2,
                       "scalings": ["4/3"]},
    "noise": {"noise": "interval", "count": "users"},
    "pairs": {"pairs": True, "roles": {"contexts": ()}, "lists": {"values": {}}},
    "no contexts": {"roles": {"contexts": ()}, "lists": {"values": {}}},
    "discover_items": {"discover_items": True, "delta": "1e-9", "roles": {"contexts": ()}},
    "discover": {"discover": "item,day", "delta": "1e-9", "lists": {}},
    "discover less": {"discover": "day", "delta": "1e-9", "lists": {"values": {}}},
    "gaussian": {"noise": "gaussian", "delta": "1e-9"},
    "delta": {"noise": "gaussian", "delta": "1e-6"},
    "norm": {
        "bounding": "dpsense", "norm": "l2", "count": "users", "delta": "1e-9", "max_records": 2,
    },
    "publishing": {"publishing": "filter", "cut": 0},
    "cut": {"publishing": "filter", "cut": 1},
    "size": {"publishing": "filter", "size": 2},
    "sides": {"publishing": "filter", "cut": 0, "sides": "one"},
    "threshold": {"publishing": "threshold", "threshold": "5/2"},
    "guess_total": {"publishing": "threshold", "threshold": "5/2", "guess_total": 9},
    "priority": {"publishing": "priority", "size": 2},
    "filter-priority": {"publishing": "filter-priority", "size": 2, "cut": 1},
    "transform": {"transform": "dyadic", "ordered": ["day"]},
    "haar": {"transform": "haar", "ordered": ["day"]},
    "ordered": {"transform": "dyadic", "ordered": ["item"]},
    "buckets": {"transform": "sketch", "buckets": 2},
    "sketch_rows": {"transform": "sketch", "buckets": 2, "sketch_rows": 3},
    "split": {"split": {"items": "1/4", "edges": "3/4"}},
    "strict": {"strict": True},
    "most_dropped": {"most_dropped": "1/3"},
}  # fmt: skip


def test_every_parameter_makes_another_request() -> None:
    """No two of these requests are kept alike, and none like the plain one."""
    cases = {"plain": {}} | OTHERS
    texts = {name: json.dumps(kept(**given), sort_keys=True) for name, given in cases.items()}
    same = [(a, b) for a in texts for b in texts if a < b and texts[a] == texts[b]]
    assert same == []


def test_every_option_of_a_release_is_tried_above() -> None:
    """An option that is added must be kept too: it has to appear here, by its name."""
    tried = {name for given in OTHERS.values() for name in given}
    assert set(declared()) - {"features"} <= tried  # a file of theirs is tried with what reads it


@pytest.mark.parametrize("name", OTHERS)
def test_two_runs_of_one_request_are_kept_alike(name: str, tmp_path: Path) -> None:
    """A sketch's seed, a release's id: what a run draws anew is no part of the request."""
    first, second = (request(**OTHERS[name]) for _ in range(2))
    one, two = (
        asked_of(made, source="s", output=tmp_path / "out", request_id="k")
        for made in (first, second)
    )
    assert one == two == Asked(**json.loads(json.dumps(one.fields())))  # exact: no float in it
    charges = [charge_of(made, method_of(made), {}).parts for made in (first, second)]
    assert charges[0] == charges[1]


def test_other_tables_are_kept_by_their_labels(tmp_path: Path) -> None:
    people, films = tmp_path / "people.csv", tmp_path / "films.csv"
    people.write_text("who,person\na,p\n")
    films.write_text("film,genre\nx,g\n")
    roles = {"joins": [(str(films), ("item", "film"))], "same_person": (str(people), "person")}
    found = kept(roles=roles)
    assert found["join"] == [{"source": str(films.resolve()), "key": "item", "partner_key": "film"}]
    assert found["same_person"] == {"source": str(people.resolve()), "person": "person"}


def test_the_output_is_one_folder_however_it_is_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    monkeypatch.chdir(tmp_path / "real")
    folders = {
        asked_of(request(), source=None, output=Path(typed)).output
        for typed in ("out", "../real/out", tmp_path / "link" / "out")
    }
    assert folders == {str((tmp_path / "real").resolve() / "out")}
    assert asked_of(request(), source=None, output=None).output is None


def test_a_long_list_is_hashed_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Line by line: how many values are taken at once shows nowhere."""
    many = request(lists={"items": [f"i{n}" for n in range(25)]})
    whole = parameters(many)["items"]
    monkeypatch.setattr("crowdtally.curator.manifest._AT_ONCE", 7)
    assert parameters(many)["items"] == whole
