"""The form of the published tables: the transform, and which cells are published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypedDict, Unpack

from crowdtally.curator.publishing.sizes import LARGEST_SIZE, check_size
from crowdtally.curator.request.method import known, whole
from crowdtally.errors import UsageError, did_you_mean
from crowdtally.values.domain import Axis
from crowdtally.values.dyadic import Dyadic
from crowdtally.values.keeping import Keeping, Sides
from crowdtally.values.rational import exact
from crowdtally.values.sketching import Sketching

PUBLISHINGS = ("dense", "filter", "threshold", "priority", "filter-priority")
TRANSFORMS = ("none", "dyadic", "haar", "sketch")


@dataclass(frozen=True)
class Form:
    """Every public parameter of the transform and of the publishing."""

    publishing: str = "dense"
    """Which cells are published: all of them, or a summary."""
    sides: Sides = "two"
    """Whether large negative noisy counts are kept too."""
    size: int | None = None
    """S: how many cells are wanted."""
    cut: int | None = None
    """κ; None where it follows from S."""
    threshold: Fraction | None = None
    """τ; None where it follows from S."""
    guess_total: int = 0
    """A public guess of the table's total count, for τ."""
    transform: str = "none"
    """What is counted in the place of cells: nodes, coefficients or buckets."""
    ordered: tuple[str, ...] = ()
    """The axes whose ranges will be asked for."""
    buckets: int | None = None
    """B, of a sketch."""
    rows: int = 5
    """R, of a sketch."""

    @property
    def is_dense(self) -> bool:
        """Whether every cell is published."""
        return self.publishing == "dense"

    def tree(self, axes: Sequence[Axis]) -> Dyadic:
        """The dyadic tree over these axes."""
        ordered = [axis.name in self.ordered for axis in axes]
        return Dyadic.over([len(axis) for axis in axes], ordered=ordered)

    def haar_axis(self, axes: Sequence[Axis]) -> int:
        """The position of the one axis that the Haar transform runs along."""
        return [axis.name for axis in axes].index(self.ordered[0])

    def sketching(self, cells: int, seed: int) -> Sketching:
        """The sketch over so many cells."""
        return Sketching(cells, self.buckets or 1, self.rows, seed)


class FormOptions(TypedDict, total=False):
    """The form as a person asks for it; every option has a default."""

    publishing: str
    """``dense`` (default), ``filter``, ``threshold``, ``priority`` or ``filter-priority``."""
    sides: str
    """``two`` (default), or ``one`` for positive counts only."""
    size: int | None
    """How many cells to publish, about; cuts and thresholds follow from it."""
    cut: int | None
    """Noisy counts below it are dropped."""
    threshold: object
    """Noisy counts below it are kept in proportion to them."""
    guess_total: int
    """A public guess of the total count, for the threshold."""
    transform: str
    """``none`` (default), ``dyadic``, ``haar`` or ``sketch``."""
    ordered: Sequence[str] | str
    """The contexts or attributes whose ranges will be asked for."""
    buckets: int | None
    """Buckets of a sketch's row."""
    sketch_rows: int
    """Rows of a sketch; default 5."""


def make_form(**options: Unpack[FormOptions]) -> Form:
    """Check each option by itself, then all of them together."""
    publishing = known(options.get("publishing", "dense"), PUBLISHINGS, "--publishing")
    transform = known(options.get("transform", "none"), TRANSFORMS, "--transform")
    one_sided = known(options.get("sides", "two"), ("one", "two"), "--sides") == "one"
    size, cut, threshold = options.get("size"), options.get("cut"), options.get("threshold")
    given = options.get("ordered", ())
    ordered = tuple(given.split(",") if isinstance(given, str) else given)
    form = Form(
        publishing,
        "one" if one_sided else "two",
        None if size is None else check_size(size),
        None if cut is None else whole(cut, "--cut", 0, LARGEST_SIZE),
        None if threshold is None else exact(threshold, "--threshold"),
        whole(options.get("guess_total", 0), "--guess-total", 0, 2**62),
        transform,
        tuple(name.strip() for name in ordered),
        options.get("buckets"),
        whole(options.get("sketch_rows", 5), "--sketch-rows", 1, 1000),
    )
    _check_publishing(form)
    _check_transform(form)
    return form


def _check_publishing(form: Form) -> None:
    sampled = "threshold" in form.publishing or "priority" in form.publishing
    summary = (form.size, form.cut, form.threshold, form.sides)
    if form.is_dense and summary != (None, None, None, "two"):
        raise UsageError(
            "--size, --cut, --threshold and --sides are for sparse publishing: add --publishing "
            "filter, threshold, priority or filter-priority."
        )
    if "filter" not in form.publishing and form.cut is not None:
        raise UsageError("--cut is for --publishing filter or filter-priority: remove it.")
    if not sampled and form.threshold is not None:
        raise UsageError("--threshold is for --publishing threshold: remove it.")
    if "priority" in form.publishing and form.size is None:
        raise UsageError("a priority sample needs its size: add --size S.")
    if form.publishing == "filter" and form.cut is None and form.size is None:
        raise UsageError("a filter needs --cut K, or --size S to find one.")
    if form.publishing == "threshold" and form.threshold is None and form.size is None:
        raise UsageError("a threshold sample needs --threshold T, or --size S to find one.")
    Keeping(form.cut or 0, form.threshold, form.sides)  # checks κ and τ


def _check_transform(form: Form) -> None:
    if form.transform in ("dyadic", "haar") and not form.ordered:
        raise UsageError(
            f"--transform {form.transform} answers ranges: say of what, --ordered NAME."
        )
    if form.transform not in ("dyadic", "haar") and form.ordered:
        raise UsageError("--ordered is for --transform dyadic or haar: remove it.")
    if form.transform == "haar" and len(form.ordered) > 1:
        raise UsageError("--transform haar takes one ordered attribute; dyadic takes several.")
    if form.transform in ("haar", "sketch") and form.sides == "one":
        raise UsageError(
            f"--transform {form.transform} has counts of both signs: one side of them means "
            "nothing. Remove --sides one."
        )
    if (form.transform == "sketch") != (form.buckets is not None):
        raise UsageError("--transform sketch and --buckets B go together.")
    if form.buckets is not None:
        whole(form.buckets, "--buckets", 1, 2**31)
    if form.transform == "sketch" and not form.is_dense:
        raise UsageError("a sketch is small already: publish all of it (--publishing dense).")


def check_ordered(form: Form, names: Sequence[str]) -> None:
    """Refuse ordered axes that the table does not have."""
    for name in form.ordered:
        if name not in names:
            raise UsageError(f"--ordered names {name!r}. {did_you_mean(name, names)}")
