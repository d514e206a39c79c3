"""How a job grows, how long it lasts and what it leaves behind.

Sources: docs/evidence/t9k-common.md#clean-up-policy, docs/evidence/t9k-common.md#debug-mode,
docs/evidence/t9k-pytorchtrainingjob.md#elastic-only-under-torchrun,
docs/evidence/t9k-pytorchtrainingjob.md#elastic-bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.provenance import Doc
from podplan.core.typing import Any
from podplan.kubernetes.accessors import mapping
from podplan.lint.analysis.jobs import (
    SSH_KINDS,
    counted,
    gpu_pods,
    gpus,
    kind_of,
    mode,
    roles,
    spec_of,
    strangers,
    total,
    training_pods,
    written,
)
from podplan.lint.analysis.launches import launches
from podplan.lint.checks.restarts import by_torchrun
from podplan.lint.target import Hit, Subject

ELASTIC: Path = ("spec", "elastic")
# From the smallest to the largest: as CRs call them, and as profiles do.
ELASTIC_FIELDS = {
    "minReplicas": "elastic.min",
    "expectedReplicas": "elastic.replicas",
    "maxReplicas": "elastic.max",
}


def elastic_bounds(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """Bounds of an elastic job that contradict each other. Values: ``what``, ``fields`` in their order."""
    elastic = mapping(spec_of(subject.job), "elastic")
    if elastic.get("enabled") is not True:
        return
    least, expected, most = ELASTIC_FIELDS
    empty = [field for field in ELASTIC_FIELDS if isinstance(elastic.get(field), int) and elastic[field] < 1]
    for field in empty:
        what = f"{_called(subject, field)} is {elastic[field]}, and a job has at least 1 replica"
        yield _bound(subject, field, what, [])
    for low, high, compared in (
        (least, most, "above"),
        (least, expected, "below"),
        (expected, most, "above"),
    ):
        smaller, larger = elastic.get(low), elastic.get(high)
        if low in empty or high in empty:
            continue
        if isinstance(smaller, int) and isinstance(larger, int) and smaller > larger:
            field, other = (low, high) if compared == "above" else (high, low)
            said = f"{_called(subject, field)} {elastic[field]} is {compared} "
            what = f"{said}{_called(subject, other)} {elastic[other]}"
            yield _bound(subject, field, what, [(subject.doc, (*ELASTIC, other), "the other bound")])
            break


def elastic_missing_bounds(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """An elastic section that lacks numbers, so that replicas counts. Value ``what``."""
    job = subject.job
    elastic = mapping(spec_of(job), "elastic")
    if elastic.get("enabled") is not True or not (by_torchrun(job) or kind_of(job) == "DeepSpeedJob"):
        return
    least, expected, most = (_called(subject, field) for field in ELASTIC_FIELDS)
    count = sum(number for role in roles(job) if isinstance(number := role.data.get("replicas", 1), int))
    if "expectedReplicas" not in elastic and roles(job):
        side, bound = _outside(elastic, count)
        if bound:
            what = (
                f"the job has {counted(count, 'replica')}, {side} {_called(subject, bound)} "
                f"{elastic[bound]}; {expected} is not set, so replicas counts"
            )
            related = [(subject.doc, (*ELASTIC, bound), "the bound")]
            path = written(subject.data, *roles(job)[0].path, "replicas")
            yield Hit(path, {"what": what}, related)
            return
    created = counted(elastic.get("expectedReplicas", count), "replica")
    effects = {
        "minReplicas": f"{least} is not set, so the job does not start with fewer than its {created}",
        "maxReplicas": f"{most} is not set, so the job does not grow above its {created}",
    }
    missing = [effect for field, effect in effects.items() if field not in elastic]
    if len(missing) > 1:
        missing = [f"{least} and {most} are not set, so the job keeps its {created}"]
    for what in missing:
        yield Hit((*ELASTIC, "enabled"), {"what": what})


def _outside(elastic: Mapping[str, Any], count: int) -> tuple[str, str]:
    """On which side of which bound a number of replicas is; empty where it is within them."""
    least, most = elastic.get("minReplicas"), elastic.get("maxReplicas")
    if isinstance(least, int) and count < least:
        return "below", "minReplicas"
    if isinstance(most, int) and count > most:
        return "above", "maxReplicas"
    return "", ""


def _called(subject: Subject, field: str) -> str:
    """A field of the elastic section as it is called where people write it: in a profile or in a CR."""
    return ELASTIC_FIELDS[field] if subject.job.profile is not None else field


def _bound(subject: Subject, field: str, what: str, related: list[tuple[Doc, Path, str]]) -> Hit:
    fields = " ≤ ".join(("1", *(_called(subject, field) for field in ELASTIC_FIELDS)))
    return Hit((*ELASTIC, field), {"what": what, "fields": fields}, related)


def elastic_without_effect(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """An elastic PyTorchTrainingJob that torchrun does not start."""
    spec = spec_of(subject.job)
    if mapping(spec, "elastic").get("enabled") is True and not by_torchrun(subject.job):
        yield Hit((*ELASTIC, "enabled"))


def elastic_static(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """An elastic job whose nodes meet in a static rendezvous. Value ``nodes``: how many it waits for."""
    job = subject.job
    if mapping(spec_of(job), "elastic").get("enabled") is not True or not by_torchrun(job):
        return
    for launch in launches(job):
        facts = launch.torchrun
        if facts is not None and facts.backend == "static" and facts.nodes is not None:
            path = launch.place(facts.where("rdzv_backend", launch.invocation.word))
            related = [(subject.doc, ELASTIC, "the elastic section")]
            values = {"nodes": counted(facts.nodes[1], "node")}
            yield Hit(path, values, related, doc=launch.group.doc, group=launch.group)
            return


def elastic_replicas(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """Replicas that an elastic job does not have. Values: ``written``, ``field``, ``expected``."""
    spec = spec_of(subject.job)
    expected = mapping(spec, "elastic").get("expectedReplicas")
    torchrun = by_torchrun(subject.job)
    if mapping(spec, "elastic").get("enabled") is not True or not isinstance(expected, int):
        return
    counted = [role for role in roles(subject.job) if isinstance(role.data.get("replicas"), int)]
    number = sum(role.data["replicas"] for role in counted)
    if counted and number != expected and (torchrun or kind_of(subject.job) == "DeepSpeedJob"):
        related = [(subject.doc, (*ELASTIC, "expectedReplicas"), "what counts instead")]
        field = _called(subject, "expectedReplicas")
        values = {"written": number, "expected": expected, "field": field}
        where = (*counted[0].path, "replicas")
        change = ("set", where, expected) if len(counted) == 1 else None
        yield Hit(where, values, related=related, change=change, safe=True)


def leaves_gpus(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """Pods with GPUs that run sshd and go on when the job has ended.

    Values: ``pods``, ``gpus``, ``field``: what to set, and ``value``: to what.
    """
    if kind_of(subject.job) in SSH_KINDS:
        yield from _left(subject)


def leaves_waiting(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """Replicas with GPUs that know each other, that nobody ends, and that end by themselves if nothing fails.

    Values: as of ``leaves_gpus``.
    """
    if kind_of(subject.job) not in SSH_KINDS and not strangers(subject.job):
        yield from _left(subject)


def _left(subject: Subject) -> Iterator[Hit]:
    """Pods with GPUs that the clean-up of a job leaves running."""
    job, spec = subject.job, spec_of(subject.job)
    if mode(job, "debug"):
        return
    with_gpus = gpu_pods(job)
    left = [group for group in training_pods(job) if group in with_gpus]
    number, together = total(left)
    if kind_of(job) == "DeepSpeedJob" and left:  # worker-0 runs deepspeed, and ends with it
        number, together = number - 1, together - gpus(left[0])
    if kind_of(job) == "ColossalAIJob":
        at: Path = ("spec", "runPolicy", "cleanUpWorkers")
        field, value, kept = "runPolicy.cleanUpWorkers", "true", number > 0
        kept = kept and mapping(spec, "runPolicy").get("cleanUpWorkers") is not True
    else:
        within = () if kind_of(job) == "GenericJob" else ("runPolicy",)
        section = mapping(spec, "runPolicy") if within else spec
        at = ("spec", *within, "cleanUpPolicy")
        field, value = ".".join((*within, "cleanUpPolicy")), "Unfinished"
        kept = (
            number > (0 if kind_of(job) == "DeepSpeedJob" else 1)
            and section.get("cleanUpPolicy", "None") == "None"
        )
    if kept:
        held = {"pods": counted(number, "Pod"), "gpus": counted(together, "GPU")}
        yield Hit(written(subject.data, *at), {**held, "field": field, "value": value})


def debug_holds_gpus(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """Debug mode with GPUs. Values: ``pods``, ``gpus``."""
    if not mode(subject.job, "debug"):
        return
    number, together = total(gpu_pods(subject.job))
    if together:
        held = {"pods": counted(number, "Pod"), "gpus": counted(together, "GPU")}
        yield Hit(("spec", "runMode", "debug", "enabled"), held)


def debug_without_deadline(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """Debug mode with GPUs in several Pods that no deadline ends. Values: ``pods``, ``gpus``."""
    job = subject.job
    if not mode(job, "debug") or mode(job, "pause"):
        return
    holders = gpu_pods(job)
    number, together = total(holders)
    is_limited = mapping(spec_of(job), "runPolicy").get("activeDeadlineSeconds") is not None or any(
        mapping(group.doc.data, "spec").get("activeDeadlineSeconds") is not None for group in holders
    )
    if number > 1 and together and not is_limited:
        held = {"pods": counted(number, "Pod"), "gpus": counted(together, "GPU")}
        yield Hit(("spec", "runMode", "debug", "enabled"), held)


def deadline_in_pod_template(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A deadline of the Pods of a job that has none itself. Values: ``seconds``, ``type``."""
    job = subject.job
    if mapping(spec_of(job), "runPolicy").get("activeDeadlineSeconds") is not None:
        return
    for role in roles(job):
        seconds = mapping(mapping(role.data, "template"), "spec").get("activeDeadlineSeconds")
        if seconds is not None:
            path = (*role.path, "template", "spec", "activeDeadlineSeconds")
            yield Hit(path, {"seconds": seconds, "type": role.type})


def no_deadline(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A job with GPUs that may run for ever. Values: ``gpus``."""
    deadline = mapping(spec_of(subject.job), "runPolicy").get("activeDeadlineSeconds")
    if deadline is not None or mode(subject.job, "debug"):
        return
    _, together = total(gpu_pods(subject.job))
    if together:
        yield Hit(written(subject.data, "spec", "runPolicy"), {"gpus": counted(together, "GPU")})
