"""A rule explained for people at a terminal, and as data for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.builtin_rules import Rule
from podplan.core.findings import Severity
from podplan.core.typing import Any
from podplan.lint.policy import Policy, in_general
from podplan.lint.rule_selection import UNSILENCED
from podplan.report.json import json_text
from podplan.report.rule_page import looks_at
from podplan.report.sanitization import visible
from podplan.report.terminal_style import BLUE, BOLD, PLAIN, SEVERITIES, Style
from podplan.yaml.writer import emit_document

NEEDS = {"inventory": "a ClusterInventory", "base": "a revision to compare with (--base)"}
VERDICTS = {"bad": "found", "good": "fine", "near": "fine, though close"}


def as_json(data: Mapping[str, Any]) -> str:
    """A rule for programs: ``{"format": 1, "rule": {...}}``."""
    return json_text({"format": 1, "rule": data}, indent=2) + "\n"


def of_policy(data: Mapping[str, Any]) -> dict[str, Any]:
    """What there is to say of a policy, from the data of its file."""
    scope = data["scope"]
    return {
        "code": data["id"],
        "name": data["name"],
        "severity": data["severity"],
        "basis": data["basis"],
        "summary": data["summary"],
        "looksAt": looks_at(scope),
        "kinds": list(scope.get("kinds", ())),
        "preset": data.get("presets", ["default"])[0],
        "preview": bool(data.get("preview")),
        "needs": list(data.get("needs", ())),
        "why": " ".join(data["why"].split()),
        "proof": data.get("proof"),
        "help": data.get("help") and in_general(data, data["help"]),
        "helpFor": {kind: in_general(data, said) for kind, said in data.get("helpFor", {}).items()},
        "fix": data.get("fix") and _fix(data),
        "examples": [
            {
                "name": example["name"],
                "verdict": example["verdict"],
                "message": example.get("message"),
                "text": _example(example),
            }
            for example in data.get("examples", ())
        ],
        "links": list(data.get("links", ())),
        "configure": _configure(data["id"]),
    }


def _fix(data: Mapping[str, Any]) -> dict[str, Any]:
    fix = data["fix"]
    return {"title": in_general(data, fix["title"]), "safe": fix.get("safe", True)}


def of_own(policy: Policy) -> dict[str, Any]:
    """What there is to say of a policy of an organisation: its file, or what an admission policy has."""
    data = policy.origin.data if policy.origin is not None else {}
    if "why" in data:
        return of_policy(data)
    return {
        **of_builtin(policy.rule),
        "looksAt": looks_at({"level": policy.scope.level}),
        "kinds": sorted(policy.scope.kinds),
        "preset": policy.preset,
        "preview": policy.preview,
        "needs": list(policy.needs),
        "why": f"it is a ValidatingAdmissionPolicy in {policy.file}",
    }


def of_builtin(rule: Rule) -> dict[str, Any]:
    """What there is to say of a rule of reading or of the schemas."""
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": str(rule.severity),
        "basis": rule.basis,
        "summary": rule.summary,
        "configure": _configure(rule.code),
    }


def text(data: Mapping[str, Any], style: Style = PLAIN, every_example: bool = False) -> str:
    """A rule for people: one example of each verdict, unless ``every_example`` is wanted."""
    colour = SEVERITIES[Severity[str(data["severity"]).upper()]]
    head = style.paint(f"{data['severity']}[{data['code']} {data['name']}]", colour)
    lines = [head, "", *_wrapped(data["summary"], style), *_wrapped(_facts(data), style)]
    for key, title in (("why", "why"), ("proof", "proof"), ("help", "what to do"), ("fix", "fix")):
        said = _section(key, data)
        if said:
            lines += ["", style.paint(f"{title}:", BOLD)]
            lines += [line for part in said for line in _wrapped(part, style)]
    lines += _examples(data.get("examples", []), data["code"], style, every_example)
    lines += ["", style.paint("to configure and to silence:", BOLD)]
    lines += [f"  {line}" for line in data["configure"]]
    if data.get("links"):
        lines += ["", style.paint("links:", BOLD), *(f"  {link}" for link in data["links"])]
    return "\n".join(lines) + "\n"


def _facts(data: Mapping[str, Any]) -> str:
    if "looksAt" not in data:
        return f"basis: {data['basis']}"
    kinds = f" ({', '.join(data['kinds'])})" if data["kinds"] else ""
    preview = ", preview" if data["preview"] else ""
    needs = "".join(f"; needs {NEEDS[need]}" for need in data["needs"])
    return (
        f"basis: {data['basis']}; looks at {data['looksAt']}{kinds}; preset {data['preset']}{preview}{needs}"
    )


def _section(key: str, data: Mapping[str, Any]) -> list[str]:
    value = data.get(key)
    if key == "proof" and value:
        return [f"run for real: {value['shows']} (case {value['case']})"]
    if key == "help":
        kinds = [f"{kind}: {said}" for kind, said in data.get("helpFor", {}).items()]
        return [*([value] if value else []), *kinds]
    if key == "fix" and value:
        return [f"{value['title']} ({'--fix' if value['safe'] else '--fix --unsafe-fixes'})"]
    return [value] if value else []


def _examples(examples: list[dict[str, Any]], code: str, style: Style, every_example: bool) -> Iterator[str]:
    shown: set[str] = set()
    for example in examples:
        if example["verdict"] in shown and not every_example:
            continue
        shown.add(example["verdict"])
        yield ""
        yield style.paint(f"{VERDICTS[example['verdict']]}: {visible(example['name'])}", BOLD)
        bar = style.paint("|", BLUE)
        yield from (f"  {bar} {visible(line)}" for line in example["text"].splitlines())
        if example["message"]:
            yield from _wrapped(f"= {example['message']}", style)
    if len(examples) > len(shown) and not every_example:
        yield ""
        yield f"{len(examples) - len(shown)} more examples: podplan explain {code} --examples"


def _wrapped(said: str, style: Style) -> list[str]:
    first, *more = style.lines(visible(said), 2, 2)
    return [f"  {first}", *more]


def _example(example: Mapping[str, Any]) -> str:
    objects = example.get("objects") or [example["object"]]
    beside = (f"# {name}\n{emit_document(data)}" for name, data in example.get("files", {}).items())
    tool = f'# with [gitops] tool = "{example["gitops"]}"\n' if "gitops" in example else ""
    was = [f"# before, as a patch\n{emit_document(example['before'])}"] if "before" in example else []
    return tool + "---\n".join((*(emit_document(entry) for entry in objects), *beside, *was))


def _configure(code: str) -> list[str]:
    if code in UNSILENCED:
        return ["nothing turns it off: what breaks it was not checked"]
    lines = [
        f"podplan check --ignore {code}, or --severity {code}=info",
        f'podplan.toml:  ignore = ["{code}"], or under [severity]  {code} = "info"',
    ]
    if code.startswith("LINT"):
        return lines
    return [*lines, f"at a line:     # podplan: ignore[{code}] -- the reason"]
