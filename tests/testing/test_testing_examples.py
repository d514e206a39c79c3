"""podplan test: the examples of policies, of a repository and our own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podplan.core.provenance import TracedDocument
from podplan.lint.registry import load_builtin_policies, load_policy_documents
from podplan.tools.repository_tests.examples import _group_by_code, run_examples
from podplan.yaml import parse_yaml
from tests.command import podplan
from tests.testing.repository import edit
from tests.work_counts import slowdown


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
        (
            "  verdict: good",
            "  verdict: good\n  kubernetes: '1.9'",
            "the example cannot be checked: kubernetes: there are no schemas of Kubernetes 1.9",
        ),
    ],
)
def test_examples_keep_their_promises(folder: Path, old: str, new: str, said: str) -> None:
    edit(folder / "rules" / "own.yaml", old, new)
    run = podplan("test", "rules", cwd=folder)
    assert run.code == (1 if said else 0)
    assert said in run.out, run.out


def test_an_example_beyond_the_bounds_fails() -> None:
    deep: dict[str, Any] = {}
    for _ in range(200):
        deep = {"a": deep}
    data = {"examples": [{"name": "deep", "verdict": "good", "object": deep}]}
    origin = TracedDocument("own.yaml", data, source=parse_yaml(b"{}", "own.yaml").documents[0])
    outcome = run_examples(
        [load_builtin_policies()[0]._replace(origin_doc=origin, tests_doc=origin)], (), "1.34"
    )
    assert [one.message for one in outcome.failures if "the example cannot be checked: " in one.message]


def test_the_parts_of_a_policy_are_put_together_in_one_go() -> None:
    """An admission policy makes one for each object of params; each copied those before it."""
    one = next(iter(load_builtin_policies()))

    def together(number: int) -> None:
        assert [len(parts) for parts in _group_by_code([one] * number)] == [number]

    assert slowdown(together, 4_000, 16_000) < 9


@pytest.mark.long  # tests/test_policies.py has them all, one by one
def test_our_own_policies_pass() -> None:
    data = {one["id"]: one for one in load_policy_documents()}
    source = parse_yaml(b"{}", "policy.yaml").documents[0]
    some = [
        policy._replace(origin_doc=doc, tests_doc=doc)
        for policy in load_builtin_policies()
        if policy.rule.code.startswith(("CR", "DIST", "PROF"))
        for doc in [TracedDocument(policy.file, data[policy.rule.code], source=source)]
    ]
    outcome = run_examples(some, (), "1.34")
    assert outcome.test_count > len(some) > 20
    assert outcome.failures == ()
    assert all(one.is_covered for one in outcome.covered_items)


def test_names_of_strangers_move_no_cursor_and_are_not_told_whole(folder: Path) -> None:
    strange = f'name: "\\e[2J no labels {"a" * 100_000}"'
    edit(folder / "rules" / "own.yaml", "name: no labels", strange)
    edit(folder / "rules" / "own.yaml", "at: [/metadata]", "at: [/spec]")
    run = podplan("test", cwd=folder)
    assert run.code == 1
    assert "\\x1b[2J no labels aaa" in run.out
    assert "\x1b" not in run.out
    assert len(run.out) < 10_000
