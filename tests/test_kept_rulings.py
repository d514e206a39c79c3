"""What is worked out for a file is kept for the next one of its kind, and no more of it than a bound."""

from __future__ import annotations

import pytest

from podplan.checker.check import check_sources
from podplan.lint import policy_runner
from podplan.lint.policy import Policy
from podplan.lint.registry import load_builtin_policies
from podplan.lint.target import CACHE_SIZE, LoweredJob, cache_recent
from podplan.pipeline import PipelineSettings
from podplan.workspace.loader import Loader
from podplan.yaml import parse_yaml
from podplan.yaml.writer import emit_documents
from tests.policy_examples import build_inventory


def test_policies_are_sorted_once_for_each_ruling_however_the_files_take_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sorted_out: list[int] = []
    whole = policy_runner._select_applicable_policies

    def counted(policies: tuple[Policy, ...], job: LoweredJob) -> policy_runner.ApplicablePolicies:
        sorted_out.append(id(policies))
        return whole(policies, job)

    monkeypatch.setattr(policy_runner, "_select_applicable_policies", counted)
    levels = {"a": "restricted", "b": "baseline", "c": "privileged"}
    spaces = {name: {"podSecurity": level} for name, level in levels.items()}
    container = {"name": "main", "image": "registry.example.com/train:1"}
    spec = {"replicaSpecs": [{"type": "worker", "template": {"spec": {"containers": [container]}}}]}
    crs = [
        {
            "apiVersion": "batch.tensorstack.dev/v1beta1",
            "kind": "PyTorchTrainingJob",
            "metadata": {"name": f"job-{number}", "namespace": "abc"[number % 3]},
            "spec": spec,
        }
        for number in range(12)
    ]
    sources = [parse_yaml(emit_documents([cr]).encode(), f"{number}.yaml") for number, cr in enumerate(crs)]
    settings = PipelineSettings(policies=tuple(load_builtin_policies()))
    check_sources(sources, settings, Loader(build_inventory({"namespaces": spaces})))
    assert len(sorted_out) == len(set(sorted_out)) == len(levels)


def test_a_few_things_are_kept_and_the_first_is_let_go() -> None:
    made: list[str] = []

    def upper(name: str) -> str:
        made.append(name)
        return name.upper()

    kept = cache_recent(upper)
    first, *others = names = [f"name {number}" for number in range(CACHE_SIZE + 1)]
    for name in (*names, *others, first):
        assert kept(name) == name.upper()
    assert made == [*names, first]


def test_nothing_gets_what_was_kept_for_something_that_is_gone() -> None:
    kept = cache_recent(tuple[int])
    assert [kept([number]) for number in range(1000)] == [(number,) for number in range(1000)]
