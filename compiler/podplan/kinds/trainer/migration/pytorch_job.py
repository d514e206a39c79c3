"""From a PyTorchJob to a TrainJob, with a runtime of the repository or one of its own.

What the controllers do: docs/evidence/training-operator.md and docs/evidence/trainer.md; what follows for
each field: docs/evidence/trainer.md#migration.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import value_at
from podplan.core.path_syntax import format_path
from podplan.core.structural_diff import ABSENT, DiffRules, index_by_place, iter_changes
from podplan.core.typing import Any
from podplan.kinds.conversion import Conversion, ConversionInput, Copied, Decision, Replaced
from podplan.kinds.kubeflow.pytorch_job.constants import KIND
from podplan.kinds.trainer.job_set_template import NODE
from podplan.kinds.trainer.migration.own_runtime import (
    API_VERSION,
    build_runtime,
    find_needs,
    find_volcano_queue,
)
from podplan.kinds.trainer.migration.run_policy import build_run_policy, decide_run_policy
from podplan.kinds.trainer.migration.runtimes import (
    CLUSTER_KIND,
    CONTAINER_PATCHES,
    NAMESPACED_KIND,
    POD_PATCHES,
    describe_reasons,
    find_runtime,
)
from podplan.kinds.trainer.migration.source_job import (
    CONTAINER,
    SPECS_PATH,
    SourceJob,
    list_own_ports,
    list_types,
)
from podplan.kinds.trainer.migration.variables import build_variables, find_processes
from podplan.kinds.trainer.pod_group import QUEUE_ANNOTATION

MANAGER = "podplan/migrate"


def convert(source: ConversionInput) -> Conversion:
    """The TrainJob of a PyTorchJob that its schema accepts."""
    cr = source.cr.data
    types = list_types(cr)
    differing = list(_iter_template_differences(types))
    if differing:
        return Conversion(None, decisions=tuple(differing), reason="its Master and its Worker differ")
    main = "Master" if "Master" in types else "Worker"
    containers = types[main]["template"]["spec"]["containers"]
    index = next(at for at, one in enumerate(containers) if one.get("name") == CONTAINER)
    nodes = sum(int(one.get("replicas") or 1) for one in types.values())
    job = SourceJob(cr, source, (*SPECS_PATH, main), index, nodes)
    decisions: list[Decision] = []
    trainer = _build_trainer(job, decisions)
    needs = find_needs(job, decisions)
    found = find_runtime(needs, job.namespace, source.documents)
    template: dict[str, Any] = {}
    added: tuple[Mapping[str, Any], ...] = ()
    queue = find_volcano_queue(job)
    if found.doc is None:
        name = f"{job.name or str(cr['metadata'].get('generateName')).rstrip('-')}-runtime"
        reference = {"kind": NAMESPACED_KIND, "name": name}
        added = (build_runtime(job, needs, name, queue),)
        why = describe_reasons(found.reasons) or "the repository has none"
        decisions.append(
            Decision(("spec",), "same", f"a TrainingRuntime of its own, as no runtime fits: {why}")
        )
    else:
        kind, name = found.doc.data["kind"], str(found.doc.data["metadata"]["name"])
        reference = {"name": name} if kind == CLUSTER_KIND else {"kind": kind, "name": name}
        template = _build_patch(job, queue)
        decisions.append(Decision(("spec",), "same", f"{kind} {name} fits"))
    runtime = found.doc.data if found.doc is not None else None
    decisions += decide_run_policy(job, runtime, needs)
    spec: dict[str, Any] = {"runtimeRef": reference, "trainer": trainer}
    if template:
        spec["runtimePatches"] = [{"manager": MANAGER, "trainingRuntimeSpec": {"template": template}}]
    spec |= build_run_policy(job)
    document = {
        "apiVersion": API_VERSION,
        "kind": "TrainJob",
        **{key: Copied((key,)) for key in cr if key not in ("apiVersion", "kind", "spec", "status")},
        "spec": spec,
    }
    return Conversion(document, added, tuple(_sort_decisions(decisions)))


def _sort_decisions(decisions: list[Decision]) -> list[Decision]:
    order = ("lost", "changed", "same")
    return sorted(decisions, key=lambda one: order.index(one.outcome))


def _iter_template_differences(types: Mapping[str, Any]) -> Iterator[Decision]:
    """Yield the differences of Master and Worker: a TrainJob has one template for all nodes."""
    if len(types) < 2:
        return
    first, second = types["Master"], types["Worker"]
    sides = [
        {
            "restartPolicy": one.get("restartPolicy") or KIND.restart_policy,
            "template": _normalize(one["template"]),
        }
        for one in (first, second)
    ]
    rules = DiffRules(lambda _, old, new: index_by_place(old, new))
    for change in iter_changes(sides[0], sides[1], rules):
        path = (*SPECS_PATH, "Worker", *change.new_path)
        side, steps = (sides[1], change.new_path) if change.new is not ABSENT else (sides[0], change.old_path)
        where = format_path(side, steps).removeprefix("template.")
        yield Decision(path, "lost", f"make {where} of Master and Worker equal: a TrainJob has one template")


def _normalize(template: Mapping[str, Any]) -> dict[str, Any]:
    """A template without what the operator replaces, and without the port that it adds."""
    data: dict[str, Any] = dict(template)
    spec = dict(data.get("spec") or {})
    spec.pop("restartPolicy", None)
    spec["containers"] = [
        {key: value for key, value in one.items() if key != "ports" or list_own_ports(one)}
        for one in spec.get("containers") or ()
    ]
    return {**data, "spec": spec}


def _build_trainer(job: SourceJob, decisions: list[Decision]) -> dict[str, Any]:
    """``spec.trainer``; it is never empty, so that Trainer sets its variables."""
    container, path = job.container, job.container_path
    trainer: dict[str, Any] = {"numNodes": Replaced((*SPECS_PATH, "Worker", "replicas"), job.nodes)}
    processes = find_processes(job, decisions)
    if processes is not None:
        trainer["numProcPerNode"] = Replaced(("spec", "nprocPerNode"), processes)
    trainer |= {key: Copied((*path, key)) for key in ("image", "command", "args") if container.get(key)}
    variables = build_variables(job, decisions)
    if variables:
        trainer["env"] = [one.entry for one in variables]
    if container.get("resources"):
        trainer["resourcesPerNode"] = Copied((*path, "resources"))
    return trainer


def _build_patch(job: SourceJob, queue: str) -> dict[str, Any]:
    """The template of a runtime patch: what a TrainJob changes in the Pods of its runtime."""
    pod, container = value_at(job.cr, job.pod_path), job.container
    metadata = value_at(job.cr, job.template_path).get("metadata") or {}
    pod_spec: dict[str, Any] = {key: Copied((*job.pod_path, key)) for key in POD_PATCHES if pod.get(key)}
    own = {
        key: Copied((*job.container_path, key))
        for key in CONTAINER_PATCHES
        if key != "env" and container.get(key)
    }
    if own:
        pod_spec["containers"] = [{"name": NODE, **own}]
    pod_template: dict[str, Any] = {}
    if metadata.get("labels") or metadata.get("annotations"):
        pod_template["metadata"] = {
            key: Copied((*job.template_path, "metadata", key))
            for key in ("labels", "annotations")
            if metadata.get(key)
        }
    if pod_spec:
        pod_template["spec"] = pod_spec
    template: dict[str, Any] = {}
    if queue:
        template["metadata"] = {"annotations": {QUEUE_ANNOTATION: queue}}
    if pod_template:
        template["spec"] = {
            "replicatedJobs": [{"name": NODE, "template": {"spec": {"template": pod_template}}}]
        }
    return template
