"""Retries that the restart policy never uses, on nodes that are taken away.

Source: https://github.com/t9k/ucman/blob/master/src/api/t9k-job/pytorchtrainingjob.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.lazy_regex import pattern
from podplan.core.provenance import Path
from podplan.core.typing import Any
from podplan.kubernetes.accessors import entries, mapping, text, texts
from podplan.lint.analysis.jobs import mode, roles, spec_of
from podplan.lint.analysis.launches import Launch, launches
from podplan.lint.target import Hit, Job, Subject

# Labels and taints of nodes that the provider takes back at any time.
_TAKEN_AWAY = pattern(
    r"(?:\A|.*[^a-z])(?:(?:gke)?spot|preemptible|preemptable|preemptive|interruptible)(?:[^a-z].*|\Z)"
)
LONGEST = 300


def retries_never_used(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """Retries beside the restart policy Never, on nodes that are taken away.

    Values: ``retries``, ``field``, ``nodes``.
    """
    job = subject.job
    if mode(job, "debug"):
        return
    limit = mapping(spec_of(job), "runPolicy").get("backoffLimit")
    shared = limit if isinstance(limit, int) else 0
    if shared and any(_policy(role.data) != "Never" for role in roles(job)):
        return
    for role in roles(job):
        policy, section = role.data.get("restartPolicy"), mapping(role.data, "restartPolicy")
        own = section.get("limit")
        retries = own if isinstance(own, int) and section else shared
        taken = _taken_away(mapping(mapping(role.data, "template"), "spec"))
        if _policy(role.data) != "Never" or retries < 1 or taken is None:
            continue
        at: Path = (*role.path, "restartPolicy")
        other: Path = (*at, "limit") if section else ("spec", "runPolicy", "backoffLimit")
        related = [
            (subject.doc, other, "the retries"),
            (subject.doc, (*role.path, "template", "spec", *taken[1]), "the nodes"),
        ]
        shown = "1 retry" if retries == 1 else f"{retries} retries"
        values = {"retries": shown, "field": str(other[-1]), "nodes": taken[0]}
        yield Hit((*at, "policy") if section else at, values, related)
        if policy == "Never":
            return  # one number for all types


def _policy(role: Mapping[str, Any]) -> str:
    """The restart policy of a replica type; "" where none is written."""
    return text(role, "restartPolicy") or text(mapping(role, "restartPolicy"), "policy")


def _taken_away(spec: Mapping[str, Any]) -> tuple[str, Path] | None:
    """What in a Pod says that its nodes are taken away, and where; None where nothing does."""
    for key, value in mapping(spec, "nodeSelector").items():
        if isinstance(value, str) and value.lower() != "false" and (_names(value) or _names(key)):
            return f"{key}: {value}", ("nodeSelector", key)
    affinity = mapping(mapping(spec, "affinity"), "nodeAffinity")
    required = mapping(affinity, "requiredDuringSchedulingIgnoredDuringExecution")
    for number, term in entries(required, "nodeSelectorTerms"):
        for at, expression in entries(term, "matchExpressions"):
            values = [value for _, value in texts(expression, "values")]
            key = text(expression, "key")
            is_chosen = text(expression, "operator") in ("In", "Exists") and "false" not in values
            if is_chosen and any(map(_names, [*values, key])):
                path: Path = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
                return f"{key} {', '.join(values)}".strip(), (
                    *path,
                    "nodeSelectorTerms",
                    number,
                    "matchExpressions",
                    at,
                )
    for number, toleration in entries(spec, "tolerations"):
        key, value = text(toleration, "key"), text(toleration, "value")
        if value.lower() != "false" and (_names(key) or _names(value)):
            return f"the taint {key}", ("tolerations", number)
    return None


def _names(label: str) -> bool:
    return len(label) <= LONGEST and _TAKEN_AWAY.fullmatch(label.lower()) is not None


def elastic_without_restarts(subject: Subject, params: Mapping[str, Any]) -> Iterator[Hit]:
    """A torchrun that takes a range of nodes and restarts nothing; values ``least``, ``most``.

    An agent counts the failure of its processes as a restart also where another node was lost
    (https://github.com/pytorch/pytorch/blob/v2.9.0/torch/distributed/elastic/agent/server/api.py,
    ``_invoke_run``); only nodes that join are free.
    """
    job = subject.job
    if mode(job, "debug"):
        return
    for launch in launches(job):
        facts = launch.torchrun
        if facts is None or facts.nodes is None or not facts.line.sure or launch.invocation.conditional:
            continue
        least, most = facts.nodes
        said = "max_restarts" in facts.given
        if (
            least == most
            or facts.max_restarts != 0
            or not said
            or _restarted(job, launch, most, params["default"])
        ):
            continue
        place = launch.place(facts.where("max_restarts", facts.where("nnodes", launch.invocation.word)))
        related = [
            (launch.group.doc, launch.place(facts.where("nnodes", launch.invocation.word)), "the nodes")
        ]
        values = {"least": least, "most": most}
        yield Hit(place, values, related, doc=launch.group.doc, group=launch.group)
        return


def _restarted(job: Job, launch: Launch, nodes: int, default: int) -> bool:
    """Whether the controller starts all nodes again, which fail together when one is lost."""
    role = next((role for role in roles(job) if role.type == launch.group.role), None)
    if role is None or _policy(role.data) not in ("OnFailure", "Always"):
        return False
    own = mapping(role.data, "restartPolicy")
    limit = own.get("limit") if own else mapping(spec_of(job), "runPolicy").get("backoffLimit", default)
    return isinstance(limit, int) and limit >= nodes
