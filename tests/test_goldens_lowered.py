"""What must hold for the lowered objects of every golden, whatever the golden says."""

from __future__ import annotations

from contextlib import chdir
from functools import cache
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from podplan.cli.plan_loader import LoadedPlans
from podplan.pipeline import JobPlan
from tests import lowered_invariants
from tests.golden_cases import Case, cases, copy, produced
from tests.lowered_objects import Lowered, Object, written_out
from tests.rows import each_row

ALL = list(cases())
each_case = each_row("case", ALL, ids=attrgetter("id"))
OVER_SSH = ("DeepSpeedJob", "ColossalAIJob")


def _with_name(plan: JobPlan, uid: str) -> Object:
    """The CR of a plan, with the uid that it is lowered with."""
    assert plan.cr is not None
    metadata = plan.cr.data["metadata"]
    return {**plan.cr.data, "metadata": {**metadata, "uid": metadata.get("uid") or uid}}


@cache
def lower_case(case: Case) -> tuple[list[JobPlan], LoadedPlans]:
    """The plans of a case, from a folder that has its inputs only."""
    with TemporaryDirectory() as folder, chdir(folder):
        copy(case.inputs, case.folder, Path(folder))
        return produced(case)


def _jobs(case: Case) -> list[tuple[Object, Lowered]]:
    """Each CR of a case with all that it is lowered to."""
    plans, made = lower_case(case)
    assert plans
    uid = made.run_settings.settings.lowering_options.uid
    return [(_with_name(plan, uid), written_out(list(plan.replica_groups))) for plan in plans]


@each_case
def test_the_api_server_takes_every_object_and_the_parts_fit(case: Case) -> None:
    for cr, lowered in _jobs(case):
        lowered_invariants.check_objects(lowered)
        lowered_invariants.check_services(lowered)
        lowered_invariants.check_hosts(lowered, lowered_invariants.base(cr))
        lowered_invariants.check_gang(cr, lowered)
        if cr["kind"] == "PyTorchTrainingJob":
            lowered_invariants.check_rendezvous(cr, lowered)
        if cr["kind"] in OVER_SSH:
            lowered_invariants.check_hostfile(cr, lowered)


@each_case
def test_every_part_goes_back_to_a_line_a_flag_or_a_fact(case: Case) -> None:
    for plan in lower_case(case)[0]:
        assert plan.cr is not None
        lowered_invariants.check_origins([plan.cr, *(group.doc for group in plan.replica_groups)])


@each_case
def test_the_golden_holds_these_objects_each_name_once(case: Case) -> None:
    written: list[Any] = [
        found
        for found in yaml.load_all((case.folder / "lowered.yaml").read_text(), yaml.CSafeLoader)
        if found
    ]
    assert written == [found for _, lowered in _jobs(case) for found in lowered.values()]
    metadata = [found["metadata"] for found in written]
    names = [
        (found["kind"], one.get("namespace"), one.get("name") or one["generateName"])
        for found, one in zip(written, metadata, strict=True)
    ]
    assert len(names) == len(set(names))


@each_case
def test_every_volume_that_a_lowered_pod_mounts_from_a_child_is_lowered_too(case: Case) -> None:
    for cr, lowered in _jobs(case):
        own = lowered_invariants.base(cr)
        for pod in lowered.of("Pod").values():
            for volume in pod["spec"].get("volumes", []):
                secret = volume.get("secret", {}).get("secretName", "")
                config = volume.get("configMap", {}).get("name", "")
                for kind, name in (("Secret", secret), ("ConfigMap", config)):
                    if name.startswith(f"{own}-"):
                        assert _keys(volume) <= set(lowered[kind, name]["data"])


def _keys(volume: Object) -> set[str]:
    items = [*volume.get("secret", {}).get("items", []), *volume.get("configMap", {}).get("items", [])]
    return {item["key"] for item in items}
