"""Which of the forms is written, and where to."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from crowdtally.core.files import refuse_taken, write_new
from crowdtally.errors import UsageError
from crowdtally.format import Published
from crowdtally.reader.exporting.croissant import croissant
from crowdtally.reader.exporting.registry import registry

Place = str | os.PathLike[str]
"""A path as somebody gave it."""


@dataclass(frozen=True)
class Form:
    """One form in which a release can be exported."""

    write: Callable[[Published, Path], None]
    """Writes it to a place where nothing is."""
    to_add: str
    """What the release does not say, for whoever made it; empty where it lacks nothing."""
    format: str
    """What the file is written in."""
    endings: tuple[str, ...]
    """How its name may end, if it has an ending."""


FORMS: Mapping[str, Form] = {
    "registry": Form(
        lambda published, target: write_new(target, registry(published).encode()),
        "Lines marked CURATOR name what the release does not say: complete them before you send "
        "it in.",
        "YAML",
        (".yaml", ".yml"),
    ),
    "croissant": Form(
        lambda published, target: write_new(target, croissant(published).encode()),
        "Put it beside the tables. The release does not say its license, creator, url and how to "
        "cite it: add them.",
        "JSON",
        (".json", ".jsonld"),
    ),
}
"""Every form that is one file, by the name of its option."""
SITE = "site"
"""The form that is a folder of pages; whoever opened the release writes it."""


@dataclass(frozen=True)
class Export:
    """What is to be written, and where to."""

    form: str
    """One of ``FORMS``, or the site."""
    target: Path
    """A place where nothing is."""

    @classmethod
    def of(cls, asked: Mapping[str, Place | None], typed: str) -> Export:
        """The one form that was asked for.

        Args:
            asked: where to write each form; None for those that were not asked for.
            typed: how a form is asked for, for messages; the first ``{}`` stands for its name, the
                second for what it is written to.
        """
        named = {form: place for form, place in asked.items() if place is not None}
        if len(named) != 1:
            *others, last = (_typed(typed, form) for form in asked)
            options = f"{', '.join(others)} or {last}"
            received = " and ".join(_typed(typed, form) for form in named) or "none"
            raise UsageError(f"give exactly one of {options}: received {received}.")
        ((form, place),) = named.items()
        if not isinstance(place, str | os.PathLike) or not str(place):
            kind = "folder" if form == SITE else "file"
            raise UsageError(f"{_typed(typed, form)} needs the path of a new {kind}.")
        if form != SITE:
            _refuse_ending(FORMS[form], Path(place), _typed(typed, form))
        refuse_taken(Path(place))
        return cls(form, Path(place))

    def run(self, published: Published) -> Path:
        """Write it, whole or not at all, from a release whose files are whole."""
        for table in published.tables:
            published.path(table)  # looks at the file again, if it changed
        FORMS[self.form].write(published, self.target)
        return self.target


def _refuse_ending(form: Form, place: Path, option: str) -> None:
    """Refuse a file name with the ending of another format."""
    if place.suffix and place.suffix.lower() not in form.endings:
        raise UsageError(
            f"{option} writes {form.format}, and {place.name!r} says something else: name it "
            f"{place.with_suffix(form.endings[0]).name!r}."
        )


def _typed(typed: str, form: str) -> str:
    return typed.format(form, "DIR" if form == SITE else "FILE")
