"""Values that a person types: ``sra:max-records=10`` is ``ct.SRA(max_records=10)``."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from fractions import Fraction
from functools import wraps
from typing import Any, TypeVar

from crowdtally.core.numbers import show
from crowdtally.core.registry import Registry
from crowdtally.errors import UsageError, did_you_mean

# A value is a frozen dataclass of a registry. Its positional fields are for a person to give, and
# the docstring under each is its help. Keyword-only fields are filled in by the program.

Value = TypeVar("Value")

_WHOLE = re.compile(r"-?[0-9]{1,4000}")  # Python reads no more digits
_SWITCH: Mapping[str, object] = {"yes": True, "no": False}


def value(kind: type[Value]) -> type[Value]:
    """Let a dataclass refuse unknown and missing fields in our words."""
    original: Callable[..., None] = kind.__init__

    @wraps(original)
    def init(self: object, *given: object, **named: object) -> None:
        _check_named(kind, given, named)
        original(self, *given, **named)

    kind.__init__ = init  # type: ignore[method-assign]
    return kind


def _check_named(kind: type, given: Sequence[object], named: Mapping[str, object]) -> None:
    known = [field for field in fields(kind) if field.init]
    for name in named:
        if name not in {field.name for field in known}:
            there = did_you_mean(name, public(kind))
            raise UsageError(f"{kind.__name__} has no field {name!r}. {there}")
    for field in known[len(given) :]:
        needed = field.default is MISSING and field.default_factory is MISSING
        if needed and field.name not in named:
            words = help_of(kind)[field.name]
            raise UsageError(f"{kind.__name__} needs {field.name}: {words[:1].lower()}{words[1:]}")


def public(kind: type) -> dict[str, Field[Any]]:
    """The fields that a person may give, by name."""
    return {field.name: field for field in fields(kind) if field.init and not field.kw_only}


def fitting(kind: type[Value], given: Mapping[str, object]) -> Value:
    """A value of those given fields that its kind has."""
    return kind(**{name: given[name] for name in public(kind) if name in given})


# ---- As text: ``name:field=value,field=value``


def read(registry: Registry, text: str) -> Any:
    """The value that was typed. A piece without ``=`` continues the list before it."""
    name, _, rest = text.partition(":")
    kind, typed = registry.load(name), f"{registry.option} {name}"
    known, given = public(kind), dict[str, object]()
    for field, texts in pieces(rest, typed).items():
        if field not in known:
            there = did_you_mean(_dashed(field), map(_dashed, known))
            more = f"{there} Type {typed}:help to see them." if known else "It has no fields."
            raise UsageError(f"{typed} has no field {_dashed(field)!r}. {more}")
        given[field] = converted(known[field], texts)
    return kind(**given)


def pieces(text: str, typed: str) -> dict[str, list[str]]:
    """The fields of ``field=value,field=value``, each with its texts; ``typed`` stood before them.

    >>> pieces("max-records=10,columns=age,sex", "--method x")
    {'max_records': ['10'], 'columns': ['age', 'sex']}
    """
    found: dict[str, list[str]] = {}
    texts: list[str] | None = None
    for piece in text.split(",") if text else ():
        name, equals, given = piece.partition("=")
        if equals:
            field = name.strip().replace("-", "_")
            if field in found:
                raise UsageError(f"{typed} gives {_dashed(field)} twice: give it once.")
            texts = found[field] = [given.strip()]
        elif texts is None:
            raise UsageError(
                f"{typed} is followed by FIELD=VALUE,FIELD=VALUE: received {text!r}. Type "
                f"{typed}:help to see the fields."
            )
        else:
            texts.append(piece.strip())
    return found


def converted(field: Field[Any], texts: Sequence[str]) -> object:
    """A field's value from its texts; text of another type stays, for the kind to refuse."""
    kind, text = str(field.type), ",".join(texts)
    if "Sequence" in kind:
        return tuple(texts)
    if "bool" in kind:
        return _SWITCH.get(text, text)
    return int(text) if "int" in kind and _WHOLE.fullmatch(text) else text


def written(registry: Registry, given: object, *shown: str) -> str:
    """A value as it is typed, the inverse of ``read``; default fields only where ``shown``."""
    kind, name = type(given), name_of(registry, given)
    texts = [
        f"{_dashed(field.name)}={_text(getattr(given, field.name))}"
        for field in public(kind).values()
        if field.name in shown or getattr(given, field.name) != field.default
    ]
    return f"{name}:{','.join(texts)}" if texts else str(name)


def name_of(registry: Registry, given: object) -> str | None:
    """A registry's name of a value's exact kind; None for a kind from outside."""
    home = f"{type(given).__module__}:{type(given).__qualname__}"
    return next((name for name, entry in registry.items() if entry.home == home), None)


def _text(given: object) -> str:
    if isinstance(given, tuple):
        return ",".join(map(_text, given))
    if isinstance(given, bool):
        return "yes" if given else "no"
    return show(given) if isinstance(given, Fraction) else str(given)


def _dashed(field: str) -> str:
    return field.replace("_", "-")


# ---- Help


def explained(registry: Registry, name: str | None = None) -> Iterator[str]:
    """The lines of ``--method help``: the names of a registry, or the fields of one name."""
    if name is None:
        yield f"{registry.option} NAME or NAME:FIELD=VALUE,FIELD=VALUE. NAME:help shows the fields."
        rows = {one: entry.words for one, entry in registry.items()}
    else:
        kind = registry.load(name)
        known = public(kind)
        yield f"{registry.option} {name}: {registry[name].words}."
        words = help_of(kind)
        rows = {_dashed(one): words[one] + _default(known[one]) for one in known}
        if not rows:
            yield "It has no fields."
    width = max(map(len, rows), default=0) + 4
    for one, meaning in rows.items():
        yield from textwrap.wrap(
            meaning, 79, initial_indent=f"  {one}".ljust(width), subsequent_indent=" " * width
        )


def _default(field: Field[Any]) -> str:
    if field.default is MISSING or field.default is None or field.default == ():
        return ""
    return f" Default: {_text(field.default)}."


def help_of(kind: type, quote: str = "") -> dict[str, str]:
    """The docstring under each field of a dataclass and its bases, with other quotes for ``."""
    helps: dict[str, str] = {}
    for one in reversed(kind.__mro__[:-1]):
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(one))).body
        assert isinstance(tree, ast.ClassDef)
        for field, below in zip(tree.body, tree.body[1:], strict=False):
            match field, below:
                case (
                    ast.AnnAssign(target=ast.Name(id=name)),
                    ast.Expr(value=ast.Constant(value=str(words))),
                ):
                    helps[name] = " ".join(words.split()).replace("``", quote)
    return helps


def names(given: object, called: str, *, least: int = 1) -> tuple[str, ...]:
    """One name of a column, or several in a list."""
    several = (given,) if isinstance(given, str) else given
    if not isinstance(several, list | tuple) or not all(isinstance(one, str) for one in several):
        kind = type(given).__name__
        raise UsageError(f"{called} is a column, or a list of them: received a {kind}.")
    if len(several) < least or "" in several:
        raise UsageError(f"{called} lacks the name of a column: received {given!r}.")
    return tuple(several)


def one_of(given: object, words: Sequence[str], called: str) -> None:
    if not isinstance(given, str) or given not in words:
        received = repr(given) if isinstance(given, str) else f"a {type(given).__name__}"
        raise UsageError(f"unknown {called} {received}. {did_you_mean(received, words)}")
