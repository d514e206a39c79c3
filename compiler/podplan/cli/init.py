"""podplan init"""

from __future__ import annotations

import os
from pathlib import Path
from shlex import quote

import click

from podplan.cli.help import HelpCommand
from podplan.cli.output import replace_file, write_escaped_stderr
from podplan.core.errors import UsageError
from podplan.core.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from podplan.kinds.registry import GroupVersionKind

STARTER_FOLDER = Path(__file__).parents[1] / "starter"
# file to write -> file of the starter
STARTER_FILES = {
    "podplan.toml": "podplan.toml",
    "clusters/main.yaml": "inventory.yaml",
    "jobs/resnet.yaml": "job.yaml",
}
SCHEMAS = ("JobProfile", "ClusterInventory")
# Small repositories with one mistake each, which docs/tour.md walks through.
EXAMPLES = ("t9k", "kubeflow", "trainjob", "mpi", "kueue")


@click.command("init", cls=HelpCommand)
@click.argument("folder", default=".")
@click.option("--kind", metavar="KIND", default="", help="Kind of the job in the profile.")
@click.option(
    "--example",
    type=click.Choice(EXAMPLES),
    default=None,
    help="Create a small repository with one mistake instead, for the tour in docs/tour.md.",
)
def command(folder: str, kind: str, example: str | None) -> int:
    """Create a first profile, an inventory, a configuration file and editor schemas in FOLDER.

    Existing files are not overwritten.
    """
    if example and kind:
        raise UsageError("--kind has no effect with --example; write one of the two")
    texts = _read_example(example) if example else _build_starter(kind)
    existing = [name for name in texts if os.path.exists(os.path.join(folder, name))]
    if existing:
        raise UsageError(
            f"{os.path.join(folder, existing[0])} is there already; podplan init writes nothing over"
        )
    for name, text in texts.items():
        replace_file(os.path.join(folder, name), text)
        write_escaped_stderr(f"wrote {os.path.join(folder, name)}\n")
    enter = "" if os.path.realpath(folder) == os.path.realpath(os.curdir) else f"cd {quote(folder)}; "
    job = next(name for name in texts if name.startswith("jobs/"))
    show = f"graph {job} -o job.svg" if example else f"lower -e dev {job}"
    write_escaped_stderr(f"next: {enter}podplan check; podplan {show}\n")
    return 0


def _read_example(name: str) -> dict[str, str]:
    """Return the files of an example by their paths."""
    folder = STARTER_FOLDER / "examples" / name
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in files}


def _build_starter(kind: str) -> dict[str, str]:
    """Return the files of a first profile by their paths. Raises UsageError: for an unknown kind."""
    from podplan import kubernetes
    from podplan.kinds.registry import load_spec
    from podplan.schema import catalog
    from podplan.schema.editor_schema import to_editor_schema

    kind_key = _find_kind(kind) if kind else None
    starter_files = {**STARTER_FILES, **(load_spec(kind_key).starter_files if kind_key is not None else {})}
    texts = {name: (STARTER_FOLDER / source).read_text("utf-8") for name, source in starter_files.items()}
    if kind_key is not None:
        texts["jobs/resnet.yaml"] = _adapt_profile(texts["jobs/resnet.yaml"], kind_key)
    for name in SCHEMAS:
        document = to_editor_schema(catalog.build_schema(name, kubernetes.DEFAULT_VERSION))
        texts[f".podplan/schemas/{name}.json"] = catalog.format_schema(document)
    return texts


def _find_kind(name: str) -> GroupVersionKind:
    """Return the kind that a user names. Raises UsageError: for none that profiles compile to, or several."""
    from podplan.core.suggestions import suggest_or_list
    from podplan.kinds.registry import COMPILED_KINDS, iter_kinds_named

    kinds = [kind for kind in iter_kinds_named(name) if kind in COMPILED_KINDS.values()]
    if len(kinds) > 1:
        candidates = " or ".join(kind.qualified_name for kind in kinds)
        raise UsageError(f"several API groups have a kind {name}; write {candidates}")
    if not kinds:
        raise UsageError(f'no profile compiles to a kind "{name}"{suggest_or_list(name, COMPILED_KINDS)}')
    return kinds[0]


def _adapt_profile(text: str, kind: GroupVersionKind) -> str:
    """Return the profile of the starter for a kind: with its fields, and without those that it lacks."""
    from podplan.kinds.registry import load_spec, name_of
    from podplan.tools.formatter import format_source
    from podplan.yaml import parse_yaml

    spec = load_spec(kind)
    changes = dict.fromkeys({"launcher", "processes", "deadline"} - spec.profile_fields, "")
    changes |= {"job": name_of(kind), **spec.starter_fields}
    lines = []
    for line in text.splitlines(keepends=True):
        field = line.strip().partition(":")[0]
        if line.startswith("  params:"):
            lines += [f"  {name}: {value}\n" for name, value in changes.items() if value]
            changes = {}
        value = changes.pop(field, None) if line.startswith("  ") and line[2] != " " else None
        if value is None:
            lines.append(line)
        elif value:
            lines.append(f"  {field}: {value}\n")
    return format_source(parse_yaml("".join(lines).encode(), "starter"))
