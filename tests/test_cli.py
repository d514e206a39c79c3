"""The command line as a user meets it: exit codes, streams, and what each command writes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import BAD_JOB, ENVIRONMENTS, JOB, PROFILE, podplan
from tests.thoroughness import mark_others


def test_a_clean_file(folder: Path) -> None:
    run = podplan("check", "job.yaml", cwd=folder)
    rules = "13 × rules that need an inventory (podplan rules --needs inventory)"
    assert run == (0, f"no findings in 1 file (1 object, 3 lowered); not checked: {rules}\n", "")


def test_a_path_alone_is_checked(folder: Path) -> None:
    assert podplan("job.yaml", cwd=folder) == podplan("check", "job.yaml", cwd=folder)


def test_findings_are_exit_1_in_every_format(folder: Path) -> None:
    (folder / "job.yaml").write_text(BAD_JOB)
    for format_ in ("full", "concise", "json"):
        assert podplan("check", "--format", format_, ".", cwd=folder).code == 1
    assert podplan("check", "--fail-on", "never", ".", cwd=folder).code == 0
    assert podplan("check", "--exit-zero", ".", cwd=folder).code == 0


def test_json(folder: Path) -> None:
    (folder / "job.yaml").write_text(BAD_JOB)
    report = json.loads(podplan("check", "--format", "json", "job.yaml", cwd=folder).out)
    (found,) = (one for one in report["findings"] if one["rule"] == "SCHEMA001")
    assert report["format"] == 1
    assert (found["rule"], found["file"], found["line"], found["column"]) == ("SCHEMA001", "job.yaml", 8, 5)
    assert (found["endLine"], found["endColumn"]) == (8, 12)
    assert found["path"] == "/spec/replicaSpecs/0/replica"
    assert found["object"] == {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": "GenericJob",
        "name": "count",
        "namespace": None,
    }
    errors = [one for one in report["findings"] if one["severity"] == "error"]
    assert report["summary"]["errors"] == len(errors)


@pytest.mark.parametrize(
    "arguments",
    [
        ("check", "--no-such-flag"),
        ("check", "--format", "xml"),
        ("check", "--k8s-version", "1.3", "job.yaml"),
        ("check", "--set", "nonsense", "job.yaml"),
        ("check", "--config", "missing.toml", "job.yaml"),
        ("schema", "show", "NoSuchSchema"),
        ("lower", "--uid", "not a uid", "job.yaml"),
        ("check", "--uid", "422e8cc7-163f-4d49-9fb8-d059e490a09", "job.yaml"),
        ("why", "job.yaml", "spec.nothing"),
        ("why", "job.yaml", "Pod/nobody:spec"),
        ("check", "--inventory", "job.yaml", "profile.yaml"),
        ("render", "environments.yaml"),
        ("render", "environments.yaml", "-e", "production"),
    ],
)
def test_a_wrong_request_is_exit_2(folder: Path, arguments: tuple[str, ...]) -> None:
    (folder / "profile.yaml").write_text(PROFILE + "  hardware: h100x8\n")
    (folder / "environments.yaml").write_text(ENVIRONMENTS)
    run = podplan(*arguments, cwd=folder)
    assert (run.code, run.out) == (2, "")
    assert run.err.startswith("podplan: ")


@pytest.mark.parametrize("command", ["check", "render", "lower"])
def test_a_path_without_a_file_is_exit_3(folder: Path, command: str) -> None:
    run = podplan(command, "not/there.yaml", cwd=folder)
    assert run == (3, "", "podplan: not/there.yaml: no such file or folder\n")


def test_nothing_to_render_is_exit_3(folder: Path) -> None:
    run = podplan("render", "job.yaml", cwd=folder)
    assert (run.code, run.out) == (3, "")
    assert "nothing to render" in run.err


def test_render_prints_nothing_unless_all_is_well(folder: Path) -> None:
    (folder / "a.yaml").write_text(PROFILE)
    (folder / "b.yaml").write_text(PROFILE.replace("resnet", "bert").replace("replicas: 2", "replicas: two"))
    run = podplan("render", ".", cwd=folder)
    assert (run.code, run.out) == (1, "")
    assert "b.yaml:8:13" in run.err


def test_render_into_a_folder(folder: Path) -> None:
    (folder / "a.yaml").write_text(PROFILE)
    assert podplan("render", "-o", "out", "a.yaml", cwd=folder).code == 0
    written = folder / "out" / "pytorchtrainingjob-resnet.yaml"
    before = (written.read_bytes(), written.stat().st_mtime_ns)
    assert podplan("render", "-o", "out", "a.yaml", cwd=folder).code == 0
    assert (written.read_bytes(), written.stat().st_mtime_ns) == before, (
        "unchanged bytes are not written again"
    )
    assert [path.name for path in (folder / "out").iterdir()] == [written.name]


def test_standard_input(folder: Path) -> None:
    run = podplan(
        "check",
        "-",
        "--stdin-filename",
        "jobs/x.yaml",
        "--format",
        "concise",
        cwd=folder,
        stdin=BAD_JOB.encode(),
    )
    assert run.code == 1
    assert run.out.startswith("jobs/x.yaml:8:5: error SCHEMA001 ")
    assert podplan("lower", "-", cwd=folder, stdin=JOB.encode()) == podplan("lower", "job.yaml", cwd=folder)


def test_lower_writes_every_replica_out_and_fold_does_not(folder: Path) -> None:
    assert podplan("lower", "job.yaml", cwd=folder).out.count("kind: Pod\n") == 3
    folded = podplan("lower", "--fold", "job.yaml", cwd=folder).out
    assert folded.count("kind: Pod\n") == 1
    assert "count-worker-{0..2}" in folded


def test_lower_with_a_uid(folder: Path) -> None:
    (folder / "job.yaml").write_text(JOB.replace("count", "mnist"))
    lowered = podplan("lower", "--uid", "422e8cc7-163f-4d49-9fb8-d059e490a09b", "job.yaml", cwd=folder).out
    assert "name: mnist-12e8d-worker-0\n" in lowered
    assert "uid: " in lowered


def test_why_of_a_lowered_field(folder: Path) -> None:
    run = podplan("why", "job.yaml", "Pod/count-worker-2:spec.containers[main].args[1]", cwd=folder)
    assert run.code == 0
    assert run.out.startswith('Pod/count-worker-2  spec.containers[main].args[1]\n    "2"\n')
    assert "[documented] $(type), $(rank)" in run.out
    assert "job.yaml:14:" in run.out
    steps = json.loads(
        podplan(
            "why", "job.yaml", "Pod/count-worker-2:spec.restartPolicy", "--format", "json", cwd=folder
        ).out
    )["steps"]
    assert steps[0]["fact"]["basis"] == "assumed"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("render resnet.yaml -o job.yaml", "job.yaml is not a folder"),
        ("render resnet.yaml -o job.yaml/below", "job.yaml is not a folder"),
        ("render resnet.yaml -o /proc/x", "cannot write /proc/x/"),
        ("import job.yaml -o resnet.yaml/x", "resnet.yaml is not a folder"),
        ("import job.yaml -o /proc/x/y", "cannot write /proc/x/y"),
        ("init job.yaml", "job.yaml is not a folder"),
        ("init /proc/x", "cannot write /proc/x/"),
        ("baseline create job.yaml --baseline resnet.yaml/x", "resnet.yaml is not a folder"),
        ("baseline create job.yaml --baseline /dev/null", "cannot write /dev/null: /dev holds devices"),
    ],
)
def test_what_cannot_be_written_is_a_wrong_request(folder: Path, arguments: str, told: str) -> None:
    (folder / "resnet.yaml").write_text(PROFILE)
    run = podplan(*arguments.split(), cwd=folder)
    assert (run.code, run.out) == (2, "")
    assert told in run.err
    assert run.err.startswith("podplan: cannot write ")
    assert run.err.count("\n") == 1


@pytest.mark.parametrize(
    "command", mark_others(["check job.yaml", "render resnet.yaml", "rules", "version", "--help"], every=3)
)
@pytest.mark.parametrize("output", [">/dev/full", ">&-"])
def test_a_standard_output_that_takes_nothing(folder: Path, command: str, output: str) -> None:
    (folder / "resnet.yaml").write_text(PROFILE)
    line = f'"{sys.executable}" -m podplan {command} {output}'
    run = subprocess.run(["sh", "-c", line], cwd=folder, capture_output=True, text=True, check=False)
    if output == ">&-" and command == "--help":  # click's own
        assert run.returncode == 0
    else:
        assert run.returncode == 2
        assert run.stderr.startswith("podplan: cannot ")
        assert run.stderr.count("\n") == 1


@pytest.mark.long
def test_the_same_bytes_under_other_seeds_locales_and_folders(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (folder / "job.yaml").write_text(BAD_JOB + "---\n" + JOB)
    (folder / "profile.yaml").write_text(ENVIRONMENTS)
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    for arguments in (
        ("check", folder),
        ("check", "--format", "json", folder),
        ("render", "-e", "prod", folder / "profile.yaml"),
        ("lower", "-e", "prod", folder / "profile.yaml"),
    ):
        one = podplan(*arguments, cwd=folder, env={"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "UTC"})
        two = podplan(
            *arguments, cwd=elsewhere, env={"PYTHONHASHSEED": "2", "LC_ALL": "C.UTF-8", "TZ": "Asia/Tokyo"}
        )
        assert one == two


def test_version_and_help() -> None:
    assert podplan("version") == podplan("--version")
    assert "Check jobs:" in podplan("--help").out
    assert podplan().code == 0


HARDWARE = """\
apiVersion: podplan/v1
kind: ClusterInventory
metadata: {name: main}
spec:
  hardware: {h100x8: {gpus: {nvidia.com/gpu: 8}, cpu: 64, shm: 8Gi, nodeSelector: {pool: h100}}}
"""


def test_why_shows_the_line_of_the_profile_that_chose_the_hardware(folder: Path) -> None:
    (folder / "clusters.yaml").write_text(HARDWARE)
    (folder / "profile.yaml").write_text(PROFILE + "  hardware: h100x8\n")
    containers = "spec.replicaSpecs[worker].template.spec.containers[0]"
    limit = f"{containers}.resources.limits.cpu"
    pod = "spec.replicaSpecs[0].template.spec"
    for path in (limit, f"{pod}.nodeSelector.pool", f"{pod}.volumes[dshm].emptyDir.sizeLimit"):
        said = podplan("why", "profile.yaml", path, cwd=folder).out
        assert "from clusters.yaml:5:" in said
        assert "because of profile.yaml:9:13  spec.hardware" in said
    steps = json.loads(podplan("why", "profile.yaml", limit, "--format", "json", cwd=folder).out)["steps"]
    assert [place["path"] for place in steps[0]["also"]] == ["/spec/hardware"]


def test_why_ends_at_what_somebody_wrote_not_at_the_whole_spec(folder: Path) -> None:
    (folder / "profile.yaml").write_text(PROFILE + "  env: {A: b}\n")
    env = podplan(
        "why", "profile.yaml", "spec.replicaSpecs[worker].template.spec.containers[0].env", cwd=folder
    )
    assert env.out.splitlines()[-2].startswith("  from profile.yaml:9:8  spec.env")
    role = podplan("why", "profile.yaml", "spec.replicaSpecs[worker].type", cwd=folder).out
    assert "[documented] a profile without roles has one role, called worker" in role
    assert "profile.yaml:5:8  spec.job" in role


def test_why_names_groups_of_objects_by_their_range(folder: Path) -> None:
    run = podplan("why", "job.yaml", "Pod/nobody", cwd=folder)
    assert "there are Pod/count-worker-{0..2}" in run.err


@pytest.mark.parametrize("kind", ["Pod", "pod", "POD"])
def test_why_takes_a_kind_in_any_case(folder: Path, kind: str) -> None:
    run = podplan("why", "job.yaml", f"{kind}/count-worker-2:spec.restartPolicy", cwd=folder)
    assert run.out == podplan("why", "job.yaml", "Pod/count-worker-2:spec.restartPolicy", cwd=folder).out
    assert (run.code, run.out.splitlines()[0]) == (0, "Pod/count-worker-2  spec.restartPolicy")


QUIET_PROFILE = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {name: quiet}
spec: {image: "registry.example.com/quiet:1", job: PyTorchTrainingJob, run: [train.py], replicas: 1}
"""
QUIET_CR = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: quiet}
spec:
  pytorchReplicaSpecs:
    Worker: {template: {spec: {containers: [{name: pytorch, image: "registry.example.com/quiet:1"}]}}}
"""


@pytest.mark.parametrize(
    "command",
    [
        ("fmt",),
        ("fmt", "--check"),
        ("migrate", "--check"),
        ("migrate", "--check", "--to", "TrainJob"),
        ("test",),
    ],
)
def test_quiet_omits_the_counts_and_nothing_else(tmp_path: Path, command: tuple[str, ...]) -> None:
    def run(*flags: str) -> tuple[int, list[str]]:
        (tmp_path / "job.yaml").write_text(QUIET_PROFILE)
        done = podplan(*command, *flags, cwd=tmp_path)
        return done.code, [*done.out.splitlines(), *done.err.splitlines()]

    (tmp_path / "job.golden.yaml").write_text("# old\n")
    (tmp_path / "cr.yaml").write_text(QUIET_CR)
    code, lines = run()
    assert run("-q") == (code, lines[:-1])


def test_exclude_of_import_and_inventory(tmp_path: Path) -> None:
    for folder in ("jobs", "copies"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "cr.yaml").write_text(QUIET_CR.replace("quiet}", f"{folder}}}"))
        (tmp_path / folder / "priority.yaml").write_text(
            "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\n"
            f"metadata: {{name: of-{folder}}}\nvalue: 1\n"
        )
    done = podplan("import", ".", "-o", "profiles", "--exclude", "copies", cwd=tmp_path)
    assert [file.name for file in (tmp_path / "profiles").rglob("*.yaml")] == ["jobs.yaml"], done.err
    shown = podplan("inventory", "--exclude", "copies", cwd=tmp_path).out
    assert "of-jobs" in shown
    assert "of-copies" not in shown


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("", 'required field "spec" is missing'),
        ("spec:\n", "spec must be a mapping, not null"),
        ("spec: 3\n", "spec must be a mapping, not an integer"),
        ("spec: {extends: b.yaml}\n", "extends is not a list of files; write extends: [FILE]"),
        ("spec: {params: 3}\n", "params is not a map; write params: {name: {type: …}}"),
    ],
)
def test_a_wrong_form_of_a_profile_is_one_finding(tmp_path: Path, spec: str, message: str) -> None:
    (tmp_path / "job.yaml").write_text(
        f"apiVersion: podplan/v1\nkind: JobProfile\nmetadata: {{name: a}}\n{spec}"
    )
    done = podplan("check", "--format", "json", "job.yaml", cwd=tmp_path)
    found = [(one["rule"], one["message"]) for one in json.loads(done.out)["findings"]]
    assert (done.code, found) == (1, [("PROF001", message)])
