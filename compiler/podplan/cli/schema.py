"""podplan schema"""

from __future__ import annotations

import click

from podplan import kubernetes
from podplan.cli.output import write
from podplan.core.errors import RequestError


@click.group("schema")
def command() -> None:
    """The JSON Schemas of profiles, CRs and configuration."""


@command.command("show")
@click.argument("name", required=False)
@click.option(
    "--k8s-version", metavar="1.NN", default=kubernetes.DEFAULT_VERSION, help="For the Pod templates in it."
)
@click.option("--editors", is_flag=True, help="As editors propose best what to write; equally strict.")
def show(name: str | None, k8s_version: str, editors: bool) -> int:
    """Print the self-contained JSON Schema (2020-12) called NAME; without NAME, the names."""
    import json

    from podplan.schema import catalog

    if name is None:
        write("\n".join(catalog.names()) + "\n")
        return 0
    if name not in catalog.names():
        raise RequestError(f'there is no schema "{name}"; there are {", ".join(catalog.names())}')
    if k8s_version not in kubernetes.versions():
        raise RequestError(
            f"Kubernetes {k8s_version} is not known; there are {', '.join(kubernetes.versions())}"
        )
    document = catalog.show(name, k8s_version)
    if editors:
        from podplan.schema.editor_schema import with_choices

        document = with_choices(document)
    write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    return 0
