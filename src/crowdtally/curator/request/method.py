"""The method of a release: how users are bounded, how the bound is found, what is counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TypedDict, Unpack, get_args

from crowdtally.curator.choosing.dpsense_s import SCALINGS, check_scalings
from crowdtally.errors import UsageError, did_you_mean
from crowdtally.values.counts import What
from crowdtally.values.rational import exact

SAMPLING = ("sra", "hpa", "tempered", "declared")
"""Rules that keep some of a user's records: one sample for all tables."""
SCALING = ("dpsense", "dpsense-s")
"""Rules that scale a user's whole row, for each table on its own."""
BOUNDINGS = SAMPLING + SCALING
ROW = "row"
"""No rule at all: each row is one person. Not asked for by name, but by --user-per-row."""
CHOICES = ("rank", "dpsense")
LARGEST_PAIR_LIMIT = 100
"""Records per user beyond which pairs are refused: one user could add 4,950 of them."""
_LARGEST_LIMIT, _LARGEST_CAP = 2**31, 2**10


@dataclass(frozen=True)
class Method:
    """Every public parameter of the method."""

    bounding: str = "sra"
    """The rule that bounds a user."""
    limit: int = 10
    """The bound (l, θ or M); where it is chosen privately, the largest candidate."""
    choose: str | None = None
    """How the bound is chosen privately; None where ``limit`` is the bound."""
    what: What = "records"
    """Whether records or distinct users are counted."""
    popularity_records: int | None = None
    """d₀: records per user in the popularity estimate; only where there is one."""
    temper: Fraction | None = None
    """γ, only for the tempered rule."""
    cap: int = 1
    """The most that a user counts in one cell, for rules that scale rows."""
    scalings: tuple[Fraction, ...] = (Fraction(1),)
    """The s that DPSense-S chooses from; one where it is given."""
    pairs: bool = False
    """Whether pairs of items of one user are counted too."""
    discover: bool = False
    """Whether items are discovered, for want of a public list."""

    @property
    def by_row(self) -> bool:
        """Whether each row is one person, so that there is nothing to bound."""
        return self.bounding == ROW

    @property
    def samples(self) -> bool:
        """Whether the rule keeps records rather than scaling rows."""
        return self.bounding in SAMPLING


class MethodOptions(TypedDict, total=False):
    """The method as a person asks for it; every option has a default."""

    bounding: str
    """``sra`` (default), ``hpa``, ``tempered``, ``declared``, ``dpsense`` or ``dpsense-s``."""
    max_records: int
    """The bound per user (default 10); with ``choose``, the largest one to choose from."""
    choose: str | None
    """``rank`` or ``dpsense``: choose the bound privately, for a share of ε."""
    count: str
    """``records`` (default), or ``users`` for distinct users per cell."""
    popularity_records: int | None
    """For ``hpa`` and ``tempered``: records per user in the popularity estimate (default 10)."""
    temper: object
    """For ``tempered``: γ from 0 (as ``sra``) upwards (towards ``hpa``); default 1/2."""
    cap: int | None
    """For ``dpsense`` and ``dpsense-s`` with ``count="records"``: the most in one cell."""
    scalings: object
    """For ``dpsense-s``: the scaling factors, within 1 … 2, to choose from (1.00, 1.01, … 2.00)."""
    pairs: bool
    """Count pairs of items of one user too ("who used i also used j")."""
    discover_items: bool
    """Release the items that enough users have, for want of a public list; needs ``delta``."""


def make_method(**options: Unpack[MethodOptions]) -> Method:
    """Check each option by itself, then all of them together."""
    bounding = known(options.get("bounding", "sra"), BOUNDINGS, "--bounding")
    count = known(options.get("count", "records"), get_args(What), "--count")
    choose = options.get("choose")
    if choose is not None:
        known(choose, CHOICES, "--choose")
    pairs, discover = options.get("pairs", False), options.get("discover_items", False)
    popularity_records, temper = options.get("popularity_records"), options.get("temper")
    cap, scalings = options.get("cap"), options.get("scalings")
    given = _Given(
        bounding, choose, count, popularity_records is not None, temper is not None,
        cap is not None, scalings is not None, pairs, discover,
    )  # fmt: skip
    for applies, words in REFUSALS:
        if applies(given):
            raise UsageError(words)
    most = LARGEST_PAIR_LIMIT if pairs else _LARGEST_LIMIT
    popular = bounding in ("hpa", "tempered")
    return Method(
        bounding,
        whole(options.get("max_records", 10), "--max-records", 1, most),
        choose,
        "users" if count == "users" else "records",
        _popularity_records(popularity_records) if popular else None,
        _gamma(temper) if bounding == "tempered" else None,
        1 if cap is None else whole(cap, "--cap", 1, _LARGEST_CAP),
        _scalings(scalings, choose) if bounding == "dpsense-s" else (Fraction(1),),
        pairs,
        discover,
    )


@dataclass(frozen=True)
class _Given:
    """What was asked for, as far as it can clash."""

    bounding: str
    choose: str | None
    count: str
    popularity_records: bool
    temper: bool
    cap: bool
    scalings: bool
    pairs: bool
    discover: bool


Refusal = tuple[Callable[[_Given], bool], str]
REFUSALS: tuple[Refusal, ...] = (
    (
        lambda g: g.choose == "dpsense" and g.bounding in SAMPLING,
        "--choose dpsense chooses how rows are scaled: for rules that keep records use "
        "--choose rank, or --bounding dpsense.",
    ),
    (
        lambda g: g.choose is not None and g.bounding == "declared",
        "--bounding declared states the bound; to have it chosen use --bounding sra --choose rank.",
    ),
    (
        lambda g: g.choose == "rank" and g.bounding == "dpsense-s",
        "DPSense-S chooses its bound and its scaling together: use --choose dpsense.",
    ),
    (
        lambda g: g.bounding in SCALING and g.count == "records" and not g.cap,
        "this rule scales whole rows, so a user's count in one cell needs a public cap: add "
        "--cap R, or count distinct users with --count users.",
    ),
    (
        lambda g: g.cap and (g.bounding not in SCALING or g.count == "users"),
        "--cap is for --bounding dpsense or dpsense-s with --count records: remove it.",
    ),
    (
        lambda g: g.scalings and g.bounding != "dpsense-s",
        "--scalings is for --bounding dpsense-s: remove it.",
    ),
    (
        lambda g: g.popularity_records and g.bounding not in ("hpa", "tempered"),
        "--popularity-records is for --bounding hpa or tempered: remove it.",
    ),
    (
        lambda g: g.temper and g.bounding != "tempered",
        "--temper is for --bounding tempered: remove it.",
    ),
    (
        lambda g: g.pairs and g.bounding not in SAMPLING,
        "--pairs counts pairs of kept records: use a rule that keeps records, such as sra.",
    ),
    (
        lambda g: g.discover and (g.bounding != "sra" or g.choose is not None or g.pairs),
        "--discover-items works with --bounding sra and a given --max-records, without --pairs.",
    ),
)
"""What does not go together, and why. Everything else does."""


def known(value: str, names: tuple[str, ...], option: str) -> str:
    """Refuse a name that is not one of these."""
    if value not in names:
        raise UsageError(f"unknown {option} {value!r}. {did_you_mean(str(value), names)}")
    return value


def whole(value: object, name: str, least: int, most: int) -> int:
    """Refuse what is not a whole number between ``least`` and ``most``."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise UsageError(
            f"{name} must be a whole number between {least} and {most}: received {value!r}."
        )
    return value


def _popularity_records(given: int | None) -> int:
    return 10 if given is None else whole(given, "--popularity-records", 1, _LARGEST_LIMIT)


def _gamma(temper: object) -> Fraction:
    gamma = Fraction(1, 2) if temper is None else exact(temper, "--temper")
    if not 0 <= gamma <= 100:
        raise UsageError(f"--temper must be between 0 (SRA) and 100 (HPA): received {temper!r}.")
    return gamma


def _scalings(given: object, choose: str | None) -> tuple[Fraction, ...]:
    if given is None:
        grid = SCALINGS
    else:
        pieces = given.split(",") if isinstance(given, str) else given
        if not isinstance(pieces, list | tuple):
            raise UsageError(f"--scalings is a list such as 1,1.1,1.2: received {given!r}.")
        grid = tuple(exact(piece, "a scaling") for piece in pieces)
    check_scalings(grid)
    if choose is None and len(grid) != 1:
        raise UsageError(
            "DPSense-S needs one scaling (--scalings 1.2), or --choose dpsense to choose from them."
        )
    return grid
