"""Effects of GitOps tools on jobs: they delete, replace or re-create them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path, value_at
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument
from podplan.core.typing import Any
from podplan.kinds.common.gitops_tools import ARGOCD_PRUNE, ARGOCD_SYNC_OPTIONS
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.lint.analysis.gitops import (
    FORCE_ANNOTATION,
    HOOK_ANNOTATION,
    PRUNE_ANNOTATION,
    SUBSTITUTE_ANNOTATION,
    TOOL_NAMES,
    WAVE_ANNOTATION,
    find_gitops_tool,
    find_hook_phases,
    get_annotation_path,
    get_annotations,
    parse_delete_policies,
    parse_integer,
    parse_sync_options,
    split_list,
)
from podplan.lint.analysis.jobs import find_written_path, get_job_label
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

_TIME_TO_LIVE = "ttlSecondsAfterFinished"
KEEPING_PRUNE_VALUES = ("confirm", "false")  # values of Prune that keep a running job
# ${NAME}, with what may follow the name, as Flux parses substitutions; $${ is an escape
# (https://github.com/fluxcd/pkg/tree/main/envsubst). The rest may be secret.
SUBSTITUTION_PATTERN = compile_lazily(r"(?<!\$)(?:\$\$)*\$\{(\w{0,100})([^{}\n]*)\}")


@check()
def generate_name_applied(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A CR with generateName that a tool applies. Values: ``prefix``, ``tool``.

    Argo CD creates hooks and does not apply them, so they may have a generateName.
    """
    metadata, tool = get_mapping(target.data, "metadata"), find_gitops_tool(target.job)
    prefix = get_text(metadata, "generateName")
    if not prefix or get_text(metadata, "name") or not tool:
        return
    if tool != "argocd" or not find_hook_phases(target.data):
        values = {"prefix": prefix, "tool": TOOL_NAMES[tool]}
        yield Violation(find_written_path(target.data, "metadata", "generateName"), values)


@check()
def hook_runs_again(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A job that is a hook of Argo CD. Values: ``job``, ``phases``, ``how``."""
    phases = [phase for phase in find_hook_phases(target.data) if phase not in ("PreDelete", "PostDelete")]
    if not phases:
        return
    metadata, policies = get_mapping(target.data, "metadata"), parse_delete_policies(target.data)
    if not get_text(metadata, "name"):
        condition = "under a new name"
    elif "BeforeHookCreation" in policies:
        condition = "after the previous one is deleted"
    elif "HookSucceeded" in policies:
        condition = "after the previous one succeeded and was deleted"
    else:
        return
    yield Violation(
        get_annotation_path(HOOK_ANNOTATION),
        {"job": get_job_label(target.job), "phases": " and ".join(phases), "how": condition},
    )


@check(aliases=("made-anew",))
def replaced_on_sync(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A CR that a sync deletes and re-creates. Values: ``job``, ``option``, ``tool``, ``when``."""
    options, job = parse_sync_options(target.data), get_job_label(target.job)
    set_options = [f"{name}=true" for name in ("Force", "Replace") if options.get(name) == "true"]
    if set_options:
        is_forced = "Force=true" in set_options
        when = "at each change and recreates it" if is_forced else "if it cannot replace it in place"
        values = {"job": job, "option": " and ".join(set_options), "tool": TOOL_NAMES["argocd"], "when": when}
        yield Violation(get_annotation_path(ARGOCD_SYNC_OPTIONS), values)
    if get_annotations(target.data).get(FORCE_ANNOTATION, "").lower() == "enabled":
        when = "if a change of it is rejected, and recreates it"
        values = {"job": job, "option": "force: enabled", "tool": TOOL_NAMES["flux"], "when": when}
        yield Violation(get_annotation_path(FORCE_ANNOTATION), values)


@check()
def deleted_job_runs_again(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A job that is deleted after its end, and that a tool then re-creates. Values: ``tool``, ``seconds``,
    ``when``."""
    tool = find_gitops_tool(target.job)
    if not tool or (tool == "argocd" and find_hook_phases(target.data)):
        return
    when = "with selfHeal or at the next sync" if tool == "argocd" else "at its next reconciliation"
    for path in (("spec", "runPolicy", _TIME_TO_LIVE), ("spec", _TIME_TO_LIVE)):
        seconds = value_at(target.data, path)
        if isinstance(seconds, int):
            yield Violation(path, {"tool": TOOL_NAMES[tool], "seconds": seconds, "when": when})


@check(aliases=("wave-no-number",))
def sync_wave_not_a_number(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A sync wave that is no whole number. Values: ``wave``."""
    wave = get_annotations(target.data).get(WAVE_ANNOTATION)
    if wave is not None and parse_integer(wave) is None:
        yield Violation(get_annotation_path(WAVE_ANNOTATION), {"wave": wave})


@check()
def unprotected_from_prune(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A job that the tool of the configuration may prune. Values: ``job``, ``tool``, ``key``, ``value``."""
    tool, data = target.job.gitops_tool, target.data
    if tool == "argocd":
        if find_hook_phases(data) or parse_sync_options(data).get("Prune") in KEEPING_PRUNE_VALUES:
            return
        key, value = ARGOCD_SYNC_OPTIONS, ARGOCD_PRUNE.value
        options = split_list(get_annotations(data).get(ARGOCD_SYNC_OPTIONS, ""))
        annotation_value = ",".join(
            (*(one for one in options if one.partition("=")[0].strip() != "Prune"), value)
        )
    elif tool == "flux":
        if get_annotations(data).get(PRUNE_ANNOTATION, "").lower() == "disabled":
            return
        key, value = PRUNE_ANNOTATION, "disabled"
        annotation_value = value
    else:
        return
    values = {"job": get_job_label(target.job), "tool": TOOL_NAMES[tool], "key": key, "value": value}
    # Only the tool reads this annotation of the CR; no Pod gets it.
    yield Violation(
        find_written_path(data, *get_annotation_path(key)),
        values,
        change=_build_annotation_change(data, key, annotation_value),
        safe=True,
    )


def _build_annotation_change(data: Mapping[str, Any], key: str, value: str) -> tuple[str, Path, Any]:
    """Build the fix that adds an annotation, also to an object without any."""
    if get_mapping(get_mapping(data, "metadata"), "annotations"):
        return "set", get_annotation_path(key), value
    return "set", ("metadata", "annotations"), {key: value}


@check(aliases=("substituted",))
def flux_substitution(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """Text that Flux would substitute; once per job. Values: ``text``, ``more``."""
    data = target.data
    if (
        find_gitops_tool(target.job) != "flux"
        or get_annotations(data).get(SUBSTITUTE_ANNOTATION, "").lower() == "disabled"
    ):
        return
    substitutions = list(_iter_substitutions(data, ()))
    if substitutions:
        path, shown = substitutions[0]
        more_text = (
            f" and in {len(substitutions) - 1} more places"
            if len(substitutions) > 2
            else " and in another place"
        )
        related: list[tuple[TracedDocument, Path, str]] = [
            (target.doc, other, "here too") for other, _ in substitutions[1:4]
        ]
        values = {"text": shown, "more": more_text if len(substitutions) > 1 else ""}
        change = _build_annotation_change(data, SUBSTITUTE_ANNOTATION, "disabled")
        yield Violation(path, values, related=related, change=change)


def _iter_substitutions(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Each text with a substitution in it, and the name in the first of them."""
    if isinstance(value, dict):
        for key, child in value.items():
            yield from _iter_substitutions(child, (*path, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from _iter_substitutions(child, (*path, index))
    elif isinstance(value, str) and "${" in value and (match := SUBSTITUTION_PATTERN.search(value)):
        yield path, f"${{{match[1]}{'…' if match[2] else ''}}}"
