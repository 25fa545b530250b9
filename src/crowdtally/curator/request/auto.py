"""What may be said to ``auto`` and to top items about contexts."""

from __future__ import annotations

from crowdtally.curator.bounding import scaling
from crowdtally.curator.bounding.rules import Top
from crowdtally.curator.request.refusals import Asked
from crowdtally.curator.request.table_specs import LARGEST_DENSE_AUTO
from crowdtally.errors import UsageError, did_you_mean


def check_contexts(asked: Asked) -> None:
    """Refuse declarations about contexts that do not fit them, or that nothing would use."""
    rule = asked.rule
    if not isinstance(rule, scaling.Auto | Top):
        return
    contexts = list(asked.records.contexts) if asked.records.item is not None else []
    _check_per_user(rule.per_user, contexts)
    if isinstance(rule, Top):
        return
    if rule.aim == "recommend" and not contexts:
        raise UsageError(
            "--method auto:aim=recommend is for what to show in each context, and there are no "
            "contexts: add --context NAME, or remove aim=recommend."
        )
    size = asked.domain.contexts_size if asked.domain is not None else 1
    if size > LARGEST_DENSE_AUTO:
        raise UsageError(
            f"the contexts have {size:,} combinations, and a total is released of each: at most "
            f"{LARGEST_DENSE_AUTO:,}. Shorten the lists, use fewer contexts, or name a method, "
            "such as --method sra --summary filter-priority:size=S."
        )


def _check_per_user(named: tuple[str, ...], contexts: list[str]) -> None:
    if not named:
        return
    if not contexts:
        raise UsageError(
            "context-per-user names contexts that are a property of the user, and there are no "
            "contexts: add --context NAME, or remove context-per-user."
        )
    for name in named:
        if name not in contexts:
            raise UsageError(
                f"context-per-user names {name!r}, which is no context. "
                f"{did_you_mean(name, contexts)}"
            )
    others = [name for name in contexts if name not in named]
    if others:
        raise UsageError(
            f"contexts are counted together, and {others[0]!r} is not in context-per-user: a "
            "user may then be in several of their combinations, so that none is a property of "
            f"hers. Name all of them ({', '.join(contexts)}) if each has one value per user; else "
            "remove context-per-user, or make a release for each."
        )
