"""Whether the program still says and writes what it did: a digest of all that it answers.

::

    python tools/equal.py              compare with tools/equal.txt; exit 1 where a case differs
    python tools/equal.py --quick      a fixed part of the cases, within a minute
    python tools/equal.py --only TEXT  cases whose name has this text
    python tools/equal.py --show CASE  the text of a case that is hashed, to compare two versions
    python tools/equal.py --keep DIR   write all texts to a folder, for the same
    python tools/equal.py --write      write the digest anew; with --only, those cases alone

Chance follows from a case's name, and what differs between runs and machines (paths, times, random
ids, versions) is taken out. A change that only moves code leaves every line of the digest as it is.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIGEST = ROOT / "tools" / "equal.txt"
PROCESSES = 2
QUICK, WHOLE = "quick", "whole"
SEPARATOR = " / "
"""Between a scene, whose cases share a folder, and one of them."""


@dataclass(frozen=True)
class Case:
    """One line of the digest."""

    hashed: str
    quick: bool


Digest = dict[str, Case]


@dataclass(frozen=True)
class Wanted:
    """Which cases are asked for."""

    quick: bool = False
    only: str = ""

    def takes(self, name: str, case: Case) -> bool:
        """Whether a case is one of them."""
        return (case.quick or not self.quick) and self.only in name

    def of(self, digest: Digest) -> Digest:
        """Those of a digest."""
        return {name: case for name, case in digest.items() if self.takes(name, case)}


@dataclass
class Played:
    """What some scenes came to."""

    texts: dict[str, str] = field(default_factory=dict)
    digest: Digest = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    """How long each scene took."""

    def add(self, other: Played) -> None:
        """Take in what another process played."""
        self.texts |= other.texts
        self.digest |= other.digest
        self.seconds |= other.seconds


# ---- playing ------------------------------------------------------------------------------------


def batches(wanted: Wanted, known: Digest) -> list[list[str]]:
    """The scenes to play: those that share a server together, and first."""
    from same.every import scenes

    asked = {scene_of(name) for name in wanted.of(known)}
    found: dict[str, list[str]] = {}
    for scene in scenes():
        if (scene.quick or not wanted.quick) and (
            scene.name in asked or wanted.only in f"{scene.name}{SEPARATOR}"
        ):
            found.setdefault(scene.needs or scene.name, []).append(scene.name)
    return sorted(found.values(), key=len, reverse=True)


def play(names: list[str], quick: bool) -> Played:
    """Play some scenes, in a process whose chance is not chance."""
    from same import seams
    from same.every import scenes
    from same.stage import played
    from same.texts import short

    seams.begin()
    by_name, found = {scene.name: scene for scene in scenes()}, Played()
    for name in names:
        start, scene = time.monotonic(), by_name[name]
        stage = played(scene, quick)
        found.texts |= stage.found
        found.digest |= {
            case: Case(short(text), scene.quick and case in stage.marked)
            for case, text in stage.found.items()
        }
        found.seconds[name] = time.monotonic() - start
    return found


def find_program() -> None:
    """Let this process find the program, the scenes, and the tests' servers."""
    for place in ("tests", "src", "tools"):
        sys.path.insert(0, str(ROOT / place))


def play_all(wanted: Wanted, known: Digest) -> Played:
    """Play what is wanted, in two processes."""
    found = Played()
    with ProcessPoolExecutor(
        PROCESSES, mp_context=get_context("spawn"), initializer=find_program
    ) as pool:
        tasks = [pool.submit(play, names, wanted.quick) for names in batches(wanted, known)]
        for task in as_completed(tasks):
            found.add(task.result())
    return found


def scene_of(case: str) -> str:
    """The scene of a case."""
    return case.split(SEPARATOR)[0]


# ---- the digest ---------------------------------------------------------------------------------


def read(path: Path = DIGEST) -> Digest:
    """The digest that is kept; none is an empty one."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    parts = (line.split("\t") for line in lines)
    return {name: Case(hashed, kind == QUICK) for name, hashed, kind in parts}


def write(digest: Digest, path: Path = DIGEST) -> None:
    """Keep a digest."""
    lines = (
        f"{name}\t{case.hashed}\t{QUICK if case.quick else WHOLE}\n"
        for name, case in sorted(digest.items())
    )
    path.write_text("".join(lines), encoding="utf-8")


def keep(texts: dict[str, str], folder: Path) -> None:
    """Write the texts that are hashed, so that those of two versions can be compared."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        file = folder / f"{name.replace('/', '-')[:200]}.txt"
        file.write_text(text, encoding="utf-8", errors="surrogateescape")


def differences(before: Digest, after: Digest) -> Iterator[str]:
    """Which cases changed, vanished and are new."""
    for name in sorted(before.keys() | after.keys()):
        if name not in after:
            yield f"vanished  {name}"
        elif name not in before:
            yield f"new       {name}"
        elif before[name].hashed != after[name].hashed:
            yield f"changed   {name}"


def table(cases: Iterable[str]) -> str:
    """How many cases there are of each kind of release, and of each other kind."""
    counted = Counter(scene_of(case).split(":")[0] for case in cases)
    head = f"{'cases':>6} kind; of a release: method noise summary transform source engine"
    lines = (f"{number:6} {kind}" for kind, number in sorted(counted.items()))
    return "\n".join([head, *lines])


# ---- the command --------------------------------------------------------------------------------


def arguments() -> argparse.Namespace:
    """What was asked."""
    parser = argparse.ArgumentParser(description="Compare all that the program says with before.")
    parser.add_argument("--write", action="store_true", help="write the digest anew")
    parser.add_argument("--quick", action="store_true", help="a fixed part of the cases")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases with this in their name")
    parser.add_argument("--show", default="", metavar="CASE", help="print the text of a case")
    parser.add_argument("--keep", metavar="DIR", type=Path, help="write the texts there")
    parser.add_argument("--slow", action="store_true", help="say which scenes took longest")
    parser.add_argument("--run", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    """Compare, write or show."""
    find_program()
    asked = arguments()
    if asked.run:
        be_program(*asked.run)
    elif asked.show:
        print(play([scene_of(asked.show)], quick=False).texts.get(asked.show, "no such case"))
    else:
        sys.exit(compare(asked))


def compare(asked: argparse.Namespace) -> bool:
    """Print what differs; whether anything does."""
    begun, known, wanted = time.monotonic(), read(), Wanted(asked.quick, asked.only)
    found = play_all(wanted, known)
    after = wanted.of(found.digest)
    if asked.keep:
        keep(found.texts, asked.keep)
    if asked.write:
        rest = {name: case for name, case in known.items() if not wanted.takes(name, case)}
        write(rest | after)
    print(table(after))
    if asked.slow:
        slowest = sorted(found.seconds.items(), key=lambda one: -one[1])[:25]
        print(*(f"{seconds:6.1f} s {name}" for name, seconds in slowest), sep="\n")
    told = list(differences(wanted.of(read()), after))
    print(*told, f"{len(after)} cases, {len(told)} differ", sep="\n")
    print(f"{time.monotonic() - begun:.0f} seconds", file=sys.stderr)
    return bool(told)


def be_program(name: str, *words: str) -> None:
    """Be the command line, with the chance of a name: for servers, which are processes."""
    from same import seams

    seams.begin()
    seams.seed(name)
    seams.serve(list(words))


if __name__ == "__main__":
    main()
