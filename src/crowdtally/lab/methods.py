"""Names of methods; folders and files that the lab writes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crowdtally.core.registry import Registry
from crowdtally.core.values import fitting, public
from crowdtally.curator.bounding import BOUNDINGS, CHOICES
from crowdtally.curator.summaries import PUBLISHINGS
from crowdtally.curator.transforms import TRANSFORMS
from crowdtally.errors import UsageError, did_you_mean


@dataclass(frozen=True)
class Method:
    """``METHOD[+CHOICE][/TRANSFORM][/SUMMARY]``: its name leaves out ``none`` and ``dense``.

    >>> str(Method.of("dpsense+rank/filter"))
    'dpsense+rank/filter'
    """

    bounding: str
    choice: str | None = None
    """How the bound is chosen privately; None where it is given."""
    transform: str = "none"
    publishing: str = "dense"

    @classmethod
    def of(cls, name: str) -> Method:
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
                    f"transform ({', '.join(TRANSFORMS)}) and then a summary "
                    f"({', '.join(PUBLISHINGS)}), such as sra/dyadic/filter."
                )
        return cls(bounding, choice or None, transform, publishing)

    def __str__(self) -> str:
        choice = f"+{self.choice}" if self.choice is not None else ""
        forms = [f for f in (self.transform, self.publishing) if f not in ("none", "dense")]
        return "/".join([f"{self.bounding}{choice}", *forms])

    @property
    def fields(self) -> frozenset[str]:
        return frozenset().union(*(public(kind) for kind in self._kinds.values()))

    def options(self, fields: Mapping[str, object]) -> dict[str, Any]:
        """The options of a release, each part with those of the fields that it has."""
        chosen = {} if self.choice is None else {"choose": self.choice}
        if chosen and "choose" not in self.fields:
            raise UsageError(f"{self.bounding} has no private choice of its bound.")
        return {name: fitting(kind, {**fields, **chosen}) for name, kind in self._kinds.items()}

    @property
    def _kinds(self) -> dict[str, Any]:
        """The types of its parts; ``dense`` and ``none`` have no fields."""
        kinds = {"method": BOUNDINGS.load(self.bounding)}
        if self.publishing != "dense":
            kinds["summary"] = PUBLISHINGS.load(self.publishing)
        if self.transform != "none":
            kinds["transform"] = TRANSFORMS.load(self.transform)
        return kinds


def _known(name: str, part: str, registry: Registry) -> None:
    if part not in registry:
        raise UsageError(
            f"the method {name!r} has an unknown {registry.option} {part!r}. "
            f"{did_you_mean(part, registry)}"
        )


# Every output of the lab carries these warnings, and none is written into a release.

NOT_PRIVATE = (
    "NOT PRIVATE: this was computed from the true records. Do not publish it, and do not show it "
    "to anyone who may not see the records."
)
CHOSEN_BY_LOOKING = (
    "A method that is chosen by it was chosen by looking at the data, which no epsilon covers."
)
ANOTHER_FOLDER = "give another folder with -o DIR, or remove this one."
"""What to do where a folder is not to be used."""
_METADATA = "release.json"


def check_apart(target: Path) -> None:
    """Refuse to write to a release's folder or inside one: it would be taken for a part of it."""
    place = target.resolve()  # where it would really be written, past links and ..
    for folder in (place, *place.parents):
        if (folder / _METADATA).is_file():
            raise UsageError(
                f"{target} lies in the release {folder}, and what the lab makes is not private: "
                "give a place outside of releases."
            )


def check_own_folder(path: Path, manifest: str, what: str) -> None:
    """Refuse a folder that is neither free nor a ``what``, which its manifest shows."""
    check_apart(path)
    if not path.exists():
        if not path.absolute().parent.is_dir():
            raise UsageError(f"there is no folder {path.absolute().parent}: make it first.")
        return
    if not path.is_dir():
        raise UsageError(f"{path} is a file: give a folder with -o DIR.")
    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        raise UsageError(f"{path} cannot be read and written: give another folder with -o DIR.")
    is_free = all(one.name.endswith(".part") for one in path.iterdir())
    if not is_free and not (path / manifest).is_file():
        raise UsageError(f"{path} holds other things, and no {what}: {ANOTHER_FOLDER}")


def write_json(
    path: Path, content: Mapping[str, Any], put: Callable[[Path, Path], None] = os.replace
) -> None:
    write_text(path, json.dumps(content), put)


def write_text(path: Path, text: str, put: Callable[[Path, Path], None] = os.replace) -> None:
    """Write a file, whole or not at all; an OSError names it."""
    staged = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        staged.write_text(text, encoding="utf-8")
        put(staged, path)
    except OSError as error:  # a full disk names no file
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        staged.unlink(missing_ok=True)


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines of a table for a terminal: the first column to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *others in rows:
        cells = [word.rjust(width) for word, width in zip(others, widths[1:], strict=True)]
        yield "  ".join([first.ljust(widths[0]), *cells]).rstrip()
