"""Input of every sort on the command line: what is not ours, broken, too big, or secret."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command import BAD_JOB, INVENTORY, JOB, PROFILE, podplan
from tests.git import commit, git_in

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


@pytest.mark.parametrize("kind", ["WorkflowTemplate", "WorkflowRun", "CronWorkflowRun"])
def test_kinds_of_the_group_without_pods_of_their_own_are_counted_and_no_error(
    folder: Path, kind: str
) -> None:
    """https://github.com/t9k/user-manuals/blob/fbf6b3c/src/references/api-reference/workflow.md"""
    version = "apiVersion: batch.tensorstack.dev/v1beta1\n"
    alone = f"{version}kind: {kind}\nmetadata: {{name: a}}\nspec: {{type: Pod, pod: {{}}}}\n"
    listed = f"{version}kind: {kind}List\nmetadata: {{}}\nitems: [{{metadata: {{name: a}}, spec: {{}}}}]\n"
    (folder / "job.yaml").write_text(f"{alone}---\n{listed}")
    run = podplan("check", "job.yaml", cwd=folder)
    said = f"not checked: 2 × {kind} (batch.tensorstack.dev/v1beta1)\n"
    assert run.out == f"no findings in 1 file (0 objects, 0 lowered); {said}"
    assert run.code == 0


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


@pytest.mark.parametrize("args", [["job.yaml"], ["--inventory", "inventory.yaml", "job.yaml"], ["."]])
def test_errors_of_the_inventory_are_reported_once_with_the_job(folder: Path, args: list[str]) -> None:
    (folder / "job.yaml").write_text(JOB)
    (folder / "inventory.yaml").write_text(INVENTORY.replace("spec: {}", "spec: {queues: {a: {qouta: {}}}}"))
    run = podplan("check", "--format", "json", *args, cwd=folder)
    found = [one for one in json.loads(run.out)["findings"] if one["severity"] == "error"]
    assert [(one["file"], one["message"]) for one in found] == [
        ("inventory.yaml", 'unknown field "qouta"; did you mean "quota"?')
    ]
    assert run.code == 1


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


def test_the_inventory_of_a_worktree_in_the_repository_is_not_its_own(folder: Path) -> None:
    (folder / ".git").mkdir()
    (folder / "worktree").mkdir()
    (folder / "worktree" / ".git").write_text("gitdir: ../.git/worktrees/worktree\n")
    (folder / "profile.yaml").write_text(PROFILE + "  hardware: small\n")
    for place, size in ((folder, 1), (folder / "worktree", 2)):
        inventory = INVENTORY.replace("spec: {}", f"spec: {{hardware: {{small: {{cpu: {size}}}}}}}")
        (place / "inventory.yaml").write_text(inventory)
    run = podplan("render", "profile.yaml", cwd=folder)
    assert run.code == 0, run.err
    assert "cpu: 1" in run.out


def test_a_profile_in_utf_16_is_not_passed_over(folder: Path) -> None:
    (folder / "job.yaml").write_bytes(PROFILE.encode("utf-16"))
    run = podplan("check", "job.yaml", cwd=folder)
    assert (run.code, "this file is UTF-16; save it as UTF-8" in run.out) == (1, True)


def test_a_folder_without_yaml_files_is_named(tmp_path: Path) -> None:
    (tmp_path / "jobs").mkdir()
    (tmp_path / "notes.txt").write_text("a: 1\n")
    run = podplan("check", "jobs", "notes.txt", cwd=tmp_path)
    assert "in jobs" not in run.err, "a file was checked"
    run = podplan("check", "jobs", cwd=tmp_path)
    assert (run.code, run.err) == (0, "podplan: no YAML file in jobs, so nothing is checked\n")
    (tmp_path / "other.yaml").write_text("a: 1\n")
    git = git_in(tmp_path)
    git("init", "-q")
    commit(git, "nothing changes after it")
    assert podplan("check", "--changed-since", "HEAD", cwd=tmp_path).err == ""
