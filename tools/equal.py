"""Whether the program still says and writes what it did: a digest of all that it answers.

    python tools/equal.py              compare with tools/equal.txt; exit 1 where a case differs
    python tools/equal.py --quick      a fixed part of the cases, within a minute
    python tools/equal.py --only TEXT  cases whose name has this text
    python tools/equal.py --show CASE  the text of a case that is hashed, to compare two versions
    python tools/equal.py --keep DIR   write all texts to a folder
    python tools/equal.py --write      write the digest anew

Chance follows from a case's name, and what differs between runs and machines (paths, times, random
ids, versions) is taken out. A change that only moves code leaves every line of the digest as it is.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIGEST = ROOT / "tools" / "equal.txt"
PROCESSES = 2
QUICK = "quick"
Found = dict[str, tuple[str, bool]]
"""The hash of each case, and whether it is quick."""


@dataclass(frozen=True)
class Wanted:
    """What is to be played."""

    quick: bool = False
    only: str = ""
    show: str = ""

    def takes(self, case: str, quick: bool) -> bool:
        """Whether a case is compared."""
        return (quick or not self.quick) and self.only in case and self.show in ("", case)


# ---- playing ------------------------------------------------------------------------------------


def scene_names(wanted: Wanted, known: Found) -> list[list[str]]:
    """The scenes to play, in batches that one process plays; the longest batch first."""
    from same.every import scenes

    asked = {case.split(" / ")[0] for case, (_, quick) in known.items() if wanted.takes(case, quick)}
    batches: dict[str, list[str]] = {}
    for scene in scenes():
        if wanted.quick and not scene.quick:
            continue
        if scene.name in asked or wanted.only in scene.name or wanted.show.startswith(scene.name):
            if wanted.show and not wanted.show.startswith(f"{scene.name} / "):
                continue
            batches.setdefault(scene.needs or scene.name, []).append(scene.name)
    return sorted(batches.values(), key=len, reverse=True)


def play(names: list[str], quick: bool) -> list[tuple[dict[str, str], set[str], str, float]]:
    """The texts of some scenes: in a process whose chance is not chance."""
    from same import seams
    from same.every import scenes
    from same.stage import played

    seams.begin()
    by_name = {scene.name: scene for scene in scenes()}
    made = []
    for name in names:
        start = time.monotonic()
        stage = played(by_name[name], quick)
        made.append((stage.found, stage.marked, name, time.monotonic() - start))
    return made


def _start() -> None:
    """What a process needs to find the program, and the tests' servers."""
    for place in ("tests", "src", "tools"):
        sys.path.insert(0, str(ROOT / place))


def texts_of(wanted: Wanted, known: Found, slow: list[tuple[float, str]]) -> dict[str, str]:
    """The text of every case that is wanted; marks quick ones with a star at the end."""
    batches = scene_names(wanted, known)
    found: dict[str, str] = {}
    with ProcessPoolExecutor(
        PROCESSES, mp_context=get_context("spawn"), initializer=_start
    ) as pool:
        for task in as_completed([pool.submit(play, names, wanted.quick) for names in batches]):
            for texts, marked, name, seconds in task.result():
                slow.append((seconds, name))
                found |= {f"{case}{'*' * (case in marked)}": texts[case] for case in texts}
    return found


def digest_of(texts: dict[str, str], scenes: Iterable[str]) -> Found:
    """Each case's hash; a case is quick where its scene is and the case is marked."""
    from same.texts import short

    quick = set(scenes)
    return {
        case.removesuffix("*"): (short(text), case.endswith("*") and _scene(case) in quick)
        for case, text in sorted(texts.items())
    }


def _scene(case: str) -> str:
    return case.split(" / ")[0]


# ---- the file -------------------------------------------------------------------------------------


def read(path: Path = DIGEST) -> Found:
    """The digest that is kept."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    parts = (line.split("\t") for line in lines)
    return {name: (hashed, kind == QUICK) for name, hashed, kind in parts}


def write(found: Found, path: Path = DIGEST) -> None:
    """Keep a digest."""
    lines = (f"{name}\t{h}\t{QUICK if q else 'whole'}\n" for name, (h, q) in sorted(found.items()))
    path.write_text("".join(lines), encoding="utf-8")


def keep(texts: dict[str, str], folder: Path) -> None:
    """Write the texts that are hashed, so that those of two versions can be compared."""
    folder.mkdir(parents=True, exist_ok=True)
    for case, text in texts.items():
        name = case.rstrip("*").replace("/", "-")
        (folder / f"{name}.txt").write_text(text, encoding="utf-8", errors="surrogateescape")


def differences(before: Found, after: Found) -> Iterator[str]:
    """Which cases changed, vanished and are new."""
    for case in sorted(before.keys() | after.keys()):
        if case not in after:
            yield f"vanished  {case}"
        elif case not in before:
            yield f"new       {case}"
        elif before[case][0] != after[case][0]:
            yield f"changed   {case}"


def table(cases: Iterable[str]) -> str:
    """How many cases there are of each kind of release, and of each other kind."""
    counted: Counter[str] = Counter()
    for case in cases:
        scene = _scene(case)
        kind = scene.split(":")[0]
        counted[kind] += 1
    lines = (f"{number:6} {kind}" for kind, number in sorted(counted.items()))
    return "\n".join([f"{'cases':>6} kind, of a release: method noise summary transform source "
                      "engine", *lines, f"{sum(counted.values()):6} together"])  # fmt: skip


# ---- the command ----------------------------------------------------------------------------------


def arguments() -> argparse.Namespace:
    """What was asked."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--write", action="store_true", help="write the digest anew")
    parser.add_argument("--quick", action="store_true", help="a fixed part of the cases")
    parser.add_argument("--only", default="", metavar="TEXT", help="cases with this in their name")
    parser.add_argument("--show", default="", metavar="CASE", help="print the text of a case")
    parser.add_argument("--keep", default="", metavar="DIR", help="write the texts there")
    parser.add_argument("--slow", action="store_true", help="say which scenes took longest")
    parser.add_argument("--run", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    """Compare, write or show."""
    _start()
    asked = arguments()
    if asked.run:
        _run(asked.run)
    from same.every import scenes

    begun, slow = time.monotonic(), list[tuple[float, str]]()
    wanted, known = Wanted(asked.quick, asked.only, asked.show), read()
    texts = texts_of(wanted, known, slow)
    after = digest_of(texts, [scene.name for scene in scenes() if scene.quick])
    after = {case: it for case, it in after.items() if wanted.takes(case, it[1])}
    before = {case: it for case, it in known.items() if wanted.takes(case, it[1])}
    if asked.show:
        print(next((text for case, text in texts.items() if case.rstrip("*") == asked.show), ""))
        return
    if asked.keep:
        keep(texts, Path(asked.keep))
    if asked.write:
        write({**(known if wanted != Wanted() else {}), **after})
    print(table(after))
    for seconds, name in sorted(slow, reverse=True)[: 25 * asked.slow]:
        print(f"{seconds:6.1f} s {name}")
    found = [] if asked.write else list(differences(before, after))
    print(*found, sep="\n", end="\n" if found else "")
    print(f"{len(after)} cases, {len(found)} differ; {time.monotonic() - begun:.0f} s")
    sys.exit(bool(found))


def _run(words: list[str]) -> None:
    """Be the command line, with the chance of a name: for servers, which are processes."""
    from same import seams

    name, *typed = words
    seams.begin()
    seams.seed(name)
    seams.serve(typed)
    os._exit(0)


if __name__ == "__main__":
    main()
