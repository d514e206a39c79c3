"""Comments and annotations that silence findings: what they cover, and when they do not."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podplan.check import Result, check, check_sources
from podplan.findings import Finding, pointer
from podplan.limits import MAX_SUPPRESSIONS
from podplan.lint.catalogue import ours
from podplan.lint.directives import directive
from podplan.lint.selection import Selection
from podplan.lint.terms import Terms, default_ruling
from podplan.pipeline import Settings
from podplan.reading import Reader
from podplan.source import read
from tests.command import podplan
from tests.effort import examples

pytestmark = pytest.mark.usefixtures("elsewhere")

JOB = """\
apiVersion: batch.tensorstack.dev/v1beta1
kind: GenericJob
metadata:
  name: count
spec:
  replicaSpecs:
  - type: main
    replicas: 2
    template:
      spec:
        hostNetwork: true
        containers:
        - name: main
          image: busybox:1.36
          securityContext: {privileged: true}
  - type: side
    replicas: 1
    template:
      spec:
        hostIPC: true
        containers:
        - name: side
          image: busybox:1.36
"""
HOST, IPC, PRIVILEGED = "SEC001 11", "SEC001 20", "SEC002 15"
ALL = [HOST, PRIVILEGED, IPC]
WHY = "-- our own nodes"
RULES = Selection(select=("SEC001", "SEC002", "LINT", "YAML010"))


def settings_for(selection: Selection = RULES, **terms: object) -> Settings:
    made = Terms(known=ours(), selection=selection)._replace(**terms)  # type: ignore[arg-type]
    return Settings(policies=default_ruling(made).policies, terms=made)


def checked(text: str, selection: Selection = RULES, **terms: object) -> Result:
    return check_sources([read(text.encode(), "job.yaml")], settings_for(selection, **terms), Reader())


def told(found: Iterable[Finding]) -> list[str]:
    return [f"{one.rule} {one.location.line}" for one in found]


def silenced(result: Result) -> list[Finding]:
    return [one for one in result.with_suppressed if one.suppressed]


def beside(line: int, comment: str, text: str = JOB) -> str:
    """``text`` with a comment at the end of a line (1-based)."""
    lines = text.splitlines()
    lines[line - 1] += f"  {comment}"
    return "\n".join(lines) + "\n"


def above(line: int, comment: str, text: str = JOB) -> str:
    """``text`` with a comment on a line of its own above a line (1-based)."""
    lines = text.splitlines()
    indent = len(lines[line - 1]) - len(lines[line - 1].lstrip())
    return "\n".join([*lines[: line - 1], " " * indent + comment, *lines[line - 1 :]]) + "\n"


def test_the_job_has_something_to_silence() -> None:
    assert told(checked(JOB).findings) == ALL


@pytest.mark.parametrize(
    ("line", "covered"),
    [
        (1, []),  # apiVersion alone
        (5, ALL),
        (6, ALL),
        (7, [HOST, PRIVILEGED]),  # an entry, with its dash
        (8, []),
        (9, [HOST, PRIVILEGED]),
        (11, [HOST]),
        (13, [PRIVILEGED]),
        (15, [PRIVILEGED]),
        (16, [IPC]),
    ],
)
def test_beside_a_line(line: int, covered: list[str]) -> None:
    result = checked(beside(line, f"# podplan: ignore[SEC] {WHY}"))
    unused = [] if covered else [f"LINT005 {line}"]
    assert told(silenced(result)) == covered
    assert sorted(told(result.findings)) == sorted([one for one in ALL if one not in covered] + unused)
    assert all(one.reason == "our own nodes" for one in silenced(result))
    assert result.summary.suppressed == len(covered)


@pytest.mark.parametrize(
    ("line", "covered"),
    [(1, ALL), (2, []), (5, ALL), (7, [HOST, PRIVILEGED]), (11, [HOST]), (13, [PRIVILEGED]), (16, [IPC])],
)
def test_above_a_line(line: int, covered: list[str]) -> None:
    result = checked(above(line, f"# podplan: ignore[SEC] {WHY}"))
    before = [one for one in silenced(result) if one.location.line <= line]
    assert before == []
    assert told(silenced(result)) == [f"{one[:6]} {int(one[7:]) + 1}" for one in covered]


def test_above_a_line_other_comments_and_empty_lines_may_follow() -> None:
    result = checked(
        JOB.replace("        hostNetwork", f"# podplan: ignore[SEC001] {WHY}\n\n# so\n        hostNetwork")
    )
    assert told(silenced(result)) == ["SEC001 14"]


def test_whole_files_and_documents() -> None:
    two = JOB + "---\n" + JOB.replace("name: count", "name: other")
    assert len(silenced(checked(f"{two}# podplan: ignore-file[SEC001] {WHY}\n"))) == 4
    assert len(silenced(checked(above(24, f"# podplan: ignore[SEC001] {WHY}", two)))) == 0, (
        "nothing in between"
    )
    second = checked(two.replace("---\n", f"---\n# podplan: ignore[SEC001] {WHY}\n"))
    assert [one.location.line > 24 for one in silenced(second)] == [True, True]


@pytest.mark.parametrize("rule", ["SEC001", "SEC", "SEC00", "host-namespaces", "SEC002, host-namespaces"])
def test_codes_prefixes_and_names(rule: str) -> None:
    assert told(silenced(checked(beside(11, f"# podplan: ignore[{rule}] {WHY}")))) == [HOST]


def test_a_hash_in_a_scalar_is_no_comment() -> None:
    line = "          args: [\"# podplan: ignore-file[SEC] -- x\", '# podplan: ignore-file[SEC] -- x']\n"
    block = (
        "          command:\n          - |\n            # podplan: ignore-file[SEC] -- x\n            run\n"
    )
    for more in (line, block, line + block, line.replace('"#', '"\\\n            #')):
        result = checked(
            JOB.replace(
                "          image: busybox:1.36\n          sec", f"{more}          image: a\n          sec"
            )
        )
        assert silenced(result) == []
        assert len(result.findings) == 3
    header = "          command:\n          - |  # podplan: ignore-file[SEC] -- x\n            run\n"
    assert (
        len(
            silenced(
                checked(
                    JOB.replace(
                        "          image: busybox:1.36\n          sec",
                        f"{header}          image: a\n          sec",
                    )
                )
            )
        )
        == 3
    )


def test_an_alias_is_covered_where_it_stands() -> None:
    text = JOB.replace("{privileged: true}", "&rights {privileged: true}").replace(
        "        - name: side\n",
        f"        - name: side\n          securityContext: *rights  # podplan: ignore[SEC002] {WHY}\n",
    )
    assert [pointer(one.location.path) for one in silenced(checked(text))] == [
        "/spec/replicaSpecs/1/template/spec/containers/0/securityContext/privileged"
    ]


NO_RULE = "LINT002 no rule has the code, group or name"
MALFORMED = {
    "# podplan: ignore": "LINT001 this does not say which rules to ignore; the form is ",
    "# podplan: ignore[] -- x": "LINT001 this does not say which rules to ignore",
    "# podplan: ignroe[SEC001] -- x": 'LINT001 podplan knows no "ignroe" here; did you mean "ignore"',
    "# podplan: ignore-line[SEC001] -- x": 'LINT001 podplan knows no "ignore-line" here; did you mean',
    "# podplan: ignore[SEC001] because": 'LINT001 this cannot be read from "because" on',
    "# podplan: ignore[SEC001] until=soon -- x": 'LINT001 until wants a day as YYYY-MM-DD, not "soon"',
    "# podplan: ignore[SEC001] until=2026-02-30 -- x": "LINT001 until wants a day",
    "# podplan: ignore[SEC001] -- x until=2026-12-31": "LINT001 until stands before",
    "# podplan: ignore[SEC001]": "LINT003 this does not say why, so that it silences nothing",
    "# podplan: ignore[SEC001] --": "LINT003 this does not say why",
    "# podplan: ignore[SEC0O1] -- x": f'{NO_RULE} "SEC0O1"; did you mean "SEC0',
    "# podplan: ignore[ssh-host-keys-x] -- x": f'{NO_RULE} "ssh-host-keys-x"',
    "# podplan: ignore[host-namespace] -- x": f'{NO_RULE} "host-namespace"; did you mean "host-na',
    "# podplan: ignore[S] -- x": f'{NO_RULE} "S"; podplan rules',
    "# podplan: ignore[ALL] -- x": f'{NO_RULE} "ALL"',
    "# podplan: ignore[YAML001] -- x": 'LINT006 "YAML001" cannot be ignored',
    "# podplan: ignore[LINT] -- x": 'LINT006 "LINT" cannot be ignored',
}


@pytest.mark.parametrize("comment", MALFORMED)
def test_what_is_wrong_silences_nothing(comment: str) -> None:
    result = checked(beside(11, comment))
    (fault,) = (one for one in result.findings if one.rule.startswith("LINT"))
    assert silenced(result) == []
    assert f"{fault.rule} {fault.message}".startswith(MALFORMED[comment])
    assert (fault.location.line, fault.location.column) == (11, JOB.splitlines()[10].__len__() + 3)
    assert len(result.findings) == 4


@pytest.mark.parametrize("body", ["rendered from a.yaml", "see the README", "", "checks this file"])
def test_other_comments_are_none_of_ours(body: str) -> None:
    assert directive(body) is None


def test_nothing_below() -> None:
    (fault,) = (
        one for one in checked(f"{JOB}# podplan: ignore[SEC] {WHY}\n").findings if one.rule == "LINT001"
    )
    assert fault.message.startswith("nothing stands below")


def test_a_reason_is_wanted_unless_the_configuration_says_otherwise() -> None:
    result = checked(beside(11, "# podplan: ignore[SEC001]"), require_reasons=False)
    assert [(one.rule, one.reason) for one in silenced(result)] == [("SEC001", "no reason given")]


@pytest.mark.parametrize(
    ("today", "is_silenced"), [("2026-12-30", True), ("2026-12-31", True), ("2027-01-01", False), ("", True)]
)
def test_expiry(today: str, is_silenced: bool) -> None:
    result = checked(beside(11, f"# podplan: ignore[SEC001] until=2026-12-31 {WHY}"), today=today)
    assert bool(silenced(result)) is is_silenced
    assert ("LINT004 11" in told(result.findings)) is not is_silenced
    assert result.summary.today == today
    assert checked(JOB, today=today).summary.today == "", "the day made no difference"


def test_unused_rules_are_told_one_by_one() -> None:
    result = checked(beside(11, f"# podplan: ignore[SEC001, SEC002] {WHY}"))
    (fault,) = (one for one in result.findings if one.rule.startswith("LINT"))
    assert (
        fault.message == '"SEC002" finds nothing here that could be ignored; remove "SEC002" from the comment'
    )


def test_unused_is_said_only_of_what_was_looked_for() -> None:
    text = beside(8, f"# podplan: ignore[SEC005] {WHY}")
    assert "LINT005 8" in told(checked(text, Selection()).findings)
    assert not any("LINT" in one for one in told(checked(text).findings)), "SEC005 is off"
    broken = text.replace("replicas: 1", "replicas: one")
    assert not any("LINT" in one for one in told(checked(broken, Selection()).findings)), "not lowered"
    some = settings_for(Selection())._replace(environments=("dev",))
    found = check_sources([read(text.encode(), "job.yaml")], some, Reader()).findings
    assert not any("LINT" in one for one in told(found)), "not all environments"


def test_mandatory_rules() -> None:
    mandatory = RULES._replace(mandatory=("SEC001",))
    for rule in ("SEC001", "SEC"):
        result = checked(beside(11, f"# podplan: ignore[{rule}] {WHY}"), mandatory)
        assert told(result.findings)[:2] == [HOST, "LINT006 11"]
        assert silenced(result) == []
    assert HOST in told(checked(JOB, mandatory._replace(ignore=("SEC",))).findings), "mandatory rules are on"


def test_no_ignores() -> None:
    result = checked(beside(11, f"# podplan: ignore[SEC001, RES] {WHY}"), heed_ignores=False)
    assert told(result.findings) == ALL


def test_yaml_faults_on_the_line_of_a_comment() -> None:
    text = JOB.replace("busybox:1.36\n          sec", "1e3\n          sec").replace(
        "image: 1e3", "imagePullPolicy: yes"
    )
    line = text[: text.index("yes")].count("\n") + 1
    assert f"YAML010 {line}" in told(checked(text).findings)
    assert f"YAML010 {line}" in told(
        silenced(checked(beside(line, f"# podplan: ignore[YAML010] {WHY}", text)))
    )


def annotated(value: str) -> str:
    return JOB.replace(
        "  name: count\n", f"  name: count\n  annotations: {{lint.podplan.dev/ignore: {value}}}\n"
    )


def test_annotations() -> None:
    result = checked(annotated('"SEC001=our own nodes; SEC002=so"'))
    assert [(one.rule, one.reason) for one in silenced(result)] == [
        ("SEC001", "our own nodes"),
        ("SEC002", "so"),
        ("SEC001", "our own nodes"),
    ]
    assert result.findings == []


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("SEC001", "LINT003 this does not say why"),
        ("SEC001=", "LINT003 this does not say why"),
        ("SEC1=x", 'LINT002 no rule has the code, group or name "SEC1"'),
        ("=x", 'LINT001 "=x" is not RULE=reason'),
        ("SEC005=x", 'LINT005 "SEC005" finds nothing here that could be ignored; remove the annotation'),
    ],
)
def test_annotations_that_do_nothing(value: str, said: str) -> None:
    result = checked(annotated(f'"{value}"'), Selection(select=("SEC", "LINT")))
    (fault,) = (one for one in result.findings if one.rule.startswith("LINT"))
    assert f"{fault.rule} {fault.message}".startswith(said)
    assert fault.location.line == 5
    assert silenced(result) == []


@settings(max_examples=examples(40), deadline=None)
@given(line=st.integers(1, len(JOB.splitlines())), own=st.booleans(), rule=st.sampled_from(["SEC001", "SEC"]))
def test_what_is_silenced_comes_back_without_the_comment(line: int, own: bool, rule: str) -> None:
    """Wherever a comment stands, nothing is lost: each finding is reported or counted as suppressed."""
    comment = f"# podplan: ignore[{rule}] {WHY}"
    result = checked(above(line, comment) if own else beside(line, comment))
    found = [one for one in result.with_suppressed if not one.rule.startswith("LINT")]
    assert sorted((one.rule, one.location.path) for one in found) == sorted(
        (one.rule, one.location.path) for one in checked(JOB).findings
    )
    assert all(one.location.line >= line for one in silenced(result))
    assert bool(silenced(result)) is not any(one.rule == "LINT005" for one in result.findings)


@pytest.mark.parametrize("name", ["[a]", "{a: b}", "1", "null"])
def test_annotations_of_objects_with_odd_names(name: str) -> None:
    text = annotated("SEC001=so").replace("name: count", f"name: {name}")
    assert "SEC001" not in [one.rule for one in checked(text).findings]


def test_nothing_is_unused_in_a_file_that_was_not_read_whole() -> None:
    text = beside(8, f"# podplan: ignore[SEC002] {WHY}") + "---\na: [\n"
    assert "LINT005" not in [one.rule for one in checked(text.replace("privileged: true", "")).findings]


def test_as_many_comments_as_are_read() -> None:
    text = JOB + "# podplan: ignore-file[SEC] -- x\n" * (MAX_SUPPRESSIONS + 1)
    (told,) = checked(text).given_up
    assert "turn the rules off" in told


BASE = """\
apiVersion: podplan/v1
kind: JobProfileBase
metadata: {name: base}
spec:
  job: GenericJob
  pod:
    spec:
      hostNetwork: true
"""
PROFILE = """\
apiVersion: podplan/v1
kind: JobProfile
metadata: {name: NAME}
spec:
  extends: [base.yaml]
  image: busybox:1.36
  run: {exec: [sleep, "1"]}
  replicas: 2
  environments:
    dev: {replicas: 1}
    prod: {replicas: 4}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with two profiles of one base."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "base.yaml").write_text(BASE)
    for name in ("a", "b"):
        (tmp_path / f"{name}.yaml").write_text(PROFILE.replace("NAME", name))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*paths: str) -> Result:
    return check(paths, settings_for(), Reader())


def test_a_comment_in_a_base_silences_what_derives_from_it(folder: Path) -> None:
    assert [(one.rule, one.location.file) for one in run(".").findings] == [("SEC001", "base.yaml")] * 2
    (folder / "x").mkdir()
    (folder / "base.yaml").write_text(beside(8, f"# podplan: ignore[SEC001] {WHY}", BASE))
    for paths in (
        ["."],
        ["./"],
        [str(folder)],
        ["a.yaml"],
        ["a.yaml", "base.yaml"],
        ["./b.yaml", "x/../base.yaml"],
    ):
        result = run(*paths)
        assert result.findings == []
        assert {Path(one.location.file).name for one in silenced(result)} == {"base.yaml"}


def test_a_comment_in_a_profile_silences_only_what_is_its_own(folder: Path) -> None:
    (folder / "a.yaml").write_text(PROFILE.replace("NAME", "a") + f"# podplan: ignore-file[SEC001] {WHY}\n")
    result = run(".")
    assert [one.location.file for one in result.findings] == ["a.yaml", "base.yaml", "base.yaml"]
    assert result.findings[0].rule == "LINT005", "the value is that of the base"
    (folder / "a.yaml").write_text(
        PROFILE.replace("NAME", "a")
        + f"  pod:  # podplan: ignore[SEC001] {WHY}\n    spec: {{hostNetwork: true}}\n"
    )
    assert [one.location.file for one in silenced(run("."))] == ["a.yaml"]


def test_unused_in_a_base_is_said_only_when_all_is_checked(folder: Path) -> None:
    (folder / "base.yaml").write_text(beside(5, f"# podplan: ignore[SEC001] {WHY}", BASE))
    assert [one.rule for one in run("base.yaml").findings] == []
    assert "LINT005" not in told(run("base.yaml", "a.yaml").findings)
    assert [one.rule for one in run(".").findings if one.location.line == 5] == ["LINT005"]


def test_an_annotation_of_a_profile_is_about_its_job(folder: Path) -> None:
    text = PROFILE.replace("{name: NAME}", "{name: a, annotations: {lint.podplan.dev/ignore: SEC001=so}}")
    (folder / "a.yaml").write_text(text)
    result = run(".")
    assert [(one.rule, one.object and one.object["name"]) for one in result.findings] == [("SEC001", "b")]
    assert [one.object and one.object["name"] for one in silenced(result)] == ["a"]


def test_formats_and_exit_codes(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(JOB + f"# podplan: ignore-file[SEC] until=2030-01-01 {WHY}\n")
    flags = ("check", "--select", "SEC001,SEC002", "--today", "2027-03-01")
    full = podplan(*flags, "job.yaml", cwd=tmp_path)
    assert (full.code, full.out) == (
        0,
        "no findings in 1 file, 3 suppressed (1 object, 3 lowered); suppressions judged as of 2027-03-01\n",
    )
    report = json.loads(podplan(*flags, "--format", "json", "job.yaml", cwd=tmp_path).out)
    assert [(one["rule"], one["suppressed"], one["reason"]) for one in report["findings"]] == [
        ("SEC001", True, "our own nodes"),
        ("SEC002", True, "our own nodes"),
        ("SEC001", True, "our own nodes"),
    ]
    assert (report["summary"]["errors"], report["summary"]["suppressed"]) == (0, 3)
    assert report["summary"]["today"] == "2027-03-01"
    assert podplan(*flags, "--no-ignores", "job.yaml", cwd=tmp_path).code == 1
    assert podplan(*flags[:-1], "2030-01-02", "job.yaml", cwd=tmp_path).code == 1
    assert podplan(*flags[:-1], "soon", "job.yaml", cwd=tmp_path).code == 2
    by_the_clock = podplan(*flags[:-2], "job.yaml", cwd=tmp_path).out
    assert "; suppressions judged as of 20" in by_the_clock


def test_lower_and_render_never_look_at_the_clock(tmp_path: Path) -> None:
    text = JOB.replace(
        "    replicas: 2\n",
        "    replicas: 2\n    extra: 1  # podplan: ignore[SCHEMA001] until=2001-01-01 -- ours\n",
    )
    (tmp_path / "job.yaml").write_text(text)
    assert podplan("check", "job.yaml", cwd=tmp_path).code == 1
    assert podplan("lower", "job.yaml", cwd=tmp_path).code == 0
    (tmp_path / "podplan.toml").write_text("today = 2001-01-02\n")
    assert podplan("lower", "job.yaml", cwd=tmp_path).code == 1, "the committed file says which day it is"
