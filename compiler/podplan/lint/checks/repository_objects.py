"""Claims, Secrets and ConfigMaps of the repository that do not fit the jobs that use them.

An object belongs to a job if it has the namespace of the job, or neither has one, and it is in the file of
the job. Where that file has no object of the name, all of the repository count, and what one of them allows
is allowed: patches and environments hold parts of objects.

Sources: https://kubernetes.io/docs/concepts/storage/persistent-volumes/#access-modes,
https://kubernetes.io/docs/concepts/configuration/secret/, https://kubernetes.io/docs/concepts/configuration/configmap/,
https://external-secrets.io/latest/api/externalsecret/, https://github.com/bitnami-labs/sealed-secrets.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Hashable, Iterator, Mapping
from posixpath import normpath

from podplan.core.findings import Path
from podplan.core.provenance import TracedDocument
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.suggestions import suggest_phrase
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts
from podplan.lint.analysis.cross_job import RebuildJob, find_written_file
from podplan.lint.analysis.deepspeed_line import find_written_word
from podplan.lint.analysis.inventory import get_entry, get_section
from podplan.lint.analysis.jobs import find_written_path, format_list, namespace_of
from podplan.lint.analysis.programs import list_programs
from podplan.lint.analysis.resources import list_containers, list_init_containers
from podplan.lint.checks.claims import are_on_several_nodes, find_claim_users, hit_of_claim, mounting
from podplan.lint.checks.init_preparation import is_on_path, iter_written_paths
from podplan.lint.checks.mounted_files import find_unused_mount, iter_named_files
from podplan.lint.checks.outputs import mount_of, outputs_of, trainings, volume_of
from podplan.lint.checks.references import INVENTORY_SECTIONS, ObjectReference, iter_references
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Violation

_CONTENT = {"Secret": ("data", "stringData"), "ConfigMap": ("data", "binaryData")}
# Objects of which a controller makes a Secret.
_SECRET_MAKERS = ("ExternalSecret", "SealedSecret")
# Labels and annotations of tools that complete an object in the cluster.
_FILLED_BY = ("inject", "replicat", "reflect", "sealedsecrets", "external-secrets", "vault", "merge")
_LONGEST = 8000  # longest value that is decoded, in characters
_ENCODINGS = {
    "data": "it was encoded with its line end; encode it with printf %s or echo -n",
    "stringData": "a block with | keeps its line end; write the value behind the key, or |-",
}
_FILLED_TYPES = ("kubernetes.io/service-account-token", "bootstrap.kubernetes.io/token")


class ObjectNeed(NamedTuple):
    """An object by its kind, namespace and name."""

    kind: str
    namespace: str
    name: str


class ObjectSummary(NamedTuple):
    """The objects that a job uses, or the access modes or keys that an object has, with the file."""

    file: str
    uses: tuple[tuple[ObjectNeed, tuple[str, ...]], ...] = ()
    object: ObjectNeed | None = None
    content: tuple[str, ...] = ()

    @property
    def keys(self) -> list[Hashable]:
        return [need for need, _ in self.uses] if self.object is None else [self.object]

    @property
    def owner(self) -> Hashable:
        return "jobs" if self.object is None else "object"


def claims_left(job: LoweredJob) -> ObjectSummary | None:
    """Summarize a job by the claims that several Pods mount, a claim by its access modes."""
    if job.cr is None:
        return _object_left(job, "PersistentVolumeClaim")
    where = namespace_of(job)
    uses = [
        (ObjectNeed("PersistentVolumeClaim", where, claim), ())
        for claim, listed in find_claim_users(job).items()
        if mounting(listed) > 1 and not get_entry(job, "pvcs", claim)
    ]
    return ObjectSummary(find_written_file(job.cr), tuple(uses)) if uses else None


@check(summarize=claims_left, aliases=("claim-of-repository",))
def claim_not_shareable(
    left: Mapping[int, ObjectSummary], again: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """A claim of the repository that the Pods of a job cannot mount together.

    Values: those of ``hit_of_claim``, ``mode``, ``who``.
    """
    for number, need, _, offered in iter_needed_objects(left):
        modes = find_common_content(left, offered)
        if modes == {"ReadWriteOncePod"}:
            mode, who = "ReadWriteOncePod", "one Pod"
        elif "ReadWriteOnce" in modes and "ReadWriteMany" not in modes:
            mode, who = "ReadWriteOnce", "one node"
        else:
            continue
        job = again(number)
        listed = find_claim_users(job)[need.name]
        if mode == "ReadWriteOncePod" or are_on_several_nodes(listed, modes):
            hit = hit_of_claim(job, need.name, listed)
            place = (again(offered[0]).groups[0].doc, ("spec", "accessModes"), "its access modes")
            values = {**hit.values, "mode": mode, "who": who}
            yield number, hit._replace(values=values, related=[*hit.related, place])


def written_claims_left(job: LoweredJob) -> ObjectSummary | None:
    """Summarize a job by the claims that it mounts for writing, a claim by its access modes."""
    if job.cr is None:
        return _object_left(job, "PersistentVolumeClaim")
    where, written = namespace_of(job), set(_iter_output_claims(job))
    uses = [
        (ObjectNeed("PersistentVolumeClaim", where, claim), ())
        for claim, listed in find_claim_users(job).items()
        if claim in written and any(user.writes for user in listed) and not get_entry(job, "pvcs", claim)
    ]
    return ObjectSummary(find_written_file(job.cr), tuple(uses)) if uses else None


def _iter_output_claims(job: LoweredJob) -> Iterator[str]:
    """Yield the claims to which the options of a training write."""
    for launch, where in trainings(job):
        for output in outputs_of(launch, where):
            found = mount_of(where.container, output.path)
            volume = volume_of(where.group, get_text(found[1], "name")) if found is not None else {}
            yield get_text(get_mapping(volume, "persistentVolumeClaim"), "claimName")


@check(summarize=written_claims_left)
def claim_of_repository_read_only(
    left: Mapping[int, ObjectSummary], again: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """A ReadOnlyMany claim of the repository that Pods mount for writing. Values: those of
    ``hit_of_claim``."""
    for number, need, _, offered in iter_needed_objects(left):
        if find_common_content(left, offered) == {"ReadOnlyMany"}:
            job = again(number)
            hit = hit_of_claim(
                job, need.name, [one for one in find_claim_users(job)[need.name] if one.writes]
            )
            place = (again(offered[0]).groups[0].doc, ("spec", "accessModes"), "its access modes")
            yield number, hit._replace(related=[*hit.related, place])


def keys_left(job: LoweredJob) -> ObjectSummary | None:
    """Summarize a job by the keys of Secrets and ConfigMaps that it uses, an object by its keys."""
    if job.cr is None:
        return _object_left(job, "Secret") or _object_left(job, "ConfigMap")
    where = namespace_of(job)
    own = {
        (one.doc.data["kind"], get_text(get_mapping(one.doc.data, "metadata"), "name")) for one in job.groups
    }
    uses: dict[ObjectNeed, dict[str, None]] = {}
    for group in job.pods:
        for use in _uses(group):
            if (use.kind, use.name) not in own and not get_section(job, INVENTORY_SECTIONS[use.kind]):
                uses.setdefault(ObjectNeed(use.kind, where, use.name), {})[use.key] = None
    return (
        ObjectSummary(find_written_file(job.cr), tuple((need, tuple(keys)) for need, keys in uses.items()))
        if uses
        else None
    )


@check(summarize=keys_left, aliases=("key-of-repository",))
def unknown_reference_key(
    left: Mapping[int, ObjectSummary], again: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """A key that a Secret or ConfigMap of the repository does not have.

    Values: ``kind``, ``name``, ``key``, ``effect``, ``meant``.
    """
    for number, need, used, offered in iter_needed_objects(left):
        keys = find_common_content(left, offered)
        if not keys or keys.issuperset(used):
            continue
        job = again(number)
        for group in job.pods:
            for use in _uses(group):
                if (use.kind, use.name) == (need.kind, need.name) and use.key not in keys:
                    meant = suggest_phrase(use.key, keys) or f"; it has {format_list(sorted(keys))}"
                    values = {"kind": use.kind, "name": use.name, "key": use.key, "effect": use.effect}
                    related = [_content_place(again(offered[0]).groups[0].doc)]
                    written = find_written_word(job, use.file)
                    doc = group.doc if written is None else job.cr
                    values["meant"] = meant
                    yield number, Violation(written or use.path, values, related, doc=doc, group=group)


def newlines_left(job: LoweredJob) -> ObjectSummary | None:
    """Summarize a job by Secret keys in variables, a Secret by keys whose values end with a line break."""
    if job.cr is None:
        left = _object_left(job, "Secret")
        return left._replace(content=_find_newlines(job.groups[0].doc.data)) if left is not None else None
    where = namespace_of(job)
    uses: dict[ObjectNeed, dict[str, None]] = {}
    for reference in _iter_secret_variables(job):
        uses.setdefault(ObjectNeed("Secret", where, reference.name), {})[reference.key] = None
    return (
        ObjectSummary(find_written_file(job.cr), tuple((need, tuple(keys)) for need, keys in uses.items()))
        if uses
        else None
    )


@check(summarize=newlines_left)
def secret_ends_with_newline(
    left: Mapping[int, ObjectSummary], again: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """A variable with a Secret value that ends with a line break. Values: ``name``, ``key``, ``how``."""
    for number, need, used, offered in iter_needed_objects(left):
        keys = find_common_content(left, offered)
        if keys.isdisjoint(used):
            continue
        secret = again(offered[0]).groups[0].doc
        job = again(number)
        for group in job.pods:
            for reference in _iter_secret_variables(job, group):
                if reference.name != need.name or reference.key not in keys:
                    continue
                field = "stringData" if reference.key in get_mapping(secret.data, "stringData") else "data"
                how = _ENCODINGS[field]
                values = {"name": need.name, "key": reference.key, "how": how}
                related = [(secret, (field, reference.key), "the value with the line break")]
                yield number, Violation(reference.key_path, values, related, doc=group.doc, group=group)


def _iter_secret_variables(job: LoweredJob, group: ReplicaGroup | None = None) -> Iterator[ObjectReference]:
    """Yield the variables from Secret keys in the Pods of a job, or of one replica group."""
    for each in job.pods if group is None else (group,):
        for reference in iter_references(each):
            if reference.kind == "Secret" and reference.key and "env" in reference.path:
                yield reference


def _find_newlines(data: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys of a Secret whose value is one line that ends with a line break."""
    texts = {str(key): value for key, value in get_mapping(data, "stringData").items()}
    for key, value in get_mapping(data, "data").items():
        texts.setdefault(str(key), _decode(value))
    return tuple(key for key, text in texts.items() if isinstance(text, str) and _is_line(text))


def _is_line(text: str) -> bool:
    return text.endswith("\n") and bool(text.strip()) and "\n" not in text.rstrip("\r\n")


def _decode(value: Any) -> str:
    """Decode a value of ``data``; "" if it is no text, or too long for a token."""
    if not isinstance(value, str) or len(value) > _LONGEST:
        return ""
    try:
        return b64decode(value, validate=True).decode()
    except ValueError:
        return ""


def files_left(job: LoweredJob) -> ObjectSummary | None:
    """Summarize a job by the names of files outside of its mounts, an object by its keys."""
    if job.cr is None:
        return _object_left(job, "Secret") or _object_left(job, "ConfigMap")
    where = namespace_of(job)
    uses: dict[ObjectNeed, dict[str, None]] = {}
    for group in job.pods:
        for source, _, path, _, _ in _iter_paths_beside(group):
            uses.setdefault(ObjectNeed(source[0], where, source[1]), {})[path.rpartition("/")[2]] = None
    return (
        ObjectSummary(find_written_file(job.cr), tuple((need, tuple(keys)) for need, keys in uses.items()))
        if uses
        else None
    )


@check(summarize=files_left)
def file_beside_mount(
    left: Mapping[int, ObjectSummary], again: RebuildJob
) -> Iterator[tuple[int, Violation]]:
    """A path outside of all mounts with the name of a file that is mounted elsewhere.

    Values: ``path``, ``mounted``, ``kind``, ``name``.
    """
    for number, need, used, offered in iter_needed_objects(left):
        keys = find_common_content(left, offered)
        if keys.isdisjoint(used):
            continue
        for group in again(number).pods:
            for source, place, path, mount_path, folder in _iter_paths_beside(group):
                key = path.rpartition("/")[2]
                if source != (need.kind, need.name) or key not in keys:
                    continue
                values = {"path": path, "mounted": f"{folder}/{key}", "kind": need.kind, "name": need.name}
                content = again(offered[0]).groups[0].doc
                related = [(group.doc, mount_path, "where it is mounted"), _content_place(content)]
                written = find_written_word(again(number), path)
                doc = group.doc if written is None else again(number).cr
                yield number, Violation(written or place, values, related, doc=doc, group=group)


def _iter_paths_beside(
    group: ReplicaGroup,
) -> Iterator[tuple[tuple[str, str], Path, str, Path, str]]:
    """Yield files outside of all mounts, for each mounted object that no word of the container names.

    Each has the kind and name of the object, its place, its path, the path of the mount, and its folder.
    """
    volumes = {
        get_text(volume, "name"): volume
        for _, volume in get_entries(get_mapping(group.doc.data, "spec"), "volumes")
    }
    sources = {name: _source(volume) for name, volume in volumes.items()}
    for base, container in (*list_containers(group), *list_init_containers(group)):
        if not any(sources.get(get_text(one, "name")) for _, one in get_entries(container, "volumeMounts")):
            continue
        for place, path in iter_named_files(container):
            if mount_of(container, path) is not None:
                continue
            key = path.rpartition("/")[2]
            given = {name: (key,) for name, source in sources.items() if source is not None}
            found = find_unused_mount(container, path, given)
            source = sources.get(get_text(found[1], "name")) if found is not None else None
            if found is not None and source is not None:
                folder = normpath(get_text(found[1], "mountPath") or "/")
                yield source, (*base, *place), path, (*base, "volumeMounts", found[0]), folder


class KeyUse(NamedTuple):
    """A key of a Secret or ConfigMap that a Pod uses: its path, and what happens without it."""

    kind: str
    name: str
    key: str
    path: Path
    effect: str
    file: str = ""


def _uses(group: ReplicaGroup) -> Iterator[KeyUse]:
    for reference in iter_references(group):
        if reference.key:
            yield KeyUse(
                reference.kind, reference.name, reference.key, reference.key_path, _effect(reference)
            )
    volumes = {
        get_text(volume, "name"): volume
        for _, volume in get_entries(get_mapping(group.doc.data, "spec"), "volumes")
    }
    for base, container in (*list_containers(group), *list_init_containers(group)):
        for number, mount in get_entries(container, "volumeMounts"):
            source = _source(volumes.get(get_text(mount, "name"), {}))
            if source is None:
                continue
            at: Path = (*base, "volumeMounts", number)
            if get_text(mount, "subPath"):
                key = normpath(get_text(mount, "subPath"))
                if "/" not in key:
                    yield KeyUse(*source, key, (*at, "subPath"), "so an empty folder is mounted there")
                continue
            folder = normpath(get_text(mount, "mountPath") or "/")
            started: set[str] = set()
            for program in list_programs(group, base, container):
                key = _below(folder, program.path, container)
                started.add(key)
                if key:
                    effect = (
                        f"so {program.path} does not exist, because the mount hides the files of the image"
                    )
                    yield KeyUse(*source, key, (*at, "mountPath"), effect)
            is_copied_to = any(is_on_path(path, folder) for _, path in iter_written_paths(container))
            for place, path in iter_named_files(container) if not is_copied_to else ():
                key = _below(folder, path, container)
                if key and key not in started and not key.startswith(".."):
                    started.add(key)
                    yield KeyUse(*source, key, (*base, *place), f"so {path} does not exist", path)


def _below(folder: str, path: str, container: Mapping[str, Any]) -> str:
    """Return the part of a path below a folder, if it is a name and no deeper mount contains it."""
    if not path.startswith(f"{folder}/"):
        return ""
    mounts = (
        normpath(get_text(mount, "mountPath") or "/") for _, mount in get_entries(container, "volumeMounts")
    )
    if any(f"{path}/".startswith(f"{one}/") and len(one) > len(folder) for one in mounts):
        return ""
    below = path.removeprefix(f"{folder}/")
    return "" if "/" in below else below  # a path with a folder is no key; program-hidden reports it


def _source(volume: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return kind and name of the object whose keys are the files of a volume that lists no items."""
    for kind, field, name in (("ConfigMap", "configMap", "name"), ("Secret", "secret", "secretName")):
        source = get_mapping(volume, field)
        if get_text(source, name) and "items" not in source and source.get("optional") is not True:
            return kind, get_text(source, name)
    return None


def _effect(reference: ObjectReference) -> str:
    if "env" in reference.path:
        return "so the container stays in CreateContainerConfigError"
    return "so the volume is not mounted and the Pod stays in ContainerCreating"


def find_common_content(left: Mapping[int, ObjectSummary], offered: list[int]) -> frozenset[str]:
    """Return the access modes or keys of all objects with one name; nothing if one is not known."""
    each = [left[one].content for one in offered]
    return frozenset(name for content in each for name in content) if all(each) else frozenset()


def iter_needed_objects(
    left: Mapping[int, ObjectSummary],
) -> Iterator[tuple[int, ObjectNeed, tuple[str, ...], list[int]]]:
    """Yield the objects that jobs need and the repository has: job, object, its keys, keys of that name."""
    there: dict[ObjectNeed, list[int]] = {}
    for number, one in left.items():
        if one.object is not None:
            there.setdefault(one.object, []).append(number)
    for number, one in left.items():
        for need, used in one.uses:
            if need in there:
                beside = [other for other in there[need] if left[other].file == one.file]
                yield number, need, used, beside or there[need]


def _object_left(job: LoweredJob, kind: str) -> ObjectSummary | None:
    data = job.groups[0].doc.data
    if kind == "Secret" and data.get("kind") in _SECRET_MAKERS:
        return _made_secret_left(job)
    if data.get("kind") != kind or data.get("apiVersion") != "v1":
        return None
    metadata = get_mapping(data, "metadata")
    which = ObjectNeed(kind, get_text(metadata, "namespace"), get_text(metadata, "name"))
    return (
        ObjectSummary(find_written_file(job.groups[0].doc), object=which, content=_content(data))
        if which.name
        else None
    )


def _made_secret_left(job: LoweredJob) -> ObjectSummary | None:
    """Summarize an ExternalSecret or a SealedSecret by the Secret that its controller makes of it."""
    doc = job.groups[0].doc
    metadata, spec = get_mapping(doc.data, "metadata"), get_mapping(doc.data, "spec")
    target, template = get_mapping(spec, "target"), get_mapping(spec, "template")
    if doc.data["kind"] == "ExternalSecret":
        name = get_text(target, "name") or get_text(metadata, "name")
        keys = tuple(get_text(entry, "secretKey") for _, entry in get_entries(spec, "data"))
        # What a template or a whole object of the store adds is not known.
        is_known = "dataFrom" not in spec and "template" not in target
        is_known = is_known and get_text(target, "creationPolicy") in ("", "Owner", "Orphan")
    else:
        name = get_text(get_mapping(template, "metadata"), "name") or get_text(metadata, "name")
        keys = (*map(str, get_mapping(spec, "encryptedData")), *map(str, get_mapping(template, "data")))
        is_known = True
    which = ObjectNeed("Secret", get_text(metadata, "namespace"), name)
    content = keys if is_known and all(keys) else ()
    return ObjectSummary(find_written_file(doc), object=which, content=content) if name else None


def _content(data: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the access modes of a claim, or the keys of an object; empty if the file has not all."""
    if data["kind"] == "PersistentVolumeClaim":
        return tuple(mode for _, mode in get_texts(get_mapping(data, "spec"), "accessModes"))
    metadata = get_mapping(data, "metadata")
    marks = (key for field in ("labels", "annotations") for key in get_mapping(metadata, field))
    if data.get("type") in _FILLED_TYPES or any(
        word in str(key).lower() for key in marks for word in _FILLED_BY
    ):
        return ()
    return tuple(str(key) for field in _CONTENT[data["kind"]] for key in get_mapping(data, field))


def _content_place(doc: TracedDocument) -> tuple[TracedDocument, Path, str]:
    if doc.data["kind"] == "ExternalSecret":
        return doc, ("spec", "data", 0, "secretKey"), "its keys"
    if doc.data["kind"] == "SealedSecret":
        return doc, ("spec", "encryptedData"), "its keys"
    fields = [field for field in ("stringData", "data", "binaryData") if get_mapping(doc.data, field)]
    first = next(iter(get_mapping(doc.data, fields[0])), None) if fields else None
    path: Path = (
        (fields[0], first)
        if fields and first is not None
        else find_written_path(doc.data, "metadata", "name")
    )
    return doc, path, "its keys"
