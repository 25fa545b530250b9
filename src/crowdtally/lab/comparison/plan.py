"""The methods, bounds, ε's and runs of a comparison, checked before any record is read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, field
from fractions import Fraction
from typing import Any, TypeVar

from crowdtally.core.counts import What
from crowdtally.core.numbers import is_whole, received, whole_number
from crowdtally.core.privacy import Epsilon
from crowdtally.core.values import converted, pieces, public
from crowdtally.curator.bounding import BOUNDINGS
from crowdtally.curator.bounding.sampling import SRA
from crowdtally.curator.request.options import AUTO
from crowdtally.curator.request.request import Request, make_request
from crowdtally.curator.summaries import PUBLISHINGS
from crowdtally.curator.transforms import TRANSFORMS
from crowdtally.errors import UsageError, closest, did_you_mean
from crowdtally.lab.baselines import BASELINES
from crowdtally.lab.comparison.records import Held
from crowdtally.lab.comparison.summary import Setting
from crowdtally.lab.methods import Method
from crowdtally.lab.processes import cores

# The methods that are compared, each with its bounds, and why some are left out.

DENSE = (
    AUTO, "sra", "hpa", "declared", "dpsense", "dpsense-s", "sra+rank", "hpa+rank",
    "dpsense+rank", "dpsense+dpsense", "dpsense-s+dpsense",
)  # fmt: skip
"""The methods where none is named."""
SPARSE = (
    "sra/filter", "sra/threshold", "sra/priority", "sra/filter-priority", "hpa/filter-priority",
    "dpsense/filter-priority", "dpsense-s/filter-priority", "sra+rank/filter-priority",
)  # fmt: skip
"""The same where the tables are so large that nobody would publish every cell."""
LARGE = 1_000_000
"""Cells of a table beyond which it is called large."""
USUAL_SIZE = 10_000
"""Cells that a sparse method publishes, about, where nothing else is said."""
USUAL_SCALING = "1.2"
"""The scaling of DPSense-S where it is not chosen, and nothing else is said."""
USUAL_CAP = 10
"""The most in one cell that DPSense counts of a user's records, where nothing else is said."""
DECIDED = ("choose", "max_records")
"""Fields of methods that a comparison tries itself."""


@dataclass(frozen=True)
class Plan:
    settings: tuple[Setting, ...]
    """Every method with every bound and ε, in the order of tables."""
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Why a method, or a method with a bound, is left out."""


def plan_of(
    held: Held,
    epsilons: Sequence[Epsilon],
    names: Sequence[str] | None,
    bounds: Sequence[int],
    options: Mapping[str, Any],
) -> Plan:
    """Every method that can run; a method that was named and cannot is refused."""
    usual = SPARSE if max(held.tables.values()) > LARGE else DENSE
    asked = names or (*usual, *BASELINES)
    _check_taken(asked, options)
    settings: list[Setting] = []
    skipped: dict[str, str] = {}
    for name in asked:
        able, refused = _tried(name, held, epsilons, bounds, options)
        if not able:
            reason = next(iter(refused.values()))
            if names is not None:
                raise UsageError(f"the method {name!r} cannot run on these data: {reason}")
            refused = {name: reason}
        settings += able
        skipped |= refused
    if not settings:
        reasons = "\n".join(f"{name}: {words}" for name, words in skipped.items())
        raise UsageError(f"no method can run on these data:\n{reasons}")
    return Plan(tuple(settings), skipped)


def _tried(
    name: str,
    held: Held,
    epsilons: Sequence[Epsilon],
    bounds: Sequence[int],
    options: Mapping[str, Any],
) -> tuple[list[Setting], dict[str, str]]:
    """The settings of a method that can run, and why others cannot."""
    able: list[Setting] = []
    refused: dict[str, str] = {}
    chooses = "+" in name
    for limit in sorted(_limits(name, held, bounds), key=lambda one: one or 0, reverse=chooses):
        before = len(refused)
        for epsilon in epsilons:
            setting = Setting(name, str(epsilon), limit)
            try:
                if name in BASELINES:  # what public numbers rule out shows in what it would spend
                    baseline_of(setting, held).parts(epsilon)
                else:
                    request_of(setting, held, options)
            except UsageError as error:
                bound = "" if limit is None else f" --max-records {limit}"
                refused[f"{name}{bound} --epsilon {epsilon}"] = str(error)
            else:
                able.append(setting)
        if chooses and len(refused) == before:
            break  # a choice takes the largest that can be
    return able, refused


def _limits(name: str, held: Held, bounds: Sequence[int]) -> Sequence[int | None]:
    """The bounds of a method; None for baselines, and for auto, which finds its own."""
    if name in BASELINES:
        return [None]
    bounding = Method.of(name).bounding
    if bounding == AUTO:
        return [None]
    return [max(held.largest, 1)] if bounding == "declared" else bounds


def _known(name: str) -> str:
    """A method as it is called everywhere, so that none is run twice: sra/dense is sra."""
    if name in BASELINES:
        return name
    try:
        return str(Method.of(name))
    except UsageError as error:
        near = closest(name, [*DENSE, *SPARSE, *BASELINES])
        is_told = near is None or "Did you mean" in str(error)
        meant = "" if is_told else f" Did you mean the method {near!r}?"
        raise UsageError(
            f"{error}{meant} Baselines are {', '.join(BASELINES)}; `all` is every method."
        ) from error


def spelled(names: Sequence[str] | None) -> tuple[str, ...] | None:
    """The methods by their own names, each once; an unknown one is refused."""
    typed: dict[str, str] = {}
    for name in names or ():
        known = _known(name)
        if known in typed:
            raise UsageError(f"--methods names {known} twice, as {typed[known]} and {name}.")
        typed[known] = name
    return tuple(typed) or None


def request_of(setting: Setting, held: Held, options: Mapping[str, Any]) -> Request:
    """The request of a setting that is no baseline."""
    method = Method.of(setting.method)
    fields = taken_of(method, held.what, options)
    if setting.max_records is not None:
        fields["max_records"] = setting.max_records
    return make_request(
        held.records, held.domain, epsilon=setting.epsilon, count=held.what,
        **method.options(fields),
    )  # fmt: skip


def taken_of(method: Method, what: What, options: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the fields that a method has, and usual values for those that it needs."""
    taken = method.fields - {*DECIDED}
    given = {name: value for name, value in options.items() if name in taken}
    if "size" in taken and not {"size", "cut", "threshold"} & set(given):
        given["size"] = USUAL_SIZE
    if "cap" in taken and what == "records":
        given.setdefault("cap", USUAL_CAP)
    if "scalings" in taken and method.choice is None:
        given.setdefault("scalings", USUAL_SCALING)
    return given


def given_fields(given: Mapping[str, object]) -> dict[str, Any]:
    """The fields of methods that are given; a comparison tries bounds and choices itself."""
    known = _fields()
    for name in given:
        if name in DECIDED:
            raise UsageError(
                f"a comparison tries every {name} itself: pick methods with --methods, such as "
                "sra,hpa+rank,sra/filter, and bounds with --max-records."
            )
        if name not in known:
            raise UsageError(
                f"no method has a field {name!r}. {did_you_mean(name, set(known) - {*DECIDED})}"
            )
    return {name: value for name, value in given.items() if value is not None}


def typed_fields(text: str | None) -> dict[str, Any]:
    """``FIELD=VALUE,…``, as it is typed.

    >>> typed_fields("size=8,columns=day,hour")
    {'size': 8, 'columns': ('day', 'hour')}
    """
    known, found = _fields(), pieces(text or "", "--fields")
    return {
        name: converted(known[name], texts) if name in known else texts
        for name, texts in found.items()
    }


def _fields() -> dict[str, Field[Any]]:
    """Every field of a method, a summary or a transform; of one name they are of one type."""
    return {
        name: field
        for registry in (BOUNDINGS, PUBLISHINGS, TRANSFORMS)
        for entry in registry
        for name, field in public(registry.load(entry)).items()
    }


def baseline_of(setting: Setting, held: Held) -> Any:
    """The baseline of a setting; its bound is M, read off the records."""
    what, limit = held.what, max(held.largest, 1)
    request = make_request(held.records, held.domain, epsilon=1, count=what, method=SRA(limit))
    return BASELINES.load(setting.method).of(request.subject, limit=limit, is_uncut=True)


def _check_taken(names: Sequence[str], options: Mapping[str, Any]) -> None:
    """Refuse a field that no method has: it would be thought to have done something."""
    methods = [Method.of(name) for name in names if name not in BASELINES]
    taken = frozenset[str]().union(*(method.fields for method in methods))
    for name in options:
        if name not in taken:
            raise UsageError(
                f"no method that is compared has a field {name}: remove it, or name one that has "
                f"it with --methods. Compared are: {', '.join(names)}."
            )


# The parameters of a comparison: ε's, bounds, runs, processes.

USUAL_RUNS = 20
USUAL_BOUNDS = (1, 3, 10, 30, 100)
"""The bounds to try where none are given, up to the first that cuts nobody."""
_MOST_RUNS = 10_000
_MOST_JOBS = 1024
_MOST_NOISES = 4
_LARGEST_BOUND = 2**31

One = TypeVar("One")


@dataclass(frozen=True)
class Runs:
    """The runs of each setting: every key with as many noises."""

    keys: int
    """Draws of the sampling key, and of all that is released before the last noise."""
    noises: int
    """Draws of the last noise with each key."""

    @classmethod
    def of(cls, runs: object) -> Runs:
        """Up to 4 noises with a key, as many as divide the runs and leave 2 keys or more.

        >>> Runs.of(20), Runs.of(7), Runs.of(4)
        (Runs(keys=5, noises=4), Runs(keys=7, noises=1), Runs(keys=2, noises=2))
        """
        if is_whole(runs) and int(str(runs)) < 2:
            raise UsageError(
                "--runs must be 2 or more, because a standard error needs two keys: received "
                f"{runs}. 20 is usual."
            )
        number = whole_number(runs, "--runs", 2, _MOST_RUNS)
        noises = next(n for n in range(_MOST_NOISES, 0, -1) if number % n == 0 and number // n >= 2)
        return cls(number // noises, noises)

    @property
    def total(self) -> int:
        return self.keys * self.noises


def epsilons_of(given: object) -> tuple[Epsilon, ...]:
    """Each whole ε, exact: from ``"0.1,1"``, a number, or several of them.

    >>> [str(epsilon) for epsilon in epsilons_of("0.1, 1/3")]
    ['0.1', '1/3']
    """
    return _once(_parts(given, "--epsilon", "0.1,1"), Epsilon.of, "--epsilon")


def bounds_of(given: object) -> tuple[int, ...] | None:
    """Each bound of records per user, ascending; None where none is given."""
    if given is None:
        return None
    parts = _parts(given, "--max-records", "1,10,100")
    return tuple(sorted(_once(parts, _bound, "--max-records")))


def jobs_of(given: object) -> int:
    """How many processes; by default as many as there are cores."""
    return cores() if given is None else whole_number(given, "--jobs", 1, _MOST_JOBS)


def names_of(given: object) -> tuple[str, ...] | None:
    """The names of methods; None for all that can run."""
    if given is None:
        return None
    parts = [str(part).strip() for part in _parts(given, "--methods", "sra,hpa,lpa")]
    if "all" in parts:
        if len(parts) > 1:
            raise UsageError("--methods all means every method: name no other beside it.")
        return None
    return _once(parts, str, "--methods")


def _parts(given: object, option: str, example: str) -> list[object]:
    if isinstance(given, str):
        parts: list[object] = [part.strip() for part in given.split(",")]
    elif isinstance(given, Sequence) and not isinstance(given, bytes):
        parts = list(given)
    else:
        parts = [given]
    if not parts or any(isinstance(part, str) and not part for part in parts):
        raise UsageError(
            f"{option} has an empty entry: received {given!r}; type a list such as {example}."
        )
    return parts


def _once(parts: Iterable[object], read: Callable[[object], One], option: str) -> tuple[One, ...]:
    """Each part read, none of them twice."""
    read_ones: list[One] = []
    for part in parts:
        one = read(part)
        if one in read_ones:
            raise UsageError(f"{option} names {one} twice: name it once.")
        read_ones.append(one)
    return tuple(read_ones)


def _bound(part: object) -> int:
    text = str(part) if isinstance(part, str | int | Fraction) else ""
    if isinstance(part, bool) or not (text.isascii() and text.isdigit()):
        raise UsageError(
            "--max-records is one bound per user or a list of them, such as 1,10,100: received "
            f"{received(part)}."
        )
    return whole_number(int(text), "--max-records", 1, _LARGEST_BOUND)
