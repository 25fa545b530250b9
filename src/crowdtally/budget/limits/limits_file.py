"""The officer's file: what may be spent on each dataset, in TOML.

::

    [visits]
    epsilon = 2
    delta = "1e-6"           # without it, none
    each_epsilon = 0.5       # what a single release may cost; without it, up to the total
    reason = "approved by the board on 3 May"

    [trips]
    rho = 0.01               # of a dataset that counts by zCDP; in the place of epsilon
    each_rho = 0.002
    reason = "approved by the board on 3 May"

Numbers are exact, with or without quotes. What cannot be understood is refused as a whole: a limit
that was overlooked would be no limit.
"""

from __future__ import annotations

import hashlib
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from crowdtally.budget.limits import kept_file
from crowdtally.budget.limits.kept_file import unusable
from crowdtally.budget.loss import Loss
from crowdtally.budget.record.names import dataset_name, normal
from crowdtally.errors import UsageError, did_you_mean
from crowdtally.values.epsilon import Delta, Epsilon, Rho

LONGEST = 256 * 1024
"""Bytes: thousands of datasets. The file is read at every charge."""
_LONGEST_REASON = 500
_LONGEST_FAULT = 600
_QUOTED = 'A ratio is written in quotes, "1/3", and so is a name with a dot, ["visits.csv"]'
_KEYS = ("epsilon", "delta", "rho", "each_epsilon", "each_delta", "each_rho", "reason")

Amount = TypeVar("Amount", Epsilon, Delta, Rho)


@dataclass(frozen=True)
class Allowance:
    """What may be spent on one dataset, and why."""

    total: Loss
    """In all."""
    each: Loss | None
    """By a single release; ``None`` for no limit but the total."""
    reason: str
    """Why, in the officer's words."""


@dataclass(frozen=True)
class OfficerFile:
    """A limits file as it was when it was read."""

    path: str
    """Where, links resolved."""
    sha256: str
    """Of its bytes, in hexadecimal."""
    datasets: Mapping[str, Allowance]
    """What may be spent on each dataset, by its normalised name."""

    def lists(self, dataset: str) -> bool:
        """Whether a dataset, in any spelling, is listed."""
        return normal(dataset) in self.datasets

    def allowance(self, dataset: str) -> Allowance:
        """What may be spent on a dataset; refused where it is not listed."""
        if not self.lists(dataset):
            raise UsageError(
                f"dataset {dataset!r} is not in the limits file {self.path}, so nothing can be "
                f"charged to it. {did_you_mean(dataset, self.datasets)} If a new one is meant, "
                "ask whoever keeps the file."
            )
        return self.datasets[normal(dataset)]


def read_limits(path: str | os.PathLike[str]) -> OfficerFile:
    """The limits in a file; refused where others can write it or a word of it is not understood."""
    name = os.fspath(path)
    content = kept_file.read(name, LONGEST)
    try:
        datasets = _datasets(_tables(content))
    except (UsageError, ValueError) as error:
        raise unusable(name, f"cannot be used: {_clipped(error)}") from error
    return OfficerFile(name, hashlib.sha256(content).hexdigest(), datasets)


def _tables(content: bytes) -> dict[str, Any]:
    """Each number as the text that was typed."""
    if not content.strip():
        raise ValueError("it is empty")
    if not content.endswith(b"\n"):  # half a number, or half the lines, would be other limits
        raise ValueError("its last line has no end, as if it had been cut while it was written")
    try:
        return tomllib.loads(content.decode(), parse_float=str)
    except UnicodeDecodeError as error:
        raise ValueError("it is not text in UTF-8") from error
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    except ValueError as error:
        raise ValueError(f"it is not TOML: {error}. {_QUOTED}") from error


def _datasets(tables: dict[str, Any]) -> dict[str, Allowance]:
    found: dict[str, Allowance] = {}
    for key, fields in tables.items():
        if not isinstance(fields, dict):
            raise ValueError(
                f"{key[:80]!r} is outside of any dataset's table. Write [NAME] above the limits "
                "of dataset NAME"
            )
        name = dataset_name(key)
        if name in found:
            raise ValueError(f"dataset {name!r} is listed twice, in two spellings of Unicode")
        found[name] = _allowance(name, fields)
    if not found:
        raise ValueError("it lists no dataset")
    return found


def _allowance(name: str, fields: dict[str, Any]) -> Allowance:
    where = f"[{name}]"
    for key, value in fields.items():
        if key not in _KEYS:
            dotted = (
                f' A name with a dot is written in quotes: ["{name}.{key}"].'
                if isinstance(value, dict)
                else ""
            )
            raise ValueError(
                f"{where} has an unknown key {key[:80]!r}. {did_you_mean(key, _KEYS)}{dotted}"
            )
    needed = ("reason",) if "rho" in fields else ("epsilon", "reason")
    missing = [key for key in needed if key not in fields]
    if missing:
        raise ValueError(f"{where} has no {' and no '.join(missing)}")
    single = "each_epsilon" in fields or "each_rho" in fields
    if "each_delta" in fields and not single:
        raise ValueError(f"{where} has an each_delta without an each_epsilon: give both")
    total = _limit(where, fields, "", Delta())
    each = _limit(where, fields, "each_", Delta(total.delta)) if single else None
    return Allowance(total, each, _reason(where, fields["reason"]))


def _limit(where: str, fields: dict[str, Any], prefix: str, rest: Delta) -> Loss:
    """A limit of ε or of ρ, which the keys of one prefix state."""
    if f"{prefix}epsilon" in fields and f"{prefix}rho" in fields:
        raise ValueError(f"{where} has {prefix}epsilon and {prefix}rho: give one of them")
    epsilon = _amount(where, fields, f"{prefix}epsilon", Epsilon, None)
    rho = _amount(where, fields, f"{prefix}rho", Rho, None)
    return Loss.of(epsilon, _amount(where, fields, f"{prefix}delta", Delta, rest) or rest, rho)


def _amount(
    where: str, fields: dict[str, Any], key: str, kind: type[Amount], default: Amount | None
) -> Amount | None:
    try:
        return kind.of(fields[key]) if key in fields else default
    except UsageError as error:
        raise ValueError(f"{where} {key}: {error}") from error


def _reason(where: str, value: object) -> str:
    fits = isinstance(value, str) and value.strip() and value.isprintable()
    if isinstance(value, str) and fits and len(value) <= _LONGEST_REASON:
        return value
    raise ValueError(
        f"{where} reason: give one line of at most {_LONGEST_REASON} printable characters"
    )


def _clipped(error: Exception) -> str:
    said = " ".join(str(error).split())
    return said if len(said) <= _LONGEST_FAULT else f"{said[:_LONGEST_FAULT]}…"
