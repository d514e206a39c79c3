"""Policies that are a JSON Schema: a document that does not match it violates the policy."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache

from podplan.core.findings import Path, value_at
from podplan.core.truncation import truncate
from podplan.core.typing import Any
from podplan.lint.policy import Policy
from podplan.lint.target import Target, Violation
from podplan.redaction.redactor import REDACTED, build_redactor, redact_data


def evaluate_schema_policy(policy: Policy, target: Target) -> Iterator[Violation]:
    """Yield a violation for each place that the schema rejects; ``value`` is the redacted value there."""
    for error in _get_validator(json.dumps(policy.body, sort_keys=True)).iter_errors(target.data):
        path = tuple(error.instance_path)
        yield Violation(path, {"value": _format_value(target.doc.data, (*target.base_path, *path))})


@cache
def _get_validator(text: str) -> Any:
    from podplan.schema.custom_schemas import build_validator

    return build_validator(json.loads(text))


def _format_value(document: Any, path: Path) -> str:
    if document.get("kind") == "Secret":
        return REDACTED
    value = build_redactor([document]).redact_value(value_at(redact_data(document), path))
    return truncate(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), 60)
