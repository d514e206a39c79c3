"""The rules for one kind: those that apply, and why the others do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from podplan.core.typing import Any
from podplan.core.wording import format_count
from podplan.kinds.registry import GroupVersionKind, load_spec
from podplan.kinds.traits import TRAITS
from podplan.lint.policy import Policy
from podplan.lint.policy_scope import find_unwanted_traits, matches_job_kind
from podplan.report.sanitization import escape_text


def describe_kind(kind: GroupVersionKind) -> dict[str, Any]:
    """Describe a kind and its traits, as data."""
    return {"apiVersion": kind.api_version, "kind": kind.kind, "traits": sorted(load_spec(kind).traits)}


def describe_applicability(policy: Policy, kind: GroupVersionKind) -> dict[str, Any]:
    """Describe whether a policy applies to jobs of a kind, and why not, as data."""
    scope = policy.scope
    return {
        "applies": matches_job_kind(scope, kind),
        "lacks": sorted(scope.needs - load_spec(kind).traits),
        "unwanted": find_unwanted_traits(scope, kind),
    }


def render_text(kind: GroupVersionKind, rows: Sequence[Mapping[str, Any]]) -> str:
    """Render the rules that apply to a kind, and below them the others, each with the reason."""
    applying = [row for row in rows if row["applies"]]
    others = [row for row in rows if not row["applies"]]
    code = max(9, *(len(row["code"]) for row in rows))
    name = max(len(row["name"]) for row in rows)
    traits = ", ".join(sorted(load_spec(kind).traits))
    apply = "applies" if len(applying) == 1 else "apply"
    lines = [
        f"{kind.kind} ({kind.api_version})",
        f"traits: {traits}",
        "",
        f"{len(applying)} of {format_count(len(rows), 'rule')} {apply}:",
        *(
            f"  {row['code']:{code}} {row['name']:{name}} {row['severity']:8} {row['summary']}"
            for row in applying
        ),
    ]
    if others:
        lines += [
            "",
            f"{format_count(len(others), 'rule')} {'does' if len(others) == 1 else 'do'} not apply:",
            *(f"  {row['code']:{code}} {row['name']:{name}} {explain_mismatch(row)}" for row in others),
            "",
            "traits that decide about them:",
            *_describe_traits(others),
        ]
    return "".join(f"{escape_text(line)}\n" for line in lines)


def _describe_traits(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Describe the traits because of which rules do not apply."""
    used = {trait for row in rows for trait in (*row["lacks"], *row["unwanted"])}
    width = max((len(trait) for trait in used), default=0)
    return [f"  {trait:{width}} {text}" for trait, text in TRAITS.items() if trait in used]


def explain_mismatch(row: Mapping[str, Any]) -> str:
    """Return why a rule does not apply to a kind: missing or excluding traits, or the kinds of the rule."""
    reasons = []
    if row["lacks"]:
        reasons.append(f"the kind lacks {', '.join(row['lacks'])}")
    if row["unwanted"]:
        reasons.append(f"the kind has {', '.join(row['unwanted'])}")
    return "; ".join(reasons) or f"the rule is about {', '.join(row['kinds'])} only"
