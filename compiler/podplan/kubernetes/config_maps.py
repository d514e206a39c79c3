"""ConfigMaps and Secrets: their size, their encoding, the keys that a type of Secret needs.

No message shows a value.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

from podplan.core.findings import Path, Problem
from podplan.core.typing import Any
from podplan.kubernetes.accessors import mapping, text

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
    decoded = yield from _all_decoded(encoded, ("binaryData",))
    yield from _fits([*_raw(plain).values(), *decoded.values()], ())


def secret(obj: dict[str, Any]) -> Iterator[Problem]:
    """The problems of a Secret. What is under stringData wins over data, as when it is stored."""
    stored = yield from _all_decoded(mapping(obj, "data"), ("data",))
    stored |= _raw(mapping(obj, "stringData"))
    yield from _fits([*stored.values()], ("data",))
    yield from _of_type(text(obj, "type"), stored, obj)


def _of_type(kind: str, stored: dict[str, bytes], obj: dict[str, Any]) -> Iterator[Problem]:
    for key in _NEEDED.get(kind, ()):
        if key not in stored:
            yield Problem("SCHEMA003", f'a Secret of type {kind} needs the key "{key}"', ("data", key))
        elif "docker" in kind and not _is_json(stored[key]):
            at: Path = ("stringData" if key in mapping(obj, "stringData") else "data", key)
            yield Problem("SCHEMA006", f'key "{key}" of a Secret of type {kind} must hold JSON', at)
    if kind == "kubernetes.io/basic-auth" and not stored.keys() & {"username", "password"}:
        message = f'a Secret of type {kind} needs the key "username" or "password"'
        yield Problem("SCHEMA003", message, ("data", "username"))
    annotations = mapping(mapping(obj, "metadata"), "annotations")
    if kind == "kubernetes.io/service-account-token" and not annotations.get(_ACCOUNT):
        message = f"a Secret of type {kind} needs the annotation {_ACCOUNT}"
        yield Problem("SCHEMA003", message, ("metadata", "annotations", _ACCOUNT))


def _fits(contents: list[bytes], path: Path) -> Iterator[Problem]:
    size = sum(map(len, contents))
    if size > MAX_BYTES:
        message = f"the values have {size} bytes in all; at most {MAX_BYTES} are allowed"
        yield Problem("SCHEMA005", message, path)


def _raw(values: dict[str, Any]) -> dict[str, bytes]:
    return {
        key: value.encode("utf-8", "surrogatepass") for key, value in values.items() if isinstance(value, str)
    }


def _all_decoded(values: dict[str, Any], path: Path) -> Generator[Problem, None, dict[str, bytes]]:
    """Yield a problem for each value that is not base64; return what the values hold."""
    held: dict[str, bytes] = {}
    for key, value in values.items():
        content = _decoded(value) if isinstance(value, str) else b""
        if content is None:
            help = "write the value as base64, or as plain text under stringData" if path == ("data",) else ""
            yield Problem("SCHEMA006", f'the value of key "{key}" is not base64', (*path, key), help=help)
        held[key] = content or b""
    return held


def _decoded(value: str) -> bytes | None:
    from binascii import Error, a2b_base64

    try:
        # Go skips line breaks within base64 and nothing else.
        return a2b_base64(value.replace("\n", "").replace("\r", "").encode("ascii"), strict_mode=True)
    except (Error, UnicodeEncodeError):
        return None


def _is_json(content: bytes) -> bool:
    import json

    try:
        json.loads(content)
    except (ValueError, RecursionError):
        return False
    return True
