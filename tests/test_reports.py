"""Every format over one set of findings with hostile text in it: goldens, and what its readers demand."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import jsonschema
import pytest
import xmlschema
from hypothesis import given
from hypothesis import strategies as st
from pytest_regressions.file_regression import FileRegressionFixture

from podplan.checker.check import CheckResult
from podplan.cli.reports import FORMATS, STYLED_FORMATS, render_report, select_style
from podplan.kubernetes import DEFAULT_VERSION
from podplan.report import code_frame
from podplan.report.markdown import escape_markdown
from podplan.report.sanitization import escape_text
from podplan.report.terminal_style import Style
from podplan.schema.catalog import build_schema
from tests.sample_findings import CLEAN, EVIL_FILE, FINDINGS, RESULT, where

FIXTURES = Path(__file__).parents[1] / "fixtures" / "reports"
TEXT = (*STYLED_FORMATS, "github", "markdown", "argocd", "statistics")
SUFFIXES = {
    "json": "json", "jsonl": "jsonl", "sarif": "sarif", "gitlab": "gitlab.json", "junit": "xml",
    "rdjson": "rdjson.json", "markdown": "md",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _in_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports name files as seen from the root of a repository."""
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("format_", [*FORMATS, "statistics"])
def test_golden(format_: str, file_regression: FileRegressionFixture) -> None:
    golden = FIXTURES / f"findings.{SUFFIXES.get(format_, f'{format_}.txt')}"
    text = render_report(RESULT, format_)
    if format_ == "sarif":  # the pages of the rules are docs/rules, which change by themselves
        text = re.sub(
            r'("markdown"|"fullDescription": \{\s*"text"|"help": \{\s*"text"): ".*"', r'\1: "…"', text
        )
    file_regression.check(text, fullpath=golden, encoding="utf-8", newline="")


@pytest.mark.parametrize("width", [60, 100])
def test_golden_of_a_terminal(width: int, file_regression: FileRegressionFixture) -> None:
    text = render_report(RESULT, "full", Style(colour=True, width=width, wraps=True))
    golden = FIXTURES / f"findings.{width}.ansi"
    file_regression.check(text, fullpath=golden, encoding="utf-8", newline="")


@pytest.mark.parametrize("format_", [*FORMATS, "statistics"])
def test_nothing_found_is_a_report_too(format_: str) -> None:
    text = render_report(CLEAN, format_)
    assert text.endswith("\n")
    assert "error" not in text.replace("errors", "").replace("-error", "")


@pytest.mark.parametrize("format_", TEXT)
def test_text_has_nothing_that_a_terminal_obeys(format_: str) -> None:
    assert not re.search(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", render_report(RESULT, format_)
    )


@pytest.mark.parametrize("format_", FORMATS)
def test_every_report_is_utf_8(format_: str) -> None:
    render_report(RESULT, format_).encode()


# --- GitHub: a small reader of workflow commands, as the runner reads them


def commands(text: str) -> Iterator[tuple[str, dict[str, str], str]]:
    for line in text.splitlines():
        assert "##[" not in line
        matched = re.fullmatch(r"::([a-z]+)(?: (.*?))?::(.*)", line.lstrip())
        if matched is None:
            assert not line.lstrip().startswith("::")
            continue
        properties = dict(part.split("=", 1) for part in (matched[2] or "").split(",") if part)
        yield matched[1], {key: _plain(value) for key, value in properties.items()}, _plain(matched[3])


def _plain(text: str) -> str:
    for escape, character in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        text = text.replace(escape, character)
    return text


def test_github_gets_one_command_for_each_finding_and_no_other() -> None:
    found = list(commands(render_report(RESULT, "github")))
    assert [level for level, _, _ in found] == ["error", "error", "error", "warning", "notice"]
    assert found[0][1] == {
        "file": "jobs/bert.yaml", "line": "6", "endLine": "6", "col": "14", "endColumn": "15",
        "title": "DIST001 processes-differ-from-gpus",
    }  # fmt: skip
    assert found[0][2].startswith("torchrun starts 4")
    assert "100 %" in found[0][2]
    assert "col" not in found[4][1]


def test_github_shows_ten_of_a_level_and_counts_the_rest() -> None:
    many = CheckResult([FINDINGS[0]] * 15 + [FINDINGS[4]] * 15, RESULT.summary, {}, [])
    found = list(commands(render_report(many, "github")))
    assert [level for level, _, _ in found].count("error") == 10
    assert [level for level, _, _ in found].count("notice") == 10
    assert found[-1][2].startswith("11 more findings")


def test_a_long_message_is_cut_for_github() -> None:
    long = FINDINGS[0]._replace(message="%" * 10_000)
    (line,) = commands(render_report(CheckResult([long], CLEAN.summary, {}, [long]), "github"))
    text = render_report(CheckResult([long], CLEAN.summary, {}, [long]), "github").splitlines()[0]
    assert len(text.split("::", 2)[2]) <= 4096
    assert set(line[2][:-1]) == {"%"}


# --- SARIF


def sarif(result: CheckResult = RESULT) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(render_report(result, "sarif"))
    return document


@pytest.mark.parametrize("result", [RESULT, CLEAN], ids=["findings", "clean"])
def test_sarif_fulfils_the_official_schema(result: CheckResult) -> None:
    schema = json.loads((FIXTURES / "sarif-2.1.0.schema.json").read_text())
    jsonschema.validate(sarif(result), schema)


def test_sarif_has_what_code_scanning_asks_for() -> None:
    run = sarif()["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert len(run["results"]) == len(RESULT.all_findings)
    for rule in rules:
        assert rule["name"] != rule["id"]
        assert re.fullmatch("[A-Z][A-Za-z0-9]*", rule["name"])
        assert rule["shortDescription"]["text"]
        assert rule["help"]["text"]
        assert rule["help"]["markdown"]
        assert ("security-severity" in rule["properties"]) == rule["id"].startswith("SEC")
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        place = result["locations"][0]["physicalLocation"]
        assert re.fullmatch(r"[A-Za-z0-9%._~/-]+", place["artifactLocation"]["uri"])
        assert {"startLine", "startColumn", "endLine", "endColumn"} <= set(place["region"])
    assert (
        unquote(run["results"][3]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]) == EVIL_FILE
    )
    assert run["results"][-1]["suppressions"][0]["justification"] == "known; OPS-7"
    assert sarif(CLEAN)["runs"][0]["results"] == []


def test_fingerprints_differ_and_survive_other_lines() -> None:
    moved = [
        found._replace(location=found.location._replace(line=found.location.line + 7)) for found in FINDINGS
    ]
    twice = CheckResult(
        [*FINDINGS, FINDINGS[0]], RESULT.summary, RESULT.redacted_texts, [*FINDINGS, FINDINGS[0]]
    )
    marks = [one["partialFingerprints"]["podplan/v1"] for one in sarif(twice)["runs"][0]["results"]]
    assert len(set(marks)) == len(marks)
    again = CheckResult(moved, RESULT.summary, {}, moved)
    after = [one["partialFingerprints"]["podplan/v1"] for one in sarif(again)["runs"][0]["results"]]
    with_objects = [index for index, found in enumerate(FINDINGS) if found.object]
    assert [after[index] for index in with_objects] == [marks[index] for index in with_objects]


# --- the others


def test_gitlab_reads_its_report() -> None:
    report = json.loads(render_report(RESULT, "gitlab"))
    jsonschema.validate(report, json.loads((FIXTURES / "gitlab.schema.json").read_text()))
    assert len({entry["fingerprint"] for entry in report}) == len(FINDINGS)


def test_reviewdog_reads_its_report_with_columns_in_bytes() -> None:
    report = json.loads(render_report(RESULT, "rdjson"))
    jsonschema.validate(report, json.loads((FIXTURES / "rdjson.schema.json").read_text()))
    moved = FINDINGS[1]._replace(location=where("jobs/bert.yaml", 7, 22, 25))
    (one,) = json.loads(
        render_report(CheckResult([moved], CLEAN.summary, RESULT.redacted_texts, []), "rdjson")
    )["diagnostics"]
    assert one["location"]["range"]["start"]["column"] == 26  # two characters of three bytes come before


@pytest.mark.parametrize("result", [RESULT, CLEAN], ids=["findings", "clean"])
def test_junit_reads_its_report(result: CheckResult) -> None:
    text = render_report(result, "junit")
    xmlschema.XMLSchema(str(FIXTURES / "junit.xsd")).validate(text)
    tree = ElementTree.fromstring(text)
    assert (
        len(tree.findall(".//failure"))
        == int(tree.attrib["failures"])
        == len([found for found in result.findings if found.severity])
    )


def test_json_fulfils_the_schema_that_is_shipped() -> None:
    jsonschema.validate(json.loads(render_report(RESULT, "json")), build_schema("Findings", DEFAULT_VERSION))
    lines = [json.loads(line) for line in render_report(RESULT, "jsonl").splitlines()]
    whole = json.loads(render_report(RESULT, "json"))
    assert [line["finding"] for line in lines[:-1]] == whole["findings"]
    assert lines[-1] == {"format": 1, "summary": whole["summary"]}


def test_schemas_of_reports_list_each_basis_of_a_policy_and_of_a_declared_kind() -> None:
    policy, findings, diff = (build_schema(name, DEFAULT_VERSION) for name in ("Policy", "Findings", "Diff"))
    bases = {*policy["properties"]["basis"]["enum"], "declared"}
    assert set(findings["$defs"]["finding"]["properties"]["basis"]["enum"]) == bases
    reasons = diff["$defs"]["job"]["properties"]["reasons"]
    assert set(reasons["items"]["properties"]["basis"]["enum"]) == bases


def test_markdown_stays_below_the_limit_of_a_comment_and_counts_the_rest() -> None:
    long = FINDINGS[0]._replace(message="x" * 5_000)
    many = CheckResult([long] * 300 + [FINDINGS[4]] * 300, RESULT.summary, {}, [])
    text = render_report(many, "markdown")
    assert len(text) <= 65_000
    assert re.search(r"[0-9]+ more have no room here", text)


def test_markdown_has_no_markup_of_strangers() -> None:
    text = render_report(RESULT, "markdown")
    assert "<script" not in text
    assert "<b>" not in text
    assert "@all" not in text
    assert all(row.count("|") == 5 for row in text.splitlines() if row.startswith("| "))


def test_markdown_mentions_and_links_nothing_once_its_references_are_read() -> None:
    """GitHub reads ``&#64;`` before it looks for mentions, so that alone keeps none away."""
    hostile = "@org/team a@b.example GH #12 GH-1 (gh-23) (https://a.example) www.a.example WWW.a.example"
    read = html.unescape(escape_markdown(hostile))
    assert not re.search(r"[@#]\w|\bGH-\d|://|www\.", read, re.IGNORECASE)
    assert read.replace("\u200b", "") == hostile


def test_argocd_gets_few_short_lines_with_errors_first() -> None:
    many = CheckResult([FINDINGS[2]] * 5 + [FINDINGS[0]] * 15, RESULT.summary, {}, [])
    lines = render_report(many, "argocd").splitlines()
    assert len(lines) == 12
    assert all(len(line) <= 240 for line in lines)
    assert lines[1].startswith("error")
    assert lines[-1].startswith("and 10 more")


# --- frames


@given(st.text(max_size=300), st.integers(1, 300), st.integers(0, 100), st.integers(20, 120))
def test_a_frame_fits_its_width_and_marks_its_place(line: str, column: int, length: int, width: int) -> None:
    line = escape_text(line)
    column = min(column, len(line) + 1)
    text, below = code_frame.underline_location(where("f", 1, column, column + length), line, width, "^")
    assert code_frame.count_columns(text) <= width
    assert len(below) <= width
    marked = line[column - 1 : column - 1 + length]
    if marked.isascii() and line.isascii() and code_frame.ELLIPSIS not in text and marked:
        assert text[len(below) - len(below.strip()) :].startswith(marked[: len(below.strip())])


@given(st.text())
def test_visible_text_is_one_line_that_can_be_written(text: str) -> None:
    assert len(escape_text(text).splitlines()) <= 1
    escape_text(text).encode()


@pytest.mark.parametrize(
    ("color", "environment", "colours"),
    [
        ("auto", {}, False),
        ("always", {"NO_COLOR": "1"}, True),
        ("never", {"FORCE_COLOR": "1"}, False),
        ("auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, True),
        ("auto", {"FORCE_COLOR": "0"}, False),
    ],
)
def test_colours_are_asked_for(color: str, environment: dict[str, str], colours: bool) -> None:
    assert select_style(color, environment).colour is colours
