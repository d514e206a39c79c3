"""Variables of torch that programs expect with another meaning, or that no controller sets.

Source: docs/evidence/training-operator.md#environment and
https://docs.pytorch.org/docs/stable/distributed.html#environment-variable-initialization.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path, below, value_at
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping
from podplan.lint.analysis.features import SHELL
from podplan.lint.analysis.jobs import count_pods
from podplan.lint.analysis.launches import (
    find_launches,
    find_variable_path,
    is_single_process,
)
from podplan.lint.analysis.pod_jobs import find_pod_jobs
from podplan.lint.checks.registration import check
from podplan.lint.checks.reserved_env import is_set_by_controller
from podplan.lint.target import LoweredJob, Target, Violation

# Shell expansions without a default value.
_TORCH_VARIABLE = compile_lazily(
    r"(?<!\\)\$(?:(MASTER_ADDR|MASTER_PORT|(?:NODE_|LOCAL_)?RANK|WORLD_SIZE|PET_[A-Z_]+|JOB_COMPLETION_INDEX"
    r"|SLURM_[A-Z_]+)\b"
    r"|\{(MASTER_ADDR|MASTER_PORT|(?:NODE_|LOCAL_)?RANK|WORLD_SIZE|PET_[A-Z_]+|JOB_COMPLETION_INDEX"
    r"|SLURM_[A-Z_]+)\})"
)
# A rank that is a variable alone; the image cannot know it, and the container runtime sets HOSTNAME.
_VARIABLE_ALONE = compile_lazily(r"\$(?:(?!HOSTNAME\b)([A-Z]\w*)|\{(?!HOSTNAME\b)([A-Z]\w*)\})")
_RANK_OPTION = compile_lazily(r"--(?:node|machine)[-_]rank(=.*)?")
# Programs that set variables which the text of a script does not show.
_SETS_OTHERS = compile_lazily(r"(?:\A|[\s;&|(])(?:source|\.|eval|read)\s")


@check()
def world_size_counts_processes(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A WORLD_SIZE above the number of Pods, each of which is one process.

    Values: ``size``, ``pods``, ``script``.
    """
    job, pod_count = target.job, count_pods(target.job)
    launches = find_launches(job)
    groups = {id(launch.group) for launch in launches}
    if (
        len(groups) != len(launches)
        or len(groups) != len(job.pods)
        or not all(is_single_process(launch, allow_modules=True) for launch in launches)
    ):
        return
    for launch in launches:
        size = launch.invocation.variables.get("WORLD_SIZE") or ""
        path = find_variable_path(launch, "WORLD_SIZE")
        if path is None or not is_set_by_controller(launch.group, path[:-1]):
            return
        if size.isdecimal() and len(size) < 8 and int(size) > pod_count:
            script = launch.invocation.script
            values = {"size": size, "pods": pod_count, "script": script.text if script else "the script"}
            related = [(launch.group.doc, path, "WORLD_SIZE")]
            path = find_variable_path(launch, "PET_NPROC_PER_NODE") or path
            yield Violation(path, values, related, doc=launch.group.doc, group=launch.group)
            return


@check(requires=(SHELL,))
def unset_variable(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A variable of torch on a command line, in a Pod that lacks it. Values: ``name``, ``by``."""
    job = target.job
    for launch in find_launches(job):
        if launch.invocation.started_by:
            continue
        script = value_at(launch.container, launch.invocation.path)
        has_other_sources = bool(get_entries(launch.container, "envFrom")) or _SETS_OTHERS.search(str(script))
        is_rank = False
        for word in () if has_other_sources else launch.invocation.words:
            matches = [] if word.is_known else list(_TORCH_VARIABLE.finditer(word.text))
            option = _RANK_OPTION.fullmatch(word.text)
            rank_text = word.text if is_rank else (option[1] or "")[1:] if option is not None else ""
            rank = None if word.is_known else _VARIABLE_ALONE.fullmatch(rank_text)
            is_rank = option is not None and not option[1]
            names = (match[1] or match[2] for match in [*matches, *([rank] if rank is not None else [])])
            name = next((one for one in names if one not in launch.invocation.variables), None)
            if name == "LOCAL_RANK" and word in launch.invocation.arguments:
                continue  # reported by local-rank-argument
            if name is not None:
                values = {"name": name, "by": launch.invocation.launcher}
                path = below(launch.path, word.place)
                related = _find_mode(job, launch.group) if name == "JOB_COMPLETION_INDEX" else []
                yield Violation(path, values, related, doc=launch.group.doc, group=launch.group)
                break


def _find_mode(job: LoweredJob, group: ReplicaGroup) -> list[tuple[TracedDocument, Path, str]]:
    """Return where a Job states, or does not, that its Pods have an index, as related locations."""
    pod_jobs = find_pod_jobs(job, group)
    if pod_jobs is None or pod_jobs.is_indexed:
        return []
    fields = [
        one for one in ("completionMode", "completions") if one in get_mapping(pod_jobs.doc.data, "spec")
    ]
    return [(pod_jobs.doc, ("spec", *fields[:1]), "completionMode is not Indexed")]
