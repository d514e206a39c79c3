"""The extension for VS Code fits to its page and to podplan; `make editor-test` tries it in VS Code."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import podplan

TOP = Path(__file__).parent.parent
EXTENSION = TOP / "editors" / "vscode"
MANIFEST = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
PAGE = (TOP / "docs" / "editors.md").read_text(encoding="utf-8")


def test_the_page_has_each_setting_and_each_view() -> None:
    settings = MANIFEST["contributes"]["configuration"]["properties"]
    assert re.findall(r"^\| `(podplan\.[\w.]+)` \|", PAGE, re.MULTILINE) == list(settings)
    titles = {one["command"]: one["title"] for one in MANIFEST["contributes"]["commands"]}
    for command in ("podplan.showPods", "podplan.showPicture"):
        assert f"*podplan: {titles[command]}*" in PAGE


def test_settings_that_start_programs_are_ignored_without_trust() -> None:
    trust = MANIFEST["capabilities"]["untrustedWorkspaces"]
    assert trust["supported"] == "limited"
    assert trust["restrictedConfigurations"] == ["podplan.server.path", "podplan.server.arguments"]


def test_the_version_is_that_of_podplan() -> None:
    assert MANIFEST["version"] == podplan.__version__


@pytest.mark.parametrize("folder", [EXTENSION, EXTENSION / "test"])
def test_each_package_of_the_lock_has_a_digest_and_no_place_it_comes_from(folder: Path) -> None:
    packages = json.loads((folder / "package-lock.json").read_text(encoding="utf-8"))["packages"]
    installed = [one for path, one in packages.items() if path]
    assert len(installed) > 100
    assert all(one["integrity"].startswith("sha512-") for one in installed if not one.get("inBundle"))
    assert not any("resolved" in one for one in installed)
