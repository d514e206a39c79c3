"""What holds for the lowered objects of every CR (docs/evidence/anchors.md#invariants-of-a-lowered-job)."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from podplan import kubernetes
from podplan.core import replica_groups
from podplan.core.limits import MAX_EXPANDED_REPLICAS
from podplan.core.provenance import Path, TracedDocument, build_traced_document, trace_to_source
from podplan.core.replica_groups import LoweringOptions, ReplicaGroup, build_at_index
from podplan.kinds.registry import lower_cr
from podplan.schema import validate_cr
from tests.lowered_invariants import (
    base,
    check_gang,
    check_hostfile,
    check_hosts,
    check_objects,
    check_origins,
    check_rendezvous,
    check_services,
    value_at,
)
from tests.lowered_objects import (
    Lowered,
    Object,
    document,
    lower,
    objects,
    parts,
    written_out,
)
from tests.strategies import MANY, crs, odd_crs
from tests.thoroughness import examples

checked = settings(max_examples=examples(60), deadline=None, derandomize=True)
resumed = st.booleans()

# Facts by which a value depends on how many replicas there are.
COUNTED = {
    "podgroup.min-member",
    "colossalai.min-member",
    "pytorch.world-size",
    "pytorch.rank",
    "pytorch.torchrun-arguments",
    "generic.substitution",
    "ssh.hostfile",
}


@checked
@given(crs(MANY))
def test_the_strategies_make_valid_crs(cr: Object) -> None:
    found = validate_cr(cr, kubernetes.DEFAULT_VERSION)
    assert found.diagnostics == []
    assert found.is_lowerable


@checked
@given(crs(), resumed)
def test_a_valid_cr_gives_objects_that_the_api_server_takes(cr: Object, goes_on: bool) -> None:
    check_objects(objects(cr, resumed=goes_on))


@checked
@given(crs(MANY), resumed)
def test_every_part_of_every_object_has_an_origin(cr: Object, goes_on: bool) -> None:
    check_origins(group.doc for group in lower(cr, resumed=goes_on))


@checked
@given(crs())
def test_written_out_objects_have_the_parts_of_their_template(cr: Object) -> None:
    for group in lower(cr):
        template = [path for path, _ in parts(group.doc.data)]
        for found in replica_groups.expand_group(group):
            assert [path for path, _ in parts(found)] == template


@checked
@given(crs(MANY), st.integers(0, 2_147_483_647))
def test_a_template_stands_for_what_lowering_gives_at_each_index(cr: Object, index: int) -> None:
    trees: list[tuple[TracedDocument, Any]] = []

    def keep(tree: Any, name: str, start: int = 0) -> TracedDocument:
        doc = build_traced_document(tree, name, start)
        trees.append((doc, tree))
        return doc

    with patch.object(replica_groups, "build_traced_document", keep):
        lowered = lower(cr)
    for group in lowered:
        (tree,) = (tree for doc, tree in trees if doc is group.doc)
        assert all(isinstance(value_at(group.doc.data, path), str) for path in group.doc.replica_texts)
        if group.doc.data["kind"] != "ConfigMap":
            assert build_at_index(group.doc, index) == build_traced_document(tree, "", index).data


@checked
@given(crs())
def test_names_are_unique_and_every_service_stands_for_one_pod(cr: Object) -> None:
    check_services(objects(cr))


@checked
@given(crs(), resumed)
def test_every_replica_that_is_named_can_be_reached(cr: Object, goes_on: bool) -> None:
    check_hosts(objects(cr, resumed=goes_on), base(cr))


@checked
@given(crs(systems=["PyTorchTrainingJob"]))
def test_ranks_are_counted_once_each_and_one_pod_owns_the_rendezvous(cr: Object) -> None:
    check_rendezvous(cr, objects(cr))


@checked
@given(crs(systems=["DeepSpeedJob", "launcher", "replicaSpecs"]))
def test_the_hostfile_lists_the_workers_with_all_their_slots(cr: Object) -> None:
    check_hostfile(cr, objects(cr))


@checked
@given(crs(), resumed)
def test_a_gang_never_needs_more_pods_than_there_are(cr: Object, goes_on: bool) -> None:
    check_gang(cr, objects(cr, resumed=goes_on))


def workers(cr: Object) -> list[Object]:
    """The parts of a CR that say how many replicas of a type there are."""
    spec = cr["spec"]
    specs = [spec["worker"]] if "worker" in spec else spec["replicaSpecs"]
    return [entry for entry in specs if entry.get("type") != "launcher"]


@checked
@given(crs(st.integers(1, 4)), st.integers(0, 2))
def test_one_replica_more_adds_objects_and_changes_only_what_is_counted(cr: Object, which: int) -> None:
    more = copy.deepcopy(cr)
    entry = workers(more)[which % len(workers(more))]
    entry["replicas"] = entry.get("replicas", 1) + 1
    before, after = lower(cr), lower(more)
    old, new = written_out(before), written_out(after)
    reasons, later = reasons_by_part(before), reasons_by_part(after)
    assert old.keys() <= new.keys()
    for name, found in old.items():
        mine, others = dict(parts(found)), dict(parts(new[name]))
        assert mine.keys() == others.keys()
        for path, value in mine.items():
            if value != others[path] and not isinstance(value, dict | list):
                assert (reasons[name][path] | later[name][path]) & COUNTED


def reasons_by_part(lowered: list[ReplicaGroup]) -> dict[tuple[str, str], dict[Path, set[str]]]:
    """The ids of the facts behind each part of each object."""
    found = {}
    for group in lowered:
        reasons = {
            path: {
                step.origin.behavior.id
                for step in trace_to_source(group.doc, path)
                if step.origin and step.origin.behavior
            }
            for path, _ in parts(group.doc.data)
        }
        for each in replica_groups.expand_group(group):
            found[each["kind"], each["metadata"]["name"]] = reasons
    return found


@checked
@given(crs(), st.randoms(use_true_random=False))
def test_the_order_of_variables_does_not_matter(cr: Object, shuffler: Any) -> None:
    shuffled = copy.deepcopy(cr)
    for _, part in parts(shuffled):
        if isinstance(part, dict) and isinstance(part.get("env"), list):
            shuffler.shuffle(part["env"])
    assert in_order(objects(shuffled)) == in_order(objects(cr))


def in_order(lowered: Lowered) -> Lowered:
    """The objects with variables and lines of files sorted."""
    for found in lowered.values():
        for _, part in parts(found):
            if isinstance(part, dict) and isinstance(part.get("env"), list):
                part["env"] = sorted(part["env"], key=lambda entry: entry["name"])
            if isinstance(part, dict) and "deepspeed_env" in part:
                part["deepspeed_env"] = Counter(part["deepspeed_env"].split("\n"))
    return lowered


@checked
@given(crs(MANY))
def test_lowering_is_a_function_of_the_cr_alone(cr: Object) -> None:
    doc, kept = document(cr), copy.deepcopy(cr)
    first, second = (
        [
            (g.doc.name, g.doc.data, g.doc.replica_texts, g.doc.origins, *g[1:])
            for g in lower_cr(doc, {}, LoweringOptions())
        ]
        for _ in range(2)
    )
    assert first == second
    assert doc.data == kept
    for (_, data, *_), (_, again, *_) in zip(first, second, strict=True):
        assert list(parts(data)) == list(parts(again))


@checked
@given(crs())
def test_a_uid_only_renames(cr: Object) -> None:
    cr["metadata"].pop("uid", None)
    short, long = objects(cr), objects(cr, uid="0b3d")
    assert len(short) == len(long)
    assert Counter(kind for kind, _ in short) == Counter(kind for kind, _ in long)
    for found in long.values():
        (owner,) = found["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["uid"]) == (cr["kind"], cr["metadata"]["name"], "0b3d")


# Most odd CRs are refused, and then there is nothing to lower.
@settings(checked, max_examples=examples(60), suppress_health_check=[HealthCheck.filter_too_much])
@given(odd_crs(), resumed)
@pytest.mark.long
def test_what_the_schema_lets_through_is_lowered(cr: Object, goes_on: bool) -> None:
    assume(validate_cr(cr, kubernetes.DEFAULT_VERSION).is_lowerable)
    lowered = lower(cr, resumed=goes_on, uid="0b3d")
    check_origins(group.doc for group in lowered)
    for group in lowered:
        kubernetes.validate_object(group.doc.data)
        assert group.replicas >= 1
        if group.replicas <= 5 and "hostfile" not in group.doc.data.get("data", {}):
            assert len(list(replica_groups.expand_group(group))) == group.replicas < MAX_EXPANDED_REPLICAS
