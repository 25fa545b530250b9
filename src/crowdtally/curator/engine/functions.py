"""The functions that an expression may use, as DuckDB's catalogue spells them, and why.

A list of what is allowed, not of what is refused: a function that a new release of DuckDB brings is
refused until somebody has looked at it. To be here a function must

- be decided by its arguments alone: no other row, no setting, clock, chance, file or catalogue;
- give the same value in every release, as far as its makers promise;
- raise nothing that ``TRY`` lets through, whatever one record holds;
- take at most a second and no memory to speak of for a text of 100,000 letters.

``tests/engine/test_functions.py`` walks the catalogue and tries each of these with hostile values.
"""

from __future__ import annotations

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
"""Every function and operator that an expression may call."""

CASTS = frozenset(
    """
    BOOLEAN BOOL TINYINT SMALLINT INTEGER INT BIGINT HUGEINT INT128 UTINYINT USMALLINT UINTEGER
    UBIGINT DECIMAL NUMERIC REAL FLOAT DOUBLE VARCHAR TEXT DATE TIME TIMESTAMP TIMESTAMPTZ UUID JSON
    """.split()
)
"""Types that a cast may name; of an ENUM, say, the records would decide the values."""

INSTEAD = {
    "date_format": "strftime", "extract": "date_part", "format": "concat",
    "hash": "md5_number", "lpad": "concat", "printf": "concat", "regexp_like": "regexp_matches",
    "rpad": "concat", "time_bucket": "date_trunc", "to_char": "strftime", "to_date": "strptime",
}  # fmt: skip
"""What does the work of a function that is refused, where the names are not alike."""

WITHOUT_SPANS = frozenset(
    """
    week weekofyear yearweek isoyear dayofweek weekday isodow dayofyear julian date_part datepart
    date_diff datediff date_sub datesub date_trunc datetrunc
    """.split()
)
"""Functions that DuckDB has for intervals and times of day too, and that then raise what ``TRY``
lets through."""
