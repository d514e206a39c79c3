"""The parts of `podplan action`: inputs, the files of the runner, and text that must not be a command."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podplan.core.errors import UsageError
from podplan.integrations.github.inputs import read_inputs
from podplan.integrations.github.runner_files import MAX_SUMMARY_BYTES, format_outputs, truncate_summary
from podplan.integrations.github.step_report import MAX_COMMENT_LENGTH, render_comment
from podplan.report.workflow_commands import MAX_CHARACTERS, format_annotation, format_log_line
from tests.command import BAD_JOB, podplan
from tests.github_runner import parsed
from tests.sample_findings import FINDINGS, RESULT

PIECES = st.sampled_from(
    [
        "::",
        "error",
        " ",
        "##[",
        "]",
        "\n",
        "\r",
        "\u2028",
        "\x85",
        "\xa0",
        "%0A",
        ",",
        "=",
        "stop-commands",
        "x",
        "`",
    ]
)
HOSTILE = st.lists(PIECES, max_size=12).map("".join)


@given(HOSTILE)
def test_no_line_of_the_log_is_a_command(text: str) -> None:
    assert list(parsed(format_log_line(text))) == []


@given(HOSTILE, HOSTILE)
def test_an_annotation_is_one_command_with_what_was_meant(message: str, file: str) -> None:
    [command] = parsed(format_annotation("error", message, file=file, line=1))
    assert command.name == "error"
    assert set(command.properties) <= {"file", "line"}
    assert command.properties["line"] == "1"


def test_an_annotation_is_cut_and_not_within_an_escape() -> None:
    for length in range(MAX_CHARACTERS - 5, MAX_CHARACTERS + 2):
        text = format_annotation("error", "x" * length + "%" * 50, title="a").partition("::error title=a::")[
            2
        ]
        assert len(text) <= MAX_CHARACTERS
        assert not re.search("%(?!25)", text)


def test_no_value_of_an_output_can_end_it() -> None:
    one, two = format_outputs({"impact": "a\nfindings=0\n"}), format_outputs({"impact": "a\nfindings=0\n"})
    assert one != two
    first, *body, last, rest = one.split("\n")
    assert first == f"impact<<{last}"
    assert re.fullmatch("podplan_[0-9a-f]{32}", last)
    assert (body, rest) == (["a", "findings=0", ""], "")


@pytest.mark.parametrize("line", ["x" * 99 + "\n", "\u4f60" * 33 + "\n", "\ud800\n"])
def test_a_summary_has_room(line: str) -> None:
    long = line * (2 * MAX_SUMMARY_BYTES // len(line.encode(errors="backslashreplace")))
    cut = truncate_summary(long)
    assert MAX_SUMMARY_BYTES - 200 < len(cut.encode()) <= MAX_SUMMARY_BYTES
    assert cut.endswith("\n\nThe rest has no room in this summary.\n")
    assert truncate_summary("short\n") == "short\n"


def test_a_comment_has_room_and_the_important_first() -> None:
    text = render_comment(RESULT, None)
    assert text.index("DIST001") < text.index("TORCH009") < text.index("ORG001")
    long = render_comment(RESULT._replace(findings=FINDINGS * 500), None)
    assert len(long) == MAX_COMMENT_LENGTH
    assert "has no room in a comment" in long


def test_inputs_that_are_not_set_have_their_defaults() -> None:
    assert read_inputs({}) == read_inputs(
        {"PODPLAN_ACTION_PATHS": "\n ", "PODPLAN_ACTION_COMMAND": "", "INPUT_PATHS": "x"}
    )
    assert read_inputs({}).paths == (".",)
    assert read_inputs({"PODPLAN_ACTION_PATHS": " a b \r\n\n--c,d\n"}).paths == ("a b", "--c,d")
    assert read_inputs({"PODPLAN_ACTION_SUMMARY": "false"}).summary is False


@pytest.mark.parametrize(
    ("name", "value"), [("COMMAND", "lint"), ("FAIL_ON", "fatal"), ("SUMMARY", "no"), ("PATHS", "a\n-")]
)
def test_an_input_that_is_wrong_says_so(name: str, value: str) -> None:
    with pytest.raises(UsageError, match=name.lower().replace("_", "-")):
        read_inputs({f"PODPLAN_ACTION_{name}": value})


def test_a_check_that_a_limit_ends_leaves_no_sarif(folder: Path) -> None:
    """GitHub would take the alerts of the files that were not checked for mended."""
    (folder / "other.yaml").write_text(BAD_JOB)
    env = {"PODPLAN_ACTION_PATHS": ".", "PODPLAN_ACTION_SARIF_FILE": "found.sarif"}
    output = {"GITHUB_OUTPUT": str(folder / "output"), "GITHUB_WORKSPACE": str(folder)}
    for limits, code, there in (("", 1, True), ("objects=1", 4, False)):
        (folder / "found.sarif").unlink(missing_ok=True)
        (folder / "output").write_text("")
        run = podplan("action", cwd=folder, env={**env, **output, "PODPLAN_LIMITS": limits})
        assert run.code == code, run.err
        assert (folder / "found.sarif").exists() is there
        assert ("found.sarif" in (folder / "output").read_text()) is there
