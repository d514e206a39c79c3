"""Policies that an organisation brings: found where the configuration says, applied, and faulty ones told."""

from __future__ import annotations

from pathlib import Path

import pytest

from podplan.lint.registry import load_builtin_policies
from podplan.schema import validate_against
from tests.command import podplan

JOB = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: DeepSpeedJob
metadata: {name: gpt}
spec:
  config: {slotsPerWorker: 8, run: {python: [train.py]}}
  worker:
    template:
      spec:
        containers:
        - name: worker
          image: registry.example.com/nlp/deepspeed:0.15.4
          resources: {limits: {nvidia.com/gpu: 8, memory: 64Gi}}
"""
OWN = """\
id: ORG001
name: team-label
severity: error
basis: documented
summary: Every job says which team it belongs to.
why: Costs are charged to teams; a job without a team is charged to everybody.
scope: {level: cr}
schema: {properties: {metadata: {required: [labels], properties: {labels: {required: [team]}}}}}
message: the job has no label team
examples:
- {name: none, verdict: bad, object: {apiVersion: v1, kind: Pod}}
"""
ADMISSION = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: gpu-bound}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  validations:
  - expression: >-
      object.spec.containers.all(c, int(c.?resources.?limits[?'nvidia.com/gpu'].orValue('0')) <= 4)
    message: at most four GPUs in a container
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: gpu-bound}
spec: {policyName: gpu-bound, validationActions: [Deny]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "rules").mkdir()
    (tmp_path / "job.yaml").write_text(JOB)
    (tmp_path / "podplan.toml").write_text('policies = ["rules"]\n')
    (tmp_path / "rules" / "own.yaml").write_text(OWN)
    return tmp_path


def lines(folder: Path, *flags: str) -> list[str]:
    """What the policies of the organisation say, and what is said of them."""
    said = podplan("check", "--format", "concise", *flags, "job.yaml", cwd=folder).out.splitlines()
    return [line for line in said if any(code in line for code in (" ORG", " VAP:", " POLICY"))]


def test_a_policy_of_our_form(folder: Path) -> None:
    assert lines(folder) == ["job.yaml:3:11: error ORG001 the job has no label team"]


def test_an_admission_policy_as_it_is(folder: Path) -> None:
    (folder / "rules" / "gpus.yaml").write_text(ADMISSION)
    assert "job.yaml:10:11: error VAP:gpu-bound at most four GPUs in a container" in lines(folder)
    assert not any("VAP" in line for line in lines(folder, "--ignore", "VAP:gpu-bound"))


SCHEMA = next(line for line in OWN.splitlines() if line.startswith("schema:"))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("severity: error", "severity: grave", "own.yaml:3:11: error POLICY001 severity must be"),
        ("ORG001", "RES001", 'own.yaml:1:5: error POLICY001 id "RES001" is that of another policy'),
        (SCHEMA, "check: run-this", 'own.yaml:8:8: error POLICY001 there is no check "run-this"'),
        (
            SCHEMA,
            'cel: {validations: [{expression: "object.("}]}',
            "error POLICY001 the expression cannot be evaluated",
        ),
    ],
)
def test_a_faulty_policy_is_an_error_with_its_place(folder: Path, old: str, new: str, said: str) -> None:
    (folder / "rules" / "own.yaml").write_text(OWN.replace(old, new))
    assert any(said in line for line in lines(folder)), lines(folder)


def test_a_faulty_policy_is_named_where_its_code_means_no_rule(folder: Path) -> None:
    (folder / "rules" / "own.yaml").write_text(OWN.replace("severity: error", "severity: grave"))
    (folder / "podplan.toml").write_text('policies = ["rules"]\nselect = ["ORG"]\n')
    run = podplan("check", "job.yaml", cwd=folder)
    assert run.code == 2
    assert run.err.startswith('podplan: podplan.toml:2: select: no rule has the code, prefix or name "ORG"')
    assert "\nthe policy at rules/own.yaml:3 is left out: severity must be" in run.err


def test_a_fault_is_said_once_for_many_jobs(folder: Path) -> None:
    (folder / "job.yaml").write_text(JOB + "---\n" + JOB.replace("name: gpt", "name: two"))
    (folder / "rules" / "own.yaml").write_text(OWN.replace("severity: error", "severity: grave"))
    assert sum("POLICY001" in line for line in lines(folder)) == 1


def test_nothing_outside_the_repository_is_read(folder: Path) -> None:
    (folder / "podplan.toml").write_text('policies = ["../elsewhere"]\n')
    assert podplan("check", "job.yaml", cwd=folder).code == 2


def test_a_policy_that_does_not_say_what_it_is_is_an_error(folder: Path) -> None:
    (folder / "rules" / "own.yaml").write_text(OWN.replace("id: ORG001\n", ""))
    assert any('POLICY001 required field "id" is missing' in line for line in lines(folder))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rule: all jobs have owners\n", "POLICY001 this is no policy: it has neither an id, nor"),
        ("- 1\n", "POLICY001 this is no policy"),
        (
            ADMISSION.replace("k8s.io/v1", "k8s.io"),
            'POLICY001 apiVersion "admissionregistration.k8s.io" is not',
        ),
        (ADMISSION.replace("kind: Val", "kind: Vali"), 'did you mean "ValidatingAdmissionPolicy"?'),
        ("apiVersion: v1\nkind: List\nitems: []\n", "POLICY001 a list of objects is not read here"),
    ],
)
def test_no_document_in_a_folder_of_policies_is_passed_over(folder: Path, text: str, said: str) -> None:
    (folder / "rules" / "more.yaml").write_text(text)
    assert any(said in line for line in lines(folder)), lines(folder)


CHECKED = OWN.replace("scope: {level: cr}\n", "scope: {level: job}\n").replace(
    SCHEMA, "check: child-name-too-long\nparams: {suffix: 6, most: 9}"
)


def test_a_check_of_podplan_with_other_params(folder: Path) -> None:
    (folder / "rules" / "own.yaml").write_text(
        CHECKED.replace("the job has no label team", "'{name} is long'")
    )
    assert lines(folder) == ["job.yaml:3:18: error ORG001 gpt-worker-0 is long"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("suffix: 6", "suffix: six", "suffix must be an integer, not a string"),
        ("suffix: 6", "sufix: 6", 'unknown field "sufix"; did you mean "suffix"?'),
        ("params: {suffix: 6, most: 9}", "params: {}", 'required field "suffix" is missing'),
        ("level: job", "level: lowered", "is for the level job, not for lowered"),
        ("level: job", "level: job, containers: all", "wants no containers in the scope"),
        ("child-name-too-long", "no-gang", 'the check "no-gang" has no params'),
        ("no label team", "{nope}", "{nope} stands for nothing; this check gives {consequence}"),
        ("child-name-too-long\nparams: {suffix: 6, most: 9}", "gang-over-quota", "write needs: [inventory]"),
        (
            "level: job}\ncheck: child-name-too-long\nparams: {suffix: 6, most: 9}",
            "level: cr}\ncheck: ssh-arguments\nparams: {certain: true}",
            "is about these kinds only: ColossalAIJob, DeepSpeedJob",
        ),
    ],
)
def test_the_params_of_a_check_are_typed(folder: Path, old: str, new: str, said: str) -> None:
    assert old in CHECKED
    (folder / "rules" / "own.yaml").write_text(CHECKED.replace(old, new))
    assert any(f"POLICY001 {said}" in line or said in line for line in lines(folder)), lines(folder)


TWICE = CHECKED.replace("{level: job}", "{level: set}").replace(
    "child-name-too-long\nparams: {suffix: 6, most: 9}", "duplicate-job"
)


@pytest.mark.parametrize(
    ("own", "says", "gives"),
    [
        (TWICE, "message", "this check gives {first}, {job}, {namespace}"),
        (TWICE, "help", "this check gives {first}, {job}, {namespace}"),
        (
            CHECKED.replace("child-name-too-long\nparams: {suffix: 6, most: 9}", "no-gang").replace(
                "level: job", "level: job, traits: {needs: [t9k-scheduler]}"
            ),
            "message",
            "{pods}",
        ),
        (OWN.replace("{level: cr}", "{level: set}"), "message", "a policy with schema gives {value}"),
        (OWN.replace("{level: cr}", "{level: set}"), "helpFor", "a policy with schema gives {value}"),
        (OWN, "fix", "a policy with schema gives {value}"),
    ],
)
def test_a_placeholder_that_nothing_fills_is_told_whatever_the_jobs_are(
    folder: Path, own: str, says: str, gives: str
) -> None:
    lines_of_own = [line for line in own.splitlines() if not line.startswith(f"{says}:")]
    text = {"helpFor": '{DeepSpeedJob: "of {nope}"}', "fix": '{title: "of {nope}"}'}.get(says, '"of {nope}"')
    (folder / "rules" / "own.yaml").write_text("\n".join([*lines_of_own, f"{says}: {text}"]))
    said = lines(folder)
    assert len(said) == 1, said
    assert f"own.yaml:{len(lines_of_own) + 1}:" in said[0]
    assert "POLICY001 {nope} stands for nothing; " in said[0]
    assert gives in said[0]


def test_a_policy_about_all_jobs_fills_its_message(folder: Path) -> None:
    (folder / "rules" / "own.yaml").write_text(
        TWICE.replace("the job has no label team", '"{job} is twice in {namespace}"')
    )
    (folder / "job.yaml").write_text(f"{JOB}---\n{JOB}")
    assert any("ORG001 DeepSpeedJob/gpt is twice in " in line for line in lines(folder)), lines(folder)


def test_our_own_policies_give_their_checks_what_these_take() -> None:
    policies = [policy for policy in load_builtin_policies() if policy.evaluator == "check"]
    assert not [one.rule.code for one in policies if validate_against("Checks", {one.body: dict(one.params)})]


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ("{propertis: {}}", 'unknown keyword "propertis"; did you mean "properties"?'),
        ("{type: 5}", "POLICY001 the schema cannot be used"),
        ('{$ref: "https://example.com/a.json"}', '"https://example.com/a.json" is not in this schema'),
        ('{$ref: "file:///etc/hosts"}', '"file:///etc/hosts" is not in this schema'),
        ('{items: {pattern: "(?=a)"}}', "POLICY001 the schema cannot be used"),
    ],
)
def test_a_schema_that_would_pass_everything_or_fetch_something(folder: Path, schema: str, said: str) -> None:
    (folder / "rules" / "own.yaml").write_text(OWN.replace(SCHEMA, f"schema: {schema}"))
    assert any(said in line for line in lines(folder)), lines(folder)


@pytest.mark.parametrize(
    "evaluator",
    [
        'schema: {properties: {spec: {maxProperties: 0}}}\nmessage: "there is {value}"',
        'cel: {validations: [{expression: "false", messageExpression: '
        '"object.spec.containers[0].env[0].value"}]}\nmessage: "{message}"',
    ],
)
def test_what_is_secret_is_not_in_the_message_of_a_policy(folder: Path, evaluator: str) -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: ["
    pod += "{env: [{value: hf_abcdefghijkl, name: HF_TOKEN}], name: a, image: 'a:1'}]}\n"
    (folder / "job.yaml").write_text(pod)
    own = OWN.replace("message: the job has no label team", evaluator).replace(SCHEMA + "\n", "")
    (folder / "rules" / "own.yaml").write_text(own.replace("{level: cr}", "{level: lowered, kinds: [Pod]}"))
    assert any("ORG001" in line and "***" in line for line in lines(folder)), lines(folder)
    assert not any("hf_abc" in line for line in lines(folder))


def test_own_policies_are_listed_and_explained(folder: Path) -> None:
    (folder / "rules" / "gpus.yaml").write_text(ADMISSION)
    listed = podplan("rules", cwd=folder).out.splitlines()
    assert [line.split()[0] for line in listed if "ORG" in line or "VAP" in line] == [
        "ORG001",
        "VAP:gpu-bound",
    ]
    assert "ORG001" not in podplan("rules", "--isolated", cwd=folder).out
    assert "a job without a team is charged to everybody" in podplan("explain", "ORG001", cwd=folder).out
    assert "rules/gpus.yaml" in podplan("explain", "VAP:gpu-bound", cwd=folder).out
    assert 'no rule "ORG002"' in podplan("explain", "ORG002", cwd=folder).err


@pytest.mark.parametrize(
    ("level", "config", "severity"),
    [
        ("privileged", "", "info"),
        ("privileged", 'pss = "baseline"', "error"),
        ("privileged", 'severity = {SEC002 = "warning"}', "warning"),
        ("baseline", "", "error"),
        ("null", "", "error"),
    ],
)
def test_a_privileged_namespace_refuses_nothing(folder: Path, level: str, config: str, severity: str) -> None:
    inventory = "apiVersion: podplan/v1\nkind: ClusterInventory\nmetadata: {name: a}\n"
    (folder / "inventory.yaml").write_text(
        f"{inventory}spec: {{namespaces: {{nlp: {{podSecurity: {level}}}}}}}\n"
    )
    job = JOB.replace("{name: gpt}", "{name: gpt, namespace: nlp}")
    (folder / "job.yaml").write_text(job + "          securityContext: {privileged: true}\n")
    (folder / "podplan.toml").write_text(f"{config}\n")
    said = podplan(
        "check", "--format", "concise", "-v", "--inventory", "inventory.yaml", "job.yaml", cwd=folder
    ).out
    assert f": {severity} SEC002 " in said


@pytest.mark.parametrize("text", [None, "", "# nothing yet\n"])
def test_a_folder_without_a_policy_is_a_wrong_configuration(folder: Path, text: str | None) -> None:
    (folder / "rules" / "own.yaml").unlink()
    if text is not None:
        (folder / "rules" / "own.yaml").write_text(text)
    run = podplan("check", "job.yaml", cwd=folder)
    assert run.code == 2
    assert 'podplan.toml:1: policies: there is no policy in "rules"' in run.err


def test_policies_in_a_folder_that_is_checked_are_not_counted_as_unchecked(folder: Path) -> None:
    (folder / "rules" / "gpus.yaml").write_text(ADMISSION)
    assert "ValidatingAdmissionPolicy" not in podplan("check", "--ignore", "SEC", ".", cwd=folder).out
    assert "1 × no apiVersion" in podplan("check", "--isolated", "rules/own.yaml", cwd=folder).out
    assert "no apiVersion" not in podplan("check", "--ignore", "SEC", ".", cwd=folder).out
