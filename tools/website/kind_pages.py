"""One page for each kind: a first profile, the CR, the lowered objects, its fields and its rules."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from podplan import kubernetes
from podplan.kinds.registry import COMPILED_KINDS, KINDS_BY_NAME, GroupVersionKind, name_of
from podplan.schema import catalog

# Where the docs say what is known of the controller of a group, or of a kind.
EVIDENCE = {
    "batch.tensorstack.dev": "t9k-{kind}",
    "kubeflow.org/v1": "training-operator",
    "kubeflow.org/v2beta1": "mpi-operator",
    "trainer.kubeflow.org": "trainer",
    "jobset.x-k8s.io": "jobset",
    "batch": "kubernetes-pods",
}


class Commands(NamedTuple):
    """The commands of podplan in a folder."""

    folder: Path

    def run(self, *words: str) -> str:
        """Return what podplan prints. Raises CalledProcessError: if it fails."""
        command = [sys.executable, "-m", "podplan", *words]
        done = subprocess.run(command, cwd=self.folder, check=True, capture_output=True, text=True)
        return done.stdout


def write_kind_pages(folder: Path) -> None:
    """Write a page for each kind and an index of them."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["# Kinds", ""]
    kinds = sorted(KINDS_BY_NAME.values(), key=lambda one: (one.group, one.version, one.kind))
    for api_version, members in groupby(kinds, lambda one: one.api_version):
        # A third column for the group and version would leave no room for the text on a phone.
        lines += [f"## {api_version}", "", "| kind | what it is |", "|---|---|"]
        for kind in members:
            name = name_of(kind).replace("/", "-").lower()
            schema = catalog.build_schema(name_of(kind), kubernetes.DEFAULT_VERSION)
            (folder / f"{name}.md").write_text(build_page(kind, name, schema, folder), "utf-8")
            lines.append(f"| [{kind.kind}]({name}.md) | {schema.get('description', '')} |")
        lines.append("")
    (folder / "index.md").write_text("\n".join(lines), "utf-8")


def build_page(kind: GroupVersionKind, name: str, schema: dict[str, Any], folder: Path) -> str:
    """Return the page of a kind; its picture is written to the folder."""
    lines = [f"# {kind.kind}", "", f"`{kind.api_version}`. {schema.get('description', '')}", ""]
    if kind in COMPILED_KINDS.values():
        lines += _show_example(kind, name, folder)
    lines += _list_fields(schema)
    lines += _list_rules(kind)
    key = next((key for key in (kind.api_version, kind.group) if key in EVIDENCE), "")
    page = EVIDENCE.get(key, "").format(kind=kind.kind.lower())
    if page:
        lines += ["## Evidence", "", f"What is known of the controller: [{page}](../evidence/{page}.md).", ""]
    return "\n".join(lines)


def _show_example(kind: GroupVersionKind, name: str, folder: Path) -> list[str]:
    with tempfile.TemporaryDirectory() as place:
        podplan = Commands(Path(place))
        podplan.run("init", "--kind", name_of(kind))
        profile = (Path(place) / "jobs" / "resnet.yaml").read_text("utf-8")
        podplan.run("graph", "-e", "prod", "jobs/resnet.yaml", "-o", str(folder / f"{name}.svg"))
        cr = podplan.run("render", "-e", "prod", "jobs/resnet.yaml")
        objects = podplan.run("lower", "--fold", "-e", "prod", "jobs/resnet.yaml")
    return [
        f"![{kind.kind} as podplan graph draws it]({name}.svg)",
        "",
        "## A first profile",
        "",
        f"`podplan init --kind {name_of(kind)}` writes it, with an inventory and a configuration. The",
        "picture is that of `podplan graph -e prod jobs/resnet.yaml`.",
        "",
        *_fence(profile),
        "## The CR",
        "",
        "`podplan render -e prod jobs/resnet.yaml`",
        "",
        *_fence(cr),
        "## What becomes of it",
        "",
        "`podplan lower --fold -e prod jobs/resnet.yaml`, which prints equal replicas once:",
        "",
        *_fence(objects),
    ]


def _fence(text: str) -> list[str]:
    return ["```yaml", *text.removeprefix("---\n").rstrip().splitlines(), "```", ""]


def _list_fields(schema: dict[str, Any]) -> list[str]:
    spec = schema.get("properties", {}).get("spec", {})
    while "$ref" in spec:
        spec = schema["$defs"][spec["$ref"].rpartition("/")[2]]
    fields = spec.get("properties", {})
    if not fields:
        return []
    rows = [f"| `{field}` | {_describe(schema, one)} |" for field, one in fields.items()]
    return ["## Fields of spec", "", "| field | what it is |", "|---|---|", *rows, ""]


def _describe(schema: dict[str, Any], field: dict[str, Any]) -> str:
    while "description" not in field and "$ref" in field:
        field = schema["$defs"][field["$ref"].rpartition("/")[2]]
    return str(field.get("description", "")).replace("\n", " ").replace("|", "\\|")


def _list_rules(kind: GroupVersionKind) -> list[str]:
    with tempfile.TemporaryDirectory() as place:
        answer = json.loads(Commands(Path(place)).run("rules", "--kind", name_of(kind), "--format", "json"))
    rules = [one for one in answer["rules"] if one["applies"]]
    special = [one for one in rules if one["traits"]["needs"] or one["kinds"]]
    rows = [
        f"| [{one['code']}](../rules/{one['code']}.md) | {one['severity']} | {one['summary']} |"
        for one in special
    ]
    total = f"{len(rules)} rules apply; these depend on the kind, and the [others](../rules/index.md) do not."
    return ["## Rules", "", total, "", "| rule | severity | what it says |", "|---|---|---|", *rows, ""]
