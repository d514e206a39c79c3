"""The jobs of a repository before and after a fix, as the objects that the controller makes of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from podplan.checker.check import Result, check
from podplan.core.findings import Finding
from podplan.core.replica_groups import Group, at_index
from podplan.launchers.discovery import Invocation, find
from podplan.launchers.scripts import find_script_fault
from podplan.lint.registry import ours
from podplan.lint.rule_selection import Selection, selected
from podplan.pipeline import Plan, Settings, plans
from podplan.schema import check_cr
from podplan.schema.pruning import pruned
from podplan.workspace import Reader
from podplan.workspace.documents import items
from podplan.workspace.file_loader import opened
from podplan.workspace.files import expand
from podplan.yaml import Source

Texts = dict[str, str]
UNKNOWN = ("SCHEMA001", "SCHEMA011")  # such fields are dropped, and the job runs


class JobRun(NamedTuple):
    """One job: why it does not run, "" where it does, and the objects of its first and last replicas."""

    refused: str
    objects: list[dict[str, Any]]


# By file, number of the document, and variant.
Jobs = dict[tuple[str, int, str], JobRun]


def settings_of(gitops: str = "none") -> Settings:
    """All policies, previews and opt-in ones too."""
    on = selected(ours(), Selection(extend_select=("ALL",), preview=True))
    return Settings(policies=tuple(on), gitops=gitops)


def write(folder: Path, texts: Mapping[str, str]) -> None:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())


def checked(settings: Settings) -> Result:
    """What podplan says of the repository here."""
    return check(["."], settings, Reader())


def jobs(settings: Settings) -> Jobs:
    """The jobs of the repository here, by where they are."""
    found: Jobs = {}
    reader = Reader()
    for file in expand(["."], ()):
        source = opened(file, {})
        if not isinstance(source, Source):
            continue
        for number, item in enumerate(items(source)):
            if item.what not in ("profile", "cr"):
                continue
            made = list(plans(item, settings, reader))
            # podplan render refuses a profile of a wrong form.
            broken = next(
                (one.problem.message for plan in made for one in plan.seen if _is_form(plan, one)), ""
            )
            for plan in made:
                if plan.variant is not None:
                    found[file, number, plan.variant] = JobRun(
                        broken or _refused(plan, settings), _objects(plan)
                    )
    return found


def _is_form(plan: Plan, seen: Any) -> bool:
    return plan.variant is None and seen.problem.rule.startswith("PROF0")


def _refused(plan: Plan, settings: Settings) -> str:
    """Why no Pod of a job runs its program: it is not lowered, or refused, or its launcher has no script."""
    if plan.cr is None or not plan.lowered:
        return "it is not lowered"
    left = pruned(plan.cr, check_cr(plan.cr.data, settings.k8s_version).problems)
    for problem in check_cr(left.data, settings.k8s_version).problems:
        return problem.message
    for seen in plan.seen:
        if seen.level == "lowered" and seen.problem.rule not in UNKNOWN:
            return seen.problem.message
    return next(filter(None, map(_refused_by_launcher, plan.groups)), "")


def _refused_by_launcher(group: Group) -> str:
    if group.doc.data["kind"] != "Pod":
        return ""
    container = at_index(group.doc, group.start)["spec"]["containers"][group.training or 0]
    found = find(container).invocations
    faults = [fault.sentence for each in found for fault in each.errors if not fault.only]
    return next(iter((*faults, *filter(None, map(_no_script, found)))), "")


def _no_script(found: Invocation) -> str:
    """Why Python finds no script; the conformance case pytorch/python-before-the-script shows it."""
    line = found.facts.line if found.facts is not None else None
    if line is None or line.script is None or "no_python" in line.options:
        return ""
    module = "module" in line.options
    fault = find_script_fault(found.launcher, line.script, line.arguments, module=module)
    return fault.sentence if fault is not None else ""


def _objects(plan: Plan) -> list[dict[str, Any]]:
    return [
        at_index(group.doc, index)
        for group in plan.groups
        for index in dict.fromkeys((group.start, group.start + group.replicas - 1))
    ]


def without_variable(objects: list[dict[str, Any]], name: str) -> list[Any]:
    """The objects without a variable of their containers, and without its line in the file for deepspeed."""
    line = re.compile(rf"^{name}=.*\n?", re.MULTILINE)
    files = [one["data"] for one in objects if one["kind"] == "ConfigMap"]
    empty = {key for data in files for key, text in data.items() if not line.sub("", text)}

    def cleaned(value: Any) -> Any:
        if isinstance(value, dict):
            below = {key: cleaned(one) for key, one in value.items() if key not in empty}
            return {key: one for key, one in below.items() if not (key == "env" and one == [])}
        if isinstance(value, list):
            return [cleaned(one) for one in value if not is_dropped(one)]
        return line.sub("", value) if isinstance(value, str) else value

    def is_dropped(entry: Any) -> bool:
        return isinstance(entry, dict) and (entry.get("name") == name or entry.get("subPath") in empty)

    return list(map(cleaned, objects))


def with_fix(texts: Mapping[str, str], found: Finding) -> Texts:
    """The texts with the edits of one fix."""
    new = dict(texts)
    assert found.fix is not None
    for edit in sorted(found.fix.edits, key=lambda edit: -edit.start):
        text = new[edit.file]
        new[edit.file] = text[: edit.start] + edit.text + text[edit.end :]
    return new
