"""``crowdtally export``: what a release says about itself, for others."""

from __future__ import annotations

from typing import Annotated

import typer

from crowdtally.cli import answering, options
from crowdtally.cli.reading import ReleaseArgument
from crowdtally.errors import UsageError

_REGISTRY = typer.Option(
    "--registry", metavar="FILE",
    help="YAML: an entry of the public registry of differential privacy deployments; comments "
    "name what the curator must add.",
)  # fmt: skip
_CROISSANT = typer.Option(
    "--croissant", metavar="FILE", help="JSON-LD: Croissant metadata, to be put beside the tables."
)
_SITE = typer.Option(
    "--site", metavar="DIR",
    help="A new folder of plain pages, for any web server or none: overview, lists, contexts, "
    "search, report, downloads.",
)  # fmt: skip


def export(
    release: ReleaseArgument,
    registry: Annotated[str | None, _REGISTRY] = None,
    croissant: Annotated[str | None, _CROISSANT] = None,
    site: Annotated[str | None, _SITE] = None,
    labels: answering.LabelsOption = None,
    quiet: options.QuietOption = False,
    debug: options.DebugOption = False,
) -> None:
    """Write a release for others: as metadata, or as pages. Exactly one of these is given."""
    from crowdtally.reader.export import FORMS, SITE, Export

    forms = {"registry": registry, "croissant": croissant, SITE: site}
    asked = Export.of(forms, "--{} {}")
    if labels is not None and asked.form != SITE:
        raise UsageError(f"--labels goes with --site DIR: --{asked.form} names no item.")
    found = answering.opened(release, labels)
    print(found.export(**{asked.form: asked.target}))
    if asked.form in FORMS:
        options.remark(quiet)(FORMS[asked.form].to_add)
