"""``crowdtally ledger …``: what was spent, and what may be."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from crowdtally.cli import granting, keeping, officer, options, syntax

if TYPE_CHECKING:
    from crowdtally.budget import Ledger
    from crowdtally.values.unit import PrivacyUnit

app = typer.Typer(
    help="The privacy budget: create, limit, show, verify, export, void, backup, import, upgrade.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
)
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="A dataset's name.")]


def _open(ledger: str | None, *, create: bool = False) -> Ledger:
    from crowdtally.budget import Ledger

    return Ledger.open(ledger, create=create)


@app.command("create")
def create(
    name: NameArgument,
    epsilon: Annotated[
        str | None,
        typer.Option(
            "--epsilon",
            metavar="E",
            help="The total that may ever be spent; needed unless a limits file says it.",
        ),
    ] = None,
    delta: Annotated[
        str | None, typer.Option("--delta", metavar="D", help="The total delta; else none.")
    ] = None,
    user: Annotated[
        str | None,
        typer.Option(
            "--user",
            metavar="COL[,COL…]",
            help="The user column or columns; else the first charge says.",
        ),
    ] = None,
    same_person: Annotated[
        bool,
        typer.Option("--same-person", help="With --user: releases say which ids are one person's."),
    ] = False,
    ledger: options.LedgerOption = None,
    debug: options.DebugOption = False,
) -> None:
    """Make a dataset with a limit."""
    unit = _unit(user, same_person=same_person) if user is not None or same_person else None
    books = _open(ledger, create=epsilon is not None)
    officer.require_limit(books, epsilon)
    balance = books.create(name, unit, epsilon=epsilon, delta=delta)
    print(balance.describe())


def _unit(user: str | None, *, same_person: bool) -> PrivacyUnit:
    """The unit that releases with these options will have."""
    from crowdtally.errors import UsageError
    from crowdtally.values.unit import PrivacyUnit

    if user is None:
        raise UsageError("--same-person says more about --user COL: give both.")
    columns = ", ".join(syntax.names(user, "--user"))
    return PrivacyUnit("same-person" if same_person else "user", columns)


@app.command("limit")
def limit(
    name: NameArgument,
    epsilon: Annotated[
        str, typer.Option("--epsilon", metavar="E|none", help="The new total; none lifts it.")
    ],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; it is recorded.")],
    delta: Annotated[str, typer.Option("--delta", metavar="D", help="The new total delta.")] = "0",
    ledger: options.LedgerOption = None,
    debug: options.DebugOption = False,
) -> None:
    """Change the limit of a dataset; the change stays on the record."""
    total = None if epsilon == "none" else epsilon
    books, new = _open(ledger), delta if total else None
    changed = books.set_limit(name, epsilon=total, delta=new, reason=reason)
    print(changed.describe(ledger))


@app.command("show")
def show(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="One dataset.")] = None,
    head: Annotated[
        bool, typer.Option("--head", help="Only the last entry's hash, to keep elsewhere.")
    ] = False,
    ledger: options.LedgerOption = None,
    debug: options.DebugOption = False,
) -> None:
    """Show each dataset's budget and charges."""
    books = _open(ledger)
    if head:
        print(books.head())
        return
    if why := books.closed():
        print(f"Nothing can be added to {books.location}: {why}")
    balances = [books.balance(name)] if name is not None else books.datasets()
    if not balances:
        print(f"No dataset yet in {books.location}.")
    for balance in balances:
        print(balance.describe(ledger))
        for charged in books.charges(balance.dataset):
            charge, reason = charged.charge, f": {charged.reason}" if charged.reason else ""
            delta = f"  delta {charge.delta}" if charge.delta.value else ""
            print(
                f"  {charged.id}  {charged.time}  epsilon {charge.epsilon}{delta}  "
                f"{charged.state}{reason}"
            )
            if hint := charged.hint():
                print(f"    {hint}")


@app.command("verify")
def verify(
    anchor: Annotated[
        str | None,
        typer.Option("--anchor", metavar="HEAD", help="What `show --head` printed earlier."),
    ] = None,
    ledger: options.LedgerOption = None,
    debug: options.DebugOption = False,
) -> None:
    """Read the whole record again; fails where an entry was changed, removed or reordered."""
    from crowdtally.budget import DamagedLedgerError, Head

    found = _open(ledger).verify(Head.of(anchor) if anchor else None)
    if not found.ok:
        raise DamagedLedgerError(found.describe())
    print(found.describe())


@app.command("export")
def export(ledger: options.LedgerOption = None, debug: options.DebugOption = False) -> None:
    """Print the whole record as JSON that another accountant can re-check."""
    print(json.dumps(_open(ledger).export(), indent=2, ensure_ascii=False))


@app.command("void")
def void(
    entry: Annotated[str, typer.Argument(metavar="ID", help="The charge, as `show` lists it.")],
    reason: Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; it is recorded.")],
    delete_staged: Annotated[
        bool, typer.Option("--delete-staged", help="Delete the unfinished folder of its run first.")
    ] = False,
    ledger: options.LedgerOption = None,
    debug: options.DebugOption = False,
) -> None:
    """Give a charge back: only if you are certain that nothing left this machine."""
    balance = _open(ledger).void(entry, reason, delete_staged=delete_staged)
    print(balance.describe(ledger))


app.command("limits-file")(officer.limits_file)
app.command("grant")(granting.grant)
keeping.add_to(app)
