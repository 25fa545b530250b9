"""What may be said about contexts: which are a property of the user, and features of items."""

from __future__ import annotations

import os
from dataclasses import replace

from crowdtally.curator.bounding.auto import Auto
from crowdtally.curator.bounding.selected import Selected
from crowdtally.curator.request.features import read_features
from crowdtally.curator.request.refusals import Asked
from crowdtally.curator.request.tables import LARGEST_DENSE_AUTO
from crowdtally.errors import UsageError, did_you_mean
from crowdtally.records.locate import Sources


def check_contexts(asked: Asked) -> None:
    """Refuse declarations about contexts that do not fit them, or that nothing would use."""
    rule = asked.rule
    if not isinstance(rule, Auto | Selected):
        return
    contexts = list(asked.records.contexts) if asked.records.item is not None else []
    _check_per_user(rule.per_user, contexts)
    if isinstance(rule, Selected):
        return
    if rule.aim == "recommend" and not contexts:
        raise UsageError(
            "--for recommend is for what to show in each context, and there are no contexts: add "
            "--context NAME, or remove --for recommend."
        )
    if asked.options["features"] is not None:
        _check_features(rule, contexts)
    size = asked.domain.contexts_size if asked.domain is not None else 1
    if size > LARGEST_DENSE_AUTO:
        raise UsageError(
            f"the contexts have {size:,} combinations, and a total is released of each: at most "
            f"{LARGEST_DENSE_AUTO:,}. Shorten the lists, use fewer contexts, or name a method, "
            "such as --bounding sra --publishing filter-priority --size S."
        )


def with_features(asked: Asked, sources: Sources) -> Asked:
    """With the features that were asked for, read from their file."""
    given, rule = asked.options["features"], asked.rule
    if given is None or not isinstance(rule, Auto) or asked.domain is None:
        return asked
    if not isinstance(given, str | os.PathLike):
        raise UsageError(f"--features is the path of a file: received a {type(given).__name__}.")
    features = read_features(given, asked.domain.items, sources)
    return replace(asked, rule=replace(rule, features=features))


def _check_per_user(named: tuple[str, ...], contexts: list[str]) -> None:
    if not named:
        return
    if not contexts:
        raise UsageError(
            "--context-per-user names contexts that are a property of the user, and there are no "
            "contexts: add --context NAME, or remove --context-per-user."
        )
    for name in named:
        if name not in contexts:
            raise UsageError(
                f"--context-per-user names {name!r}, which is no context. "
                f"{did_you_mean(name, contexts)}"
            )
    others = [name for name in contexts if name not in named]
    if others:
        raise UsageError(
            f"contexts are counted together, and {others[0]!r} is not in --context-per-user: a "
            "user may then be in several of their combinations, so that none is a property of "
            f"hers. Name all of them, --context-per-user '{','.join(contexts)}', if each has one "
            "value per user; else remove --context-per-user, or make a release for each."
        )


def _check_features(rule: Auto, contexts: list[str]) -> None:
    if not contexts:
        raise UsageError(
            "--features helps to tell what users of each context like, and there are no contexts: "
            "add --context NAME --context-per-user NAME, or remove --features."
        )
    if not rule.per_user:
        raise UsageError(
            "--features is used where contexts are a property of the user: add --context-per-user "
            f"'{','.join(contexts)}' if each user has one value, or remove --features."
        )
    if rule.aim == "top":
        raise UsageError(
            "--for top spends nothing on what users of each context like: remove --features, or "
            "use --for recommend or --for counts."
        )
