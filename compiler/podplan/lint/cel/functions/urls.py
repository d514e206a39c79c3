"""url('https://host:1/p?q=1') and its parts: https://pkg.go.dev/k8s.io/apiserver/pkg/cel/library#URLs.

What counts as a URL is what Go's url.ParseRequestURI takes: an absolute URI, or an absolute path.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

from podplan.core.typing import NamedTuple
from podplan.lint.cel.functions import Overload, Tagged, make_predicate, tag_value

_TYPE_NAME = "URL"
_PARTS_PATTERN = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):)?"
    r"(?://(?:(?P<user>[^/?@]*)@)?(?P<host>[^/?]*))?"
    r"(?P<path>[^?]*)(?:\?(?P<query>.*))?\Z",
    re.DOTALL,
)
_HOST_PATTERN = re.compile(
    r"(?:\[[0-9A-Fa-f:.]+(?:%25[^\]]*)?\]|(?:%[89A-Fa-f][0-9A-Fa-f]|[^\s\[\]<>\"\\^`{|}%:#])*)(?::[0-9]*)?\Z"
)
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_CONTROL_CHARACTER = re.compile(r"[\x00-\x1f\x7f]")
_EXPECTED_URL = "url() wants an absolute URL or path"
_UNESCAPED_PATH_CHARACTERS = "/:@&=+$,;!'()*~[]"


class UrlParts(NamedTuple):
    """The parts of a URL as they are written; the scheme in lower case."""

    scheme: str
    host: str
    path: str
    query: str


def parse_url(text: str) -> Tagged:
    """A URL."""
    _split_url(text)
    return tag_value(_TYPE_NAME, text)


def _split_url(text: str) -> UrlParts:
    match = _PARTS_PATTERN.match(text)
    if match is None or not text or _CONTROL_CHARACTER.search(text):
        raise ValueError(_EXPECTED_URL)
    scheme, user, host, path, query = match.group("scheme", "user", "host", "path", "query")
    is_absolute = path.startswith("/") or (host is not None and not path)
    is_opaque = scheme is not None and host is None and not path.startswith("/")
    if not (is_opaque or is_absolute) or (scheme is None and not text.startswith("/")):
        raise ValueError(_EXPECTED_URL)
    if (not is_opaque and _BAD_ESCAPE.search(path)) or not _HOST_PATTERN.match(host or ""):
        raise ValueError(_EXPECTED_URL)
    if user is not None and (_BAD_ESCAPE.search(user) or re.search(r"[\s<>\"\[\]\\^`{|}#]", user)):
        raise ValueError(_EXPECTED_URL)
    if scheme is None and host is not None:  # "//host/path" is a path to ParseRequestURI only with a scheme
        return UrlParts("", host, path, query or "")
    return UrlParts((scheme or "").lower(), host or "", "" if is_opaque else path, query or "")


def _get_parts(value: Tagged) -> UrlParts:
    return _split_url(str(value[_TYPE_NAME]))


def _get_hostname(value: Tagged) -> str:
    host = _get_parts(value).host
    if host.startswith("["):
        return host[1 : host.index("]")]
    return host.partition(":")[0]


def _get_port(value: Tagged) -> str:
    host = _get_parts(value).host
    return host[host.rindex("]") + 1 :].removeprefix(":") if "]" in host else host.partition(":")[2]


def _get_escaped_path(value: Tagged) -> str:
    return quote(_get_parts(value).path, safe=_UNESCAPED_PATH_CHARACTERS + "%")


def _parse_query(value: Tagged) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for pair in _get_parts(value).query.split("&"):
        name, _, text = pair.partition("=")
        if pair and ";" not in pair and not _BAD_ESCAPE.search(pair):
            values.setdefault(unquote(name.replace("+", " ")), []).append(unquote(text.replace("+", " ")))
    return values


OVERLOADS = (
    Overload("url", ("string",), _TYPE_NAME, parse_url),
    Overload("isURL", ("string",), "bool", make_predicate(parse_url)),
    Overload("getScheme", (_TYPE_NAME,), "string", lambda value: _get_parts(value).scheme, True),
    Overload("getHost", (_TYPE_NAME,), "string", lambda value: _get_parts(value).host, True),
    Overload("getHostname", (_TYPE_NAME,), "string", _get_hostname, True),
    Overload("getPort", (_TYPE_NAME,), "string", _get_port, True),
    Overload("getEscapedPath", (_TYPE_NAME,), "string", _get_escaped_path, True),
    Overload("getQuery", (_TYPE_NAME,), "map", _parse_query, True),
)
