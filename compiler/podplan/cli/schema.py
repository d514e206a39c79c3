"""podplan schema"""

from __future__ import annotations

import os

import click

from podplan import kubernetes
from podplan.cli.help import HelpGroup
from podplan.cli.options import load_operator_versions
from podplan.cli.output import replace_file, write_escaped_stderr, write_stdout
from podplan.core.errors import UsageError

_version_option = click.option(
    "--k8s-version",
    metavar="1.NN",
    default=kubernetes.DEFAULT_VERSION,
    help="Kubernetes version of the Pod templates.",
)


@click.group("schema", cls=HelpGroup)
def command() -> None:
    """Print the JSON Schemas of profiles, CRs and configuration."""


@command.command("show")
@click.argument("name", required=False)
@_version_option
@click.option(
    "--editors",
    is_flag=True,
    help="Print the variant that gives editors better proposals; it accepts the same documents.",
)
def show(name: str | None, k8s_version: str, editors: bool) -> int:
    """Print the self-contained JSON Schema (2020-12) of NAME, or the list of names.

    Schemas of CRs are those of the version of the operator that the nearest configuration states.
    """
    from podplan.schema import catalog

    if name is None:
        write_stdout("\n".join(catalog.list_schema_names()) + "\n")
        return 0
    schema_name = catalog.find_schema_name(name)
    if schema_name is None:
        raise UsageError(f'there is no schema "{name}"; there are {", ".join(catalog.list_schema_names())}')
    _require_known_version(k8s_version)
    document = catalog.build_schema(schema_name, k8s_version, load_operator_versions())
    if editors:
        from podplan.schema.editor_schema import to_editor_schema

        document = to_editor_schema(document)
    write_stdout(catalog.format_schema(document))
    return 0


@command.command("export")
@click.option(
    "--crds-catalog",
    "catalog_folder",
    metavar="DIR",
    default="",
    help="Write DIR/GROUP/kind_version.json for each kind, as the CRDs-catalog of datreeio has them.",
)
@click.option(
    "--editors",
    "editor_folder",
    metavar="DIR",
    default="",
    help="Write DIR/NAME.json for each kind, and DIR/all.json, which selects by apiVersion and kind.",
)
@_version_option
def export(catalog_folder: str, editor_folder: str, k8s_version: str) -> int:
    """Write the JSON Schemas of all kinds to folders, for kubeconform and editors.

    Files of the same names are replaced, others stay. Schemas of CRs are those of the version of the operator
    that the nearest configuration states.
    """
    from podplan.schema.catalog import format_schema
    from podplan.schema.folders import build_catalog, build_editor_files

    if not catalog_folder and not editor_folder:
        raise UsageError("nothing to export; write --crds-catalog DIR, --editors DIR, or both")
    _require_known_version(k8s_version)
    operator_versions = load_operator_versions()
    for folder, build_files in ((catalog_folder, build_catalog), (editor_folder, build_editor_files)):
        if not folder:
            continue
        files = build_files(k8s_version, operator_versions)
        written = [
            name for name, one in files.items() if replace_file(f"{folder}/{name}", format_schema(one))
        ]
        write_escaped_stderr("".join(f"wrote {os.path.join(folder, name)}\n" for name in written))
        write_escaped_stderr(f"{folder}: {len(written)} written, {len(files) - len(written)} unchanged\n")
    return 0


def _require_known_version(k8s_version: str) -> None:
    if k8s_version not in kubernetes.supported_versions():
        raise UsageError(
            f"Kubernetes {k8s_version} is not known; there are {', '.join(kubernetes.supported_versions())}"
        )
