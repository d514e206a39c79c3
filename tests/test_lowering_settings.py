"""Each setting of lowering: what it changes in the lowered objects, and that podplan why names it."""

from __future__ import annotations

from typing import Any

from podplan.core.path_syntax import FieldNotFound, resolve_path
from podplan.core.provenance import Path, trace_to_source
from podplan.core.replica_groups import CONFIGURED_BASIS, build_at_index
from podplan.kinds.lowering_options import (
    find_unknown_word,
    list_fixed_behaviors,
    list_lowering_options,
    list_status_behavior_ids,
)
from podplan.kinds.registry import find_kind, name_of
from tests.lowered_objects import Object, lower, names, objects
from tests.lowering_changes import ABSENT, BY_ID, CHANGES, TOLD_AT, WITH
from tests.lowering_jobs import PLAIN, UID
from tests.rows import each_row


def test_every_setting_is_here() -> None:
    assert set(BY_ID) == set(list_lowering_options()) - list_status_behavior_ids()
    assert len(BY_ID) == len(CHANGES)


def part(cr: Object, where: str, values: dict[str, Any], told_at: str | None = None) -> tuple[Any, list[str]]:
    """The part of a lowered object, ABSENT where it is not there, and the settings on the way to it."""
    name, _, text = where.partition(":")
    for group in lower(cr, behavior_values=values):
        for index in range(group.start, group.start + group.replicas):
            data = build_at_index(group.doc, index)
            if f"{data['kind']}/{data['metadata'].get('name')}" != name:
                continue
            try:
                path: Path = resolve_path(data, text)
            except FieldNotFound:
                return ABSENT, []
            named = path if told_at is None else resolve_path(data, told_at) if told_at else ()
            steps = [
                step.origin.behavior for step in trace_to_source(group.doc, named) if step.origin is not None
            ]
            told = [fact.source for fact in steps if fact is not None and fact.basis == CONFIGURED_BASIS]
            value: Any = data
            for step in path:
                value = value[step]
            return value, told
    return ABSENT, []


@each_row("id_", BY_ID)
def test_a_setting_changes_what_it_says(id_: str) -> None:
    _, value, cr, where, becomes = BY_ID[id_]
    others = WITH.get(id_, {})
    before, _ = part(cr, where, others)
    after, told = part(cr, where, {**others, id_: value}, TOLD_AT.get(id_))
    assert after == becomes != before
    assert becomes is ABSENT or f"lowering.{id_}" in told


@each_row("id_", BY_ID)
def test_a_setting_of_a_kind_is_for_that_kind_alone(id_: str) -> None:
    _, value, cr, where, becomes = BY_ID[id_]
    others = WITH.get(id_, {})
    before, _ = part(cr, where, others)
    kind = find_kind(cr["apiVersion"], cr["kind"])
    assert kind is not None
    after, told = part(cr, where, {**others, name_of(kind): {id_: value}}, TOLD_AT.get(id_))
    assert after == becomes
    assert becomes is ABSENT or f"lowering.{name_of(kind)}.{id_}" in told
    assert part(cr, where, {**others, "MPIJob": {id_: value}})[0] == before


@each_row("id_", BY_ID)
def test_a_setting_of_a_group_is_for_its_kinds(id_: str) -> None:
    _, value, cr, where, becomes = BY_ID[id_]
    group = cr["apiVersion"].partition("/")[0]
    after, told = part(cr, where, {**WITH.get(id_, {}), group: {id_: value}}, TOLD_AT.get(id_))
    assert after == becomes
    assert becomes is ABSENT or f"lowering.{group}.{id_}" in told


@each_row("id_", BY_ID)
def test_the_default_said_aloud_changes_nothing(id_: str) -> None:
    cr = BY_ID[id_].cr
    assert objects(cr, behavior_values={id_: list_lowering_options()[id_].value}) == objects(cr)


def test_what_has_no_setting_is_known() -> None:
    """What is not documented and cannot be changed: each is said in docs/lowering.md, with why."""
    assert [fact.id for fact in list_fixed_behaviors() if fact.id not in list_status_behavior_ids()] == [
        "beam.scheduler",
        "colossalai.labels",
        "colossalai.launch-arguments",
        "colossalai.launcher-image",
        "jobset.topology-domain",
        "label.component",
        "label.owner-kind",
        "mpi-operator.cut-workers",
        "mpi.launcher-image",
        "mpi.passed-env",
        "mpi.replica-labels",
        "pytorch.master-addr",
        "service.per-replica",
        "ssh.hostfile",
        "ssh.key-placeholder",
    ]


def test_false_leaves_a_label_out() -> None:
    cr = objects(
        PLAIN,
        behavior_values={"pod.labels": {"tensorstack.dev/owner-kind": False, "replica-index": "{name}"}},
    )
    labels = cr.pod("bert-worker-1")["metadata"]["labels"]
    assert "tensorstack.dev/owner-kind" not in labels
    assert labels["replica-index"] == "bert-worker-1"


def test_a_service_for_the_first_replica_or_for_the_job() -> None:
    services = {
        per: [
            name for name in names(PLAIN, behavior_values={"service.per": per}) if name.startswith("Service/")
        ]
        for per in ("replica", "first", "job")
    }
    assert services == {
        "replica": ["Service/bert-worker-0", "Service/bert-worker-1"],
        "first": ["Service/bert-worker-0"],
        "job": ["Service/bert"],
    }
    lowered = objects(PLAIN, behavior_values={"service.per": "job"})
    spec = lowered.pod("bert-worker-1")["spec"]
    assert (spec["hostname"], spec["subdomain"]) == ("bert-worker-1", "bert")
    assert lowered["Service", "bert"]["spec"]["selector"] == {
        "tensorstack.dev/owner-name": "bert",
        "tensorstack.dev/owner-kind": "PyTorchTrainingJob",
    }


def test_no_digits_after_the_name() -> None:
    cr = {**PLAIN, "metadata": {"name": "bert", "uid": UID}}
    assert "Pod/bert-worker-0" in names(cr, behavior_values={"name.base-suffix": 0})


def test_words_in_braces() -> None:
    known = list_lowering_options()
    assert find_unknown_word(known["pod.name"], "{base}-{typ}-{index}") == "typ"
    assert find_unknown_word(known["pod.labels"], {"a": "{job}", "b": False}) is None
    assert find_unknown_word(known["pytorch.torchrun-arguments"], ["--rdzv_id {jb}"]) == "jb"
    assert find_unknown_word(known["ssh.client-config"], "{x}") is None
