"""podplan init"""

from __future__ import annotations

import json
import os
from pathlib import Path
from shlex import quote

import click

from podplan.cli.help import HelpCommand
from podplan.cli.output import replace_file, write_escaped_stderr
from podplan.core.errors import UsageError

STARTER_FOLDER = Path(__file__).parents[1] / "starter"
# file to write -> file of the starter
STARTER_FILES = {
    "podplan.toml": "podplan.toml",
    "clusters/main.yaml": "inventory.yaml",
    "jobs/resnet.yaml": "job.yaml",
}
SCHEMAS = ("JobProfile", "ClusterInventory")


@click.command("init", cls=HelpCommand)
@click.argument("folder", default=".")
def command(folder: str) -> int:
    """Create a first profile, an inventory, a configuration file and editor schemas in FOLDER.

    Existing files are not overwritten.
    """
    from podplan import kubernetes
    from podplan.schema import catalog
    from podplan.schema.editor_schema import to_editor_schema

    existing = [name for name in STARTER_FILES if os.path.exists(os.path.join(folder, name))]
    if existing:
        raise UsageError(
            f"{os.path.join(folder, existing[0])} is there already; podplan init writes nothing over"
        )
    texts = {name: (STARTER_FOLDER / source).read_text("utf-8") for name, source in STARTER_FILES.items()}
    for name in SCHEMAS:
        document = to_editor_schema(catalog.build_schema(name, kubernetes.DEFAULT_VERSION))
        texts[f".podplan/schemas/{name}.json"] = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    for name, text in texts.items():
        replace_file(os.path.join(folder, name), text)
        write_escaped_stderr(f"wrote {os.path.join(folder, name)}\n")
    enter = "" if os.path.realpath(folder) == os.path.realpath(os.curdir) else f"cd {quote(folder)}; "
    write_escaped_stderr(f"next: {enter}podplan check; podplan lower -e dev jobs/resnet.yaml\n")
    return 0
