"""What findings quote of a command line or a field may be a secret: then it is stars, whoever says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from podplan.cli.reports import FORMATS
from podplan.core.findings import Edit, Fix, Location, Related
from podplan.lint.finding_redaction import redact_finding
from podplan.redaction.redactor import Redactor
from tests.command import podplan
from tests.editor import Editor
from tests.sample_findings import FINDINGS

LINE = "torchrun --nproc_per_node=$DB_PASSWORD x.py"
CR = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJob
metadata: {name: train, namespace: nlp}
spec:
  replicaSpecs:
  - type: worker
    replicas: 1
    template:
      spec:
        containers:
        - name: pytorch
          image: a:1
          env: [{name: DB_PASSWORD, value: HUNTER}]
          command: [bash, -c, "LINE"]
""".replace("LINE", LINE)
PROFILE = f"""\
apiVersion: podplan/v1
kind: JobProfile
metadata: {{name: train}}
spec:
  job: PyTorchTrainingJob
  image: a:1
  resources: {{limits: {{cpu: 1, memory: 1Gi}}}}
  run: {{exec: [bash, -c, "{LINE}"]}}
"""
ENV = "  env: {DB_PASSWORD: HUNTER}\n"
BASE = "apiVersion: podplan/v1\nkind: JobProfileBase\nspec:\n"
OWN = """\
id: ORG001
name: told
severity: error
basis: documented
summary: What a policy is told of a container, it tells.
why: It may come from anywhere.
scope: {level: lowered, kinds: [Pod]}
cel:
  validations:
  - expression: "false"
    messageExpression: object.spec.containers[0].env.filter(e, e.name == 'DB_PASSWORD')[0].value
message: "{message}"
help: "look at {message}"
examples:
- {name: none, verdict: bad, object: {apiVersion: v1, kind: Pod}}
"""


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("text", [CR, PROFILE + ENV], ids=("cr", "profile"))
def test_no_report_quotes_what_a_shell_makes_of_a_secret(folder: Path, text: str, format_: str) -> None:
    (folder / "job.yaml").write_text(text)
    run = podplan("check", "--format", format_, "job.yaml", cwd=folder)
    assert "TORCH001" in run.out
    assert "HUNTER" not in run.out + run.err
    if format_ == "full":
        assert 'cpu, xpu, not "***"' in run.out


@pytest.mark.parametrize("rules", [(), ("--ignore", "PROF107"), ("--select", "TORCH001")], ids=str)
@pytest.mark.parametrize(
    "value", ["HUNTER", "'HUNTER catches prey'", "'a31415926'", "HUNTER" + 600 * "x", 'HUNTER"é'], ids=len
)
def test_no_rule_and_no_form_of_the_value_lets_it_out(
    folder: Path, value: str, rules: tuple[str, ...]
) -> None:
    (folder / "job.yaml").write_text(CR.replace("HUNTER", value))
    out = podplan("check", *rules, "--format", "json", "job.yaml", cwd=folder).out
    said = [one for one in json.loads(out)["findings"] if one["rule"] == "TORCH001"]
    assert [one["message"].rpartition(", not ")[2].strip('aé…"') for one in said] == ["***"]
    assert "HUNTER" not in out
    assert "31415926" not in out


@pytest.mark.parametrize(
    ("base", "own"),
    [("HUNTER", ""), ("'31415'", ""), ("HUNTER", "  environments: {dev: {env: {DB_PASSWORD: HUNTERDEV}}}\n")],
    ids=("word", "number", "environment"),
)
def test_the_secret_of_a_base_and_of_one_environment(folder: Path, base: str, own: str) -> None:
    (folder / "base.yaml").write_text(f"{BASE}  env: {{DB_PASSWORD: {base}}}\n")
    (folder / "job.yaml").write_text(PROFILE.replace("node=$", "node=a$") + "  extends: [base.yaml]\n" + own)
    out = podplan("check", "--format", "json", "job.yaml", cwd=folder).out
    assert 'not \\"a***\\"' in out
    assert "HUNTER" not in out
    assert "31415" not in out


def test_a_policy_of_ones_own_cannot_repeat_it(folder: Path) -> None:
    (folder / "podplan.toml").write_text('policies = ["rules"]\n')
    (folder / "rules").mkdir()
    (folder / "rules" / "own.yaml").write_text(OWN)
    (folder / "job.yaml").write_text(PROFILE + ENV)
    out = podplan("check", "--format", "json", "job.yaml", cwd=folder).out
    assert "ORG001" in out, out
    assert "HUNTER" not in out


def test_an_editor_is_not_told(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(CR)
    with Editor(tmp_path) as editor:
        editor.start()
        editor.open("job.yaml")
        said = json.dumps(editor.diagnostics("job.yaml"))
        editor.end()
    assert "TORCH001" in said
    assert "HUNTER" not in said


def test_all_that_a_finding_says_is_without_it() -> None:
    place = Location("a", 1, 1, 1, 2, ())
    found = FINDINGS[0]._replace(
        message="it is HUNTER",
        help="HUNT… is it",
        related=(Related(place, "HUNTER is here"),),
        fix=Fix(
            "write HUNTER", True, (Edit("a", 1, 1, 1, 2, 0, 1, "HUNTER"),), refusal_reason="HUNTER is hers"
        ),
    )
    clean = redact_finding(found, Redactor(["HUNTER"]))
    assert clean.fix is not None
    assert (clean.message, clean.help) == ("it is ***", "***… is it")
    assert [one.message for one in clean.related] == ["*** is here"]
    assert (clean.fix.title, clean.fix.refusal_reason, clean.fix.contains_secret) == (
        "write ***",
        "*** is hers",
        True,
    )
    other = found.fix._replace(edits=(), title="a", refusal_reason="") if found.fix is not None else None
    assert redact_finding(found._replace(fix=other), Redactor(["HUNTER"])).fix == other
