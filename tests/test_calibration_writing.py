"""Settings written into a configuration: only their lines change, and what the file says stays."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podplan.config import load_config_for
from podplan.config.toml_writer import format_toml
from podplan.core.errors import UsageError
from podplan.tools.cluster_diff.config_writer import set_options
from tests.golden_cases import FIXTURES, copy, podplan

KIND = "DeepSpeedJob"
VALUES = {"ssh.port": 2222, "pod.labels": {"a/b": "{job}", "c": False}, "ssh.sshd-arguments": ["-D", "-e"]}
WRITTEN = (
    '[lowering.DeepSpeedJob]\n"ssh.port" = 2222\n"pod.labels" = {"a/b" = "{job}", c = false}\n'
    '"ssh.sshd-arguments" = ["-D", "-e"]\n'
)

CHANGED = {
    "": WRITTEN,
    "# ours\npreview = true": f"# ours\npreview = true\n\n{WRITTEN}",
    '[lowering]\n"ssh.port" = 1 # all\n': f'[lowering]\n"ssh.port" = 1 # all\n\n{WRITTEN}',
    '[lowering.DeepSpeedJob] # seen in March\n"ssh.port" = 1 # not 22\n\n[severity]\nIMG = "info"\n': (
        '[lowering.DeepSpeedJob] # seen in March\n"ssh.port" = 2222 # not 22\n'
        '"pod.labels" = {"a/b" = "{job}", c = false}\n"ssh.sshd-arguments" = ["-D", "-e"]\n'
        '\n[severity]\nIMG = "info"\n'
    ),
    '[lowering.DeepSpeedJob]\n"ssh.sshd-arguments" = [\n  "-D", # in front\n]\n# end\n': (
        '[lowering.DeepSpeedJob]\n"ssh.sshd-arguments" = ["-D", "-e"]\n"ssh.port" = 2222\n'
        '"pod.labels" = {"a/b" = "{job}", c = false}\n# end\n'
    ),
    "[lowering.GenericJob]\n": f"[lowering.GenericJob]\n\n{WRITTEN}",
}


@pytest.mark.parametrize("text", CHANGED, ids=lambda text: text[:30])
def test_only_the_lines_of_settings_change(text: str) -> None:
    assert set_options(text, "podplan.toml", KIND, VALUES) == CHANGED[text]


def test_a_pyproject_has_its_tables_below_tool() -> None:
    text = '[project]\nname = "x"\n\n[tool.podplan]\npreview = true\n'
    changed = set_options(text, "sub/pyproject.toml", KIND, {"ssh.port": 1})
    assert changed == f'{text}\n[tool.podplan.lowering.DeepSpeedJob]\n"ssh.port" = 1\n'


@pytest.mark.parametrize(
    "text",
    [
        'lowering = {"ssh.port" = 1}\n',
        'lowering.DeepSpeedJob."ssh.port" = 1\n',
        "[lowering]\nDeepSpeedJob = {}\n",
    ],
)
def test_what_cannot_be_changed_so_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(UsageError) as error:
        set_options(text, "podplan.toml", KIND, VALUES)
    assert str(error.value).startswith(
        "podplan.toml: cannot be changed without changing more; write by hand:\n"
    )
    assert str(error.value).endswith(WRITTEN.rstrip("\n"))


scalars = st.one_of(st.text(), st.integers(-(2**31), 2**31), st.booleans())
values = st.one_of(
    scalars, st.lists(st.text()), st.dictionaries(st.text(), st.one_of(st.text(), st.booleans()))
)


@given(values)
def test_what_is_written_is_read_as_it_was(value: Any) -> None:
    assert tomllib.loads(f"a = {format_toml(value)}") == {"a": value}


def test_line_breaks_of_windows_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy([FIXTURES / "compare/generic_services" / name for name in ("cr.yaml", "dump.yaml")],
         FIXTURES / "compare/generic_services", tmp_path)  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path(".podplan.toml").write_bytes(b"# ours\r\npreview = true\r\n")
    assert podplan("lower", "cr.yaml", "--compare", "dump.yaml", "--adopt").code == 0
    content = Path(".podplan.toml").read_bytes()
    assert content.startswith(b"# ours\r\npreview = true\r\n\r\n[lowering.GenericJob]\r\n")
    assert content.count(b"\n") == content.count(b"\r\n")
    assert not Path("podplan.toml").exists()
    before = content
    assert podplan("lower", "cr.yaml", "--compare", "dump.yaml", "--adopt").code == 0
    assert Path(".podplan.toml").read_bytes() == before


def test_settings_of_a_kind_are_put_together_with_those_of_the_file_that_is_extended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("base.toml").write_text('[lowering]\n"ssh.port" = 1\n[lowering.DeepSpeedJob]\n"ssh.port" = 2\n')
    Path("podplan.toml").write_text(
        'extend = "base.toml"\n[lowering.DeepSpeedJob]\n"ssh.port-name" = "sshd"\n[lowering.GenericJob]\n'
    )
    assert load_config_for(".").lowering == {
        "ssh.port": 1,
        "DeepSpeedJob": {"ssh.port": 2, "ssh.port-name": "sshd"},
        "GenericJob": {},
    }
