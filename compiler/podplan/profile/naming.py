"""The name of a CR: that of the profile, and a suffix that tells instances apart."""

from __future__ import annotations

import json
from collections.abc import Callable

from podplan.core.findings import Problem
from podplan.core.lazy_regex import pattern
from podplan.core.provenance import Cursor, Doc, Marked, computed, root
from podplan.core.typing import Any
from podplan.profile.expressions import Budget, Scope, Text, find, value_of
from podplan.profile.matrix import Instance
from podplan.profile.merge import Problems
from podplan.profile.values import Fault, as_text

NONE, CONTENT_HASH = "none", "contentHash"
_LABEL = pattern(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")


def name(
    whole: Cursor,
    instance: Instance,
    content: Callable[[], Any],
    scope: Scope,
    budget: Budget,
    problems: Problems,
) -> Marked | None:
    """The marked name of an instance; None where the name stays as it is written.

    ``whole`` is the profile before its name, ``content`` gives the resolved spec for a contentHash.
    """
    own = whole.get("metadata", "name")
    if not isinstance(own.value, str):
        return None
    suffix, because = _suffix(
        whole.get("spec", "naming", "suffix"), instance, content, scope, budget, problems
    )
    return computed(lambda *_: f"{own.value}-{suffix}", own, *because) if suffix else None


def _suffix(
    written: Cursor,
    instance: Instance,
    content: Callable[[], Any],
    scope: Scope,
    budget: Budget,
    problems: Problems,
) -> tuple[str, tuple[Cursor, ...]]:
    if not written.exists:
        return instance.label, tuple(instance.values.values())
    if written.value == NONE:
        return "", ()
    if written.value == CONTENT_HASH:
        return content_hash(content()), (written,)
    plan = find(written, problems)
    if not isinstance(plan, Text):
        if not (isinstance(written.value, str) and "${{" in written.value):
            message = (
                f"naming.suffix is {NONE}, {CONTENT_HASH} or an expression such as ${{{{ params.run }}}}"
            )
            problems.append((written.doc, Problem("PROF001", message, written.path)))
        return "", ()
    try:
        text = as_text(value_of(written, plan, scope, budget).value)
    except Fault as fault:
        problems.append((written.doc, Problem(fault.rule, str(fault), written.path)))
        return "", ()
    if not _LABEL.fullmatch(text):
        message = (
            f'the suffix "{text[:60]}" cannot be part of a name; it needs lower-case letters, digits and '
            "dashes, "
            "with a letter or digit at both ends"
        )
        problems.append((written.doc, Problem("PROF013", message, written.path)))
        return "", ()
    return text, (written,)


def content_hash(spec: Any) -> str:
    """The first 8 hex digits of the SHA-256 of ``spec`` as canonical JSON: keys sorted, no spaces, ASCII.

    The resolved spec of the profile is all that counts, ``job`` included: neither the metadata nor the
    inventory nor the version of podplan. This never changes, or every job would run again.
    """
    from hashlib import sha256

    canonical = json.dumps(spec, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return sha256(canonical.encode()).hexdigest()[:8]


def demand_unlike(named: list[tuple[Instance, Any]], doc: Doc, problems: Problems) -> None:
    """That no two instances of one profile under one environment have the same name.

    ``named`` are the instances with their names, and ``doc`` is the profile that has them.
    """
    first: dict[str, Instance] = {}
    written = root(doc).get("metadata", "name")
    for instance, text in named:
        other = first.setdefault(text, instance) if isinstance(text, str) else instance
        if other is not instance:
            message = (
                f'two instances, {other.id} and {instance.id}, have the name "{text}"; '
                "leave naming.suffix out, or make it differ"
            )
            problems.append((doc, Problem("PROF013", message, written.path)))
