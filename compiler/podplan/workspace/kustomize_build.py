"""The output of kustomize build, with each value traced to the file that states it.

kustomize itself builds: without plugins, which it runs only on request, and without network.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress

from podplan.core.errors import UsageError
from podplan.core.limits import MAX_FILE_BYTES, LimitExceeded, limit_exceeded
from podplan.core.provenance import (
    Cursor,
    Traced,
    TracedDocument,
    attribute_to,
    build_traced_document,
    compute_traced,
    root_cursor,
)
from podplan.core.truncation import truncate
from podplan.core.typing import Any, NamedTuple
from podplan.workspace.documents import classify_documents, identify_object
from podplan.workspace.files import OutsideRoot, find_root, to_user_path
from podplan.workspace.kustomizations import KUSTOMIZATION_NAMES, PATCH_FIELDS
from podplan.yaml import SourceFile, parse_yaml

TYPE_CHECKING = False
if TYPE_CHECKING:
    from podplan.workspace.repository_reader import RepositoryReader

ORIGIN_ANNOTATION = "config.kubernetes.io/origin"
MAX_BUILD_SECONDS = 60
_MAX_MESSAGE = 500
# Fields of a kustomization that may state a value itself.
_CHANGING_FIELDS = frozenset(
    (
        *PATCH_FIELDS,
        *("images", "replicas", "namespace", "namePrefix", "nameSuffix", "labels", "commonLabels"),
        *("commonAnnotations", "replacements", "components", "transformers"),
    )
)
# Nothing listens on the discard port: remote bases are an error instead of a download.
_NO_PROXY_ADDRESS = "http://127.0.0.1:9"


class KustomizeBuild(NamedTuple):
    """The output of a build, as one file, and its documents in order."""

    source: SourceFile
    documents: list[TracedDocument]


def build_kustomization(folder: str, loader: RepositoryReader) -> KustomizeBuild:
    """Build the kustomization in a folder.

    Raises UsageError: if there is none, if neither kustomize nor kubectl is installed, or if the build fails.
    """
    if not has_kustomization(folder):
        raise UsageError(f"{folder}: there is no {KUSTOMIZATION_NAMES[0]} in this folder")
    content, base_folder = _run_kustomize(folder)
    source = parse_yaml(content, f"kustomize build {folder}")
    patches = list(_load_patches(folder, loader))
    changes = _find_changes(folder, loader)
    return KustomizeBuild(
        source,
        [
            _trace_document(item.doc, base_folder, folder, patches, changes, loader)
            for item in classify_documents(source)
        ],
    )


def has_kustomization(folder: str) -> bool:
    """Whether there is a kustomization in a folder."""
    return any(os.path.isfile(os.path.join(folder, name)) for name in KUSTOMIZATION_NAMES)


def _run_kustomize(folder: str) -> tuple[bytes, str]:
    """Return the output, and the folder that its origins are relative to.

    A kustomization in a temporary folder asks for origins, so that nothing is written to the repository.
    """
    import tempfile
    from shutil import which

    kustomize, kubectl = which("kustomize"), which("kubectl")
    if not kustomize and not kubectl:
        raise UsageError("-k runs kustomize or kubectl, and neither is installed; install one of them")
    command = [kustomize, "build"] if kustomize else [str(kubectl), "kustomize"]
    with tempfile.TemporaryDirectory(prefix="podplan-") as temporary:
        top = os.path.realpath(temporary)
        resource = os.path.relpath(os.path.realpath(folder), top)
        with open(os.path.join(top, KUSTOMIZATION_NAMES[0]), "w", encoding="utf-8") as stream:
            json.dump({"resources": [resource], "buildMetadata": ["originAnnotations"]}, stream)
        proxies = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), _NO_PROXY_ADDRESS)
        environment = {**os.environ, **proxies, "NO_PROXY": "", "no_proxy": "", "GIT_ALLOW_PROTOCOL": ""}
        try:
            done = subprocess.run(
                [*command, top], capture_output=True, env=environment, timeout=MAX_BUILD_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            raise LimitExceeded(f"kustomize timed out after {MAX_BUILD_SECONDS} s for {folder}") from None
    if done.returncode != 0:
        text = " ".join(done.stderr.decode(errors="replace").replace(top + os.sep, "").split())
        raise UsageError(f"{folder}: kustomize fails: {truncate(text.removeprefix('error: '), _MAX_MESSAGE)}")
    if len(done.stdout) > MAX_FILE_BYTES:
        message = f"{folder} builds {len(done.stdout):,} bytes, and at most {MAX_FILE_BYTES:,} are read"
        raise LimitExceeded(limit_exceeded("file-bytes", message))
    return done.stdout, top


def _load_patches(folder: str, loader: RepositoryReader) -> Iterator[Cursor]:
    """Yield the documents of the patches in files, of the kustomization in a folder and of its bases."""
    waiting, seen = [os.path.realpath(folder)], set()
    root = find_root(folder)
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        kustomization = loader.kustomizations.load(current, root)
        if kustomization is None:
            continue
        for patch in sorted(kustomization.patches):
            yield from map(root_cursor, _load_documents(to_user_path(patch, folder), loader))
        waiting += sorted(path for path in kustomization.resources if os.path.isdir(path))


def _find_changes(folder: str, loader: RepositoryReader) -> Cursor | None:
    """Return what the kustomization in a folder changes in its resources: the first such field."""
    for name in KUSTOMIZATION_NAMES:
        for doc in _load_documents(os.path.join(folder, name), loader):
            fields = root_cursor(doc).fields()
            return next((cursor for key, cursor in fields.items() if key in _CHANGING_FIELDS), None)
    return None


def _load_documents(path: str, loader: RepositoryReader) -> list[TracedDocument]:
    with suppress(OSError, OutsideRoot, LimitExceeded):
        return [item.doc for item in classify_documents(loader.load_source(find_root(path), path))]
    return []


def _trace_document(
    built: TracedDocument,
    base_folder: str,
    folder: str,
    patches: Sequence[Cursor],
    changes: Cursor | None,
    loader: RepositoryReader,
) -> TracedDocument:
    """Return a built document with its values traced to a patch or its origin; as it is without an origin."""
    if not isinstance(built.data, dict):
        return built
    data, origin = _split_origin(built.data)
    path = origin.get("path")
    if not isinstance(path, str) or "repo" in origin:
        return TracedDocument(built.name, data, source=built.source)
    file = to_user_path(os.path.normpath(os.path.join(base_folder, path)), folder)
    identity = identify_object(data)
    stated = [
        root_cursor(doc)
        for doc in _load_documents(file, loader)
        if isinstance(doc.data, dict) and doc.data.get("kind") == identity["kind"]
    ]
    if not stated:
        return TracedDocument(built.name, data, source=built.source)
    # A prefix or suffix may have changed the name.
    stated.sort(key=lambda one: str(identify_object(one.value)["name"]) not in str(identity["name"]))
    sources = [one for one in patches if one.get("kind").value == identity["kind"]]
    return build_traced_document(_trace(data, [*sources, stated[0]], stated[0], changes), file)


def _split_origin(data: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a built object without the annotation about its origin, and the value of that annotation."""
    metadata = data.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    if not isinstance(annotations, dict) or ORIGIN_ANNOTATION not in annotations:
        return data, {}
    assert isinstance(metadata, dict)
    others = {key: value for key, value in annotations.items() if key != ORIGIN_ANNOTATION}
    kept = {key: value for key, value in metadata.items() if key != "annotations"}
    documents = parse_yaml(str(annotations[ORIGIN_ANNOTATION]).encode(), ORIGIN_ANNOTATION).documents
    origin = documents[0].data if documents and isinstance(documents[0].data, dict) else {}
    return {**data, "metadata": {**kept, **({"annotations": others} if others else {})}}, origin


def _trace(value: Any, candidates: Sequence[Cursor], fallback: Cursor, changes: Cursor | None) -> Traced:
    """Return a value attributed to the first candidate that states it, else to the nearest place that exists.

    The last candidate is where the value was before patches. ``changes`` of the kustomization contributed
    where no file states the value.
    """
    existing = [one for one in candidates if one.exists]
    place = existing[-1] if existing else fallback
    if isinstance(value, dict):
        below = {
            key: _trace(part, [one.get(key) for one in existing], place, changes)
            for key, part in value.items()
        }
        return attribute_to(place, below)
    if isinstance(value, list):
        entries = [
            _trace(part, [_find_entry(one, part, number) for one in existing], place, changes)
            for number, part in enumerate(value)
        ]
        return attribute_to(place, entries)
    equal = next((one for one in existing if one.value == value), None)
    if equal is None and changes is not None:
        return compute_traced(lambda *_: value, place, changes)
    return attribute_to(equal if equal is not None else place, value)


def _find_entry(entries: Cursor, part: Any, number: int) -> Cursor:
    """Return the entry of a list with the name of a built one, else the entry at its index."""
    name = part.get("name") if isinstance(part, dict) else None
    named = [one for one in entries.entries() if name is not None and one.get("name").value == name]
    return named[0] if named else entries.get(number)
