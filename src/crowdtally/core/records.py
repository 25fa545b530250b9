"""Records as declared: their sources and the roles of their columns."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from crowdtally.core.display import call, facts
from crowdtally.core.privacy import PrivacyUnit
from crowdtally.errors import UsageError

UTC = "UTC"  # the zone in which times are turned into days and hours, unless another is named


@dataclass(frozen=True)
class Join:
    """A table to look up: each record finds one partner in it, or none."""

    source: object
    key: str
    """The records' column."""
    partner_key: str
    """The table's column that must equal it."""

    def __repr__(self) -> str:
        return f"{_shown(self.source)}:{self.keys}"

    @property
    def keys(self) -> str:
        """Both keys as a person types them: one, if they have the same name."""
        return self.key if self.key == self.partner_key else f"{self.key}={self.partner_key}"


@dataclass(frozen=True)
class SamePerson:
    """A table that says which ids are one person's: a function from the id to the person."""

    source: object
    """It has the records' user columns."""
    person: str | None
    """Its column that names the person; None: the only one beside the ids."""

    def __repr__(self) -> str:
        return _shown(self.source) + (f":{self.person}" if self.person else "")


@dataclass(frozen=True)
class Quantity:
    """How often a record counts: as its column says, up to a public bound."""

    column: str
    most: int
    """C: a record that says more counts C times."""


@dataclass(frozen=True)
class Records:
    """Records as declared; nothing has been read.

    Everything here is public: it says how to read, never what is in the records.
    """

    source: object
    """A path, glob or URL#table, or a frame, relation or Ibis table."""
    user: str | tuple[str, ...] | None
    """The column that says whose record it is, or the columns that say so together; None where
    each row is one person, or where records were bounded elsewhere."""
    item: str | None
    """What it is about, a column unless ``item_expression`` says how it is computed; None for a
    table of attributes."""
    contexts: Mapping[str, str | None] = field(default_factory=dict)
    """For each context a row-wise SQL expression, or None where it is a column of that name."""
    record_id: str | None = None
    """A stored column that tells a user's records apart; None: their content does."""
    joins: tuple[Join, ...] = ()
    attributes: tuple[str, ...] = ()
    """The columns (or derived contexts) of a table of attributes, instead of an item."""
    weight: str | None = None
    """Where each row is one person: a column that says how many persons a row stands for."""
    item_expression: str | None = None
    """A row-wise SQL expression of the item, where it is not a column."""
    where: str | None = None
    """A row-wise SQL condition: other rows are no records."""
    timezone: str = UTC
    """The zone in which times are turned into days and hours."""
    same_person: SamePerson | None = None
    """Which users are one person: what is protected is then the person."""
    quantity: Quantity | None = None
    """How often a record counts; None: once."""
    types: Mapping[str, str] = field(default_factory=dict)
    """The types that are declared, by column: of the records and of the tables to look up."""
    bounded_to: int | None = None
    """L, where nothing says whose a row is: the publisher states that nobody has more rows."""
    cells_once: bool = False
    """With ``bounded_to``: the publisher also states that no two of them are in one cell."""

    def __repr__(self) -> str:
        """The declaration alone: a frame's own repr would show records, a URL a password."""
        roles = [f"{name}={value!r}" for name, value in self._roles().items()]
        return call("Records", [repr(_shown(self.source)), *roles])

    def _repr_html_(self) -> str:
        roles = ((name, _plain(value)) for name, value in self._roles().items())
        return facts("Records, as declared", [("source", _shown(self.source)), *roles])

    def _roles(self) -> dict[str, object]:
        """All that was declared beside the source, by the parameters of ``ct.read``."""
        roles = {name: value for name, value in vars(self).items() if name != "source" and value}
        if self.timezone == UTC:
            del roles["timezone"]
        return roles

    def __post_init__(self) -> None:
        if (self.item is None) == (not self.attributes):
            raise UsageError("say what is counted: --item COL, or --attributes A,B,C; not both.")
        if len(set(self.attributes)) != len(self.attributes):
            raise UsageError("--attributes names a column twice: name each once.")
        if self.weight is not None and self.user is not None:
            raise UsageError(
                "--weight says how many persons a row stands for, so it goes with --user-per-row."
            )
        self._check_bounded()
        for role, option in (
            (self.record_id, "--record-id tells a user's records apart"),
            (self.same_person, "--same-person says which users are one person"),
            (self.quantity, "--quantity says how often a user's record counts"),
        ):
            if self.user is None and role is not None:
                other = "--user-per-row" if self.bounded_to is None else "--bounded-to"
                raise UsageError(f"{option}: not with {other}.")

    def _check_bounded(self) -> None:
        """Refuse a statement about rows that has no bound, or that does not fit these rows."""
        if self.cells_once and self.bounded_to is None:
            raise UsageError(
                "--cells-once says where the rows of a person are, of whom --bounded-to L says how "
                "many they are: give both."
            )
        if self.bounded_to is not None and self.user is not None:
            raise UsageError(
                "--bounded-to states a bound where nothing says whose a row is. With --user COL "
                "the program bounds users itself: use --method sra:max-records=L."
            )
        if self.bounded_to is not None and self.weight is not None:
            raise UsageError(
                "--weight lets a row stand for several persons, and --bounded-to is about the rows "
                "of one: remove one of them."
            )

    @property
    def user_columns(self) -> tuple[str, ...]:
        """The columns that together say whose record it is; none where each row is one person."""
        if self.user is None:
            return ()
        return (self.user,) if isinstance(self.user, str) else self.user

    @property
    def unit(self) -> PrivacyUnit:
        columns = ", ".join(self.user_columns)
        if self.same_person is not None:
            return PrivacyUnit("same-person", columns)
        if columns:
            return PrivacyUnit("user", columns)
        if self.bounded_to is not None:
            return PrivacyUnit("bounded-elsewhere")
        return PrivacyUnit("row") if self.weight is None else PrivacyUnit("person", self.weight)


def _plain(value: object) -> str:
    """A column, several, or a mapping of them, in words."""
    if isinstance(value, Mapping):
        return "; ".join(name if how is None else f"{name} = {how}" for name, how in value.items())
    if isinstance(value, tuple):
        return ", ".join(map(_plain, value))
    if isinstance(value, Quantity):
        return f"{value.column}, at most {value.most}"
    return value if isinstance(value, str) else repr(value)


def _shown(source: object) -> str:
    """A source's public name, without a frame's rows and a URL's password."""
    if isinstance(source, str | os.PathLike):
        return without_secrets(os.fspath(source))
    return f"a {type(source).__module__.partition('.')[0]} {type(source).__name__}"


def without_secrets(url: str) -> str:
    """The address without user and password, wherever they stand in it.

    A password may have characters that should have been escaped: where a colon may begin one, all
    is left out up to the last ``@``. A shorter name is better than half of a password.

    >>> without_secrets("postgres://ana:p@ss@host/db?sslmode=on&password=x#t")
    'postgres://host/db?sslmode=on&password=…#t'
    >>> without_secrets("postgres://ana:p/a?s#s@host/db#t")
    'postgres://host/db#t'
    """
    bare = _SECRET_PARAMETER.sub(r"\1…", url)
    return (_AUTHORITY if url.startswith(_PATHS) else _UP_TO_LAST_AT).sub("//", bare, count=1)


_SECRET_PARAMETER = re.compile(
    r"([?&][^=&#@]*(?:pass|secret|token|key)[^=&#@]*=)[^&]*?(?=&|#[^#]*$|$)"
)
_AUTHORITY = re.compile(r"//[^/?#]*@")
_UP_TO_LAST_AT = re.compile(r"//[^/?#@]*:.*@|//[^/?#]*@", re.DOTALL)
_PATHS = ("file://", "hdfs://", "viewfs://")
"""Addresses without passwords, in whose paths an ``@`` is part of a name."""


@dataclass(frozen=True, eq=False)
class Origin:
    """The files, tables or objects that rows are read from."""

    names: frozenset[str] = frozenset()
    """Resolved names: one for each file, or one for a database's table."""
    held: object = None
    """The frame or relation itself, for rows held in memory."""

    def overlaps(self, other: Origin) -> bool:
        """Whether some rows of the two are the same rows.

        >>> Origin(frozenset({"/a.csv", "/b.csv"})).overlaps(Origin(frozenset({"/b.csv"})))
        True
        """
        return bool(self.names & other.names) or (self.held is not None and self.held is other.held)
