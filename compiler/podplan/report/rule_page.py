"""A rule as a page: for docs/rules and for podplan explain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from podplan.core.builtin_rules import Rule
from podplan.core.typing import Any
from podplan.lint.policy import in_general
from podplan.yaml.writer import emit_document

NEEDS = {"inventory": "inventory", "base": "a revision to compare with (`--base`)"}
LEVELS = {
    "profile": "profiles",
    "cr": "CRs",
    "lowered": "lowered objects",
    "job": "what a CR lowers to, taken together",
    "set": "all jobs together",
    "variants": "all variants of a profile together",
}
CASES = "../../tests/conformance/cases"


def page(data: Mapping[str, Any]) -> str:
    """The page of a policy, in Markdown, from the data of its file."""
    parts = [
        f"# {data['id']} {data['name']}",
        f"{data['summary']}",
        _facts(data),
        f"## Why\n\n{data['why'].strip()}",
    ]
    if data.get("proof"):
        parts.append(f"## Proof\n\n{_proof(data['proof'])}")
    if data.get("help") or data.get("helpFor"):
        parts.append("\n\n".join(["## What to do", *_help(data)]))
    parts += [_example(example) for example in data.get("examples", ())]
    if data.get("links"):
        parts.append("## Links\n\n" + "\n".join(f"- <{link}>" for link in data["links"]))
    return "\n\n".join(parts) + "\n"


def _help(data: Mapping[str, Any]) -> list[str]:
    """What to do, where it is the same for all kinds, and a list of the kinds for which it is another."""
    help_text = in_general(data, data.get("help", ""))
    said = [f"{help_text[:1].upper()}{help_text[1:]}."] if help_text else []
    kinds = [f"- {kind}: {in_general(data, text)}" for kind, text in data.get("helpFor", {}).items()]
    return [*said, "\n".join(kinds)] if kinds else said


def builtin_page(rule: Rule) -> str:
    """The page of a rule that belongs to reading or to the schemas."""
    return f"# {rule.code} {rule.name}\n\n{rule.summary}\n\n**{rule.severity}**, {rule.basis}\n"


def contents(pages: Sequence[Mapping[str, Any]], builtin: Sequence[Rule]) -> str:
    """The table of all rules, in Markdown."""
    rows = [
        f"| [{data['id']}]({data['id']}.md) | {data['name']} | {_severity(data)} | {data['summary']} |"
        for data in pages
    ]
    own = [f"| {rule.code} | {rule.name} | {rule.severity} | {rule.summary} |" for rule in builtin]
    return (
        "# Rules\n\nMade by `make policies` from the files in `policies/`.\n\n"
        "| code | name | severity | what it says |\n|---|---|---|---|\n" + "\n".join(rows) + "\n\n"
        "## Rules of reading and of the schemas\n\n"
        "| code | name | severity | what it says |\n|---|---|---|---|\n" + "\n".join(own) + "\n"
    )


def looks_at(scope: Mapping[str, Any]) -> str:
    """What a policy looks at, in words."""
    return LEVELS.get(scope["level"], "")


def _severity(data: Mapping[str, Any]) -> str:
    return f"{data['severity']}, preview" if data.get("preview") else str(data["severity"])


def _facts(data: Mapping[str, Any]) -> str:
    scope = data["scope"]
    where = looks_at(scope)
    kinds = f" ({', '.join(scope['kinds'])})" if scope.get("kinds") else ""
    preset = data.get("presets", ["default"])[0]
    more = "".join(f"; needs {NEEDS[need]}" for need in data.get("needs", ()))
    has_twin = isinstance(data.get("admission"), dict) and not data.get("preview")
    more += "; exported for the API server" if has_twin else ""
    return f"**{_severity(data)}**, {data['basis']}; looks at {where}{kinds}; preset {preset}{more}"


def _proof(proof: Mapping[str, str]) -> str:
    at = f"{CASES}/{proof['case']}"
    return f"Run for real: {proof['shows']} ([{proof['case']}]({at}))."


def _example(example: Mapping[str, Any]) -> str:
    verdict = {"bad": "Found", "good": "Fine", "near": "Fine, though close"}[example["verdict"]]
    objects = example.get("objects") or [example["object"]]
    beside = (f"# {name}\n{emit_document(data)}" for name, data in example.get("files", {}).items())
    text = "---\n".join((*(emit_document(entry) for entry in objects), *beside))
    said = f"\n\n> {example['message']}" if example.get("message") else ""
    tool = f'With `[gitops] tool = "{example["gitops"]}"`:\n\n' if "gitops" in example else ""
    was = f"\n\nBefore:\n\n```yaml\n{emit_document(example['before'])}```" if "before" in example else ""
    return f"## {verdict}: {example['name']}\n\n{tool}```yaml\n{text}```{was}{said}"
