"""What happens when a replica ends: restart policies, and the retries that all replicas share.

Sources: t9k-semantics §1.3 and §1.4; lowering-anchors §4.1, row 18.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.findings import Path
from podplan.kubernetes.shape import mapping
from podplan.lint.checks._jobs import kind_of, mode, pods, roles, spec_of, written
from podplan.lint.subject import Hit, Job, Subject
from podplan.typing import Any

INSTEAD = {
    "ColossalAIJob": "leave it out: a ColossalAIJob restarts no Pod",
    "GenericJob": "write restartPolicy: {policy: POLICY, limit: 3} beside the template instead",
}


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
