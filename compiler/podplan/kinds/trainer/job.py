"""A TrainJob with its runtime on its way to a JobSet: its names and the template with the patches."""

from __future__ import annotations

from podplan.core.provenance import Cause, Cursor, attribute_to, build_traced_document, root_cursor
from podplan.core.replica_groups import UID_FLAG, LoweringOptions
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.common.merge import drop_absent, merge_tree
from podplan.kinds.trainer import behaviors
from podplan.kinds.trainer.job_set_template import NODE, TracedMap
from podplan.kinds.trainer.versions import DEFAULT_VERSION, VERSIONS, Version

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
    def version(self) -> Version:
        return VERSIONS[self.options.find_operator_version(DEFAULT_VERSION)]

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
    template = runtime.get("spec", "template")
    causes = (name if name.exists else prefix,)
    train_job = TrainJob(cr, cr.get("spec"), text, causes, namespace, runtime, template, options)
    return train_job._replace(template=_apply_patches(train_job))


def _apply_patches(train_job: TrainJob) -> Cursor:
    """The template of the JobSet with what the TrainJob changes in it.

    Each patch makes a document with the paths of the runtime, so that a value leads to the patch or past it.
    """
    template, has_patches = train_job.template, train_job.version.has_patches
    patches = train_job.spec.get("runtimePatches" if has_patches else "podTemplateOverrides").entries()
    for number, patch in enumerate(patches):
        if has_patches and not patch.get("trainingRuntimeSpec", "template").exists:
            continue
        fields = _apply_patch(train_job, template, patch) if has_patches else _apply_override(template, patch)
        patched = attribute_to((template, behaviors.PATCH), fields)
        tree = attribute_to((train_job.runtime, behaviors.PATCH), {"spec": {"template": patched}})
        document = build_traced_document(tree, f"runtime with patch {number}")
        template = root_cursor(document).get("spec", "template")
    return template


def _apply_patch(train_job: TrainJob, template: Cursor, entry: Cursor) -> TracedMap:
    patch = entry.get("trainingRuntimeSpec", "template")
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
    added = patched.values() if train_job.version.adds_patched_jobs else ()
    return _replace_jobs(fields, template, [*jobs, *added])


def _apply_override(template: Cursor, override: Cursor) -> TracedMap:
    """The template with an entry of podTemplateOverrides, which has the names of its jobs."""
    names = [one.get("name").value for one in override.get("targetJobs").entries()]
    jobs: list[Any] = []
    for job in template.get("spec", "replicatedJobs").entries():
        if job.get("name").value not in names:
            jobs.append(job)
            continue
        pod = job.get("template", "spec", "template")
        changed: TracedMap = dict(pod.fields())
        for field in ("metadata", "spec"):
            if override.get(field).exists:
                changed[field] = merge_tree(
                    changed.get(field, attribute_to(override, {})), override.get(field)
                )
        spec = {**job.get("template", "spec").fields(), "template": attribute_to(pod, changed)}
        job_template = {
            **job.get("template").fields(),
            "spec": attribute_to(job.get("template", "spec"), spec),
        }
        jobs.append(
            attribute_to(job, {**job.fields(), "template": attribute_to(job.get("template"), job_template)})
        )
    return _replace_jobs(dict(template.fields()), template, jobs)


def _replace_jobs(fields: TracedMap, template: Cursor, jobs: list[Any]) -> TracedMap:
    spec = {**template.get("spec").fields(), "replicatedJobs": jobs}
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
