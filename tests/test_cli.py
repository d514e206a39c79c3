"""The command line as a user meets it: exit codes, streams, and input of every sort."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import podplan

JOB = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: GenericJob
metadata:
  name: count
spec:
  replicaSpecs:
  - type: worker
    replicas: 3
    template:
      spec:
        containers:
        - name: main
          image: busybox:1.36
          args: [echo, $(rank)]
          resources: {limits: {cpu: 1, memory: 1Gi}}
          securityContext:
            allowPrivilegeEscalation: false
            runAsNonRoot: true
            capabilities: {drop: [ALL]}
            seccompProfile: {type: RuntimeDefault}
  successRules:
  - worker: [0, 1, 2]
  cleanUpPolicy: All
"""
BAD_JOB = JOB.replace("replicas: 3", "replica: 3")
PROFILE = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {name: resnet}
spec:
  job: PyTorchTrainingJob
  image: registry.example.com/train:1
  run: [train.py]
  replicas: 2
"""
ENVIRONMENTS = PROFILE + "  environments:\n    dev: {replicas: 1}\n    prod: {replicas: 4}\n"

INVENTORY = "apiVersion: podplan/v1\nkind: ClusterInventory\nmetadata: {name: a}\nspec: {}\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "job.yaml").write_text(JOB)
    return tmp_path


def test_a_clean_file(folder: Path) -> None:
    run = podplan("check", "job.yaml", cwd=folder)
    said = "no findings in 1 file (1 object, 3 lowered); not checked: 13 × rules that need an inventory\n"
    assert run == (0, said, "")


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


def test_render_and_lower_print_nothing_unless_all_is_well(folder: Path) -> None:
    (folder / "a.yaml").write_text(PROFILE)
    (folder / "b.yaml").write_text(PROFILE.replace("resnet", "bert").replace("replicas: 2", "replicas: two"))
    for command in ("render", "lower"):
        run = podplan(command, ".", cwd=folder)
        assert (run.code, run.out) == (1, "")
        assert "b.yaml:8:13" in run.err


def test_render_needs_an_environment_where_there_are_some(folder: Path) -> None:
    (folder / "job.yaml").write_text(ENVIRONMENTS)
    run = podplan("render", "job.yaml", cwd=folder)
    assert run.code == 2
    assert "has environments (dev, prod); say which with -e NAME, or -e all" in run.err
    rendered = podplan("render", "-e", "prod", "job.yaml", cwd=folder)
    assert rendered.code == 0
    assert rendered.out.startswith("---\n# podplan: rendered from job.yaml -e prod\n")
    assert "replicas: 4" in rendered.out


def test_two_results_with_one_name_are_exit_2(folder: Path) -> None:
    (folder / "a.yaml").write_text(PROFILE)
    (folder / "b.yaml").write_text(PROFILE)
    run = podplan("render", ".", cwd=folder)
    assert (run.code, run.out) == (2, "")
    assert "two results are both PyTorchTrainingJob resnet: from a.yaml and from b.yaml" in run.err


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


HOSTILE = {
    "empty": b"",
    "spaces": b"  \n\n",
    "comment": b"# nothing here\n",
    "binary": bytes(range(256)) * 10,
    "scalar": b"just text\n",
    "list": b"- 1\n- 2\n",
    "null": b"~\n",
    "helm": b"apiVersion: batch.tensorstack.dev/v1beta1\nkind: {{ .Values.kind }}\n{{- if x }}\n{{- end }}\n",
    "deployment": b"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n",
    "other broken": b"a: [1\nb: }\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_not_ours_is_counted_and_no_error(folder: Path, name: str) -> None:
    (folder / "job.yaml").write_bytes(HOSTILE[name])
    run = podplan("check", "job.yaml", cwd=folder)
    assert run.code == 0, run.out
    assert "not checked: 1 × " in run.out


OURS = b"apiVersion: batch.tensorstack.dev/v1beta1\nkind: GenericJob\n"
BROKEN = {
    "unclosed": (OURS + b"spec: {a: [1, 2\n", 1),
    "tab": (OURS + b"spec:\n\ta: 1\n", 1),
    "alias": (OURS + b"spec: *nothing\n", 1),
    "cycle": (OURS + b"spec: &a {b: *a}\n", 1),
    "template": (OURS + b"metadata: {name: {{ name }}}\n", 1),
    "no spec": (OURS, 1),
    "null spec": (OURS + b"metadata: {name: a}\nspec:\n", 1),
    "spec a list": (OURS + b"metadata: {name: a}\nspec: [1]\n", 1),
    "name a number": (OURS + b"metadata: {name: 1}\nspec: {replicaSpecs: []}\n", 1),
    "unknown kind": (OURS.replace(b"GenericJob", b"GenericJobb"), 1),
    "kind a map": (OURS.replace(b"GenericJob", b"{a: 1}"), 1),
    "no version": (OURS.replace(b"/v1beta1", b""), 1),
    "profile without a version": (b"apiVersion: podplan\nkind: JobProfile\n", 1),
    "profile kind": (b"apiVersion: podplan/v1\nkind: JobProfil\n", 1),
    "empty profile": (b"apiVersion: podplan/v1\nkind: JobProfile\n", 1),
    "profile of lists": (b"apiVersion: podplan/v1\nkind: JobProfile\nmetadata: []\nspec: []\n", 1),
    "invalid utf-8": (OURS + b"x: \xff\xfe\n", 1),
    "deep": (OURS + b"spec: " + b"[" * 100_000, 4),
    "alias bomb": (
        OURS
        + b"a: &a [x,x,x,x,x,x,x,x,x]\n"
        + b"".join(
            f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n".encode()
            for i in range(9)
        ),
        4,
    ),
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("command", ["check", "lower"])
def test_broken_input_of_ours(folder: Path, name: str, command: str) -> None:
    content, code = BROKEN[name]
    (folder / "job.yaml").write_bytes(content)
    run = podplan(command, "job.yaml", cwd=folder)
    assert run.code == code, run.out + run.err
    assert len((run.out + run.err).splitlines()) < 60
    if command == "lower":
        assert run.out == ""


DEEP = b"a: " + b"[" * 200 + b"]" * 200 + b"\n"


def test_what_is_too_big_or_too_deep_stops_nothing_unless_it_is_ours(folder: Path) -> None:
    (folder / ".git").mkdir()
    (folder / "index.yaml").write_bytes(b"# ClusterInventory\nentries: {}\n" + b"#" * 10_000_000)
    (folder / "deep.yaml").write_bytes(DEEP + b"# ClusterInventory\n")
    run = podplan("check", "job.yaml", cwd=folder)
    assert (run.code, run.err) == (0, "")
    run = podplan("check", ".", cwd=folder)
    assert (run.code, run.err) == (0, "")
    assert "2 × too big or too deep" in run.out
    (folder / "a.yaml").write_bytes(OURS + DEEP)
    (folder / "b.yaml").write_bytes(OURS + b"#" * 10_000_000)
    (folder / "c.yaml").write_text(BAD_JOB)
    run = podplan("check", "--exit-zero", ".", cwd=folder)
    assert run.code == 4
    assert "c.yaml:8:5" in run.out
    assert '"replica"' in run.out
    assert run.err.count("\n") == 1
    assert "a.yaml: more than 100 levels" in run.err
    assert "1 more such file" in run.err
    run = podplan("baseline", "create", ".", cwd=folder)
    assert run.code == 4
    assert not (folder / ".podplan-baseline.json").exists()
    assert run.out == ""


def test_what_is_excluded_has_no_inventory(folder: Path) -> None:
    (folder / ".git").mkdir()
    (folder / "vendor").mkdir()
    for name in ("cluster.yaml", "vendor/cluster.yaml"):
        (folder / name).write_text(INVENTORY)
    (folder / "jobs").mkdir()
    (folder / "jobs/resnet.yaml").write_text(PROFILE + "  hardware: a100\n")
    run = podplan("check", "jobs/resnet.yaml", cwd=folder)
    assert run.code == 2
    assert "cluster.yaml and vendor/cluster.yaml" in run.err
    (folder / "podplan.toml").write_text('exclude = ["vendor/*"]\n')
    run = podplan("check", "jobs/resnet.yaml", cwd=folder)
    assert run.err == ""


def test_an_inventory_is_chosen_only_for_documents_that_refer_to_it(folder: Path) -> None:
    (folder / ".git").mkdir()
    for name in ("a.yaml", "b.yaml"):
        (folder / name).write_text(INVENTORY)
    (folder / "job.yaml").write_text(PROFILE + "---\nkind: hardware\n---\n" + JOB)
    assert podplan("check", "job.yaml", cwd=folder).code == 0
    (folder / "job.yaml").write_text(PROFILE + "---\n" + PROFILE + "  hardware: a100\n")
    assert podplan("check", "job.yaml", cwd=folder).code == 2


def test_lines_are_counted_as_yaml_does(folder: Path) -> None:
    """Python also breaks lines at form feeds and some characters of Unicode."""
    odd = '  annotations: {a: "\u2028\x85", b: "\\f"}\n'
    (folder / "job.yaml").write_text(BAD_JOB.replace("  name: count\n", f"  name: count\n{odd}"))
    run = podplan("check", "job.yaml", cwd=folder)
    assert "9 |     replica: 3\n" in run.out


def test_a_secret_after_odd_line_breaks_is_masked(folder: Path) -> None:
    odd = '  annotations: {a: "\u2028\x85"}\n'
    job = PROFILE.replace("metadata: {name: resnet}\n", f"metadata:\n  name: resnet\n{odd}")
    (folder / "job.yaml").write_text(job + "  env: {API_KEY: hunter2hunter2}\n")
    for format_ in ("full", "json"):
        run = podplan("check", "--preset", "audit", "--format", format_, "job.yaml", cwd=folder)
        assert "PROF107" in run.out
        assert "hunter2" not in run.out


@pytest.mark.parametrize(
    "env",
    ["{API_KEY: hunter2hunter2, A: 1, A: 2}", "{API_KEY: hunter2hunter2, A: {b: c}}"],
    ids=("told", "not lowered"),
)
@pytest.mark.parametrize("rules", [(), ("--ignore", "PROF107"), ("--select", "YAML,SCHEMA,PROF0")], ids=str)
def test_a_secret_is_masked_whichever_rules_are_on(folder: Path, env: str, rules: tuple[str, ...]) -> None:
    (folder / "job.yaml").write_text(f"{PROFILE}  env: {env}\n")
    for format_ in ("full", "json"):
        run = podplan("check", *rules, "--format", format_, "job.yaml", cwd=folder)
        assert '"errors": 0' not in run.out
        assert "**************" in run.out or format_ == "json"
        assert "hunter2" not in run.out


def test_no_line_of_a_secret_is_shown(folder: Path) -> None:
    secret = (
        "apiVersion: v1\nkind: &k Secret\nmetadata: {name: a}\nstringData: {a: *hunter2, b: !hunter2 x}\n"
    )
    (folder / "job.yaml").write_text(JOB + "---\n" + secret + "typo: hunter2\n")
    for format_ in ("full", "concise", "json"):
        run = podplan("check", "--format", format_, "job.yaml", cwd=folder)
        assert run.code == 1
        assert "YAML006" in run.out
        assert "hunter2" not in run.out + run.err


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
        ("baseline create job.yaml --baseline /dev/null", "not a regular file"),
    ],
)
def test_what_cannot_be_written_is_a_wrong_request(folder: Path, arguments: str, told: str) -> None:
    (folder / "resnet.yaml").write_text(PROFILE)
    run = podplan(*arguments.split(), cwd=folder)
    assert (run.code, run.out) == (2, "")
    assert told in run.err
    assert run.err.startswith("podplan: cannot write ")
    assert run.err.count("\n") == 1


@pytest.mark.parametrize("command", ["check job.yaml", "render resnet.yaml", "rules", "version", "--help"])
@pytest.mark.parametrize("output", [">/dev/full", ">&-"])
def test_a_standard_output_that_takes_nothing(folder: Path, command: str, output: str) -> None:
    (folder / "resnet.yaml").write_text(PROFILE)
    line = f'"{sys.executable}" -m podplan {command} {output}'
    run = subprocess.run(["sh", "-c", line], cwd=folder, capture_output=True, text=True, check=False)
    if output == ">&-" and command in ("version", "--help"):
        assert run.returncode == 0
    else:
        assert run.returncode == 2
        assert run.stderr.startswith("podplan: cannot ")
        assert run.stderr.count("\n") == 1


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
    assert "Commands:" in podplan("--help").out
    assert podplan().code == 0


def test_rendered_files_are_compared_with_what_their_source_renders(folder: Path) -> None:
    (folder / "job.yaml").write_text(ENVIRONMENTS)
    (folder / ".git").mkdir()
    assert podplan("render", "-e", "prod", "-o", "out", "job.yaml", cwd=folder).code == 0
    rendered = folder / "out" / "pytorchtrainingjob-resnet.yaml"
    run = podplan("check", "--format", "json", "out", "job.yaml", cwd=folder)
    summary = json.loads(run.out)["summary"]
    assert (run.code, summary["objects"]) == (0, 3), (
        "as written, dev and prod; the rendered file is no fourth"
    )
    rendered.write_text(rendered.read_text().replace("replicas: 4", "replicas: 5"))
    run = podplan("check", "--format", "concise", "out", cwd=folder)
    assert run.code == 1
    assert "resnet.yaml:9:15: error GIT001 job.yaml renders something else now" in run.out
    (folder / "job.yaml").unlink()
    run = podplan("check", "--format", "concise", "out", cwd=folder)
    assert "job.yaml, which this was rendered from, is not there" in run.out


BROKEN_ENVIRONMENTS = (
    PROFILE
    + """\
  environments:
    dev: {namespace: dev, replicsa: 3}
    prod: {namespace: prod, roles: [{name: nope, replicas: 2}]}
    stage: {namespace: stage}
"""
)


@pytest.mark.parametrize("command", ["render", "lower"])
@pytest.mark.parametrize(
    ("profile", "flags"),
    [
        (BROKEN_ENVIRONMENTS, ("-e", "all")),
        (BROKEN_ENVIRONMENTS, ("-e", "prod")),
        (ENVIRONMENTS + "  extends: [nowhere.yaml]\n", ("-e", "dev")),
        (ENVIRONMENTS + "  params: {lr: {type: number}}\n", ("-e", "all")),
    ],
)
def test_a_variant_that_fails_is_never_left_out(
    folder: Path, command: str, profile: str, flags: tuple[str, ...]
) -> None:
    (folder / "a.yaml").write_text(PROFILE.replace("resnet", "fine"))
    (folder / "b.yaml").write_text(profile)
    run = podplan(command, "a.yaml", "b.yaml", *flags, cwd=folder)
    assert (run.code, run.out) == (1, "")
    assert "b.yaml:" in run.err


def test_the_profile_as_written_is_no_second_result(folder: Path) -> None:
    (folder / "c.yaml").write_text(PROFILE + "  environments: {dev: {namespace: dev}, prod: {}}\n")
    run = podplan("render", "-e", "all", "c.yaml", cwd=folder)
    assert (run.code, run.out.count("kind: PyTorchTrainingJob")) == (0, 2)


def test_a_profile_without_environments_is_taken_as_written(folder: Path) -> None:
    (folder / "p.yaml").write_text(PROFILE)
    assert podplan("render", "-e", "dev", "p.yaml", cwd=folder).code == 0
    assert podplan("check", "-e", "dev", "p.yaml", cwd=folder).code == 0


def test_a_flag_that_fits_nothing_is_a_wrong_request(folder: Path) -> None:
    (folder / "p.yaml").write_text(ENVIRONMENTS)
    for command in ("check", "render", "lower"):
        run = podplan(command, "p.yaml", "-e", "nope", cwd=folder)
        assert (run.code, run.out) == (2, "")
        assert "it has dev, prod" in run.err
        assert podplan(command, "p.yaml", "-e", "dev", "--set", "nope=9", cwd=folder).code == 2


def test_a_fault_of_one_environment_is_not_one_of_all(folder: Path) -> None:
    (folder / "p.yaml").write_text(BROKEN_ENVIRONMENTS)
    run = podplan("check", "p.yaml", cwd=folder)
    assert run.code == 1
    assert "instances" not in run.out
    assert "1 × CR: the profile has errors" in run.out


def test_a_paused_job_is_checked_as_it_goes_on(folder: Path) -> None:
    pause = "spec:\n  runMode: {pause: {enabled: true}}\n  replicaSpecs"
    paused = JOB.replace("spec:\n  replicaSpecs", pause)
    (folder / "job.yaml").write_text(paused.replace("memory: 1Gi}", "memory: 1Gi}, requests: {cpu: 2}"))
    run = podplan("check", "--format", "concise", "job.yaml", cwd=folder)
    assert "request of cpu must be at most its limit 1, not 2" in run.out


LIST = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: PyTorchTrainingJobList
items:
- metadata: {name: one}
  spec: {replicaSpecs: [{type: worker, replica: 2}]}
- apiVersion: batch.tensorstack.dev/v1beta1
  kind: GenericJob
  metadata: {name: two}
  spec: {replicaSpecs: [{type: worker, replicas: 2}]}
"""
LIST_OF_JOBS = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: GenericJobList
items:
- metadata: {name: one}
  spec: {replicaSpecs: [{type: a, template: {spec: {containers: [{name: m, image: "i:1"}]}}}]}
"""
MPI_JOB = "apiVersion: batch.tensorstack.dev/v1beta1\nkind: MPIJob\nmetadata: {name: mpi}\nspec: {}\n"
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\n"


def test_import_of_a_stream_prints_what_it_can_import_and_tells_the_rest(folder: Path) -> None:
    alone = podplan("import", "job.yaml", cwd=folder)
    assert (alone.code, alone.err) == (0, "")
    (folder / "stream.yaml").write_text("---\n".join((MPI_JOB, JOB, CONFIG_MAP, "# nothing\n", "- a\n")))
    run = podplan("import", "stream.yaml", cwd=folder)
    assert run.out == alone.out
    assert run.code == 1
    told = run.err.splitlines()
    assert [line.partition(" ")[0] for line in told] == [
        "stream.yaml:1:",
        "stream.yaml:30:",
        "stream.yaml:36:",
    ]
    assert all(line.endswith("; it is not imported") for line in told)
    assert "a ConfigMap is no training job" in told[1]


def test_import_writes_no_file_where_nothing_can_be_imported(folder: Path) -> None:
    (folder / "mpi.yaml").write_text(MPI_JOB)
    run = podplan("import", "mpi.yaml", "-o", "profile.yaml", cwd=folder)
    assert (run.code, run.out) == (1, "")
    assert not (folder / "profile.yaml").exists()


def test_an_entry_of_a_list_of_one_kind_is_of_that_kind(folder: Path) -> None:
    (folder / "list.yaml").write_text(LIST)
    imported = podplan("import", "list.yaml", cwd=folder).out
    assert imported.count("kind: JobProfile\n") == 2
    assert "job: PyTorchTrainingJob\n" in imported
    assert "job: GenericJob\n" in imported
    found = podplan("check", "--format", "concise", "list.yaml", cwd=folder).out
    assert 'list.yaml:5:40: error SCHEMA001 unknown field "replica"; did you mean "replicas"?' in found
    (folder / "one.yaml").write_text(LIST_OF_JOBS)
    assert "one.yaml:2:7  kind" in podplan("why", "one.yaml", "kind", cwd=folder).out


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


def test_rendered_files_alone_are_checked_themselves(folder: Path) -> None:
    (folder / "p.yaml").write_text(PROFILE + "  resources: {limits: {cpu: 1}, requests: {cpu: 2}}\n")
    (folder / ".git").mkdir()
    assert podplan("render", "--fail-on", "never", "-o", "out", "p.yaml", cwd=folder).code == 0
    for paths in (("out",), ("p.yaml",), ("p.yaml", "out")):
        run = podplan("check", "--format", "concise", "--select", "SCHEMA", *paths, cwd=folder)
        assert run.code == 1
        assert run.out.count("request of cpu must be at most its limit 1, not 2") == 1
