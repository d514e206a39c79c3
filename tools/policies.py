"""Writes what the policies give: policies/index.json, docs/rules/ and the table of docs/traits.md.

python tools/policies.py
"""

from __future__ import annotations

from pathlib import Path

from podplan.core.builtin_rules import BUILTIN_RULES
from podplan.lint.registry import INDEX_FILE, load_policy_documents, render_index
from podplan.report.rule_page import render_rule_page, render_rules_table
from podplan.report.trait_table import TABLE_HEAD, render_trait_table

REPOSITORY = Path(__file__).parents[1]
TRAIT_PAGE = Path("docs/traits.md")


def build_files() -> dict[Path, str]:
    """The files, as they should be."""
    policy_documents = load_policy_documents()
    introduction = (REPOSITORY / TRAIT_PAGE).read_text(encoding="utf-8").partition(TABLE_HEAD)[0]
    texts = {
        Path("policies", INDEX_FILE): render_index(policy_documents),
        Path("docs/rules/README.md"): render_rules_table(policy_documents, list(BUILTIN_RULES.values())),
        TRAIT_PAGE: introduction + render_trait_table(),
    }
    return texts | {
        Path("docs/rules", f"{data['id']}.md"): render_rule_page(data) for data in policy_documents
    }


def main() -> None:
    for path, text in build_files().items():
        (REPOSITORY / path).parent.mkdir(parents=True, exist_ok=True)
        (REPOSITORY / path).write_text(text, encoding="utf-8")
    for stale in set(REPOSITORY.glob("docs/rules/*.md")) - {REPOSITORY / path for path in build_files()}:
        stale.unlink()


if __name__ == "__main__":
    main()
