"""The jobs of a repository before and after a fix, as the objects that the controller creates for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from podplan.checker.check import CheckResult, check_files
from podplan.core.findings import Finding
from podplan.core.replica_groups import ReplicaGroup, build_at_index
from podplan.launchers.discovery import Invocation, find_programs
from podplan.launchers.scripts import find_script_error
from podplan.lint.registry import load_builtin_policies
from podplan.lint.rule_selection import RuleSelection, select_policies
from podplan.pipeline import JobPlan, PipelineSettings, iter_job_plans
from podplan.schema import validate_cr
from podplan.schema.pruning import prune_unknown_fields
from podplan.workspace.documents import classify_documents
from podplan.workspace.file_loader import load_file
from podplan.workspace.files import expand_paths
from podplan.workspace.loader import Loader
from podplan.yaml import SourceFile

Texts = dict[str, str]
UNKNOWN = ("SCHEMA001", "SCHEMA011")  # such fields are dropped, and the job runs


class JobRun(NamedTuple):
    """One job: why it does not run, or "", and the objects of its first and last replicas."""

    refused: str
    objects: list[dict[str, Any]]


# By file, number of the document, and variant.
Jobs = dict[tuple[str, int, str], JobRun]


def settings_of(gitops: str = "none") -> PipelineSettings:
    """Return settings with all policies, including preview and opt-in ones."""
    on = select_policies(load_builtin_policies(), RuleSelection(extend_select=("ALL",), preview=True))
    return PipelineSettings(policies=tuple(on), gitops_tool=gitops)


def write(folder: Path, texts: Mapping[str, str]) -> None:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())


def checked(settings: PipelineSettings) -> CheckResult:
    """Check the repository in the current folder."""
    return check_files(["."], settings, Loader())


def jobs(settings: PipelineSettings) -> Jobs:
    """Return the jobs of the repository in the current folder, by location."""
    found: Jobs = {}
    reader = Loader()
    for file in expand_paths(["."], ()):
        source = load_file(file, {})
        if not isinstance(source, SourceFile):
            continue
        for number, item in enumerate(classify_documents(source)):
            if item.category not in ("profile", "cr"):
                continue
            made = list(iter_job_plans(item, settings, reader))
            # podplan render rejects a profile with an invalid form.
            broken = next(
                (one.message for plan in made for one in plan.diagnostics if _is_form(plan, one)),
                "",
            )
            for plan in made:
                if plan.variant_id is not None:
                    found[file, number, plan.variant_id] = JobRun(
                        broken or _refused(plan, settings), _objects(plan)
                    )
    return found


def _is_form(plan: JobPlan, seen: Any) -> bool:
    return plan.variant_id is None and seen.rule.startswith("PROF0")


def _refused(plan: JobPlan, settings: PipelineSettings) -> str:
    """Return why no Pod of a job runs its program: it is not lowered, or rejected, or its launcher has no
    script."""
    if plan.cr is None or not plan.is_lowered:
        return "it is not lowered"
    left = prune_unknown_fields(plan.cr, validate_cr(plan.cr.data, settings.kubernetes_version).diagnostics)
    for problem in validate_cr(left.data, settings.kubernetes_version).diagnostics:
        return problem.message
    for seen in plan.diagnostics:
        if seen.level == "lowered" and seen.rule not in UNKNOWN:
            return seen.message
    return next(filter(None, map(_refused_by_launcher, plan.replica_groups)), "")


def _refused_by_launcher(group: ReplicaGroup) -> str:
    if group.doc.data["kind"] != "Pod":
        return ""
    container = build_at_index(group.doc, group.start)["spec"]["containers"][
        group.training_container_index or 0
    ]
    found = find_programs(container).invocations
    faults = [fault.message for each in found for fault in each.errors if not fault.condition]
    return next(iter((*faults, *filter(None, map(_no_script, found)))), "")


def _no_script(found: Invocation) -> str:
    """Return why Python finds no script; verified by the conformance case
    pytorch/python-before-the-script."""
    line = found.parsed.command_line if found.parsed is not None else None
    if line is None or line.script is None or "no_python" in line.options:
        return ""
    module = "module" in line.options
    fault = find_script_error(found.launcher, line.script, line.arguments, is_module=module)
    return fault.message if fault is not None else ""


def _objects(plan: JobPlan) -> list[dict[str, Any]]:
    return [
        build_at_index(group.doc, index)
        for group in plan.replica_groups
        for index in dict.fromkeys((group.start, group.start + group.replicas - 1))
    ]


def without_variable(objects: list[dict[str, Any]], name: str) -> list[Any]:
    """Return the objects without a variable of their containers, and without its line in the env file."""
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
    """Return the texts with the edits of one fix."""
    new = dict(texts)
    assert found.fix is not None
    for edit in sorted(found.fix.edits, key=lambda edit: -edit.start):
        text = new[edit.file]
        new[edit.file] = text[: edit.start] + edit.text + text[edit.end :]
    return new
