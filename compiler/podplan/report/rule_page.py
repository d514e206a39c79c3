"""The page of a rule, for docs/rules and for podplan explain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from podplan.core.builtin_rules import Rule
from podplan.core.typing import Any
from podplan.lint.policy import fill_generic_placeholders
from podplan.lint.policy_scope import list_help_by_kind, list_kind_names, parse_scope
from podplan.report.sanitization import escape_text
from podplan.yaml.writer import emit_document

NEED_TEXTS = {"inventory": "inventory", "base": "a revision to compare with (`--base`)"}
SCOPE_TEXTS = {
    "profile": "profiles",
    "cr": "CRs",
    "lowered": "lowered objects",
    "job": "the lowered job as a whole",
    "set": "all jobs together",
    "variants": "all variants of a profile together",
}
VERDICT_TITLES = {"bad": "Reported", "good": "Not reported", "near": "Not reported, though similar"}
CASES_PATH = "../../tests/conformance/cases"


def render_rule_page(data: Mapping[str, Any]) -> str:
    """Render the page of a policy, in Markdown, from the data of its file."""
    parts = [
        f"# {data['id']} {data['name']}",
        f"{data['summary']}",
        _format_properties(data) + _format_aliases(data),
        f"## Why\n\n{data['why'].strip()}",
    ]
    if data.get("proof"):
        parts.append(f"## Proof\n\n{_format_proof(data['proof'])}")
    if data.get("help") or data.get("helpFor"):
        parts.append("\n\n".join(["## What to do", *_format_help(data)]))
    parts += [_render_example(example) for example in data.get("examples", ())]
    if data.get("links"):
        parts.append("## Links\n\n" + "\n".join(f"- <{link}>" for link in data["links"]))
    return "\n\n".join(parts) + "\n"


def _format_help(data: Mapping[str, Any]) -> list[str]:
    """Format the help, if it is the same for all kinds, and a list of the kinds with another one."""
    help_text = fill_generic_placeholders(data, data.get("help", ""))
    paragraphs = [f"{help_text[:1].upper()}{help_text[1:]}."] if help_text else []
    if "helpFor" not in data:
        return paragraphs
    kinds = [
        f"- {kind}: {fill_generic_placeholders(data, text)}"
        for kind, text in list_help_by_kind(parse_scope(data["scope"]), data["helpFor"]).items()
    ]
    return [*paragraphs, "\n".join(kinds)] if kinds else paragraphs


def render_builtin_page(rule: Rule, page: Mapping[str, Any]) -> str:
    """Render the page of a built-in rule, in Markdown, from the data of its file."""
    parts = [
        f"# {rule.code} {rule.name}",
        rule.summary,
        f"**{rule.severity}**, {rule.basis}" + _format_aliases(rule._asdict()),
        f"## Why\n\n{page['why'].strip()}",
        "\n\n".join(["## What to do", *_format_help(page)]),
        *(_render_file_example(example) for example in page["examples"]),
    ]
    if page.get("links"):
        parts.append("## Links\n\n" + "\n".join(f"- <{link}>" for link in page["links"]))
    return "\n\n".join(parts) + "\n"


def format_command(example: Mapping[str, Any]) -> str:
    """Format the command of an example of a built-in rule; "" for a plain check."""
    return " ".join(("podplan", *example["command"])) if "command" in example else ""


def format_reported_message(example: Mapping[str, Any]) -> str:
    """Format the message of an example of a built-in rule, with its line; "" without one."""
    return ": ".join(example[key] for key in ("at", "message") if key in example)


def _render_file_example(example: Mapping[str, Any]) -> str:
    verdict = VERDICT_TITLES[example["verdict"]]
    command = f"With `{format_command(example)}`:\n\n" if "command" in example else ""
    files = "\n\n".join(
        f"`{name}`:\n\n```{'toml' if name.endswith('.toml') else 'yaml'}\n{escape_lines(text)}```"
        for name, text in example["files"].items()
    )
    message = format_reported_message(example)
    return f"## {verdict}: {example['name']}\n\n{command}{files}" + (f"\n\n> {message}" if message else "")


def escape_lines(text: str) -> str:
    """Return a text of several lines with its invisible characters as escapes, but for tabs."""
    lines = ("\t".join(map(escape_text, line.split("\t"))) for line in text.splitlines())
    return "".join(f"{line}\n" for line in lines)


def render_rules_table(pages: Sequence[Mapping[str, Any]], builtin: Sequence[Rule]) -> str:
    """Render the table of all rules, in Markdown."""
    rows = [
        f"| [{data['id']}]({data['id']}.md) | {data['name']} | {_format_severity(data)} | {data['summary']} |"
        for data in pages
    ]
    builtin_rows = [
        f"| [{rule.code}]({rule.code}.md) | {rule.name} | {rule.severity} | {rule.summary} |"
        for rule in builtin
    ]
    return (
        "# Rules\n\n`make policies` generates this page from the files in `policies/`.\n\n"
        "| code | name | severity | summary |\n|---|---|---|---|\n" + "\n".join(rows) + "\n\n"
        "## Rules of the parser, the schemas and profiles\n\n"
        "| code | name | severity | summary |\n|---|---|---|---|\n" + "\n".join(builtin_rows) + "\n"
    )


def describe_scope(scope: Mapping[str, Any]) -> str:
    """Describe the scope of a policy in words."""
    return SCOPE_TEXTS.get(scope["level"], "")


def _format_severity(data: Mapping[str, Any]) -> str:
    return f"{data['severity']}, preview" if data.get("preview") else str(data["severity"])


def _format_properties(data: Mapping[str, Any]) -> str:
    scope = data["scope"]
    scope_text = describe_scope(scope)
    kind_names = list_kind_names(parse_scope(scope))
    kinds = f" ({', '.join(kind_names)})" if kind_names else ""
    preset = data.get("presets", ["default"])[0]
    details = "".join(f"; needs {NEED_TEXTS[need]}" for need in data.get("needs", ()))
    is_exported = isinstance(data.get("admission"), dict) and not data.get("preview")
    details += "; exported for the API server" if is_exported else ""
    return (
        f"**{_format_severity(data)}**, {data['basis']}; checks {scope_text}{kinds}; preset {preset}{details}"
    )


def _format_aliases(data: Mapping[str, Any]) -> str:
    """Format the former names of a rule, for which users may search."""
    aliases = ", ".join(f"`{alias}`" for alias in data.get("aliases", ()))
    return f"\n\nFormer name, still accepted: {aliases}." if aliases else ""


def _format_proof(proof: Mapping[str, str]) -> str:
    case_path = f"{CASES_PATH}/{proof['case']}"
    return f"Verified with real launchers: {proof['shows']} ([{proof['case']}]({case_path}))."


def _render_example(example: Mapping[str, Any]) -> str:
    verdict = VERDICT_TITLES[example["verdict"]]
    objects = example.get("objects") or [example["object"]]
    file_texts = (f"# {name}\n{emit_document(data)}" for name, data in example.get("files", {}).items())
    text = "---\n".join((*(emit_document(entry) for entry in objects), *file_texts))
    message_text = f"\n\n> {example['message']}" if example.get("message") else ""
    tool = f'With `[gitops] tool = "{example["gitops"]}"`:\n\n' if "gitops" in example else ""
    before_text = (
        f"\n\nBefore:\n\n```yaml\n{emit_document(example['before'])}```" if "before" in example else ""
    )
    return f"## {verdict}: {example['name']}\n\n{tool}```yaml\n{text}```{before_text}{message_text}"
