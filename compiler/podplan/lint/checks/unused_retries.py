"""Retries that the restart policy never uses.

Source: https://github.com/t9k/ucman/blob/master/src/api/t9k-job/pytorchtrainingjob.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import Path
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts
from podplan.lint.analysis.jobs import get_replica_specs, is_mode_enabled, spec_of
from podplan.lint.analysis.launches import ContainerLaunch, find_launches
from podplan.lint.analysis.script_options import PlacedOption, list_program_options
from podplan.lint.checks.lost_progress import RESUMES
from podplan.lint.checks.registration import COUNT, check, object_schema
from podplan.lint.target import LoweredJob, Target, Violation

# Labels and taints of preemptible nodes.
_TAKEN_AWAY = compile_lazily(
    r"(?:\A|.*[^a-z])(?:(?:gke)?spot|preemptible|preemptable|preemptive|interruptible)(?:[^a-z].*|\Z)"
)
_QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
LONGEST = 300
MANY_RETRIES = 7  # of backoffLimit, which is 6 by default in a Job
_SEVERAL_RETRIES = 5  # of backoffLimit, which is 3 by default in the kinds of T9k
_FROM_LAST = ("auto", "latest", "last", "true", "1", "yes")


@check()
def retries_never_used(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Retries with the restart policy Never. Values: ``retries``, ``field``, ``when``.

    Few retries for the whole job may be left over; a limit beside the policy is always meant.
    """
    job = subject.job
    if is_mode_enabled(job, "debug"):
        return
    limit = get_mapping(spec_of(job), "runPolicy").get("backoffLimit")
    shared = limit if isinstance(limit, int) else 0
    if shared and any(_policy(role.data) != "Never" for role in get_replica_specs(job)):
        return
    for role in get_replica_specs(job):
        policy, section = role.data.get("restartPolicy"), get_mapping(role.data, "restartPolicy")
        own = section.get("limit")
        retries = own if isinstance(own, int) and section else shared
        taken = _taken_away(get_mapping(get_mapping(role.data, "template"), "spec"))
        place: Path = (*role.path, "template", "spec", *taken[1]) if taken is not None else ()
        if taken is None:
            taken = _find_queue(job)
            place = taken[1] if taken is not None else ()
        resumed = next(_iter_resuming(job), None) if retries >= _SEVERAL_RETRIES else None
        least = 1 if section else MANY_RETRIES
        is_meant = taken is not None or resumed is not None or retries >= least
        if _policy(role.data) != "Never" or retries < 1 or not is_meant:
            continue
        at: Path = (*role.path, "restartPolicy")
        other: Path = (*at, "limit") if section else ("spec", "runPolicy", "backoffLimit")
        related = [(subject.doc, other, "the retries")]
        if taken is not None:
            related.append((subject.doc, place, "the nodes"))
        elif resumed is not None:
            related.append((resumed.doc, resumed.path, "for a restart"))
        when = f"the first node is reclaimed ({taken[0]})" if taken is not None else "the first replica fails"
        shown = "1 retry" if retries == 1 else f"{retries} retries"
        values = {"retries": shown, "field": str(other[-1]), "when": when}
        yield Violation((*at, "policy") if section else at, values, related)
        if policy == "Never":
            return  # one number for all types


def _iter_resuming(job: LoweredJob) -> Iterator[PlacedOption]:
    """Yield the options with which a restarted program finds its last checkpoint itself."""
    for launch in find_launches(job):
        for placed in list_program_options(job, launch):
            one = placed.option
            is_last = one.known and (one.value is None or one.value.lower() in _FROM_LAST)
            if is_last and RESUMES.fullmatch(one.last):
                yield placed


def _policy(role: Mapping[str, Any]) -> str:
    """Return the restart policy of a replica type; "" if none is stated."""
    return get_text(role, "restartPolicy") or get_text(get_mapping(role, "restartPolicy"), "policy")


def _find_queue(job: LoweredJob) -> tuple[str, Path] | None:
    """Return the queue of a job that is named after preemptible nodes, and its path; None for others."""
    queue = get_text(get_mapping(get_mapping(spec_of(job), "scheduler"), "t9kScheduler"), "queue")
    if queue and _names(queue):
        return f"the queue {queue}", ("spec", "scheduler", "t9kScheduler", "queue")
    labels = get_mapping(get_mapping(job.cr.data if job.cr is not None else {}, "metadata"), "labels")
    queue = get_text(labels, _QUEUE_LABEL)
    return (f"the queue {queue}", ("metadata", "labels", _QUEUE_LABEL)) if _names(queue) else None


def _taken_away(spec: Mapping[str, Any]) -> tuple[str, Path] | None:
    """Return the label or taint of preemptible nodes in a Pod, and its path; None if it has none."""
    for key, value in get_mapping(spec, "nodeSelector").items():
        if isinstance(value, str) and value.lower() != "false" and (_names(value) or _names(key)):
            return f"{key}: {value}", ("nodeSelector", key)
    affinity = get_mapping(get_mapping(spec, "affinity"), "nodeAffinity")
    required = get_mapping(affinity, "requiredDuringSchedulingIgnoredDuringExecution")
    for number, term in get_entries(required, "nodeSelectorTerms"):
        for at, expression in get_entries(term, "matchExpressions"):
            values = [value for _, value in get_texts(expression, "values")]
            key = get_text(expression, "key")
            is_chosen = get_text(expression, "operator") in ("In", "Exists") and "false" not in values
            if is_chosen and any(map(_names, [*values, key])):
                path: Path = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
                return f"{key} {', '.join(values)}".strip(), (
                    *path,
                    "nodeSelectorTerms",
                    number,
                    "matchExpressions",
                    at,
                )
    for number, toleration in get_entries(spec, "tolerations"):
        key, value = get_text(toleration, "key"), get_text(toleration, "value")
        if value.lower() != "false" and (_names(key) or _names(value)):
            return f"the taint {key}", ("tolerations", number)
    return None


def _names(label: str) -> bool:
    return len(label) <= LONGEST and _TAKEN_AWAY.fullmatch(label.lower()) is not None


@check(params=object_schema({"default": COUNT}))
def elastic_without_restarts(subject: Target, params: Mapping[str, Any]) -> Iterator[Violation]:
    """A torchrun with a range of nodes and without restarts; values ``least``, ``most``.

    An agent counts the failure of its processes as a restart also where another node was lost
    (https://github.com/pytorch/pytorch/blob/v2.9.0/torch/distributed/elastic/agent/server/api.py,
    ``_invoke_run``); only nodes that join are free.
    """
    job = subject.job
    if is_mode_enabled(job, "debug"):
        return
    for launch in find_launches(job):
        facts = launch.torchrun
        if (
            facts is None
            or facts.node_range is None
            or not facts.command_line.is_certain
            or launch.invocation.is_conditional
        ):
            continue
        least, most = facts.node_range
        said = "max_restarts" in facts.value_origins
        if (
            least == most
            or facts.max_restarts != 0
            or not said
            or _restarts_all_nodes(job, launch, most, params["default"])
        ):
            continue
        place = launch.locate_word(
            facts.find_option_word(
                "max_restarts", facts.find_option_word("nnodes", launch.invocation.program_word)
            )
        )
        related = [
            (
                launch.group.doc,
                launch.locate_word(facts.find_option_word("nnodes", launch.invocation.program_word)),
                "the nodes",
            )
        ]
        values = {"least": least, "most": most}
        yield Violation(place, values, related, doc=launch.group.doc, group=launch.group)
        return


def _restarts_all_nodes(job: LoweredJob, launch: ContainerLaunch, nodes: int, default: int) -> bool:
    """Whether the controller restarts all nodes, which fail together when one is lost."""
    role = next((role for role in get_replica_specs(job) if role.type == launch.group.replica_type), None)
    if role is None or _policy(role.data) not in ("OnFailure", "Always"):
        return False
    own = get_mapping(role.data, "restartPolicy")
    limit = own.get("limit") if own else get_mapping(spec_of(job), "runPolicy").get("backoffLimit", default)
    return isinstance(limit, int) and limit >= nodes
