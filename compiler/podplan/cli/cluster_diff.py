"""podplan lower --compare: compares a job with its objects in a cluster, and finds lowering options for
differences."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from podplan.cli.exit_codes import CLEAN, FINDINGS, USAGE_ERROR
from podplan.cli.job_selection import JobSelection, report_failed_jobs
from podplan.cli.options import default_paths
from podplan.cli.output import describe_os_error, replace_file, write_escaped_stdout, write_stdout
from podplan.cli.plan_loader import load_job_plans
from podplan.config.files import find_nearest_config, read_config
from podplan.core.errors import NothingFound, UsageError
from podplan.core.limits import MAX_FILE_BYTES
from podplan.core.provenance import TracedDocument
from podplan.core.typing import Any
from podplan.pipeline import JobPlan, PipelineSettings, build_references
from podplan.redaction.redactor import Redactor, build_redactor, redact_change, split_path
from podplan.report import cluster_diff
from podplan.schema import validate_cr
from podplan.schema.pruning import prune_unknown_fields
from podplan.tools.cluster_diff.adoption import find_adoption
from podplan.tools.cluster_diff.aggregation import AggregatedDifference, aggregate_differences
from podplan.tools.cluster_diff.config_writer import set_options
from podplan.tools.cluster_diff.kubectl_dump import (
    KUBECTL_COMMAND,
    KUBECTL_WITH_JOBS,
    ClusterObjects,
    Dump,
    holds_job,
    read_dump,
    select_job_objects,
)
from podplan.tools.cluster_diff.observed_job import ClusterDiff, compute_cluster_diff
from podplan.tools.cluster_diff.uid_suffix import remove_name_suffix
from podplan.workspace.files import find_root, require_inside_repository, to_user_path
from podplan.yaml import parse_yaml

_STDIN = "-"
_HINT = f"; name the file with the job, or let kubectl print the job too: {KUBECTL_WITH_JOBS}"


def compare_with_dump(
    paths: Sequence[str], dump: str, job: str, adopt: bool, format_: str, flags: Mapping[str, Any]
) -> int:
    """Print the cluster diff, and write the options that adopt it if requested.

    Without ``paths`` the job is that of the dump, if it has one, else one in the current folder.

    Raises UsageError: for a dump that cannot be compared, and a configuration that cannot be written.
    """
    file = "standard input" if dump == _STDIN else dump
    content = _read_content(dump)
    hint = _HINT if (not paths or dump in paths) and not holds_job(content, file) else ""
    paths = paths or (default_paths(()) if hint else [dump])
    path = paths[0]
    jobs = _Jobs(content, file)
    selection = JobSelection(job)
    standard_input = parse_yaml(content, "<stdin>") if _STDIN in paths and dump == _STDIN else None
    made = load_job_plans(
        paths,
        frozenset({"profile", "cr"}),
        jobs.add,
        standard_input=standard_input,
        selection=selection,
        **flags,
    )
    selection.require_found(path)
    report_failed_jobs(made.failed, "compared")
    if made.code != CLEAN and not made.taken:
        return USAGE_ERROR
    settings = made.run_settings.settings
    target = _find_target_file(path, flags) if adopt else ""
    plan, matching = jobs.one(path, hint)
    cr = plan.cr
    assert cr is not None  # jobs takes only such plans
    options = plan.lowering_options
    uid = cr.data["metadata"].get("uid") or options.uid
    if uid and matching.uid and uid != matching.uid:
        raise UsageError(
            f"{file} is of another {cr.data['metadata']['name']}, whose uid is {matching.uid}, not {uid}"
        )
    options = options._replace(uid=uid or matching.uid)
    objects, name_suffix = (
        (matching.objects, "") if options.uid else remove_name_suffix(matching.objects, _get_job_name(cr))
    )
    comparison = compute_cluster_diff(
        prune_unknown_fields(
            cr, validate_cr(cr.data, settings.kubernetes_version, options.operator_versions).diagnostics
        ),
        options,
        objects,
        build_references(plan.references),
    )
    proposed = find_adoption(comparison)
    notes = [
        *_format_other_jobs(matching.other_counts),
        *_format_missing_kinds(comparison),
        f"not compared: {_format_not_compared(options.uid, objects)}",
    ]
    if name_suffix:
        notes.append(f'no uid is given, so "{name_suffix}" is omitted from all names (--uid compares it)')
    has_differences = len(comparison.differences) > 0
    if adopt and proposed.values:
        _write_options(target, comparison.kind_name, proposed.values)
        has_differences = bool(proposed.after.differences)
        count = len(proposed.values)
        notes.append(f"wrote {count} setting{'' if count == 1 else 's'} into {target}")
    render, write_result, kind = (
        (cluster_diff.render_json, write_stdout, comparison.kind.kind)
        if format_ == "json"
        else (cluster_diff.render_text, write_escaped_stdout, comparison.kind_name)
    )
    secrets = build_redactor((cr.data, *matching.objects))
    shown_differences = [
        _redact_difference(one, secrets)
        for one in aggregate_differences(comparison.differences, proposed.options_by_difference)
    ]
    write_result(render(shown_differences, secrets.redact_value(dict(proposed.values)), kind, notes))
    return FINDINGS if has_differences else made.code


class _Jobs:
    """Finds the jobs among the plans that a dump has objects of."""

    def __init__(self, content: bytes, file: str) -> None:
        self._content, self._file = content, file
        self._objects: ClusterObjects | None = None
        self._names: list[str] = []
        self._nameless = False
        self._there: list[tuple[JobPlan, Dump, str]] = []
        self._failure: UsageError | None = None

    def add(self, plan: JobPlan, _: PipelineSettings) -> None:
        """Add a plan that has a CR. Errors in the dump are raised after the findings are reported."""
        if plan.cr is None or not plan.is_lowered:
            return
        if plan.item.declared_kind is not None:
            self._failure = self._failure or UsageError(
                f"{plan.item.doc.name}: {plan.cr.data['kind']} is declared by a WorkloadMapping, and only"
                " kinds that podplan lowers itself are compared with a cluster"
            )
            return
        self._nameless |= not plan.cr.data["metadata"].get("name")
        if self._nameless or self._failure is not None:
            return
        called = f"{plan.cr.data['kind']} {_get_job_name(plan.cr)}{_format_namespace(plan.cr)}"
        self._names.append(called)
        try:
            if self._objects is None:
                self._objects = read_dump(self._content, self._file)
            found = select_job_objects(self._objects, plan.cr, self._file)
        except UsageError as error:
            self._failure = error
        else:
            self._there += [(plan, found, called)] if found.objects else []

    def one(self, path: str, hint: str) -> tuple[JobPlan, Dump]:
        """Return the only job that the dump has objects of, with those.

        Raises UsageError: if there is none, with the hint, or several.
        """
        if self._nameless:
            raise UsageError(f"{path}: the job has no name yet; write the one that it has in the cluster")
        if self._failure is not None:
            raise self._failure
        if not self._names:
            raise NothingFound(f"{path}: no training job and no profile of one{hint}")
        jobs = [one for one in self._there if not any(_owns(other[0], one[0]) for other in self._there)]
        if len(jobs) == 1:
            return jobs[0][:2]
        if jobs:
            raise UsageError(f"{self._file} holds objects of {_list_jobs(jobs)}")
        raise UsageError(f"{self._file} holds nothing of {', '.join(self._names)}{hint}")


def _list_jobs(jobs: Sequence[tuple[JobPlan, Dump, str]]) -> str:
    """Return the jobs of a dump that are candidates, and how to choose one."""
    names = [called for _, _, called in jobs]
    if len(set(names)) == len(names):
        return f"several jobs ({', '.join(names)}); name one with --job"
    files = ", ".join(f"{called} in {plan.item.doc.file}" for plan, _, called in jobs)
    return f"one job that several files state ({files}); name the file after the options"


def _owns(plan: JobPlan, other: JobPlan) -> bool:
    """Whether the CR of a plan owns that of another, as a JobSet owns its Jobs."""
    if plan.cr is None or other.cr is None:
        return False
    owners = other.cr.data["metadata"].get("ownerReferences")
    return isinstance(owners, list) and any(
        isinstance(owner, dict)
        and (owner.get("kind"), owner.get("name")) == (plan.cr.data["kind"], _get_job_name(plan.cr))
        for owner in owners
    )


def _redact_difference(difference: AggregatedDifference, secrets: Redactor) -> AggregatedDifference:
    predicted, real = redact_change(
        difference.predicted, difference.real, split_path(difference.path_text), difference.kind, secrets
    )
    return difference._replace(predicted=predicted, real=real)


def _get_job_name(job: TracedDocument) -> str:
    return str(job.data["metadata"]["name"])


def _format_namespace(job: TracedDocument) -> str:
    namespace = job.data["metadata"].get("namespace")
    return f" in the namespace {namespace}" if namespace else ""


def _read_content(dump: str) -> bytes:
    try:
        if dump == _STDIN:
            return sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
        require_inside_repository(dump)
        with open(dump, "rb") as stream:
            return stream.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise UsageError(
            f"cannot read {dump}: {describe_os_error(error)}; it is to be what {KUBECTL_COMMAND} prints"
        ) from None


def _format_other_jobs(count_by_kind: Mapping[str, int]) -> list[str]:
    count_text = ", ".join(f"{number} {kind}" for kind, number in sorted(count_by_kind.items()))
    return [f"of other jobs, and not looked at: {count_text}"] if count_text else []


def _format_missing_kinds(comparison: ClusterDiff) -> list[str]:
    """Return a note on kinds of which the dump has no objects: kubectl may not have listed them."""
    real_kinds = {one["kind"] for one in comparison.real}
    kinds = [
        kind
        for kind in dict.fromkeys(one.kind for one in comparison.matches.missing_objects)
        if kind not in real_kinds
    ]
    return (
        [
            f"there is no {' and no '.join(kinds)} of this job at all; is the dump what {KUBECTL_COMMAND}"
            " prints?"
        ]
        if kinds
        else []
    )


def _format_not_compared(uid: str, objects: Sequence[Mapping[str, Any]]) -> str:
    kinds = ["Secrets", "what the cluster sets itself"]
    if not any(one["kind"] == "TensorBoard" for one in objects):
        kinds.insert(1, "TensorBoards")
    return ", ".join(kinds if uid else [*kinds, "ownerReferences, without a uid"])


def _find_target_file(path: str, flags: Mapping[str, Any]) -> str:
    """Return the configuration file to write: the one in force, else a new one at the root."""
    if flags["isolated"]:
        raise UsageError("--adopt writes into the configuration, which --isolated leaves out")
    config_file = read_config(flags["config"]) if flags["config"] else find_nearest_config(path)
    return (
        config_file.display_path
        if config_file is not None
        else to_user_path(os.path.join(find_root(path), "podplan.toml"), path)
    )


def _write_options(target: str, kind: str, values: Mapping[str, Any]) -> None:
    text = ""
    if os.path.exists(target):
        with open(target, "rb") as stream:
            text = stream.read().decode().removeprefix("\ufeff")
    normalized = text.replace("\r\n", "\n")
    changed = set_options(normalized, target, kind, values)
    replace_file(os.path.realpath(target), changed if normalized == text else changed.replace("\n", "\r\n"))
