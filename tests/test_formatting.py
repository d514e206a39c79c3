"""The canonical form: any profile keeps its data and its comments, and the form of a form is itself."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podplan.pipeline import PipelineSettings
from podplan.tools.formatter import FormatMismatchError, format_source
from podplan.tools.formatter.equivalence import require_equivalent
from podplan.yaml import parse_yaml
from tests.command import podplan
from tests.thoroughness import examples
from tests.untidy_profiles import documents

ROOT = Path(__file__).parents[1]
CASES = sorted(path for path in (ROOT / "fixtures/fmt").glob("*.yaml") if ".formatted" not in path.name)
OURS = sorted(path for path in ROOT.glob("fixtures/gallery/**/*.yaml"))
IMPORTED = sorted((ROOT / "fixtures/import").glob("*/profile.yaml"))
STARTER = sorted((ROOT / "compiler/podplan/starter").glob("*.yaml"))
PAGES = ("README.md", "docs/profile.md")
UGLY = "kind: JobProfile\napiVersion: podplan/v1\nspec: {job: GenericJob}\nmetadata: {name: a}\n"
PRETTY = "apiVersion: podplan/v1\nkind: JobProfile\nmetadata: {name: a}\nspec:\n  job: GenericJob\n"


def form(text: str) -> str:
    source = parse_yaml(text.encode(), "x.yaml")
    assert not source.diagnostics, source.diagnostics[0]
    return format_source(source)


def data(text: str) -> str:
    return json.dumps([one.data for one in parse_yaml(text.encode(), "x.yaml").documents], sort_keys=True)


@given(documents())
@settings(max_examples=examples(250))
def test_data_and_comments_stay(text: str) -> None:
    new = form(text)
    assert data(new) == data(text)
    said, now = (Counter(re.findall(r"(?<!\S)# c\d+", one)) for one in (text, new))
    assert now == said
    assert form(new) == new


@given(documents(), st.sampled_from(("\r\n", "\n")), st.integers(0, 2))
@settings(max_examples=examples(60))
def test_line_breaks_and_byte_order_marks_stay(text: str, line_break: str, marks: int) -> None:
    wild = marks * "\ufeff" + text.replace("\n", line_break)
    new = form(wild)
    assert new[: marks + 1].count("\ufeff") == marks
    assert new.lstrip("\ufeff").replace(line_break, "\n") == form(text)
    assert "\r" not in new.replace("\r\n", "")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_golden(case: Path) -> None:
    text = case.read_bytes().decode()
    new = form(text)
    assert new == case.with_suffix(".formatted.yaml").read_bytes().decode()
    assert form(new) == new
    assert data(new) == data(text)


@pytest.mark.parametrize(
    "path", [*OURS, *IMPORTED, *STARTER], ids=lambda path: f"{path.parent.name}/{path.name}"
)
def test_what_we_write_ourselves_is_formatted(path: Path) -> None:
    text = path.read_text()
    assert form(text) == text


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_the_documentation_are_formatted(page: str) -> None:
    examples = re.findall(
        r"^```yaml\n(apiVersion: podplan/v1\n.*?)^```", (ROOT / page).read_text(), re.M | re.S
    )
    assert examples
    for text in examples:
        assert data(form(text)) == data(text)
        assert [line.split("#")[0].rstrip() for line in form(text).splitlines() if line.strip()] == [
            line.split("#")[0].rstrip() for line in text.splitlines() if line.strip()
        ]


def test_an_order_that_anchors_need_stays() -> None:
    text = "apiVersion: podplan/v1\nkind: JobProfile\nspec:\n  shm: &a 1Gi\n  hardware: *a\n"
    assert form(text) == text


def test_a_form_that_would_say_something_else_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    source = parse_yaml(UGLY.encode(), "x.yaml")
    monkeypatch.setattr(
        "podplan.tools.formatter.format_tree", lambda *_: PRETTY.replace("name: a", "name: b").split("\n")
    )
    with pytest.raises(FormatMismatchError, match="data would change"):
        format_source(source)
    monkeypatch.setattr("podplan.tools.formatter.format_tree", lambda *_: [*PRETTY.split("\n"), "# new"])
    with pytest.raises(FormatMismatchError, match="comments would change"):
        format_source(source)


def test_a_profile_that_would_compile_to_something_else_is_refused() -> None:
    source = parse_yaml(UGLY.encode(), "x.yaml")
    require_equivalent(source, PRETTY, PipelineSettings())
    with pytest.raises(FormatMismatchError, match="compile to something else"):
        require_equivalent(source, PRETTY.replace("name: a", "name: b"), PipelineSettings())


def test_what_has_the_same_data_in_the_same_order_is_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    def compiles(text: str) -> bool:
        compiled: list[object] = []
        monkeypatch.setattr(
            "podplan.tools.formatter.equivalence.compile_outcomes", lambda source, *_: compiled.append(source)
        )
        require_equivalent(parse_yaml(text.encode(), "x.yaml"), PRETTY, PipelineSettings())
        return bool(compiled)

    assert not compiles(PRETTY.replace("{name: a}", "\n    name: 'a'  # name"))
    assert compiles(UGLY)
    assert compiles(PRETTY.replace("name: a", "name: b"))


def test_files_are_written_and_counted(tmp_path: Path) -> None:
    (tmp_path / "ugly.yaml").write_text(UGLY)
    (tmp_path / "pretty.yaml").write_text(PRETTY)
    (tmp_path / "other.yaml").write_text("b:   1\n")
    run = podplan("fmt", ".", cwd=tmp_path)
    assert (run.code, run.out, run.err) == (0, "", "1 file reformatted, 1 file left unchanged\n")
    assert (tmp_path / "ugly.yaml").read_text() == PRETTY
    assert (tmp_path / "other.yaml").read_text() == "b:   1\n"
    assert podplan("fmt", ".", cwd=tmp_path).err == "2 files left unchanged\n"


def test_check_and_diff_change_nothing(tmp_path: Path) -> None:
    (tmp_path / "ugly.yaml").write_text(UGLY)
    run = podplan("fmt", "--check", ".", cwd=tmp_path)
    assert (run.code, run.out, run.err) == (1, "would reformat ugly.yaml\n", "1 file would be reformatted\n")
    run = podplan("fmt", "--diff", ".", cwd=tmp_path)
    assert run.code == 1
    assert "+++ ugly.yaml" in run.out
    assert "+  job: GenericJob" in run.out
    assert (tmp_path / "ugly.yaml").read_text() == UGLY
    (tmp_path / "ugly.yaml").write_text(PRETTY)
    run = podplan("fmt", "--diff", "--check", ".", cwd=tmp_path)
    assert (run.code, run.out, run.err) == (0, "", "1 file already formatted\n")


def test_standard_input(tmp_path: Path) -> None:
    run = podplan("fmt", "-", stdin=UGLY.encode(), cwd=tmp_path)
    assert (run.code, run.out, run.err) == (0, PRETTY, "")
    assert podplan("fmt", "--check", "-", stdin=UGLY.encode(), cwd=tmp_path).code == 1
    assert podplan("fmt", "-", stdin=b"a: b\n", cwd=tmp_path).code == 3


def test_a_broken_file_is_left_alone_and_the_others_are_not(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text(UGLY + "a: [\n")
    (tmp_path / "ugly.yaml").write_text(UGLY)
    run = podplan("fmt", ".", cwd=tmp_path)
    assert run.code == 1
    assert run.err.startswith("broken.yaml:")
    assert "YAML001" in run.err
    assert run.err.endswith("1 file reformatted, 1 file not formatted\n")
    assert (tmp_path / "broken.yaml").read_text() == UGLY + "a: [\n"


def test_json_is_no_yaml(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(
        json.dumps({"apiVersion": "podplan/v1", "kind": "JobProfile", "spec": {}})
    )
    run = podplan("fmt", "a.json", cwd=tmp_path)
    assert run.code == 2
    assert "is JSON" in run.err


def test_lines_beside_a_secret_are_not_shown(tmp_path: Path) -> None:
    secret = "apiVersion: v1\nkind: Secret\nstringData: {a: hidden}\n---\n"
    (tmp_path / "a.yaml").write_text(secret + UGLY)
    run = podplan("fmt", "--diff", ".", cwd=tmp_path)
    assert (run.code, run.out) == (1, "")
    assert "1 file would be reformatted" in run.err


def test_nothing_to_format(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: b\n")
    assert podplan("fmt", ".", cwd=tmp_path).code == 3
    assert podplan("fmt", "missing.yaml", cwd=tmp_path).code == 3


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
def test_a_blank_line_is_one_however_long(line_break: str) -> None:
    """The 1,000 characters above every entry were searched for one: a third of the time of a big file."""
    text = PRETTY.replace("spec:", f"{' ' * 5_000}\nspec:").replace("\n", line_break)
    assert form(text) == PRETTY.replace("spec:", "\nspec:").replace("\n", line_break)
    assert form(PRETTY.replace("\n", line_break)) == PRETTY.replace("\n", line_break)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("{two\n   words}", "{two words: null}"),
        ("{two\n\n   words}", '{"two\\nwords": null}'),
        ('{"two\n   words", a: 1}', "{two words: null, a: 1}"),
        ("{&x two\n   words}", "{&x two words: null}"),
    ],
)
def test_a_key_of_several_lines_takes_one(written: str, expected: str) -> None:
    text = f"apiVersion: podplan/v1\nkind: JobProfile\nmetadata:\n  name: a\nspec:\n  naming: {written}\n"
    new = form(text)
    assert f"  naming: {expected}\n" in new
    assert data(new) == data(text)


def test_a_comment_further_right_than_both_entries_belongs_to_the_one_above() -> None:
    text = UGLY + "environments:\n  a: 1  # one\n         # and more\n  b: 2\n"
    assert "  a: 1  # one\n    # and more\n  b: 2\n" in form(text)
