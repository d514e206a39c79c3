"""ConfigMaps and Secrets: their size, their encoding, the keys that a type of Secret needs.

No message shows a value.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from podplan.findings import Path, Problem
from podplan.kubernetes.shape import mapping, text

MAX_BYTES = 1024 * 1024

_NEEDED = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_ACCOUNT = "kubernetes.io/service-account.name"


def config_map(obj: dict[str, Any]) -> Iterator[Problem]:
    """The problems of a ConfigMap."""
    plain, encoded = mapping(obj, "data"), mapping(obj, "binaryData")
    for key in encoded:
        if key in plain:
            message = f'key "{key}" is in data and in binaryData'
            yield Problem("SCHEMA007", message, ("binaryData", key), related=((("data", key), "the other"),))
    size = sum(_bytes(value) for value in plain.values())
    for key, value in encoded.items():
        content = _decoded(value)
        if content is None:
            yield _not_base64(key, ("binaryData", key))
        size += len(content or b"")
    if size > MAX_BYTES:
        yield Problem(
            "SCHEMA005", f"the values have {size} bytes in all; at most {MAX_BYTES} are allowed", ()
        )


def secret(obj: dict[str, Any]) -> Iterator[Problem]:
    """The problems of a Secret. What is under stringData wins over data, as when it is stored."""
    encoded, plain = mapping(obj, "data"), mapping(obj, "stringData")
    stored = {key: _decoded(value) for key, value in encoded.items()}
    for key, content in stored.items():
        if content is None and isinstance(encoded[key], str):
            yield _not_base64(key, ("data", key))
    stored.update(
        (key, value.encode("utf-8", "surrogatepass"))
        for key, value in plain.items()
        if isinstance(value, str)
    )
    size = sum(len(content or b"") for content in stored.values())
    if size > MAX_BYTES:
        message = f"the values have {size} bytes in all; at most {MAX_BYTES} are allowed"
        yield Problem("SCHEMA005", message, ("data",))
    yield from _of_type(text(obj, "type"), stored, obj)


def _of_type(kind: str, stored: dict[str, bytes | None], obj: dict[str, Any]) -> Iterator[Problem]:
    for key in _NEEDED.get(kind, ()):
        if key not in stored:
            yield Problem("SCHEMA003", f'a Secret of type {kind} needs the key "{key}"', ("data", key))
        elif "docker" in kind and not _is_json(stored[key]):
            at: Path = ("stringData" if key in mapping(obj, "stringData") else "data", key)
            yield Problem("SCHEMA006", f'key "{key}" of a Secret of type {kind} must hold JSON', at)
    if kind == "kubernetes.io/basic-auth" and not stored.keys() & {"username", "password"}:
        message = f'a Secret of type {kind} needs the key "username" or "password"'
        yield Problem("SCHEMA003", message, ("data", "username"))
    if kind == "kubernetes.io/service-account-token" and not mapping(
        mapping(obj, "metadata"), "annotations"
    ).get(_ACCOUNT):
        message = f"a Secret of type {kind} needs the annotation {_ACCOUNT}"
        yield Problem("SCHEMA003", message, ("metadata", "annotations", _ACCOUNT))


def _bytes(value: object) -> int:
    return len(value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else 0


def _decoded(value: object) -> bytes | None:
    from binascii import Error, a2b_base64

    if not isinstance(value, str):
        return None
    try:
        # Go skips line breaks within base64 and nothing else.
        return a2b_base64(value.replace("\n", "").replace("\r", "").encode("ascii"), strict_mode=True)
    except (Error, UnicodeEncodeError):
        return None


def _not_base64(key: str, path: Path) -> Problem:
    help = "write the value as base64, or as plain text under stringData" if path[0] == "data" else ""
    return Problem("SCHEMA006", f'the value of key "{key}" is not base64', path, help=help)


def _is_json(content: bytes | None) -> bool:
    import json

    try:
        json.loads(content or b"")
    except (ValueError, RecursionError):
        return False
    return True
