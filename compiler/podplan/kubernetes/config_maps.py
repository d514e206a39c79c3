"""ConfigMaps and Secrets: size, encoding, and the keys that a type of Secret requires.

No message contains a value.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator

from podplan.core.findings import Diagnostic, Path
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_mapping, get_text

MAX_DATA_BYTES = 1024 * 1024

_REQUIRED_KEYS = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
_SERVICE_ACCOUNT_ANNOTATION = "kubernetes.io/service-account.name"


def validate_config_map(obj: dict[str, Any]) -> Iterator[Diagnostic]:
    """Yield the diagnostics of a ConfigMap."""
    plain_values, encoded_values = get_mapping(obj, "data"), get_mapping(obj, "binaryData")
    for key in encoded_values:
        if key in plain_values:
            message = f'key "{key}" is in both data and binaryData'
            yield Diagnostic(
                "SCHEMA007", message, ("binaryData", key), related=((("data", key), "the other"),)
            )
    decoded = yield from _decode_values(encoded_values, ("binaryData",))
    yield from _validate_size([*_encode_values(plain_values).values(), *decoded.values()], ())


def validate_secret(obj: dict[str, Any]) -> Iterator[Diagnostic]:
    """Yield the diagnostics of a Secret; stringData overrides data, as when it is stored."""
    stored = yield from _decode_values(get_mapping(obj, "data"), ("data",))
    stored |= _encode_values(get_mapping(obj, "stringData"))
    yield from _validate_size([*stored.values()], ("data",))
    yield from _validate_secret_type(get_text(obj, "type"), stored, obj)


def _validate_secret_type(
    secret_type: str, stored: dict[str, bytes], obj: dict[str, Any]
) -> Iterator[Diagnostic]:
    for key in _REQUIRED_KEYS.get(secret_type, ()):
        if key not in stored:
            yield Diagnostic(
                "SCHEMA003", f'a Secret of type {secret_type} needs the key "{key}"', ("data", key)
            )
        elif "docker" in secret_type and not _is_json(stored[key]):
            path: Path = ("stringData" if key in get_mapping(obj, "stringData") else "data", key)
            yield Diagnostic(
                "SCHEMA006", f'key "{key}" of a Secret of type {secret_type} must contain JSON', path
            )
    if secret_type == "kubernetes.io/basic-auth" and not stored.keys() & {"username", "password"}:
        message = f'a Secret of type {secret_type} needs the key "username" or "password"'
        yield Diagnostic("SCHEMA003", message, ("data", "username"))
    annotations = get_mapping(get_mapping(obj, "metadata"), "annotations")
    if secret_type == "kubernetes.io/service-account-token" and not annotations.get(
        _SERVICE_ACCOUNT_ANNOTATION
    ):
        message = f"a Secret of type {secret_type} needs the annotation {_SERVICE_ACCOUNT_ANNOTATION}"
        yield Diagnostic("SCHEMA003", message, ("metadata", "annotations", _SERVICE_ACCOUNT_ANNOTATION))


def _validate_size(contents: list[bytes], path: Path) -> Iterator[Diagnostic]:
    size = sum(map(len, contents))
    if size > MAX_DATA_BYTES:
        message = f"the values have {size} bytes in total; at most {MAX_DATA_BYTES} are allowed"
        yield Diagnostic("SCHEMA005", message, path)


def _encode_values(values: dict[str, Any]) -> dict[str, bytes]:
    return {
        key: value.encode("utf-8", "surrogatepass") for key, value in values.items() if isinstance(value, str)
    }


def _decode_values(values: dict[str, Any], path: Path) -> Generator[Diagnostic, None, dict[str, bytes]]:
    """Yield a diagnostic for each value that is not base64; return the decoded values."""
    decoded: dict[str, bytes] = {}
    for key, value in values.items():
        content = _decode_base64(value) if isinstance(value, str) else b""
        if content is None:
            help = "write the value as base64, or as plain text under stringData" if path == ("data",) else ""
            yield Diagnostic("SCHEMA006", f'the value of key "{key}" is not base64', (*path, key), help=help)
        decoded[key] = content or b""
    return decoded


def _decode_base64(value: str) -> bytes | None:
    from binascii import Error, a2b_base64

    try:
        # Go ignores line breaks in base64, and nothing else.
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
