"""What docs/editors.md tells people to write can be read, and what it promises is what the server says."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from podplan.schema import catalog
from podplan.yaml import parse_yaml
from tests.command import podplan

TEXT = (Path(__file__).parent.parent / "docs" / "editors.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def test_settings_can_be_read() -> None:
    all_kinds, schemas = (json.loads(block) for block in blocks("json"))
    assert [Path(file).name for file in all_kinds["yaml.schemas"]] == ["all.json"]
    assert all(Path(file).stem in catalog.list_schema_names() for file in schemas["yaml.schemas"])
    [helix] = (tomllib.loads(block) for block in blocks("toml"))
    assert helix["language-server"]["podplan"]["args"] == ["lsp"]
    [profile] = blocks("yaml")
    assert not parse_yaml(profile.encode(), "a.yaml").diagnostics
    assert all(block.count("{") == block.count("}") for block in blocks("lua"))
    assert [re.findall(r'"podplan", "lsp"', block) for block in blocks("lua")[:2]] == [
        ['"podplan", "lsp"']
    ] * 2


def test_commands_and_flags_are_there() -> None:
    usage = podplan("lsp", "--help").out
    assert all(flag in usage for flag in ("--config", "--isolated", "--inventory"))
    for line in blocks("console")[-1].splitlines()[1:]:
        command, _, file = line.partition(" > ")
        done = podplan(*command.split()[1:])
        assert done.code == 0
        assert json.loads(done.out)["title"] == Path(file).stem
