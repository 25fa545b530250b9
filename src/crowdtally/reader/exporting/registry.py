"""A release as an entry of the public registry of differential privacy deployments, in YAML.

What the release says is filled in. What only its curator knows is marked CURATOR in a comment;
where the registry requires a value all the same, it says that it is to be added. All texts are
rendered as Markdown there, so what comes from the release is written as text that shows as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from crowdtally.core.display import markdown
from crowdtally.core.numbers import show
from crowdtally.core.privacy import in_words
from crowdtally.format import Published
from crowdtally.reader.describing.course import course_lines
from crowdtally.reader.describing.promise import promise_lines
from crowdtally.reader.describing.protection import protection_lines
from crowdtally.reader.describing.spending import spending_lines
from crowdtally.reader.describing.uncovered import uncovered_lines
from crowdtally.reader.describing.what import what_lines
from crowdtally.reader.describing.whom import whom_lines
from crowdtally.reader.describing.withdrawal import withdrawal_lines
from crowdtally.reader.exporting.yaml import Bullets, Entry, Number, yaml

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
"""Who is protected, as the registry says it."""
_TOP = (
    "An entry of the registry of differential privacy deployments, made by crowdtally from a "
    "release. What the release says is filled in. Complete the lines marked CURATOR, and check "
    "the entry against the registry's own schema."
)


def registry(published: Published) -> str:
    """The text of the file."""
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
    text = line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
    return markdown(text)


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
    exact = Decimal(value.numerator), Decimal(value.denominator)
    rounded = _ROUNDED_UP.divide(*exact).normalize(_ROUNDED_UP)
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
    called_back = [told(line) for line in withdrawal_lines(published.withdrawn)]
    notes = [Entry("notes", Bullets(tuple(called_back)))] if called_back else []
    return (
        Entry("sources", None, _asked("where the release and texts about it can be found")),
        *notes,
        Entry("registry_authors", [TO_ADD], _asked("who wrote this entry, one on each line")),
    )
