"""Every limit is reached by some input, ends in exit 4 with a sentence, and stands in docs/limits.md."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
import time
from contextlib import chdir
from itertools import repeat
from pathlib import Path
from typing import NamedTuple

import pytest

from podplan import rendering
from podplan.core.limits import LIMITS, MAX_DEPTH, MAX_FILE_BYTES, MAX_FILE_DIAGNOSTICS, LimitExceeded
from podplan.rendering import spool
from podplan.yaml import parse_yaml
from tests.command import BAD_JOB, INVENTORY, JOB, PROFILE, podplan
from tests.declared import MAPPINGS, TASK_JOB
from tests.golden_cases import podplan as here
from tests.thoroughness import mark_others

DOCS = Path(__file__).parent.parent / "docs"
CEL_POLICY = """\
id: ORG001
name: few-replicas
severity: error
basis: documented
summary: A job is small.
why: The cluster is small.
scope: {level: cr}
message: the job is too big
cel: {validations: [{expression: EXPRESSION}]}
examples:
- {name: none, verdict: bad, object: {apiVersion: v1, kind: Pod}}
"""
VAP = """\
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few-replicas}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [batch], apiVersions: [v1], operations: [CREATE], resources: [jobs]}]
  validations: [{expression: object.spec.parallelism < 9}]
"""
OWN = 'policies = ["policies"]\n'


class Case(NamedTuple):
    """Files, and a command that reaches a limit once it is set to ``value``."""

    value: int
    files: dict[str, str]
    command: tuple[str, ...] = ("check", ".")


def profile(more: str) -> dict[str, str]:
    return {"job.yaml": PROFILE + more}


def cel(expression: str) -> dict[str, str]:
    text = CEL_POLICY.replace("EXPRESSION", expression)
    return {"job.yaml": JOB, "podplan.toml": OWN, "policies/ORG001.yaml": text}


def by_schema(schema: str) -> dict[str, str]:
    text = re.sub("^cel: .*$", f"schema: {schema}", CEL_POLICY, flags=re.MULTILINE)
    return {"job.yaml": JOB, "podplan.toml": OWN, "policies/ORG001.yaml": text}


def base(name: str, spec: str) -> str:
    return f"apiVersion: podplan/v1\nkind: JobProfileBase\nmetadata: {{name: {name}}}\nspec: {{{spec}}}\n"


BASES = {
    "a.yaml": base("a", "extends: [b.yaml]"),
    "b.yaml": base("b", "extends: [c.yaml]"),
    "c.yaml": base("c", "replicas: 1"),
    **profile("  extends: [a.yaml]\n"),
}
WITH_MAP = "envFrom: [{configMapRef: {name: a}}]\n          "
MATRIX = "  matrix: {axes: {lr: [1, 2, 3]}}\n  params: {lr: {type: integer, default: 1}}\n"
TWO_SIDES = {
    "old/job.yaml": JOB,
    "new/job.yaml": JOB.replace("image: ", "image: other-").replace("All", "Running"),
}

CASES = {
    "file-bytes": Case(100, {"job.yaml": JOB}),
    "documents": Case(2, {"job.yaml": "---\n".join([JOB, "a: 1\n", "b: 1\n"])}),
    "nodes": Case(20, {"job.yaml": JOB}),
    "aliases": Case(2, {"job.yaml": JOB + "x: [&a 1, *a, *a, *a]\n"}),
    "expanded-nodes": Case(8, {"job.yaml": JOB + "x: [&a [1, 2, 3, 4, 5], *a, *a]\n"}),
    "expanded-text": Case(8, {"job.yaml": JOB + "x: [&a [one, two], &b three, *a, *b]\n"}),
    "suppressions": Case(1, {"job.yaml": "# podplan: ignore[NET001] a\n# podplan: ignore[NET002] b\n" + JOB}),
    "command-words": Case(1, {"job.yaml": JOB}),
    "command-text": Case(3, {"job.yaml": JOB}),
    "objects": Case(1, {"a.yaml": JOB, "b.yaml": JOB}),
    "differences": Case(1, TWO_SIDES, ("diff", "new", "--base-tree", "old")),
    "difference-text": Case(30, TWO_SIDES, ("diff", "new", "--base-tree", "old")),
    "replicas": Case(2, {"job.yaml": JOB}, ("lower", "job.yaml")),
    "written-text": Case(100, {"job.yaml": JOB}, ("lower", "job.yaml")),
    "document-text": Case(100, {"job.yaml": JOB}, ("lower", "job.yaml")),
    "bases": Case(2, BASES),
    "base-nodes": Case(
        1, {name: base(name[0], "replicas: 1") for name in BASES} | profile("  extends: [a.yaml, b.yaml]\n")
    ),
    "extends-depth": Case(1, BASES),
    "instances": Case(2, profile(MATRIX)),
    "instance-nodes": Case(3, profile(MATRIX + '  workingDir: "/${{ params.lr }}"\n')),
    "expression-length": Case(10, profile('  workingDir: "/${{ metadata.name ~ metadata.name }}"\n')),
    "expression-depth": Case(2, profile('  workingDir: "/${{ 1 + 2 + 3 + 4 }}"\n')),
    "expression-result": Case(3, profile('  workingDir: "${{ metadata.name + metadata.name }}"\n')),
    "expression-results": Case(3, profile('  workingDir: "${{ metadata.name }}"\n')),
    "expressions": Case(1, profile('  workingDir: "/${{ 1 + 1 }}/${{ 2 + 2 }}"\n')),
    "cel-length": Case(10, cel("object.spec.replicaSpecs.size() > 0")),
    "cel-nodes": Case(5, cel("object.spec.replicaSpecs.size() > 0")),
    "cel-text": Case(5, cel("object.spec.replicaSpecs.size() > 0")),
    "cel-bytes": Case(1, cel("object.spec.replicaSpecs.size() > 0")),
    "schema-visits": Case(1, by_schema("{properties: {spec: {type: object}}}")),
    "pod-templates": Case(1, {"job.yaml": f"{MAPPINGS}---\n{TASK_JOB}"}, ("check", "job.yaml")),
    "drawn": Case(1, {"job.yaml": JOB.replace("image:", WITH_MAP + "image:")}, ("graph", "job.yaml")),
}


def laid_out(folder: Path, files: dict[str, str]) -> Path:
    (folder / ".git").mkdir()
    for name, text in {"inventory.yaml": INVENTORY, **files}.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_there_is_a_case_for_every_limit() -> None:
    assert {*CASES, "seconds", "cel-seconds", "revision-files", "revision-bytes"} == set(LIMITS)


@pytest.mark.parametrize("name", mark_others(CASES, every=4))
def test_reaching_a_limit_is_exit_4_with_a_sentence_that_names_it(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    folder = laid_out(tmp_path, case.files)
    with chdir(folder):
        assert here(*case.command).code in (0, 1)
    run = podplan(*case.command, cwd=folder, env={"PODPLAN_LIMITS": f"{name}={case.value}"})
    said = " ".join((run.out + run.err).split())
    assert run.code == 4, said
    assert name in said
    assert "PODPLAN_LIMITS" in said
    assert "; " in said
    for file in case.files:
        assert run.err.count(file) <= 1


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("file-bytes", "a has 5"),
        ("nodes", "a: more than 20 keys and values; "),
        ("aliases", "a: more than 2 aliases; "),
        ("suppressions", "a: more than 1 comments that ignore findings; "),
        ("command-words", 'a: the commands and variables of container "main" have more than 1 words; '),
        ("drawn", "a: a picture of count would have 3 parts, and at most 1 are drawn "),
        ("replicas", "a: this is about 3 replicas, too many to write them all out; "),
        ("written-text", "a: this is more than 100 characters of YAML; "),
        ("document-text", "a: one document is more than 100 characters of YAML; "),
    ],
)
def test_a_file_whose_name_is_in_the_sentence_anyway_is_named(name: str, said: str, tmp_path: Path) -> None:
    """A sentence was taken to name the file if the name was anywhere in it, as "a" was."""
    case = CASES[name]
    folder = laid_out(tmp_path, {"a": case.files["job.yaml"]})
    run = podplan(case.command[0], "a", cwd=folder, env={"PODPLAN_LIMITS": f"{name}={case.value}"})
    assert run.code == 4
    assert run.err.startswith(f"podplan: {said}"), run.err
    assert run.err.count("a: ") == ("a: " in said)


def test_of_several_files_the_one_with_the_most_replicas_is_named(tmp_path: Path) -> None:
    files = {name: JOB.replace("name: count", f"name: {name[0]}") for name in ("a.yaml", "b.yaml", "c.yaml")}
    files["b.yaml"] = files["b.yaml"].replace("replicas: 3", "replicas: 4")
    run = podplan("lower", ".", cwd=laid_out(tmp_path, files), env={"PODPLAN_LIMITS": "replicas=9"})
    assert (run.code, run.out) == (4, "")
    assert run.err.startswith("podplan: b.yaml: this, with the other files, is about 10 replicas, too many ")


def test_a_profile_that_does_not_render_is_named_once(tmp_path: Path) -> None:
    folder = laid_out(tmp_path, profile(""))
    limit = {"PODPLAN_LIMITS": "document-text=100"}
    said = "one document is more than 100 characters of YAML; look for aliases of a long text in it"
    for command, names in (("render", "job.yaml: "), ("test", "job.yaml does not render: ")):
        run = podplan(
            command, *(["--update", "--all"] if command == "test" else ["job.yaml"]), cwd=folder, env=limit
        )
        assert run.code == 4
        assert run.err.startswith(f"podplan: {names}{said}"), run.err


@pytest.mark.parametrize("text", [CASES["cel-length"].files["policies/ORG001.yaml"], VAP], ids=["own", "vap"])
@pytest.mark.parametrize("name", ["cel-length", "cel-bytes"])
def test_a_policy_whose_expressions_are_too_much_is_named_where_it_is_read(
    name: str, text: str, tmp_path: Path
) -> None:
    case = CASES[name]
    folder = laid_out(tmp_path, case.files | {"policies/ORG001.yaml": text})
    run = podplan("check", ".", cwd=folder, env={"PODPLAN_LIMITS": f"{name}={case.value}"})
    assert run.code == 4
    assert run.err.startswith("podplan: policies/ORG001.yaml: "), run.err
    assert run.err.count("policies/ORG001.yaml") == 1


def test_a_base_that_reaches_a_limit_is_named_besides_the_profile(tmp_path: Path) -> None:
    """The name of the profile is in that of its base, so nobody said whose base it is."""
    with_aliases = base("a", "replicas: 1") + CASES["aliases"].files["job.yaml"].removeprefix(JOB)
    files = {"bases/job.yaml": with_aliases, **profile("  extends: [bases/job.yaml]\n")}
    run = podplan("check", "job.yaml", cwd=laid_out(tmp_path, files), env={"PODPLAN_LIMITS": "aliases=2"})
    assert run.code == 4
    assert run.err.startswith("podplan: job.yaml: bases/job.yaml: more than 2 aliases; ")


def test_a_text_that_no_file_had_is_named_as_the_file_that_it_stands_for() -> None:
    """An editor, a revision or standard input gives it."""
    with pytest.raises(LimitExceeded, match=r"^a: larger than 8,388,608 bytes; split the file ") as caught:
        parse_yaml(b"x" * (MAX_FILE_BYTES + 1), "a")
    assert caught.value.file == "a"


def test_a_limit_that_was_reached_knows_its_file_in_another_process_too() -> None:
    error = LimitExceeded("this is too much; split it").with_file("a")
    for one in (error, pickle.loads(pickle.dumps(error))):
        assert (str(one), one.file) == ("a: this is too much; split it", "a")
        assert str(one.with_file("a")) == str(one.with_file("")) == str(one)
        assert str(one.with_file("b")) == "b: a: this is too much; split it"
    assert str(LimitExceeded("a has 9 bytes", "a").with_file("a")) == "a has 9 bytes"


def test_what_is_beyond_a_limit_is_named_and_keeps_nobody_else_from_being_checked(tmp_path: Path) -> None:
    """A rendered CR whose source is not checked ended the run, and no sentence said which file it was."""
    words = "[echo, " + ", ".join(["word"] * 60) + "]"
    files = {
        "long.yaml": JOB.replace("[echo, $(rank)]", words).replace("count", "long"),
        "job.yaml": PROFILE.replace("[train.py]", words),
        "bad.yaml": BAD_JOB,
    }
    folder = laid_out(tmp_path, files)
    with chdir(folder):
        (folder / "rendered.yaml").write_text(here("render", "job.yaml").out)
    limit = {"PODPLAN_LIMITS": "command-words=50"}
    run = podplan("check", "long.yaml", "rendered.yaml", "bad.yaml", cwd=folder, env=limit)
    assert run.code == 4
    for name in ("long.yaml", "rendered.yaml"):
        assert f'podplan: {name}: the commands and variables of container "' in run.err
    alone = podplan("check", "bad.yaml", cwd=folder)
    assert alone.code == 1
    assert alone.out.rpartition("\n\n")[0] in run.out


def test_what_is_printed_is_given_up_as_soon_as_it_is_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job with 200 KB in an argument was made 100,000 times before anything was printed."""
    monkeypatch.setattr(spool, "MAX_OUTPUT_TEXT", 1_000)
    texts = repeat("a: 1\n", 10_000)
    with pytest.raises(LimitExceeded, match="more than 1,000 characters"):
        rendering.join_documents(texts)
    assert next(texts)


def test_expressions_that_make_nothing_count_too(tmp_path: Path) -> None:
    """A file has room for a million of them, and a matrix makes a thousand instances of it."""
    folder = laid_out(tmp_path, profile(f"""  workingDir: "/{"${{ '' }}" * 100}"\n"""))
    assert podplan("check", ".", cwd=folder, env={"PODPLAN_LIMITS": "expression-results=2000"}).code != 4
    run = podplan("check", ".", cwd=folder, env={"PODPLAN_LIMITS": "expression-results=1000"})
    assert run.code == 4
    assert "expression-results" in run.out


DEEP = "container." + ".".join(["a"] * 1_000) + "=1"


@pytest.mark.parametrize(
    ("sets", "code", "said"),
    [
        ([DEEP], 2, "…=1: a path has at most 100 fields"),
        (["labels." + DEEP], 2, "…=1: a path has at most 100 fields"),
        (["a." * 10**5 + "=1"], 2, "…=1: a path has at most 100 fields"),
        (["k" * 10**6], 2, '--set wants KEY=VALUE, not "kkk'),
        (["k" * 10**6 + "=1"], 2, 'there is no field "kkk'),
        (["env.B=" + "v" * 10**6], 0, ""),
        (["container." + ".".join(["a"] * 99) + "=1"], 1, "unknown field"),
        (["container." + ".".join(["a"] * 100) + "=1"], 2, "a path has at most 100 fields"),
        ([f"unknown{number}=1" for number in range(2_000)], 2, 'there is no field "unknown0"'),
        ([f"labels.a{number}=1" for number in range(10_000)], 0, ""),
    ],
    ids=[
        *("deep", "deep label", "deepest", "no value", "key", "value"),
        *("as deep as may be", "one too many", "many unknown", "many"),
    ],
)
def test_flags_of_any_length_and_number(sets: list[str], code: int, said: str, tmp_path: Path) -> None:
    """What is deep ended in a RecursionError, and a flag without a value was repeated whole."""
    with chdir(laid_out(tmp_path, profile(""))):
        started = time.process_time()
        run = here("check", *(word for one in sets for word in ("--set", one)), "job.yaml")
        assert time.process_time() - started < 10
    assert run.code == code, run.err
    assert said in run.out + run.err
    assert len(run.err) < 2_000


@pytest.mark.parametrize("key", [DEEP, "a." * 10**6, "k" * 10**6, "unknown"])
def test_a_flag_that_nothing_uses_changes_nothing(key: str, tmp_path: Path) -> None:
    """A CR takes no flag, so none is wrong there, and its length is no work."""
    with chdir(laid_out(tmp_path, {"job.yaml": JOB})):
        plain = here("check", "job.yaml")
        started = time.process_time()
        assert here("check", "--set", f"{key}=1", "job.yaml") == plain
        assert time.process_time() - started < 2


def test_a_rendered_file_that_names_what_is_too_deep_is_one_that_nothing_renders(tmp_path: Path) -> None:
    """Of a header, which a pull request brings, it was the same RecursionError, and the end of the run."""
    folder = laid_out(
        tmp_path, profile("") | {"deep.yaml": f"# podplan: rendered from job.yaml --set {DEEP}\n{JOB}"}
    )
    with chdir(folder):
        run = here("check", "deep.yaml", "job.yaml")
    assert run.code == 1, run.err
    assert "job.yaml, which this was rendered from, no longer renders it: --set container.a.a" in run.out
    assert "…=1: a path has at most 100 fields" in run.out


@pytest.mark.long
def test_a_run_that_takes_too_long_is_given_up() -> None:
    command = [sys.executable, "-m", "podplan", "check", "-"]
    environment = {**os.environ, "PODPLAN_LIMITS": "seconds=1"}
    reads = subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    assert reads.wait(30) == 4  # nobody writes to it, and nobody closes it
    assert reads.stdin is not None
    assert reads.stderr is not None
    said = reads.stderr.read().decode()
    reads.stdin.close()
    assert "the limit seconds is 1; PODPLAN_LIMITS=seconds=N sets another" in said


@pytest.mark.parametrize(
    "text", ["objcts=1", "objects", "objects=", "objects=0", "objects=-1", "objects=1e3", "=1"]
)
def test_a_limit_that_is_misspelt_is_a_wrong_request(text: str, folder: Path) -> None:
    run = podplan("check", "job.yaml", cwd=folder, env={"PODPLAN_LIMITS": text})
    assert run.code == 2
    assert run.err.startswith("podplan: PODPLAN_LIMITS: ")


def test_several_limits_are_set_at_once(folder: Path) -> None:
    run = podplan("lower", "job.yaml", cwd=folder, env={"PODPLAN_LIMITS": "objects=9, replicas=2,"})
    assert (run.code, run.out) == (4, "")
    assert "the limit replicas is 2" in run.err


def test_the_highest_numbers_are_as_good_as_none(tmp_path: Path) -> None:
    """Seconds that no timer takes were an internal error."""
    folder = laid_out(tmp_path, cel("object.spec.replicaSpecs.size() > 0"))
    highest = ",".join(f"{name}={10**15 - 1}" for name in LIMITS)
    run = podplan("check", ".", cwd=folder, env={"PODPLAN_LIMITS": highest})
    assert run.code in (0, 1), run.err


def test_no_file_in_the_repository_sets_a_limit(folder: Path) -> None:
    (folder / "podplan.toml").write_text("limits = {objects = 1}\n")
    run = podplan("check", ".", cwd=folder)
    assert run.code == 2
    assert 'unknown key "limits"' in run.err or '"limits"' in run.err


def test_the_page_has_every_limit() -> None:
    text = (DOCS / "limits.md").read_text()
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| ([\d,]+) \|", text, re.MULTILINE))
    assert {name: int(value.replace(",", "")) for name, value in rows.items()} == LIMITS
    assert f"{MAX_DEPTH} levels" in text
    assert f"{MAX_FILE_DIAGNOSTICS:,} parser findings" in text
