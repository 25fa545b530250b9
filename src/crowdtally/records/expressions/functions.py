"""Which functions an expression may use, with which arguments; time zones."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import duckdb

from crowdtally.core.records import UTC
from crowdtally.errors import UsageError, closest, did_you_mean

# The functions that an expression may use, as DuckDB's catalogue spells them, and why. The list
# says what is allowed, not what is refused: a function of a new release of DuckDB is refused until
# somebody has looked at it. A function here must
#
# - depend on its arguments alone: no other row, setting, clock, chance, file or catalogue;
# - give the same value in every release of DuckDB, as far as its makers promise;
# - raise nothing that ``TRY`` lets through, whatever one record holds;
# - take at most a second and little memory for a text of 100,000 letters.
#
# ``tests/engines/test_expressions.py`` reads the catalogue and tries each with hostile values.

GROUPS: dict[str, tuple[str, str]] = {
    "arithmetic": (
        "numbers of fixed width; what overflows is null",
        """+ - * / // % & | ~ << >> abs ceil ceiling floor round round_even trunc sign sqrt cbrt exp
        ln log log2 log10 pow power mod fmod fdiv greatest least isnan isinf isfinite even
        gcd greatest_common_divisor lcm least_common_multiple sin cos tan asin acos atan
        atan2 degrees radians pi xor bit_count add subtract multiply divide nullif if""",
    ),
    "text": (
        "one pass over a text; what is looked for in it is a constant",
        """|| concat concat_ws lower lcase upper ucase length len strlen char_length
        character_length bit_length octet_length left right substr substring trim ltrim rtrim
        replace reverse split_part string_split split str_split string_to_array contains
        starts_with prefix ends_with suffix instr position strpos ascii ord unicode chr
        translate strip_accents nfc_normalize left_grapheme right_grapheme length_grapheme
        substring_grapheme ~~ !~~ ~~* !~~*""",
    ),
    "regular expressions": (
        "RE2 reads a text once, whatever it holds; the expression itself is a constant",
        """regexp_matches regexp_full_match regexp_extract regexp_replace regexp_extract_all
        regexp_split_to_array string_split_regex str_split_regex""",
    ),
    "hashes and codings": (
        "standards, the same in every release; hash() is not one",
        """md5 md5_number sha1 sha256 hex to_hex unhex from_hex base64 to_base64 from_base64 decode
        url_encode url_decode""",
    ),
    "dates and times": (
        "calendars and zones that are named by a constant; what has no date is null",
        """year quarter month week weekofyear yearweek isoyear day dayofmonth dayofweek weekday
        isodow dayofyear decade century millennium hour minute second millisecond
        microsecond epoch epoch_ms epoch_us epoch_ns dayname monthname last_day
        days_in_month julian date_part datepart date_trunc datetrunc date_diff datediff
        date_sub datesub date_add age make_date make_time make_timestamp to_timestamp
        strftime strptime try_strptime timezone to_years to_quarters to_months to_weeks
        to_days to_hours to_minutes to_seconds to_milliseconds to_microseconds""",
    ),
    "lists, maps and structs": (
        "reading what one record holds; a list is as long as the record",
        """&& @> list_value list_extract array_extract list_element list_contains array_contains
        list_has array_has list_position array_position list_indexof array_indexof array_length
        list_slice array_slice list_has_any array_has_any list_has_all array_has_all
        list_distinct array_distinct list_unique array_unique list_sort array_sort
        list_reverse array_reverse list_min list_max list_sum list_count list_first
        list_last array_to_string flatten map_keys map_values map_extract
        map_extract_value element_at map_contains struct_extract""",
    ),
    "JSON": (
        "reading one document by constant paths",
        """json_extract json_extract_string json_extract_path json_extract_path_text ->> json_exists
        json_value json_type json_valid json_array_length json_keys""",
    ),
}
"""Group → (why its functions are safe, their names)."""

ALLOWED = frozenset(name for _, names in GROUPS.values() for name in names.split())

CASTS = frozenset(
    """
    BOOLEAN BOOL TINYINT SMALLINT INTEGER INT BIGINT HUGEINT INT128 UTINYINT USMALLINT UINTEGER
    UBIGINT DECIMAL NUMERIC REAL FLOAT DOUBLE VARCHAR TEXT DATE TIME TIMESTAMP TIMESTAMPTZ UUID JSON
    """.split()
)
"""Types that a cast may name. An ENUM is none: the records would decide its values."""

INSTEAD = {
    "date_format": "strftime", "extract": "date_part", "format": "concat",
    "hash": "md5_number", "lpad": "concat", "printf": "concat", "regexp_like": "regexp_matches",
    "rpad": "concat", "time_bucket": "date_trunc", "to_char": "strftime", "to_date": "strptime",
}  # fmt: skip
"""Substitutes for refused functions whose names are not alike."""

WITHOUT_SPANS = frozenset(
    """
    week weekofyear yearweek isoyear dayofweek weekday isodow dayofyear julian date_part datepart
    date_diff datediff date_sub datesub date_trunc datetrunc
    """.split()
)
"""Functions that, given an interval or a time of day, raise what ``TRY`` lets through."""

# Time zones are the names that both engines know and that mean one place's clocks. An abbreviation
# of several zones (CST), or an offset that no place keeps all year (CET to some, +01:00), would
# give wrong days.

# Two names that DuckDB lists have left the time zone database.
_NO_LONGER = ("US/Pacific-New", "Canada/East-Saskatchewan")
_NO_PLACES = ("Etc/", "posix/", "right/", "SystemV/", *_NO_LONGER)
_OFFSET = re.compile(r"(UTC|GMT|Z)?[+-]?\d{1,2}(:?\d{2})*")
_LIKE = "an Area/City of the IANA time zones, such as Europe/Vienna or Asia/Tokyo, or UTC"


def check_zone(name: object) -> str:
    """The zone, if it is one; otherwise a UsageError that says what to type.

    >>> check_zone("Asia/Kolkata")
    'Asia/Kolkata'
    """
    if not isinstance(name, str):
        raise UsageError(f"--timezone is {_LIKE}: received a {type(name).__name__}.")
    if name == UTC or name in known_zones():
        return name
    raise UsageError(f"--timezone is {_LIKE}: received {name!r}. {_hint(name)}")


@cache
def known_zones() -> frozenset[str]:
    with duckdb.connect(":memory:") as connection:
        rows = connection.execute("SELECT name FROM pg_timezone_names()").fetchall()
    places = {name for (name,) in rows if "/" in name and not name.startswith(_NO_PLACES)}
    return frozenset({UTC, *places})


def _hint(name: str) -> str:
    if _OFFSET.fullmatch(name):
        return "An offset is not a zone: clocks change twice a year. Name a city."
    wanted = name.strip().lower()
    same = [zone for zone in known_zones() if zone.lower() == wanted]
    if same:
        return f"Did you mean {same[0]!r}?"
    if "/" not in name and name.isupper() and len(name) <= 7:
        return "An abbreviation can mean several zones. Name a city."
    if name.startswith(_NO_PLACES):
        return "That is no place's zone. Name a city."
    cities = sorted(zone for zone in known_zones() if zone.lower().rpartition("/")[2] == wanted)
    if cities:
        return f"Did you mean {cities[0]!r}?"
    return did_you_mean(name, sorted(known_zones()))


# Guards of functions' arguments, so that one record can neither stop nor delay a release. If a
# pattern, format, path, part or zone came from a column, a record could make DuckDB raise errors
# that ``TRY`` lets through, or search for a time that grows with the square of a text.

Node = Any  # a node of DuckDB's syntax tree, as ``json_serialize_sql`` writes it
Guard = Callable[[Sequence[Node]], str | None]
"""From a call's arguments to their fault, in words; None where they have none."""

_PARTS = frozenset(
    """
    year quarter month week day hour minute second millisecond milliseconds microsecond microseconds
    years quarters months weeks days hours minutes seconds decade century millennium dow isodow doy
    dayofweek weekday dayofyear dayofmonth weekofyear yearweek isoyear epoch julian
    """.split()
)
_MOST_REPEATED = 1_000


def text_of(node: Node) -> str | None:
    """The text of a constant; None for anything else and for a null."""
    if node.get("class") != "CONSTANT":
        return None
    literal = node.get("literal", {})
    return str(literal["text"]) if literal.get("kind") in ("STRING", "INTEGER", "BOOLEAN") else None


def _constant(*places: int) -> Guard:
    """The arguments at these places, where they are given, are constants."""

    def guard(given: Sequence[Node]) -> str | None:
        for place in places:
            if place < len(given) and text_of(given[place]) is None:
                return f"with argument {place + 1} that is not a constant"
        return None

    return guard


def _number(*counts: int) -> Guard:
    words = " or ".join(map(str, counts))
    return lambda given: None if len(given) in counts else f"without exactly {words} arguments"


def _zone(given: Sequence[Node]) -> str | None:
    if len(given) != 2:
        return "without a time zone"
    zone = text_of(given[0])
    if zone is None:
        return "with a time zone that is not a constant"
    if zone in known_zones():
        return None
    near = closest(zone, sorted(known_zones()))
    hint = (
        f"did you mean {near!r}?" if near else "name an Area/City, such as 'Asia/Tokyo', or 'UTC'"
    )
    return f"with the unknown time zone {zone!r} ({hint})"


def _part(given: Sequence[Node]) -> str | None:
    part = text_of(given[0]) if given else None
    if part is None:
        return "with a part of a date that is not a constant"
    if part.lower() in _PARTS:
        return None
    return f"with the unknown part {part!r} of a date (there are year, month, day, hour, …)"


def _like(given: Sequence[Node]) -> str | None:
    pattern = text_of(given[1]) if len(given) == 2 else None
    if pattern is None:
        return "with a pattern that is not a constant"
    # Without _ DuckDB searches for one piece after the other; with it, it tries every place again
    # for each %.
    if "_" in pattern and pattern.rstrip("%").count("%") > 1:
        return "with _ and several % in its pattern (use regexp_matches())"
    return None


def _pattern(every: bool) -> Guard:
    """A constant regular expression that one pass over a text is enough for."""

    def guard(given: Sequence[Node]) -> str | None:
        constants = _constant(*range(1, len(given)))(given)
        if constants:
            return constants
        pattern = text_of(given[1]) if len(given) > 1 else None
        if pattern is None or not _compiles(pattern):
            return "with a regular expression that RE2 cannot read"
        repetitions = math.prod(max(1, int(n)) for n in re.findall(r"(\d+)\}", pattern))  # nested
        if repetitions > _MOST_REPEATED:
            return f"with more than {_MOST_REPEATED} repetitions in its regular expression"
        if every and _looks_ahead(pattern):
            return "of every match, with a repeated group, or with | beside * or + (match one)"
        return None

    return guard


def _looks_ahead(pattern: str) -> bool:
    """Whether RE2 may search to the end, after each match, for a longer one."""
    choice = "|" in pattern and re.search(r"[*+]|,\}", pattern)
    return bool(choice or re.search(r"\)[?*+{]", pattern))


def _replacing(given: Sequence[Node]) -> str | None:
    options = text_of(given[3]) if len(given) > 3 else ""
    return _pattern(every="g" in (options or ""))(given)


def _splitting(given: Sequence[Node]) -> str | None:
    if len(given) > 2 and not set("cims").issuperset(text_of(given[2]) or "?"):
        return "with an option that is none of 'c', 'i', 'm' and 's'"
    return _pattern(every=True)(given)


def reader() -> duckdb.DuckDBPyConnection:
    """A DuckDB without tables, which shows how it reads a text."""
    return _empty().cursor()


@cache
def _empty() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(":memory:", config={"threads": "1"})


@cache
def _compiles(pattern: str) -> bool:
    return _runs("SELECT regexp_matches('', ?)", pattern)


def _format(query: str) -> Guard:
    def guard(given: Sequence[Node]) -> str | None:
        form = text_of(given[1]) if len(given) == 2 else None
        if form is None:
            return "with a format that is not a constant"
        return None if _runs(query, form) else f"with the format {form!r}, which cannot be read"

    return guard


def _read_by(given: Sequence[Node]) -> str | None:
    """A format for reading texts; with %Z a record would name the zone."""
    form = (text_of(given[1]) if len(given) == 2 else None) or ""
    if "%Z" in form.replace("%%", ""):
        return "with a time zone's name, %Z, in its format (use try_strptime())"
    return _reading(given)


def _runs(query: str, *values: str) -> bool:
    try:
        reader().execute(query, values)
    except duckdb.Error:
        return False
    return True


def _path(given: Sequence[Node]) -> str | None:
    for node in given[1:]:
        path = text_of(node)
        if path is None:
            return "with a path that is not a constant"
        if "*" in path or ".." in path:
            return "with a path that has a wildcard"
    return None


_needle = _constant(1)
_reading = _format("SELECT try_strptime('', ?)")
_regex = {
    "regexp_matches": _pattern(every=False),
    "regexp_full_match": _pattern(every=False),
    "regexp_extract": _pattern(every=False),
    "regexp_replace": _replacing,
    "regexp_extract_all": _pattern(every=True),
    **dict.fromkeys(("regexp_split_to_array", "string_split_regex", "str_split_regex"), _splitting),
}
GUARDS: dict[str, Guard] = {
    **_regex,
    **dict.fromkeys(("~~", "!~~", "~~*", "!~~*"), _like),
    **dict.fromkeys(("contains", "instr", "position", "strpos", "split_part"), _needle),
    **dict.fromkeys(("string_split", "split", "str_split", "string_to_array"), _needle),
    **dict.fromkeys(("trim", "ltrim", "rtrim"), _needle),
    "replace": _constant(1, 2),
    "translate": _constant(1, 2),
    "concat_ws": _constant(0),
    "array_to_string": _constant(1),
    **dict.fromkeys(("date_part", "datepart", "date_trunc", "datetrunc"), _part),
    **dict.fromkeys(("date_diff", "datediff", "date_sub", "datesub"), _part),
    "timezone": _zone,
    "strftime": _format("SELECT strftime(TIMESTAMP '2000-01-01', ?)"),
    "strptime": _read_by,
    "try_strptime": _reading,
    "age": _number(2),  # with one argument it counts from today
    "make_timestamp": _number(6),  # of microseconds it makes times that cannot be shown
    "array_length": _number(1),
    # Of text, a slice with steps raises what TRY lets through.
    **dict.fromkeys(("list_slice", "array_slice"), _number(3)),
    "list_sort": _number(1),
    "array_sort": _number(1),
    **dict.fromkeys(("json_extract", "json_extract_string", "->>", "json_value"), _path),
    **dict.fromkeys(("json_extract_path", "json_extract_path_text", "json_exists"), _path),
    **dict.fromkeys(("json_type", "json_array_length", "json_keys"), _path),
}


def growth(name: str, given: Sequence[Node]) -> int:
    """How many times longer than its arguments a function's result can be, as text."""
    texts = [text_of(node) or "" for node in given]
    if name == "replace" and len(texts) == 3:
        return max(1, math.ceil(len(texts[2]) / max(1, len(texts[1]))))
    if name == "regexp_replace" and len(texts) > 2:
        return 1 + len(texts[2])
    if name == "concat_ws" and texts:
        return 1 + len(texts[0])
    if name == "array_to_string":
        return 1 + len(texts[-1])
    return _LENGTHENING.get(name, 1)


JOINING = frozenset({"||", "concat", "concat_ws", "list_value"})
"""Functions of any number of arguments, whose result may hold all of them."""
_LENGTHENING = {
    "hex": 2, "to_hex": 2, "base64": 2, "to_base64": 2, "url_encode": 3, "list_value": 2,
    # Written as text, a list has quotes, escapes and commas around each letter.
    **dict.fromkeys(("string_split", "split", "str_split", "string_to_array"), 6),
    **dict.fromkeys(("regexp_extract_all", "regexp_split_to_array", "string_split_regex"), 6),
    "str_split_regex": 6,
}  # fmt: skip
