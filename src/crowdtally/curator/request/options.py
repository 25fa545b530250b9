"""Every option, declared once."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, TypedDict, TypeVar, get_args, get_origin, get_type_hints

from crowdtally.core.numbers import Number
from crowdtally.curator.bounding import BOUNDINGS, CHOICES
from crowdtally.curator.summaries import PUBLISHINGS
from crowdtally.curator.transforms import TRANSFORMS
from crowdtally.errors import UsageError, did_you_mean

# The options of a release, each declared once.
#
# From here come the keyword parameters of ``ct.release`` and ``ct.plan``, the options of the
# command line, their help and their defaults. To add one: declare it here, and read it where it
# is used.


@dataclass(frozen=True)
class Option:
    """How an option looks on the command line, and what it is where it is not given."""

    default: Any
    metavar: str | None
    """What stands for its value in the help; None for a flag."""
    help: str
    group: str
    """The group of the help that it stands in: ``what``, ``method`` or ``form``."""
    is_whole: bool = False
    names: Collection[str] = ()
    """The words that it may be, for a shell to complete."""


_COUNTED, _SIDES = ("records", "users"), ("one", "two")
NORMS = ("l1", "l2")
"""What rows can be scaled to."""
_AIMS = ("counts", "top", "recommend")
AUTO = "auto"
"""The default of an option that follows from the others, or from what is measured."""
NOISES = (AUTO, "laplace", "gaussian", "interval")
"""The noise that tables of counts can have; ``auto`` is the smaller of Laplace and Gaussian."""


class ReleaseOptions(TypedDict, total=False):
    """How users are bounded, what is counted, and in which form it is published."""

    count: Annotated[
        str, Option("records", "records|users", "What a count counts.", "what", names=_COUNTED)
    ]
    """``records`` (default), or ``users`` for distinct users per cell."""
    bounding: Annotated[
        str | object,
        Option(
            AUTO, "RULE", f"How a user is bounded: {BOUNDINGS.listed()}; auto measures, and "
            "decides.", "method", names=BOUNDINGS,
        ),
    ]  # fmt: skip
    """The name of a rule (default ``auto``), or a rule object of your own."""
    top: Annotated[
        int | None,
        Option(
            None, "K", "Release only the K items that most users have, selected privately.", "what",
            is_whole=True,
        ),
    ]  # fmt: skip
    """Release only the K items that most users have, overall or in each context: selected
    privately, then measured."""
    for_: Annotated[
        str,
        Option(
            "counts", "counts|top|recommend", "auto: what epsilon is spent on: counts of all "
            "items, the largest items, or what to show in each context.", "what", names=_AIMS,
        ),
    ]  # fmt: skip
    """With ``auto``, what the release is for: ``counts`` (default), ``top`` lists, or what to
    ``recommend`` in each context; it moves the shares of ε."""
    context_per_user: Annotated[
        str | Sequence[str],
        Option(
            (), "NAME,…", "auto, --top: the contexts are a property of the user (gender, home "
            "region); name all of them.", "what",
        ),
    ]  # fmt: skip
    """With ``auto`` or ``top``: the contexts that are a property of the user, all of them or none;
    each user has one value."""
    features: Annotated[
        str | os.PathLike[str] | None,
        Option(
            None, "FILE[:COL]", "auto: public features of the items (genres, decades), in a file.",
            "what",
        ),
    ]  # fmt: skip
    """With ``auto``: a file of public features of the items: an item column (the one called as the
    items are, else the first; or ``"FILE:COLUMN"``) and one or more columns of features."""
    repeats: Annotated[
        str | None,
        Option(
            None, "yes|no", "auto: whether a user's several records at one item count as several; "
            "else yes, and no with --count users.", "what", names=("yes", "no"),
        ),
    ]  # fmt: skip
    """With ``auto``: whether a user's several records at one item count as several (``yes``, the
    default where records are counted) or once (``no``)."""
    max_records: Annotated[
        int | None,
        Option(
            None, "L", "The bound per user (without --bounding, or with auto: sra); with --choose "
            "the largest candidate.", "method", is_whole=True,
        ),
    ]  # fmt: skip
    """The bound per user; without ``bounding`` it means ``sra``. With ``choose``, the largest one
    to choose from. Default: measured by ``auto``; 10 where a rule is named."""
    choose: Annotated[
        str | None,
        Option(
            None, "|".join(CHOICES), "Choose the bound privately, for a share of epsilon.",
            "method", names=CHOICES,
        ),
    ]  # fmt: skip
    """``rank`` or ``dpsense``, and ``histogram`` with ``norm="l2"``: choose the bound privately,
    for a share of the price."""
    popularity_records: Annotated[
        int | None, Option(None, "D", "hpa: records per user to rank by.", "method", is_whole=True)
    ]
    """For ``hpa``: records per user in the popularity estimate (default 10)."""
    cap: Annotated[
        int | None,
        Option(
            None, "R", "dpsense, dpsense-s with --count records: the most in one cell.", "method",
            is_whole=True,
        ),
    ]  # fmt: skip
    """For ``dpsense`` and ``dpsense-s`` with ``count="records"``: the most in one cell."""
    norm: Annotated[
        str,
        Option(
            "l1", "l1|l2", "dpsense: what rows are scaled to, a sum or (with --delta, for Gaussian "
            "noise) a Euclidean norm.", "method", names=NORMS,
        ),
    ]  # fmt: skip
    """For ``dpsense``: rows are scaled to a sum (``l1``, the default), or to a Euclidean norm
    (``l2``), which is for Gaussian noise and leaves more of long rows."""
    scalings: Annotated[
        str | Sequence[Number] | None,
        Option(None, "S,…", "dpsense-s: factors within 1 … 2 to choose from.", "method"),
    ]
    """For ``dpsense-s``: the scaling factors, within 1 … 2, to choose from (1.00, 1.01, … 2.00)."""
    noise: Annotated[
        str,
        Option(
            AUTO, "|".join(NOISES),
            "gaussian: needs --delta. interval: with --count users, few cells and no bound on "
            "users at all. auto: laplace, and with --delta the smaller of laplace and gaussian.",
            "method", names=NOISES,
        ),
    ]  # fmt: skip
    """``laplace``; ``gaussian``, which needs ``delta``; ``interval`` with ``count="users"``, for
    tables of few cells, where nobody needs to be bounded; or ``auto`` (default): ``laplace``, and
    with a ``delta`` the smaller of ``laplace`` and ``gaussian``."""
    pairs: Annotated[bool, Option(False, None, "Count pairs of items of one user too.", "what")]
    """Count pairs of items of one user too ("who used i also used j")."""
    discover_items: Annotated[
        bool,
        Option(
            False, None, "The same as --discover with the item column.", "what",
        ),
    ]  # fmt: skip
    """The same as ``discover`` with the item column."""
    discover: Annotated[
        str | Sequence[str],
        Option(
            (), "COL,…", "Columns without a public list, the item, contexts or attributes: release "
            "the cells that enough users have; needs --delta and --max-records.", "what",
        ),
    ]  # fmt: skip
    """The columns that have no public list: the item, contexts or attributes. Cells are released
    that enough users have; needs ``delta``."""
    publishing: Annotated[
        str,
        Option(
            AUTO, "WAY", f"Which cells: {PUBLISHINGS.listed()}; auto: dense, unless there are too "
            "many.", "form", names=PUBLISHINGS,
        ),
    ]  # fmt: skip
    """``auto`` (default: ``dense``, unless there are too many cells), ``dense``, ``filter``,
    ``threshold``, ``priority`` or ``filter-priority``."""
    sides: Annotated[
        str,
        Option(
            "two", "one|two", "Not dense: keep positive counts only, or both signs.", "form",
            names=_SIDES,
        ),
    ]  # fmt: skip
    """``two`` (default), or ``one`` for positive counts only."""
    size: Annotated[
        int | None, Option(None, "S", "How many cells to publish, about.", "form", is_whole=True)
    ]
    """How many cells to publish, about; cuts and thresholds follow from it."""
    cut: Annotated[
        int | None,
        Option(None, "K", "filter: drop noisy counts nearer to 0.", "form", is_whole=True),
    ]
    """Noisy counts below it are dropped."""
    threshold: Annotated[
        Number | None, Option(None, "T", "threshold: sample counts nearer to 0.", "form")
    ]
    """Noisy counts below it are kept in proportion to them."""
    guess_total: Annotated[
        int,
        Option(0, "N", "A public guess of the total count, for the sizes.", "form", is_whole=True),
    ]
    """A public guess of the total count, for the threshold and for advice."""
    transform: Annotated[
        str, Option(AUTO, "T", f"{TRANSFORMS.listed()}; auto: none.", "form", names=TRANSFORMS)
    ]
    """``auto`` (default: ``none``), ``none``, ``dyadic``, ``haar`` or ``sketch``."""
    ordered: Annotated[
        str | Sequence[str],
        Option((), "A,B", "dyadic, haar: the columns whose ranges will be asked.", "form"),
    ]
    """The contexts or attributes whose ranges will be asked for."""
    buckets: Annotated[
        int | None, Option(None, "B", "sketch: buckets in a row.", "form", is_whole=True)
    ]
    """Buckets of a sketch's row."""
    sketch_rows: Annotated[int, Option(5, "R", "sketch: rows.", "form", is_whole=True)]
    """Rows of a sketch; default 5."""


@cache
def declared() -> Mapping[str, tuple[Any, Option]]:
    """Each option's type and how it is declared, in order."""
    hints = get_type_hints(ReleaseOptions, include_extras=True)
    return {name: _taken_apart(hint) for name, hint in hints.items()}


def _taken_apart(hint: Any) -> tuple[Any, Option]:
    while get_origin(hint) is not Annotated:
        (hint,) = get_args(hint)  # NotRequired[…]
    kind, option = get_args(hint)
    return kind, option


def completed(given: Mapping[str, Any]) -> dict[str, Any]:
    """All options, those not given at their defaults; a UsageError for one that does not exist."""
    for name in given:
        if name not in declared():
            known = did_you_mean(name, declared())
            raise UsageError(f"unknown option {name!r} of a release. {known}")
        _check_kind(name, given[name])
    defaults = {name: option.default for name, (_, option) in declared().items()}
    options = defaults | {name: value for name, value in given.items() if value is not None}
    return options | {name: _names(name, options[name]) for name in ("ordered", "discover")}


def _names(option: str, given: object) -> tuple[str, ...]:
    """The columns that an option names."""
    if not isinstance(given, str | list | tuple):
        kind = type(given).__name__
        raise UsageError(f"{flag_of(option)} is a column, or a list of them: received a {kind}.")
    names = given.split(",") if isinstance(given, str) else given
    return tuple(str(name).strip() for name in names)


def _check_kind(name: str, value: object) -> None:
    """Refuse what no option takes, such as a frame, which cannot even be compared with a name."""
    plain = value is None or isinstance(value, str | int | float | Fraction)
    if name == "bounding" or plain or (name == "features" and isinstance(value, os.PathLike)):
        return
    lists = ("ordered", "discover", "scalings", "context_per_user")
    if name in lists and isinstance(value, list | tuple):
        return
    raise UsageError(f"{flag_of(name)} does not take a {type(value).__name__}.")


def flag_of(name: str) -> str:
    """The option as it is typed.

    >>> flag_of("max_records"), flag_of("for_")
    ('--max-records', '--for')
    """
    return f"--{name.rstrip('_').replace('_', '-')}"


def is_given(options: Mapping[str, Any], name: str) -> bool:
    """Whether an option is other than its default."""
    return bool(options[name] != declared()[name][1].default)


Function = TypeVar("Function", bound=Callable[..., Any])


def with_options(function: Function) -> Function:
    """Show the options as parameters of a function that takes them as ``**options``.

    Editors, ``help()`` and completion at a prompt read a function's signature.
    """
    *mine, _ = signature(function).parameters.values()
    shown = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=option.default, annotation=kind)
        for name, (kind, option) in declared().items()
    ]
    function.__signature__ = Signature([*mine, *shown])  # type: ignore[attr-defined]
    return function
