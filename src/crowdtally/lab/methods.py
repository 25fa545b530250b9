"""Methods by name: ``BOUNDING[+CHOICE][/TRANSFORM][/PUBLISHING]``, such as ``dpsense+rank/filter``.

What is left out is ``none`` and ``dense``, so every method has one spelling.
"""

from __future__ import annotations

from dataclasses import dataclass

from crowdtally.core.registry import Registry
from crowdtally.curator.bounding import BOUNDINGS, CHOICES
from crowdtally.curator.summaries import PUBLISHINGS
from crowdtally.curator.transforms import TRANSFORMS
from crowdtally.errors import UsageError, did_you_mean


@dataclass(frozen=True)
class Method:
    """A bounding, perhaps a private choice of its bound, a transform and a publishing.

    >>> str(Method.of("dpsense+rank/filter"))
    'dpsense+rank/filter'
    >>> Method.of("sra/haar").options
    {'bounding': 'sra', 'choose': None, 'transform': 'haar', 'publishing': 'dense'}
    """

    bounding: str
    """How a user is bounded."""
    choice: str | None = None
    """How the bound is chosen privately; None where it is given."""
    transform: str = "none"
    """What is published instead of cells."""
    publishing: str = "dense"
    """Which noisy counts are published."""

    @classmethod
    def of(cls, name: str) -> Method:
        """The method of a name."""
        rule, *forms = name.strip().split("/")
        bounding, plus, choice = rule.partition("+")
        _known(name, bounding, BOUNDINGS)
        if plus:
            _known(name, choice, CHOICES)
        transform, publishing = "none", "dense"
        for form in forms:
            if form in TRANSFORMS and transform == "none" and publishing == "dense":
                transform = form
            elif form in PUBLISHINGS and publishing == "dense":
                publishing = form
            else:
                raise UsageError(
                    f"the method {name!r} has the form {form!r}: after the bounding come at most a "
                    f"transform ({', '.join(TRANSFORMS)}) and then a publishing "
                    f"({', '.join(PUBLISHINGS)}), such as sra/dyadic/filter."
                )
        return cls(bounding, choice or None, transform, publishing)

    def __str__(self) -> str:
        choice = f"+{self.choice}" if self.choice is not None else ""
        forms = [f for f in (self.transform, self.publishing) if f not in ("none", "dense")]
        return "/".join([f"{self.bounding}{choice}", *forms])

    @property
    def options(self) -> dict[str, str | None]:
        """What a release is asked for it."""
        return {
            "bounding": self.bounding,
            "choose": self.choice,
            "transform": self.transform,
            "publishing": self.publishing,
        }


def _known(name: str, part: str, registry: Registry) -> None:
    if part not in registry:
        raise UsageError(
            f"the method {name!r} has an unknown {registry.option} {part!r}. "
            f"{did_you_mean(part, registry)}"
        )
