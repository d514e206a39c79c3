"""Writes what is made from the policy files: policies/index.json and docs/rules/.

python tools/policies.py
"""

from __future__ import annotations

from pathlib import Path

from podplan.core.builtin_rules import RULES
from podplan.lint.registry import INDEX, index, whole
from podplan.report.rule_page import contents, page

TOP = Path(__file__).parents[1]


def made() -> dict[Path, str]:
    """The files, as they should be."""
    files = whole()
    texts = {
        Path("policies", INDEX): index(files),
        Path("docs/rules/README.md"): contents(files, list(RULES.values())),
    }
    return texts | {Path("docs/rules", f"{data['id']}.md"): page(data) for data in files}


def main() -> None:
    for path, text in made().items():
        (TOP / path).parent.mkdir(parents=True, exist_ok=True)
        (TOP / path).write_text(text, encoding="utf-8")
    for stale in set(TOP.glob("docs/rules/*.md")) - {TOP / path for path in made()}:
        stale.unlink()


if __name__ == "__main__":
    main()
