"""Releases of every kind on both engines, and what every reader says about each."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from same import inputs
from same.stage import Scene, Stage
from same.texts import folder_text

_ITEM = "--user who --item place --items places.csv"
_DAY = "--context day --values day=Mon,Tue,Wed"
_HOUR = "--context hour --values hour=0..7"
_BOTH = f"{_ITEM} {_DAY}"
_L = "--method sra:max-records=4"
_SRA = f"{_BOTH} {_L}"
_GAUSS = "--delta 1e-6 --noise gaussian"
_CELLS = "--user who --attributes day,hour --values day=Mon,Tue,Wed --values hour=0..7"
_RANGES = f"{_CELLS} {_L}"


@dataclass(frozen=True)
class Asked:
    """A request, as it is typed."""

    title: str
    words: str
    epsilon: str = "3/2"
    source: str = "csv"
    engine: str = "duckdb"
    quick: bool = False
    all_readers: bool = False
    """Whether ``--quick`` asks all readers, not only a few."""

    @property
    def name(self) -> str:
        """Method, noise, summary, transform, source, engine, and what is special."""
        words = self.words
        parts = (
            method(words), _option(words, "--noise") or _noise(words),
            _value(words, "--summary") or "dense", _value(words, "--transform") or "none",
            self.source, self.engine,
        )  # fmt: skip
        return f"release {' '.join(parts)}: {self.title}"


def _option(words: str, option: str) -> str | None:
    typed = words.split()
    return typed[typed.index(option) + 1] if option in typed else None


def _noise(words: str) -> str:
    return "auto" if "--delta" in words else "laplace"


def method(words: str) -> str:
    """What bounds a user, in one word."""
    for option, name in (
        ("--top", "top"), ("--user-per-row", "rows"), ("--bounded-to", "bounded-to"),
        ("--noise interval", "unbounded"),
    ):  # fmt: skip
        if option in words:
            return name
    return _value(words, "--method") or "auto"


def _value(words: str, option: str) -> str | None:
    """The name of a value that was typed, without its fields."""
    typed = _option(words, option)
    return None if typed is None else typed.partition(":")[0]


_PLAIN = (
    Asked("items", f"{_ITEM} {_L}", quick=True),
    Asked("contexts", _SRA, quick=True, all_readers=True),
    Asked("contexts, another day", f"{_SRA} --where \"hour < 6\" --type hour=int64", epsilon="2"),
    Asked("two contexts", f"{_SRA} {_HOUR}"),
    Asked("users", f"{_SRA} --count users"),
    Asked("quantities", f"{_SRA} --quantity n --max-quantity 2 --type n=int64"),
    Asked("pairs", f"{_ITEM} {_L} --pairs", quick=True, all_readers=True),
    Asked("pairs, users", f"{_ITEM} {_L} --pairs --count users"),
    Asked("chosen by rank", f"{_BOTH} --method sra:max-records=20,choose=rank"),
    Asked("split", f"{_SRA} --split items=1/4,edges=3/4", epsilon="0.7"),
    Asked("attributes", _RANGES),
    Asked("record id", f"{_SRA} --record-id id"),
    Asked("compound user", f"{_SRA.replace('--user who', '--user shop,who')}"),
    Asked("same person", f"{_SRA} --same-person same.csv:person", quick=True),
    Asked("join", f"--user who --item kind --items kinds.csv --join info.csv:place {_L}"),
    Asked("join by another name",
          f"--user who --item kind --items kinds.csv --join other.csv:place=spot {_L}"),
    Asked("list in a file", f"{_ITEM} --context day --values day=@days.csv:value {_L}"),
    Asked("expressions",
          "--user who --item letter=\"upper(place)\" --items letters.csv "
          f"--context late=\"hour >= 4\" --values late=true,false --type hour=int64 {_L}"),
    Asked("condition", f"{_SRA} --where \"age BETWEEN 20 AND 40 AND sex = 'f'\" --type age=int64"),
    Asked("time zone",
          "--user who --attributes h --context h=\"hour(to_timestamp(stamp))\" --values h=0..23 "
          f"--type stamp=int64 --timezone Europe/Vienna {_L}", quick=True),
    Asked("days of the zone",
          "--user who --item place --items places.csv "
          "--context d=\"dayname(moment)\" --values d=Saturday,Sunday,Monday,Tuesday "
          f"--type moment=timestamptz --timezone America/New_York {_L}"),
    Asked("purpose and request id", f"{_SRA} --purpose weekly --request-id one"),
    Asked("most dropped", f"{_SRA} --most-dropped 0.5"),
    Asked("nobody", f"{_SRA} --where \"hour > 99\" --type hour=int64"),
)  # fmt: skip
_RULES = (
    Asked("contexts", f"{_BOTH} --method hpa:max-records=4,popularity-records=3", quick=True),
    Asked("chosen by rank", f"{_BOTH} --method hpa:max-records=15,choose=rank"),
    Asked("pairs", f"{_ITEM} --method hpa:max-records=4 --pairs"),
    Asked("items", f"{_ITEM} --method declared:max-records=60", quick=True),
    Asked("contexts", f"{_BOTH} --method dpsense:max-records=4 --count users", quick=True),
    Asked("capped", f"{_BOTH} --method dpsense:max-records=4,cap=2"),
    Asked("chosen by rank", f"{_BOTH} --method dpsense:max-records=4,choose=rank --count users"),
    Asked("chosen by dpsense", f"{_BOTH} --method dpsense:max-records=4,cap=2,choose=dpsense"),
    Asked("contexts", f"{_BOTH} --method dpsense-s:max-records=4,scalings=1.5 --count users",
          quick=True),
    Asked("chosen by dpsense",
          f"{_BOTH} --method dpsense-s:max-records=4,cap=2,choose=dpsense,scalings=1,1.25,2"),
)  # fmt: skip
_GAUSSIAN = (
    Asked("contexts", f"{_SRA} {_GAUSS}", quick=True, all_readers=True),
    Asked("users", f"{_SRA} --count users {_GAUSS}"),
    Asked("chosen by rank", f"{_BOTH} --method sra:max-records=20,choose=rank {_GAUSS}"),
    Asked("filter", f"{_SRA} {_GAUSS} --summary filter:cut=3"),
    Asked("size", f"{_SRA} {_GAUSS} --summary filter-priority:size=6"),
    Asked("ranges", f"{_RANGES} {_GAUSS} --transform dyadic:columns=hour"),
    Asked("wavelets", f"{_RANGES} {_GAUSS} --transform haar:columns=hour"),
    Asked("hpa", f"{_BOTH} --method hpa:max-records=4 {_GAUSS}"),
    Asked("l2", f"{_BOTH} --method dpsense:max-records=4,norm=l2 --count users --delta 1e-6 "
          "--noise gaussian", quick=True),
    Asked("l2, by histogram",
          f"{_BOTH} --method dpsense:max-records=4,choose=histogram,norm=l2 "
          f"--count users {_GAUSS}"),
    Asked("the smaller noise", f"{_SRA} --delta 1e-6", epsilon="1/5"),
    Asked("auto", f"{_ITEM} {_GAUSS}"),
    Asked("top", f"{_ITEM} --top 3 {_GAUSS}"),
    Asked("rows", f"--user-per-row --item place --items places.csv {_DAY} {_GAUSS}"),
    Asked("cells once", f"--bounded-to 3 --cells-once --item place --items places.csv {_DAY} "
          f"{_GAUSS}"),
)  # fmt: skip
_ROWS = (
    Asked("rows", f"--user-per-row --item place --items places.csv {_DAY}", quick=True),
    Asked("weights", "--user-per-row --item place --items places.csv --weight n --type n=int64"),
    Asked("elsewhere", f"--bounded-to 3 --item place --items places.csv {_DAY}", quick=True),
    Asked("users", f"{_BOTH} --count users --noise interval", quick=True),
    Asked("attributes", f"{_CELLS} --count users --noise interval"),
)
_AUTO = (
    Asked("records", _ITEM, quick=True),
    Asked("users", f"{_ITEM} --count users"),
    Asked("contexts", _BOTH, epsilon="4", quick=True, all_readers=True),
    Asked("contexts of users",
          f"{_ITEM} --context sex --values sex=f,m --method auto:context-per-user=sex"),
    Asked("two contexts", f"{_BOTH} {_HOUR}", epsilon="4"),
    Asked("for top", f"{_BOTH} --method auto:aim=top", epsilon="4"),
    Asked("for recommend", f"{_BOTH} --method auto:aim=recommend", epsilon="4"),
    Asked("one sex", f"{_ITEM} --context sex --values sex=f,m "
          "--method auto:context-per-user=sex", epsilon="6", quick=True),
    Asked("without repeats", f"{_ITEM} --method auto:repeats=no"),
    Asked("by norm", f"{_BOTH} --method auto:repeats=no --delta 1e-6 --noise gaussian",
          epsilon="4", quick=True),
    Asked("top", f"{_ITEM} --top 3", quick=True),
    Asked("top in contexts", f"{_BOTH} --top 2", epsilon="4"),
    Asked("top in contexts of users",
          f"{_ITEM} --context sex --values sex=f,m "
          "--method top:k=2,context-per-user=sex", epsilon="4"),
    Asked("items",
          "--user who --item place --method discover:columns=item,max-records=4 --delta 1e-3 "
          "--noise laplace",
          epsilon="4", quick=True),
    Asked("cells",
          "--user who --item place --context day "
          "--method discover:columns=place,day,max-records=4 --delta 1e-3 "
          "--noise laplace", epsilon="8", quick=True),
    Asked("items in known contexts",
          f"--user who --item place {_DAY} --method discover:columns=place,max-records=4 "
          "--delta 1e-3 --noise gaussian", epsilon="8"),
    Asked("attributes",
          "--user who --attributes sex,hour --method discover:columns=sex,hour,max-records=4 "
          "--delta 1e-3",
          epsilon="8"),
)  # fmt: skip
_FORMS = (
    Asked("cut", f"{_SRA} --summary filter:cut=4", quick=True),
    Asked("size", f"{_SRA} --summary filter:size=8"),
    Asked("one side", f"{_SRA} --summary filter:cut=2,sides=one"),
    Asked("threshold", f"{_SRA} --summary threshold:threshold=19/3", quick=True),
    Asked("one side", f"{_SRA} --summary threshold:threshold=7/2,sides=one"),
    Asked("size", f"{_SRA} --summary threshold:size=6,guess-total=300"),
    Asked("size", f"{_SRA} --summary priority:size=6", quick=True),
    Asked("threshold", f"{_SRA} --summary priority:size=6,threshold=3"),
    Asked("cut", f"{_SRA} --summary filter-priority:size=6,cut=3", quick=True),
    Asked("one side", f"{_SRA} --summary filter-priority:size=6,sides=one"),
    Asked("ranges", f"{_RANGES} --transform dyadic:columns=hour", quick=True),
    Asked("ranges in contexts", f"{_ITEM} {_HOUR} {_L} --transform dyadic:columns=hour"),
    Asked("cut", f"{_RANGES} --transform dyadic:columns=hour --summary filter:cut=3"),
    Asked("threshold",
          f"{_RANGES} --transform dyadic:columns=hour --summary threshold:threshold=19/3"),
    Asked("size", f"{_RANGES} --transform dyadic:columns=hour "
          "--summary filter-priority:size=6"),
    Asked("wavelets", f"{_RANGES} --transform haar:columns=hour", quick=True, all_readers=True),
    Asked("cut", f"{_RANGES} --transform haar:columns=hour --summary filter:cut=3"),
    Asked("size", f"{_RANGES} --transform haar:columns=hour --summary priority:size=6"),
    Asked("sketch", f"{_SRA} --transform sketch:buckets=8,rows=3", quick=True),
    Asked("hpa", f"{_BOTH} --method hpa:max-records=4 --summary filter:cut=4"),
    Asked("dpsense", f"{_BOTH} --method dpsense:max-records=4 --count users "
          "--summary threshold:threshold=3"),
    Asked("declared", f"{_ITEM} --method declared:max-records=60 "
          "--transform sketch:buckets=4,rows=3"),
)  # fmt: skip
_SOURCES = tuple(
    Asked("contexts", _SRA, source=source, quick=source in ("parquet", "sqlite"))
    for source in inputs.SOURCES
    if source != "csv"
)
_ON_SPARK = (
    "sra laplace dense none: contexts", "sra laplace dense none: users",
    "sra laplace dense none: quantities", "sra laplace dense none: pairs",
    "sra laplace dense none: chosen by rank", "sra laplace dense none: attributes",
    "sra laplace dense none: same person", "sra laplace dense none: join",
    "sra laplace dense none: expressions", "sra laplace dense none: time zone",
    "sra laplace dense none: days of the zone", "hpa laplace dense none: contexts",
    "declared laplace dense none: items",
    "dpsense laplace dense none: contexts", "dpsense-s laplace dense none: contexts",
    "sra gaussian dense none: contexts", "dpsense gaussian dense none: l2",
    "rows laplace dense none: rows", "rows laplace dense none: weights",
    "bounded-to laplace dense none: elsewhere", "unbounded interval dense none: users",
    "auto laplace dense none: records", "auto laplace dense none: contexts",
    "auto laplace dense none: one sex", "top laplace dense none: top",
    "discover laplace dense none: items", "discover laplace dense none: cells",
    "sra laplace filter none: cut", "sra laplace threshold none: threshold",
    "sra laplace priority none: size", "sra laplace filter-priority none: cut",
    "sra laplace dense dyadic: ranges", "sra laplace dense haar: wavelets",
    "sra laplace dense sketch: sketch",
)  # fmt: skip
"""What Spark counts too: every method, summary and transform once."""


def requests() -> Iterator[Asked]:
    """Every request."""
    on_duckdb = (*_PLAIN, *_RULES, *_GAUSSIAN, *_ROWS, *_AUTO, *_FORMS, *_SOURCES)
    yield from on_duckdb
    by_name = {one.name.replace(" csv duckdb", ""): one for one in on_duckdb}
    for name in _ON_SPARK:
        one = by_name[f"release {name}"]
        source = "csv" if "contexts" in name or "zone" in name else "parquet"
        yield Asked(one.title, one.words, one.epsilon, source, "spark")


# ---- readers ------------------------------------------------------------------------------------

_FEW = (
    ("check", "check out --ledger ledger.sqlite --json"),
    ("describe", "describe out"),
    ("top", "top out -k 5"),
    ("sum", "sum out --json"),
)
_MORE = (
    ("describe as json", "describe out --json"),
    ("top as json", "top out --json --labels labels.csv:label,category"),
    ("top, raw", "top out --raw --format csv"),
    ("top in a context", "top out --context day=Mon"),
    ("sum of a day", "sum out --where \"day = 'Mon'\""),
    ("sum of some", "sum out --where \"place in ('p0', 'p3') and day <> 'Tue'\" --json"),
    ("sum of a range", 'sum out --where "hour between 2 and 5" --json'),
    ("sum of one", "sum out --where \"place = 'p1'\" --format csv"),
    ("recommend", "recommend out --context day=Mon --without p0 --json"),
    ("special", "recommend out --context day=Tue --by special"),
    ("like", "recommend out --like p0"),
    ("changes to itself", "changes out out"),
)
_FILES = (
    ("top.csv", "top out -o {}"),
    ("top.xlsx", "top out -o {}"),
    ("top.parquet", "top out --raw -o {}"),
    ("special.json", "recommend out --context day=Mon --by special -o {}"),
    ("report.html", "report out -o {}"),
    ("labelled.html", "report out -o {} --labels labels.csv:label,category"),
    ("report.json", "report out -o {}"),
    ("entry.yaml", "export out --registry {}"),
    ("croissant.json", "export out --croissant {}"),
    ("site", "export out --site {}"),
)


def _read(asked: Asked, stage: Stage) -> None:
    """Every reader's answer; a refusal is one too."""
    for case, words in _FEW:
        stage.case(case, *shlex.split(words))
    for case, words in _MORE:
        stage.case(case, *shlex.split(words), quick=asked.all_readers)
    if asked.engine == "spark":
        return  # readers do not know what counted
    for name, words in _FILES:
        typed = shlex.split(words.format(name))
        stage.case(name, *typed, files=(name,), quick=asked.all_readers)


def _play(asked: Asked, stage: Stage) -> None:
    inputs.lists(stage)
    source = inputs.SOURCES[asked.source](stage)
    engine = ("--engine", "spark") if asked.engine == "spark" else ()
    where = ("--ledger", "ledger.sqlite", "--dataset", "town", "--new-dataset", "-o", "out")
    given = ("--epsilon", asked.epsilon, *shlex.split(asked.words), *engine)
    stage.case("plan", "plan", source, *given[: len(given) - len(engine)], quick=asked.quick)
    stage.seed("release")
    told = stage.run("release", source, *given, *where)
    charged = stage.run("ledger", "export", "--ledger", "ledger.sqlite")
    out = stage.folder / "out"
    stage.note("release", told, folder_text(out), charged)
    if not out.exists():  # a refusal would stand for a kind of release that nobody made
        raise RuntimeError(told)
    _read(asked, stage)
    _again(asked, stage, source, given)


def _again(asked: Asked, stage: Stage, source: str, given: tuple[str, ...]) -> None:
    """A second release beside the first: what changed, and what it is charged."""
    if asked.engine == "spark" or not (asked.quick or asked.all_readers):
        return
    later = (*given, "--ledger", "ledger.sqlite", "--dataset", "town", "-o", "later")
    stage.case("later", "release", source, *later, "--json", quick=asked.all_readers)
    for case, words in (("changes", ""), ("changes of shares", "--of shares --json --fdr 0.2")):
        stage.case(case, "changes", "out", "later", *words.split(), quick=asked.all_readers)
    stage.case("ledger", "ledger", "show", "--ledger", "ledger.sqlite", quick=asked.all_readers)


def scenes() -> Iterator[Scene]:
    """A scene for each request."""
    for asked in requests():
        needs = {"spark": "spark"}.get(asked.engine, "postgres" * (asked.source == "postgres"))
        yield Scene(asked.name, partial(_play, asked), asked.quick, needs)
