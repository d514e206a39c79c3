"""The forms that Kubernetes demands of names, keys and other short texts.

Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/ and .../labels/,
RFC 1123 and RFC 6335. The schemas under schemas/kubernetes/ hold the same patterns; the build tool
takes them from here.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from podplan.core.typing import NamedTuple


class Form(NamedTuple):
    """A form of text: every pattern must match somewhere in it (they carry their own anchors).

    ``patterns`` mean the same to Python and to Rust's regex, apart from the final ``$``. ``wants`` ends
    the sentence that says what is wrong with a text.
    """

    patterns: tuple[str, ...]
    longest: int
    wants: str
    shortest: int = 1


_LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(?:\.{_LABEL})*"
_NAME_PART = "(?:[A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]"
_SYSCTL_PART = "[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?"
_SPACE = r"[ \t\r\n]"
_SUFFIX = "(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,18})"
_STEP = r"(?:[^./][^/]*|\.(?:[^./][^/]*)?|\.\.[^/]+)?"
_SHORT_PREFIX = "^(?:[-A-Za-z0-9.]{1,253}/)?[-_.A-Za-z0-9]*$"

FORMS: dict[str, Form] = {
    "dns-label": Form(
        (f"^{_LABEL}$",),
        63,
        "may hold only lower-case letters, digits and '-', with a letter or digit at both ends",
    ),
    "dns-1035-label": Form(
        ("^[a-z](?:[-a-z0-9]*[a-z0-9])?$",),
        63,
        "may hold only lower-case letters, digits and '-', with a letter first and a letter or digit last",
    ),
    "dns-subdomain": Form(
        (f"^{_SUBDOMAIN}$",),
        253,
        "may hold only lower-case letters, digits, '-' and '.', each part with a letter or digit at its ends",
    ),
    "dns-name": Form(
        (rf"^{_SUBDOMAIN}\.?$",),
        254,
        "may hold only lower-case letters, digits, '-' and '.', each part with a letter or digit at its ends",
    ),
    "dns-search": Form(
        (r"^(?:\.|[_a-z0-9](?:[-_a-z0-9]*[_a-z0-9])?(?:\.[_a-z0-9](?:[-_a-z0-9]*[_a-z0-9])?)*\.?)$",),
        254,
        "must be a domain name of lower-case letters, digits, '-', '_' and '.'",
    ),
    "label-value": Form(
        (f"^(?:{_NAME_PART})?$",),
        63,
        "may hold only letters, digits, '-', '_' and '.', with a letter or digit at both ends",
        shortest=0,
    ),
    "qualified-name": Form(
        (f"^(?:{_SUBDOMAIN}/)?{_NAME_PART}$", _SHORT_PREFIX),
        317,
        "may hold only letters, digits, '-', '_' and '.' (at most 63), after an optional DNS name and '/'",
    ),
    "annotation-key": Form(
        (
            rf"^(?:[A-Za-z0-9](?:[-A-Za-z0-9]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[-A-Za-z0-9]*[A-Za-z0-9])?)*/)?{_NAME_PART}$",
            _SHORT_PREFIX,
        ),
        317,
        "may hold only letters, digits, '-', '_' and '.' (at most 63), after an optional DNS name and '/'",
    ),
    "env-name": Form(
        (r"^[-._a-zA-Z][-._a-zA-Z0-9]*$", r"^(?:[^.]|\.[^.])"),
        1_000_000,
        "may hold only letters, digits, '-', '_' and '.', not a digit first (Kubernetes before 1.32)",
    ),
    "relaxed-env-name": Form(("^[ -<>-~]+$",), 1_000_000, "may hold only printable ASCII without '='"),
    "data-key": Form(
        (r"^[-._a-zA-Z0-9]+$", r"^(?:[^.]|\.[^.])"),
        253,
        "may hold only letters, digits, '-', '_' and '.', and may not be '.' or begin with '..'",
    ),
    "port-name": Form(
        ("^[a-z0-9]+(?:-[a-z0-9]+)*$", "[a-z]"),
        15,
        "may hold only lower-case letters, digits and single '-' between them, with at least one letter",
    ),
    "sysctl": Form(
        (rf"^(?:{_SYSCTL_PART}[./])*{_SYSCTL_PART}$",),
        253,
        "may hold only lower-case letters, digits, '-' and '_' in parts divided by '.' or '/'",
    ),
    "header-name": Form(("^[-A-Za-z0-9]+$",), 1_000_000, "may hold only letters, digits and '-'"),
    "quantity": Form(
        (rf"^{_SPACE}*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+){_SUFFIX}?{_SPACE}*$",),
        1_000_000,
        "must be a number with an optional suffix such as m, k, M, G, Ki, Mi or Gi",
    ),
    "time": Form(
        (
            r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})$",
        ),
        64,
        "must be a time such as 2024-05-01T12:00:00Z",
    ),
    "trimmed": Form(
        (r"^[^ \t\r\n](?:[\s\S]*[^ \t\r\n])?$",), 1_000_000, "must be text without space at its start or end"
    ),
    "relative-path": Form(
        ("^[^/]", f"^{_STEP}(?:/{_STEP})*$"), 1_000_000, "must be a relative path without '..' as a step"
    ),
    "file-path": Form(
        (r"^(?:[^/.]|\.[^.]|\.$)", f"^{_STEP}(?:/{_STEP})*$"),
        1_000_000,
        "must be a relative path without '..' as a step or at its start",
    ),
}

_LONG = 60


def fits(form: str, text: str) -> bool:
    """Whether ``text`` has the form of that name (a key of ``FORMS``)."""
    return _fits(form, text) if len(text) <= _LONG else _matches(form, text)


def _matches(form: str, text: str) -> bool:
    wanted = FORMS[form]
    return wanted.shortest <= len(text) <= wanted.longest and all(
        pattern.search(text) for pattern in _compiled(form)
    )


_fits = lru_cache(maxsize=512)(_matches)  # the same labels and names are in all objects of a job


def fault(form: str, text: str) -> str:
    """What is wrong with ``text``, for a person, or "" when it has the form."""
    wanted = FORMS[form]
    if len(text) < wanted.shortest:
        return "is empty"
    if len(text) > wanted.longest:
        return f"has {len(text)} characters; at most {wanted.longest} are allowed"
    if fits(form, text):
        return ""
    return wanted.wants


def shown(value: object) -> str:
    """A value as it may stand in a message: quoted, cut when long."""
    if isinstance(value, str):
        cut = value if len(value) <= _LONG else value[:_LONG] + "…"
        return '"' + cut.encode("unicode_escape").decode() + '"' if not cut.isprintable() else f'"{cut}"'
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    text = str(value)
    return text if len(text) <= _LONG else text[:_LONG] + "…"


@cache
def _compiled(form: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern.replace("$", r"\Z")) for pattern in FORMS[form].patterns)
