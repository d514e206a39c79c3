"""A TrainJob with its runtime on its way to a JobSet: its names and the template with the patches."""

from __future__ import annotations

from podplan.core.provenance import Cause, Cursor, attribute_to, build_traced_document, root_cursor
from podplan.core.replica_groups import UID_FLAG, LoweringOptions
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.common.merge import drop_absent, merge_tree
from podplan.kinds.trainer import behaviors
from podplan.kinds.trainer.job_set_template import NODE, TracedMap

GENERATED_SUFFIX = "xxxxx"


class TrainJob(NamedTuple):
    """A TrainJob with its runtime, and the template of its JobSet with the patches."""

    cr: Cursor
    spec: Cursor
    name: str
    name_causes: tuple[Cause, ...]
    namespace: str
    runtime: Cursor
    template: Cursor
    options: LoweringOptions

    @property
    def trainer(self) -> Cursor:
        return self.spec.get("trainer")

    @property
    def policy(self) -> Cursor:
        return self.runtime.get("spec", "mlPolicy")

    @property
    def coordinator(self) -> str:
        """The host that the variables name, whatever the runtime says about its network."""
        return f"{self.name}-{NODE}-0-0.{self.name}"


def build_train_job(cr: Cursor, runtime: Cursor, options: LoweringOptions) -> TrainJob:
    """The TrainJob with the template of its runtime, patches applied."""
    metadata = cr.get("metadata")
    name, prefix = metadata.get("name"), metadata.get("generateName")
    text = str(name.value_or(f"{prefix.value}{GENERATED_SUFFIX}" if prefix.exists else ""))
    namespace = str(metadata.get("namespace").value_or("default"))
    template = _apply_patches(cr, runtime.get("spec", "template"))
    causes = (name if name.exists else prefix,)
    return TrainJob(cr, cr.get("spec"), text, causes, namespace, runtime, template, options)


def _apply_patches(cr: Cursor, template: Cursor) -> Cursor:
    patches = [
        one.get("trainingRuntimeSpec", "template") for one in cr.get("spec", "runtimePatches").entries()
    ]
    if not any(one.exists for one in patches):
        return template
    for number, patch in enumerate(patches):
        tree = attribute_to((template, behaviors.PATCH), _apply_patch(template, patch))
        template = root_cursor(build_traced_document(tree, f"runtime with patch {number}"))
    return template


def _apply_patch(template: Cursor, patch: Cursor) -> TracedMap:
    fields: TracedMap = dict(template.fields())
    if patch.get("metadata").exists:
        fields["metadata"] = merge_tree(
            fields.get("metadata", attribute_to(patch, {})), patch.get("metadata")
        )
    patched = {one.get("name").value: one for one in patch.get("spec", "replicatedJobs").entries()}
    if not patched:
        return fields
    jobs: list[Any] = []
    for job in template.get("spec", "replicatedJobs").entries():
        overlay = patched.pop(job.get("name").value, None)
        jobs.append(merge_tree(job, overlay) if overlay is not None else job)
    spec = {**template.get("spec").fields(), "replicatedJobs": [*jobs, *patched.values()]}
    return {**fields, "spec": attribute_to(template.get("spec"), spec)}


def build_metadata(train_job: TrainJob, name: str, **fields: Any) -> TracedMap:
    """The metadata of an object that the TrainJob owns."""
    cr = train_job.cr
    uid = cr.get("metadata", "uid")
    options = train_job.options
    traced_uid = attribute_to(UID_FLAG, options.uid) if options.uid and not uid.exists else uid
    tree: TracedMap = {
        "name": attribute_to((*train_job.name_causes, behaviors.JOBSET), name),
        "namespace": cr.get("metadata", "namespace"),
        **fields,
    }
    if traced_uid.value:
        owner = {
            "apiVersion": cr["apiVersion"],
            "kind": cr["kind"],
            "name": train_job.name,
            "uid": traced_uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
        tree["ownerReferences"] = [attribute_to((behaviors.OWNER, *train_job.name_causes), owner)]
    return drop_absent(tree)
