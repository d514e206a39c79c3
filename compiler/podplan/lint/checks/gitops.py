"""What a GitOps tool does with a job that is one object among many to it: delete, replace, make it again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.lazy_regex import pattern
from podplan.core.provenance import Doc
from podplan.core.typing import Any
from podplan.kinds.common.gitops_tools import ARGOCD_PRUNE, ARGOCD_SYNC_OPTIONS
from podplan.kubernetes.accessors import mapping, text
from podplan.lint.analysis.gitops import (
    FORCE,
    HOOK,
    NAMES,
    PRUNE,
    SUBSTITUTE,
    WAVE,
    annotations_of,
    at,
    delete_policies,
    hooks,
    listed,
    sync_options,
    tool_of,
    whole_number,
)
from podplan.lint.analysis.jobs import called, written
from podplan.lint.target import Hit, Subject

KEPT = ("confirm", "false")  # values of Prune that keep a running job
# ${NAME}, with what may follow the name, as the substitution of Flux reads it; $${ stands for ${
# (https://github.com/fluxcd/pkg/tree/main/envsubst). What follows may be secret.
SUBSTITUTED = pattern(r"(?<!\$)(?:\$\$)*\$\{(\w{0,100})([^{}\n]*)\}")


def generate_name_applied(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A CR that has no name of its own, and is applied. Values: ``prefix``, ``tool``.

    A hook of Argo CD is created and not applied, so it may.
    """
    metadata, tool = mapping(subject.data, "metadata"), tool_of(subject.job)
    prefix = text(metadata, "generateName")
    if not prefix or text(metadata, "name") or not tool:
        return
    if tool != "argocd" or not hooks(subject.data):
        values = {"prefix": prefix, "tool": NAMES[tool]}
        yield Hit(written(subject.data, "metadata", "generateName"), values)


def hook_runs_again(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A job that is a hook of Argo CD. Values: ``job``, ``phases``, ``how``."""
    phases = [phase for phase in hooks(subject.data) if phase not in ("PreDelete", "PostDelete")]
    if not phases:
        return
    metadata, policies = mapping(subject.data, "metadata"), delete_policies(subject.data)
    if not text(metadata, "name"):
        how = "under a new name"
    elif "BeforeHookCreation" in policies:
        how = "after the last one is deleted"
    elif "HookSucceeded" in policies:
        how = "once the last one succeeded and was deleted"
    else:
        return
    yield Hit(at(HOOK), {"job": called(subject.job), "phases": " and ".join(phases), "how": how})


def made_anew(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A CR that is deleted and made again by a sync. Values: ``job``, ``option``, ``tool``, ``when``."""
    options, job = sync_options(subject.data), called(subject.job)
    asked = [f"{name}=true" for name in ("Force", "Replace") if options.get(name) == "true"]
    if asked:
        force = "Force=true" in asked
        when = "at each change, and makes it again" if force else "where it cannot be replaced in its place"
        values = {"job": job, "option": " and ".join(asked), "tool": NAMES["argocd"], "when": when}
        yield Hit(at(ARGOCD_SYNC_OPTIONS), values)
    if annotations_of(subject.data).get(FORCE, "").lower() == "enabled":
        when = "where a change of it is refused, and makes it again"
        values = {"job": job, "option": "force: enabled", "tool": NAMES["flux"], "when": when}
        yield Hit(at(FORCE), values)


def wave_no_number(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A sync wave that is no whole number. Values: ``wave``."""
    wave = annotations_of(subject.data).get(WAVE)
    if wave is not None and whole_number(wave) is None:
        yield Hit(at(WAVE), {"wave": wave})


def unprotected_from_prune(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A job that the tool of the configuration may prune. Values: ``job``, ``tool``, ``key``, ``value``."""
    tool, data = subject.job.gitops, subject.data
    if tool == "argocd":
        if hooks(data) or sync_options(data).get("Prune") in KEPT:
            return
        key, value = ARGOCD_SYNC_OPTIONS, ARGOCD_PRUNE.value
        options = listed(annotations_of(data).get(ARGOCD_SYNC_OPTIONS, ""))
        whole = ",".join((*(one for one in options if one.partition("=")[0].strip() != "Prune"), value))
    elif tool == "flux":
        if annotations_of(data).get(PRUNE, "").lower() == "disabled":
            return
        key, value = PRUNE, "disabled"
        whole = value
    else:
        return
    values = {"job": called(subject.job), "tool": NAMES[tool], "key": key, "value": value}
    # An annotation of the CR reaches no Pod: the tool alone reads it.
    yield Hit(written(data, *at(key)), values, change=_annotating(data, key, whole), safe=True)


def _annotating(data: Mapping[str, Any], key: str, value: str) -> tuple[str, Path, Any]:
    """The change that gives an object an annotation, the first one too."""
    if mapping(mapping(data, "metadata"), "annotations"):
        return "set", at(key), value
    return "set", ("metadata", "annotations"), {key: value}


def substituted(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """Text that Flux would put something else in place of; once per job. Values: ``text``, ``more``."""
    data = subject.data
    if tool_of(subject.job) != "flux" or annotations_of(data).get(SUBSTITUTE, "").lower() == "disabled":
        return
    found = list(_substituted(data, ()))
    if found:
        path, shown = found[0]
        more = f" and in {len(found) - 1} more places" if len(found) > 2 else " and in another place"
        related: list[tuple[Doc, Path, str]] = [(subject.doc, other, "here too") for other, _ in found[1:4]]
        values = {"text": shown, "more": more if len(found) > 1 else ""}
        change = _annotating(data, SUBSTITUTE, "disabled")
        yield Hit(path, values, related=related, change=change)


def _substituted(value: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """Each text with a substitution in it, and the name in the first of them."""
    if isinstance(value, dict):
        for key, below in value.items():
            yield from _substituted(below, (*path, key))
    elif isinstance(value, list):
        for index, below in enumerate(value):
            yield from _substituted(below, (*path, index))
    elif isinstance(value, str) and "${" in value and (match := SUBSTITUTED.search(value)):
        yield path, f"${{{match[1]}{'…' if match[2] else ''}}}"
