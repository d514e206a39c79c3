"""url('https://host:1/p?q=1') and its parts: https://pkg.go.dev/k8s.io/apiserver/pkg/cel/library#URLs.

What counts as a URL is what Go's url.ParseRequestURI takes: an absolute URI, or an absolute path.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

from podplan.core.typing import NamedTuple
from podplan.lint.cel.functions import Overload, Tagged, succeeds, tagged

_TYPE = "URL"
_PARTS = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):)?"
    r"(?://(?:(?P<user>[^/?@]*)@)?(?P<host>[^/?]*))?"
    r"(?P<path>[^?]*)(?:\?(?P<query>.*))?\Z",
    re.DOTALL,
)
_HOST = re.compile(
    r"(?:\[[0-9A-Fa-f:.]+(?:%25[^\]]*)?\]|(?:%[89A-Fa-f][0-9A-Fa-f]|[^\s\[\]<>\"\\^`{|}%:#])*)(?::[0-9]*)?\Z"
)
_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_WANTS = "url() wants an absolute URL or path"
_PLAIN_IN_PATH = "/:@&=+$,;!'()*~[]"


class Parts(NamedTuple):
    """The parts of a URL as they are written; the scheme in lower case."""

    scheme: str
    host: str
    path: str
    query: str


def url(text: str) -> Tagged:
    """A URL."""
    _parts(text)
    return tagged(_TYPE, text)


def _parts(text: str) -> Parts:
    found = _PARTS.match(text)
    if found is None or not text or _CONTROL.search(text):
        raise ValueError(_WANTS)
    scheme, user, host, path, query = found.group("scheme", "user", "host", "path", "query")
    absolute = path.startswith("/") or (host is not None and not path)
    opaque = scheme is not None and host is None and not path.startswith("/")
    if not (opaque or absolute) or (scheme is None and not text.startswith("/")):
        raise ValueError(_WANTS)
    if (not opaque and _BAD_ESCAPE.search(path)) or not _HOST.match(host or ""):
        raise ValueError(_WANTS)
    if user is not None and (_BAD_ESCAPE.search(user) or re.search(r"[\s<>\"\[\]\\^`{|}#]", user)):
        raise ValueError(_WANTS)
    if scheme is None and host is not None:  # "//host/path" is a path to ParseRequestURI only with a scheme
        return Parts("", host, path, query or "")
    return Parts((scheme or "").lower(), host or "", "" if opaque else path, query or "")


def _of(value: Tagged) -> Parts:
    return _parts(str(value[_TYPE]))


def _hostname(value: Tagged) -> str:
    host = _of(value).host
    if host.startswith("["):
        return host[1 : host.index("]")]
    return host.partition(":")[0]


def _port(value: Tagged) -> str:
    host = _of(value).host
    return host[host.rindex("]") + 1 :].removeprefix(":") if "]" in host else host.partition(":")[2]


def _escaped_path(value: Tagged) -> str:
    return quote(_of(value).path, safe=_PLAIN_IN_PATH + "%")


def _query(value: Tagged) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for pair in _of(value).query.split("&"):
        name, _, text = pair.partition("=")
        if pair and ";" not in pair and not _BAD_ESCAPE.search(pair):
            values.setdefault(unquote(name.replace("+", " ")), []).append(unquote(text.replace("+", " ")))
    return values


OVERLOADS = (
    Overload("url", ("string",), _TYPE, url),
    Overload("isURL", ("string",), "bool", succeeds(url)),
    Overload("getScheme", (_TYPE,), "string", lambda value: _of(value).scheme, True),
    Overload("getHost", (_TYPE,), "string", lambda value: _of(value).host, True),
    Overload("getHostname", (_TYPE,), "string", _hostname, True),
    Overload("getPort", (_TYPE,), "string", _port, True),
    Overload("getEscapedPath", (_TYPE,), "string", _escaped_path, True),
    Overload("getQuery", (_TYPE,), "map", _query, True),
)
