"""The name of a CR: that of the profile, with a suffix that distinguishes instances."""

from __future__ import annotations

import json
from collections.abc import Callable

from podplan.core.findings import Diagnostic
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import Cursor, Traced, TracedDocument, compute_traced, root_cursor
from podplan.core.typing import Any
from podplan.profile.expressions import (
    ExpressionBudget,
    ExpressionScope,
    ParsedText,
    evaluate_text,
    find_expressions,
)
from podplan.profile.matrix import MatrixInstance
from podplan.profile.values import ProfileExpressionError, to_text

NO_SUFFIX, CONTENT_HASH = "none", "contentHash"
_DNS_LABEL = compile_lazily(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")


def build_name(
    profile: Cursor,
    instance: MatrixInstance,
    build_content: Callable[[], Any],
    scope: ExpressionScope,
    budget: ExpressionBudget,
    diagnostics: list[Diagnostic],
) -> Traced | None:
    """Return the traced name of an instance; None if the name stays as written.

    ``profile`` is the profile before its name is resolved; ``build_content`` returns the resolved spec for a
    contentHash.
    """
    written_name = profile.get("metadata", "name")
    if not isinstance(written_name.value, str):
        return None
    suffix, sources = _build_suffix(
        profile.get("spec", "naming", "suffix"), instance, build_content, scope, budget, diagnostics
    )
    return (
        compute_traced(lambda *_: f"{written_name.value}-{suffix}", written_name, *sources)
        if suffix
        else None
    )


def _build_suffix(
    suffix_cursor: Cursor,
    instance: MatrixInstance,
    build_content: Callable[[], Any],
    scope: ExpressionScope,
    budget: ExpressionBudget,
    diagnostics: list[Diagnostic],
) -> tuple[str, tuple[Cursor, ...]]:
    if not suffix_cursor.exists:
        return instance.label, tuple(instance.values.values())
    if suffix_cursor.value == NO_SUFFIX:
        return "", ()
    if suffix_cursor.value == CONTENT_HASH:
        return compute_content_hash(build_content()), (suffix_cursor,)
    expressions = find_expressions(suffix_cursor, diagnostics)
    if not isinstance(expressions, ParsedText):
        if not (isinstance(suffix_cursor.value, str) and "${{" in suffix_cursor.value):
            message = (
                f"naming.suffix is {NO_SUFFIX}, {CONTENT_HASH} or an expression such as ${{{{ params.run }}}}"
            )
            diagnostics.append(Diagnostic("PROF001", message, suffix_cursor.path, doc=suffix_cursor.doc))
        return "", ()
    try:
        text = to_text(evaluate_text(suffix_cursor, expressions, scope, budget).value)
    except ProfileExpressionError as fault:
        diagnostics.append(Diagnostic(fault.rule, str(fault), suffix_cursor.path, doc=suffix_cursor.doc))
        return "", ()
    if not _DNS_LABEL.fullmatch(text):
        message = (
            f'the suffix "{text[:60]}" cannot be part of a name; it needs lower-case letters, digits and '
            "dashes, "
            "with a letter or digit at both ends"
        )
        diagnostics.append(Diagnostic("PROF013", message, suffix_cursor.path, doc=suffix_cursor.doc))
        return "", ()
    return text, (suffix_cursor,)


def compute_content_hash(spec: Any) -> str:
    """Return the first 8 hex digits of the SHA-256 of ``spec`` as canonical JSON: keys sorted, no spaces,
    ASCII.

    Only the resolved spec of the profile counts: neither the metadata nor the inventory nor the version of
    podplan. This must never change, or every job would run again.
    """
    from hashlib import sha256

    canonical = json.dumps(spec, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return sha256(canonical.encode()).hexdigest()[:8]


def require_distinct_names(
    named_instances: list[tuple[MatrixInstance, Any]], doc: TracedDocument, diagnostics: list[Diagnostic]
) -> None:
    """Report two instances of one profile under one environment that have the same name.

    ``named_instances`` are the instances with their names, and ``doc`` is their profile.
    """
    first_by_name: dict[str, MatrixInstance] = {}
    name_cursor = root_cursor(doc).get("metadata", "name")
    for instance, text in named_instances:
        other = first_by_name.setdefault(text, instance) if isinstance(text, str) else instance
        if other is not instance:
            message = (
                f'two instances, {other.id} and {instance.id}, have the name "{text}"; '
                "leave naming.suffix out, or make it differ"
            )
            diagnostics.append(Diagnostic("PROF013", message, name_cursor.path, doc=doc))
