"""Apply each mutant to a copy of the project and see whether its tests notice.

``python tests/mutants/run.py [--only WHICH] [--without WHICH] [--sample N --seed S] [--jobs 2]``;
README.md has the format of the entries and examples of WHICH. Exit code 1: a mutant survived, or an
entry does not apply.
"""

from __future__ import annotations

import argparse
import queue
import secrets
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from mutants.trials import (
    TIME_LIMIT,
    Invalid,
    Mutant,
    Processes,
    Verdict,
    chosen,
    copy_again,
    copy_project,
    pass_without,
    problem,
    read,
    try_out,
)

ROOT = Path(__file__).parents[2]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for; the exit code."""
    options = _options(arguments)
    began = time.monotonic()
    try:
        mutants = read(options.root)
        if options.sample is not None:
            print(f"seed {options.seed}", flush=True)
        mutants = chosen(mutants, options.only, options.without, options.sample, options.seed)
    except Invalid as error:
        print(f"INVALID  {error}")
        return 1
    with _interruptible() as processes:
        tally = _tried(mutants, options, processes)
    seconds = time.monotonic() - began
    print(f"{tally['killed']} of {len(mutants)} mutants killed in {seconds:.0f} seconds")
    return 0 if tally["killed"] == len(mutants) else 1


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    which = "a file such as noise.toml, a changed file such as 'src/*/noise/*', or a part of a name"
    parser.add_argument("--only", metavar="WHICH", help=which)
    parser.add_argument(
        "--without", metavar="WHICH", action="append", default=[], help="leave out; may be repeated"
    )
    parser.add_argument("--sample", type=int, help="so many, at random")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6), help="of the sample")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time")
    parser.add_argument("--seconds", type=float, default=TIME_LIMIT, help="for one mutant's tests")
    parser.add_argument("--root", type=Path, default=ROOT, help="the project")
    return parser.parse_args(arguments)


@contextmanager
def _interruptible() -> Iterator[Processes]:
    """Whatever ends this ends what it started, and the temporary folder goes with it."""
    processes = Processes()

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGTERM, stop)
    try:
        yield processes
    finally:
        processes.stop()
        signal.signal(signal.SIGTERM, previous)


def _tried(
    mutants: Sequence[Mutant], options: argparse.Namespace, processes: Processes
) -> Counter[str]:
    """How many were killed, survived and were invalid; each that was not killed is printed."""
    verdicts: Counter[str] = Counter()
    applying: list[Mutant] = []
    for mutant in mutants:
        words = problem(mutant, options.root)
        if words is None:
            applying.append(mutant)
        else:
            verdicts["invalid"] += 1
            _tell(mutant, Verdict("invalid", words))
    if not applying:
        return verdicts
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        jobs = max(1, min(options.jobs, len(applying)))
        places = [Path(folder).resolve() / str(n) for n in range(jobs)]
        first = copy_project(options.root, places[0])
        copies = [first, *(copy_again(first, place) for place in places[1:])]
        verdicts.update(_each(applying, copies, processes, options.seconds))
    return verdicts


def _each(
    mutants: Sequence[Mutant], copies: Sequence[Path], processes: Processes, seconds: float
) -> Iterator[str]:
    """What became of each mutant, in parallel: a copy serves one at a time."""
    free: queue.SimpleQueue[Path] = queue.SimpleQueue()
    for copy in copies:
        free.put(copy)

    right: dict[tuple[str, ...], Verdict | None] = {}

    def tried(mutant: Mutant) -> Verdict:
        copy = free.get()
        try:
            if mutant.tests not in right:
                right[mutant.tests] = pass_without(mutant, copy, processes, seconds)
            return right[mutant.tests] or try_out(mutant, copy, processes, seconds)
        finally:
            free.put(copy)

    pool = ThreadPoolExecutor(len(copies))
    try:
        trials = {pool.submit(tried, mutant): mutant for mutant in mutants}
        for trial in as_completed(trials):
            _tell(trials[trial], trial.result())
            yield trial.result().kind
    except BaseException:
        processes.stop()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _tell(mutant: Mutant, verdict: Verdict) -> None:
    if verdict.kind != "killed":
        print(f"{verdict.kind.upper():8} {mutant}: {verdict.words}", flush=True)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
