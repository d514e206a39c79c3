"""Writes policies/index.json, docs/rules/, the table of docs/traits.md, and the index of checks.

python tools/policies.py
"""

from __future__ import annotations

import json
import pkgutil
from importlib import import_module
from pathlib import Path

from podplan.core.builtin_rules import BUILTIN_RULES
from podplan.lint import checks
from podplan.lint.checks.registration import REGISTERED_CHECKS
from podplan.lint.registry import INDEX_FILE, load_builtin_page, load_policy_documents, render_index
from podplan.report.rule_page import render_builtin_page, render_rule_page, render_rules_table
from podplan.report.trait_table import TABLE_HEAD, render_trait_table

REPOSITORY = Path(__file__).parents[1]
TRAIT_PAGE = Path("docs/traits.md")


def build_files() -> dict[Path, str]:
    """Return the expected files."""
    policy_documents = load_policy_documents()
    introduction = (REPOSITORY / TRAIT_PAGE).read_text(encoding="utf-8").partition(TABLE_HEAD)[0]
    texts = {
        Path("policies", INDEX_FILE): render_index(policy_documents),
        Path("docs/rules/README.md"): render_rules_table(policy_documents, list(BUILTIN_RULES.values())),
        TRAIT_PAGE: introduction + render_trait_table(),
        **build_check_files(),
    }
    pages = {data["id"]: render_rule_page(data) for data in policy_documents} | {
        code: render_builtin_page(rule, load_builtin_page(code)) for code, rule in BUILTIN_RULES.items()
    }
    return texts | {Path("docs/rules", f"{code}.md"): text for code, text in pages.items()}


def build_check_files() -> dict[Path, str]:
    """Return the module of each check, so that a run imports only that, and the schemas of params for
    custom policies."""
    for module in pkgutil.iter_modules(checks.__path__, f"{checks.__name__}."):
        import_module(module.name)
    registered = {name: REGISTERED_CHECKS[name] for name in sorted(REGISTERED_CHECKS)}
    modules = {name: check.function.__module__.rpartition(".")[2] for name, check in registered.items()}
    required = {name: sorted(check.requires) for name, check in registered.items() if check.requires}
    aliases = {alias: name for name, check in registered.items() for alias in check.aliases}
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Checks",
        "description": "The params of the checks of podplan that have some, by the name of the check.",
        "type": "object",
        "properties": {name: check.params for name, check in registered.items() if check.params is not None},
        "additionalProperties": {"type": "object", "additionalProperties": False},
    }
    return {
        Path("compiler/podplan/lint/checks/index.py"): (
            '"""The module of each check, written by `make policies`."""\n\n'
            "from __future__ import annotations\n\n"
            "CHECK_MODULES: dict[str, str] = {\n"
            + "".join(f'    "{name}": "{module}",\n' for name, module in modules.items())
            + "}\n\n"
            "# The name of each check by its former names.\n"
            "CHECK_ALIASES: dict[str, str] = {\n"
            + "".join(f'    "{alias}": "{name}",\n' for alias, name in sorted(aliases.items()))
            + "}\n\n"
            "# What a job must have some of, by the name of the check.\n"
            "REQUIRED_FEATURES: dict[str, frozenset[str]] = {\n"
            + "".join(f'    "{name}": frozenset({json.dumps(names)}),\n' for name, names in required.items())
            + "}\n"
        ),
        Path("schemas/Checks.json"): json.dumps(schema, indent=2) + "\n",
    }


def main() -> None:
    for path, text in build_files().items():
        (REPOSITORY / path).parent.mkdir(parents=True, exist_ok=True)
        (REPOSITORY / path).write_text(text, encoding="utf-8")
    for stale in set(REPOSITORY.glob("docs/rules/*.md")) - {REPOSITORY / path for path in build_files()}:
        stale.unlink()


if __name__ == "__main__":
    main()
