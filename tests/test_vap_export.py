"""What a policy demands of the API server is what it says in check: the export is read back and compared."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from podplan.core.findings import Severity
from podplan.kinds.registry import find_kind, load_spec
from podplan.kubernetes import DEFAULT_VERSION
from podplan.lint.admission_variables import ADMISSION_VARIABLES
from podplan.lint.cel.rules import CelRules, Validation
from podplan.lint.cel.sandbox import evaluate_rules
from podplan.lint.custom_policies import load_custom_policies
from podplan.lint.policy import Policy
from podplan.lint.registry import load_builtin_policies, load_policy_documents
from podplan.lint.vap_export import export_vap, find_export_obstacles
from podplan.lint.vap_import import build_rule_code as read_back
from podplan.tools.repository_tests.examples import find_violations, fix_example
from podplan.yaml.writer import emit_documents
from tests.command import podplan
from tests.rows import each_row

RULES = {policy.rule.code: policy for policy in load_builtin_policies()}
EXPORTED = [code for code, reason in find_export_obstacles(load_builtin_policies()).items() if not reason]
EXAMPLES = {
    data["id"]: [one for one in data["examples"] if "object" in one] for data in load_policy_documents()
}
OWNER = "tensorstack.dev/owner-kind"


@pytest.fixture(scope="module")
def twins(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Policy]:
    """The policies of the export as those of an organisation, by the code of the rule that they come from."""
    folder = tmp_path_factory.mktemp("exported")
    (folder / ".git").mkdir()
    (folder / "podplan.yaml").write_text(
        emit_documents(export_vap(load_builtin_policies())), encoding="utf-8"
    )
    found = load_custom_policies([str(folder)], ())
    assert [problem.message for problem in found.diagnostics] == []
    by_name = {policy.rule.code: policy for policy in found.policies}
    return {code: by_name[read_back(f"podplan-{code.lower()}")] for code in EXPORTED}


def of_a_job(example: dict[str, Any]) -> dict[str, Any]:
    """An example whose Pod, written by hand, has the label of a job: the export is about no others."""
    thing = example["object"]
    if thing["kind"] != "Pod":
        return example
    metadata = thing["metadata"]
    labels = {**metadata.get("labels", {}), OWNER: "GenericJob"}
    return {**example, "object": {**thing, "metadata": {**metadata, "labels": labels}}}


def fired(example: dict[str, Any], policies: list[Policy]) -> set[str]:
    found = {one.rule for one in find_violations(example, policies)}
    assert not {one for one in found if one.startswith("POLICY")}
    return found & {policy.rule.code for policy in policies}


def is_exported(code: str, example: dict[str, Any]) -> bool:
    """Whether the exported form of a rule is about the kind of an example."""
    admission, thing = RULES[code].admission, example.get("object", {})
    kind = find_kind(thing.get("apiVersion"), thing.get("kind", ""))
    needs = admission.get("needs", ()) if isinstance(admission, dict) else ()
    return not needs or (kind is not None and load_spec(kind).traits.issuperset(needs))


# What a rule finds but its exported form does not: names of the last replica, memory volumes not at /dev/shm,
# the port of an sshd that a command starts.
ONLY_IN_RULES = {
    "NET001": "workers of the MPI operator at the port of the node's sshd",
    "NAME001": "the eleventh replica of a kind without a suffix",
    "RES002": "a disk in memory for the data",
}


@pytest.mark.long
@each_row("code", EXPORTED)
def test_the_twin_refuses_the_bad_examples_and_no_others(code: str, twins: dict[str, Policy]) -> None:
    for example in (one for one in EXAMPLES[code] if is_exported(code, one)):
        bad = example["verdict"] == "bad" and example["name"] != ONLY_IN_RULES.get(code)
        assert bool(fired(of_a_job(example), [twins[code]])) is bad, example["name"]
        if "mended" in example:
            assert not fired(of_a_job(fix_example(example)), [twins[code]]), f"{example['name']}, mended"


# Groups of jobs whose Pods have no label of a job, and owner references only in a cluster.
UNLABELLED_GROUPS = ("kubeflow.org/", "batch/v1", "jobset.x-k8s.io/", "ray.io/")


@pytest.mark.long
@each_row("code", EXAMPLES)
def test_the_twins_say_of_other_examples_what_the_rules_say(code: str, twins: dict[str, Policy]) -> None:
    for example in map(of_a_job, EXAMPLES[code][:1]):
        thing = example["object"]
        if thing.get("kind") == "BeamJob" or str(thing.get("apiVersion", "")).startswith(UNLABELLED_GROUPS):
            continue
        found = fired(example, [*(RULES[one] for one in EXPORTED), *twins.values()])
        by_rule = found & RULES.keys()
        assert found - by_rule == {twins[one].rule.code for one in by_rule}, example["name"]


def objects(kind: str, version: str = DEFAULT_VERSION) -> dict[str, Any]:
    """The exported objects of a kind, by the code of their rule."""
    found = export_vap(load_builtin_policies(), version)
    return {one["metadata"]["name"][8:].upper(): one for one in found if one["kind"] == kind}


def test_the_command_writes_the_policies_with_their_bindings() -> None:
    written = list(yaml.safe_load_all(podplan("rules", "--export", "vap").out))
    assert written == export_vap(load_builtin_policies())
    assert list(objects("ValidatingAdmissionPolicy")) == EXPORTED
    assert list(objects("ValidatingAdmissionPolicyBinding")) == EXPORTED


def test_every_policy_is_exported_or_says_why_not() -> None:
    said = find_export_obstacles(load_builtin_policies())
    assert [code for code, reason in said.items() if reason == "it is not written in CEL"] == []
    listed = {row["code"]: row for row in json.loads(podplan("rules", "--format", "json").out)["rules"]}
    assert {code: listed[code]["notExported"] or "" for code in said} == said
    assert [code for code, row in listed.items() if row["exported"]] == EXPORTED
    lines = {line[:10].strip(): line[10] for line in podplan("rules").out.splitlines()}
    assert [code for code, mark in lines.items() if mark == "*"] == EXPORTED


def test_params_of_a_rule_have_no_second_place() -> None:
    """A number or name of the rule stands in its admission section as a placeholder."""
    repeated = {
        (policy.rule.code, name)
        for policy in load_builtin_policies()
        if isinstance(policy.admission, dict) and policy.params and policy.body != "pod-security"
        for name in policy.params
        if f"{{{name}}}" not in str(policy.admission)
    }
    # A boolean of the check; and a shorter pattern for the same names, because CEL counts its characters.
    assert repeated == {("SSH001", "others"), ("SSH001", "names"), ("SSH005", "names")}
    assert not [one for one in export_vap(load_builtin_policies()) if "{percent}" in str(one)]


@pytest.mark.parametrize("code", ["SSH001", "SSH005"])
def test_the_shorter_pattern_is_for_the_same_names(code: str) -> None:
    [policy] = [policy for policy in load_builtin_policies() if policy.rule.code == code]
    assert isinstance(policy.admission, dict)
    [pattern] = set(re.findall(r"'\^\((NCCL_\.\*[^']*)\)\$'", str(policy.admission)))
    schemes = ("http", "https", "no", "all", "ftp")
    proxies = (f"{scheme}_proxy" for scheme in schemes)
    upper_proxies = (f"{scheme.upper()}_PROXY" for scheme in schemes)
    names = ["NCCL_.*", "PYTHONPATH", "HF_.*", *proxies, *upper_proxies, "LD_.*"]
    assert sorted(policy.params["names"].split("|")) == sorted(names)
    assert all(re.fullmatch(pattern, name.replace(".*", "X")) for name in names)


def test_what_is_done_follows_the_severity() -> None:
    bindings, policies = objects("ValidatingAdmissionPolicyBinding"), objects("ValidatingAdmissionPolicy")
    actions = {Severity.ERROR: ["Deny"], Severity.WARNING: ["Warn"], Severity.INFO: ["Audit"]}
    for code in EXPORTED:
        severity = RULES[code].rule.severity
        assert bindings[code]["spec"]["validationActions"] == actions[severity]
        failing = "Fail" if severity is Severity.ERROR else "Ignore"
        assert policies[code]["spec"]["failurePolicy"] == failing


def test_a_policy_is_about_the_resources_of_its_rule_alone() -> None:
    policies = objects("ValidatingAdmissionPolicy")
    rules = {code: one["spec"]["matchConstraints"]["resourceRules"] for code, one in policies.items()}
    assert [rule["resources"] for rule in rules["LIFE002"]] == [["pytorchtrainingjobs", "deepspeedjobs"]]
    assert [rule["resources"] for rule in rules["SEC002"]] == [["pods", "pods/ephemeralcontainers"]]
    assert [rule["resources"] for rule in rules["RES004"]] == [["pods"]]
    assert all(rule["operations"] == ["CREATE", "UPDATE"] for listed in rules.values() for rule in listed)


def conditions_of(code: str, **bindings: Any) -> bool:
    """Whether the match conditions of an exported policy let an object through to its validations."""
    spec = objects("ValidatingAdmissionPolicy")[code]["spec"]
    asked = CelRules(tuple(Validation(one["expression"]) for one in spec["matchConditions"]))
    verdict = evaluate_rules(asked, bindings)
    assert not verdict.errors
    return not verdict.failures


POD: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "train"}]}}


@pytest.mark.parametrize(
    ("metadata", "looked_at"),
    [
        ({"name": "train", "labels": {OWNER: "DeepSpeedJob"}}, True),
        ({"name": "train", "labels": {OWNER: "Notebook"}}, False),
        ({"name": "train", "ownerReferences": [{"apiVersion": "batch.tensorstack.dev/v1beta1"}]}, True),
        ({"name": "train", "ownerReferences": [{"apiVersion": "batch/v1"}]}, False),
        ({"name": "train"}, False),
    ],
)
def test_only_pods_of_jobs_are_looked_at(metadata: dict[str, Any], looked_at: bool) -> None:
    assert conditions_of("SEC002", object={**POD, "metadata": metadata}) is looked_at


def test_an_update_that_leaves_the_spec_alone_is_let_through() -> None:
    before = {**POD, "metadata": {"name": "train", "labels": {OWNER: "GenericJob"}}}
    after = {**before, "metadata": {**before["metadata"], "finalizers": []}}
    assert conditions_of("SEC002", object=before)
    assert not conditions_of("SEC002", object=after, oldObject=before)
    changed = {**after, "spec": {**POD["spec"], "hostNetwork": True}}
    assert conditions_of("SEC002", object=changed, oldObject=before)


def test_a_paused_job_is_judged_by_the_update_that_resumes_it(
    tmp_path: Path, twins: dict[str, Policy]
) -> None:
    example = next(one for one in EXAMPLES["NET004"] if one["verdict"] == "bad")
    running = example["object"]
    paused = {**running, "spec": {**running["spec"], "runMode": {"pause": {"enabled": True}}}}
    (tmp_path / "job.yaml").write_text(emit_documents([paused]), encoding="utf-8")
    assert "NET004" in podplan("check", "job.yaml", cwd=tmp_path).out
    assert not fired({**example, "object": paused}, [twins["NET004"]])
    assert conditions_of("NET004", object=running, oldObject=paused)
    assert fired(example, [twins["NET004"]])


def test_the_version_of_the_cluster_decides() -> None:
    older, newer = (objects("ValidatingAdmissionPolicy", version) for version in ("1.30", "1.36"))
    assert set(newer) - set(older) == {"SEC006", "SEC019"}
    sysctls = [one["SEC011"]["spec"]["validations"][0]["expression"] for one in (older, newer)]
    assert ["tcp_rmem" in text for text in sysctls] == [False, True]
    assert podplan("rules", "--export", "vap", "--k8s-version", "1.30").out == emit_documents(
        export_vap(load_builtin_policies(), "1.30")
    )
    refused = podplan("rules", "--k8s-version", "1.99")
    assert (refused.code, refused.err) == (
        2,
        "podplan: Kubernetes 1.99 is not known; there are 1.24 to 1.37\n",
    )


def test_no_variable_of_a_policy_hides_a_shared_one() -> None:
    for data in load_policy_documents():
        admission = data.get("admission")
        if isinstance(admission, dict):
            own = {variable["name"] for variable in admission.get("variables", ())}
            assert not own & ADMISSION_VARIABLES[admission["level"]].keys(), data["id"]


def test_what_the_api_server_has_room_for() -> None:
    for code, policy in objects("ValidatingAdmissionPolicy").items():
        spec = policy["spec"]
        for one in (*spec["validations"], *spec.get("variables", ()), *spec["matchConditions"]):
            assert len(one["expression"]) < 1500, code
        for one in spec["validations"]:
            assert "\n" not in one["message"], code
            assert "{" not in one["message"], code


def test_a_message_says_what_is_wrong_and_what_to_write() -> None:
    """kubectl shows it behind "denied request:", where the summary of the rule would read as a statement."""
    for code, policy in objects("ValidatingAdmissionPolicy").items():
        for validation in policy["spec"]["validations"]:
            message = validation["message"]
            assert message != RULES[code].rule.summary, code
            assert len(message) <= 250, code
            wrong, _, remedy = message.partition("; ")
            assert wrong, code
            assert remedy, code
            assert not message.endswith("."), code


def test_objects_carry_a_label_to_select_them_and_the_rule_that_they_come_from() -> None:
    for kind in ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"):
        for code, found in objects(kind).items():
            metadata = found["metadata"]
            assert metadata["labels"] == {"app.kubernetes.io/part-of": "podplan"}
            assert metadata["annotations"]["kubernetes.io/description"].startswith(f"{code} ")


@pytest.mark.long
def test_a_large_job_stays_within_the_bounds(twins: dict[str, Policy]) -> None:
    """As CR and as Pods: two containers with 250 variables each, which is more than anybody has."""
    env = [{"name": f"VARIABLE_{number}", "value": "x" * 40} for number in range(250)]
    containers = [{"name": f"c{number}", "image": "train:1", "env": env} for number in range(2)]
    roles = [{"type": "worker", "replicas": 64, "template": {"spec": {"containers": containers}}}]
    job = {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": "GenericJob", "metadata": {"name": "train"}}
    refused = fired({"object": {**job, "spec": {"replicaSpecs": roles}}}, list(twins.values()))
    assert "VAP:podplan-sec015" in refused
    assert "VAP:podplan-cr008" not in refused
    containers[1]["env"] = [*env[:248], env[0], {"name": "VARIABLE_0", "value": "y"}]
    assert "VAP:podplan-cr008" in fired(
        {"object": {**job, "spec": {"replicaSpecs": roles}}}, [twins["CR008"]]
    )


def with_variables(kind: str, containers: int, env: list[dict[str, str]]) -> dict[str, Any]:
    """A job of one role with ``containers`` that all have the variables."""
    listed = [{"name": f"c{number}", "image": "train:1", "env": env} for number in range(containers)]
    roles = [{"type": "worker", "replicas": 4, "template": {"spec": {"containers": listed}}}]
    job = {"apiVersion": "batch.tensorstack.dev/v1beta1", "kind": kind, "metadata": {"name": "train"}}
    return {"object": {**job, "spec": {"replicaSpecs": roles}}}


def numbered(count: int, prefix: str = "VARIABLE") -> list[dict[str, str]]:
    return [{"name": f"{prefix}_{number:05}", "value": "x"} for number in range(count)]


@pytest.mark.parametrize(
    ("containers", "variables", "refused"),
    [(1, 480, True), (9, 150, True), (9, 240, False), (1, 3000, False)],
)
def test_repeated_variables_are_looked_for_within_the_cost_limit(
    containers: int, variables: int, refused: bool, twins: dict[str, Policy]
) -> None:
    env = [*numbered(variables), {"name": "VARIABLE_00000", "value": "y"}]
    job = with_variables("GenericJob", containers, env)
    assert bool(fired(job, [twins["CR008"]])) is refused
    assert fired(job, [RULES["CR008"]]) == {"CR008"}


@pytest.mark.parametrize(("count", "refused"), [(200, True), (245, False)])
def test_one_variable_again_and_again_stays_within_the_cost_limit(
    count: int, refused: bool, twins: dict[str, Policy]
) -> None:
    env = [{"name": "A", "value": "x"}] * count + [{"name": "A", "value": "y"}]
    assert bool(fired(with_variables("GenericJob", 1, env), [twins["CR008"]])) is refused


@pytest.mark.parametrize(("code", "prefix"), [("SSH001", "VARIABLE"), ("SSH005", "NCCL")])
@pytest.mark.parametrize(
    ("count", "refused"), [(700, True), pytest.param(3000, False, marks=pytest.mark.long)]
)
def test_variables_of_workers_are_looked_for_within_the_cost_limit(
    code: str, prefix: str, count: int, refused: bool, twins: dict[str, Policy]
) -> None:
    known = numbered(count, prefix)
    launcher = {
        "type": "launcher",
        "template": {"spec": {"containers": [{"name": "launcher", "env": known}]}},
    }
    job = with_variables("ColossalAIJob", 1, [*known[:-1], {"name": f"{prefix}_LOST", "value": "x"}])
    job["object"]["spec"]["replicaSpecs"].append(launcher)
    assert bool(fired(job, [twins[code]])) is refused
    assert fired(job, [RULES[code]]) == {code}


@pytest.mark.long
@pytest.mark.parametrize("code", ["SSH001", "SSH005"])
def test_variables_that_deepspeed_drops_are_looked_for_within_the_cost_limit(
    code: str, twins: dict[str, Policy]
) -> None:
    lost = [{"name": "HTTP_PROXY", "value": "x"}, {"name": "WANDB_MODE", "value": "x"}]
    for count, refused in ((1990, True), (3000, False)):
        job = with_variables("DeepSpeedJob", 1, [*numbered(count, "NCCL"), *lost])
        worker = job["object"]["spec"].pop("replicaSpecs")[0]
        del worker["type"]
        run = {"run": {"python": ["train.py"]}}
        job["object"]["spec"] |= {"worker": worker, "disableCustomEnv": True, "config": run}
        assert bool(fired(job, [twins[code]])) is refused


@pytest.mark.parametrize(("count", "refused"), [(200, True), (201, False)])
def test_replica_types_are_compared_within_the_cost_limit(
    count: int, refused: bool, twins: dict[str, Policy]
) -> None:
    job = with_variables("GenericJob", 1, [])
    roles = [{**job["object"]["spec"]["replicaSpecs"][0], "type": f"r{number}"} for number in range(count)]
    job["object"]["spec"]["replicaSpecs"] = [*roles[:-1], roles[0]]
    assert bool(fired(job, [twins["CR012"]])) is refused


KUBECTL = shutil.which("kubectl")

# .ci/run installs kubectl and demands it: there, a missing one is a failure and not one test less.
if KUBECTL or os.environ.get("PODPLAN_REQUIRE_KUBECTL"):

    def test_kubectl_reads_the_export() -> None:
        done = subprocess.run(
            [str(KUBECTL), "label", "--local", "--dry-run=client", "-f", "-", "zz=1", "-o", "json"],
            input=emit_documents(export_vap(load_builtin_policies())),
            capture_output=True,
            text=True,
            check=True,
        )
        decoder, found, rest = json.JSONDecoder(), [], done.stdout.lstrip()
        while rest:
            one, end = decoder.raw_decode(rest)
            found.append(one)
            rest = rest[end:].lstrip()
        assert {one["metadata"]["labels"].pop("zz") for one in found} == {"1"}
        assert found == export_vap(load_builtin_policies())
