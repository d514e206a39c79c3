"""The addresses from which the TensorBoard of a job reads its logs.

Source: https://github.com/t9k/user-manuals/blob/fbf6b3c/src/modules/building/tensorboard.md and
.../src/references/api-reference/tensorboard.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.suggestions import suggest_phrase
from podplan.core.typing import Any
from podplan.kubernetes import names
from podplan.kubernetes.accessors import get_entries, get_mapping, get_texts
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

FILESET_SCHEME = "t9k://"
_STORE_FORMS = {"pvc": "t9k://pvc/CLAIM/PATH", "minio": "t9k://minio/SECRET/BUCKET/PATH"}
_URL_PATTERN = compile_lazily(r"https?://[^\s/]+\S*")
_OBJECT_URI_PATTERN = compile_lazily(r"[a-z][a-z0-9+.-]*://[^\s/]+\S*")
_BUCKET_PATTERN = compile_lazily(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


@check()
def log_source_format(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A source of logs that TensorBoard cannot read. Values: ``source``, ``why``."""
    spec = get_mapping(target.data, "spec")
    for path, source, reason in _iter_source_errors(spec):
        yield Violation(("spec", *path), {"source": names.format_value(source), "why": reason})


def _iter_source_errors(spec: Mapping[str, Any]) -> Iterator[tuple[Path, str, str]]:
    for number, fileset in get_texts(spec, "trainingLogFilesets"):
        if reason := _explain_fileset_error(fileset):
            yield ("trainingLogFilesets", number), fileset, reason
    folders = get_mapping(spec, "logDir")
    for number, claim in get_entries(folders, "pvc"):
        for index, path in get_texts(claim, "subPath"):
            if path.startswith("/") or ".." in path.split("/"):
                yield (
                    ("logDir", "pvc", number, "subPath", index),
                    path,
                    "it must be a path relative to the claim",
                )
    for index, uri in get_texts(get_mapping(folders, "s3"), "uri"):
        if not _OBJECT_URI_PATTERN.fullmatch(uri):
            yield ("logDir", "s3", "uri", index), uri, "it must be a URI, such as s3://BUCKET/PATH"
    for index, url in get_texts(get_mapping(folders, "http"), "url"):
        if not _URL_PATTERN.fullmatch(url):
            yield ("logDir", "http", "url", index), url, "it must begin with http:// or https://"


def _explain_fileset_error(fileset: str) -> str:
    """Explain why a text is no fileset; "" if it is one."""
    if not fileset.startswith(FILESET_SCHEME):
        return f"it must begin with {FILESET_SCHEME}pvc/ or {FILESET_SCHEME}minio/"
    store, *parts = fileset.removeprefix(FILESET_SCHEME).split("/")
    if store not in _STORE_FORMS:
        suggestion = suggest_phrase(store, _STORE_FORMS) or "; there are pvc and minio"
        return f"there is no storage type {names.format_value(store)}{suggestion}"
    if any(part != part.strip() for part in parts) or ".." in parts:
        return "a part of it is .. or has blanks at its ends"
    object_name = parts[0] if parts else ""
    if not names.matches_form("dns-subdomain", object_name):
        object_label = "persistent volume claim" if store == "pvc" else "Secret"
        error = (
            f"{names.format_value(object_name)} is no name of a {object_label}"
            if object_name
            else f"it names no {object_label}"
        )
        return f"{error}; write {_STORE_FORMS[store]}"
    if store == "minio" and not (len(parts) > 1 and _BUCKET_PATTERN.fullmatch(parts[1])):
        return f"it names no bucket; write {_STORE_FORMS[store]}"
    return ""
