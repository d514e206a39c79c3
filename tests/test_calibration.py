"""podplan lower --compare and --adopt: dumps made by hand, and what podplan lowers, served by a cluster."""

from __future__ import annotations

import io
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pytest_regressions.file_regression import FileRegressionFixture

from podplan import kubernetes
from podplan.core.replica_groups import LoweringOptions
from podplan.kinds.registry import lower_cr
from podplan.schema import validate_cr
from podplan.tools.cluster_diff.adoption import find_adoption
from podplan.tools.cluster_diff.observed_job import compute_cluster_diff
from podplan.tools.cluster_diff.server_additions import is_added, is_omitted
from podplan.tools.cluster_diff.uid_suffix import remove_name_suffix
from podplan.yaml import parse_yaml
from podplan.yaml.writer import emit_document
from tests.cluster_objects import dump, served
from tests.command import Run
from tests.golden_cases import FIXTURES, Case, cases, copy, podplan
from tests.lowered_objects import Object, document, written_out
from tests.lowering_changes import CHANGES, WITH, Change
from tests.lowering_jobs import DEEPSPEED, MPI_JOB_V1, PLAIN, UID
from tests.rows import each_row
from tests.strategies import crs
from tests.thoroughness import examples

COMPARED = FIXTURES / "compare"
FOLDERS = sorted(folder for folder in COMPARED.iterdir() if folder.is_dir())
CLEAN, DIFFERENT, WRONG = 0, 1, 2
# What no object in a dump shows: Secrets are not compared.
UNSEEN = {"secret.labels", "ssh.client-config"}
# What a dump shows, but from which the option is not derived.
NOT_PROPOSED = {
    "training-operator.init-template",
    "mpi.launcher-env",
    "mpi.service-selector",
    "mpi.shell",
    "tensorflow.address",
}


def inside(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The CR and the dump of a case in the current folder."""
    for name in ("cr.yaml", "dump.yaml"):
        shutil.copyfile(folder / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)


def compare(*arguments: str) -> Run:
    return podplan("lower", "cr.yaml", "--compare", "dump.yaml", *arguments)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_differences(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_regression: FileRegressionFixture
) -> None:
    inside(folder, tmp_path, monkeypatch)
    said = compare()
    file_regression.check(said.out, fullpath=folder / "differences.txt", encoding="utf-8", newline="")
    assert said.err == ""
    assert said.code == (CLEAN if said.out.startswith("equal: ") else DIFFERENT)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_is_adopted_differs_no_more(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_regression: FileRegressionFixture
) -> None:
    inside(folder, tmp_path, monkeypatch)
    said = compare("--adopt", "--format", "json")
    before = json.loads(said.out)
    assert before["format"] == 1
    assert all(one["basis"] for one in before["differences"] if one["what"] != "extra")
    assert (folder / "differences.txt").read_text().count("  adopted by ") == len(before["differences"])
    left = [one for one in before["differences"] if not one["settings"]]
    assert said.code == (DIFFERENT if left else CLEAN)
    written = Path("podplan.toml")
    assert written.exists() == bool(before["settings"])
    if written.exists():
        text, golden = written.read_text(encoding="utf-8"), folder / "adopted.toml"
        file_regression.check(text, fullpath=golden, encoding="utf-8", newline="")
        assert any(note.startswith("wrote ") for note in before["notes"])
    after = json.loads(compare("--format", "json").out)
    assert [one["path"] for one in after["differences"]] == [one["path"] for one in left]
    assert after["settings"] == {}


def test_there_are_dumps_of_every_kind() -> None:
    kinds = [yaml.safe_load((folder / "cr.yaml").read_text())["kind"] for folder in FOLDERS]
    assert set(kinds) == {"GenericJob", "PyTorchTrainingJob", "DeepSpeedJob", "ColossalAIJob"}
    assert len(FOLDERS) >= 12
    files = {"cr.yaml", "dump.yaml", "differences.txt", "adopted.toml"}
    for folder in FOLDERS:
        assert {path.name for path in folder.iterdir()} <= files
        assert (folder / "cr.yaml").read_text().startswith("# ")


def test_kinds_adopt_for_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one kind adopts changes nothing for another, so one configuration serves a cluster."""
    chosen = ("pytorch_other_labels", "generic_services", "deepspeed_env_file", "colossalai_launcher")
    monkeypatch.chdir(tmp_path)
    Path("podplan.toml").write_text("# our cluster\n")
    for name in chosen:
        for file in ("cr.yaml", "dump.yaml"):
            copy([COMPARED / name / file], COMPARED, tmp_path)
        assert podplan(*_of(name), "--adopt").code == CLEAN
    assert all(podplan(*_of(name)).out.startswith("equal: ") for name in chosen)
    assert Path("podplan.toml").read_text().startswith("# our cluster\n\n[lowering.PyTorchTrainingJob]\n")


def _of(name: str) -> list[str]:
    return ["lower", f"{name}/cr.yaml", "--config", "podplan.toml", "--compare", f"{name}/dump.yaml"]


def test_the_printed_settings_can_be_written_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two groups have an MPIJob, so its bare name is none in the configuration."""
    monkeypatch.chdir(tmp_path)
    Path("cr.yaml").write_text(json.dumps(MPI_JOB_V1))
    Path("there.toml").write_text('[lowering]\ngang-scheduler = "volcano"\n')
    Path("dump.yaml").write_text(podplan("lower", "--config", "there.toml", "cr.yaml").out)
    printed = podplan("lower", "cr.yaml", "--compare", "dump.yaml").out
    table = printed.partition("these settings adopt what is really there:\n")[2].partition("\n\n")[0]
    assert table.splitlines()[0] == '  [lowering."kubeflow.org/v1/MPIJob"]'
    Path("podplan.toml").write_text(table)
    assert podplan("lower", "cr.yaml", "--compare", "dump.yaml").out.startswith("equal: ")


def test_why_names_what_was_adopted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside(COMPARED / "pytorch_other_port", tmp_path, monkeypatch)
    compare("--adopt")
    said = podplan("why", "cr.yaml", "Pod/resnet-worker-1:spec.containers[0].env[MASTER_PORT].value")
    assert "[configured] lowering.PyTorchTrainingJob.pytorch.master-port is 29500; without that" in said.out


def real_of(cr: Object, **options: Any) -> list[Object]:
    """What a cluster would have of a job, were the options true of it."""
    lowered = written_out(lower_cr(document(cr), {}, LoweringOptions(**options))).values()
    return [served(one) for one in lowered if one["kind"] != "Secret"]


@pytest.mark.parametrize("case", list(cases()), ids=lambda case: case.id)
def test_a_prediction_that_is_served_by_a_cluster_is_equal(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy(case.inputs, case.folder, tmp_path)
    monkeypatch.chdir(tmp_path)
    lowered = podplan("lower", *case.arguments, case.input).out
    objects = [document.data for document in parse_yaml(lowered.encode(), "lowered.yaml").documents]
    Path("dump.yaml").write_text(emit_document(dump(objects)), encoding="utf-8")
    said = podplan("lower", *case.arguments, case.input, "--compare", "dump.yaml")
    if said.code == WRONG:
        known = ("name one with --job", "has no name yet", "holds no Pod")  # a suspended job has none
        assert any(text in said.err for text in known)
    else:
        assert (said.code, said.out.partition(":")[0], said.err) == (CLEAN, "equal", "")


@settings(max_examples=examples(40), deadline=None, suppress_health_check=list(HealthCheck))
@given(crs(), st.booleans())
def test_what_is_lowered_and_served_is_equal(cr: Object, has_uid: bool) -> None:
    assume(validate_cr(cr, kubernetes.DEFAULT_VERSION).is_lowerable)
    options = LoweringOptions(uid=UID if has_uid else "")
    found = compute_cluster_diff(document(cr), options, real_of(cr, uid=options.uid))
    assert found.differences == []


@each_row("change", CHANGES, ids=lambda change: change.id)
def test_every_setting_is_found_in_what_it_makes(change: Change) -> None:
    values = {**WITH.get(change.id, {}), change.id: change.value}
    before = compute_cluster_diff(
        document(change.cr), LoweringOptions(), real_of(change.cr, behavior_values=values)
    )
    found = find_adoption(before)
    if change.id in NOT_PROPOSED:
        assert before.differences
        assert found.after.differences
        assert not found.values
        return
    assert found.after.differences == []
    assert bool(before.differences) == bool(found.values) == (change.id not in UNSEEN)
    assert set(found.options_by_difference) == set(range(len(before.differences)))


@settings(max_examples=examples(8), deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.sampled_from(CHANGES), min_size=2, max_size=4, unique_by=lambda change: change.id), st.data()
)
def test_several_settings_leave_less_to_differ(changes: list[Change], data: st.DataObject) -> None:
    """However settings go together, adopting never makes it worse, nor proposes what changes nothing."""
    cr = data.draw(st.sampled_from([change.cr for change in changes]))
    values = {change.id: change.value for change in changes}
    before = compute_cluster_diff(document(cr), LoweringOptions(), real_of(cr, behavior_values=values))
    found = find_adoption(before)
    assert found.after.total_cost <= before.total_cost
    assert bool(found.values) <= bool(before.differences)
    left = {number for number in range(len(before.differences)) if number not in found.options_by_difference}
    assert len(left) <= len(before.differences)


def test_many_replicas_are_tried_on_a_few() -> None:
    cr = {
        **PLAIN,
        "spec": {**PLAIN["spec"], "replicaSpecs": [{**PLAIN["spec"]["replicaSpecs"][0], "replicas": 300}]},
    }
    before = compute_cluster_diff(
        document(cr), LoweringOptions(), real_of(cr, behavior_values={"pytorch.master-port": 1})
    )
    assert len(before.differences) == 300 * (1 + 1 + 2)
    assert find_adoption(before).values == {"pytorch.master-port": 1}


ADDED = [
    ("Pod", ("spec", "nodeName"), "n1", True),
    ("Pod", ("spec", "dnsPolicy"), "ClusterFirst", True),
    ("Pod", ("spec", "dnsPolicy"), "Default", False),
    ("Pod", ("spec", "hostNetwork"), True, False),
    ("Pod", ("spec", "containers", 0, "readinessProbe", "periodSeconds"), 10, True),
    ("Pod", ("spec", "containers", 0, "readinessProbe", "periodSeconds"), 5, False),
    ("Pod", ("spec", "containers", 0, "readinessProbe", "httpGet", "path"), "/", True),
    ("Pod", ("spec", "containers", 0, "readinessProbe", "httpGet", "path"), "/ready", False),
    ("Pod", ("spec", "containers", 0, "lifecycle", "preStop", "httpGet", "scheme"), "HTTP", True),
    ("Pod", ("spec", "containers", 0, "env", 1, "valueFrom", "resourceFieldRef", "divisor"), "0", True),
    ("Pod", ("spec", "ephemeralContainers"), [{"name": "debugger", "image": "busybox"}], True),
    ("Pod", ("spec", "imagePullSecrets"), [{"name": "registry"}], True),
    (
        "Pod",
        ("spec", "volumes", 0, "projected", "sources", 0, "serviceAccountToken", "expirationSeconds"),
        3600,
        True,
    ),
    ("Pod", ("spec", "initContainers", 0, "imagePullPolicy"), "Always", True),
    ("Pod", ("spec", "containers", 0, "securityContext"), {"privileged": True}, False),
    ("Pod", ("metadata", "labels", "app"), "x", False),
    ("Pod", ("metadata", "labels", "topology.kubernetes.io/zone"), "a", True),
    ("Pod", ("metadata", "annotations", "sidecar.istio.io/status"), "{}", True),
    ("Pod", ("metadata", "annotations", "sidecar.istio.io/inject"), "false", False),
    ("Pod", ("metadata", "finalizers"), ["x"], False),
    ("Pod", ("metadata", "uid"), "x", True),
    ("Pod", ("status",), {"phase": "Running"}, True),
    ("Pod", ("spec", "tolerations", 0), {"key": "node.kubernetes.io/x", "tolerationSeconds": 300}, True),
    ("Pod", ("spec", "tolerations", 0), {"key": "nvidia.com/gpu"}, False),
    ("Service", ("spec", "clusterIP"), "10.0.0.1", True),
    ("Service", ("spec", "clusterIP"), "None", False),
    ("Service", ("spec", "type"), "NodePort", False),
    ("ConfigMap", ("data", "x"), "y", False),
    ("ConfigMap", ("immutable",), True, False),
]


@pytest.mark.parametrize(("kind", "path", "value", "added"), ADDED)
def test_what_a_cluster_adds(kind: str, path: tuple[str | int, ...], value: Any, added: bool) -> None:
    assert is_added(kind, path, value, {}) is added


@pytest.mark.parametrize(
    ("path", "value", "omitted"),
    [
        (("spec", "containers", 0, "env", 0, "value"), "", True),
        (("spec", "hostNetwork"), False, True),
        (("spec", "hostNetwork"), True, False),
        (("spec", "automountServiceAccountToken"), False, False),
        (("spec", "containers", 0, "readinessProbe", "initialDelaySeconds"), 0, True),
        (("spec", "terminationGracePeriodSeconds"), 0, False),
    ],
)
def test_what_the_api_server_does_not_store(path: tuple[str | int, ...], value: Any, omitted: bool) -> None:
    assert is_omitted(path, value) is omitted


def test_the_digits_of_an_unknown_uid_are_no_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are of one job alone, so no setting is to hold them."""
    inside(COMPARED / "generic_equal", tmp_path, monkeypatch)
    items = list(yaml.safe_load_all(Path("dump.yaml").read_text()))
    for one in items:
        one["metadata"].pop("ownerReferences", None)
    Path("dump.yaml").write_text(yaml.safe_dump_all(items))
    said = compare()
    assert (said.code, said.out.partition(":")[0], said.err) == (CLEAN, "equal", "")
    assert 'no uid is given, so "' in said.out


def test_digits_that_are_none_are_left_alone() -> None:
    pods = [{"kind": "Pod", "metadata": {"name": name}} for name in ("gpt-12e8d-0", "gpt-decaf-1")]
    assert remove_name_suffix(pods, "gpt") == (pods, "")
    pods = [{"kind": "Pod", "metadata": {"name": name}} for name in ("gpt-12e8d-a-0", "gpt-decaf-a-1")]
    assert remove_name_suffix(pods, "gpt") == (pods, "")


def test_services_of_other_names_are_found_by_their_selector() -> None:
    real = json.loads(json.dumps(real_of(DEEPSPEED)).replace("-worker-", "-w-"))
    before = compute_cluster_diff(document(DEEPSPEED), LoweringOptions(), real)
    assert (before.matches.missing_objects, before.matches.extra_objects) == ([], [])
    found = find_adoption(before)
    assert found.after.differences == []
    assert set(found.values) == {"pod.name", "service.name"}


def test_what_nobody_asked_for_is_not_adopted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dump without Services does not say that there is one for the job."""
    inside(COMPARED / "deepspeed_env_file", tmp_path, monkeypatch)
    items = yaml.safe_load(Path("dump.yaml").read_text())["items"]
    pods = [one for one in items if one["kind"] == "Pod"]
    Path("dump.yaml").write_text(yaml.safe_dump({"kind": "List", "items": pods}))
    said = compare()
    assert "service.per" not in said.out
    assert "no Service of this job at all; is the dump what kubectl get pods,services" in said.out


def test_quantities_are_compared_by_size() -> None:
    real = real_of(DEEPSPEED)
    assert compute_cluster_diff(document(DEEPSPEED), LoweringOptions(), real).differences == []
    cr = {**DEEPSPEED, "spec": json.loads(json.dumps(DEEPSPEED["spec"]))}
    cr["spec"]["worker"]["template"]["spec"]["containers"][0]["resources"] = {
        "limits": {"memory": "1024Mi", "cpu": 1}
    }
    real = real_of(cr)
    for one in real:
        if one["kind"] == "Pod":
            one["spec"]["containers"][0]["resources"] = {
                "limits": {"memory": "1Gi", "cpu": "1"},
                "requests": {"cpu": "1"},
            }
    assert compute_cluster_diff(document(cr), LoweringOptions(), real).differences == []


WRONG_DUMPS = {
    "a: [": "dump.yaml:1: ",
    "": "dump.yaml holds no Pod, Service, ConfigMap or PodGroup; it is to be what kubectl get pods,services",
    "kind: Secret\nmetadata: {name: a}": "dump.yaml holds no Pod",
    "kind: Pod\nmetadata: {name: other-worker-0}\nspec: {containers: [{}]}": (
        "dump.yaml holds nothing of DeepSpeedJob gpt"
    ),
    "- 1": "dump.yaml holds no Pod",
    "kind: Pod\nmetadata: {name: gpt-0, ownerReferences: [{kind: DeepSpeedJob, name: gpt, uid: a}]}\n"
    "spec: {containers: [{}]}\n---\n"
    "kind: Pod\nmetadata: {name: gpt-1, ownerReferences: [{kind: DeepSpeedJob, name: gpt, uid: b}]}\n"
    "spec: {containers: [{}]}": ("dump.yaml holds objects of 2 jobs called gpt: a, b; keep those of one"),
    "kind: Pod\nmetadata: {name: gpt-worker-0, labels: 3, annotations: [x]}\nspec: {containers: 7}": (
        "dump.yaml: Pod/gpt-worker-0 has a labels that no API server gives"
    ),
    "kind: Pod\nmetadata: {name: gpt-worker-0}\nspec: []": "dump.yaml: Pod/gpt-worker-0 has no containers",
    "kind: Service\nmetadata: {name: gpt-worker-0}\nspec: {ports: [3], selector: x}": (
        "dump.yaml: Service/gpt-worker-0 has a ports that no API server gives"
    ),
    "kind: ConfigMap\nmetadata: {name: gpt-config}\ndata: [x]": (
        "dump.yaml: ConfigMap/gpt-config has a data that no API server gives"
    ),
    "kind: Service\nmetadata: {name: gpt-worker-0}\nspec: {ports: null}": "",
    "kind: ConfigMap\nmetadata: {name: gpt-config}\ndata: {x: 1}": "",
    "kind: Pod\nmetadata: {name: gpt-worker-0}\nspec: {containers: [{env: [{value: 1}]}, {}]}": "",
}


@pytest.mark.parametrize("text", WRONG_DUMPS, ids=lambda text: text[:30])
def test_odd_dumps(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside(COMPARED / "deepspeed_env_file", tmp_path, monkeypatch)
    Path("dump.yaml").write_text(text)
    said = compare()
    assert said.code == (WRONG if WRONG_DUMPS[text] else DIFFERENT), said.err
    assert said.err.startswith(f"podplan: {WRONG_DUMPS[text]}" if WRONG_DUMPS[text] else "")


def test_wrong_requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside(COMPARED / "deepspeed_env_file", tmp_path, monkeypatch)
    another = "e2a69076-1c19-46ce-9c70-2cdf20176e01"
    for arguments, message in {
        ("--adopt",): "--adopt and --format go with --compare DUMP or --from DUMP",
        (
            "--compare",
            "none.yaml",
        ): "cannot read none.yaml: no such file or directory; it is to be what kubectl",
        (
            "--compare",
            "dump.yaml",
            "--adopt",
            "--isolated",
        ): "--adopt writes into the configuration, which --isol",
        ("--compare", "dump.yaml", "--uid", another): "dump.yaml is of another gpt, whose uid is 5f1c7a52-",
    }.items():
        said = podplan("lower", "cr.yaml", *arguments)
        assert (said.code, said.out) == (WRONG, "")
        assert said.err.startswith(f"podplan: {message}")


def test_a_dump_from_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside(COMPARED / "generic_equal", tmp_path, monkeypatch)
    stdin = io.TextIOWrapper(io.BytesIO(Path("dump.yaml").read_bytes()))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert podplan("lower", "cr.yaml", "--compare", "-").out.startswith("equal: ")


def test_secrets_are_never_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside(COMPARED / "deepspeed_env_file", tmp_path, monkeypatch)
    with Path("dump.yaml").open("a") as stream:
        stream.write(
            "---\nkind: Secret\nmetadata: {name: gpt-472c7-ssh}\ndata: {ssh-privatekey: aHVudGVyMg==}\n"
        )
    for arguments in ((), ("--format", "json")):
        assert "aHVudGVyMg" not in compare(*arguments).out


def test_a_dump_without_the_job_is_of_a_job_in_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside(COMPARED / "pytorch_torchrun", tmp_path, monkeypatch)
    named = podplan("lower", "cr.yaml", "--compare", "dump.yaml")
    assert podplan("lower", "--compare", "dump.yaml").out == named.out
    Path("cr.yaml").unlink()
    for flag in ("--compare", "--from"):
        missing = podplan("lower", flag, "dump.yaml")
        assert (missing.code, missing.out) == (3, "")
        assert missing.err.endswith(
            "; name the file with the job, or let kubectl print the job too:"
            " kubectl get JOBS,pods,services,configmaps,podgroups -o yaml\n"
        )


def test_a_dump_with_the_job_needs_no_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = FIXTURES / "compare" / "pytorch_torchrun"
    cr, objects = (
        [one.data for one in parse_yaml((folder / name).read_bytes(), name).documents]
        for name in ("cr.yaml", "dump.yaml")
    )
    monkeypatch.chdir(tmp_path)
    items = [entry for one in objects for entry in one.get("items", [one])]
    page = {"apiVersion": "v1", "kind": "List", "items": [*cr, *items]}
    Path("dump.yaml").write_text(emit_document(page), encoding="utf-8")
    Path("cr.yaml").write_text((folder / "cr.yaml").read_text())
    compared, *taken = (
        podplan("lower", *arguments, "--format", "json")
        for arguments in (
            ("cr.yaml", "--compare", "dump.yaml"),
            ("--from", "dump.yaml"),
            ("--from", "dump.yaml", "--job", cr[0]["metadata"]["name"]),
            ("--compare", "dump.yaml"),
        )
    )
    assert compared.code == 1
    for one in taken:
        assert (one.code, json.loads(one.out)["settings"]) == (1, json.loads(compared.out)["settings"])
    missing = podplan("lower", "--compare", "dump.yaml", "--job", "nobody")
    assert missing.err.startswith('podplan: dump.yaml: there is no job "nobody"; there are ')
    missing = podplan("lower", "--from", "dump.yaml", "--job", "nobody")
    assert missing.code == WRONG
    assert missing.err.startswith('podplan: dump.yaml: there is no job "nobody"; there are ')


JOB_SET = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: nightly, namespace: vision, uid: u-set}
spec:
  replicatedJobs:
  - name: worker
    template:
      spec:
        parallelism: 2
        completions: 2
        completionMode: Indexed
        template:
          spec: {restartPolicy: Never, containers: [{name: main, image: "registry.example.com/train:1"}]}
"""


def test_pods_of_jobs_that_the_job_owns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cr.yaml").write_text(JOB_SET)
    lowered = parse_yaml(podplan("lower", "cr.yaml").out.encode(), "lowered.yaml").documents
    items = [parse_yaml(JOB_SET.encode(), "cr.yaml").documents[0].data]
    for number, one in enumerate(one.data for one in lowered):
        metadata = one["metadata"] | {"namespace": "vision"}
        if one["kind"] == "Pod":
            metadata |= {"name": f"{metadata['generateName']}x{number}"}
            metadata |= {"finalizers": ["batch.kubernetes.io/job-tracking"]}
            metadata["labels"] = metadata["labels"] | {"batch.kubernetes.io/controller-uid": "u-job"}
            owner = ("batch/v1", "Job", "nightly-worker-0", "u-job")
        else:
            owner = ("jobset.x-k8s.io/v1alpha2", "JobSet", "nightly", "u-set")
        keys = ("apiVersion", "kind", "name", "uid")
        flags = {"controller": True, "blockOwnerDeletion": True}
        metadata["ownerReferences"] = [dict(zip(keys, owner, strict=True)) | flags]
        items.append(one | {"metadata": metadata})
    page = {"apiVersion": "v1", "kind": "List", "items": items}
    Path("dump.yaml").write_text(emit_document(page), encoding="utf-8")
    for arguments in (("cr.yaml", "--compare", "dump.yaml"), ("--compare", "dump.yaml")):
        compared = podplan("lower", *arguments)
        assert (compared.code, compared.err) == (0, ""), compared.out
    Path("dump.yaml").write_text(Path("dump.yaml").read_text().replace("train:1", "train:2"))
    assert podplan("lower", "--compare", "dump.yaml").code == 0, "the CR in the dump has that image, too"
    differing = podplan("lower", "cr.yaml", "--compare", "dump.yaml").out
    names = [one["metadata"]["name"] for one in items if one["kind"] == "Pod"]
    assert differing.startswith(f"Pod/{names[0]}, {names[1]}  spec.containers[main].image\n")
    assert "train:2" in differing
    page["items"] = [one for one in items if one["metadata"]["name"] != names[1]]
    Path("dump.yaml").write_text(emit_document(page), encoding="utf-8")
    assert podplan("lower", "--compare", "dump.yaml").out.startswith("Pod/nightly-worker-0-1\n  predicted")
