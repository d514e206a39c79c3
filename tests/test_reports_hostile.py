"""Reports of real runs over what is secret, hostile or huge: nothing gets out, and every format agrees."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from podplan.cli.reporting import FORMATS
from tests.golden import FIXTURES, podplan

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
    said = podplan("check", "--diff", ".")
    assert said.code == 1
    assert "+    slotsPerWorker: 8" in said.out
    assert "+          - {name: DB_PASSWORD, value: **********}" in said.out
    assert "secret.yaml would change; its lines are not shown" in said.err
    assert "7117" not in said.out + said.err
    assert "hunter2" not in said.out + said.err


def test_what_is_secret_is_mended_all_the_same(folder: Path) -> None:
    assert podplan("check", "--fix-only", ".").code == 0
    assert (
        'stringData: {password: "71177118", pin: "0771177", yes: "7117.7"}'
        in (folder / "secret.yaml").read_text()
    )
    mended = JOB.replace("slotPer", "slotsPer").replace("71177118", '"71177118"')
    assert (folder / "job.yaml").read_text() == mended.replace('          - {name: RANK, value: "1"}\n', "")
