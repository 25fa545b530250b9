"""Pages from templates: every value is escaped, and a fact that is missing is an error.

A template of a page lies beside the code that knows its facts and extends ``base.html``, which is
here; ``parts.html`` has what pages share (tables, charts, lists of sentences).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any

from crowdtally.core.display import plainly
from crowdtally.web.charts import Chart, svg
from crowdtally.web.extras import needs
from crowdtally.web.numbers import grouped
from crowdtally.web.numerals import current
from crowdtally.web.scripts import embedded, own_script, script_source

HERE = "crowdtally.web"
LONGEST = 120
"""Letters of one value that are shown."""
_LONG = 10_000
"""Letters from which on a sentence is left as it is."""
_QUOTED = re.compile(r"(?<!\w)'(?:[^'\\]|\\.)*'|\"[^\"]*\"|`[^`]*`|(?<=\d),(?=\d{3}(?!\d))")
_FORMULA = re.compile(r" (=|≈|±|×|→|·) |(?<=ε) (?=\d)")


def style() -> str:
    """The style sheet."""
    return files(HERE).joinpath("static", "style.css").read_text(encoding="utf-8")


def rendered(package: str, template: str, /, **facts: Any) -> str:
    """A page.

    Args:
        package: where the template lies, such as ``crowdtally.reader.report``.
        template: its file's name.
        facts: what it may use. ``base.html`` wants ``title``; the style sheet stands inside the
            page, unless ``stylesheet`` is the address of one. With ``fixed_colours`` charts have
            the colours of the light page, for programs that know no variables in drawings.
    """
    return rendering(package, variables=not facts.get("fixed_colours", False))(template, **facts)


def rendering(package: str, *more: str, variables: bool = True) -> Callable[..., str]:
    """What makes pages from the templates of a package, each of which is compiled once.

    Args:
        package: where the templates lie, and scripts beside them.
        more: further packages whose templates these use.
        variables: whether colours of charts are variables of the style.
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

    def drawn(chart: Chart) -> Markup:
        # Vega escapes the texts that it draws; the tests parse drawings of hostile labels.
        return Markup(svg(chart, variables=variables))

    def script(name: str) -> Markup:
        return Markup(own_script(package, name))

    environment.globals |= {
        "style": Markup(style()),
        "script": script,
        "script_source": lambda name: script_source(own_script(package, name)),
    }
    environment.filters |= {
        "embedded": lambda data: Markup(embedded(data)),
        "value": value,
        "moment": moment,
        "sentence": sentence,
        "grouped": grouped,
        "drawn": drawn,
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
