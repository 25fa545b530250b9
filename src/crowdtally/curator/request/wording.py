"""Messages are written in the command line's words; in Python they name Python's parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from crowdtally.core.registry import Registry
from crowdtally.curator.bounding import METHODS
from crowdtally.curator.request.options import COUNTED, NOISES
from crowdtally.curator.summaries import PUBLISHINGS
from crowdtally.curator.transforms import TRANSFORMS
from crowdtally.errors import CrowdtallyError

_OTHERWISE = {
    "--items FILE": "ct.Domain(ITEMS)",
    "--items": "ct.Domain(ITEMS)",
    "--values": "ct.Domain(…, {NAME: VALUES})",
    "-o DIR": "output=DIR",
    "--join FILE:KEY=KEY": "joins=[(FILE, (KEY, KEY))]",
    "--join FILE:KEY": "joins=[(FILE, KEY)]",
    "--context NAME=EXPR": "contexts={NAME: EXPR}",
    "--context NAME": "contexts=[NAME]",
    "--same-person FILE:COL": "same_person=(FILE, COL)",
    "--context": "contexts",
    "--join": "joins",
    "--attributes A,B,C": "attributes=[A, B, C]",
    "--engine-setting KEY=VALUE": "engine_settings={KEY: VALUE}",
    "--type": "types",
    "--top K": "method=ct.Top(K)",
    "--top": "ct.Top",
    "--discover COL": "method=ct.Discover(COL)",
    "--discover COLUMN": "method=ct.Discover(COLUMN)",
    "--discover": "ct.Discover",
}
"""What has another name or shape in Python; the longer ones first."""
_FLAGS = ("user-per-row", "cells-once", "pairs", "strict", "yes", "new-dataset")
_VALUES = {*NOISES, *COUNTED, *"spark item cell sum:R".split()}
"""Words that are typed after an option."""
_REGISTRIES = {registry.option: registry for registry in (METHODS, PUBLISHINGS, TRANSFORMS)}
_BOTH = re.compile(r"--[a-z-]+(?: [A-Z]+)? \(in Python ([^)]*)\)")
"""What a message says in both words already."""
_COMMAND = re.compile(r"(`[^`]*`|crowdtally [a-z]+ [^\n]*)")
"""Commands for a shell, which stay."""
_LISTED = re.compile(r"--values (\w+)=([\w…]+(?:[.,]+[\w…]+)*)")
_NAMED = re.compile(r"(--method|--summary|--transform) ([a-z-]+)(?::([\w=,/.-]*\w))?")
_TYPED = re.compile(r"--type (?:'[^']+'|[^\s']+=\w+)(?: --type (?:'[^']+'|[^\s']+=\w+))*")
_TYPE = re.compile(r"--type (?:'([^']+)=(\w+)'|([^\s']+)=(\w+))")
"""One option each in a shell, one dict in Python."""
_DEFINED = re.compile(r"--context (\w+)=(\w+)")
_WHOSE = re.compile(r"--(user|weight) (?!--|(?:is|names|lets|says) )([\w.,-]*\w)")
"""Columns; else such an option has capitals behind it, or what a sentence says of it."""
_OPTION = re.compile(r"--([a-z][a-z-]*[a-z])(?: (?!--)([\w.:-]*\w))?")


def in_python(words: str) -> str:
    """A message with the options of the command line as parameters in Python.

    >>> in_python("use --method sra:choose=rank, or give --count users with --pairs.")
    "use method=ct.SRA(choose='rank'), or give count='users' with pairs=True."
    >>> in_python("add --summary filter-priority:size=S, or remove --method and --transform.")
    'add summary=ct.FilterPriority(size=S), or remove method and transform.'
    >>> in_python("give --discover COL --delta D, or --top K")
    'give method=ct.Discover(COL) delta=D, or method=ct.Top(K)'
    >>> in_python("say that it is meant: --new-dataset (in Python new_dataset=True).")
    'say that it is meant: new_dataset=True.'
    >>> in_python("add --type rating=int64 --type 'the day=date'.")
    "add types={'rating': 'int64', 'the day': 'date'}."
    >>> in_python("type --user shop,id --same-person FILE. Or --user-per-row --weight persons.")
    "type user=['shop', 'id'] same_person=FILE. Or user_per_row=True weight='persons'."
    """
    pieces = _COMMAND.split(_BOTH.sub(r"\1", words))
    return "".join(_translated(p) if n % 2 == 0 else p for n, p in enumerate(pieces))


def _translated(words: str) -> str:
    words = _NAMED.sub(_value, words)
    words = _LISTED.sub(r"ct.Domain(…, {'\1': [\2]})", words)
    words = _TYPED.sub(_types, words)
    words = _WHOSE.sub(_columns, words)
    words = _DEFINED.sub(r"contexts={'\1': '\2'}", words)
    for typed, called in _OTHERWISE.items():
        words = re.sub(rf"(?<![\w-]){re.escape(typed)}(?![\w-])", called, words)
    return _OPTION.sub(_parameter, words)


def _value(found: re.Match[str]) -> str:
    registry: Registry = _REGISTRIES[found[1]]
    if found[2] not in registry:
        return found[0]
    fields = []
    for piece in found[3].split(",") if found[3] else ():
        name, _, given = piece.partition("=")
        word = repr(given) if given.islower() else given
        fields.append(f"{name.replace('-', '_')}={word}")
    kind = registry[found[2]].home.partition(":")[2]
    return f"{found[1][2:]}=ct.{kind}({', '.join(fields)})"


def _types(found: re.Match[str]) -> str:
    pairs = (one[:2] if one[0] else one[2:] for one in _TYPE.findall(found[0]))
    return f"types={{{', '.join(f'{name!r}: {kind!r}' for name, kind in pairs)}}}"


def _columns(found: re.Match[str]) -> str:
    names = found[2].split(",")
    said = f"{found[1]}={names if len(names) > 1 else names[0]!r}"
    return found[0] if found[2].isupper() else said


def _parameter(found: re.Match[str]) -> str:
    option, after = found[1], found[2]
    name = option.replace("-", "_")
    if option in _FLAGS:
        return f"{name}=True" + (f" {after}" if after else "")
    if after is None:
        return name
    if after in _VALUES:
        return f"{name}={after!r}"
    is_value = after.isupper() or after[0].isdigit()
    return f"{name}={after}" if is_value else f"{name} {after}"


@contextmanager
def python_words() -> Iterator[None]:
    try:
        yield
    except CrowdtallyError as error:
        error.args = (in_python(str(error)), *error.args[1:])
        raise
