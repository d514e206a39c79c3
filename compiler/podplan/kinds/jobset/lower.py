"""From a JobSet to its Service, claims, Jobs and their Pods."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.indexed_text import Digest, Indexed
from podplan.core.provenance import Cause, Cursor, Traced, attribute_to, root_cursor
from podplan.core.replica_groups import UID_FLAG, LoweringOptions, ReplicaGroup, build_group
from podplan.core.typing import Any, NamedTuple
from podplan.kinds.batch.pods import build_pods, creates_pods, split_pods
from podplan.kinds.common.go_serialization import write_container
from podplan.kinds.common.merge import rewrap_tree, to_plain_data, unwrap_tree
from podplan.kinds.common.quantities import canonicalize_quantity
from podplan.kinds.jobset import behaviors
from podplan.kinds.jobset.exclusive_placement import (
    NODE_SELECTOR_ANNOTATION,
    TOPOLOGY_ANNOTATION,
    Placement,
    build_webhook,
)

TracedMap = dict[str, Any]
PREFIX = "jobset.sigs.k8s.io"
OWN_MANAGER = f"{PREFIX}/jobset-controller"
GENERATED_SUFFIX = "xxxxx"


class JobSet(NamedTuple):
    """A JobSet with what all its children share."""

    cr: Cursor
    spec: Cursor
    name: str
    name_causes: tuple[Cause, ...]
    namespace: str
    options: LoweringOptions

    @property
    def has_host_names(self) -> bool:
        return self.spec.get("network", "enableDNSHostnames").value_or(True) is not False

    @property
    def subdomain(self) -> tuple[str, tuple[Cause, ...]]:
        """The name of the Service, and what says so."""
        written = self.spec.get("network", "subdomain")
        return (str(written.value), (written,)) if written.value else (self.name, self.name_causes)


GROUP = "jobset.x-k8s.io"
_WITHOUT_PRIORITY_LABELS = "0.10"  # the version that labels only Pods with an exclusive placement


class ReplicatedJob(NamedTuple):
    """A replicated job, and how many Jobs there are in all before it and in its group."""

    entry: Cursor
    name: str
    replicas: int
    group: str
    jobs_before: int
    group_jobs_before: int


def lower_job_set(cr: Cursor, options: LoweringOptions) -> list[ReplicaGroup]:
    """The objects of a JobSet: Service, claims, Jobs, Pods."""
    jobset = build_job_set(cr, options)
    if jobset.spec.get("managedBy").value_or(OWN_MANAGER) != OWN_MANAGER:
        return []
    replicated = parse_replicated_jobs(jobset)
    groups = [*_build_service(jobset), *_build_claims(jobset)]
    is_suspended = jobset.spec.get("suspend").value is True and not options.resumed
    for one in replicated:
        waits = is_suspended and one.entry.get("dependsOn").entries()
        if one.replicas < 1 or waits:
            continue
        jobs = _build_jobs(jobset, one, replicated, is_suspended)
        groups.append(jobs)
        groups += build_job_pods(jobs, one, jobset)
    return groups


def build_job_set(cr: Cursor, options: LoweringOptions) -> JobSet:
    metadata = cr.get("metadata")
    name, prefix = metadata.get("name"), metadata.get("generateName")
    text = str(name.value_or(f"{prefix.value}{GENERATED_SUFFIX}" if prefix.exists else ""))
    namespace = str(metadata.get("namespace").value_or("default"))
    return JobSet(cr, cr.get("spec"), text, (name if name.exists else prefix,), namespace, options)


def parse_replicated_jobs(jobset: JobSet) -> list[ReplicatedJob]:
    """The replicated jobs of a JobSet."""
    found: list[ReplicatedJob] = []
    for entry in jobset.spec.get("replicatedJobs").entries():
        group = str(entry.get("groupName").value_or("default"))
        found.append(
            ReplicatedJob(
                entry,
                str(entry.get("name").value),
                int(entry.get("replicas").value_or(1)),
                group,
                sum(one.replicas for one in found),
                sum(one.replicas for one in found if one.group == group),
            )
        )
    return found


def build_job_pods(jobs: ReplicaGroup, replicated: ReplicatedJob, jobset: JobSet) -> Iterator[ReplicaGroup]:
    """The Pods of the Jobs of a replicated job, as the webhook of JobSet leaves them."""
    job = root_cursor(jobs.doc)
    if not creates_pods(job, jobset.options.resumed):
        return
    placement = _find_placement(jobset, replicated)
    webhook = build_webhook(placement)
    for pod_range in split_pods(job, splits_first=placement.splits_pods):
        yield build_pods(jobs, pod_range, webhook, replicated.name)


def _find_placement(jobset: JobSet, replicated: ReplicatedJob) -> Placement:
    for place in _list_annotations(jobset, replicated.entry.get("template")):
        if place.get(TOPOLOGY_ANNOTATION).exists:
            return Placement(place.get(TOPOLOGY_ANNOTATION), place.get(NODE_SELECTOR_ANNOTATION))
    version = jobset.options._replace(group=GROUP).find_operator_version("")
    return Placement(labels_all_pods=version != _WITHOUT_PRIORITY_LABELS)


def _list_annotations(jobset: JobSet, template: Cursor) -> tuple[Cursor, ...]:
    """The annotations that may ask for exclusive placement: those of the Job, then those of the JobSet."""
    return template.get("metadata", "annotations"), jobset.cr.get("metadata", "annotations")


def _build_metadata(jobset: JobSet, name: Any, name_behavior: Cause, **fields: Any) -> TracedMap:
    uid = jobset.cr.get("metadata", "uid")
    traced_uid = attribute_to(UID_FLAG, jobset.options.uid) if jobset.options.uid and not uid.exists else uid
    tree: TracedMap = {
        "name": attribute_to((*jobset.name_causes, name_behavior), name),
        "namespace": jobset.cr.get("metadata", "namespace"),
        **{key: value for key, value in fields.items() if value is not None},
    }
    if traced_uid.value:
        owner = {
            "apiVersion": jobset.cr["apiVersion"],
            "kind": jobset.cr["kind"],
            "name": jobset.name,
            "uid": traced_uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
        tree["ownerReferences"] = [attribute_to((behaviors.OWNER, *jobset.name_causes), owner)]
    return tree


def _build_service(jobset: JobSet) -> list[ReplicaGroup]:
    if not jobset.has_host_names:
        return []
    name, causes = jobset.subdomain
    publish = jobset.spec.get("network", "publishNotReadyAddresses")
    selector = {f"{PREFIX}/jobset-name": attribute_to(jobset.name_causes, jobset.name)}
    metadata = _build_metadata(jobset, name, behaviors.SERVICE)
    metadata["name"] = attribute_to((*causes, behaviors.SERVICE), name)
    spec = {
        "clusterIP": "None",
        "publishNotReadyAddresses": publish if publish.exists else True,
        "selector": selector,
    }
    tree = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}
    return [build_group(attribute_to((behaviors.SERVICE, jobset.spec.get("network")), tree))]


def _iter_claim_templates(jobset: JobSet) -> Iterator[Cursor]:
    for policy in jobset.spec.get("volumeClaimPolicies").entries():
        yield from policy.get("templates").entries()


def _build_claims(jobset: JobSet) -> Iterator[ReplicaGroup]:
    for template in _iter_claim_templates(jobset):
        metadata = template.get("metadata")
        label = {f"{PREFIX}/jobset-name": attribute_to(jobset.name_causes, jobset.name)}
        annotations = metadata.get("annotations")
        tree_metadata = _build_metadata(
            jobset,
            _name_claim(jobset, template),
            behaviors.CLAIM,
            labels=attribute_to(
                (metadata.get("labels"), behaviors.CLAIM), {**metadata.get("labels").fields(), **label}
            ),
            annotations=annotations if annotations.exists else None,
        )
        tree_metadata["name"] = attribute_to(
            (metadata.get("name"), behaviors.CLAIM, *jobset.name_causes), _name_claim(jobset, template)
        )
        tree = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": tree_metadata,
            "spec": template.get("spec"),
        }
        yield build_group(attribute_to((template, behaviors.CLAIM), tree))


def _name_claim(jobset: JobSet, template: Cursor) -> str:
    return f"{template.get('metadata', 'name').value}-{jobset.name}"


def _build_jobs(
    jobset: JobSet, replicated: ReplicatedJob, all_jobs: list[ReplicatedJob], is_suspended: bool
) -> ReplicaGroup:
    """The Jobs of a replicated job, of which only the index differs."""
    entry = replicated.entry
    job_name = Indexed((f"{jobset.name}-{replicated.name}-", 0))
    template = entry.get("template")
    place = _build_place(jobset, replicated, all_jobs, job_name)
    exclusive = _build_exclusive_annotations(jobset, template)
    metadata = _build_metadata(
        jobset,
        job_name,
        behaviors.JOB_NAME,
        labels=_label(template.get("metadata", "labels"), place, entry),
        annotations=_label(template.get("metadata", "annotations"), {**place, **exclusive}, entry),
    )
    metadata["name"] = attribute_to((*jobset.name_causes, entry.get("name"), behaviors.JOB_NAME), job_name)
    pod_template = template.get("spec", "template")
    pod_metadata = {
        **pod_template.get("metadata").fields(),
        "labels": _label(pod_template.get("metadata", "labels"), place, entry),
        "annotations": _label(pod_template.get("metadata", "annotations"), {**place, **exclusive}, entry),
    }
    failure_policy = _write_failure_policy(template.get("spec", "podFailurePolicy"))
    spec: TracedMap = {
        "completionMode": attribute_to((behaviors.DEFAULTS, entry), "Indexed"),
        **template.get("spec").fields(),
        **({"podFailurePolicy": failure_policy} if failure_policy is not None else {}),
        "suspend": attribute_to((behaviors.SUSPEND, jobset.spec.get("suspend")), is_suspended),
        "template": attribute_to(
            pod_template,
            {
                "metadata": attribute_to((behaviors.LABELS, pod_template.get("metadata")), pod_metadata),
                "spec": attribute_to(
                    pod_template.get("spec"), _build_pod_spec(jobset, pod_template, job_name, exclusive)
                ),
            },
        ),
    }
    tree = attribute_to(
        (entry, behaviors.JOB),
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": metadata,
            "spec": attribute_to(template.get("spec"), spec),
        },
    )
    return build_group(tree, replicated.name, 0, replicated.replicas)


def _write_failure_policy(policy: Cursor) -> Traced | None:
    """A podFailurePolicy as Go writes it: a condition without a status has an empty one."""
    if not policy.exists:
        return None
    rules = []
    for rule in policy.get("rules").entries():
        conditions = [
            one
            if one.get("status").exists
            else attribute_to(one, {**one.fields(), "status": attribute_to((behaviors.DEFAULTS, one), "")})
            for one in rule.get("onPodConditions").entries()
        ]
        added = {"onPodConditions": conditions} if conditions else {}
        rules.append(attribute_to(rule, {**rule.fields(), **added}))
    return attribute_to(policy, {**policy.fields(), "rules": rules})


def _label(written: Cursor, added: TracedMap, entry: Cursor) -> Traced:
    return attribute_to((behaviors.LABELS, entry), {**written.fields(), **added})


def _build_place(
    jobset: JobSet, replicated: ReplicatedJob, all_jobs: list[ReplicatedJob], job_name: Indexed
) -> TracedMap:
    """The labels, which are annotations, too, that tell where a Job is in its JobSet."""
    total = sum(max(one.replicas, 0) for one in all_jobs)
    in_group = sum(max(one.replicas, 0) for one in all_jobs if one.group == replicated.group)
    entry = replicated.entry
    replicas = tuple(one.entry.get("replicas") for one in all_jobs)
    key = Digest(Indexed((f"{jobset.namespace}/", *job_name.parts)))
    values: dict[str, tuple[Any, tuple[Cause, ...]]] = {
        "jobset-name": (jobset.name, jobset.name_causes),
        "replicatedjob-name": (replicated.name, (entry.get("name"),)),
        "replicatedjob-replicas": (str(replicated.replicas), (entry.get("replicas"),)),
        "global-replicas": (str(total), replicas),
        "restart-attempt": ("0", (entry,)),
        "job-index": (Indexed((0,)), (entry,)),
        "job-global-index": (Indexed((replicated.jobs_before,)), (entry,)),
        "job-key": (key, (entry.get("name"), *jobset.name_causes)),
        "group-name": (replicated.group, (entry.get("groupName"),)),
        "group-replicas": (str(in_group), replicas),
        "job-group-index": (Indexed((replicated.group_jobs_before,)), (entry,)),
    }
    uid = jobset.cr.get("metadata", "uid").value or jobset.options.uid
    if uid:
        values["jobset-uid"] = (str(uid), (jobset.cr.get("metadata", "uid"),))
    coordinator = jobset.spec.get("coordinator")
    if coordinator.exists:
        host = (
            f"{jobset.name}-{coordinator.get('replicatedJob').value}-"
            f"{coordinator.get('jobIndex').value_or(0)}-{coordinator.get('podIndex').value_or(0)}"
            f".{jobset.subdomain[0]}"
        )
        values["coordinator"] = (host, (coordinator, behaviors.COORDINATOR))
    return {
        f"{PREFIX}/{name}": attribute_to((*causes, behaviors.LABELS), value)
        for name, (value, causes) in values.items()
    }


def _build_exclusive_annotations(jobset: JobSet, template: Cursor) -> TracedMap:
    """The annotations about exclusive placement, which Jobs and Pods get from the JobSet or the Job."""
    names = (TOPOLOGY_ANNOTATION, NODE_SELECTOR_ANNOTATION)
    for place in _list_annotations(jobset, template):
        if place.get(TOPOLOGY_ANNOTATION).exists:
            return {name: place.get(name) for name in names if place.get(name).exists}
    return {}


def _build_pod_spec(jobset: JobSet, template: Cursor, job_name: Indexed, exclusive: TracedMap) -> TracedMap:
    spec = template.get("spec")
    tree: TracedMap = write_pod_spec(spec)
    if not spec.get("restartPolicy").exists:
        tree["restartPolicy"] = attribute_to((behaviors.DEFAULTS, spec), "OnFailure")
    if jobset.has_host_names:
        name, causes = jobset.subdomain
        tree["subdomain"] = attribute_to(
            (*causes, behaviors.SUBDOMAIN), name, overridden=(spec.get("subdomain"),)
        )
    volumes = _build_claim_volumes(jobset, spec)
    if volumes:
        tree["volumes"] = [*spec.get("volumes").entries(), *volumes]
    selector = exclusive.get(NODE_SELECTOR_ANNOTATION)
    if selector is not None:
        why = (selector, behaviors.NODE_SELECTOR)
        job = Indexed((f"{jobset.namespace}_", *job_name.parts))
        label = {"alpha.jobset.sigs.k8s.io/namespaced-job": attribute_to(why, job)}
        tree["nodeSelector"] = attribute_to(why, {**spec.get("nodeSelector").fields(), **label})
        toleration = {
            "key": "alpha.jobset.sigs.k8s.io/no-schedule",
            "operator": "Exists",
            "effect": "NoSchedule",
        }
        tree["tolerations"] = [*spec.get("tolerations").entries(), attribute_to(why, toleration)]
    return tree


def write_pod_spec(spec: Cursor) -> TracedMap:
    """The spec of a Pod template as a controller writes it: quantities in their shortest form."""
    tree: TracedMap = dict(spec.fields())
    for field in ("initContainers", "containers"):
        if spec.get(field).entries():
            tree[field] = [
                attribute_to(one, write_container(one, behaviors.DEFAULTS, behaviors.DEFAULTS))
                for one in spec.get(field).entries()
            ]
    return tree


def _build_claim_volumes(jobset: JobSet, spec: Cursor) -> list[Traced]:
    """A volume for each claim that a container mounts."""
    mounts = {
        mount.get("name").value
        for field in ("initContainers", "containers")
        for container in spec.get(field).entries()
        for mount in container.get("volumeMounts").entries()
    }
    volumes = []
    for template in _iter_claim_templates(jobset):
        name = template.get("metadata", "name")
        if name.value in mounts:
            source = {"claimName": attribute_to((name, behaviors.CLAIM), _name_claim(jobset, template))}
            tree = {"name": name, "persistentVolumeClaim": source}
            volumes.append(attribute_to((template, behaviors.CLAIM), tree))
    return volumes


def write_resources_and_env(tree: Any) -> Any:
    """A container of a marked tree with quantities in their shortest form and no empty values."""
    fields = unwrap_tree(tree)
    resources = to_plain_data(fields.get("resources"))
    for section in ("limits", "requests"):
        amounts = resources.get(section) if isinstance(resources, dict) else None
        for name, amount in amounts.items() if isinstance(amounts, dict) else ():
            if canonicalize_quantity(amount) != amount:
                fields = {**fields, "resources": _set_amount(fields["resources"], section, name, amount)}
    return rewrap_tree(tree, fields)


def _set_amount(resources: Any, section: str, name: str, amount: Any) -> Any:
    by_section = unwrap_tree(resources)
    amounts = unwrap_tree(by_section[section])
    changed = rewrap_tree(amounts[name], canonicalize_quantity(amount))
    if not isinstance(changed, Traced):
        changed = attribute_to((behaviors.DEFAULTS,), changed)
    return rewrap_tree(
        resources, {**by_section, section: rewrap_tree(by_section[section], {**amounts, name: changed})}
    )
