"""Reports of real runs over what is secret, hostile or huge: nothing gets out, and every format agrees."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from time import process_time
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from podplan.checker.check import CheckResult
from podplan.cli.reports import FORMATS, render_report
from podplan.core.findings import Edit, Fix
from podplan.report import rdjson
from podplan.report.fixes import preview_fix
from tests.command import podplan as command
from tests.golden_cases import FIXTURES, podplan
from tests.sample_findings import FINDINGS, RESULT, where
from tests.thoroughness import mark_others

LEAST = 0.2  # seconds: less cannot be told from nothing
SECRET = """\
apiVersion: v1
kind: Secret
metadata: {name: a, labels: {x: 71177}}
type: opaque
stringData: {password: 71177118, pin: 0771177, yes: 7117.7}
data: {k: "71177 is no base64"}
"""
JOB = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: DeepSpeedJob
metadata: {name: x}
spec:
  config:
    slotPerWorker: 8
    run: {python: [train.py]}
  worker:
    replicas: 2
    template:
      spec:
        containers:
        - name: main
          image: a:1
          env:
          - {name: API_TOKEN, value: "hunter2hunter2"}
          - {name: DB_PASSWORD, value: 71177118}
          - {name: RANK, value: "1"}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "secret.yaml").write_text(SECRET)
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "both.yaml").write_text(f"{JOB}---\n{SECRET}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.usefixtures("folder")
def test_no_report_shows_a_secret_nor_what_a_fix_makes_of_it(format_: str) -> None:
    said = podplan("check", "--preset", "audit", "--format", format_, ".")
    assert said.code == 1
    assert "SCHEMA002" in said.out
    assert "7117" not in said.out + said.err
    assert "hunter2" not in said.out + said.err


def test_sarif_names_an_object_once_that_is_written_as_it_is(folder: Path) -> None:
    pod = folder / "pod.yaml"
    pod.write_text("apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {container: []}\n")
    report = json.loads(podplan("check", "--format", "sarif", "pod.yaml").out)
    jsonschema.validate(report, json.loads((FIXTURES / "reports" / "sarif-2.1.0.schema.json").read_text()))
    assert report["runs"][0]["results"]


@pytest.mark.usefixtures("folder")
def test_a_fix_that_is_not_secret_is_shown() -> None:
    whole = json.loads(podplan("check", "--format", "json", ".").out)["findings"]
    assert {found["file"] for found in whole if found["fix"]} == {"job.yaml"}


@pytest.mark.usefixtures("folder")
def test_the_difference_of_fixes_shows_no_secret() -> None:
    said = podplan("check", "--diff", "--unsafe-fixes", ".")
    assert said.code == 1
    assert "+    slotsPerWorker: 8" in said.out
    assert "+          - {name: DB_PASSWORD, value: **********}" in said.out
    assert "secret.yaml would change; its lines are not shown" in said.err
    assert "7117" not in said.out + said.err
    assert "hunter2" not in said.out + said.err


def test_what_is_secret_is_mended_all_the_same(folder: Path) -> None:
    assert podplan("check", "--fix-only", "--unsafe-fixes", ".").code == 0
    assert (
        'stringData: {password: "71177118", pin: "0771177", yes: "7117.7"}'
        in (folder / "secret.yaml").read_text()
    )
    mended = JOB.replace("slotPer", "slotsPer").replace("71177118", '"71177118"')
    assert (folder / "job.yaml").read_text() == mended.replace('          - {name: RANK, value: "1"}\n', "")


# --- names and texts that a reader of a report would take for something else

NAMES = (
    b"::error file=a,line=1::owned.yaml",
    b"a\n::error::owned.yaml",
    b"##[error]owned.yaml",
    b"]]><failure.yaml",
    b"a|b`c`.yaml",
    b"\x1b[2J.yaml",
    "\u202egnp.yaml".encode(),
    b"half \xff of a name.yaml",
    b"%0A::error::.yaml",
    b"<script>@all.yaml",
)
HOSTILE = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: GenericJob
metadata: {name: "\\e[31m::error::##[error]]]>|`\\u202E", labels: {"\\nx: ::error::y": 1}}
spec:
  "::error::\\n\\e[2J]]>|`##[error]": 1
  replicaSpecs: [{type: "<script>@all", "##[group]": 1, template: {spec: {containers: [{name: "a|b"}]}}}]
"""
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]")


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    for name in NAMES:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name)).write_text(HOSTILE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.usefixtures("hostile")
def test_hostile_names_and_texts_stay_text(format_: str) -> None:
    done = command("check", "--preset", "audit", "--format", format_, ".")
    assert done.code == 1
    assert done.err == ""
    lines = done.out.splitlines()
    if format_ == "jsonl":
        assert all(json.loads(line) for line in lines)
    elif format_ in ("json", "sarif", "gitlab", "rdjson"):
        assert json.loads(done.out)
    elif format_ == "junit":
        assert ElementTree.fromstring(done.out).findall(".//failure")
    else:
        assert not OBEYED.search(done.out)
    if format_ == "github":
        assert all(line.startswith(("::error file=", "::warning ", "::notice ")) for line in lines[:-1])
        assert "##[" not in done.out
    elif format_ != "argocd":
        assert len(lines) > len(NAMES)


@pytest.mark.usefixtures("hostile")
def test_the_exit_code_is_the_same_in_all_formats() -> None:
    for flags, code in (((), 1), (("--exit-zero",), 0), (("--fail-on", "never"), 0), (("--select", "X"), 2)):
        codes = {podplan("check", *flags, "--format", format_, ".").code for format_ in FORMATS}
        assert codes == {code}


@pytest.mark.long
def test_ten_thousand_findings_at_wide_lines_are_told_at_once() -> None:
    narrow, wide = many_at(10_000), many_at(300_000)
    for format_ in FORMATS:
        assert taken(wide, format_) < 4 * max(taken(narrow, format_), LEAST), format_


def many_at(width: int) -> CheckResult:
    """10,000 findings, each second one far to the right in a line of so many characters."""
    text = {"a.yaml": "k: " + "你" * width + "\n" + "x\n" * width}
    far = width * 2 // 3
    found = [
        FINDINGS[1]._replace(location=where("a.yaml", 1 + index % 2 * index, far * (1 - index % 2) + 1, 9))
        for index in range(10_000)
    ]
    return CheckResult(found, RESULT.summary, text, found)


def taken(result: CheckResult, format_: str) -> float:
    begun = process_time()
    render_report(result, format_)
    return process_time() - begun


class Line(str):
    """A line that counts how many of its characters are copied."""

    copied = 0

    def __getitem__(self, key: Any) -> str:
        part = str.__getitem__(self, key)
        self.copied += len(part)
        return part


def test_of_a_line_of_megabytes_a_fix_shows_what_there_is_room_for() -> None:
    line = Line("a" * 1_000_000)
    edit = Edit("a.yaml", 1, 500_001, 1, 500_003, 500_000, 500_002, "-X-")
    old, new = preview_fix(Fix("", True, (edit,)), {"a.yaml": [line]}, 80)
    assert (old.sign, old.line_number, new.sign, new.line_number) == ("-", 1, "+", 1)
    assert new.line[new.offset : new.offset + 3] == "-X-"
    assert min(len(old.line), len(new.line)) > 80
    assert line.copied < 2_000


def test_wide_lines_are_measured_once_each() -> None:
    lines = [f"{number}: {'你' * 5_000}" for number in range(50)]
    rdjson._compute_stride_offsets.cache_clear()
    for _ in range(3):
        for line in lines:
            rdjson._convert_to_byte_column([line], 1, 4_000)
    assert rdjson._compute_stride_offsets.cache_info().misses == len(lines)


@pytest.mark.parametrize("format_", mark_others(FORMATS, every=4))
def test_a_value_of_a_megabyte_is_not_told_whole(
    format_: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("job.yaml").write_text(JOB.replace("image: a:1", f"image: {'a' * 1_000_000}"))
    said = podplan("check", "--preset", "audit", "--format", format_, "job.yaml")
    assert said.code == 1
    assert len(said.out) < 100_000


@pytest.mark.parametrize("format_", sorted({*FORMATS} - {"json", "jsonl"}))
def test_what_is_made_for_people_has_no_sentence_of_megabytes(format_: str) -> None:
    long = "a" * 1_000_000
    related = tuple(one._replace(message=long) for one in FINDINGS[0].related)
    found = [FINDINGS[0]._replace(message=long, help=long, related=related)]
    assert (
        len(render_report(CheckResult(found, RESULT.summary, RESULT.redacted_texts, found), format_))
        < 100_000
    )
