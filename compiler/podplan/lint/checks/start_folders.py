"""Checkpoint folders that have another name at each start of a training that resumes.

Sources: https://kubernetes.io/docs/concepts/workloads/controllers/job/#handling-pod-and-container-failures (a
failed Pod is replaced by a new one), https://kubernetes.io/docs/concepts/workloads/controllers/job/#completion-mode
(names of Pods have a random suffix; host names of an Indexed Job have none).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.lazy_regex import compile_lazily
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.lint.analysis.jobs import is_mode_enabled
from podplan.lint.analysis.launches import ContainerLaunch, find_launches
from podplan.lint.analysis.script_options import PlacedOption, list_program_options
from podplan.lint.checks.lost_progress import RESUMES, find_restarts
from podplan.lint.checks.meeting_points import find_difference
from podplan.lint.checks.outputs import classify_output
from podplan.lint.checks.registration import COUNT, check, object_schema
from podplan.lint.target import Target, Violation

_LATEST = frozenset(("auto", "latest", "last", "true", "1", "yes", "on", "allow", "must"))
_OF_NAME = compile_lazily(r"HOSTNAME|POD_NAME|hostname|metadata\.name")
_OF_HOST_NAME = compile_lazily(r"HOSTNAME|hostname")
_OF_POD = compile_lazily(r"UID|IP|metadata\.uid|status\.")
# A part of a variable may be the same in all Pods: ${HOSTNAME%-*}.
_PART = compile_lazily(r"\$\{\w+[^\w}]")


@check(params=object_schema({"default": COUNT}))
def folder_of_one_start(target: Target, params: Mapping[str, Any]) -> Iterator[Violation]:
    """A folder for checkpoints that no later start finds. Values: ``option``, ``what``, ``resume``,
    ``restarts``."""
    job = target.job
    if is_mode_enabled(job, "debug"):
        return
    for launch in find_launches(job):
        if launch.invocation.is_conditional or launch.invocation.started_by or launch.is_launcher:
            continue
        options = list(list_program_options(job, launch))
        resume = next((one for one in options if _resumes(one)), None)
        folders = list(_iter_new_folders(launch, options)) if resume is not None else []
        restarts = find_restarts(target, launch.group, params["default"]) if folders else None
        if resume is None or restarts is None:
            continue
        for placed, what in folders:
            values = {
                "option": placed.option.name,
                "what": what,
                "resume": resume.option.name,
                "restarts": restarts[2],
            }
            related = [(resume.doc, resume.path, "resumes from there"), restarts]
            yield Violation(placed.path, values, related, doc=placed.doc, group=launch.group)


def _resumes(placed: PlacedOption) -> bool:
    """Whether an option resumes from what the folder of the training holds."""
    one = placed.option
    if not RESUMES.fullmatch(one.last) or not one.known:
        return False
    return one.value is None or one.value.lower() in _LATEST


def _iter_new_folders(
    launch: ContainerLaunch, options: list[PlacedOption]
) -> Iterator[tuple[PlacedOption, str]]:
    """Yield the options with a folder of another name at each start, and the part that differs."""
    for placed in options:
        one = placed.option
        text = one.word.text
        if one.known or _PART.search(text) or classify_output(one.name.lstrip("-")) in ("", "log"):
            continue
        what = find_difference(text, launch)
        if what and not _PART.search(what) and _is_new(launch.group, what):
            yield placed, what + ("}" if what.startswith("${") and "}" not in what else "")


def _is_new(group: ReplicaGroup, what: str) -> bool:
    """Whether a text differs between a Pod and the one that replaces it."""
    data = group.doc.data
    if not _OF_NAME.search(what):
        return _OF_POD.search(what) is None or _is_replaced(data)
    has_own_host = bool(get_text(get_mapping(data, "spec"), "hostname"))
    is_random = "generateName" in get_mapping(data, "metadata")
    return is_random and _is_replaced(data) and not (has_own_host and _OF_HOST_NAME.search(what))


def _is_replaced(pod: Mapping[str, Any]) -> bool:
    return get_text(get_mapping(pod, "spec"), "restartPolicy") == "Never"
