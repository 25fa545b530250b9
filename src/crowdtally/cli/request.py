"""The options that describe a request, and the account that it is charged to."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from crowdtally.cli import options as typed
from crowdtally.cli import syntax
from crowdtally.core.row_files import file_and_column
from crowdtally.curator.request.options import AUTO

if TYPE_CHECKING:
    from crowdtally.core.privacy import Delta, Epsilon, Rho
    from crowdtally.curator.request.request import Request, Subject
    from crowdtally.records.locate import Sources

    Check = Callable[[Sources, Epsilon, Delta], None]
    from crowdtally.ledger import Balance, Charged, Ledger


Value = TypeVar("Value")


def request_of(
    records: typed.RecordsArgument,
    epsilon: str | None,
    user: typed.Columns = None,
    user_per_row: bool = False,
    weight: typed.Column = None,
    bounded_to: int | None = None,
    cells_once: bool = False,
    item: typed.Column = None,
    attributes: typed.Columns = None,
    items: str | None = None,
    context: Annotated[list[str] | None, {"autocompletion": typed.column}] = None,
    values: list[str] | None = None,
    where: str | None = None,
    timezone: str = "UTC",
    type_: list[str] | None = None,
    join: list[str] | None = None,
    same_person: str | None = None,
    quantity: typed.Column = None,
    max_quantity: int | None = None,
    record_id: typed.Column = None,
    method: Annotated[object, typed.value_in(typed.METHODS)] = None,
    top: int | None = None,
    discover: str | None = None,
    noise: Annotated[
        str, {"autocompletion": typed.one_of(typed.NOISES), "show_default": False}
    ] = AUTO,
    summary: Annotated[object, typed.value_in(typed.PUBLISHINGS)] = None,
    transform: Annotated[object, typed.value_in(typed.TRANSFORMS)] = None,
    count: Annotated[str, {"autocompletion": typed.one_of(typed.COUNTED)}] = "records",
    pairs: bool = False,
    split: str | None = None,
    delta: str = "0",
    *,
    check: Check | None,
) -> Request | Subject:
    """The request that the options describe; every command that makes one takes these.

    Without ``epsilon``, where a command does not need it, what the request would count.

    What everyone needs:
        epsilon (E): The whole cost, exact: 0.1, 1/3, 1e-3.
        user (COL[,COL…]): Whose record it is; all of a user's are protected together.
        item (COL|NAME=EXPR): What is counted: a column, or a row-wise SQL expression.
        items (FILE[:COL]): The public list of items.
        context (COL|NAME=EXPR): Count items in this context too. Repeatable: several make one joint
            table.

    What is counted:
        attributes (A,B,…): Instead of --item: the columns of one table.
        values (NAME=LIST): The public values of a context or attribute: a,b or 0..9 or @FILE[:COL].
            Repeatable.
        where (EXPR): Take only rows for which this SQL condition holds.
        timezone (ZONE): Where days and hours are, such as Europe/Vienna.
        type_ (--type COL=TYPE): Read a column as int64, float64, text, bool, date, timestamp or
            timestamptz; what does not fit is missing. Repeatable.
        join (FILE:KEY[=KEY]): Look up columns of another table by KEY, there called =KEY.
            Repeatable.
        quantity (COL): How often a record counts, at least once.
        max_quantity (C): With --quantity: the most that one record counts.
        count (records|users): What a count counts.
        pairs: Count pairs of items of one user too.

    Who is protected:
        user_per_row: Instead of --user: each row is one person.
        weight (COL): With --user-per-row: how many persons a row is.
        bounded_to (L): Instead of --user, for records bounded elsewhere: you state that nobody has
            more than L rows. It is not checked, and the release says so.
        cells_once: With --bounded-to: you also state that no two rows of a person are in one cell.
        same_person (FILE[:COL]): A table of which ids are one person's, whom COL names.
        record_id (COL): A stored column that tells a user's records apart.

    Method and form:
        method (VALUE): How users are bounded: auto (default), sra:max-records=10, hpa, …; `--method
            help` lists them, and `--method hpa:help` the fields of one.
        top (K): Only the K items that most users have: top:k=K in short.
        discover (COL,…): Columns without a public list: discover:columns=COL,…
        noise (NOISE): auto (default), laplace, gaussian (with --delta) or interval.
        summary (VALUE): Which noisy counts: dense (default), filter:size=3000, …
        transform (VALUE): What instead of cells: dyadic:columns=age, …

    Budget:
        split (NAME=SHARE,…): Exact shares of epsilon; a plan prints the usual ones.
        delta (D): The chance of exceeding epsilon, such as 1e-9.
    """
    from crowdtally.core.privacy import Delta, Epsilon
    from crowdtally.curator.bounding.rules import Discover
    from crowdtally.curator.request.declare import declare
    from crowdtally.curator.request.request import check_options, make_request, make_subject
    from crowdtally.records.locate import Sources

    # Public parameters first: a slip in one should not cost the reading of a long list.
    exact_epsilon = Epsilon.of(epsilon) if epsilon is not None else None
    exact_delta = Delta.of(delta)
    shares = _given(split, syntax.shares)
    declaration = declare(
        records,
        user=_given(user, lambda text: syntax.names(text, "--user")),
        user_per_row=user_per_row,
        weight=weight,
        bounded_to=bounded_to,
        cells_once=cells_once,
        item=_given(item, syntax.item),
        contexts=syntax.once_each(syntax.definition(text) for text in context or []),
        where=where,
        timezone=timezone,
        types=syntax.types(type_ or []),
        record_id=record_id,
        joins=[syntax.joined(text) for text in join or []],
        same_person=_given(same_person, file_and_column),
        quantity=quantity,
        max_quantity=max_quantity,
        attributes=_given(attributes, lambda text: syntax.names(text, "--attributes")) or [],
    )
    options: dict[str, Any] = {
        "method": named_method(method, top, discover), "summary": summary, "transform": transform,
        "noise": noise, "count": count, "pairs": pairs,
    }  # fmt: skip
    check_options(declaration, options)
    sources = Sources(declaration)
    if check is not None and exact_epsilon is not None:
        check(sources, exact_epsilon, exact_delta)
    discovers = isinstance(options["method"], Discover)
    domain = syntax.domain_of(sources, items, values, discover=discovers)
    if exact_epsilon is None:
        return make_subject(declaration, domain, sources=sources, **options)
    return make_request(
        declaration, domain, epsilon=exact_epsilon, delta=exact_delta, split=shares,
        sources=sources, **options,
    )  # fmt: skip


def subject_of(**given: Any) -> Subject:
    """What the options would count. No ledger is asked: nothing is charged."""
    from crowdtally.curator.request.request import Subject

    made = request_of(**given, check=None)
    return made if isinstance(made, Subject) else made.subject


def takes_subject(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command all options of a request; ``--epsilon`` may be left out.

    Its first argument is a function that says what would be counted.
    """
    shared = _shared()
    shared["epsilon"] = shared["epsilon"].replace(default=None)
    return _taking(command, shared, lambda options: lambda: subject_of(**options))


def named_method(method: object, top: int | None, discover: str | None) -> object:
    from crowdtally.curator.bounding.rules import Discover, Top
    from crowdtally.errors import UsageError

    if sum(given is not None for given in (method, top, discover)) > 1:
        raise UsageError(
            "--top K is short for --method top:k=K, and --discover COL for --method "
            "discover:columns=COL: give one method, with all its fields."
        )
    if top is not None:
        return Top(top)
    return method if discover is None else Discover(syntax.names(discover, "--discover"))


def takes_counted(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options that say what is counted, and none of how and at what cost.

    Its first argument is a function that says what would be counted.
    """
    without = ("split", "delta", "method", "top", "discover", "noise", "summary", "transform")

    def maker(options: Mapping[str, Any]) -> Callable[[], Subject]:
        return lambda: subject_of(**options, epsilon=None)

    return _taking(command, _shared(), maker, without)


def _given(text: str | None, parse: Callable[[str], Value]) -> Value | None:
    return None if text is None else parse(text)


def takes_request(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command all options of a request beside its own.

    The command's first parameter receives a function that makes the request, so that it can check
    its own options before any list is read; that function takes a check of the budget.
    """

    def maker(options: Mapping[str, Any]) -> Callable[..., Any]:
        return lambda check, **more: request_of(**options, **more, check=check)

    return _taking(command, _shared(), maker)


def _shared() -> dict[str, Parameter]:
    # The request's own type would import the engine, and the command line does not need it.
    return typed.parameters_of(request_of, dict.fromkeys(("Request", "Subject", "Check"), object))


def _taking(
    command: Callable[..., None],
    shared: Mapping[str, Parameter],
    maker: Callable[[Mapping[str, Any]], Any],
    without: Collection[str] = (),
) -> Callable[..., None]:
    mine = typed.parameters_of(command)
    # What a command takes itself, such as an epsilon that may be missing, it hands over itself.
    shared = {name: one for name, one in shared.items() if name not in {*mine, *without}}

    @wraps(command)
    def run(**given: Any) -> None:
        options = {name: given.pop(name) for name in shared}
        command(maker(options), **given)

    return typed.declared(run, [*shared.values(), *mine.values()])


# The ledger and the dataset that a request is charged to, as they were typed.
#
# An unknown name is refused, before any list or record is read, since
# a slip in it would be a budget of its own. Only one's own ledger, at a terminal, is made on
# first use.


@dataclass(frozen=True)
class Account:
    ledger: str | None
    dataset: str | None
    new: bool
    """Whether it is meant that there may be no such ledger or dataset yet."""
    looks_only: bool = False
    """Whether nothing will be charged: a dataset that does not exist is then no slip yet."""

    def check(self, sources: Sources, epsilon: Epsilon, delta: Delta) -> None:
        """Refuse a request that the ledger does not allow, before any list is read.

        A request with δ may be paid for in ρ, which is not known before the request is whole.
        """
        self.standing(sources, epsilon, delta, whole=False)

    def standing(
        self,
        sources: Sources,
        epsilon: Epsilon,
        delta: Delta,
        rho: Rho | None = None,
        *,
        whole: bool = True,
    ) -> Standing:
        """Where the dataset stands, if the request fits; looking makes no ledger.

        ``rho`` is what it is paid for in, if that is ρ; known only when the request is ``whole``.
        """
        from crowdtally.curator.dataset import counts_rho, dataset_of
        from crowdtally.ledger import Balance

        books = self._books()
        if books is None:
            return Standing(Balance(dataset_of(sources, self.dataset, ()).name), self, None)
        with books:
            known = books.names()
            found = dataset_of(sources, self.dataset, known)
            by_rho = counts_rho(books, found.name)
            if by_rho and found.name in known and delta.value and not whole:
                return Standing(books.balance(found.name), self, known)
            paid: dict[str, Any] = {"request": epsilon, "delta": delta}
            if by_rho and rho is not None:
                paid = {"rho": rho}
            balance = books.check(
                found.name, sources.declared.unit, **paid, sources=found.sources,
                chosen=found.chosen, new_dataset=self.new or self.looks_only,
            )  # fmt: skip
        return Standing(balance, self, known)

    def _books(self) -> Ledger | None:
        """The ledger; None where there is none and there need not be."""
        from crowdtally.ledger import Ledger, MissingLedgerError
        from crowdtally.ledger.database.location import choose

        try:
            return Ledger.open(self.ledger)
        except MissingLedgerError:
            own = choose(self.ledger).by == "default"
            if self.new or (own and self.looks_only):
                return None
            raise


@dataclass(frozen=True)
class Standing:
    """What the ledger says before anything is charged."""

    balance: Balance
    account: Account
    known: list[str] | None
    """The datasets that there are; None where there is no ledger yet."""

    @property
    def is_new(self) -> bool:
        return self.known is None or self.balance.dataset not in self.known

    def sentences(self) -> Iterator[str]:
        if not self.is_new:
            yield self.balance.describe(self.account.ledger)
            if (warning := self.balance.warning()) is not None:
                yield f"Note: {warning}"
            return
        yield self.new_words()

    def new_words(self) -> str:
        """What it takes to charge a dataset that does not exist."""
        from crowdtally.errors import closest

        name, ledger = self.balance.dataset, self.account.ledger
        meant = closest(name, self.known or ())
        hint = f" Did you mean {meant!r}?" if meant is not None else ""
        where = f" --ledger {shlex.quote(ledger)}" if ledger else ""
        create = f"crowdtally ledger create {shlex.quote(name)} --epsilon E{where}"
        return (
            f"Dataset {name!r} does not exist yet, so nothing was spent.{hint} A release makes it "
            f"with --new-dataset, without a limit; to give it one, first: {create}"
        )


def is_first_use(ledger: str | None) -> bool:
    """Whether somebody at a terminal is about to charge their own ledger for the first time."""
    from crowdtally.cli.output import somebody_is_there
    from crowdtally.ledger import Ledger, MissingLedgerError
    from crowdtally.ledger.database.location import choose

    if not somebody_is_there() or choose(ledger).by != "default":
        return False
    try:
        with Ledger.open(ledger) as books:
            return not books.names()  # a first try that failed left it empty
    except MissingLedgerError:
        return True


def first_use_words(ledger: Ledger, dataset: str) -> str:
    """What a ledger is, told where one is made."""
    from crowdtally.ledger import Balance

    return (
        f"This is the first release of this account, so a ledger was made: {ledger.location}\n"
        "It records what each release spends (ε) of the privacy of the people in the records, so "
        "that all releases about them can be kept within one limit. These records are its dataset "
        f"{dataset!r}, without a limit so far. To set one:\n"
        f"  {Balance(dataset).how_to_limit()}\n"
        "Another ledger, such as one that a team shares, is named with --ledger PATH|URL or "
        "$CROWDTALLY_LEDGER. From now on a dataset that is new needs --new-dataset."
    )


# ``--request-id``: whether the same request was made before, as the command line looks it up.


def made_before(ledger: str | None, request_id: str | None) -> Charged | None:
    """The charge of a request id that was used before; looking makes no ledger."""
    from crowdtally.ledger import Ledger, MissingLedgerError

    if request_id is None:
        return None
    try:
        with Ledger.open(ledger) as books:
            return books.request(request_id)
    except MissingLedgerError:
        return None


def unless_known(
    look_up: Callable[[], Charged | None], check: Callable[..., None]
) -> Callable[..., None]:
    """The same check, which passes a request that was charged before: that may be why it fails."""
    from crowdtally.errors import CrowdtallyError

    def checked(*given: Any) -> None:
        try:
            check(*given)
        except CrowdtallyError:
            if look_up() is None:
                raise

    return checked


def taken_up(earlier: Charged) -> str:
    """What is said of a charge that an earlier run made, before its amount."""
    return (
        f"The charge was made by an earlier run of this request, on {earlier.time} (entry "
        f"{earlier.id}): nothing more was charged now."
    )


def used_before(earlier: Charged) -> str:
    """What a dry run says of a request that was made before."""
    return (
        f"The request id was used before: its charge is entry {earlier.id}, {earlier.state}. The "
        "same request is not charged again; another one is refused. Which of them this is was not "
        "compared."
    )
