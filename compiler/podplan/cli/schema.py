"""podplan schema"""

from __future__ import annotations

import click

from podplan import kubernetes
from podplan.cli.help import HelpGroup
from podplan.cli.options import load_operator_versions
from podplan.cli.output import write_stdout
from podplan.core.errors import UsageError


@click.group("schema", cls=HelpGroup)
def command() -> None:
    """Print the JSON Schemas of profiles, CRs and configuration."""


@command.command("show")
@click.argument("name", required=False)
@click.option(
    "--k8s-version",
    metavar="1.NN",
    default=kubernetes.DEFAULT_VERSION,
    help="Kubernetes version of the Pod templates.",
)
@click.option(
    "--editors",
    is_flag=True,
    help="Print the variant that gives editors better proposals; it accepts the same documents.",
)
def show(name: str | None, k8s_version: str, editors: bool) -> int:
    """Print the self-contained JSON Schema (2020-12) of NAME, or the list of names.

    Schemas of CRs are those of the version of the operator that the nearest configuration states.
    """
    import json

    from podplan.schema import catalog

    if name is None:
        write_stdout("\n".join(catalog.list_schema_names()) + "\n")
        return 0
    if name not in catalog.list_schema_names():
        raise UsageError(f'there is no schema "{name}"; there are {", ".join(catalog.list_schema_names())}')
    if k8s_version not in kubernetes.supported_versions():
        raise UsageError(
            f"Kubernetes {k8s_version} is not known; there are {', '.join(kubernetes.supported_versions())}"
        )
    document = catalog.build_schema(name, k8s_version, load_operator_versions())
    if editors:
        from podplan.schema.editor_schema import to_editor_schema

        document = to_editor_schema(document)
    write_stdout(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    return 0
