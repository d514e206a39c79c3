"""What commands say to people: names and texts of strangers move no cursor, and no workflow obeys them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from podplan.cli import output
from podplan.core.errors import UsageError
from podplan.report.sanitization import escape_text, escape_workflow_commands
from tests.command import JOB, podplan
from tests.github_runner import parsed

PROFILE = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {name: a}
spec:
  job: GenericJob
  image:   "##[add-mask]a:1"  # \u202e gnp \u2028# x
  run:
    - |
      ::error::x
      ##[add-mask]x
  roles: [{role: worker,   replicas: 1}]
"""
NAMES = ("::error ::a.yaml", "a\n::error ::b.yaml", "##[group].yaml", "\x1b[31m.yaml", "a\r::error ::c.yaml")
HEARD = "x\\n::error ::y ##[group]z\\u001b[31m"
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u202a-\u202e\u2028\ud800-\udfff]")


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    for name in NAMES:
        (tmp_path / name).write_text(PROFILE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "--format", "full"),
        ("check", "--format", "concise"),
        ("check", "--fix", "--diff"),
        ("fmt", "--check"),
        ("fmt", "--diff"),
        ("migrate", "--check"),
        ("migrate", "--diff"),
        ("render", "--check", "-o", "::error ::out"),
        ("lower",),
        ("test", "--coverage"),
        ("why", NAMES[0], "spec.replicaSpecs[0].template.spec.containers[0].args"),
        ("why", NAMES[1], "metadata.name"),
        ("import", NAMES[1]),
        ("status", NAMES[1]),
        ("baseline", "create"),
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("hostile")
def test_names_and_texts_stay_text(arguments: tuple[str, ...]) -> None:
    _harmless(*arguments)


@pytest.mark.parametrize("key", ["inventory", "extend", "baseline", "select", "policies", "exclude"])
def test_settings_stay_text(hostile: Path, key: str) -> None:
    value = f'"{HEARD}"' if key in ("inventory", "extend", "baseline") else f'["{HEARD}"]'
    (hostile / "podplan.toml").write_text(f"{key} = {value}\n")
    _harmless("check", "--format", "concise")


def test_a_baseline_stays_text(hostile: Path) -> None:
    podplan("baseline", "create")
    kept = json.loads((hostile / "podplan-baseline.json").read_text())
    for one in kept["findings"]:
        one["message"] = one["file"] = json.loads(f'"{HEARD}"')
    (hostile / "podplan-baseline.json").write_text(json.dumps(kept))
    _harmless("baseline", "show")


OWN_POLICY = f"""\
id: ORG001
name: team-label
severity: error
basis: documented
summary: "{HEARD}"
why: "{HEARD}"
scope: {{level: cr}}
schema: {{properties: {{metadata: {{required: [labels]}}}}}}
message: "{HEARD}"
help: "{HEARD}"
examples:
- {{name: "{HEARD}", verdict: bad, object: {{apiVersion: "{HEARD}", kind: Pod}}}}
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ("rules",),
        ("explain", "ORG001", "--examples"),
        ("check", "--show-settings"),
        ("test",),
    ],
    ids=" ".join,
)
def test_policies_of_the_repository_stay_text(hostile: Path, arguments: tuple[str, ...]) -> None:
    (hostile / "rules").mkdir()
    (hostile / "rules" / "own.yaml").write_text(OWN_POLICY)
    (hostile / "job.yaml").write_text(JOB)
    (hostile / "podplan.toml").write_text(f'policies = ["rules"]\nexclude = ["{HEARD}"]\n')
    _harmless(*arguments)


def test_one_rule_is_one_line(hostile: Path) -> None:
    rows = len(podplan("rules").out.splitlines())
    test_policies_of_the_repository_stay_text(hostile, ("rules",))
    said = podplan("rules").out
    assert len(said.splitlines()) == rows + 1
    assert "x\\n::error ::y ## [group]z\\x1b[31m" in said
    listed = json.loads(podplan("rules", "--format", "json").out)["rules"]
    assert json.loads(f'"{HEARD}"') in [row["summary"] for row in listed]


def _harmless(*arguments: str) -> None:
    run = podplan(*arguments)
    assert run.out + run.err
    for said in (run.out, run.err):
        assert not list(parsed(said)), said
        assert not OBEYED.search(said), said


@pytest.mark.parametrize("name", ["\x1b[2J.yaml", "a\nb.yaml"])
def test_a_file_in_the_wrong_form_is_named_in_one_line(hostile: Path, name: str) -> None:
    (hostile / name).write_text(PROFILE)
    run = podplan("fmt", "--check", name)
    assert run.out == f"would reformat {escape_text(name)}\n"


def test_a_line_of_a_difference_ends_where_patch_ends_it(hostile: Path) -> None:
    (hostile / "a.yaml").write_text(PROFILE)
    said = podplan("fmt", "--diff", "a.yaml").out
    assert "\\u202e gnp \\u2028# x\n" in said
    assert "No newline" not in said


@pytest.mark.parametrize("mark", ["\u00ad", "\u180e", "\ufff9", "\U000e0041"])
def test_what_cannot_be_seen_is_written_out(mark: str) -> None:
    assert escape_text(f"a{mark}b") == f"a{mark.encode('unicode_escape').decode()}b"


def test_what_a_report_needs_is_left_as_it_is() -> None:
    said = "  ::: a.yaml:1:2\n  -- a::b\n# [x]"
    assert escape_workflow_commands(said) is said


HIDDEN = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {name: a}
spec:
  job: GenericJob
  image:   a:1
  env: {DB_PASSWORD: hunter2hunter2, A: b}
  roles: [{role: worker,   replicas: 1, env: {API_TOKEN: hunter2hunter2}, run: [a]}]
"""
OLD = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: GenericJob
metadata: {name: a}
spec:
  runPolicy:
    cleanUpPolicy: all
  replicaSpecs:
  - type: worker
    replicas: 2
    template:
      spec:
        containers:
        - name: main
          env: [{name: DB_PASSWORD, value: hunter2hunter2}]
          image: busybox:1.36
          commands: [sleep, "60"]
"""


@pytest.mark.parametrize(("command", "text"), [("fmt", HIDDEN), ("migrate", OLD)])
def test_a_difference_has_stars_for_values_of_secret_variables(
    tmp_path: Path, command: str, text: str
) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "a.yaml").write_text(text)
    run = podplan(command, "--diff", "a.yaml", cwd=tmp_path)
    assert run.out.count("**************") >= 1
    assert "hunter2" not in run.out + run.err


def test_no_device_is_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root, ``--output json=/dev/stdout`` into a file would else make a file of that link."""
    devices = tmp_path / "dev"
    devices.mkdir()
    (tmp_path / "redirected").write_text("")
    (devices / "stdout").symlink_to(tmp_path / "redirected")
    monkeypatch.setattr(output, "DEVICES_FOLDER", str(devices))
    with pytest.raises(UsageError, match="holds devices"):
        output.replace_file(str(devices / "stdout"), "{}")
    assert [entry.name for entry in devices.iterdir()] == ["stdout"]
    assert (devices / "stdout").is_symlink()
