"""A release exported: Croissant metadata, and an entry of the public registry."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import quote

from crowdtally.core import files
from crowdtally.core.display import markdown, printable_json
from crowdtally.core.files import refuse_taken, write_new
from crowdtally.core.numbers import show
from crowdtally.core.privacy import in_words
from crowdtally.errors import UsageError
from crowdtally.format import Published, TableFacts, tables
from crowdtally.reader.describe.description import spending_lines, withdrawal_lines
from crowdtally.reader.describe.promise import promise_lines, uncovered_lines
from crowdtally.reader.describe.protection import protection_lines
from crowdtally.reader.describe.tables import course_lines, what_lines
from crowdtally.reader.describe.words import whom_lines

# Croissant metadata (version 1.1): JSON-LD that finds and reads the tables.

_PARQUET = "application/x-parquet"
"""What the standard's own library reads; the registered name came later."""
VERSION = "http://mlcommons.org/croissant/1.1"
_OWN = (
    "arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "extract", "field",
    "fileProperty", "fileObject", "fileSet", "format", "includes", "isArray", "isLiveDataset",
    "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references", "regex", "repeated",
    "replace", "samplingRate", "separator", "source", "subField", "transform",
)  # fmt: skip
CONTEXT: Mapping[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "name": {"@container": "@language"},
    "description": {"@container": "@language"},
    **{word: f"cr:{word}" for word in _OWN},
}
_TYPES = {"VARCHAR": "sc:Text", "BIGINT": "cr:Int64", "DOUBLE": "cr:Float64"}


def croissant(published: Published) -> str:
    return f"{printable_json(_dataset(published), indent=2)}\n"


def _dataset(published: Published) -> dict[str, Any]:
    facts = tables.facts(published.manifest)
    told = [*withdrawal_lines(published.withdrawn), facts["guarantee"]]
    release = {
        "@type": "cr:FileObject",
        "@id": "release.json",
        "name": "release.json",
        "contentUrl": "release.json",
        "encodingFormat": "application/json",
        "sha256": published.sha256 or files.digest(published.folder / "release.json"),
    }
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": VERSION,
        "name": f"crowdtally-release-{facts['release']}",
        "identifier": facts["release"],
        "description": markdown(" ".join(told)),
        "dateCreated": published.metadata["created"],
        "datePublished": published.metadata["created"],
        "keywords": ["differential privacy", "counts"],
        "isLiveDataset": False,
        "distribution": [release, *(_file(published, table) for table in published.tables)],
        "recordSet": [_record_set(published, table) for table in published.tables],
    }


def _file(published: Published, table: TableFacts) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": table.file,
        "name": table.file,
        "contentUrl": table.file,
        "encodingFormat": _PARQUET,
        "sha256": table.sha256 or files.digest(published.folder / table.file),
    }


def _record_set(published: Published, table: TableFacts) -> dict[str, Any]:
    columns = tables.opened(published.folder / table.file).columns
    return {
        "@type": "cr:RecordSet",
        "@id": table.name,
        "name": table.name,
        "field": [_field(table, name, kind) for name, kind in columns.items()],
    }


def _field(table: TableFacts, column: str, kind: str) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{table.name}/{quote(column, safe='')}",
        "name": column,
        "dataType": _TYPES[kind],
        "source": {"fileObject": {"@id": table.file}, "extract": {"column": column}},
    }


# YAML with comments. Texts are quoted so that every reader of YAML takes them for texts.

_WIDTH = 92
_STEP = "  "
_ASIDE = "# "


@dataclass(frozen=True)
class Number:
    digits: str


@dataclass(frozen=True)
class Bullets:
    """Sentences, each of them one point of a Markdown list."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class Entry:
    """A key with its value, and what is said above it."""

    key: str
    value: str | Number | Bullets | list[str] | tuple[Entry, ...] | None
    """Its value; None: the whole entry is a comment, to be completed."""
    comment: str = ""
    """What stands above it; empty for nothing."""


def yaml(entries: Iterable[Entry], comment: str) -> str:
    """The text of a file: a comment at its top, then its keys and values in order."""
    lines = [line for one in entries for line in _entry(one, "")]
    return "\n".join([*_comment(comment, ""), "", *lines]) + "\n"


def _comment(words: str, indent: str) -> list[str]:
    return _wrapped(words, f"{indent}{_ASIDE}")


def _wrapped(words: str, start: str) -> list[str]:
    return textwrap.wrap(
        words, _WIDTH, initial_indent=start, subsequent_indent=start,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def _entry(entry: Entry, indent: str) -> Iterator[str]:
    yield from _comment(entry.comment, indent)
    inside = indent + _STEP
    match entry.value:
        case None:
            yield f"{indent}{_ASIDE}{entry.key}:"
        case Number(digits):
            yield f"{indent}{entry.key}: {digits}"
        case Bullets(lines):
            yield f"{indent}{entry.key}: |-"
            yield from (f"{inside}- {_one_line(line)}" for line in lines)
        case list(texts):
            yield f"{indent}{entry.key}:"
            yield from (f"{inside}- {quoted(text)}" for text in texts)
        case str(text):
            yield from _text(entry.key, text, indent)
        case tuple(entries):
            yield f"{indent}{entry.key}:"
            for one in entries:
                yield from _entry(one, inside)


def _text(key: str, text: str, indent: str) -> Iterator[str]:
    """A text between quotes, or folded where it is too long for a line."""
    line = f"{indent}{key}: {quoted(text)}"
    if len(line) <= _WIDTH or not text.isprintable() or " ".join(text.split()) != text:
        yield line
        return
    yield f"{indent}{key}: >-"
    yield from _wrapped(text, indent + _STEP)


def quoted(text: str) -> str:
    r"""A text between quotes, in which what cannot be printed is spelled out.

    >>> print(quoted('say "a\\b"'), quoted("two\nlines"), quoted("\x9b"))
    "say \"a\\b\"" "two\u000alines" "\u009b"
    """
    return f'"{"".join(map(_letter, text))}"'


def _letter(letter: str) -> str:
    if letter in '"\\':
        return f"\\{letter}"
    if letter.isprintable():
        return letter
    code = ord(letter)
    return f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"


def _one_line(text: str) -> str:
    """A text whose every letter can stand in a block of YAML, on one line."""
    shown = (letter if letter.isprintable() else "\ufffd" for letter in " ".join(text.split()))
    return "".join(shown)


# An entry of the public registry of differential privacy deployments, in YAML.
#
# What only the curator knows is marked CURATOR in a comment; where the registry requires a value
# all the same, it is "to be added". The registry renders texts as Markdown, so texts from the
# release are escaped.

CURATOR = "CURATOR:"
"""What a comment begins with that names what the curator must add."""
TO_ADD = "To be added by the curator."
"""The value of what the registry requires and the release does not say."""
_LONGEST = 2000
_SHORT = -6
"""The power of ten from which on a number is written out."""
_ROUNDED_UP = Context(prec=12, rounding=ROUND_CEILING)
_UNITS = {
    "user": "User-level",
    "same-person": "Person-level",
    "row": "Row-level, each row one person",
    "bounded-elsewhere": "Person-level, rows per person bounded before collection (as stated)",
    "person": "Person-level, a row stands for several persons",
}
_TOP = (
    "An entry of the registry of differential privacy deployments, made by crowdtally from a "
    "release. What the release says is filled in. Complete the lines marked CURATOR, and check "
    "the entry against the registry's own schema."
)


def registry(published: Published) -> str:
    deployment = (
        Entry("basic", _basic(published)),
        Entry("dp_variant", _variant(published)),
        Entry("privacy_loss", _loss(published)),
        Entry("deployment_model", _model(published)),
        Entry("accounting", _accounting(published)),
        Entry("implementation", _implementation(published)),
        Entry("administrative", _administrative(published)),
    )
    entries = (
        Entry("url_slug", f"crowdtally-{published.id}", f"{CURATOR} a short name for its address"),
        Entry("status", "Draft"),
        Entry("tier", Number("2"), f"{CURATOR} 3, once all lines marked so are completed"),
        Entry("deployment", deployment),
    )
    return yaml(entries, _TOP)


def told(line: str) -> str:
    """A sentence about the release as Markdown; one that is far too long is cut."""
    return markdown(line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…")


def _points(*parts: Iterable[str]) -> Bullets:
    return Bullets(tuple(told(line) for lines in parts for line in lines))


def _asked(what: str) -> str:
    return f"{CURATOR} {what}"


def _basic(published: Published) -> tuple[Entry, ...]:
    first, *_ = what_lines(published)
    called_back = list(withdrawal_lines(published.withdrawn))[:1]
    day = str(published.metadata["created"])[:10]
    return (
        Entry("name", TO_ADD, _asked("the name of the data product")),
        Entry("data_curators", [TO_ADD], _asked("who published it, one name on each line")),
        Entry("intended_use", TO_ADD, _asked("what it is meant for")),
        Entry("data_product_type", "Summary statistics"),
        Entry("data_product_region", TO_ADD, _asked("which region the data are about")),
        Entry("description", told(" ".join([*called_back, first]))),
        Entry("publication_date", day, _asked("the day on which it was made; if another, correct")),
        Entry("data_product_sector", None, _asked("the sector, a word of the registry's list")),
    )


def _variant(published: Published) -> tuple[Entry, ...]:
    pure = not published.guarantee.delta
    return (
        Entry("variant_name", "Pure DP" if pure else "Approximate DP"),
        Entry("data_domain", _points(what_lines(published))),
        Entry(
            "unprotected_quantities",
            _points(uncovered_lines(published)),
            _asked("say here if a list, a bound or another parameter was chosen by the records"),
        ),
    )


def _loss(published: Published) -> tuple[Entry, ...]:
    promised = published.guarantee
    parameters = [Entry("epsilon", Number(_above(promised.epsilon)))]
    if promised.delta:
        parameters.append(Entry("delta", Number(_above(promised.delta))))
    exact = f"Exactly: ε is {show(promised.epsilon)}, δ is {show(promised.delta)}."
    return (
        Entry("privacy_unit", _UNITS.get(promised.unit, promised.unit)),
        Entry("privacy_unit_details", _points(whom_lines(published))),
        Entry("privacy_parameters", tuple(parameters)),
        Entry("privacy_parameters_details", _points([exact], promise_lines(published))),
    )


def _above(value: Fraction) -> str:
    """A number of at most twelve digits that is not below the exact one.

    >>> _above(Fraction(1, 10)), _above(Fraction(1, 3)), _above(Fraction(1, 10**9))
    ('0.1', '0.333333333334', '1.0e-9')
    """
    rounded = _ROUNDED_UP.divide(Decimal(value.numerator), Decimal(value.denominator))
    rounded = rounded.normalize(_ROUNDED_UP)
    if rounded.adjusted() >= _SHORT:
        return f"{rounded:f}"
    digits, _, exponent = f"{rounded:e}".partition("e")
    # Without a point some readers of YAML take it for a text.
    return f"{digits if '.' in digits else f'{digits}.0'}e{exponent}"


def _model(published: Published) -> tuple[Entry, ...]:
    return (
        Entry("model_name", "Central"),
        Entry("actors", None, _asked("who sees the records, and who is trusted with what")),
        Entry("release_type", "One release", _asked("Many releases, if it is one of a series")),
        Entry("release_type_details", _points(spending_lines(published))),
        Entry("data_source_type", None, _asked("Static, or Dynamic where records still come in")),
        Entry("access_type", "Non-interactive"),
    )


def _accounting(published: Published) -> tuple[Entry, ...]:
    return (
        Entry(
            "post_processing",
            "Negative noisy counts are not made 0. Where cells were left out or counts multiplied, "
            "the lines on tables and mechanisms say so. What a reader estimates from noisy counts "
            "is not a part of the release.",
        ),
        Entry("composition", _points(_composition(published))),
    )


def _composition(published: Published) -> list[str]:
    promised = published.guarantee
    costs = [f"{table.name!r} {in_words(table.price)}" for table in published.tables]
    how = "sequential composition" if promised.rho is None else "zero-concentrated composition"
    whole = f"The parts of {in_words(promised.price)} add up ({how})."
    return [whole, f"Tables: {', '.join(costs)}.", *course_lines(published)]


def _implementation(published: Published) -> tuple[Entry, ...]:
    version = published.metadata["versions"].get("crowdtally", "of an unknown version")
    library = f"Made by the library crowdtally {version}."
    return (
        Entry(
            "preprocessing_and_hyperparameter_tuning", None,
            _asked("how parameters were chosen, and whether that looked at the records"),
        ),
        Entry(
            "mechanisms",
            _points([library], protection_lines(published)),
            _asked("add how the records themselves are stored, and who may read them"),
        ),
        Entry("justification", None, _asked("why this ε, this unit and these parameters")),
    )  # fmt: skip


def _administrative(published: Published) -> tuple[Entry, ...]:
    called_back = _points(withdrawal_lines(published.withdrawn))
    notes = [Entry("notes", called_back)] if called_back.lines else []
    return (
        Entry("sources", None, _asked("where the release and texts about it can be found")),
        *notes,
        Entry("registry_authors", [TO_ADD], _asked("who wrote this entry, one on each line")),
    )


Place = str | os.PathLike[str]


@dataclass(frozen=True)
class Form:
    write: Callable[[Published, Path], None]
    """Writes it to a place where nothing is."""
    to_add: str
    """What the curator must add; empty if nothing is missing."""
    format: str
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
"""The form that is a folder of pages; ``Release.export`` writes it."""


@dataclass(frozen=True)
class Export:
    form: str
    """One of ``FORMS``, or the site."""
    target: Path

    @classmethod
    def of(cls, asked: Mapping[str, Place | None], typed: str) -> Export:
        """The one form that was asked for: where to write each form, or None.

        ``typed`` is how a form is asked for, for messages: ``{}`` is its name, a second one its
        target.
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
