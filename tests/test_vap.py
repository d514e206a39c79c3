"""Policies in CEL: ours, those of a ValidatingAdmissionPolicy, and ours as one."""

from __future__ import annotations

import copy
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from podplan.checker.check import check_sources
from podplan.core.findings import Diagnostic, Finding, Severity, to_json_pointer
from podplan.core.provenance import TracedDocument
from podplan.kubernetes.label_selectors import matches_selector
from podplan.lint.admission_policy import find_export_obstacle
from podplan.lint.checks.by_cel import evaluate_cel_policy
from podplan.lint.policy import Policy, PolicyError, parse_policy
from podplan.lint.target import LoweredJob, Target
from podplan.lint.vap_export import export_vap
from podplan.lint.vap_import import ImportedPolicies, import_vap, is_admission_document
from podplan.pipeline import PipelineSettings
from podplan.workspace.documents import classify_documents
from podplan.workspace.loader import Loader
from podplan.yaml import parse_yaml
from podplan.yaml.writer import emit_documents

FOLDER = Path(__file__).parent.parent / "fixtures/cel/admission"

JOB = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: GenericJob
metadata:
  name: train
  namespace: vision
  labels: {team: vision}
spec:
  replicaSpecs:
    - type: worker
      replicas: 8
      template:
        spec:
          restartPolicy: Never
          containers:
            - name: main
              image: registry.example.com/train:1.0
              resources: {limits: {memory: 32Gi}}
"""


def docs(text: str, file: str = "policy.yaml") -> list[TracedDocument]:
    source = parse_yaml(text.encode(), file)
    assert not source.diagnostics
    return [item.doc for item in classify_documents(source)]


def admission(*names: str, change: tuple[str, str] = ("", "")) -> ImportedPolicies:
    text = "---\n".join((FOLDER / f"{name}.yaml").read_text("utf-8") for name in names)
    assert change[0] in text
    return import_vap(docs(text.replace(*change)))


def found(policies: tuple[Policy, ...], text: str = JOB) -> list[Finding]:
    return check_sources(
        [parse_yaml(text.encode(), "job.yaml")], PipelineSettings(policies=policies), Loader()
    ).findings


def told(findings: list[Finding]) -> list[tuple[str, str, str, int]]:
    return [(one.rule, str(one.severity), one.message, one.location.line) for one in findings]


def test_a_policy_on_pods_is_reported_at_the_line_of_the_job() -> None:
    read_in = admission("memory")
    assert [(one.doc and str(one.doc.name), one.rule) for one in read_in.diagnostics] == [
        ("policy.yaml", "POLICY003")
    ]
    assert told(found(read_in.policies)) == [
        ("VAP:memory-limits", "error", "at most 16Gi of memory", 15),
    ]
    without = JOB.replace("memory: 32Gi", "cpu: 1")
    assert told(found(read_in.policies, without)) == [
        ("VAP:memory-limits", "error", "every container needs a memory limit", 15),
    ]
    assert found(read_in.policies, JOB.replace("32Gi", "16Gi")) == []


def test_a_policy_on_training_jobs_with_a_selector_warns() -> None:
    policies = admission("replicas").policies
    message = "a job of the vision team has at most 4 replicas"
    assert told(found(policies)) == [("VAP:few-replicas", "warning", message, 9)]
    assert found(policies, JOB.replace("team: vision", "team: speech")) == []
    assert found(policies, JOB.replace("replicas: 8", "replicas: 4")) == []


def test_match_conditions_and_namespaces_leave_jobs_out() -> None:
    policies = admission("memory").policies
    assert found(policies, JOB.replace("name: train\n", "name: system-train\n")) == []
    assert found(policies, JOB.replace("namespace: vision", "namespace: kube-system")) == []


@pytest.mark.parametrize(
    ("name", "change", "rule", "path", "words"),
    [
        (
            "memory",
            ("name: memory, parameter", "name: other, parameter"),
            "POLICY001",
            "/spec/paramRef",
            "no ConfigMap",
        ),
        (
            "memory",
            ("policyName: memory-limits", "policyName: other"),
            "POLICY001",
            "/spec/policyName",
            '"other"',
        ),
        (
            "memory",
            ("expression: object.spec.cont", "expression: objekt.spec.cont"),
            "POLICY001",
            "/spec/variables/1/expression",
            '"objekt.spec.containers" is neither',
        ),
        (
            "memory",
            ("variables.most)", "variables.more)"),
            "POLICY001",
            "/spec/validations/1/expression",
            'no variable "more" is defined before this expression (line 2, column',
        ),
        ("memory", ("[Deny, Audit]", "[Deny, Warn]"), "POLICY001", "/spec/validationActions", ""),
        (
            "memory",
            ("failurePolicy: Fail", "failurePolice: Fail"),
            "POLICY001",
            "/spec/failurePolice",
            "failurePolicy",
        ),
        (
            "memory",
            ("resources: [pods]", "resources: [deployments]"),
            "POLICY002",
            "/spec/matchConstraints",
            "neither",
        ),
        (
            "memory",
            ("operations: [CREATE, UPDATE]", "operations: [DELETE]"),
            "POLICY002",
            "/spec/matchConstraints",
            "neither",
        ),
        (
            "memory",
            ("kubernetes.io/metadata.name", "env"),
            "POLICY003",
            "/spec/matchConstraints/namespaceSelector",
            '"env"',
        ),
        (
            "replicas",
            ("kind: ValidatingAdmissionPolicyBinding", "kind: Other"),
            "POLICY002",
            "/metadata/name",
            "nothing enforces",
        ),
        (
            "replicas",
            (
                "k8s.io/v1beta1\nkind: ValidatingAdmissionPolicy\n",
                "k8s.io/v1alpha1\nkind: ValidatingAdmissionPolicy\n",
            ),
            "POLICY001",
            "/apiVersion",
            "v1alpha1",
        ),
    ],
)
def test_what_is_wrong_with_a_policy_has_its_place(
    name: str, change: tuple[str, str], rule: str, path: str, words: str
) -> None:
    problems = admission(name, change=change).diagnostics
    assert any(
        problem.rule == rule and to_json_pointer(problem.path) == path and words in problem.message
        for problem in problems
    ), problems


def test_a_policy_with_a_fault_is_not_applied() -> None:
    change = ("variables.most)", "variables.more)")
    assert admission("memory", change=change).policies == ()


def failure(one: Policy, doc: TracedDocument) -> tuple[Diagnostic, ...]:
    with pytest.raises(PolicyError) as failed:
        list(evaluate_cel_policy(one, Target(doc, LoweredJob(doc, ()), data=doc.data)))
    return failed.value.diagnostics


def test_an_expression_that_fails_is_an_error_at_its_place_in_the_policy() -> None:
    (one,) = admission("replicas", change=("r.?replicas.orValue(1)", "r.replicas")).policies
    (job,) = docs(JOB.replace("      replicas: 8\n", ""), "job.yaml")
    (problem,) = failure(one, job)
    assert problem.rule == "POLICY001"
    assert problem.path == ("spec", "validations", 0, "expression")
    assert problem.message == (
        'the expression cannot be evaluated on a GenericJob: there is no "replicas" here; '
        "ask with has() or .? first"
    )
    ignoring = one._replace(body={**one.body, "failurePolicy": "Ignore"})
    assert failure(ignoring, job)[0].rule == "POLICY004"


def ours(**changes: Any) -> Policy:
    data = {
        "id": "ORG001",
        "name": "pinned-images",
        "severity": "error",
        "basis": "documented",
        "summary": "An image is pinned by its digest.",
        "scope": {"level": "lowered", "kinds": ["Pod"]},
        "cel": {
            "variables": [{"name": "containers", "expression": "object.spec.containers"}],
            "matchConditions": [{"name": "mine", "expression": "object.metadata.namespace == 'vision'"}],
            "validations": [
                {
                    "expression": "variables.containers.all(c, c.image.contains('@sha256:'))",
                    "message": "an image has no digest",
                    "path": "/spec/containers/0/image",
                },
                {
                    "expression": "size(variables.containers) < 1",
                    "messageExpression": "string(size(variables.containers)) + ' container'",
                },
            ],
        },
        "message": "{message}",
    }
    return parse_policy({**data, **changes}, "ORG001.yaml")


def test_a_policy_of_ours_names_the_path() -> None:
    assert told(found((ours(),))) == [
        ("ORG001", "error", "1 container", 15),
        ("ORG001", "error", "an image has no digest", 16),
    ]


def test_a_policy_of_ours_looks_at_each_container() -> None:
    one = ours(
        scope={"level": "lowered", "kinds": ["Pod"], "containers": "all"},
        cel={"validations": [{"expression": "object.image.contains('@sha256:')", "message": "no digest"}]},
    )
    assert told(found((one,))) == [("ORG001", "error", "no digest", 16)]


def test_of_equal_replicas_the_last_is_looked_at_too() -> None:
    one = ours(
        cel={"validations": [{"expression": "!object.metadata.name.endsWith('7')", "message": "seven"}]}
    )
    assert [message for _, _, message, _ in told(found((one,)))] == ["seven"]


def test_without_a_path_the_fields_that_exist_decide() -> None:
    expression = "object.kind == 'Job' && object.spec.x.y == 1 || object.metadata.labels.team == 'speech'"
    one = ours(scope={"level": "cr"}, cel={"validations": [{"expression": expression, "message": "no"}]})
    assert told(found((one,))) == [("ORG001", "error", "no", 6)]


def test_what_only_a_live_server_knows_is_said() -> None:
    (pod,) = docs("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n")
    one = ours(cel={"validations": [{"expression": "request.userInfo.username == 'admin'"}]})
    assert failure(one, pod)[0].message.endswith("request.userInfo is known only to a live API server")


def test_a_secret_never_reaches_a_message() -> None:
    (secret,) = docs("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {k: hunter2}\n")
    one = ours(
        scope={"level": "lowered", "kinds": ["Secret"]},
        cel={
            "validations": [
                {"expression": "object.stringData.k == ''", "messageExpression": "object.stringData.k"}
            ]
        },
    )
    (hit,) = evaluate_cel_policy(one, Target(secret, LoweredJob(None, ()), data=secret.data))
    assert hit.values == {"message": "failed expression: object.stringData.k == ''"}


EXPORTED = (
    ours(),
    ours(
        id="ORG002",
        severity="warning",
        scope={"level": "cr", "kinds": ["GenericJob"]},
        cel={"validations": [{"expression": "object.spec.replicaSpecs.size() > 1", "message": "one role"}]},
    ),
    ours(
        id="ORG003",
        severity="info",
        scope={"level": "lowered", "containers": "every"},
        cel={
            "matchConditions": [{"name": "limited", "expression": "has(object.resources)"}],
            "validations": [{"expression": "'object' in object.resources", "message": "odd"}],
        },
    ),
    ours(id="ORG004", scope={"level": "cr"}, cel={"validations": [{"expression": "has(object.spec)"}]}),
)
JOBS = (
    JOB,
    JOB.replace("vision", "speech"),
    JOB.replace(":1.0", "@sha256:" + "0" * 64),
    JOB.replace("              resources: {limits: {memory: 32Gi}}\n", ""),
)


@pytest.mark.parametrize("one", EXPORTED, ids=lambda one: str(one.rule.code))
def test_an_exported_policy_says_the_same_when_it_is_read_back(one: Policy) -> None:
    written = emit_documents(export_vap([one]))
    back = import_vap(docs(written))
    assert back.diagnostics == ()
    for job in JOBS:
        before, after = found((one,), job), found(back.policies, job)
        assert [(x.severity, x.message) for x in before] == [(x.severity, x.message) for x in after]
    assert {x.rule.code for x in back.policies} == {f"VAP:podplan-{one.rule.code.lower()}"}


def test_every_kind_of_verdict_was_among_them() -> None:
    assert {str(x.severity) for one in EXPORTED for x in found((one,))} == {"error", "warning", "info"}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"scope": {"level": "profile"}}, "never sees"),
        ({"scope": {"level": "lowered", "containers": "training"}}, "which container trains"),
        ({"scope": {"level": "lowered", "containers": "all"}}, "variables"),
        ({"params": {"most": 3}}, "params"),
        ({"scope": {"level": "cr", "kinds": ["WorkflowRun"]}}, "kinds"),
    ],
)
def test_what_cannot_be_exported_says_why(changes: dict[str, Any], words: str) -> None:
    assert words in find_export_obstacle(ours(**changes))
    assert export_vap([ours(**changes)]) == []


def test_what_is_exported_is_read_by_kubectl_as_by_us(tmp_path: Path) -> None:
    """Offline kubectl can decode and no more; where it is not installed, our own reader stands in for it."""
    exported, text = export_vap(EXPORTED), emit_documents(export_vap(EXPORTED))
    (tmp_path / "kustomization.yaml").write_text("resources: [policies.yaml]\n")
    (tmp_path / "policies.yaml").write_text(text)
    if shutil.which("kubectl"):
        command = ["kubectl", "kustomize", str(tmp_path)]
        text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert _sorted([doc.data for doc in docs(text)]) == _sorted(exported)


def _sorted(objects: list[Any]) -> list[str]:
    return sorted(json.dumps(one, sort_keys=True) for one in objects)


def test_selectors() -> None:
    labels = {"a": "1"}
    assert matches_selector({}, labels)
    assert matches_selector({"matchLabels": {"a": "1"}}, labels)
    assert not matches_selector({"matchLabels": {"b": "1"}}, labels)
    for operator, values, key, expected in (
        ("In", ["1"], "a", True),
        ("In", ["2"], "a", False),
        ("NotIn", ["1"], "a", False),
        ("NotIn", ["1"], "b", True),
        ("Exists", [], "a", True),
        ("DoesNotExist", [], "a", False),
    ):
        one = {"key": key, "operator": operator, "values": values}
        assert matches_selector({"matchExpressions": [one]}, labels) is expected, one


def test_other_documents_are_no_policies() -> None:
    assert not any(is_admission_document(doc.data) for doc in docs(JOB))
    assert import_vap(docs(JOB)) == ((), {}, ())


def test_reading_changes_nothing() -> None:
    before = docs((FOLDER / "memory.yaml").read_text("utf-8"))
    data = copy.deepcopy([doc.data for doc in before])
    found(import_vap(before).policies)
    assert [doc.data for doc in before] == data
    assert max(x.rule.severity for x in import_vap(before).policies) == Severity.ERROR
