"""podplan test: the examples of a repository's own policies, and golden renders of its profiles."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from podplan.lint.catalogue import ours, whole
from podplan.provenance import Doc
from podplan.source import read
from podplan.testing.examples import _by_code, run_examples
from tests.command import podplan
from tests.work import slowdown

POLICY = """\
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
- name: no labels
  verdict: bad
  at: [/metadata]
  message: the job has no label team
  mended: {metadata: {labels: {team: vision}}}
  object: &job
    apiVersion: batch.tensorstack.dev/v1beta1
    kind: GenericJob
    metadata: {name: a}
    spec:
      replicaSpecs:
      - {type: worker, template: {spec: {containers: [{name: main, image: "busybox:1.36"}]}}}
- name: with a team
  verdict: good
  object: {<<: *job, metadata: {name: a, labels: {team: vision}}}
"""
VAP = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-host-network}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
  validations:
  - {expression: "!object.spec.?hostNetwork.orValue(false)", message: no network of the node}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-host-network}
spec: {policyName: no-host-network, validationActions: [Deny]}
"""
VAP_TEST = """\
policy: no-host-network
examples:
- name: a job in the network of its nodes
  verdict: bad
  at: [/spec/replicaSpecs/0/template/spec/hostNetwork]
  message: no network of the node
  mended: {spec: {replicaSpecs: {"0": {template: {spec: {hostNetwork: null}}}}}}
  object:
    apiVersion: batch.tensorstack.dev/v1beta1
    kind: GenericJob
    metadata: {name: a}
    spec:
      replicaSpecs:
      - type: worker
        template: {spec: {hostNetwork: true, containers: [{name: main, image: "busybox:1.36"}]}}
- name: a Pod with a network of its own
  verdict: good
  object:
    apiVersion: v1
    kind: Pod
    metadata: {name: a}
    spec: {containers: [{name: main, image: "busybox:1.36"}]}
"""
PROFILE = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {name: resnet}
spec:
  job: PyTorchTrainingJob
  image: registry.example.com/vision/train:2.3.1
  run: [train.py]
  replicas: 4
  environments:
    dev: {replicas: 1}
    prod: {}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository with one policy and one profile, both with tests that pass."""
    (tmp_path / ".git").mkdir()
    for name, text in (("podplan.toml", 'policies = ["rules"]\n'), ("rules/own.yaml", POLICY)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "jobs").mkdir()
    (tmp_path / "jobs" / "a.yaml").write_text(PROFILE)
    assert podplan("test", "--update", "--all", cwd=tmp_path).code == 0
    return tmp_path


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_all_pass(folder: Path) -> None:
    run = podplan("test", cwd=folder)
    assert (run.code, run.err) == (0, "")
    assert run.out == "3 tests, no failures, 1 of 1 policies tested, 1 of 1 profiles tested\n"


def test_a_golden_is_what_render_prints(folder: Path) -> None:
    rendered = [podplan("render", "-e", name, "jobs/a.yaml", cwd=folder).out for name in ("dev", "prod")]
    assert (folder / "jobs" / "a.golden.yaml").read_text() == "".join(rendered)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("required: [labels], ", "", '11:3: ORG001 bad "no labels": the rule is silent'),
        ("at: [/metadata]", "at: [/spec]", "the rule fires at /metadata, not at /spec"),
        (
            "  message: the job has",
            "  message: it has",
            'the message is "the job has no label team", not "it ',
        ),
        (
            "labels: {team: vision}}}\n  object",
            "labels: {}}}\n  object",
            "mended, the rule fires at /metadata",
        ),
        ("verdict: good", "verdict: near", ""),
        ("a, labels: {team: vision}", "b", '23:3: ORG001 good "with a team": the rule fires at /metadata'),
        (
            "kind: GenericJob",
            "kind: GenericJbo",
            "the example is broken at /kind, so its silence says nothing",
        ),
        (
            "apiVersion: batch.tensorstack.dev/v1beta1\n    kind: GenericJob",
            "apiVersion: podplan/v1\n    kind: JobProfile",
            "the example is broken at ",
        ),
        ("severity: error", "severity: grave", "own.yaml:3:11: POLICY001: severity must be"),
    ],
)
def test_examples_keep_their_promises(folder: Path, old: str, new: str, said: str) -> None:
    edit(folder / "rules" / "own.yaml", old, new)
    run = podplan("test", "rules", cwd=folder)
    assert run.code == (1 if said else 0)
    assert said in run.out, run.out


def test_a_stale_golden_is_told_with_its_line_and_a_diff_and_updated(folder: Path) -> None:
    golden = folder / "jobs" / "a.golden.yaml"
    before = golden.read_bytes()
    edit(folder / "jobs" / "a.yaml", "replicas: 4", "replicas: 5")
    run = podplan("test", "jobs", cwd=folder)
    assert run.code == 1
    line = before.decode().splitlines().index("    replicas: 4") + 1
    assert run.out.startswith(f"jobs/a.golden.yaml:{line}:1: golden: jobs/a.yaml renders something else now;")
    assert "\n    -    replicas: 4\n    +    replicas: 5\n" in run.out
    assert golden.read_bytes() == before
    assert podplan("test", "--update", cwd=folder).out.startswith("jobs/a.golden.yaml: written\n")
    assert "written" not in podplan("test", "--update", cwd=folder).out
    assert podplan("test", cwd=folder).code == 0


def test_a_diff_is_bounded(folder: Path) -> None:
    (folder / "jobs" / "a.golden.yaml").write_text("".join(f"# {number}\n" for number in range(500)))
    lines = podplan("test", "jobs", cwd=folder).out.splitlines()
    assert len(lines) == 1 + 20 + 1 + 1
    assert lines[-2].endswith("more lines")


def test_a_diff_shows_no_secret(folder: Path) -> None:
    edit(folder / "jobs" / "a.yaml", "  replicas: 4", "  env: {HF_TOKEN: hf_abcdefghijklmnop}\n  replicas: 4")
    assert podplan("test", "--update", cwd=folder).code == 0
    edit(folder / "jobs" / "a.yaml", "hf_abcdefghijklmnop", "hf_qrstuvwxyzabcdef")
    for _ in range(2):  # in the profile, and then only in the golden file
        run = podplan("test", cwd=folder)
        assert run.code == 1
        assert "there may be a secret" in run.out
        assert "hf_" not in run.out + run.err
        (folder / "jobs" / "a.yaml").write_text(PROFILE)


def test_a_profile_that_does_not_render_fails_and_keeps_its_golden(folder: Path) -> None:
    before = (folder / "jobs" / "a.golden.yaml").read_bytes()
    edit(folder / "jobs" / "a.yaml", "run: [train.py]", 'run: [train.py, "${{ params.x }}"]')
    run = podplan("test", "--update", "jobs", cwd=folder)
    assert run.code == 1
    assert run.out.startswith("jobs/a.yaml:7:19: PROF009: jobs/a.yaml does not render: "), run.out
    assert (folder / "jobs" / "a.golden.yaml").read_bytes() == before


def test_a_golden_without_its_profile_fails(folder: Path) -> None:
    (folder / "jobs" / "a.yaml").rename(folder / "jobs" / "b.yaml")
    run = podplan("test", "jobs", cwd=folder)
    assert run.code == 1
    assert "jobs/a.golden.yaml:1:1: golden: there is no jobs/a.yaml that renders this" in run.out


def bad_folder(path: Path) -> None:
    path.mkdir()


def bad_link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def bad_way(path: Path) -> None:
    path.symlink_to("nowhere.yaml")


def bad_pipe(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize(
    ("made", "said", "updated"),
    [
        (bad_folder, "is a directory", "cannot write jobs/b.golden.yaml: it is not a regular file"),
        (bad_link, "leads out of the repository", "it cannot be read: leads out of the repository;"),
        (bad_way, "no such file or directory", ""),
        (bad_pipe, "not a regular file", "cannot write jobs/b.golden.yaml: it is not a regular file"),
    ],
)
def test_a_golden_that_cannot_be_read_fails_and_the_others_are_tested(
    made: Callable[[Path], None], said: str, updated: str, folder: Path
) -> None:
    """One of them ended the run, and it was not always said which."""
    for name in "bc":
        (folder / f"jobs/{name}.yaml").write_text(PROFILE.replace("resnet", name))
    made(folder / "jobs/b.golden.yaml")
    (folder / "jobs/c.golden.yaml").write_text("a: 1\n")
    run = podplan("test", cwd=folder)
    assert (run.code, run.err) == (1, "")
    assert f"jobs/b.golden.yaml:1:1: golden: it cannot be read: {said}; delete it" in run.out
    assert "jobs/c.golden.yaml:1:1: golden: jobs/c.yaml renders something else now" in run.out
    assert "5 tests, 2 failures, 1 of 1 policies tested, 3 of 3 profiles tested" in run.out
    run = podplan("test", "--update", cwd=folder)
    assert run.code == bool(updated)
    assert f"jobs/b.golden.yaml:1:1: golden: {updated}" in run.out or not updated
    assert "jobs/c.golden.yaml: written" in run.out


def test_a_golden_or_profile_beyond_a_limit_fails_and_the_others_are_tested(folder: Path) -> None:
    (folder / "jobs/b.golden.yaml").write_text("#" * 10_000)
    (folder / "jobs/b.yaml").write_text(PROFILE.replace("resnet", "b"))
    (folder / "jobs/c.golden.yaml").write_text("")
    (folder / "jobs/c.yaml").write_text(PROFILE + "#" * 10_000)
    run = podplan("test", cwd=folder, env={"PODPLAN_LIMITS": "file-bytes=9000"})
    assert run.code == 4
    assert "jobs/b.golden.yaml:1:1: golden: jobs/b.golden.yaml has 10,000 bytes" in run.out
    assert "jobs/c.yaml:1:1: golden: jobs/c.yaml has 10,2" in run.out
    assert "5 tests, 2 failures" in run.out
    assert "the limit file-bytes is 9000" in run.err


def test_a_golden_whose_profile_cannot_be_read_any_more_fails(folder: Path) -> None:
    """It was passed over, so that the run was clean."""
    edit(folder / "jobs/a.yaml", "  replicas: 4\n", "  replicas: [4\n")
    run = podplan("test", cwd=folder)
    assert run.code == 1
    assert "golden: jobs/a.yaml does not render to jobs/a.golden.yaml: " in run.out
    (folder / "jobs/a.yaml").write_text("a: 1\n")
    run = podplan("test", cwd=folder)
    assert run.code == 1
    assert "jobs/a.yaml does not render to jobs/a.golden.yaml: it holds no profile" in run.out
    (folder / "jobs/a.golden.yaml").write_text("a: 1\n")  # of another tool
    assert podplan("test", cwd=folder).code == 0


def test_what_stands_in_a_golden_file_ends_no_run(folder: Path) -> None:
    """Beyond a bound, or a profile of its own: there is no diff then."""
    for text in ("a: [" + "[" * 1_000, PROFILE.replace("replicas: 4", "extends: [../../b.yaml]")):
        (folder / "jobs/a.golden.yaml").write_text(text)
        run = podplan("test", cwd=folder)
        assert (run.code, run.err) == (1, "")
        assert "(no diff, for there may be a secret in it)" in run.out


def test_goldens_are_no_second_objects(folder: Path) -> None:
    with_it = podplan("check", "--format", "json", cwd=folder)
    lowered = podplan("lower", "-e", "prod", ".", cwd=folder)
    (folder / "jobs" / "a.golden.yaml").unlink()
    assert with_it == podplan("check", "--format", "json", cwd=folder)
    assert lowered == podplan("lower", "-e", "prod", ".", cwd=folder)
    assert lowered.code == 0


def test_required_tests_and_coverage(folder: Path) -> None:
    assert podplan("test", "--require-tests", cwd=folder).code == 0
    (folder / "jobs" / "a.golden.yaml").unlink()
    edit(folder / "rules" / "own.yaml", "verdict: good", "verdict: near")
    assert podplan("test", cwd=folder).code == 0
    run = podplan("test", "--require-tests", "--coverage", cwd=folder)
    assert run.code == 1
    assert run.out.splitlines()[:4] == [
        "rules/own.yaml:1:1: ORG001: the policy has no good example",
        "jobs/a.yaml:1:1: resnet: the profile has no golden render; podplan test --update --all writes it",
        "policy ORG001 (rules/own.yaml): 1 bad, 1 near",
        "profile resnet (jobs/a.yaml): no golden render",
    ]


def test_json(folder: Path) -> None:
    edit(folder / "jobs" / "a.yaml", "replicas: 4", "replicas: 5")
    said: dict[str, Any] = json.loads(podplan("test", "--format", "json", "--coverage", cwd=folder).out)
    assert (said["format"], said["tests"], said["written"]) == (1, 3, [])
    assert [(one["file"], one["test"]) for one in said["failures"]] == [("jobs/a.golden.yaml", "golden")]
    assert "+    replicas: 5" in said["failures"][0]["diff"]
    assert [(one["name"], one["enough"]) for one in said["coverage"]] == [("ORG001", True), ("resnet", True)]


def test_paths_and_where_one_stands_make_no_difference(folder: Path) -> None:
    assert podplan("test", cwd=folder / "jobs").out == podplan("test", cwd=folder).out
    assert podplan("test", "a.golden.yaml", cwd=folder / "jobs").out.startswith("1 test, no failures")


def test_nothing_to_test_and_wrong_requests(folder: Path, tmp_path: Path) -> None:
    assert podplan("test", "--isolated", "rules", cwd=folder).code == 3
    assert podplan("test", "nowhere", cwd=folder).code == 3
    assert podplan("test", "--all", cwd=folder).code == 2
    (tmp_path / "podplan.toml").write_text('policies = ["nowhere"]\n')
    assert podplan("test", cwd=folder).code == 2


def test_an_example_beyond_the_bounds_fails() -> None:
    deep: dict[str, Any] = {}
    for _ in range(200):
        deep = {"a": deep}
    data = {"examples": [{"name": "deep", "verdict": "good", "object": deep}]}
    origin = Doc("own.yaml", data, source=read(b"{}", "own.yaml").documents[0])
    outcome = run_examples([ours()[0]._replace(origin=origin, tests=origin)], (), "1.34")
    assert [one.message for one in outcome.failures if "the example cannot be checked: " in one.message]


def test_the_parts_of_a_policy_are_put_together_in_one_go() -> None:
    """An admission policy makes one for each object of params; each copied those before it."""
    one = next(iter(ours()))

    def together(number: int) -> None:
        assert [len(parts) for parts in _by_code([one] * number)] == [number]

    assert slowdown(together, 4_000, 16_000) < 9


def test_our_own_policies_pass() -> None:
    data = {one["id"]: one for one in whole()}
    source = read(b"{}", "policy.yaml").documents[0]
    some = [
        policy._replace(origin=doc, tests=doc)
        for policy in ours()
        if policy.rule.code.startswith(("CR", "DIST", "PROF"))
        for doc in [Doc(policy.file, data[policy.rule.code], source=source)]
    ]
    outcome = run_examples(some, (), "1.34")
    assert outcome.ran > len(some) > 20
    assert outcome.failures == ()
    assert all(one.enough for one in outcome.tested)


@pytest.fixture
def admission(folder: Path) -> Path:
    """The repository with an admission policy of Kubernetes too, and examples of it."""
    (folder / "rules" / "no-host-network.yaml").write_text(VAP)
    (folder / "rules" / "no-host-network.test.yaml").write_text(VAP_TEST)
    return folder


def test_admission_policies_have_examples_beside_them(admission: Path) -> None:
    run = podplan("test", "--require-tests", cwd=admission)
    assert (run.code, run.err) == (0, "")
    assert run.out == "5 tests, no failures, 2 of 2 policies tested, 1 of 1 profiles tested\n"
    run = podplan("test", "rules/no-host-network.test.yaml", cwd=admission)
    assert run.out == "2 tests, no failures, 1 of 1 policies tested\n"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "spec: {containers",
            "spec: {hostNetwork: true, containers",
            '16:3: VAP:no-host-network good "a Pod with',
        ),
        ("at: [/spec", "at: [/metadata, /spec", "3:3: VAP:no-host-network bad"),
        ("{hostNetwork: null}", "{}", "mended, the rule fires at"),
        (
            "policy: no-host-network",
            "policy: no-hostnetwork",
            "1:9: POLICY001: there is no ValidatingAdmissionPolicy",
        ),
        ("policy: no-host-network", "policy: no-hostnetwork", 'did you mean "no-host-network"?'),
        ("verdict: good", "verdict: fine", "POLICY001: verdict must be"),
    ],
)
def test_examples_of_admission_policies_keep_their_promises(
    admission: Path, old: str, new: str, said: str
) -> None:
    edit(admission / "rules" / "no-host-network.test.yaml", old, new)
    run = podplan("test", cwd=admission)
    assert run.code == 1
    assert said in run.out


def test_an_admission_policy_has_its_examples_in_one_document(admission: Path) -> None:
    (admission / "rules" / "once-more.test.yaml").write_text(VAP_TEST)
    run = podplan("test", cwd=admission)
    assert 'the policy "no-host-network" has examples in rules/no-host-network.test.yaml already' in run.out


def test_an_admission_policy_without_examples_is_told_where_tests_are_required(admission: Path) -> None:
    (admission / "rules" / "no-host-network.test.yaml").unlink()
    assert podplan("test", cwd=admission).code == 0
    run = podplan("test", "--require-tests", "--coverage", cwd=admission)
    assert "VAP:no-host-network: the policy has no bad and no good example" in run.out
    assert "policy VAP:no-host-network (rules/no-host-network.yaml): no example" in run.out


def test_a_note_about_an_admission_policy_is_no_failure(folder: Path) -> None:
    (folder / "rules" / "no-host-network.test.yaml").write_text(VAP_TEST)
    audited = "  auditAnnotations: [{key: a, valueExpression: object.metadata.name}]\n  validations:\n"
    assert "  validations:\n" in VAP
    (folder / "rules" / "no-host-network.yaml").write_text(VAP.replace("  validations:\n", audited))
    assert "POLICY003" not in podplan("test", "rules", cwd=folder).out
    assert podplan("test", "rules", cwd=folder).code == 0


def test_names_of_strangers_move_no_cursor_and_are_not_told_whole(folder: Path) -> None:
    strange = f'name: "\\e[2J no labels {"a" * 100_000}"'
    edit(folder / "rules" / "own.yaml", "name: no labels", strange)
    edit(folder / "rules" / "own.yaml", "at: [/metadata]", "at: [/spec]")
    run = podplan("test", cwd=folder)
    assert run.code == 1
    assert "\\x1b[2J no labels aaa" in run.out
    assert "\x1b" not in run.out
    assert len(run.out) < 10_000
