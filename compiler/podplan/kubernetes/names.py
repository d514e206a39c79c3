"""The forms that Kubernetes requires of names, keys and other short texts.

Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/names/ and .../labels/, RFC 1123 and
RFC 6335. The schemas in schemas/kubernetes/ have the same patterns: tools/kubernetes_schemas.py takes them
from here.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from podplan.core.typing import NamedTuple


class NameForm(NamedTuple):
    """A form of text: every pattern must match somewhere in it (patterns have their own anchors).

    ``patterns`` mean the same in Python and in Rust's regex, except for the final ``$``. ``requirement`` ends
    the sentence about a text without the form.
    """

    patterns: tuple[str, ...]
    max_length: int
    requirement: str
    min_length: int = 1


_LABEL = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(?:\.{_LABEL})*"
_NAME_PART = "(?:[A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]"
_SYSCTL_PART = "[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?"
_SPACE = r"[ \t\r\n]"
_QUANTITY_SUFFIX = "(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,18})"
_PATH_STEP = r"(?:[^./][^/]*|\.(?:[^./][^/]*)?|\.\.[^/]+)?"
_SHORT_PREFIX = "^(?:[-A-Za-z0-9.]{1,253}/)?[-_.A-Za-z0-9]*$"

NAME_FORMS: dict[str, NameForm] = {
    "dns-label": NameForm(
        (f"^{_LABEL}$",),
        63,
        "may contain only lower-case letters, digits and '-', with a letter or digit at both ends",
    ),
    "dns-1035-label": NameForm(
        ("^[a-z](?:[-a-z0-9]*[a-z0-9])?$",),
        63,
        "may contain only lower-case letters, digits and '-', with a letter first and a letter or digit last",
    ),
    "dns-subdomain": NameForm(
        (f"^{_SUBDOMAIN}$",),
        253,
        "may contain only lower-case letters, digits, '-' and '.', "
        "each part with a letter or digit at its ends",
    ),
    "dns-name": NameForm(
        (rf"^{_SUBDOMAIN}\.?$",),
        254,
        "may contain only lower-case letters, digits, '-' and '.', "
        "each part with a letter or digit at its ends",
    ),
    "dns-search": NameForm(
        (r"^(?:\.|[_a-z0-9](?:[-_a-z0-9]*[_a-z0-9])?(?:\.[_a-z0-9](?:[-_a-z0-9]*[_a-z0-9])?)*\.?)$",),
        254,
        "must be a domain name of lower-case letters, digits, '-', '_' and '.'",
    ),
    "label-value": NameForm(
        (f"^(?:{_NAME_PART})?$",),
        63,
        "may contain only letters, digits, '-', '_' and '.', with a letter or digit at both ends",
        min_length=0,
    ),
    "qualified-name": NameForm(
        (f"^(?:{_SUBDOMAIN}/)?{_NAME_PART}$", _SHORT_PREFIX),
        317,
        "may contain only letters, digits, '-', '_' and '.' (at most 63), after an optional DNS name and '/'",
    ),
    "annotation-key": NameForm(
        (
            rf"^(?:[A-Za-z0-9](?:[-A-Za-z0-9]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[-A-Za-z0-9]*[A-Za-z0-9])?)*/)?{_NAME_PART}$",
            _SHORT_PREFIX,
        ),
        317,
        "may contain only letters, digits, '-', '_' and '.' (at most 63), after an optional DNS name and '/'",
    ),
    "env-name": NameForm(
        (r"^[-._a-zA-Z][-._a-zA-Z0-9]*$", r"^(?:[^.]|\.[^.])"),
        1_000_000,
        "may contain only letters, digits, '-', '_' and '.', not a digit first (Kubernetes before 1.32)",
    ),
    "relaxed-env-name": NameForm(("^[ -<>-~]+$",), 1_000_000, "may contain only printable ASCII without '='"),
    "data-key": NameForm(
        (r"^[-._a-zA-Z0-9]+$", r"^(?:[^.]|\.[^.])"),
        253,
        "may contain only letters, digits, '-', '_' and '.', and may not be '.' or begin with '..'",
    ),
    "port-name": NameForm(
        ("^[a-z0-9]+(?:-[a-z0-9]+)*$", "[a-z]"),
        15,
        "may contain only lower-case letters, digits and single '-' between them, with at least one letter",
    ),
    "sysctl": NameForm(
        (rf"^(?:{_SYSCTL_PART}[./])*{_SYSCTL_PART}$",),
        253,
        "may contain only lower-case letters, digits, '-' and '_' in parts divided by '.' or '/'",
    ),
    "header-name": NameForm(("^[-A-Za-z0-9]+$",), 1_000_000, "may contain only letters, digits and '-'"),
    "quantity": NameForm(
        (rf"^{_SPACE}*[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+){_QUANTITY_SUFFIX}?{_SPACE}*$",),
        1_000_000,
        "must be a number with an optional suffix such as m, k, M, G, Ki, Mi or Gi",
    ),
    "time": NameForm(
        (
            r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2})$",
        ),
        64,
        "must be a time such as 2024-05-01T12:00:00Z",
    ),
    "trimmed": NameForm(
        (r"^[^ \t\r\n](?:[\s\S]*[^ \t\r\n])?$",), 1_000_000, "must be text without space at its start or end"
    ),
    "relative-path": NameForm(
        ("^[^/]", f"^{_PATH_STEP}(?:/{_PATH_STEP})*$"),
        1_000_000,
        "must be a relative path without '..' as a step",
    ),
    "file-path": NameForm(
        (r"^(?:[^/.]|\.[^.]|\.$)", f"^{_PATH_STEP}(?:/{_PATH_STEP})*$"),
        1_000_000,
        "must be a relative path without '..' as a step or at its start",
    ),
}

_MAX_SHOWN_LENGTH = 60


def matches_form(form: str, text: str) -> bool:
    """Whether ``text`` has the form (a key of ``NAME_FORMS``)."""
    return _matches_form_cached(form, text) if len(text) <= _MAX_SHOWN_LENGTH else _matches_form(form, text)


def _matches_form(form: str, text: str) -> bool:
    name_form = NAME_FORMS[form]
    return name_form.min_length <= len(text) <= name_form.max_length and all(
        pattern.search(text) for pattern in _compile_patterns(form)
    )


_matches_form_cached = lru_cache(maxsize=512)(
    _matches_form
)  # labels and names repeat in all objects of a job


def explain_mismatch(form: str, text: str) -> str:
    """Return why ``text`` does not have the form, or "" if it has."""
    name_form = NAME_FORMS[form]
    if len(text) < name_form.min_length:
        return "is empty"
    if len(text) > name_form.max_length:
        return f"has {len(text)} characters; at most {name_form.max_length} are allowed"
    if matches_form(form, text):
        return ""
    return name_form.requirement


def format_value(value: object) -> str:
    """Format a value for a message: quoted and truncated."""
    if isinstance(value, str):
        shortened = value if len(value) <= _MAX_SHOWN_LENGTH else value[:_MAX_SHOWN_LENGTH] + "…"
        return (
            '"' + shortened.encode("unicode_escape").decode() + '"'
            if not shortened.isprintable()
            else f'"{shortened}"'
        )
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    text = str(value)
    return text if len(text) <= _MAX_SHOWN_LENGTH else text[:_MAX_SHOWN_LENGTH] + "…"


@cache
def _compile_patterns(form: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern.replace("$", r"\Z")) for pattern in NAME_FORMS[form].patterns)
