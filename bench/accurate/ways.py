"""Every way to spend ε that is compared, and the settings that are tried with hindsight."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from accurate.files import Subject
from crowdtally.curator.bounding.scaling import AIMS
from crowdtally.curator.request.request import Request, make_request
from crowdtally.lab.baselines import BASELINES
from crowdtally.lab.comparison.plan import USUAL_CAP, USUAL_SCALING
from crowdtally.lab.methods import Method

BOUNDS = (1, 5, 15, 30, 70, 150)
"""What is tried with hindsight: at most six settings of a method."""
LARGEST_CANDIDATE = 100
"""Of the bounds that DPSense and DPSense-S choose privately, as their paper does."""
BASED = ("lpa", "dft", "gs")
"""Methods with a bound that the papers read off the records: M, the most that anybody has."""


@dataclass(frozen=True)
class Way:
    """One method with one setting."""

    method: str
    """``auto``, a bounding with or without a choice, or a baseline."""
    bound: int | None = None
    """The bound per user; None for ``auto``, and for M with a baseline."""
    aim: str | None = None
    """What ``auto`` is for."""
    delta: str | None = None
    """δ that it may use; None for pure ε."""

    def __str__(self) -> str:
        if self.aim is not None:
            return f"auto --for {self.aim}" + (f" --delta {self.delta}" if self.delta else "")
        return f"{self.method} l={self.bound or 'M'}"

    @property
    def is_auto(self) -> bool:
        """Whether it is the one that is judged."""
        return self.aim is not None

    @property
    def seed_method(self) -> str:
        """The method, however its bound is found."""
        return self.method.partition("+")[0]

    @property
    def counts_once(self) -> bool:
        """Whether what is counted is the same at every ε: where nothing is released before."""
        return self.method in (*BASELINES, "sra", "dpsense", "dpsense-s")

    def key(self) -> dict[str, Any]:
        """What results of it are known by."""
        return asdict(self)


def autos(subject: Subject) -> list[Way]:
    """What is judged; there is nothing to recommend by where there are no contexts."""
    aims = AIMS if subject.has_contexts else AIMS[:2]
    return [Way("auto", aim=aim) for aim in aims]


def at_the_papers_settings(subject: Subject) -> list[Way]:
    """Each seed method and baseline as its paper sets it."""
    bound = 30 if subject.name.startswith("MovieLens") else 10
    chosen = [Way(f"{name}+dpsense", LARGEST_CANDIDATE) for name in ("dpsense", "dpsense-s")]
    return [Way("sra", bound), Way("hpa", bound), *chosen, *(Way(name) for name in BASED)]


def searched(subject: Subject) -> Iterator[Way]:
    """Each of them with up to six settings, none beyond the first that cuts nobody."""
    cutting = sum(bound < subject.held.largest for bound in BOUNDS)
    bounds = BOUNDS[: cutting + 1]
    for name in ("sra", "hpa", "dpsense", "dpsense-s"):
        yield from (Way(name, bound) for bound in bounds)
    for name in BASED:
        yield from (Way(name, bound) for bound in bounds[:5])
        yield Way(name)


def request_of(way: Way, subject: Subject, epsilon: str) -> Request:
    """The request of a way that is no baseline."""
    held, file = subject.held, subject.file
    options: dict[str, Any] = {}
    if way.is_auto:
        options = {"for_": way.aim, "repeats": None if file.repeats else "no"}
        if file.per_user and subject.has_contexts:
            options["context_per_user"] = ",".join(file.contexts)
            options["features"] = None if way.aim == "top" else subject.features
    else:
        options = {**Method.of(way.method).options, "max_records": way.bound}
        if way.seed_method.startswith("dpsense") and held.what == "records":
            options["cap"] = USUAL_CAP
        if way.method == "dpsense-s":
            options["scalings"] = USUAL_SCALING
    return make_request(
        held.records, held.domain, epsilon=epsilon, delta=way.delta or 0, count=held.what, **options
    )
