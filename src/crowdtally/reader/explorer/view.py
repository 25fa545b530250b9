"""A view: what it can be asked, and its answer as a page, for programs and as a picture."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from crowdtally.reader.answers.answer import AnswerTable
from crowdtally.reader.explorer.asked import Asked, Parameter, texts
from crowdtally.reader.explorer.opened import Opened
from crowdtally.web.charts import Chart

PAGE = 50
"""Rows of one page."""
MOST_ROWS = 1000
"""Rows that one question may ask for, and that pages of a ranking reach."""

CONTEXT = texts(
    "context",
    "NAME=VALUE: in this context. Several values of one context count together; a context that is "
    "not named is summed over.",
)
RAW = Parameter(
    "raw",
    "yes: noisy counts alone decide, without estimates.",
    {"type": "string", "enum": ["no", "yes"]},
)


def how_many(default: int = 10) -> Parameter:
    """How many rows are wanted."""
    schema = {"type": "integer", "minimum": 1, "maximum": MOST_ROWS, "default": default}
    return Parameter("k", "How many rows.", schema)


@dataclass(frozen=True)
class View:
    """One kind of page about a release."""

    name: str
    """In its address, and of its template."""
    title: str
    """In the menu."""
    words: str
    """What it tells, for programs that ask."""
    page: Callable[[Opened, Asked], dict[str, Any]]
    """Facts of its template."""
    parameters: tuple[Parameter, ...] = ()
    """What a page may be asked."""
    answer: Callable[[Opened, Asked], AnswerTable] | None = None
    """The answer for programs: JSON, CSV and Parquet."""
    asks: tuple[Parameter, ...] = ()
    """What programs may ask."""
    schema: Mapping[str, Any] | None = None
    """Of the JSON."""
    picture: Callable[[Opened, Asked], Chart | None] | None = None
    """The chart of a page; None where there is nothing to draw."""
    is_there: Callable[[Opened], bool] = lambda opened: True
    """Whether a release has such a page."""
    form: Callable[[Opened, Asked], dict[str, Any]] | None = None
    """Facts of its form, which stays where a question is refused."""
    early: bool = False
    """Whether it has something to show before there are estimates."""


def has_items(opened: Opened) -> bool:
    """Whether a release has items."""
    return opened.source.has_items


def is_raw(asked: Asked) -> bool:
    """Whether noisy counts alone are wanted."""
    return asked.choice("raw", ("no", "yes")) == "yes"
