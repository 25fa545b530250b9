"""Plans, inspections, helps and refusals: all that is said before anything is spent."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator

from same import inputs, seams
from same.stage import Scene, Stage

_ITEM = "visits.csv --user who --item place --items places.csv"
_BOTH = f"{_ITEM} --context day --values day=Mon,Tue,Wed"
_CELLS = "visits.csv --user who --attributes day,hour --values day=Mon,Tue,Wed --values hour=0..7"
_PLANS = (
    f"{_ITEM} --epsilon 1",
    f"{_ITEM} --epsilon 1 --method sra:max-records=5 --guess-users 90 --guess-records 700",
    f"{_BOTH} --epsilon 1 --guess-users 90",
    f"{_BOTH} --epsilon 1/3 --method sra:max-records=5 --query-cells 6 --guess-total 700",
    f"{_BOTH} --epsilon 1 --method sra:max-records=5 --delta 1e-6",
    f"{_BOTH} --epsilon 1 --method sra:max-records=5 --delta 1e-6 --noise gaussian",
    f"{_BOTH} --epsilon 1 --method hpa:max-records=5,choose=rank",
    f"{_BOTH} --epsilon 1 --method dpsense-s:max-records=5,cap=2,choose=dpsense",
    f"{_BOTH} --epsilon 1 --count users --noise interval",
    f"{_BOTH} --epsilon 1 --method sra:max-records=5 --summary filter:cut=3",
    f"{_BOTH} --epsilon 1 --method sra:max-records=5 --summary threshold:threshold=9",
    f"{_BOTH} --epsilon 1 --method sra:max-records=5 --summary filter-priority:size=9",
    f"{_CELLS} --epsilon 1 --method sra:max-records=5 --transform dyadic:columns=hour "
    "--query-cells 4",
    f"{_CELLS} --epsilon 1 --method sra:max-records=5 --transform haar:columns=hour",
    f"{_BOTH} --epsilon 1 --method sra:max-records=5 --transform sketch:buckets=6",
    f"{_ITEM} --epsilon 1 --top 3",
    f"{_BOTH} --epsilon 2 --top 3",
    "visits.csv --user who --item place --method discover:columns=item,max-records=3 "
    "--epsilon 1 --delta 1e-6",
    f"{_ITEM} --half-width 20 --method sra:max-records=5",
    f"{_BOTH} --half-width 20 --method sra:max-records=5 --accuracy-of cell",
    f"{_BOTH} --half-width 20 --method sra:max-records=5 --accuracy-of sum:4",
    f"{_BOTH} --half-width 20 --method sra:max-records=5 --delta 1e-6 --noise gaussian",
    f"{_ITEM} --epsilon 1 --pairs --method sra:max-records=4",
    f"{_ITEM} --epsilon 1 --method sra:max-records=4 --ledger ledger.sqlite --dataset town "
    "--new-dataset",
)
_LOOKS = (
    _ITEM,
    f"{_BOTH} --epsilon 1 --method sra:max-records=5",
    f"{_BOTH} --count users",
    f"{_CELLS} --method sra:max-records=3",
    f"{_BOTH} --same-person same.csv:person",
    f"{_ITEM} --quantity n --max-quantity 2 --type n=int64",
    f"{_ITEM} --where \"hour < 3\" --type hour=int64",
    "visits.csv --user-per-row --item place --items places.csv",
    "visits.csv --user who --item kind --items kinds.csv --join info.csv:place",
    "visits.parquet --user who --item place --items places.csv --context hour --values hour=0..3",
)  # fmt: skip
_R = f"release {_ITEM} --ledger ledger.sqlite --dataset town --new-dataset -o new"
_E = f"{_R} --epsilon 1"
_B = f"release {_BOTH} --ledger ledger.sqlite --dataset town --new-dataset -o new --epsilon 1"
_REFUSED = (
    "", "relase", "release", "release visits.csv", _R, f"{_R} --epsilon 0", f"{_R} --epsilon -1",
    f"{_R} --epsilon nan", f"{_R} --epsilon 1e400", f"{_R} --epsilon one", f"{_R} --epsilon 1/0",
    f"{_E} --delta 2", f"{_E} --delta 0.2 --noise gaussian", f"{_E} --noise gaussian",
    f"{_E} --noise interval", f"{_E} --noise gausian --delta 1e-6", f"{_E} --method srra",
    f"{_E} --method dpsense", f"{_E} --method sra:cap=3", f"{_E} --method sra:max-records=0",
    f"{_E} --method sra:max-records=x", f"{_E} --method sra:choose=rank",
    f"{_E} --method sra:choose=dpsense",
    f"{_E} --temper 1", f"{_E} --method dpsense-s:scalings=3 --count users",
    f"{_E} --method sra:max-records=3,norm=l2", f"{_E} --count user", f"{_E} --summary densee",
    f"{_E} --summary filter", f"{_E} --summary filter:cut=-1",
    f"{_E} --summary threshold:threshold=0", f"{_E} --summary dense:sides=one",
    f"{_E} --summary dense:size=4",
    f"{_E} --transform dyadic", f"{_E} --transform dyadic:columns=nothing",
    f"{_E} --transform sketch", f"{_E} --transform none:buckets=4", f"{_E} --top 0",
    f"{_E} --top 99",
    f"{_E} --top 3 --method sra:max-records=2", f"{_E} --pairs", f"{_E} --discover item",
    "release visits.csv --user who --item place --epsilon 1 --ledger ledger.sqlite -o new",
    f"{_E} --split items=1/2", f"{_E} --method sra:max-records=3 --split items=2",
    f"{_E} --split items",
    f"{_E} --quantity n", f"{_E} --max-quantity 3", f"{_E} --weight n", f"{_E} --user-per-row",
    f"{_E} --bounded-to 3", f"{_E} --cells-once", f"{_E} --record-id nothing",
    f"{_E} --where \"rank() over () > 1\"", f"{_E} --where \"plce = 'x'\"", f"{_E} --where \"(\"",
    f"{_E} --where \"random() > 0.5\"", f"{_E} --timezone Vienna", f"{_E} --type n=int",
    f"{_E} --type nothing=int64", f"{_E} --join info.csv", f"{_E} --join none.csv:place",
    f"{_E} --join info.csv:nothing", f"{_E} --same-person same.csv:nobody",
    f"{_E} --context day", f"{_E} --values day=Mon", f"{_B} --values day=Mon",
    f"{_E} --method auto:context-per-user=day",
    f"{_E} --method auto:aim=everything",
    f"{_E} --method auto:repeats=maybe", f"{_E} --strict", f"{_E} --most-dropped 1/1000",
    f"{_E} --most-dropped 3", f"{_E} --engine flink", f"{_E} --engine-setting spark.a=b",
    f"{_E} --request-id \"\"", f"{_E} --unknown", f"{_E} --dry-run", f"{_B} --dry-run --json",
    _E.replace("visits.csv", "nothing.csv"), _E.replace("visits.csv", "places.xlsx"),
    _E.replace("visits.csv", "empty.csv"), _E.replace("visits.csv", "base.sqlite#nothing"),
    _E.replace("visits.csv", "postgresql://127.0.0.1:1/none#t"),
    _E.replace("--user who", "--user whom"), _E.replace("--item place", "--item plce"),
    _E.replace("--items places.csv", "--items none.csv"),
    _E.replace("--items places.csv", "--items twice.csv"),
    _E.replace("--items places.csv", "--items places.csv:name"),
    _E.replace("-o new", "-o out"), _E.replace("-o new", "-o no/such/new"),
    _E.replace(" --new-dataset", "").replace("town", "twon"),
    _E.replace("ledger.sqlite", "none.sqlite").replace(" --new-dataset", ""),
    _E.replace("ledger.sqlite", "places.csv"),
    f"plan {_ITEM}", f"plan {_ITEM} --epsilon 1 --half-width 3", f"plan {_ITEM} --half-width 0",
    f"plan {_ITEM} --half-width 9 --accuracy-of cells", f"plan {_ITEM} --epsilon 1 --guess-users x",
    "inspect nothing.csv", "inspect visits.csv --user who", "top", "top nothing", "top visits.csv",
    "top out -k 0", "top out -k x", "top out --context day", "top out --context day=Sun",
    "top out --context month=May", "top out --format xml", "top out -o places.csv",
    "top out -o list.doc", "top out --labels none.csv", "sum out --where \"plce = 'x'\"",
    "sum out --where \"place = 'nowhere'\"", "sum out --where \"1 = 1\"", "sum out --where \"(\"",
    "recommend out", "recommend out --context day=Mon --by best", "recommend out --like p0",
    "recommend out --context day=Mon --without nothing", "changes out", "changes out nothing",
    "changes out out --fdr 2", "describe nothing", "report out", "report out -o report.doc",
    "report out -o places.csv", "export out", "export out --registry a --croissant b",
    "export out --site places.csv", "withdraw out", "withdraw nothing --reason x",
    "withdraw out --reason \"\" --ledger ledger.sqlite", "check nothing", "check damaged",
    "check out --ledger none.sqlite", "serve", "serve nothing", "serve out --port 99999",
    "serve out --host 300.1.1.1", "ledger", "ledger show --ledger none.sqlite",
    "ledger show nothing --ledger ledger.sqlite", "ledger create x --ledger other.sqlite",
    "ledger create x --epsilon 0 --ledger other.sqlite",
    "ledger limit town --epsilon 1 --ledger ledger.sqlite",
    "ledger limit town --epsilon x --reason why --ledger ledger.sqlite",
    "ledger void 1-00000000 --reason why --ledger ledger.sqlite",
    "ledger verify --anchor nothing --ledger ledger.sqlite",
    "ledger verify --anchor 1-00000000 --ledger ledger.sqlite",
    "ledger backup places.csv --ledger ledger.sqlite", "ledger import none --ledger ledger.sqlite",
    "ledger grant someone --ledger ledger.sqlite", "ledger limits-file none --reason x",
    "ledger show --by day --ledger ledger.sqlite", "person", "person perturb nothing.csv",
    "person perturb places.csv --catalogue none.csv --epsilon 1",
    "person levels --catalogue info.csv", "person levels --catalogue info.csv --epsilon 0",
    "person levels --catalogue info.csv --epsilon 1 --level nothing=no",
    "person perturb unknown.csv --catalogue info.csv --epsilon 1 --store own",
    "lab", "lab compare visits.csv", f"lab compare {_ITEM} --epsilon 1,1 -o new",
    f"lab compare {_ITEM} --epsilon 1 -o new --methods srra", "lab audit nothing",
    "lab lookalike nothing -o a.parquet", "lab lookalike kosarak -o a.parquet --scale 2",
    "lab reproduce", "lab reproduce nobody", "lab reproduce cormode 99",
    "lab recommend visits.csv --user who --item place --catalogue none.csv -o new",
    "demo -o places.csv", "demo --records 0",
    f"{_B} --method sra:max-records=3 --delta 1e-6 --noise gaussian --summary priority:size=6",
    f"{_B} --method sra:max-records=3 --delta 1e-6 --noise gaussian "
    "--summary threshold:threshold=9",
)  # fmt: skip


def _town(stage: Stage) -> None:
    inputs.lists(stage)
    for source in ("csv", "parquet", "sqlite"):
        inputs.SOURCES[source](stage)


def _plans(stage: Stage) -> None:
    _town(stage)
    for number, words in enumerate(_PLANS):
        typed = shlex.split(words)
        stage.case(f"{number} {words}", "plan", *typed, quick=number % 3 == 0)
        stage.case(f"{number} {words} --json", "plan", *typed, "--json", quick=number % 6 == 1)


def _looks(stage: Stage) -> None:
    _town(stage)
    for number, words in enumerate(_LOOKS):
        typed = shlex.split(words)
        stage.case(words, "inspect", *typed, quick=number < 3)
        stage.case(f"{words} --json", "inspect", *typed, "--json", quick=number == 1)


def _refusals(stage: Stage) -> None:
    _town(stage)
    stage.write("empty.csv", "")
    stage.write("twice.csv", "place\np0\np0\n")
    stage.write("unknown.csv", "place\nnowhere\n")
    stage.seed("out")
    stage.run(*shlex.split(_B.replace("-o new", "-o out --method sra:max-records=4")))
    stage.run(*shlex.split(_B.replace("-o new", "-o damaged --method sra:max-records=4")))
    facts = stage.folder / "damaged" / "release.json"
    facts.write_text(facts.read_text(encoding="utf-8").replace('"sra"', '"hpa"'), encoding="utf-8")
    for number, words in enumerate(_REFUSED):
        stage.case(f"{number} {words}", *shlex.split(words))
        shutil.rmtree(stage.folder / "new", ignore_errors=True)  # of what is not refused


def _helps(stage: Stage) -> None:
    for name in seams.commands():
        stage.case(name, *name.split()[1:], "--help")
    stage.case("--version", "--version")
    stage.case("self-test", "check", "--json")


def scenes() -> Iterator[Scene]:
    """Four scenes."""
    yield Scene("plans", _plans, quick=True)
    yield Scene("inspections", _looks, quick=True)
    yield Scene("refusals", _refusals, quick=True)
    yield Scene("helps", _helps, quick=True)
