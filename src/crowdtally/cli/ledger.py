"""Commands of the ledger."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from crowdtally.cli import options, syntax

if TYPE_CHECKING:
    from crowdtally.core.privacy import PrivacyUnit
    from crowdtally.ledger import Ledger
    from crowdtally.ledger.charge import Json
    from crowdtally.ledger.show import Grouping, Shown


@options.command
def backup(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A new file.")],
    ledger: str | None = None,
) -> None:
    """Copy the whole record into a new file, which can be read and verified, not charged."""
    from crowdtally.ledger import Ledger

    books = Ledger.open(ledger)
    head = books.backup(file)
    print(f"{file} is a whole copy of {books.location}: {head.number} entries, head {head}")
    print("Keep that head elsewhere too: `crowdtally ledger verify --anchor` compares with it.")


@options.command
def bring(
    source: Annotated[
        str, typer.Argument(metavar="FROM", help="A backup or a ledger: a file or a URL.")
    ],
    anchor: str | None = None,
    ledger: str | None = None,
) -> None:
    """Bring a backup or a ledger to the place that --ledger names; the old one is closed for it.

    Options:
        anchor (HEAD): What `show --head` printed; refuses an older copy.
    """
    from crowdtally.ledger import Head, Ledger

    books = Ledger.import_from(source, ledger, anchor=Head.of(anchor) if anchor else None)
    head = books.head()
    print(f"{books.location} holds the whole record: {head.number} entries, head {head}")
    origin = Ledger.open(source)
    print(f"Nothing can be charged to {origin.location}: {origin.closed()}")
    print("Two ledgers with one record are two budgets: let no other copy be charged.")


@options.command
def grant(
    role: Annotated[str, typer.Argument(metavar="ROLE", help="A role of the PostgreSQL server.")],
    officer: bool = False,
    run: bool = False,
    ledger: str | None = None,
) -> None:
    """Let a role charge to a ledger on PostgreSQL and read it, and nothing more.

    Options:
        officer: Let it change limits, make datasets and void, too.
        run: Carry the statements out, not only print them.
    """
    from crowdtally.ledger import Ledger

    with Ledger.open(ledger) as books:
        statements = books.grants(role, officer=officer, run=run)
    for statement in statements:
        print(f"{statement};")
    if run:
        print(
            f"-- Done: {role} is {'an officer' if officer else 'an analyst'} of {books.location}."
        )
    else:
        print("-- Nothing was changed. As an officer, run this with psql, or add --run.")


app = typer.Typer(
    help="The privacy budget: create, limit, show, verify, export, void, backup, import.",
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
)
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="A dataset's name.")]


def _open(ledger: str | None, *, create: bool = False) -> Ledger:
    from crowdtally.ledger import Ledger

    return Ledger.open(ledger, create=create)


@app.command("create")
@options.command
def create(
    name: NameArgument,
    epsilon: str | None = None,
    delta: str | None = None,
    each: str | None = None,
    each_delta: str | None = None,
    rho: str | None = None,
    each_rho: str | None = None,
    accountant: Annotated[
        str | None, {"autocompletion": options.one_of(("sequential", "zcdp"))}
    ] = None,
    user: str | None = None,
    same_person: bool = False,
    ledger: str | None = None,
) -> None:
    """Make a dataset with a limit, and the ledger if there is none.

    Options:
        epsilon (E): The total that may ever be spent; needed unless --rho is given.
        delta (D): The total delta; else none may be spent.
        each (E): The most that a single release may cost.
        rho (R): The total as rho of zCDP, in place of --epsilon.
        accountant (sequential|zcdp): How losses add up: epsilon (the default), or rho, for Gaussian
            noise.
        user (COL[,COL…]): The user column or columns; else the first charge says.
        same_person: With --user: releases say which ids are one person's.
    """
    from crowdtally.errors import UsageError
    from crowdtally.ledger.accountants import require_limits
    from crowdtally.ledger.provenance import dataset_name
    from crowdtally.ledger.transactions import each_of, limit_of

    unit = _unit(user, same_person=same_person) if user is not None or same_person else None
    # A slip in a number or a name leaves no empty ledger behind.
    total = limit_of(epsilon, delta, rho)
    require_limits(name, accountant, total, each_of(each, each_delta, total, each_rho))
    dataset_name(name)
    if total is None:
        raise UsageError(
            "say what may ever be spent: --epsilon E, such as --epsilon 1 (or --rho R)."
        )
    books = _open(ledger, create=True)
    if books.created:
        print(f"Made the ledger {books.location}.", file=sys.stderr)
    balance = books.create(
        name,
        unit,
        epsilon=epsilon,
        delta=delta,
        each_epsilon=each,
        each_delta=each_delta,
        rho=rho,
        each_rho=each_rho,
        accountant=accountant,
    )
    print(balance.describe(ledger))


def _unit(user: str | None, *, same_person: bool) -> PrivacyUnit:
    from crowdtally.core.privacy import PrivacyUnit
    from crowdtally.errors import UsageError

    if user is None:
        raise UsageError("--same-person says more about --user COL: give both.")
    columns = ", ".join(syntax.names(user, "--user"))
    return PrivacyUnit("same-person" if same_person else "user", columns)


@app.command("limit")
@options.command
def limit(
    name: NameArgument,
    reason: str,
    epsilon: str | None = None,
    delta: str | None = None,
    each: str | None = None,
    each_delta: str | None = None,
    rho: str | None = None,
    each_rho: str | None = None,
    ledger: str | None = None,
) -> None:
    """Change the limits of a dataset; the change and its reason stay on the record.

    Options:
        reason (TEXT): Why; it is recorded.
        epsilon (E|none): The new total; none lifts it; else it stays.
        delta (D): With --epsilon: the new total delta; else none.
        each (E|none): The most that a single release may cost; none lifts it; else it stays.
        rho (R): The new total as rho of zCDP, not as epsilon.
    """
    from crowdtally.ledger.transactions import UNCHANGED

    def typed(text: str | None) -> str | None:
        return UNCHANGED if text is None else None if text == "none" else text

    balance = _open(ledger).set_limit(
        name, reason=reason, epsilon=typed(epsilon), delta=delta, each_epsilon=typed(each),
        each_delta=each_delta, rho=rho, each_rho=each_rho,
    )  # fmt: skip
    print(balance.describe(ledger))


@app.command("show")
@options.command
def show(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="One dataset.")] = None,
    by: Annotated[
        str | None, {"autocompletion": options.one_of(("purpose", "person", "unit"))}
    ] = None,
    head: bool = False,
    as_json: bool = False,
    ledger: str | None = None,
) -> None:
    """Show each dataset's budget, its limits and charges, who made them and what for.

    Options:
        by (purpose|person|unit): Only what was spent, summed by this.
        head: Only the last entry's hash, to keep elsewhere.
    """
    from crowdtally.errors import UsageError
    from crowdtally.ledger.show import grouping, shown

    way = grouping(by) if by is not None else None
    if head and (name is not None or way is not None):
        raise UsageError("--head is about the whole ledger: type it without NAME and --by.")
    books = _open(ledger)
    if head:
        _show_head(books, as_json)
        return
    if why := books.closed():
        print(f"Nothing can be added to {books.location}: {why}")
    balances = [books.balance(name)] if name is not None else books.datasets()
    datasets = shown(balances, books.each_entry())
    if as_json:
        print(json.dumps(_facts(books, datasets, way), ensure_ascii=False))
        return
    if not datasets:
        print(f"No dataset yet in {books.location}.")
        return
    print("\n\n".join("\n".join(_lines(dataset, way, ledger)) for dataset in datasets))


def _show_head(books: Ledger, as_json: bool) -> None:
    found = str(books.head())
    print(json.dumps({"ledger": books.location, "head": found}) if as_json else found)


def _lines(dataset: Shown, way: Grouping | None, ledger: str | None) -> Iterator[str]:
    from crowdtally.ledger.show import group_lines, grouped, lines

    if way is None:
        return lines(dataset, ledger)
    return group_lines(dataset.balance.dataset, way, grouped(dataset, way))


def _facts(books: Ledger, datasets: list[Shown], way: Grouping | None) -> dict[str, Json]:
    from crowdtally.ledger import show as showing
    from crowdtally.ledger.show import grouped

    if way is None:
        every: list[Json] = [showing.as_json(one) for one in datasets]
        return {"ledger": books.location, "head": str(books.head()), "datasets": every}
    groups: list[Json] = [
        showing.groups_json(one.balance.dataset, grouped(one, way)) for one in datasets
    ]
    return {"ledger": books.location, "by": way, "datasets": groups}


@app.command("verify")
@options.command
def verify(
    anchor: str | None = None,
    ledger: str | None = None,
) -> None:
    """Read the whole record again; fails where an entry was changed, removed or reordered.

    Options:
        anchor (HEAD): What `show --head` printed earlier.
    """
    from crowdtally.ledger import DamagedLedgerError, Head

    found = _open(ledger).verify(Head.of(anchor) if anchor else None)
    if not found.ok:
        raise DamagedLedgerError(found.describe())
    print(found.describe())


@app.command("export")
@options.command
def export(ledger: str | None = None) -> None:
    """Print the whole record as JSON that another accountant can re-check."""
    print(json.dumps(_open(ledger).export(), indent=2, ensure_ascii=False))


@app.command("void")
@options.command
def void(
    entry: Annotated[str, typer.Argument(metavar="ID", help="The charge, as `show` lists it.")],
    reason: str,
    delete_staged: bool = False,
    ledger: str | None = None,
) -> None:
    """Give a charge back: only if you are certain that nothing left this machine.

    Options:
        reason (TEXT): Why; it is recorded.
        delete_staged: Delete the unfinished folder of its run first.
    """
    print(_open(ledger).void(entry, reason, delete_staged=delete_staged).describe(ledger))


app.command("grant")(grant)
app.command("backup")(backup)
app.command("import")(bring)
