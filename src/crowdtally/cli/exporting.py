"""``crowdtally export``: what a release says about itself, for others."""

from __future__ import annotations

from typing import Annotated

import typer

from crowdtally.cli import options
from crowdtally.cli.reading import ReleaseArgument

_REGISTRY = typer.Option(
    "--registry", metavar="FILE",
    help="YAML: an entry of the public registry of differential privacy deployments; comments "
    "name what the curator must add.",
)  # fmt: skip
_CROISSANT = typer.Option(
    "--croissant", metavar="FILE", help="JSON-LD: Croissant metadata, to be put beside the tables."
)


def export(
    release: ReleaseArgument,
    registry: Annotated[str | None, _REGISTRY] = None,
    croissant: Annotated[str | None, _CROISSANT] = None,
    quiet: options.QuietOption = False,
    debug: options.DebugOption = False,
) -> None:
    """Write what a release says about itself for others: exactly one of these is given."""
    from crowdtally import published
    from crowdtally.reader.exporting.export import FORMS, Export

    asked = Export.of({"registry": registry, "croissant": croissant}, "--{} FILE")
    found = published.load(release, options.remark(quiet=False))
    print(asked.run(found))
    options.remark(quiet)(FORMS[asked.form].to_add)
