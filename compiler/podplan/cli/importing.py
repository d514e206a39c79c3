"""podplan import"""

from __future__ import annotations

import os
from typing import Any

import click

from podplan.cli.exits import CLEAN, FINDINGS, NOTHING
from podplan.cli.output import replace_file, write
from podplan.reading import Unread, sources, standard_input
from podplan.reading.documents import items
from podplan.reading.files import expand
from podplan.requests import RequestError


@click.command("import")
@click.argument("file")
@click.option("-o", "--output", metavar="FILE", default="", help="Write to FILE, which must not exist.")
def command(file: str, output: str, **_: Any) -> int:
    """Write the shortest profile that renders to the CR in FILE, its comments kept."""
    from podplan.importing import import_cr

    found = standard_input() if file == "-" else next(sources(expand([file])))
    if isinstance(found, Unread):
        raise RequestError(f"{file}: {found.reason}")
    for fault in found.faults:
        click.echo(f"{file}:{fault.span.line}:{fault.span.column}: {fault.rule} {fault.message}", err=True)
    crs = [item.doc for item in items(found) if item.what == "cr"]
    if not crs:
        click.echo(f"podplan: {file}: no training job here, so nothing to import", err=True)
        return FINDINGS if found.faults else NOTHING
    if output and os.path.exists(output):
        raise RequestError(f"{output} exists already; podplan import does not overwrite it")
    texts = []
    for cr in crs:
        imported = import_cr(cr, found.text)
        for problem in imported.problems:
            click.echo(f"{file}: {problem.message}", err=True)
        texts.append(imported.text)
    text = "---\n".join(texts)
    if output:
        replace_file(output, text)
    else:
        write(text)
    return CLEAN
