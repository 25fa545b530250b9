"""Numbers as a reader writes them, whatever a browser says of its languages."""

from __future__ import annotations

import threading

import pytest

from crowdtally.web.pages import (
    PLAIN,
    THIN,
    between,
    current,
    grouped,
    of_reader,
    sentence,
    written_as,
)

NUMBER = "1234567.5"


@pytest.mark.parametrize(
    ("accepted", "written"),
    [
        ("de", "1.234.567,5"),
        ("de-DE,de;q=0.9,en;q=0.8", "1.234.567,5"),
        ("de-CH", "1’234’567.5"),
        ("fr", f"1{THIN}234{THIN}567,5"),
        ("en-US", "1,234,567.5"),
        ("en-IN", "12,34,567.5"),
        ("hi-IN", "12,34,567.5"),
        ("en;q=0.5, de", "1.234.567,5"),
        ("xx-YY, de;q=0.1", "1.234.567,5"),
        ("*", f"1{THIN}234{THIN}567.5"),
        ("", f"1{THIN}234{THIN}567.5"),
    ],
)
def test_as_the_first_language_that_is_known(accepted: str, written: str) -> None:
    assert of_reader(accepted).written(NUMBER) == written


@pytest.mark.parametrize(
    "accepted",
    [
        ";", ",,,", "q=1", ";q=", "de;q=nan", "de;q=-1", "de;q=0", "../../../etc/passwd", "\x00",
        "a" * 100_000, "-", "_", "de_DE@euro;q=oops", "ü", "en-" * 1000, "💥", "de;q=1;x;y=oops",
        "root-", "C", "1", "en-US-x-private-" + "y" * 90,
    ],
)  # fmt: skip
def test_nonsense_is_plain_or_a_language(accepted: str) -> None:
    found = of_reader(accepted)
    assert found.written("12.5") in ("12.5", "12,5")
    assert found.written("-12") == "-12"


def test_arabic_readers_get_digits_that_the_page_has() -> None:
    assert of_reader("ar-EG").written("1234").replace(",", "") == "1234"


def test_signs_and_short_numbers_stay() -> None:
    german = of_reader("de")
    assert [german.written(one) for one in ("0", "-1", "−999", "-1000", "−1234.25")] == [
        "0", "-1", "−999", "-1.000", "−1.234,25",
    ]  # fmt: skip


def test_pages_write_all_numbers_alike() -> None:
    with written_as(of_reader("de")):
        assert grouped(1234567) == "1.234.567"
        assert between(1000, 2000) == "1.000 to 2.000"
        assert sentence("1,234 users of '1,234'") == "1.234 users of '1,234'"
    assert current() is PLAIN


def test_one_reader_does_not_change_anothers_numbers() -> None:
    seen = []
    with written_as(of_reader("de")):
        other = threading.Thread(target=lambda: seen.append(current()))
        other.start()
        other.join()
    assert seen == [PLAIN]
