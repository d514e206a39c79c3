"""The contents of the folder of an Application: profiles, and other manifests."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from podplan.checker.packed_store import JobSource
from podplan.core.errors import UsageError
from podplan.core.limits import LimitExceeded
from podplan.core.provenance import TracedDocument
from podplan.core.typing import TYPE_CHECKING, Any, NamedTuple
from podplan.rendering.header import find_source_path, parse_header
from podplan.workspace.documents import (
    ClassifiedDocument,
    classify_documents,
    identify_object,
    is_helm_template,
    mentions_own_api,
)
from podplan.workspace.file_loader import SkippedFile, load_files
from podplan.workspace.files import OutsideRoot, expand_paths, file_contains_any, files_below, find_root
from podplan.workspace.loader import Loader
from podplan.yaml import SourceFile

if TYPE_CHECKING:
    from podplan.core.findings import Diagnostic

# Argo CD skips files that contain this text (its user guide: directory).
SKIP_MARKER = "+argocd:skip-file-rendering"
# Local configuration of programs, which is never applied to a cluster: kustomizations and the like, and
# plugins.
_LOCAL_GROUPS = ".config.k8s.io"
_LOCAL_KINDS = ("argoproj.io/v1alpha1/ConfigManagementPlugin",)
_LOCAL_CONFIG_ANNOTATION = "config.kubernetes.io/local-config"
_OTHER_TOOL_FILES = ("Chart.yaml", "kustomization.yaml", "kustomization.yml", "Kustomization")
_PROFILE_CATEGORIES = (
    "profile",
    "podplan",
)  # "podplan" is an unknown kind: probably a misspelt profile


class ApplicationProfile(NamedTuple):
    """A profile merged with its base profiles: its name, environments, and declared params.

    If a base profile is missing, it is not ``is_complete``, and may have more environments and params.
    ``place`` is where it is written.
    """

    item: ClassifiedDocument
    place: JobSource
    name: str
    environments: tuple[str, ...]
    params: dict[str, Any]
    is_complete: bool = True


class Application(NamedTuple):
    """The files, and their profiles; ``manifests`` are what Argo CD would apply without a plugin, with
    locations."""

    sources: list[SourceFile]
    profiles: list[ApplicationProfile]
    manifests: list[tuple[ClassifiedDocument, JobSource]]
    broken_sources: list[SourceFile]


def read_application(folder: str, exclude: Sequence[str], reader: Loader, kustomize: str = "") -> Application:
    """Read all files of an Application, or what kustomize builds from the folder ``kustomize``.

    Raises UsageError: for a folder or a possible profile that cannot be read. Raises LimitExceeded: for a
    profile that is too big. Raises PathNotFound: if the folder is missing.
    """
    loaded_sources = [reader.load_build(kustomize)] if kustomize else list(_iter_sources(folder, exclude))
    listed = [
        (source, item, JobSource(source.file, number))
        for source in loaded_sources
        for number, item in enumerate(reader.classify(source) if kustomize else classify_documents(source))
    ]
    _refuse_foreign_profiles(item for _, item, _ in listed)
    profiles = [(item, place) for _, item, place in listed if item.category in _PROFILE_CATEGORIES]
    profile_paths = {os.path.realpath(item.doc.name) for item, _ in profiles}
    manifests = [
        (item, place)
        for source, item, place in listed
        if SKIP_MARKER not in source.text and _is_manifest(item) and not _is_render_of(item, profile_paths)
    ]
    broken = [source for source in loaded_sources if source.diagnostics and not is_podplan_file(source)]
    return Application(
        loaded_sources, [_build_profile(item, place, reader) for item, place in profiles], manifests, broken
    )


def _refuse_foreign_profiles(document_items: Iterable[ClassifiedDocument]) -> None:
    """Raise UsageError for a JobProfile with a wrong apiVersion: its jobs must not be omitted silently."""
    for item in document_items:
        if (
            item.category == "other"
            and isinstance(item.doc.data, dict)
            and item.doc.data.get("kind") == "JobProfile"
        ):
            raise UsageError(f"{item.doc.name}: a JobProfile must have the apiVersion podplan/v1")


def is_podplan_file(source: SourceFile) -> bool:
    """Whether a file mentions profiles or CRs, and is no Helm template, so that its errors are reported."""
    is_template = source.diagnostics and is_helm_template(source.text) and not any(classify_documents(source))
    return mentions_own_api(source.text) and not is_template


def iter_profile_files(folder: str, exclude: Sequence[str]) -> Iterator[str]:
    """Yield the files of an Application that contain a profile, or may contain one: generate reports errors.

    Empty for the folder of a chart or a kustomization: Argo CD asks plugins before it detects those itself.
    """
    if any(os.path.lexists(os.path.join(folder, name)) for name in _OTHER_TOOL_FILES):
        return
    for path in files_below(folder, exclude, []):
        if _mentions_podplan(path) and _may_hold_profile(path):
            yield path


def _mentions_podplan(path: str) -> bool:
    try:
        return file_contains_any(find_root(path), path, [b"podplan/v"])
    except (OutsideRoot, OSError):
        return False


def _may_hold_profile(path: str) -> bool:
    try:
        [source] = load_files([path])
    except (LimitExceeded, UsageError):
        return True
    if isinstance(source, SkippedFile):
        return True
    if any(item.category in _PROFILE_CATEGORIES for item in classify_documents(source)):
        return True
    return bool(source.diagnostics) and is_podplan_file(source) and "JobProfile" in source.text


def _iter_sources(folder: str, exclude: Sequence[str]) -> Iterator[SourceFile]:
    for source in load_files(expand_paths([folder], exclude)):
        if isinstance(source, SkippedFile):
            raise UsageError(f"{source.file}: {source.reason}, and nobody can tell what it holds; delete it")
        yield source


def _is_manifest(item: ClassifiedDocument) -> bool:
    data = item.doc.data
    if item.category not in ("cr", "object", "other") or not isinstance(data, dict):
        return False
    version, kind = data.get("apiVersion"), data.get("kind")
    if not (isinstance(version, str) and isinstance(kind, str)):
        return bool(_find_missing_identity(data))
    group = version.rpartition("/")[0]
    if group.endswith(_LOCAL_GROUPS) or f"{version}/{kind}" in _LOCAL_KINDS:
        return False
    metadata = data.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return not (isinstance(annotations, dict) and annotations.get(_LOCAL_CONFIG_ANNOTATION) == "true")


def _find_missing_identity(data: dict[str, Any]) -> str:
    """Return apiVersion or kind if it is missing, but the other one and metadata exist: it is probably
    misspelt."""
    present = [name for name in ("apiVersion", "kind") if isinstance(data.get(name), str)]
    if len(present) != 1 or not isinstance(data.get("metadata"), dict):
        return ""
    return "kind" if present == ["apiVersion"] else "apiVersion"


def _is_render_of(item: ClassifiedDocument, profiles: set[str]) -> bool:
    """Whether a CR is the render of one of the profiles, and so no second object."""
    header = parse_header(item) if item.category == "cr" else None
    return header is not None and os.path.realpath(find_source_path(item, header)) in profiles


def _build_profile(profile_item: ClassifiedDocument, place: JobSource, reader: Loader) -> ApplicationProfile:
    faults: list[Diagnostic] = []
    merged = _merge_bases(profile_item.doc, reader, faults)
    spec = merged.data.get("spec")
    spec = spec if isinstance(spec, dict) else {}
    environments, params = spec.get("environments"), spec.get("params")
    return ApplicationProfile(
        profile_item,
        place,
        str(identify_object(profile_item.doc.data)["name"] or ""),
        tuple(environments) if isinstance(environments, dict) else (),
        params if isinstance(params, dict) else {},
        not faults,
    )


def _merge_bases(doc: TracedDocument, reader: Loader, faults: list[Diagnostic]) -> TracedDocument:
    """Merge ``doc`` over its base profiles; errors are reported when it is compiled."""
    if not isinstance(doc.data.get("spec"), dict) or "extends" not in doc.data["spec"]:
        return doc
    from podplan.profile.extends import merge_bases

    return merge_bases(doc, reader.load_base, faults)


def describe_undecided_manifests(application: Application) -> str:
    """Return a sentence about manifests besides profiles, if the parameters do not say how to treat them."""
    item, _ = application.manifests[0]
    object_identity = identify_object(item.doc.data)
    kind = object_identity["kind"] or "an object without kind,"
    other_count = len(application.manifests) - 1
    others_text = (
        f" and {other_count} more object{'s' if other_count > 1 else ''} are" if other_count else " is"
    )
    return (
        f"{item.doc.name}: {kind} {object_identity['name']}{others_text} no profile; set the parameter"
        " manifests to include (apply them as they are) or to ignore"
    )


def find_unfit_manifest(application: Application) -> str:
    """Return a sentence about a file that cannot be included because it is incomplete or no YAML, or ""."""
    for source in application.broken_sources:
        fault = source.diagnostics[0]
        description = "a template of Helm" if is_helm_template(source.text) else fault.message
        return (
            f"{source.file}:{fault.span.line}: {description}; a manifest that is to be included must be YAML"
        )
    for item, _ in application.manifests:
        if missing := _find_missing_identity(item.doc.data):
            name = identify_object(item.doc.data)["name"]
            return f"{item.doc.name}: the object {name} has no {missing}, and Argo CD applies nothing without"
    return ""
