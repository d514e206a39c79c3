"""What lies in the folder of an Application: profiles, and manifests beside them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from podplan.checker.packed_store import Origin
from podplan.core.errors import RequestError
from podplan.core.limits import BoundExceeded
from podplan.core.provenance import Doc
from podplan.core.typing import TYPE_CHECKING, Any, NamedTuple
from podplan.rendering.header import header_of, source_path
from podplan.workspace import Reader
from podplan.workspace.documents import Item, identity, is_helm_template, items, mentions_ours
from podplan.workspace.file_loader import Unread, sources
from podplan.workspace.files import OutsideRoot, expand, files_below, mentions, root_of
from podplan.yaml import Source

if TYPE_CHECKING:
    from podplan.profile.merge import Problems

# Argo CD itself passes over a file that has this anywhere in it (its user guide: directory).
SKIPPED = "+argocd:skip-file-rendering"
# What configures a program where it runs, and no cluster knows: kustomizations and the like, and plugins.
_LOCAL_GROUPS = ".config.k8s.io"
_LOCAL_KINDS = ("argoproj.io/v1alpha1/ConfigManagementPlugin",)
_LOCAL = "config.kubernetes.io/local-config"
_OF_OTHER_TOOLS = ("Chart.yaml", "kustomization.yaml", "kustomization.yml", "Kustomization")
_PROFILES = ("profile", "podplan")  # "podplan" is a kind that does not exist: probably a profile, misspelt


class Profile(NamedTuple):
    """A profile with its bases: its name, its environments, and its params, each as it is declared.

    One that is not ``whole`` lacks a base, and may have more of both. ``place`` is where it is written.
    """

    item: Item
    place: Origin
    name: str
    environments: tuple[str, ...]
    params: dict[str, Any]
    whole: bool = True


class Application(NamedTuple):
    """The files, and what they hold; ``manifests`` are what Argo CD would apply without a plugin, each with
    where it is written."""

    sources: list[Source]
    profiles: list[Profile]
    manifests: list[tuple[Item, Origin]]
    broken: list[Source]


def read(folder: str, exclude: Sequence[str], reader: Reader) -> Application:
    """Everything of an Application.

    Raises RequestError for a folder, and for what may be a profile, that cannot be read, BoundExceeded for a
    profile that is too big, and NoSuchPath.
    """
    found = list(_sources(folder, exclude))
    listed = [
        (source, item, Origin(source.file, number))
        for source in found
        for number, item in enumerate(items(source))
    ]
    _refuse_foreign_profiles(item for _, item, _ in listed)
    profiles = [(item, place) for _, item, place in listed if item.what in _PROFILES]
    rendered_here = {os.path.realpath(item.doc.name) for item, _ in profiles}
    manifests = [
        (item, place)
        for source, item, place in listed
        if SKIPPED not in source.text and _is_manifest(item) and not _is_render_of(item, rendered_here)
    ]
    broken = [source for source in found if source.faults and not is_ours(source)]
    return Application(found, [_profile(item, place, reader) for item, place in profiles], manifests, broken)


def _refuse_foreign_profiles(found: Iterable[Item]) -> None:
    """Raises RequestError for a JobProfile that is none by its apiVersion: its jobs must not be left out."""
    for item in found:
        if (
            item.what == "other"
            and isinstance(item.doc.data, dict)
            and item.doc.data.get("kind") == "JobProfile"
        ):
            raise RequestError(f"{item.doc.name}: a JobProfile must have the apiVersion podplan/v1")


def is_ours(source: Source) -> bool:
    """Whether a file names profiles or CRs, and is no template of Helm: its mistakes are our concern."""
    is_template = source.faults and is_helm_template(source.text) and not any(items(source))
    return mentions_ours(source.text) and not is_template


def with_profiles(folder: str, exclude: Sequence[str]) -> Iterator[str]:
    """The files of an Application that hold a profile, or may hold one: generate says what is wrong in it.

    There are none for the folder of a chart or a kustomization: Argo CD asks plugins before it looks for
    those itself.
    """
    if any(os.path.lexists(os.path.join(folder, name)) for name in _OF_OTHER_TOOLS):
        return
    for path in files_below(folder, exclude, []):
        if _names_us(path) and _may_hold_profile(path):
            yield path


def _names_us(path: str) -> bool:
    try:
        return mentions(root_of(path), path, [b"podplan/v"])
    except (OutsideRoot, OSError):
        return False


def _may_hold_profile(path: str) -> bool:
    try:
        [found] = sources([path])
    except (BoundExceeded, RequestError):
        return True
    if isinstance(found, Unread):
        return True
    if any(item.what in _PROFILES for item in items(found)):
        return True
    return bool(found.faults) and is_ours(found) and "JobProfile" in found.text


def _sources(folder: str, exclude: Sequence[str]) -> Iterator[Source]:
    for found in sources(expand([folder], exclude)):
        if isinstance(found, Unread):
            raise RequestError(f"{found.file}: {found.reason}, and nobody can tell what it holds; delete it")
        yield found


def _is_manifest(item: Item) -> bool:
    data = item.doc.data
    if item.what not in ("cr", "object", "other") or not isinstance(data, dict):
        return False
    version, kind = data.get("apiVersion"), data.get("kind")
    if not (isinstance(version, str) and isinstance(kind, str)):
        return bool(_lacks(data))
    group = version.rpartition("/")[0]
    if group.endswith(_LOCAL_GROUPS) or f"{version}/{kind}" in _LOCAL_KINDS:
        return False
    metadata = data.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    return not (isinstance(annotations, dict) and annotations.get(_LOCAL) == "true")


def _lacks(data: dict[str, Any]) -> str:
    """apiVersion or kind, where data has the other and metadata: an object in which one is misspelt."""
    there = [name for name in ("apiVersion", "kind") if isinstance(data.get(name), str)]
    if len(there) != 1 or not isinstance(data.get("metadata"), dict):
        return ""
    return "kind" if there == ["apiVersion"] else "apiVersion"


def _is_render_of(item: Item, profiles: set[str]) -> bool:
    """Whether a CR is what one of the profiles was rendered to, and so no second one beside it."""
    said = header_of(item) if item.what == "cr" else None
    return said is not None and os.path.realpath(source_path(item, said)) in profiles


def _profile(item: Item, place: Origin, reader: Reader) -> Profile:
    faults: Problems = []
    merged = _with_bases(item.doc, reader, faults)
    spec = merged.data.get("spec")
    spec = spec if isinstance(spec, dict) else {}
    environments, params = spec.get("environments"), spec.get("params")
    return Profile(
        item,
        place,
        str(identity(item.doc.data)["name"] or ""),
        tuple(environments) if isinstance(environments, dict) else (),
        params if isinstance(params, dict) else {},
        not faults,
    )


def _with_bases(doc: Doc, reader: Reader, faults: Problems) -> Doc:
    """``doc`` over what it extends; the faults are found again, and told, when it is compiled."""
    if not isinstance(doc.data.get("spec"), dict) or "extends" not in doc.data["spec"]:
        return doc
    from podplan.profile.extends import extend

    return extend(doc, reader.load, faults)


def left_out(application: Application) -> str:
    """A sentence about manifests beside profiles, of which nobody said what becomes of them."""
    item, _ = application.manifests[0]
    named = identity(item.doc.data)
    kind = named["kind"] or "an object without kind,"
    others = len(application.manifests) - 1
    more = f" and {others} more object{'s' if others > 1 else ''} are" if others else " is"
    return (
        f"{item.doc.name}: {kind} {named['name']}{more} no profile; set the parameter manifests to"
        " include (apply them as they are) or to ignore"
    )


def unfit(application: Application) -> str:
    """A sentence about what may be a manifest and cannot be included: no YAML, or not whole; else ""."""
    for source in application.broken:
        fault = source.faults[0]
        what = "a template of Helm" if is_helm_template(source.text) else fault.message
        return f"{source.file}:{fault.span.line}: {what}; a manifest that is to be included must be YAML"
    for item, _ in application.manifests:
        if missing := _lacks(item.doc.data):
            name = identity(item.doc.data)["name"]
            return f"{item.doc.name}: the object {name} has no {missing}, and Argo CD applies nothing without"
    return ""
