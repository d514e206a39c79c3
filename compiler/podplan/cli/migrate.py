"""podplan migrate"""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from podplan.cli.exit_codes import CLEAN, FINDINGS, NOTHING
from podplan.cli.options import default_paths, request
from podplan.cli.output import replace_text, say, say_unread, tell, write, write_text
from podplan.cli.reporting import COLOURS, style_of
from podplan.core.errors import RequestError
from podplan.core.typing import Any
from podplan.report.fixes import redacted_difference
from podplan.report.format_result import fault_line
from podplan.report.migration import summary, told
from podplan.tools.migrator import SORTS, Migrated, migrated, migrates
from podplan.tools.migrator.equivalence import proofs
from podplan.tools.migrator.verification import worse
from podplan.workspace.documents import may_hold
from podplan.workspace.file_loader import Unread, sources
from podplan.workspace.files import expand
from podplan.yaml import Source, read


@click.command("migrate")
@click.argument("paths", nargs=-1)
@click.option("--check", is_flag=True, help="Say what would be done, and change nothing.")
@click.option("--diff", is_flag=True, help="Print what would change, and change nothing.")
@click.option("--inventory", metavar="FILE", default="", help="The ClusterInventory to use.")
@click.option("--config", metavar="FILE", default="", help="This configuration, not the nearest.")
@click.option("--isolated", is_flag=True, help="No configuration file.")
@click.option(
    "--color", type=click.Choice(COLOURS), default="auto", help="Colours of --diff [auto: on a terminal]."
)
def command(paths: Sequence[str], check: bool, diff: bool, color: str, **flags: Any) -> int:
    """Write CRs and profiles as they are written today, and prove that the Pods stay the same.

    Old names of kinds, fields and values become the new ones, and the ColossalAIJob with launcher and worker
    the one with replicaSpecs. PATHS are files or folders (default: this folder).
    """
    paths = default_paths(paths)
    if "-" in paths:
        raise RequestError("standard input cannot be migrated; name the file")
    wanted = request(paths, environments=("all",), sets=(), k8s_version="", fail_on=None, **flags)
    before: dict[str, Source] = {}
    found: dict[str, Migrated] = {}
    broken = 0
    folders: list[str] = []
    unread: list[Unread] = []
    for source in sources(expand(paths, wanted.exclude, folders)):
        if isinstance(source, Unread):
            unread.append(source)
            continue
        if source.faults and may_hold(source, SORTS):
            broken += 1
            tell(f"{fault_line(source)}\n")
        elif migrates(source):
            before[source.file], found[source.file] = source, migrated(source)
    say_unread(folders, unread)
    if not before and not broken:
        say("no profile and no training job here, so nothing to migrate")
        return NOTHING
    texts = {file: what.text for file, what in found.items() if what.done}
    withheld = worse(paths, wanted.settings, wanted.exclude, texts) if texts else {}
    kept = {file: text for file, text in texts.items() if file not in withheld}
    report = ""
    for file, what in found.items():
        after = read(what.text.encode(), file)
        proven = proofs(before[file], after, wanted.settings, texts) if texts else []
        if what.done or what.refused or proven:
            report += told(file, what, proven, withheld.get(file, ""))
    if diff:
        tell(report)
        written = {file: before[file].text for file in kept}
        write(redacted_difference(written, kept, style_of(color, os.environ)))
    else:
        write_text(report)
    if not (check or diff):
        for file, text in kept.items():
            replace_text(file, before[file].text, text)
    left = sum(1 for file, what in found.items() if file in withheld or (what.refused and file not in kept))
    counted = summary(len(kept), len(found) - len(kept) - left, left + broken, check or diff)
    click.echo(counted, err=True)
    unfinished = broken or withheld or any(what.refused for what in found.values())
    return FINDINGS if unfinished or (kept and (check or diff)) else CLEAN
