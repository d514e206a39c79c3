"""The addresses from which the TensorBoard of a job reads its logs.

Source: https://github.com/t9k/user-manuals/blob/fbf6b3c/src/modules/building/tensorboard.md and
.../src/references/api-reference/tensorboard.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.lazy_regex import pattern
from podplan.core.suggestions import did_you_mean
from podplan.core.typing import Any
from podplan.kubernetes import names
from podplan.kubernetes.accessors import entries, mapping, texts
from podplan.lint.target import Hit, Subject

SCHEME = "t9k://"
_STORES = {"pvc": "t9k://pvc/CLAIM/PATH", "minio": "t9k://minio/SECRET/BUCKET/PATH"}
_URL = pattern(r"https?://[^\s/]+\S*")
_OBJECT = pattern(r"[a-z][a-z0-9+.-]*://[^\s/]+\S*")
_BUCKET = pattern(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


def log_source_format(subject: Subject, _params: Mapping[str, Any]) -> Iterator[Hit]:
    """A source of logs that TensorBoard cannot read. Values: ``source``, ``why``."""
    spec = mapping(subject.data, "spec")
    for path, source, why in _faults(spec):
        yield Hit(("spec", *path), {"source": names.shown(source), "why": why})


def _faults(spec: Mapping[str, Any]) -> Iterator[tuple[Path, str, str]]:
    for number, fileset in texts(spec, "trainingLogFilesets"):
        if why := _fileset_fault(fileset):
            yield ("trainingLogFilesets", number), fileset, why
    folders = mapping(spec, "logDir")
    for number, claim in entries(folders, "pvc"):
        for at, path in texts(claim, "subPath"):
            if path.startswith("/") or ".." in path.split("/"):
                yield (
                    ("logDir", "pvc", number, "subPath", at),
                    path,
                    "it must be a path relative to the claim",
                )
    for at, uri in texts(mapping(folders, "s3"), "uri"):
        if not _OBJECT.fullmatch(uri):
            yield ("logDir", "s3", "uri", at), uri, "it must be a URI, such as s3://BUCKET/PATH"
    for at, url in texts(mapping(folders, "http"), "url"):
        if not _URL.fullmatch(url):
            yield ("logDir", "http", "url", at), url, "it must begin with http:// or https://"


def _fileset_fault(fileset: str) -> str:
    """Why a text is no fileset; "" for one that is."""
    if not fileset.startswith(SCHEME):
        return f"it must begin with {SCHEME}pvc/ or {SCHEME}minio/"
    store, *rest = fileset.removeprefix(SCHEME).split("/")
    if store not in _STORES:
        meant = did_you_mean(store, _STORES) or "; there are pvc and minio"
        return f"there is no storage type {names.shown(store)}{meant}"
    if any(part != part.strip() for part in rest) or ".." in rest:
        return "a part of it is .. or has blanks at its ends"
    holder = rest[0] if rest else ""
    if not names.fits("dns-subdomain", holder):
        what = "persistent volume claim" if store == "pvc" else "Secret"
        fault = f"{names.shown(holder)} is no name of a {what}" if holder else f"it names no {what}"
        return f"{fault}; write {_STORES[store]}"
    if store == "minio" and not (len(rest) > 1 and _BUCKET.fullmatch(rest[1])):
        return f"it names no bucket; write {_STORES[store]}"
    return ""
