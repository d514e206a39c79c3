"""What happens when a replica ends: restart policies, and the retries that all replicas share.

Sources: docs/evidence/t9k-common.md#meaning-of-the-restart-policies,
docs/evidence/t9k-common.md#backoff-limit, docs/evidence/torchrun.md#rejoining-after-a-restart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from podplan.core.findings import Path, below
from podplan.core.lazy_regex import pattern
from podplan.core.typing import Any
from podplan.kubernetes.accessors import entries, mapping, text
from podplan.lint.analysis.jobs import kind_of, mode, pods, roles, spec_of, written
from podplan.lint.analysis.processes import programs_of
from podplan.lint.analysis.resources import training
from podplan.lint.target import Hit, Job, Subject

INSTEAD = {
    "ColossalAIJob": "leave it out: a ColossalAIJob restarts no Pod",
    "GenericJob": "write restartPolicy: {policy: POLICY, limit: 3} beside the template instead",
}

# Names by which a script says with which exit code it wants to be started again.
_REQUEUE = pattern(
    r"(?:--?)?(?:\w+[-_.])?(?:requeue|resume|restart|retry|preempt\w*|resched\w*)[-_]?(?:exit|return)?[-_]?(?:code|status)",
    re.IGNORECASE,
)
LONGEST_NAME, LONGEST_CODE = 60, 4


def retries_for_one_failure(subject: Subject, params: Mapping[str, Any]) -> Iterator[Hit]:
    """Fewer retries than one failure takes where all ranks fall together.

    Values: ``pods``, ``restarted``, ``retries``, ``said``.
    """
    job, spec = subject.job, spec_of(subject.job)
    asking = [role for role in roles(job) if role.data.get("restartPolicy") in ("OnFailure", "Always")]
    if not asking or by_torchrun(job) or mode(job, "debug"):
        return
    types = {role.type for role in asking}
    restarted = sum(group.replicas for group in job.pods if group.role in types)
    retries, said = shared(spec, params["default"])
    if restarted > 1 and 0 < retries < restarted:
        asked: Path = (*asking[0].path, "restartPolicy")
        limit: Path = ("spec", "runPolicy", "backoffLimit")
        related = [(subject.doc, asked, "the replicas that are restarted")]
        values = {"pods": pods(job), "restarted": restarted, "retries": retries, "said": said}
        yield Hit(asked, values) if said else Hit(limit, values, related=related)


def by_torchrun(job: Job) -> bool:
    """Whether the controller starts a PyTorchTrainingJob by torchrun."""
    return mapping(spec_of(job), "torchrunConfig").get("enabled") is True


def shared(spec: Mapping[str, Any], default: int) -> tuple[int, str]:
    """The retries that all replicas share, and what to say of them where nobody wrote them."""
    limit = mapping(spec, "runPolicy").get("backoffLimit")
    return (limit, "") if isinstance(limit, int) else (default, ", the default of backoffLimit")


def template_restart_policy(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A restartPolicy inside the Pod template. Values: ``policy``, ``kind``, and ``instead`` of it."""
    kind = kind_of(subject.job)
    for role in roles(subject.job):
        policy = mapping(mapping(role.data, "template"), "spec").get("restartPolicy")
        if isinstance(policy, str) and policy != "Never":
            at: Path = (*role.path, "template", "spec", "restartPolicy")
            values = {
                "policy": policy,
                "kind": kind,
                "instead": INSTEAD.get(kind, "").replace("POLICY", policy),
            }
            # Pods get Never, whatever the template says; of the kinds in INSTEAD that is not documented.
            yield Hit(at, values, change=("remove", at, None), safe=kind not in INSTEAD)


def colossalai_restart(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A restart setting of a ColossalAIJob, which restarts nothing. Values: ``type``."""
    for role in roles(subject.job):
        policy = mapping(role.data, "restartPolicy")
        if policy.get("policy", "OnFailure") != "Never" and policy:
            where: Path = (*role.path, "restartPolicy")
            yield Hit(where, {"type": role.type}, change=("remove", where, None), safe=True)


def torchrun_never(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """Restarts by torchrun in replicas that are never restarted. Values: ``restarts``."""
    torchrun = mapping(spec_of(subject.job), "torchrunConfig")
    restarts = torchrun.get("maxRestarts")
    if torchrun.get("enabled") is not True or not isinstance(restarts, int) or restarts < 1:
        return
    for role in roles(subject.job):
        if role.data.get("restartPolicy") == "Never":
            at: Path = ("spec", "torchrunConfig", "maxRestarts")
            related = [(subject.doc, at, "the restarts of torchrun")]
            yield Hit((*role.path, "restartPolicy"), {"restarts": restarts}, related=related)


def shared_retries(subject: Subject, params: Mapping[str, Any]) -> Iterator[Hit]:
    """Fewer retries than Pods of torchrun that fail together. Values: ``retries``, ``said``, ``pods``."""
    job, number = subject.job, pods(subject.job)
    policies = {role.data.get("restartPolicy", "OnFailure") for role in roles(job)}
    retries, said = shared(spec_of(job), params["default"])
    if by_torchrun(job) and policies - {"Never"} and 0 < retries < number and not mode(job, "debug"):
        at = written(subject.data, "spec", "runPolicy", "backoffLimit")
        yield Hit(at, {"retries": retries, "said": said, "pods": number})


def restart_after_success(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """Replicas that are started again when they have completed. Values: ``type``, ``instead``."""
    rules = [rule for _, rule in entries(spec_of(subject.job), "successRules")]
    for role in roles(subject.job):
        if rules and not any(role.type in rule for rule in rules):
            continue  # a server, which is to run as long as the job
        policy = role.data.get("restartPolicy")
        named = mapping(role.data, "restartPolicy").get("policy", policy)
        if named == "Always":
            at: Path = (*role.path, "restartPolicy")
            yield Hit((*at, "policy") if named is not policy else at, {"type": role.type or "worker"})


def exit_code_not_restarted(subject: Subject, params: Mapping[str, Any]) -> Iterator[Hit]:
    """An exit code that asks for a restart, where ExitCode restarts only others. Values: ``name``, ``code``,
    ``codes``."""
    job = subject.job
    asking = {role.type: role for role in roles(job) if role.data.get("restartPolicy") == "ExitCode"}
    for group in job.pods if not mode(job, "debug") else ():
        found = training(group)
        if found is None or group.role not in asking:
            continue
        at: Path = (*asking[group.role].path, "restartPolicy")
        for name, code, path in _requeue_codes(found[1]):
            if code not in params["codes"]:
                values = {"name": name, "code": code, "codes": ", ".join(map(str, params["codes"]))}
                related = [(subject.doc, at, "the restart policy")]
                yield Hit(below(found[0], path), values, related, doc=group.doc, group=group)


def _requeue_codes(container: Mapping[str, Any]) -> Iterator[tuple[str, int, Path]]:
    """The exit codes that options and variables name for a restart."""
    for number, entry in entries(container, "env"):
        name, value = text(entry, "name"), text(entry, "value")
        if _asks_for_restart(name) and value.isdecimal() and len(value) < LONGEST_CODE:
            yield name, int(value), ("env", number, "value")
    for _, process in programs_of(container):
        for word, after in zip(process.words, (*process.words[1:], None), strict=False):
            name, equals, value = word.text.partition("=")
            if not _asks_for_restart(name):
                continue
            value = value if equals else after.text if after is not None else ""
            if value.isdecimal() and len(value) < LONGEST_CODE:
                yield name, int(value), word.place


def _asks_for_restart(name: str) -> bool:
    return len(name) <= LONGEST_NAME and _REQUEUE.fullmatch(name) is not None
