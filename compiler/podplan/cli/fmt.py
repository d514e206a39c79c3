"""podplan fmt"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

import click

from podplan.cli.exit_codes import CLEAN, FINDINGS, NOTHING
from podplan.cli.options import default_paths, request
from podplan.cli.output import replace_text, say, say_unread, tell, write, write_text
from podplan.cli.reporting import COLOURS, style_of
from podplan.core.errors import RequestError
from podplan.core.typing import Any
from podplan.pipeline import Settings
from podplan.report.fixes import redacted_difference
from podplan.report.format_result import counted, fault_line
from podplan.report.sanitization import visible
from podplan.tools.formatter import SCHEMAS, formatted
from podplan.tools.formatter.equivalence import demand_same
from podplan.workspace.documents import may_hold
from podplan.workspace.file_loader import Unread, sources, standard_input
from podplan.workspace.files import expand
from podplan.yaml import Source


@click.command("fmt")
@click.argument("paths", nargs=-1)
@click.option("--check", is_flag=True, help="Name the files that would change, and change nothing.")
@click.option("--diff", is_flag=True, help="Print what would change, and change nothing.")
@click.option("--allow-nothing", is_flag=True, help="0, not 3, where there is nothing to format.")
@click.option("--inventory", metavar="FILE", default="", help="The ClusterInventory to use.")
@click.option("--stdin-filename", metavar="FILE", default="", help="What standard input (-) is called.")
@click.option("--config", metavar="FILE", default="", help="This configuration, not the nearest.")
@click.option("--isolated", is_flag=True, help="No configuration file.")
@click.option(
    "--color", type=click.Choice(COLOURS), default="auto", help="Colours of --diff [auto: on a terminal]."
)
def command(
    paths: Sequence[str],
    check: bool,
    diff: bool,
    allow_nothing: bool,
    stdin_filename: str,
    color: str,
    **flags: Any,
) -> int:
    """Write profiles, bases and inventories in one form, with their comments and the same data.

    PATHS are files or folders (default: this folder); - reads standard input and prints the result. Other
    documents stay as they are.
    """
    paths = default_paths(paths)
    wanted = request(paths, environments=(), sets=(), k8s_version="", fail_on=None, **flags)
    from_input = list(paths) == ["-"]
    folders: list[str] = []
    found: Iterable[Source | Unread] = (
        [standard_input(stdin_filename)] if from_input else sources(expand(paths, wanted.exclude, folders))
    )
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    broken: list[Source] = []
    unread: list[Unread] = []
    for source in found:
        if isinstance(source, Unread):
            unread.append(source)
            continue
        if not may_hold(source, SCHEMAS):
            continue
        if source.faults:
            broken.append(source)
            continue
        before[source.file], after[source.file] = source.text, _formatted(source, wanted.settings)
    changed = {file: text for file, text in after.items() if text != before[file]}
    say_unread(folders, unread)
    for source in broken:
        tell(f"{fault_line(source)}\n")
    if diff:
        write(redacted_difference(before, changed, style_of(color, os.environ)))
    elif check:
        write_text("".join(f"would reformat {visible(file)}\n" for file in changed))
    elif from_input:
        write("".join(after.values()))
    else:
        for file, text in changed.items():
            replace_text(file, before[file], text)
    if not before and not broken:
        if allow_nothing:
            return CLEAN
        say("no profile, base or inventory here, so nothing to format")
        return NOTHING
    if not from_input or check or diff:
        click.echo(counted(len(changed), len(before) - len(changed), len(broken), check or diff), err=True)
    return FINDINGS if broken or (changed and (check or diff)) else CLEAN


def _formatted(source: Source, settings: Settings) -> str:
    """The text in canonical form, which means the same; raises RequestError for JSON."""
    if source.file.endswith(".json"):
        raise RequestError(f"{source.file} is JSON, and podplan fmt writes YAML")
    text = formatted(source)
    if text != source.text:
        demand_same(source, text, settings)
    return text
