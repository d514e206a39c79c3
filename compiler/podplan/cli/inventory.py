"""podplan inventory"""

from __future__ import annotations

import os

import click

from podplan.cli.exit_codes import CLEAN, NO_INPUT
from podplan.cli.help import HelpCommand
from podplan.cli.options import exclude_option, resolve_run_settings
from podplan.cli.output import print_message, write_stdout
from podplan.cli.shell_completion import complete_files
from podplan.core.errors import UsageError
from podplan.core.typing import Any
from podplan.core.wording import format_count
from podplan.workspace.file_loader import load_files, read_standard_input
from podplan.workspace.files import PathNotFound, require_inside_repository
from podplan.workspace.loader import Loader
from podplan.yaml import SourceFile

INVENTORY_KIND = "ClusterInventory"


@click.command("inventory", cls=HelpCommand)
@click.argument("path", default=".", shell_complete=complete_files)
@click.option(
    "--from",
    "dump",
    metavar="DUMP",
    default="",
    shell_complete=complete_files,
    help="Print a ClusterInventory of the output of kubectl get … -o yaml.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    help="Format of the output [text].",
)
@exclude_option()
def command(path: str, dump: str, format_: str, **flags: Any) -> int:
    """Show what the repository says about the cluster, and where.

    Prints the facts of the ClusterInventory and of objects below the root of PATH, each with its line:
    objects of Kueue, Namespaces, LimitRanges, ResourceQuotas, PriorityClasses and Nodes, queues of Volcano,
    NodePools of Karpenter, StorageClasses and claims, names and keys of Secrets and ConfigMaps,
    ServiceAccounts, and flags of operators that set lowering options.

    With --from, prints a ClusterInventory instead. DUMP is the output of kubectl get
    nodes,namespaces,pvc,secrets,configmaps -A -o yaml, or - for standard input. Values of Secrets are
    neither read nor printed.
    """
    if dump:
        if format_ != "text":
            raise UsageError("--from prints YAML; leave out --format")
        write_stdout(_convert_dump(dump))
        return CLEAN
    from podplan.cluster.operators import OperatorOptions, explain_unapplied
    from podplan.cluster.reading import read_cluster
    from podplan.report import inventory as report
    from podplan.tools.inventory.facts import iter_facts
    from podplan.tools.inventory.object_facts import OBJECT_KINDS

    if not os.path.exists(path):
        raise PathNotFound(f"{path}: no such file or folder")
    run_settings = resolve_run_settings([path], **flags)
    loader = Loader(exclude=run_settings.exclude)
    documents = loader.find_cluster_documents(path, run_settings.settings.cluster_paths)
    inventories = [
        one
        for one in loader.find_documents(path, [INVENTORY_KIND])
        if isinstance(one.data, dict) and one.data.get("kind") == INVENTORY_KIND
    ]
    objects = loader.find_documents(path, OBJECT_KINDS, run_settings.settings.cluster_paths)
    settings = run_settings.settings
    stated = loader.find_operator_options(path, settings.cluster_paths) or OperatorOptions()
    facts = list(
        iter_facts(
            read_cluster(documents),
            inventories,
            objects,
            lambda one: explain_unapplied(
                one, stated, settings.lowering_options, settings.lowering_locations
            ),
        )
    )
    write_stdout((report.render_text if format_ == "text" else report.render_json)(facts))
    return CLEAN if facts else NO_INPUT


def _convert_dump(path: str) -> str:
    from podplan.tools.inventory.dump import KUBECTL_COMMAND, build_inventory, is_usable
    from podplan.workspace.documents import classify_documents
    from podplan.yaml.writer import emit_document

    if path == "-":
        source: Any = read_standard_input()
    else:
        require_inside_repository(path)
        [source] = load_files([path])
    if not isinstance(source, SourceFile):
        raise UsageError(f"{path}: {source.reason}")
    objects = [item.doc.data for item in classify_documents(source) if isinstance(item.doc.data, dict)]
    inventory = build_inventory(objects)
    if not inventory["spec"]:
        raise UsageError(f"{path} holds nothing of a cluster; it is to be what {KUBECTL_COMMAND} prints")
    unusable = [one for one in objects if one.get("kind") == "Node" and not is_usable(one)]
    if unusable:
        print_message(f"{format_count(len(unusable), 'node')} left out: cordoned or not ready")
    return emit_document(inventory, f"from: {KUBECTL_COMMAND}")
