"""Which settings a release can be asked for, and how."""

from __future__ import annotations

from crowdtally.errors import UsageError
from crowdtally.lab.compared.facts import Facts
from crowdtally.lab.compared.summary import Setting
from crowdtally.lab.methods import Method


def can_be_released(setting: Setting, facts: Facts) -> bool:
    """Whether a release can be asked for it, with nothing read off the records."""
    if setting.method in facts.baselines:
        return False
    try:
        method = Method.of(setting.method)
    except UsageError:
        return False
    # A declared bound that is the largest contribution was read off the records, like a baseline's.
    return method.bounding != "declared" or setting.max_records != max(facts.largest, 1)


def label(setting: Setting, facts: Facts) -> str:
    """A method in a legend and in a table: what no release can be asked for is told as such."""
    released = can_be_released(setting, facts)
    return setting.method if released else f"{setting.method} (comparison only)"


def typed(setting: Setting, facts: Facts) -> str:
    """The options of a release for a setting, as they are typed."""
    method = Method.of(setting.method)
    words = [f"--bounding {method.bounding}"]
    if setting.max_records is not None:
        words.append(f"--max-records {setting.max_records}")
    if method.choice is not None:
        words.append(f"--choose {method.choice}")
    if method.transform != "none":
        words.append(f"--transform {method.transform}")
    if method.publishing != "dense":
        words.append(f"--publishing {method.publishing}")
    return " ".join([*words, *filter(None, [facts.options.get(setting.method)])])


def in_words(setting: Setting) -> str:
    """A setting in a sentence.

    >>> in_words(Setting("sra", "1", 30)), in_words(Setting("dpsense+rank", "1", 100))
    ('sra with at most 30 records per user', 'dpsense+rank with a bound chosen up to 100')
    """
    if setting.max_records is None:
        return setting.method
    if "+" in setting.method:
        return f"{setting.method} with a bound chosen up to {setting.max_records:,}"
    unit = "record" if setting.max_records == 1 else "records"
    return f"{setting.method} with at most {setting.max_records:,} {unit} per user"
