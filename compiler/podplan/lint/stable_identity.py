"""Identifies findings independently of their lines, while their documents are loaded."""

from __future__ import annotations

from podplan.core.findings import Finding, StableIdentity, value_at
from podplan.core.lazy_regex import compile_lazily
from podplan.core.path_syntax import EntryNameCounts, format_path
from podplan.core.typing import TYPE_CHECKING, Any
from podplan.workspace.documents import identify_object

if TYPE_CHECKING:
    from podplan.redaction.redactor import Redactor

# The rules whose findings lie on a secret.
SECRET_VALUE_RULES = frozenset({"PROF107", "SEC021"})
_NAME_OR_NUMBER = compile_lazily(r'"[^"]*"|(?<![\w./:-])[0-9][0-9A-Za-z.,]*(?![\w/-])')
_QUOTED_OR_NUMBER = compile_lazily(r'"[^"]*"|[0-9][0-9A-Za-z.]*')


def build_anchor(
    finding: Finding, data: Any, names: EntryNameCounts, redactor: Redactor | None
) -> StableIdentity:
    """Return the identity of a finding in a document, with secrets redacted by ``redactor``.

    ``names`` caches the names of list entries for ``format_path``.
    """
    path = finding.location.path
    document = data if isinstance(data, dict) else None
    is_secret = finding.rule in SECRET_VALUE_RULES or (
        document is not None and document.get("kind") == "Secret"
    )
    value = value_at(data, path)
    significant_value = _select_significant_value(value, finding.message)
    return StableIdentity(
        identify_object(document) if document is not None else None,
        format_path(data, path, names),
        None if is_secret else redactor.redact_value(significant_value) if redactor else significant_value,
        is_secret,
        isinstance(value, dict),
    )


def remove_numbers(message: str) -> str:
    """Return a message without the numbers that are no part of a name."""
    return _NAME_OR_NUMBER.sub(lambda match: match[0] if match[0][0] == '"' else "", message)


def _select_significant_value(value: Any, message: str) -> Any:
    """What of a value counts: all of it, but of a mapping only the names and numbers in the message.

    Most findings about a mapping say what it lacks; else each change of something else in it made them new.
    """
    return _QUOTED_OR_NUMBER.findall(message) if isinstance(value, dict) else value
