"""What findings hang on: told while their document is there, since they outlast it."""

from __future__ import annotations

from podplan.core.findings import Anchor, Finding, value_at
from podplan.core.lazy_regex import pattern
from podplan.core.path_syntax import Names, show
from podplan.core.typing import TYPE_CHECKING, Any
from podplan.workspace.documents import identity

if TYPE_CHECKING:
    from podplan.redaction.redactor import Redactor

# The rules whose findings lie on a secret.
ON_SECRETS = frozenset({"PROF107", "SEC021"})
_QUOTED = pattern(r'"[^"]*"|[0-9][0-9A-Za-z.]*')


def anchor(found: Finding, data: Any, names: Names, secrets: Redactor | None) -> Anchor:
    """The anchor of a finding in a document with such data, without the ``secrets``; ``names`` are those of
    selecting.show."""
    path = found.location.path
    document = data if isinstance(data, dict) else None
    is_secret = found.rule in ON_SECRETS or (document is not None and document.get("kind") == "Secret")
    counting = _counting(value_at(data, path), found.message)
    return Anchor(
        identity(document) if document is not None else None,
        show(data, path, names),
        None if is_secret else secrets.value(counting) if secrets else counting,
        is_secret,
    )


def _counting(value: Any, message: str) -> Any:
    """What of a value counts: all of it, but of a mapping only the names and numbers in the message.

    Most findings about a mapping say what it lacks; else each change of something else in it made them new.
    """
    return _QUOTED.findall(message) if isinstance(value, dict) else value
