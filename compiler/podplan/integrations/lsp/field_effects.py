"""The effects of a position in a file: the fields of CRs and lowered objects that originate from it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice

from podplan.core.findings import Path, value_at
from podplan.core.path_syntax import format_path
from podplan.core.provenance import Behavior, TracedDocument, find_origin, trace_to_source
from podplan.core.replica_groups import fold_group
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.lint.analysis.resources import count_accelerators, list_containers
from podplan.lint.finding_redaction import build_document_redactor
from podplan.pipeline import JobPlan
from podplan.redaction.redactor import REDACTED, REDACTED_NOTICE, Redactor, redact_data
from podplan.workspace.files import relative_to_root
from podplan.yaml import Document

MAX_PLANS = 24
MAX_LEAVES = 5_000
MAX_VALUE_LENGTH = 80


class DerivedValue(NamedTuple):
    """A scalar that originates from a position: its path, its text, and the behaviors involved."""

    document: str
    path: str
    value: str
    behaviors: tuple[Behavior, ...]


def describe_pods(variant_plans: Iterable[JobPlan]) -> list[str]:
    """Describe the Pods and GPUs of each variant, such as ``dev: worker → 1 Pod × 8 GPUs``; equal ones are
    grouped."""
    variants_by_pods: dict[str, list[str]] = {}
    for plan in islice(variant_plans, MAX_PLANS):
        if plan.is_lowered and plan.variant_id is not None:
            variants_by_pods.setdefault(_format_plan_pods(plan), []).append(plan.variant_id or "as written")
    if len(variants_by_pods) == 1:
        return [text for text in variants_by_pods if text]
    return [f"{_format_names(ids)}: {text or 'no Pods'}" for text, ids in variants_by_pods.items()]


def _format_names(ids: list[str]) -> str:
    return ", ".join(ids[:4]) + (f" and {len(ids) - 4} more" if len(ids) > 4 else "")


def _format_plan_pods(plan: JobPlan) -> str:
    roles: dict[str, list[int]] = {}
    for group in plan.replica_groups:
        if group.doc.data.get("kind") == "Pod":
            gpus = sum(count_accelerators(container).number for _, container in list_containers(group))
            role = roles.setdefault(group.replica_type, [0, 0, 0])
            role[:] = role[0] + group.replicas, gpus, role[2] + gpus * group.replicas
    lines = [_format_role(name, *numbers) for name, numbers in roles.items()]
    total = sum(gpus for _, _, gpus in roles.values())
    return "; ".join(lines) + (
        f"; {total} GPUs in all" if len([n for n in roles.values() if n[2]]) > 1 else ""
    )


def _format_role(name: str, replicas: int, gpus: int, total: int) -> str:
    pod_count = f"{replicas} Pod{'s' if replicas != 1 else ''}"
    gpu_count = f" × {gpus} GPU{'s' if gpus != 1 else ''} = {total}" if gpus else ", no GPU"
    return f"{name or 'job'} → {pod_count}{gpu_count}"


def describe_overrides(
    variant_plans: Iterable[JobPlan], document: Document, path: Path, with_names: bool
) -> list[str]:
    """Describe the values of a profile field in the variants that take them from elsewhere, such as
    ``dev: `1`, from line 17``; equal ones are grouped."""
    variants_by_value: dict[str, list[str]] = {}
    for plan in islice(variant_plans, MAX_PLANS):
        text = _format_override(plan.profile, document, path) if plan.profile is not None else ""
        if text and plan.profile is not None:
            name = get_text(get_mapping(plan.profile.data, "metadata"), "name") if with_names else ""
            variant = f"{name} {plan.variant_id or 'as written'}".strip()
            variants_by_value.setdefault(text, []).append(variant)
    return [f"{_format_names(ids)}: {text}" for text, ids in variants_by_value.items()]


def _format_override(profile: TracedDocument, document: Document, path: Path) -> str:
    """Return the value and the origin of a field of a resolved profile; "" if it originates at this path."""
    value = value_at(redact_data(profile.data), path)
    if value is None or isinstance(value, dict | list):
        return ""
    if _trace_to_source(profile, path, document, path) is not None:
        return ""
    origin = trace_to_source(profile, path)[-1]
    source = origin.doc.source
    if source is None:
        return ""
    line = source.span(origin.path).line
    place = f"line {line}" if source.file == document.file else f"`{relative_to_root(source.file)}:{line}`"
    return f"`{_format_value(value, build_document_redactor([profile]))}`, from {place}"


def iter_derived_values(plan: JobPlan, document: Document, path: Path) -> Iterator[DerivedValue]:
    """Yield the values that originate from a path of a file: of a profile in the CR, of a CR in the
    lowered objects."""
    if plan.cr is None:
        return
    docs = [plan.cr] if plan.profile is not None else [group.doc for group in plan.replica_groups]
    group_by_doc = {id(group.doc): group for group in plan.replica_groups}
    secrets = build_document_redactor([plan.cr, plan.profile])
    for doc in docs:
        redacted = redact_data(fold_group(group_by_doc[id(doc)]) if id(doc) in group_by_doc else doc.data)
        for leaf in islice(_iter_leaves(doc.data), MAX_LEAVES):
            behaviors = _trace_to_source(doc, leaf, document, path)
            if behaviors is not None:
                metadata = redacted.get("metadata", {})
                name = metadata.get("name") or metadata.get("generateName", "")
                value = _format_value(value_at(redacted, leaf), secrets)
                yield DerivedValue(
                    f"{doc.data.get('kind')}/{name}", format_path(doc.data, leaf), value, behaviors
                )


def _iter_leaves(data: Any, path: Path = ()) -> Iterator[Path]:
    steps = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    empty = True
    for step, value in steps:
        empty = False
        yield from _iter_leaves(value, (*path, step))
    if empty:
        yield path


def _trace_to_source(
    doc: TracedDocument, leaf: Path, document: Document, path: Path
) -> tuple[Behavior, ...] | None:
    """Return the behaviors between a leaf and a path or its descendants; None if it originates elsewhere."""
    waiting: list[tuple[TracedDocument, Path, tuple[Behavior, ...]]] = [(doc, leaf, ())]
    visited = set()
    while waiting:
        current, current_path, behaviors = waiting.pop()
        if current.source is not None:
            same_document = current.source.file == document.file and current.source.index == document.index
            if same_document and current_path[: len(path)] == path:
                return behaviors
            continue
        if (id(current), current_path) in visited:
            continue
        visited.add((id(current), current_path))
        try:
            origin, rest = find_origin(current, current_path)
        except LookupError:
            continue
        behaviors = (
            (*behaviors, origin.behavior)
            if origin.behavior is not None and origin.behavior not in behaviors
            else behaviors
        )
        for number, origin_place in enumerate(origin.sources):
            is_copied = origin.derivation == "copied" and number == 0
            waiting.append(
                (origin_place.doc, (*origin_place.path, *rest) if is_copied else origin_place.path, behaviors)
            )
    return None


def _format_value(value: Any, secrets: Redactor) -> str:
    value = secrets.redact_value(value)
    text = REDACTED_NOTICE if value == REDACTED else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_VALUE_LENGTH else f"{text[:MAX_VALUE_LENGTH]} …"
