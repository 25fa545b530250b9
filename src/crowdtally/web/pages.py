"""Pages from templates: tables, scripts, and numbers as readers write them."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, lru_cache
from importlib.resources import files
from math import floor, isfinite, log10
from typing import Any

from crowdtally.core.display import plainly, printable_json
from crowdtally.errors import needs
from crowdtally.web.charts import svg


@dataclass(frozen=True)
class Shown:
    """A table of a page. Cells are text and are escaped by the template."""

    caption: str
    heads: Sequence[str]
    """Of its columns; the first column names the rows."""
    rows: Sequence[Sequence[str]]
    """As many cells as there are heads in each."""
    words: Collection[int] = (0,)
    """Places of the columns that hold words instead of numbers: these may break, to the left."""
    dense: bool = False
    """Whether its numbers may break on paper, because they are many."""
    note: str = ""
    """What must be said below it."""
    links: Sequence[str] = ()
    """For each row the address that its first cell leads to; none: it leads nowhere."""


def own_script(package: str, name: str) -> str:
    """A script that lies beside a template; it stands inside the page as it is."""
    text = files(package).joinpath(name).read_text(encoding="utf-8")
    if "</script" in text.lower() or "<!--" in text:
        raise ValueError(f"{name} would end the element that it stands in")
    return text


def script_source(text: str) -> str:
    """How a Content-Security-Policy names this script, and no other.

    Unlike ``'self'`` a hash also holds where a page is opened from a disk.

    >>> script_source("alert(1)")
    "'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='"
    """
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def embedded(data: object) -> str:
    r"""JSON that can stand within an element of a page: no text in it begins or ends a tag.

    >>> print(embedded(["</script>", "a&b"]))
    ["\u003c/script\u003e", "a\u0026b"]
    """
    text = printable_json(data)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


# Numbers as a reader writes them: 1,234.5 or 1.234,5 or 1 234,5. Files use a narrow space and a
# point. A server knows from the header Accept-Language who reads; Babel knows how they write.

THIN = "\N{NARROW NO-BREAK SPACE}"
_LONGEST = 200


@dataclass(frozen=True)
class Numerals:
    group: str = THIN
    """Between groups of digits."""
    decimal: str = "."
    """Before the digits after the point."""
    first: int = 3
    """Digits of the last group before the point."""
    further: int = 3
    """Digits of the groups before that one."""

    def written(self, plain: str) -> str:
        """A plain number, such as ``-1234.5``; its sign stays.

        >>> Numerals(".", ",").written("1234567.5"), Numerals(",", ".", 3, 2).written("1234567")
        ('1.234.567,5', '12,34,567')
        """
        whole, point, after = plain.partition(".")
        sign = whole[: len(whole) - len(whole.lstrip("-\N{MINUS SIGN}"))]
        digits, parts = whole[len(sign) :], list[str]()
        size = self.first
        while len(digits) > size:
            parts.append(digits[-size:])
            digits, size = digits[:-size], self.further
        grouped = self.group.join([digits, *reversed(parts)])
        return f"{sign}{grouped}{self.decimal + after if point else ''}"


PLAIN = Numerals()
_numerals: ContextVar[Numerals] = ContextVar("numerals", default=PLAIN)


def current() -> Numerals:
    return _numerals.get()


@contextmanager
def written_as(numerals: Numerals) -> Iterator[None]:
    before = _numerals.set(numerals)
    try:
        yield
    finally:
        _numerals.reset(before)


@lru_cache(256)
def of_reader(accepted: str) -> Numerals:
    """How a reader with this header Accept-Language writes numbers.

    >>> of_reader("de-DE,de;q=0.9").written("1234.5"), of_reader("en-US").written("1234.5")
    ('1.234,5', '1,234.5')
    """
    from babel import Locale
    from babel.core import UnknownLocaleError

    for name in _preferred(accepted[:_LONGEST]):
        try:
            locale = Locale.parse(name, sep="-")
        except (UnknownLocaleError, ValueError, TypeError):
            continue
        symbols, form = locale.number_symbols.get("latn"), locale.decimal_formats[None]
        if symbols is None:
            continue
        first, further = form.grouping
        return Numerals(symbols["group"], symbols["decimal"], first, further)
    return PLAIN


def _preferred(accepted: str) -> list[str]:
    """The languages of a header, the best first.

    >>> _preferred("fr;q=0.2, de-CH, *;q=0.1, en;q=oops")
    ['de-CH', 'fr']
    """
    found: list[tuple[float, int, str]] = []
    for part in accepted.split(","):
        name, _, quality = part.strip().partition(";")
        text = quality.strip().removeprefix("q=") or "1"
        try:
            weight = float(text)
        except ValueError:
            continue
        if name and name != "*" and weight > 0:
            found.append((-weight, len(found), name.strip()))
    return [name for _, _, name in sorted(found)]


__all__ = ["THIN", "between", "chance", "grouped", "percent"]
MINUS = "\N{MINUS SIGN}"
NO_NUMBER = "–"
"""Stands where there is no number."""
_DIGITS = 3


def grouped(value: float | None) -> str:
    """A number for people: whole from 100 on, else to three digits or a thousandth.

    >>> grouped(1234567).replace(THIN, "_"), grouped(-12.345), grouped(0.01234), grouped(None)
    ('1_234_567', '−12.3', '0.012', '–')
    >>> grouped(-1e-9), grouped(10**20 + 1).replace(THIN, "")
    ('0', '100000000000000000001')
    """
    if value is None or not isfinite(value):
        return NO_NUMBER
    if isinstance(value, int):
        text = f"{value}"
    else:
        digits = _DIGITS - 1 - floor(log10(abs(value))) if value else 0
        places = min(max(digits, 0), _DIGITS)
        text = f"{round(value, places) + 0.0:.{places}f}"  # no minus sign before a zero
        text = text.rstrip("0").rstrip(".") if "." in text else text
    return current().written(text.replace("-", MINUS))


def between(low: float | None, high: float | None) -> str:
    """An interval.

    >>> between(-3.0, 1200.0).replace(THIN, "_"), between(None, 1.0)
    ('−3 to 1_200', '–')
    """
    return NO_NUMBER if low is None or high is None else f"{grouped(low)} to {grouped(high)}"


def chance(probability: float | None) -> str:
    """A probability that follows from estimates: never certain.

    >>> chance(0.42), chance(1.0), chance(0.0), chance(None)
    ('42%', 'over 99%', 'under 1%', '–')
    """
    return percent(None if probability is None else min(max(probability, 1e-9), 1 - 1e-9))


def percent(share: float | None) -> str:
    """A share or a probability; what is not quite 0 or 1 does not look like it.

    >>> percent(0.5), percent(0.9999), percent(1.0), percent(0.0004), percent(None)
    ('50%', 'over 99%', '100%', 'under 1%', '–')
    """
    if share is None:
        return NO_NUMBER
    if 0 < share < 0.01:
        return "under 1%"
    return "over 99%" if 0.99 < share < 1 else f"{share:.0%}"


# A template lies beside the code that knows its facts and extends ``base.html``, which is here;
# ``parts.html`` has what pages share. Every value is escaped; a missing fact is an error.

HERE = "crowdtally.web"
LONGEST = 120
_LONG = 10_000
"""Letters from which on a sentence is left as it is."""
_QUOTED = re.compile(r"(?<!\w)'(?:[^'\\]|\\.)*'|\"[^\"]*\"|`[^`]*`|(?<=\d),(?=\d{3}(?!\d))")
_FORMULA = re.compile(r" (=|≈|±|×|→|·) |(?<=ε) (?=\d)")


def style() -> str:
    return files(HERE).joinpath("static", "style.css").read_text(encoding="utf-8")


def rendered(package: str, template: str, /, **facts: Any) -> str:
    """A page from a template of a package.

    ``base.html`` wants ``title``; the style sheet stands inside the page, unless ``stylesheet`` is
    the address of one. With ``fixed_colours`` charts have the colours of the light page.
    """
    return rendering(package, variables=not facts.get("fixed_colours", False))(template, **facts)


def rendering(package: str, *more: str, variables: bool = True) -> Callable[..., str]:
    """What makes pages from the templates of packages; each template is compiled once.

    With ``variables``, colours of charts are variables of the style.
    """
    environment = _environment(package, *more, variables=variables)

    def render(template: str, /, **facts: Any) -> str:
        return str(environment.get_template(template).render(**facts))

    return render


@cache
def _environment(package: str, *more: str, variables: bool) -> Any:
    needs("jinja2", "a page", "report")
    from jinja2 import Environment, FunctionLoader, StrictUndefined
    from markupsafe import Markup

    def source(name: str) -> str | None:
        for place in (*map(files, (package, *more)), files(HERE).joinpath("templates")):
            found = place.joinpath(name)
            if found.is_file():
                return found.read_text(encoding="utf-8")
        return None

    environment = Environment(
        loader=FunctionLoader(source),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

    environment.globals |= {
        "style": Markup(style()),
        "script": lambda name: Markup(own_script(package, name)),
        "script_source": lambda name: script_source(own_script(package, name)),
    }
    environment.filters |= {
        "embedded": lambda data: Markup(embedded(data)),
        "value": value,
        "moment": moment,
        "sentence": sentence,
        "grouped": grouped,
        # Vega escapes the texts that it draws; the tests parse drawings of hostile labels.
        "drawn": lambda chart: Markup(svg(chart, variables=variables)),
    }
    return environment


def value(text: object, longest: int = LONGEST) -> str:
    r"""A value from data as it is shown: a long one cut, what cannot be seen spelled out.

    >>> value("café"), value("a\x1b[2J"), len(value("x" * 100_000))
    ('café', "'a\\x1b[2J'", 121)
    """
    short = str(text)[: longest + 1]
    return plainly(short if len(short) <= longest else f"{short[:longest]}…")


def moment(text: str) -> str:
    """When something was, to the minute; what is no such time stays as it is.

    >>> moment("2026-11-17T18:42:52+00:00"), moment("once")
    ('2026-11-17, 18:42 UTC', 'once')
    """
    try:
        found = datetime.fromisoformat(text)
        if found.tzinfo is not None:
            return f"{found.astimezone(UTC):%Y-%m-%d, %H:%M} UTC"
    except (ValueError, OverflowError):
        pass
    return value(text)


def sentence(text: str) -> str:
    """A sentence as pages write it: thousands apart as in their numbers, formulas unbroken.

    What stands in quotes is data or code, and stays as it is.

    >>> sentence("1,234 users of '1,234'").replace("\N{NARROW NO-BREAK SPACE}", "_")
    "1_234 users of '1,234'"
    """
    if len(text) > _LONG:  # a hostile one, in which quotes would be looked for again and again
        return text

    def apart(found: re.Match[str]) -> str:
        return current().group if found[0] == "," else found[0]

    return _FORMULA.sub(lambda m: m[0].replace(" ", "\N{NO-BREAK SPACE}"), _QUOTED.sub(apart, text))
