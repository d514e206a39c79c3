"""What happens when a replica ends: restart policies, and the retries that all replicas share.

Sources: t9k-semantics §1.3 and §1.4; lowering-anchors §4.1, row 18.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from podplan.findings import Path
from podplan.kubernetes.shape import mapping
from podplan.lint.checks._jobs import mode, pods, roles, spec_of, training_pods, written
from podplan.lint.subject import Hit, Subject


def static_ranks_restarted(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """Replicas with fixed ranks that are restarted one by one. Values: ``policy``, ``pods``."""
    job, spec = subject.job, spec_of(subject.job)
    number = pods(job)
    if number < 2 or mapping(spec, "torchrunConfig").get("enabled") is True or mode(job, "debug"):
        return
    if mapping(spec, "runPolicy").get("backoffLimit") == 0:
        return
    for role in roles(job):
        policy = role.data.get("restartPolicy")
        if isinstance(policy, str) and policy != "Never":
            yield Hit((*role.path, "restartPolicy"), {"policy": policy, "pods": number})


def template_restart_policy(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A restartPolicy inside the Pod template, which becomes Never. Values: ``policy``."""
    for role in roles(subject.job):
        policy = mapping(mapping(role.data, "template"), "spec").get("restartPolicy")
        if isinstance(policy, str) and policy != "Never":
            at: Path = (*role.path, "template", "spec", "restartPolicy")
            yield Hit(at, {"policy": policy})


def colossalai_restart(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A restart setting of a ColossalAIJob, which restarts nothing. Values: ``type``."""
    for role in roles(subject.job):
        policy = mapping(role.data, "restartPolicy")
        if policy.get("policy", "OnFailure") != "Never" and policy:
            yield Hit((*role.path, "restartPolicy"), {"type": role.type})


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
    """Fewer retries than replicas that fail together. Values: ``retries``, ``said``, ``pods``."""
    job = subject.job
    number = sum(group.replicas for group in training_pods(job))
    policies = {role.data.get("restartPolicy", "OnFailure") for role in roles(job)}
    limit = mapping(spec_of(job), "runPolicy").get("backoffLimit")
    retries = limit if isinstance(limit, int) else params["default"]
    if number > 1 and policies - {"Never"} and 0 < retries < number and not mode(job, "debug"):
        at = written(subject.data, "spec", "runPolicy", "backoffLimit")
        said = "" if limit is not None else ", the default,"
        yield Hit(at, {"retries": retries, "said": said, "pods": number})
