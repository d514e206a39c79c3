"""docs/lowering.md and schemas/Config.json: all settings, as the facts have them, and every command tried."""

from __future__ import annotations

import importlib.util
import json
import re
import shlex
import shutil
from pathlib import Path

import jsonschema
import pytest

from podplan.config import load_config_for
from podplan.kinds.lowering_options import (
    list_fixed_behaviors,
    list_lowering_options,
    list_status_behavior_ids,
)
from podplan.kinds.registry import KIND_NAMES
from tests.golden_cases import FIXTURES, podplan
from tests.lowering_changes import CHANGES, Change
from tests.rows import each_row

TOP = FIXTURES.parent
PAGE = (TOP / "docs" / "lowering.md").read_text(encoding="utf-8")
SCHEMA = json.loads((TOP / "schemas" / "Config.json").read_text(encoding="utf-8"))


def test_what_is_made_from_the_facts_is_up_to_date() -> None:
    """Otherwise run python tools/settings.py."""
    spec = importlib.util.spec_from_file_location("settings_tool", TOP / "tools" / "settings.py")
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    for path, text in tool.build_files().items():
        assert (TOP / path).read_text(encoding="utf-8") == text


def test_every_setting_is_told_with_its_default_basis_and_source() -> None:
    for fact in list_lowering_options().values():
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{fact.id}` | "))
        assert f"| {fact.text} | {fact.basis} | {fact.source} |" in row
        assert json.dumps(fact.value, ensure_ascii=False).replace("|", "\\|") in row


def test_what_has_no_setting_is_told_with_the_reason() -> None:
    for fact in list_fixed_behaviors():
        assert fact.id in list_status_behavior_ids() or f"| `{fact.id}`: {fact.text} | " in PAGE


def test_the_schema_has_every_setting_for_all_kinds_and_for_each() -> None:
    definitions = SCHEMA["$defs"]
    assert set(definitions["ofOneKind"]["properties"]) == set(list_lowering_options())
    assert set(definitions["ofAllKinds"]["properties"]) == {*list_lowering_options(), *KIND_NAMES}
    assert all(definitions[id_]["default"] == fact.value for id_, fact in list_lowering_options().items())


@each_row("change", CHANGES, ids=lambda change: change.id)
def test_the_schema_accepts_what_a_setting_may_be(change: Change) -> None:
    id_, value = change.id, change.value
    for lowering in ({id_: value}, {"GenericJob": {id_: value}}):
        jsonschema.Draft202012Validator(SCHEMA).validate({"lowering": lowering})
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SCHEMA).validate({"lowering": {id_: 0.5}})


def test_the_example_is_a_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("podplan.toml").write_text(example)
    assert load_config_for(".").lowering["DeepSpeedJob"]["ssh.port"] == 2222


def test_every_command_does_what_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```\n\$ podplan (.*?)\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == PAGE.count("$ podplan ") == 2
    (shown, out), (adopting, _) = blocks
    monkeypatch.chdir(TOP)
    assert podplan(*shlex.split(shown)).out == out
    for name in ("cr.yaml", "dump.yaml"):
        shutil.copyfile(FIXTURES / "compare" / "pytorch_torchrun" / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    said = podplan(*shlex.split(adopting))
    assert (said.code, said.out.splitlines()[-1]) == (0, "wrote 2 settings into podplan.toml")
    assert podplan("schema", "show", "Config").code == 0
