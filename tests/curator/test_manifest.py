"""What the ledger keeps of a request: everything that would make it another one, and no more."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import crowdtally as ct
from crowdtally.core.values import public
from crowdtally.curator.bounding import METHODS
from crowdtally.curator.manifest import asked_of, parameters
from crowdtally.curator.method import charge_of, method_of
from crowdtally.curator.request.options import Options
from crowdtally.curator.request.request import make_request
from crowdtally.curator.summaries import PUBLISHINGS
from crowdtally.curator.transforms import TRANSFORMS
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
    if isinstance(options.get("method"), ct.Discover) and "item" in options["method"].columns:
        domain = None
    free = auto or said.get("user_per_row") or "noise" in options
    bound = {} if free else {"method": ct.SRA()}
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
    others = [
        {"method": ct.Auto("top")},
        {"method": ct.Auto(repeats=False)},
        {"method": ct.Auto(context_per_user="day")},
        {"count": "users"},
    ]
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
    "bounding": {"method": ct.HPA()},
    "hpa's bound": {"method": ct.HPA(3)},
    "hpa's choice": {"method": ct.HPA(choose="rank")},
    "declared": {"method": ct.Declared(3)},
    "own rule": {"method": Own(2)},
    "own rule's limit": {"method": Own(3)},
    "max_records": {"method": ct.SRA(3)},
    "auto": {"auto": True},
    "for_": {"method": ct.Auto("top")},
    "repeats": {"method": ct.Auto(repeats=False)},
    "context_per_user": {"method": ct.Auto(context_per_user="day")},
    "top": {"method": ct.Top(2)},
    "top of users' contexts": {"method": ct.Top(2, context_per_user="day")},
    "other top": {"method": ct.Top(1)},
    "choose": {"method": ct.SRA(choose="rank")},
    "popularity_records": {"method": ct.HPA(popularity_records=3)},
    "cap": {"method": ct.DPSense(2, cap=2)},
    "no cap": {"method": ct.DPSense(2), "count": "users"},
    "dpsense's choice": {"method": ct.DPSense(2, cap=2, choose="rank")},
    "scaled up, capped": {"method": ct.DPSenseS(2, cap=2, scalings=["3/2"])},
    "scaled up, chosen": {"method": ct.DPSenseS(2, choose="dpsense"), "count": "users"},
    "scalings": {"method": ct.DPSenseS(2, scalings=["3/2"]), "count": "users"},
    "other scalings": {"method": ct.DPSenseS(2, scalings=["4/3"]), "count": "users"},
    "noise": {"noise": "interval", "count": "users"},
    "pairs": {"pairs": True, "roles": {"contexts": ()}, "lists": {"values": {}}},
    "no contexts": {"roles": {"contexts": ()}, "lists": {"values": {}}},
    "discover_items": {"method": ct.Discover("item"), "delta": "1e-9", "roles": {"contexts": ()}},
    "discover": {"method": ct.Discover(["item", "day"]), "delta": "1e-9", "lists": {}},
    "discover, another bound": {
        "method": ct.Discover(["item", "day"], 3), "delta": "1e-9", "lists": {},
    },
    "discover less": {"method": ct.Discover("day"), "delta": "1e-9", "lists": {"values": {}}},
    "gaussian": {"noise": "gaussian", "delta": "1e-9"},
    "delta": {"noise": "gaussian", "delta": "1e-6"},
    "norm": {
        "method": ct.DPSense(2, norm="l2"), "count": "users", "delta": "1e-9",
    },
    "publishing": {"summary": ct.Filter(cut=0)},
    "cut": {"summary": ct.Filter(cut=1)},
    "size": {"summary": ct.Filter(size=2)},
    "sides": {"summary": ct.Filter(cut=0, sides="one")},
    "threshold": {"summary": ct.Threshold("5/2")},
    "guess_total": {"summary": ct.Threshold("5/2", guess_total=9)},
    "threshold's size": {"summary": ct.Threshold(size=2)},
    "threshold's sides": {"summary": ct.Threshold("5/2", sides="one")},
    "priority": {"summary": ct.Priority(2)},
    "priority's threshold": {"summary": ct.Priority(2, threshold=3)},
    "priority's sides": {"summary": ct.Priority(2, sides="one")},
    "filter-priority": {"summary": ct.FilterPriority(2, cut=1)},
    "filter-priority's threshold": {"summary": ct.FilterPriority(2, cut=1, threshold=3)},
    "filter-priority's sides": {"summary": ct.FilterPriority(2, cut=1, sides="one")},
    "transform": {"transform": ct.Dyadic("day")},
    "haar": {"transform": ct.Haar("day")},
    "ordered": {"transform": ct.Dyadic("item")},
    "buckets": {"transform": ct.Sketch(2)},
    "sketch_rows": {"transform": ct.Sketch(2, rows=3)},
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
    given = [one for options in OTHERS.values() for one in options.values()]
    fields = {
        (type(one), name) for one in given if dataclasses.is_dataclass(one)
        for name, field in public(type(one)).items() if getattr(one, name) != field.default
    }  # fmt: skip
    there = {
        (kind, name)
        for registry in (METHODS, PUBLISHINGS, TRANSFORMS)
        for kind in map(registry.load, registry)
        for name in public(kind)
    }
    assert there <= fields
    tried = {name for options in OTHERS.values() for name in options}
    assert {field.name for field in dataclasses.fields(Options)} <= tried


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
