"""What a comment covers: lines, entries, documents and files, and the rules that it names."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podplan.core.findings import to_json_pointer
from tests.suppressing.job import ALL, HOST, IPC, JOB, PRIVILEGED, WHY, above, beside, checked, silenced, told
from tests.thoroughness import examples


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
    assert [to_json_pointer(one.location.path) for one in silenced(checked(text))] == [
        "/spec/replicaSpecs/1/template/spec/containers/0/securityContext/privileged"
    ]


def test_yaml_faults_on_the_line_of_a_comment() -> None:
    text = JOB.replace("busybox:1.36\n          sec", "1e3\n          sec").replace(
        "image: 1e3", "imagePullPolicy: yes"
    )
    line = text[: text.index("yes")].count("\n") + 1
    assert f"YAML010 {line}" in told(checked(text).findings)
    assert f"YAML010 {line}" in told(
        silenced(checked(beside(line, f"# podplan: ignore[YAML010] {WHY}", text)))
    )


@settings(max_examples=examples(40), deadline=None)
@given(line=st.integers(1, len(JOB.splitlines())), own=st.booleans(), rule=st.sampled_from(["SEC001", "SEC"]))
def test_what_is_silenced_comes_back_without_the_comment(line: int, own: bool, rule: str) -> None:
    """Wherever a comment stands, nothing is lost: each finding is reported or counted as suppressed."""
    comment = f"# podplan: ignore[{rule}] {WHY}"
    result = checked(above(line, comment) if own else beside(line, comment))
    found = [one for one in result.all_findings if not one.rule.startswith("LINT")]
    assert sorted((one.rule, one.location.path) for one in found) == sorted(
        (one.rule, one.location.path) for one in checked(JOB).findings
    )
    assert all(one.location.line >= line for one in silenced(result))
    assert bool(silenced(result)) is not any(one.rule == "LINT005" for one in result.findings)
