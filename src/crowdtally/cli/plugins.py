"""Commands that other distributions add to ``crowdtally lab``.

A distribution names them in the entry point group ``crowdtally.commands``. Their names come from
metadata; code is imported only when a command is used, or when ``crowdtally lab --help`` lists it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from crowdtally.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

GROUP = "crowdtally.commands"
"""The entry point group: name of the command = function or Typer app."""
_RESEARCH = ("lookalike", "recommend", "reproduce")
"""Commands of crowdtally-research, for whoever has not installed it."""


class PluggableGroup(TyperGroup):
    """A group with its own commands and those of other distributions, which replace none."""

    def list_commands(self, ctx: Any) -> list[str]:
        own = super().list_commands(ctx)
        return own + sorted({entry.name for entry in _entries()} - set(own))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return super().get_command(ctx, cmd_name) or _plugged(cmd_name)


def as_command(name: str, found: Any, cls: type[TyperCommand] | None = None) -> Any:
    """A function or a Typer app as a command; ``cls`` is the class of a function's command."""
    if not isinstance(found, typer.Typer):
        app = typer.Typer(rich_markup_mode=None, add_completion=False)
        app.command(name, cls=cls)(found)
        found = app
    command = typer.main.get_command(found)
    command.name = name
    return command


def _entries() -> list[EntryPoint]:
    from importlib.metadata import entry_points  # takes a while to import

    return list(entry_points(group=GROUP))


def _plugged(name: str) -> Any:
    match [entry for entry in _entries() if entry.name == name]:
        case [] if name in _RESEARCH:
            return _refusal(
                name,
                "Needs crowdtally-research.",
                f"`lab {name}` is in a package of its own: pip install crowdtally-research.",
            )
        case []:
            return None
        case [entry]:
            return _loaded(entry)
        case several:
            homes = " and ".join(sorted(map(_distribution, several)))
            return _refusal(
                name,
                f"Cannot be used: {homes} both have it.",
                f"{homes} both have a command `lab {name}`. Uninstall one of them.",
            )


def _loaded(entry: EntryPoint) -> Any:
    """The command; where it cannot be made, one that says so, since the others still work."""
    try:
        found = entry.load()
        if not callable(found):
            raise TypeError(f"{entry.value} is neither a function nor a Typer app")
        return as_command(entry.name, found)
    except (Exception, SystemExit) as error:  # whatever a module does when it is imported
        home = _distribution(entry)
        return _refusal(
            entry.name,
            f"Cannot be loaded from {home}.",
            f"`lab {entry.name}` cannot be loaded from {home} ({type(error).__name__}: {error}). "
            f"Install {home} again, or uninstall it.",
            error,
        )


def _distribution(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else entry.value


def _refusal(
    name: str, summary: str, message: str, cause: BaseException | None = None
) -> TyperCommand:
    """A command that takes whatever is typed and refuses with a message."""
    return TyperCommand(
        name,
        help=summary,
        callback=_raising(message, cause),
        add_help_option=False,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )


def _raising(message: str, cause: BaseException | None) -> Callable[[], NoReturn]:
    def refuse() -> NoReturn:
        raise UsageError(message) from cause

    return refuse
