"""format.dns1123Label().validate(text): https://pkg.go.dev/k8s.io/apiserver/pkg/cel/library#Format.

``validate`` and ``format.named`` return optionals in Kubernetes. A function in Python cannot, so they return
a list of at most one value here, and podplan.lint.cel.text.rewrite_for_runtime adds ``[?0]``.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from datetime import date, datetime

from podplan.kubernetes import names
from podplan.lint.cel.functions import Overload, Tagged, make_predicate, tag_value
from podplan.lint.cel.functions.urls import parse_url

_TYPE_NAME = "NamedFormat"


def _make_name_validator(format_name: str, allow_prefix: bool = False) -> Callable[[str], list[str]]:
    def find_errors(text: str) -> list[str]:
        # A prefix is what generateName holds: whatever is put behind it makes a name of it.
        error = names.explain_mismatch(
            format_name, text.removesuffix("-") + "a" if allow_prefix and text.endswith("-") else text
        )
        return [error] if error else []

    return find_errors


def _make_pattern_validator(pattern: str, requirement: str) -> Callable[[str], list[str]]:
    return lambda text: [] if re.match(pattern, text, re.ASCII) else [requirement]


def _make_function_validator(
    function: Callable[[str], object], requirement: str
) -> Callable[[str], list[str]]:
    is_valid = make_predicate(function)
    return lambda text: [] if is_valid(text) else [requirement]


def _decode_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None


def _parse_date(text: str) -> date:
    if not re.match(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z", text, re.ASCII):
        raise ValueError
    return date.fromisoformat(text)


def _parse_datetime(text: str) -> datetime:
    if not re.match(
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9:.]+(?:[Zz]|[+-][0-9]{2}:[0-9]{2})\Z", text, re.ASCII
    ):
        raise ValueError
    return datetime.fromisoformat(text.upper())


FORMATS: dict[str, Callable[[str], list[str]]] = {
    "dns1123Label": _make_name_validator("dns-label"),
    "dns1123Subdomain": _make_name_validator("dns-subdomain"),
    "dns1035Label": _make_name_validator("dns-1035-label"),
    "qualifiedName": _make_name_validator("qualified-name"),
    "dns1123LabelPrefix": _make_name_validator("dns-label", allow_prefix=True),
    "dns1123SubdomainPrefix": _make_name_validator("dns-subdomain", allow_prefix=True),
    "dns1035LabelPrefix": _make_name_validator("dns-1035-label", allow_prefix=True),
    "labelValue": _make_name_validator("label-value"),
    "uri": _make_function_validator(parse_url, "must be an absolute URI"),
    "uuid": _make_pattern_validator(
        r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\Z", "must be a UUID"
    ),
    "byte": _make_function_validator(_decode_base64, "must be Base64"),
    "date": _make_function_validator(_parse_date, "must be a date such as 2026-01-31"),
    "datetime": _make_function_validator(_parse_datetime, "must be a time such as 2026-01-31T12:00:00Z"),
}


def _find_format(name: str) -> list[Tagged]:
    return [tag_value(_TYPE_NAME, name)] if name in FORMATS else []


def _validate_format(format_: Tagged, text: str) -> list[list[str]]:
    errors = FORMATS[str(format_[_TYPE_NAME])](text)
    return [errors] if errors else []


def _make_format_constant(name: str) -> Callable[[], Tagged]:
    return lambda: tag_value(_TYPE_NAME, name)


OVERLOADS = (
    Overload("format.named", ("string",), "optional", _find_format),
    Overload("validate", (_TYPE_NAME, "string"), "optional", _validate_format, True),
    *(Overload(f"format.{name}", (), _TYPE_NAME, _make_format_constant(name)) for name in FORMATS),
)
