"""What holds for the status of any job, and the rules by which replicas restart and jobs end."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from podplan.core.errors import UsageError
from podplan.core.replica_groups import LoweringOptions
from podplan.kinds.registry import lower_cr
from podplan.report import status as reports
from podplan.schema import validate_cr
from podplan.tools.status.observed_job import build_observed_job
from podplan.tools.status.reconcile import reconcile_job
from podplan.tools.status.replica_states import apply_declared_states
from podplan.tools.status.replicas import REPLICA_PHASES, ObservedReplica, list_replicas
from podplan.tools.status.result import StatusResult
from podplan.tools.status.serializer import build_status
from podplan.yaml import parse_yaml
from tests.lowered_objects import Object, document, job
from tests.strategies import odd_crs
from tests.thoroughness import examples

TEMPLATE = {"spec": {"containers": [{"name": "worker", "image": "registry.example.com/train:1"}]}}
CODES = (1, 130, 137, 138, 143, 139, None)
BETTER = {"Failed": 0, "Succeeded": 2}  # anything else is in between


def expected(cr: Object, others: str = "Running") -> list[ObservedReplica]:
    """The replicas of a CR, also of one that is paused."""
    return list_replicas(lower_cr(document(cr), {}, LoweringOptions(resumed=True)), others)


def acted(
    cr: Object, found: list[ObservedReplica], elapsed: int | None = None, **options: Any
) -> StatusResult:
    return reconcile_job(build_observed_job(cr, found, LoweringOptions(**options), elapsed))


def told(cr: Object, elapsed: int | None = None, **states: Any) -> StatusResult:
    """What becomes of a job whose replicas (``_`` for ``-``) have a phase or an exit code; the others run."""
    found = []
    for one in expected(cr):
        state = states.pop(one.short_name.replace("-", "_"), one.phase)
        ended = {0: "Succeeded"}.get(state, "Failed") if isinstance(state, int) else state
        found.append(one._replace(phase=ended, exit_code=state if isinstance(state, int) and state else None))
    assert not states, "no such replica"
    return acted(cr, found, elapsed)


def now(result: StatusResult) -> dict[str, str]:
    """The phases of the replicas once the controller has acted."""
    return {one.observed.short_name: one.phase for one in result.replicas}


@st.composite
def states(draw: st.DrawFn, cr: Object) -> list[ObservedReplica]:
    return [
        one._replace(phase=draw(st.sampled_from(REPLICA_PHASES)), exit_code=draw(st.sampled_from(CODES)))
        for one in expected(cr)
    ]


@st.composite
def jobs(draw: st.DrawFn, policies: tuple[str, ...] = ("Never", "OnFailure", "Always", "ExitCode")) -> Object:
    """A CR of any kind, with whatever decides about restarts, the end of the job and clean-up."""
    kind = draw(
        st.sampled_from(["PyTorchTrainingJob", "DeepSpeedJob", "GenericJob", "launcher", "replicaSpecs"])
    )
    number, policy = st.integers(1, 4), st.sampled_from(policies)
    run: Object = {
        "backoffLimit": draw(st.integers(0, 4)),
        "cleanUpPolicy": draw(st.sampled_from(["None", "Unfinished", "All"])),
    }
    types = ["chief", "worker"][: draw(st.integers(1, 2))]
    if kind == "DeepSpeedJob":
        worker = {"replicas": draw(number), "restartPolicy": draw(policy), "template": TEMPLATE}
        config = {"run": {"python": ["train.py"]}}
        return _cr(kind, {"config": config, "worker": worker, "runPolicy": run})
    if kind == "PyTorchTrainingJob":
        specs = [
            {"type": type_, "replicas": draw(number), "restartPolicy": draw(policy), "template": TEMPLATE}
            for type_ in types
        ]
        return _cr(kind, {"replicaSpecs": specs, "runPolicy": run})
    if kind == "GenericJob":
        return _cr(kind, draw(_generic(types, [one for one in policies if one != "ExitCode"])))
    run = {"cleanUpWorkers": draw(st.booleans())}
    if kind == "launcher":
        launcher = {"image": "registry.example.com/train:1"}
        worker = {"replicas": draw(number), "command": ["train.py"], "template": TEMPLATE}
        return _cr("ColossalAIJob", {"launcher": launcher, "worker": worker, "runPolicy": run})
    workers: Object = {"type": "worker", "replicas": draw(number), "template": TEMPLATE}
    launches: Object = {"type": "launcher", "template": {}}
    specs = draw(st.permutations([workers, launches]))
    return _cr(
        "ColossalAIJob", {"torchConfig": {"script": ["a.py"]}, "replicaSpecs": specs, "runPolicy": run}
    )


@st.composite
def _generic(draw: st.DrawFn, types: list[str], policies: list[str]) -> Object:
    specs: list[Object] = []
    for type_ in types:
        policy = {"policy": draw(st.sampled_from(policies)), "limit": draw(st.integers(0, 3))}
        number = draw(st.integers(1, 4))
        specs.append({"type": type_, "replicas": number, "restartPolicy": policy, "template": TEMPLATE})
    ranks = {spec["type"]: st.lists(st.integers(0, spec["replicas"] - 1), min_size=1) for spec in specs}
    rule = st.sampled_from(types).flatmap(lambda type_: st.fixed_dictionaries({type_: ranks[type_]}))
    rules = st.lists(rule, max_size=2)
    clean = draw(st.sampled_from(["None", "Unfinished", "All"]))
    return {
        "replicaSpecs": specs,
        "successRules": draw(rules),
        "failureRules": draw(rules),
        "cleanUpPolicy": clean,
    }


def _cr(kind: str, spec: Object) -> Object:
    return job(kind, json.dumps(spec))


@given(st.data())
def test_what_is_reported_hangs_together(data: st.DataObject) -> None:
    cr = data.draw(jobs())
    result = acted(cr, data.draw(states(cr)))
    written = build_status(result)
    assert sum(written["aggregate"].values()) == len(result.replicas)
    assert [one["name"] for task in written["tasks"] for one in task["replicas"]]
    assert not validate_cr({**cr, "status": written}, "1.34").diagnostics
    for one in result.replicas:
        assert not (one.is_restarted and one.is_deleted)
        assert not one.is_restarted or (one.observed.has_ended and one.phase == "Creating")
        assert not one.is_deleted or (one.observed.phase != "Deleted" and one.phase == "Deleted")
    ended = result.phase in ("Succeeded", "Failed")
    assert not (ended and any(one.is_restarted for one in result.replicas))
    assert ended or not any(one.is_deleted for one in result.replicas)
    true = {one.type for one in result.conditions if one.status}
    assert ("Completed" in true) == ended
    assert ("Failed" in true) == (result.phase == "Failed")
    assert ("Running" in true) == (result.phase == "Running")


@given(st.data())
def test_every_replica_that_failed_is_told_of_once_or_decides(data: st.DataObject) -> None:
    cr = data.draw(jobs())
    result = acted(cr, data.draw(states(cr)))
    told_of = [
        one.name for decision in result.decisions if decision.topic == "restart" for one in decision.replicas
    ]
    assert len(told_of) == len(set(told_of))
    assert {one.observed.name for one in result.replicas if one.observed.phase == "Failed"} <= set(told_of)
    for decision in result.decisions:
        assert decision.behavior.basis in ("documented", "anchored", "assumed")
        assert decision.text[0].islower()
        assert not decision.text.endswith(".")


@given(st.data())
def test_restarts_stay_within_what_is_granted(data: st.DataObject) -> None:
    cr = data.draw(jobs())
    result = acted(cr, data.draw(states(cr)))
    limits = {spec["type"]: spec["restartPolicy"]["limit"] for spec in _specs(cr)}
    if cr["kind"] == "ColossalAIJob":
        assert not any(result.restarts.values())
    elif cr["kind"] == "GenericJob":
        assert all(result.restarts[type_] <= limits[type_] for type_ in limits)
    else:
        assert sum(result.restarts.values()) <= cr["spec"]["runPolicy"]["backoffLimit"]


def _specs(cr: Mapping[str, Any]) -> list[Any]:
    return cr["spec"]["replicaSpecs"] if cr["kind"] == "GenericJob" else []


@given(jobs(policies=("Never", "OnFailure", "ExitCode")))
def test_a_job_whose_replicas_have_all_completed_has_succeeded(cr: Object) -> None:
    assert acted(cr, expected(cr, others="Succeeded")).phase == "Succeeded"


@given(jobs())
def test_a_job_whose_replicas_all_run_is_running(cr: Object) -> None:
    result = acted(cr, expected(cr))
    assert result.phase == "Running"
    assert not any(one.is_restarted or one.is_deleted for one in result.replicas)


@given(st.data())
def test_one_more_failure_never_makes_it_better(data: st.DataObject) -> None:
    cr = data.draw(jobs())
    before = data.draw(states(cr))
    assume(any(one.phase != "Failed" for one in before))
    which = data.draw(st.sampled_from([i for i, one in enumerate(before) if one.phase != "Failed"]))
    code = data.draw(st.sampled_from(CODES))
    after = [
        one._replace(phase="Failed", exit_code=code) if i == which else one for i, one in enumerate(before)
    ]
    ranks = [BETTER.get(acted(cr, found).phase, 1) for found in (before, after)]
    assert ranks[1] <= ranks[0]


@settings(max_examples=examples(25))  # making an odd CR takes long
@given(odd_crs(), st.sampled_from(REPLICA_PHASES), st.booleans())
def test_an_odd_cr_has_a_status_if_it_can_be_lowered(cr: Object, phase: str, resumed: bool) -> None:
    if not validate_cr(cr, "1.34").is_lowerable:
        return
    doc, options = document(cr), LoweringOptions(resumed=resumed)
    groups = lower_cr(doc, {}, options._replace(resumed=True))
    if sum(group.replicas for group in groups) >= 100:
        return  # they only take longer
    found = list_replicas(groups, phase)
    result = reconcile_job(build_observed_job(cr, found, options))
    for render in (reports.render_text, reports.render_json, reports.render_yaml):
        assert render(doc, result)
    assert (
        json.loads(reports.render_json(doc, result))["status"]
        == yaml.safe_load(reports.render_yaml(doc, result))["status"]
    )


NAMES = st.sampled_from(
    ["worker-0", "worker", "bert-worker-1", "worker-{0..2}", "chief-7", "x", "kind", "items"]
)
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-1, 300),
    st.sampled_from(["Running", "failed", "Pod", "List", "v1"]),
    st.dictionaries(
        st.sampled_from(["phase", "exitCode", "restarts", "reason", "y"]), st.integers(0, 3) | st.text()
    ),
    st.lists(
        st.none() | st.dictionaries(st.sampled_from(["kind", "metadata", "status"]), st.text() | st.none())
    ),
)


@given(
    st.one_of(
        st.binary(), st.dictionaries(NAMES | st.text(), VALUES).map(lambda data: json.dumps(data).encode())
    )
)
def test_whatever_is_told_is_understood_or_told_of_at_its_place(content: bytes) -> None:
    cr = generic()
    groups = lower_cr(document(cr), {}, LoweringOptions())
    message = ""
    try:
        assert (
            len(
                apply_declared_states(
                    "bert",
                    groups,
                    expected(cr),
                    parse_yaml(content, "pods.yaml"),
                    (),
                    "tensorstack.dev/owner-name",
                )
            )
            == 5
        )
    except UsageError as error:
        message = str(error)
    assert message.startswith("pods.yaml:") or not message


def generic(limit: int = 0, **spec: Any) -> Object:
    restart = {"policy": "OnFailure", "limit": limit}
    specs = [
        {"type": type_, "replicas": number, "restartPolicy": restart, "template": TEMPLATE}
        for type_, number in (("chief", 1), ("worker", 4))
    ]
    return _cr("GenericJob", {"replicaSpecs": specs, **spec})


def pytorch(policy: str = "OnFailure", **run: Any) -> Object:
    specs = [
        {"type": type_, "replicas": number, "restartPolicy": policy, "template": TEMPLATE}
        for type_, number in (("master", 1), ("worker", 3))
    ]
    return _cr("PyTorchTrainingJob", {"replicaSpecs": specs, "runPolicy": run})


def test_exit_code_restarts_after_four_codes_only() -> None:
    cr = pytorch("ExitCode")
    again = {code for code in range(256) if now(told(cr, worker_1=code))["worker-1"] == "Creating"}
    assert again == {130, 137, 138, 143}


@pytest.mark.parametrize(
    ("policy", "state", "after"),
    [
        ("Never", 1, "Failed"),
        ("Never", 0, "Succeeded"),
        ("OnFailure", 1, "Creating"),
        ("OnFailure", 0, "Succeeded"),
        ("Always", 1, "Creating"),
        ("Always", 0, "Creating"),
        ("ExitCode", 0, "Succeeded"),
    ],
)
def test_policies(policy: str, state: int, after: str) -> None:
    assert now(told(pytorch(policy), worker_2=state))["worker-2"] == after


def test_all_replicas_share_the_backoff_limit_and_the_first_get_the_last() -> None:
    result = told(pytorch(backoffLimit=2), worker_0=1, worker_1=1, worker_2=1)
    assert now(result) == {
        "master-0": "Running",
        "worker-0": "Creating",
        "worker-1": "Creating",
        "worker-2": "Failed",
    }
    assert result.phase == "Running"


def test_types_of_a_generic_job_do_not_share_their_restarts() -> None:
    rules: Object = {"successRules": [{"chief": [0]}], "failureRules": [{"worker": [3]}]}
    result = told(generic(1, **rules), chief_0=1, worker_0=1, worker_1=1)
    assert result.restarts == {"chief": 1, "worker": 1}
    assert now(result)["worker-1"] == "Failed"


@pytest.mark.parametrize(
    ("limit", "fact", "basis"), [(0, "restart.limit", "documented"), (1, "restart.limit-shared", "assumed")]
)
def test_only_the_default_of_the_limit_is_documented(limit: int, fact: str, basis: str) -> None:
    cr = generic(limit, successRules=[{"chief": [0]}])
    workers = [
        one._replace(phase="Failed", exit_code=1, restarts=limit) if one.short_name == "worker-0" else one
        for one in expected(cr)
    ]
    [decision] = [one for one in acted(cr, workers).decisions if one.topic == "restart"]
    assert (decision.behavior.id, decision.behavior.basis) == (fact, basis)


@pytest.mark.parametrize(
    ("rules", "states_", "phase"),
    [
        ({"successRules": [{"chief": [0]}]}, {"chief_0": 0}, "Succeeded"),
        ({"successRules": [{"worker": ["0", "1"]}]}, {"worker_0": 0, "worker_1": 0}, "Succeeded"),
        ({"successRules": [{"worker": [0, 1]}]}, {"worker_0": 0}, "Running"),
        ({"successRules": [{"worker": [0, 1]}]}, {"worker_0": 0, "worker_1": 1}, "Failed"),
        ({"successRules": [{"worker": [0]}, {"worker": [1]}]}, {"worker_0": 1}, "Running"),
        ({"successRules": [{"worker": [0]}, {"worker": [1]}]}, {"worker_0": 1, "worker_1": 1}, "Failed"),
        ({"successRules": [{}]}, {}, "Running"),
        ({"successRules": [{"worker": []}]}, {}, "Running"),
        ({"successRules": [{"worker": [9]}]}, {"worker_0": 1}, "Running"),
        ({"successRules": [{"worker": ["9" * 5000]}]}, {"worker_0": 1}, "Running"),
        ({"failureRules": [{"worker": [0]}]}, {"worker_0": 1}, "Failed"),
        (
            {"successRules": [{"chief": [0]}], "failureRules": [{"worker": [0, 1]}]},
            {"worker_0": 1},
            "Running",
        ),
        (
            {"successRules": [{"chief": [0]}], "failureRules": [{"worker": [0, 1]}]},
            {"worker_0": 1, "worker_1": 1},
            "Failed",
        ),
        (
            {"successRules": [{"chief": [0]}], "failureRules": [{"worker": [0]}]},
            {"chief_0": 0, "worker_0": 1},
            "Succeeded",
        ),
    ],
)
def test_rules_of_a_generic_job(rules: Object, states_: dict[str, int], phase: str) -> None:
    assert told(generic(**rules), **states_).phase == phase


def test_a_failure_rule_waits_for_the_restarts() -> None:
    rules: Object = {"successRules": [{"chief": [0]}], "failureRules": [{"worker": [0]}]}
    assert told(generic(1, **rules), worker_0=1).phase == "Running"
    assert told(generic(0, **rules), worker_0=1).phase == "Failed"


def test_the_deadline_ends_a_job_that_has_not_ended() -> None:
    cr = pytorch(activeDeadlineSeconds=60)
    assert told(cr, elapsed=60).phase == "Running"
    assert told(cr, elapsed=61).phase == "Failed"
    assert told(cr, elapsed=61, master_0=0).phase == "Failed"


@pytest.mark.parametrize(
    ("policy", "deleted"),
    [
        ("None", set()),
        ("Unfinished", {"worker-0", "worker-1", "worker-2"}),
        ("All", {"master-0", "worker-0", "worker-1", "worker-2"}),
    ],
)
def test_clean_up(policy: str, deleted: set[str]) -> None:
    result = told(pytorch(cleanUpPolicy=policy), master_0=0, worker_0="Pending", worker_1="Unknown")
    assert {one.observed.short_name for one in result.replicas if one.is_deleted} == deleted


def test_unfinished_leaves_what_has_failed_or_is_gone() -> None:
    result = told(pytorch(cleanUpPolicy="Unfinished"), master_0=0, worker_0=1, worker_1="Deleted")
    assert {one.observed.short_name for one in result.replicas if one.is_deleted} == {"worker-2"}


def test_facts_can_be_told_otherwise() -> None:
    values = {"restart.exit-code": [42], "restart.backoff-limit": 0, "status.says-failed": "{pod}: {code}"}
    cr = pytorch("ExitCode")
    dead = [one._replace(phase="Failed", exit_code=42) for one in expected(cr)]
    result = acted(cr, dead, behavior_values=values)
    assert result.phase == "Failed"
    assert [one.message for one in result.conditions if one.type == "Failed"] == ["bert-master-0: 42"]
    assert {one.behavior.basis for one in result.conditions if one.type == "Failed"} == {"configured"}
    assert "the limit is 0" in result.decisions[0].text


def test_facts_can_be_told_otherwise_for_one_kind() -> None:
    values = {"GenericJob": {"restart.backoff-limit": 0}, "PyTorchTrainingJob": {"restart.backoff-limit": 1}}
    cr = pytorch()
    dead = [one._replace(phase="Failed", exit_code=1) for one in expected(cr)]
    assert acted(cr, dead, behavior_values=values).restarts == {"master": 1, "worker": 0}
