"""docs/architecture.md names every package, in the order of the layers, and nothing that does not exist."""

from __future__ import annotations

import re
from pathlib import Path

from tests.test_layers import LAYERS

TOP = Path(__file__).parent.parent
PACKAGE = TOP / "compiler" / "podplan"
PAGE = (TOP / "docs" / "architecture.md").read_text(encoding="utf-8")
TEXT = re.sub(r"^```.*?^```$", "", PAGE, flags=re.MULTILINE | re.DOTALL)
# Named in the paragraph after the table.
OF_DATA = {"core/package_data.py", "starter/"}


def named(text: str) -> set[str]:
    return set(re.findall(r"`([^`\n]+)`", text))


def places(section: str) -> set[str]:
    """What the first column of the table in a section names."""
    return {name for cell in re.findall(r"^\| (.*?) \|", section, re.MULTILINE) for name in named(cell)}


def section(title: str) -> str:
    return TEXT.split(f"\n## {title}\n")[1].split("\n## ")[0]


def test_every_package_is_described_in_the_order_of_the_layers() -> None:
    listed = [
        name
        for cell in re.findall(r"^\| (.*?) \|", section("Packages"), re.MULTILINE)
        for name in named(cell)
    ]
    assert [name.removesuffix("/").removesuffix(".py") for name in listed] == list(LAYERS)
    assert named(TEXT) >= OF_DATA


def test_building_blocks_of_kinds_are_described() -> None:
    kinds = PACKAGE / "kinds"
    shared = {f"common/{path.stem}" for path in (kinds / "common").glob("[a-z]*.py")}
    for family in ("t9k", "kubeflow", "workload_mapping"):
        shared |= {f"{family}/{path.stem}" for path in (kinds / family).glob("[a-z]*.py")}
    shared.add("t9k/behaviors/")
    shared |= {path.stem for path in kinds.glob("[a-z]*.py")} - {"registry", "spec"}
    assert places(section("Building blocks of kinds")) == shared


def test_every_path_is_there() -> None:
    paths = {
        name for name in named(TEXT) if re.fullmatch(r"[\w./]+(?:/|\.py|\.yml)|(?:tests|lint)/\w+", name)
    }
    homes = (TOP, PACKAGE, PACKAGE / "kinds", TOP / "benchmarks")
    assert len(paths) > 30
    assert not [path for path in paths if not any((home / path).exists() for home in homes)]
