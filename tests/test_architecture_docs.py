"""docs/architecture.md names every part of the house, and nothing that is not there."""

from __future__ import annotations

import re
from pathlib import Path

TOP = Path(__file__).parent.parent
PACKAGE = TOP / "compiler" / "podplan"
PAGE = (TOP / "docs" / "architecture.md").read_text(encoding="utf-8")
TEXT = re.sub(r"^```.*?^```$", "", PAGE, flags=re.MULTILINE | re.DOTALL)
# Where data lies is told in the paragraph after the table.
OF_DATA = {"bundled.py", "starter/"}


def named(text: str) -> set[str]:
    return set(re.findall(r"`([^`\n]+)`", text))


def places(section: str) -> set[str]:
    """What the first column of the table in a section names."""
    return {name for cell in re.findall(r"^\| (.*?) \|", section, re.MULTILINE) for name in named(cell)}


def section(title: str) -> str:
    return TEXT.split(f"\n## {title}\n")[1].split("\n## ")[0]


def test_every_module_and_folder_has_a_place() -> None:
    modules = {path.name for path in PACKAGE.glob("[a-z]*.py")}
    folders = {f"{path.name}/" for path in PACKAGE.glob("[a-z]*/")}
    assert places(TEXT.split("\n## ")[0]) == (modules | folders) - OF_DATA
    assert named(TEXT) >= OF_DATA


def test_what_the_kinds_share_is_named() -> None:
    shared = {path.stem for path in (PACKAGE / "kinds").glob("_[a-z]*.py")}
    assert places(section("What the kinds share")) == shared | {"compiling"}


def test_every_path_is_there() -> None:
    paths = {
        name for name in named(TEXT) if re.fullmatch(r"[\w./]+(?:/|\.py|\.yml)|(?:tests|lint)/\w+", name)
    }
    homes = (TOP, PACKAGE, TOP / "benchmarks")
    assert len(paths) > 50
    assert not [path for path in paths if not any((home / path).exists() for home in homes)]
