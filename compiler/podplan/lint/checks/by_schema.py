"""Policies that are a JSON Schema: a document that does not fulfil it breaks the policy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache

from podplan.core.findings import Path, value_at
from podplan.core.truncation import shortened
from podplan.core.typing import Any
from podplan.lint.policy import Policy
from podplan.lint.target import Hit, Subject
from podplan.redaction.redactor import REDACTED, build_redactor, redact_data


def by_schema(policy: Policy, subject: Subject) -> Iterator[Hit]:
    """One hit for each place that the schema refuses; ``value`` is what stands there, secrets as stars."""
    for error in _validator(json.dumps(policy.body, sort_keys=True)).iter_errors(subject.data):
        path = tuple(error.instance_path)
        yield Hit(path, {"value": _shown(subject.doc.data, (*subject.base, *path))})


@cache
def _validator(text: str) -> Any:
    from podplan.schema.custom_schemas import validator

    return validator(json.loads(text))


def _shown(document: Any, path: Path) -> str:
    if document.get("kind") == "Secret":
        return REDACTED
    value = build_redactor([document]).value(value_at(redact_data(document), path))
    return shortened(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), 60)
