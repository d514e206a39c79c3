"""docs/evidence: each section states its basis and its source, and each link and citation leads somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from podplan.kinds.lowering_options import iter_behaviors, list_lowering_options
from tests.rows import each_row

TOP = Path(__file__).parent.parent
FOLDER = TOP / "docs" / "evidence"
PAGES = sorted(FOLDER.glob("*.md"))
SUBJECTS = [page for page in PAGES if page.name != "README.md"]
BASES = {"verified", "documented", "anchored", "assumed"}
LABELS = ("Basis", "Source", "Option", "Contradicted by")
CITATION = re.compile(r"docs/evidence/([a-z0-9-]+\.md)(?:#([\w-]+))?")
RECORDS = ("../conformance.md", "../../fixtures/", "`make integration`")


def read(page: Path) -> str:
    """The text of a page without code blocks."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(page: Path) -> list[str]:
    return [slug(heading) for heading in re.findall(r"^#+ (.+)$", read(page), re.MULTILINE)]


def iter_sections(page: Path) -> Iterator[tuple[str, str]]:
    """Heading and text of each section, without the link definitions at the end of the page."""
    text = re.sub(r"^\[[^\]]+\]: \S+$", "", read(page), flags=re.MULTILINE)
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading, _, body = part.partition("\n")
        yield heading, body


def parse_list(body: str) -> dict[str, str]:
    """The list that ends a section: its values by label."""
    entries = re.findall(r"^- \*\*([^*]+)\*\*: (.+?)(?=\n- \*\*|\n\n|\Z)", body, re.MULTILINE | re.DOTALL)
    return {label: " ".join(value.split()) for label, value in entries}


SECTIONS = [(page, heading, body) for page in SUBJECTS for heading, body in iter_sections(page)]
NAMES = [f"{page.name}#{slug(heading)}" for page, heading, _ in SECTIONS]


def link_targets(page: Path) -> list[str]:
    text = read(page)
    inline = re.findall(r"\]\(([^)\s]+)\)", text)
    return inline + re.findall(r"^\[[^\]]+\]: (\S+)$", text, re.MULTILINE)


def source_table() -> dict[str, tuple[str, str]]:
    """Repository and commit by source key, from the README."""
    found: dict[str, tuple[str, str]] = {}
    repository = ""
    for key, about, commit in re.findall(
        r"^\| ([A-Z][A-Z0-9-]+) \| (.*?) \| `([\w.]+)` \|", read(FOLDER / "README.md"), re.MULTILINE
    ):
        named = re.search(r"\]\(https://github\.com/([^)]+)\)", about)
        repository = named[1] if named else repository  # "the same" is the repository of the row above
        found[key] = (repository, commit)
    return found


def test_there_is_a_page_for_each_subject_and_each_is_listed() -> None:
    listed = re.findall(r"^\| \[[^\]]+\]\(([a-z0-9-]+\.md)\)", read(FOLDER / "README.md"), re.MULTILINE)
    assert sorted(listed) == [page.name for page in SUBJECTS]
    assert len(SECTIONS) > 300


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_anchors_are_unique(page: Path) -> None:
    found = anchors(page)
    assert sorted(set(found)) == sorted(found)
    assert all(found)


@each_row(("heading", "body"), [section[1:] for section in SECTIONS], ids=NAMES)
def test_a_section_states_its_basis_and_its_source(heading: str, body: str) -> None:
    entries = parse_list(body)
    assert list(entries) == [label for label in LABELS if label in entries]
    assert body.count("- **") == len(entries)
    bases = {part.split()[0] for part in re.split(r", (?![^(]*\))", entries["Basis"])}
    assert bases <= BASES
    assert re.search(r"\[[^\]]+\]", entries["Source"]), "no link and no source key"
    if "verified" in bases:
        assert any(record in entries["Source"] for record in RECORDS), "verified without a record"
    assert body.partition("\n- **Basis**")[0].strip()
    assert not heading.endswith(".")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_resolves(page: Path) -> None:
    for target in link_targets(page):
        if target.startswith(("https://", "http://www.isthe.com/")):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        assert there.exists(), target
        assert not anchor or anchor in anchors(there), target


@pytest.mark.parametrize("page", SUBJECTS, ids=lambda page: page.name)
def test_source_keys_are_defined_used_and_pinned(page: Path) -> None:
    """A label such as [UC genericjob] has a definition, which leads to the commit of its key."""
    text = read(page)
    table = source_table()
    defined = dict(re.findall(r"^\[([^\]]+)\]: (\S+)$", text, re.MULTILINE))
    body = re.sub(r"^\[[^\]]+\]: \S+$|`[^`]*`", "", text, flags=re.MULTILINE)
    used = {" ".join(label.split()) for label in re.findall(r"(?<![\]\w`])\[([^\]`]+)\](?![(\[:])", body)}
    assert used == set(defined)
    for label, url in defined.items():
        repository, commit = table[label.split()[0]]
        assert url.startswith(f"https://github.com/{repository}/blob/{commit}/"), label


def test_every_source_key_is_used() -> None:
    used = {
        label.split()[0]
        for page in SUBJECTS
        for label in re.findall(r"^\[([^\]]+)\]: ", read(page), re.MULTILINE)
    }
    assert used == set(source_table())


def test_options_exist() -> None:
    for page, heading, body in SECTIONS:
        for option in re.findall(r"`([^`]+)`", parse_list(body).get("Option", "")):
            assert option in list_lowering_options(), f"{page.name}#{slug(heading)}: {option}"


def test_cases_of_conformance_exist() -> None:
    ran = set(
        re.findall(
            r"^\| ([a-z]+/[a-z0-9-]+)(?: \(\w+\))? \|", read(TOP / "docs" / "conformance.md"), re.MULTILINE
        )
    )
    for page, heading, body in SECTIONS:
        source = parse_list(body)["Source"]
        if "../conformance.md" in source:
            cases = source.partition("../conformance.md):")[2].partition(";")[0]
            named = [case.strip() for case in re.split(r", (?=[a-z]+/)", cases)]
            assert named
            for case in named:
                assert case.partition(",")[0] in ran, f"{page.name}#{slug(heading)}: {case}"


@pytest.mark.parametrize("folder", ["compiler", "policies", "schemas", "docs", "fixtures", "tests"])
def test_citations_resolve(folder: str) -> None:
    """What code, policies, pages and fixtures cite of these pages exists."""
    known = {page.name: anchors(page) for page in PAGES}
    for path in (TOP / folder).rglob("*"):
        if path.suffix not in {".py", ".yaml", ".json", ".md", ".txt"} or not path.is_file():
            continue
        for name, anchor in CITATION.findall(path.read_text(encoding="utf-8", errors="replace")):
            assert name in known, f"{path}: {name}"
            assert not anchor or anchor in known[name], f"{path}: {name}#{anchor}"


def test_every_behavior_has_evidence() -> None:
    """A page of ours, or a public page where the behavior is not a controller's."""
    for fact in iter_behaviors():
        pages = re.findall(r"docs/[\w./-]+\.md", fact.source)
        assert pages or "https://" in fact.source, f"{fact.id}: {fact.source}"
        assert all((TOP / page).is_file() for page in pages), f"{fact.id}: {fact.source}"


def test_citations_lead_into_the_repository_or_to_a_link() -> None:
    """Notes that are in no repository, such as "semantics §1.2", resolve nowhere."""
    for folder in ("compiler", "policies", "schemas", "docs", "fixtures"):
        for path in (TOP / folder).rglob("*"):
            if path.suffix in {".py", ".yaml", ".json", ".md", ".txt"} and path.is_file():
                text = path.read_text(encoding="utf-8", errors="replace")
                unresolved = re.search(r"[a-z0-9]+(?:-[a-z0-9]+)+ §\d", text)
                assert unresolved is None, f"{path}: {unresolved and unresolved[0]}"
