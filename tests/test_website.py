"""The web site: links of pages at their place there, and pages that nothing leads to."""

from __future__ import annotations

from pathlib import Path

import yaml

from tools.website.build import OTHER_PAGES, TOP, find_orphans, find_pictures, rewrite_links
from tools.website.command_page import build_command_page

DOCS = TOP / "docs"
RULE = DOCS / "rules" / "CA001.md"
TARGETS = {TOP / "README.md": Path("/site/index.md"), RULE: Path("/site/rules/CA001.md")}


def test_links_lead_to_pages_or_to_the_repository() -> None:
    text = "[a](../../README.md#install) [b](../../fixtures/README.md) [c](https://example.com) [d](#here)"
    rewritten, broken = rewrite_links(text, RULE, TARGETS)
    repository = "https://github.com/example/podplan/blob/main/fixtures/README.md"
    assert rewritten == f"[a](../index.md#install) [b]({repository}) [c](https://example.com) [d](#here)"
    assert broken == []


def test_links_to_nothing_are_broken() -> None:
    assert rewrite_links("[a](docs/none.md)", TOP / "README.md", TARGETS)[1] == ["docs/none.md"]


def test_fenced_text_has_no_links() -> None:
    text = "```yaml\n# [a](docs/none.md)\n```\n"
    assert rewrite_links(text, TOP / "README.md", TARGETS) == (text, [])


def test_pictures_outside_of_docs_come_along(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    page, own, other = tmp_path / "docs" / "a.md", tmp_path / "docs" / "own.svg", tmp_path / "other.svg"
    page.write_text("![own](own.svg) ![other](../other.svg) [text](b.md) ![far](https://example.com/far.svg)")
    own.touch()
    other.touch()
    assert find_pictures([page, own]) == [other]


def test_the_page_of_the_commands_has_the_help_of_each(tmp_path: Path) -> None:
    for command in ("podplan", "podplan-cmp", "podplan-cmp-generate"):
        (tmp_path / f"{command}.txt").write_text(f"Usage: {command}\n")
    page = build_command_page(tmp_path)
    headings = [line for line in page.splitlines() if line.startswith("##")]
    assert headings == ["## podplan", "## podplan cmp", "### podplan cmp generate"]
    assert "### podplan cmp generate\n\n```text\nUsage: podplan-cmp-generate\n```\n" in page


def test_a_page_that_nothing_leads_to_is_an_orphan(tmp_path: Path) -> None:
    for name, link in (("index.html", "a/"), ("a/index.html", "../#top"), ("b/index.html", "../a/")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f'<a href="{link}">x</a>')
    assert find_orphans(tmp_path) == ["b/index.html"]


def test_each_page_of_docs_is_in_the_navigation() -> None:
    text = (TOP / "tools" / "website" / "mkdocs.yml").read_text("utf-8")
    loader = type("Loader", (yaml.SafeLoader,), {})
    loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)  # type: ignore[attr-defined]
    names = set[str]()

    def collect(entry: object) -> None:
        if isinstance(entry, str):
            names.add(entry)
        else:
            for one in entry.values() if isinstance(entry, dict) else entry:  # type: ignore[attr-defined]
                collect(one)

    collect(yaml.load(text, loader)["nav"])
    assert {path.name for path in DOCS.glob("*.md")} <= names
    assert set(OTHER_PAGES.values()) <= names
