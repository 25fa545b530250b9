"""The one file here that knows how the program is built inside.

All else goes through the command line and ``import crowdtally``. When modules move, this file
moves with them and no other.
"""

from __future__ import annotations

import contextlib
import getpass
import hashlib
import io
import os
import platform
import pwd
import random
import secrets
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib import import_module
from typing import Any
from unittest import mock

import typer.main

from crowdtally import cli
from crowdtally.noise import source

_SEED_BYTES = 32
"""What the source of noise asks the operating system for: the length of a key."""
_real_urandom = os.urandom
_real_getpwuid = pwd.getpwuid
_name = ""
_asked: Counter[str] = Counter()


# ---- chance, and what differs between machines --------------------------------------------------


def begin() -> None:
    """Replace chance by what follows from a name, and this machine by none in particular."""
    os.environ.update(
        {
            "COLUMNS": "100", "LINES": "40", "NO_COLOR": "1", "TERM": "dumb", "TZ": "UTC",
            "LC_ALL": "C.UTF-8", "LANG": "C.UTF-8", "SPARK_LOCAL_IP": "127.0.0.1",
            "LOGNAME": "someone", "USER": "someone",
        }
    )  # fmt: skip
    for name in ("CROWDTALLY_LEDGER", "CROWDTALLY_DATA", "CROWDTALLY_PERSON_STORE", "FORCE_COLOR"):
        os.environ.pop(name, None)
    time.tzset()
    os.urandom = _urandom
    secrets.randbits = lambda k: int.from_bytes(_bytes("bits", 16)) & ((1 << k) - 1)
    secrets.randbelow = _below
    secrets.token_bytes = lambda nbytes=None: _bytes("bytes", nbytes or 32)
    secrets.token_hex = lambda nbytes=None: _bytes("hex", nbytes or 32).hex()
    secrets.token_urlsafe = lambda nbytes=None: _bytes("url", nbytes or 32).hex()
    platform.node = lambda: "somewhere"
    os.getlogin = lambda: "someone"
    getpass.getuser = lambda: "someone"
    pwd.getpwuid = _account
    seed("")


def seed(name: str) -> None:
    """From here on, draw what belongs to this name."""
    global _name
    _name = name
    _asked.clear()
    random.seed(name)
    source.system_words.cache_clear()  # the key of the case before is gone


def _bytes(kind: str, size: int) -> bytes:
    """The next bytes of a kind; how often another kind was asked for does not matter."""
    _asked[kind] += 1
    return hashlib.shake_256(f"{_name}|{kind}|{_asked[kind]}".encode()).digest(size)


def _account(uid: int, /) -> pwd.struct_passwd:
    return pwd.struct_passwd(("someone", *_real_getpwuid(uid)[1:]))


def _below(exclusive_upper_bound: int) -> int:
    return int.from_bytes(_bytes("below", 16)) % exclusive_upper_bound


def _urandom(size: int, /) -> bytes:
    """Keys of noise follow from the name; other libraries get what they would get."""
    return _bytes("key", size) if size == _SEED_BYTES else _real_urandom(size)


@contextlib.contextmanager
def slow_clock(step: float) -> Iterator[None]:
    """Each look at the stopwatch takes so many seconds: what runs for a time runs equally long."""
    looks = iter(range(10**9))

    def look() -> float:
        return step * next(looks)

    with mock.patch.object(time, "perf_counter", look):
        yield


# ---- the command line ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str


@cache
def _program() -> Any:
    """Built once: ``main`` would build it anew at each start."""
    return typer.main.get_command(cli.app)


def command(*arguments: str) -> Ended:
    """Run the command line in this process."""
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["crowdtally", *arguments]),
        mock.patch.object(cli, "app", _program()),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = _ended()
    return Ended(code, out.getvalue(), err.getvalue())


def _ended() -> int:
    try:
        cli.main()
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0


def commands() -> dict[str, Any]:
    """Every command by its whole name, found by looking at the program."""
    return dict(_commands(_program(), ("crowdtally",)))


def _commands(found: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    yield " ".join(path), found
    for name in found.list_commands(None) if hasattr(found, "list_commands") else ():
        yield from _commands(found.get_command(None, name), (*path, name))


def serve(words: list[str]) -> None:
    """Be the program in this process, until it ends by itself or is interrupted."""
    sys.argv = ["crowdtally", *words]
    cli.main()


# ---- what the program has names for -------------------------------------------------------------


def names() -> dict[str, set[str]]:
    """The names that a person may type for each part of a request."""
    from crowdtally.curator.bounding import BOUNDINGS
    from crowdtally.curator.request.options import NOISES
    from crowdtally.curator.summaries import PUBLISHINGS
    from crowdtally.curator.transforms import TRANSFORMS

    return {
        "method": set(BOUNDINGS),
        "noise": set(NOISES) - {"auto"},
        "summary": set(PUBLISHINGS) - {"auto"},
        "transform": set(TRANSFORMS) - {"auto"},
    }


# ---- samplers, laws and the lab -----------------------------------------------------------------


def draws() -> Any:
    """Everything that can be drawn, from the chance of the name in force."""
    from crowdtally.noise.draws import SystemDraws

    return SystemDraws()


def laws() -> list[Any]:
    """Examples of every law."""
    from crowdtally.laws.gaussian import GaussianNoise
    from crowdtally.laws.interval import IntervalNoise
    from crowdtally.laws.laplace import DiscreteLaplace

    return [
        DiscreteLaplace(Fraction(7, 2)), DiscreteLaplace(Fraction(40), Fraction(1, 4)),
        IntervalNoise(Fraction(1, 2), 6), IntervalNoise(Fraction(1, 3), 6, 1),
        GaussianNoise(Fraction(1, 3)), GaussianNoise(Fraction(101, 2), Fraction(1, 4)),
    ]  # fmt: skip


def combination(squares: float, total: float) -> Any:
    """A weighted sum of cells."""
    from crowdtally.laws.base import Combination

    return Combination(squares, total)


def zcdp() -> Any:
    """The functions between ρ and (ε, δ)."""
    from crowdtally.laws import conversion as found

    return found


def rehearsal(records: Any, domain: Any, **options: Any) -> Iterator[Any]:
    """Runs of a request's real steps, by their seeds."""
    from crowdtally.curator.request.request import make_request
    from crowdtally.lab.rehearse import Rehearsal
    from crowdtally.records.duckdb import DuckDBEngine

    request = make_request(records, domain, **options)
    with DuckDBEngine() as engine:
        made = Rehearsal(request, engine)
        for number in range(3):
            yield made.run(number, draws())


def reserved(location: str, dataset: str, number: int) -> list[str]:
    """Charges that no release came of: the last one may have drawn already."""
    from crowdtally.core.privacy import Epsilon, PrivacyUnit
    from crowdtally.ledger import Charge, Ledger, Part

    made = []
    with Ledger.open(location) as ledger:
        for _ in range(number):
            part = Part("items", Epsilon.of("1/9"), "discrete-laplace", {"l1_bound": 1})
            charge = Charge(secrets.token_hex(16), Epsilon.of("1/9"), (part,))
            unit = PrivacyUnit("user", "who")
            made.append(ledger.reserve(dataset, unit, charge).id)
        ledger.start_drawing(made[-1])
    return made


# ---- servers that the tests start too -----------------------------------------------------------


@cache
def postgres() -> Any:
    """A PostgreSQL server of this process's own."""
    return import_module("kit.ledgers").running_server()


@cache
def spark() -> Any:
    """A Spark session in this process, which ``--engine spark`` joins."""
    from pyspark.sql import SparkSession

    light = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"
    settings = {
        "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2", "spark.log.level": "OFF",
        "spark.driver.extraJavaOptions": light, "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
    }  # fmt: skip
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
