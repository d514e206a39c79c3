"""format.dns1123Label().validate(text): https://pkg.go.dev/k8s.io/apiserver/pkg/cel/library#Format.

``validate`` and ``format.named`` give optionals in Kubernetes. A function of ours cannot, so they give a list
of at most one value here, and ``text.runtime_text`` asks for its [?0].
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from datetime import date, datetime

from podplan.kubernetes import names
from podplan.lint.cel.functions import Overload, Tagged, succeeds, tagged
from podplan.lint.cel.functions.urls import url

_TYPE = "NamedFormat"


def _form(form: str, prefix: bool = False) -> Callable[[str], list[str]]:
    def faults(text: str) -> list[str]:
        # A prefix is what generateName holds: whatever is put behind it makes a name of it.
        fault = names.fault(form, text.removesuffix("-") + "a" if prefix and text.endswith("-") else text)
        return [fault] if fault else []

    return faults


def _matching(pattern: str, wants: str) -> Callable[[str], list[str]]:
    return lambda text: [] if re.match(pattern, text, re.ASCII) else [wants]


def _taking(function: Callable[[str], object], wants: str) -> Callable[[str], list[str]]:
    takes = succeeds(function)
    return lambda text: [] if takes(text) else [wants]


def _decoded(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None


def _date(text: str) -> date:
    if not re.match(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z", text, re.ASCII):
        raise ValueError
    return date.fromisoformat(text)


def _time(text: str) -> datetime:
    if not re.match(
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9:.]+(?:[Zz]|[+-][0-9]{2}:[0-9]{2})\Z", text, re.ASCII
    ):
        raise ValueError
    return datetime.fromisoformat(text.upper())


FORMATS: dict[str, Callable[[str], list[str]]] = {
    "dns1123Label": _form("dns-label"),
    "dns1123Subdomain": _form("dns-subdomain"),
    "dns1035Label": _form("dns-1035-label"),
    "qualifiedName": _form("qualified-name"),
    "dns1123LabelPrefix": _form("dns-label", prefix=True),
    "dns1123SubdomainPrefix": _form("dns-subdomain", prefix=True),
    "dns1035LabelPrefix": _form("dns-1035-label", prefix=True),
    "labelValue": _form("label-value"),
    "uri": _taking(url, "must be an absolute URI"),
    "uuid": _matching(
        r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}\Z", "must be a UUID"
    ),
    "byte": _taking(_decoded, "must be Base64"),
    "date": _taking(_date, "must be a date such as 2026-01-31"),
    "datetime": _taking(_time, "must be a time such as 2026-01-31T12:00:00Z"),
}


def _named(name: str) -> list[Tagged]:
    return [tagged(_TYPE, name)] if name in FORMATS else []


def _validate(format_: Tagged, text: str) -> list[list[str]]:
    faults = FORMATS[str(format_[_TYPE])](text)
    return [faults] if faults else []


def _constant(name: str) -> Callable[[], Tagged]:
    return lambda: tagged(_TYPE, name)


OVERLOADS = (
    Overload("format.named", ("string",), "optional", _named),
    Overload("validate", (_TYPE, "string"), "optional", _validate, True),
    *(Overload(f"format.{name}", (), _TYPE, _constant(name)) for name in FORMATS),
)
