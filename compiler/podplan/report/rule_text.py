"""A rule explained at a terminal, and as data for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.builtin_rules import Rule
from podplan.core.findings import Severity
from podplan.core.typing import Any
from podplan.core.wording import format_count
from podplan.lint.policy import Policy, fill_generic_placeholders
from podplan.lint.policy_scope import list_help_by_kind, list_kind_names, parse_scope
from podplan.lint.rule_selection import UNSUPPRESSIBLE_RULES
from podplan.report.json import encode_json
from podplan.report.rule_page import describe_scope, format_command, format_reported_message
from podplan.report.sanitization import escape_text
from podplan.report.terminal_style import BLUE, BOLD, PLAIN, SEVERITY_STYLES, Style
from podplan.yaml.writer import emit_document

NEED_TEXTS = {"inventory": "a ClusterInventory", "base": "a revision to compare with (--base)"}
VERDICT_TEXTS = {"bad": "reported", "good": "not reported", "near": "not reported, though similar"}


def render_json(data: Mapping[str, Any]) -> str:
    """Render for machines: ``{"format": 1, "rule": {...}}``."""
    return encode_json({"format": 1, "rule": data}, indent=2) + "\n"


def describe_policy(data: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a policy, from the data of its file."""
    scope = data["scope"]
    return {
        "code": data["id"],
        "name": data["name"],
        "severity": data["severity"],
        "basis": data["basis"],
        "summary": data["summary"],
        "looksAt": describe_scope(scope),
        "kinds": list_kind_names(parse_scope(scope)),
        "preset": data.get("presets", ["default"])[0],
        "preview": bool(data.get("preview")),
        "needs": list(data.get("needs", ())),
        "why": " ".join(data["why"].split()),
        "proof": data.get("proof"),
        "help": data.get("help") and fill_generic_placeholders(data, data["help"]),
        "helpFor": {
            kind: fill_generic_placeholders(data, text)
            for kind, text in list_help_by_kind(parse_scope(scope), data.get("helpFor", {})).items()
        },
        "fix": data.get("fix") and _describe_fix(data),
        "examples": [
            {
                "name": example["name"],
                "verdict": example["verdict"],
                "message": example.get("message"),
                "text": _format_example(example),
            }
            for example in data.get("examples", ())
        ],
        "links": list(data.get("links", ())),
        "configure": _explain_configuration(data["id"]),
    }


def _describe_fix(data: Mapping[str, Any]) -> dict[str, Any]:
    fix = data["fix"]
    return {"title": fill_generic_placeholders(data, fix["title"]), "safe": fix.get("safe", True)}


def describe_custom_policy(policy: Policy) -> dict[str, Any]:
    """Describe a custom policy: its file, or the fields of an admission policy."""
    data = policy.origin_doc.data if policy.origin_doc is not None else {}
    if "why" in data:
        return describe_policy(data)
    return {
        **_describe_rule(policy.rule),
        "looksAt": describe_scope({"level": policy.scope.level}),
        "kinds": sorted(list_kind_names(policy.scope)),
        "preset": policy.preset,
        "preview": policy.preview,
        "needs": list(policy.needs),
        "why": f"it is a ValidatingAdmissionPolicy in {policy.file}",
    }


def describe_builtin_rule(rule: Rule, page: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a built-in rule, with the data of its page."""
    return {
        **_describe_rule(rule),
        "why": " ".join(page["why"].split()),
        "help": page["help"],
        "examples": [
            {
                "name": example["name"],
                "verdict": example["verdict"],
                "message": format_reported_message(example) or None,
                "text": _format_files(example),
            }
            for example in page["examples"]
        ],
        "links": list(page.get("links", ())),
    }


def _format_files(example: Mapping[str, Any]) -> str:
    """Format the files of an example one below the other; one alone needs no name."""
    files = example["files"].items()
    command = f"# {format_command(example)}\n" if "command" in example else ""
    if len(files) == 1 and "job.yaml" in example["files"]:
        return command + str(example["files"]["job.yaml"])
    return command + "\n".join(f"# {name}\n{text}" for name, text in files)


def _describe_rule(rule: Rule) -> dict[str, Any]:
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": str(rule.severity),
        "basis": rule.basis,
        "summary": rule.summary,
        "configure": _explain_configuration(rule.code),
    }


def render_text(data: Mapping[str, Any], style: Style = PLAIN, every_example: bool = False) -> str:
    """Render for people: one example of each verdict, or all with ``every_example``."""
    colour = SEVERITY_STYLES[Severity[str(data["severity"]).upper()]]
    head = style.paint(f"{data['severity']}[{data['code']} {data['name']}]", colour)
    lines = [head, "", *_wrap_text(data["summary"], style), *_wrap_text(_format_properties(data), style)]
    for key, title in (("why", "why"), ("proof", "proof"), ("help", "what to do"), ("fix", "fix")):
        paragraphs = _format_section(key, data)
        if paragraphs:
            lines += ["", style.paint(f"{title}:", BOLD)]
            lines += [line for part in paragraphs for line in _wrap_text(part, style)]
    lines += _render_examples(data.get("examples", []), data["code"], style, every_example)
    lines += ["", style.paint("to configure and to suppress:", BOLD)]
    lines += [f"  {line}" for line in data["configure"]]
    if data.get("links"):
        lines += ["", style.paint("links:", BOLD), *(f"  {link}" for link in data["links"])]
    return "\n".join(lines) + "\n"


def _format_properties(data: Mapping[str, Any]) -> str:
    if "looksAt" not in data:
        return f"basis: {data['basis']}"
    kinds = f" ({', '.join(data['kinds'])})" if data["kinds"] else ""
    preview = ", preview" if data["preview"] else ""
    needs = "".join(f"; needs {NEED_TEXTS[need]}" for need in data["needs"])
    return f"basis: {data['basis']}; checks {data['looksAt']}{kinds}; preset {data['preset']}{preview}{needs}"


def _format_section(key: str, data: Mapping[str, Any]) -> list[str]:
    value = data.get(key)
    if key == "proof" and value:
        return [f"verified with real launchers: {value['shows']} (case {value['case']})"]
    if key == "help":
        kinds = [f"{kind}: {said}" for kind, said in data.get("helpFor", {}).items()]
        return [*([value] if value else []), *kinds]
    if key == "fix" and value:
        return [f"{value['title']} ({'--fix' if value['safe'] else '--fix --unsafe-fixes'})"]
    return [value] if value else []


def _render_examples(
    examples: list[dict[str, Any]], code: str, style: Style, every_example: bool
) -> Iterator[str]:
    shown_verdicts: set[str] = set()
    for example in examples:
        if example["verdict"] in shown_verdicts and not every_example:
            continue
        shown_verdicts.add(example["verdict"])
        yield ""
        yield style.paint(f"{VERDICT_TEXTS[example['verdict']]}: {escape_text(example['name'])}", BOLD)
        bar = style.paint("|", BLUE)
        yield from (f"  {bar} {escape_text(line)}" for line in example["text"].splitlines())
        if example["message"]:
            yield from _wrap_text(f"= {example['message']}", style)
    if len(examples) > len(shown_verdicts) and not every_example:
        yield ""
        more = format_count(len(examples) - len(shown_verdicts), "more example")
        yield f"{more}: podplan explain {code} --examples"


def _wrap_text(sentence: str, style: Style) -> list[str]:
    first, *continuation = style.wrap_text(escape_text(sentence), 2, 2)
    return [f"  {first}", *continuation]


def _format_example(example: Mapping[str, Any]) -> str:
    objects = example.get("objects") or [example["object"]]
    file_texts = (f"# {name}\n{emit_document(data)}" for name, data in example.get("files", {}).items())
    tool = f'# with [gitops] tool = "{example["gitops"]}"\n' if "gitops" in example else ""
    before_texts = (
        [f"# before, as a patch\n{emit_document(example['before'])}"] if "before" in example else []
    )
    return tool + "---\n".join((*(emit_document(entry) for entry in objects), *file_texts, *before_texts))


def _explain_configuration(code: str) -> list[str]:
    if code in UNSUPPRESSIBLE_RULES:
        return ["nothing turns it off: what breaks it was not checked"]
    lines = [
        f"podplan check --ignore {code}, or --severity {code}=info",
        f'podplan.toml:  ignore = ["{code}"], or under [severity]  {code} = "info"',
    ]
    if code.startswith("LINT"):
        return lines
    return [*lines, f"at a line:     # podplan: ignore[{code}] -- the reason"]
