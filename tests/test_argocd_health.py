"""deploy/argocd/component/health.lua over the statuses of our fixtures, in the Lua of Argo CD (5.1)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from lupa import lua51

from podplan.workspace.documents import classify_documents
from podplan.yaml import parse_yaml
from tests.rows import each_row

ROOT = Path(__file__).parents[1]
FIXTURES = ROOT / "fixtures"
SCRIPT = (ROOT / "deploy/argocd/component/health.lua").read_text()
# What the documentation says that a phase is (docs/evidence/t9k-common.md#phases), as Argo CD calls it.
HEALTH = {
    "Pending": "Progressing",
    "Running": "Progressing",
    "Paused": "Suspended",
    "Resuming": "Progressing",
    "Succeeded": "Healthy",
    "Failed": "Degraded",
    "Unknown": "Unknown",
}


JOB_SET_SCRIPT = (ROOT / "deploy/argocd/component/job-set-health.lua").read_text()
OPERATOR_SCRIPT = (ROOT / "deploy/argocd/component/training-operator-health.lua").read_text()


@cache
def _lua(text: str = SCRIPT) -> tuple[Any, Any]:
    """A Lua with the libraries that Argo CD opens for such a script, and no others; and the script."""
    lua = lua51.LuaRuntime(unpack_returned_tuples=True)
    opened = ("type", "ipairs", "pairs", "next", "tostring", "tonumber", "select", "table", "error", "pcall")
    environment = lua.table_from({name: lua.globals()[name] for name in opened})
    lua.globals()["sandbox"] = environment
    lua.globals()["script"] = text
    return lua, lua.execute("local f = assert(loadstring(script)); setfenv(f, sandbox); return f")


def health(cr: Any, text: str = SCRIPT) -> tuple[str, str]:
    """The status and the message that Argo CD shows for a CR."""
    lua, script = _lua(text)
    lua.globals()["sandbox"]["obj"] = lua.table_from(cr, recursive=True)
    found = dict(script().items())
    assert set(found) == {"status", "message"}
    return found["status"], found["message"]


def statuses() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every status that the fixtures have: documented ones, and those that our own rules come to."""
    for path in sorted([*FIXTURES.glob("status/*/*.yaml"), *FIXTURES.glob("*_job*/*/cr.yaml")]):
        name = path.relative_to(FIXTURES).as_posix()
        for item in classify_documents(parse_yaml(path.read_bytes(), name)):
            data = item.doc.data
            if isinstance(data, dict) and data.get("kind") != "Pod" and "phase" in (data.get("status") or {}):
                yield name, data


EVERY = list(statuses())


def test_there_are_statuses_of_every_documented_phase() -> None:
    assert {cr["status"]["phase"] for _, cr in EVERY} == set(HEALTH)
    assert len(EVERY) > 40


@each_row("cr", [cr for _, cr in EVERY], ids=[name for name, _ in EVERY])
def test_the_health_of_a_status(cr: dict[str, Any]) -> None:
    status = cr["status"]
    found, message = health(cr)
    assert found == HEALTH[status["phase"]]
    assert message
    told = [
        one["message"] for one in status.get("conditions", ()) if one["status"] == "True" and "message" in one
    ]
    if found == "Degraded" and told:
        assert message in told


def job(phase: str | None = None, **conditions: str) -> dict[str, Any]:
    """A CR with these conditions; Waiting="True: its message" has a message, too."""
    listed = []
    for name, said in conditions.items():
        value, _, message = said.partition(": ")
        listed.append({"type": name, "status": value, **({"message": message} if message else {})})
    return {"status": {**({"phase": phase} if phase else {}), **({"conditions": listed} if listed else {})}}


@pytest.mark.parametrize(
    ("cr", "expected"),
    [
        ({}, ("Progressing", "The controller has not looked at the job yet.")),
        ({"status": {}}, ("Progressing", "The controller has not looked at the job yet.")),
        ({"status": "new"}, ("Progressing", "The controller has not looked at the job yet.")),
        (
            {"status": {"conditions": "none"}},
            ("Progressing", "The controller has not looked at the job yet."),
        ),
        (job("Pending", Initialized="True: ready"), ("Progressing", "ready")),
        (job("Pending"), ("Progressing", "The job has not started yet.")),
        (job(Running="True: all run"), ("Progressing", "all run")),
        (job("Running", ReplicaFailure="True: Pod[a-0] exited"), ("Progressing", "Pod[a-0] exited")),
        (job("Running", Paused="True"), ("Progressing", "The job runs.")),
        (job("Resuming", Paused="True"), ("Progressing", "The job is about to go on.")),
        (job("Paused"), ("Suspended", "The job is paused.")),
        (job(Paused="True: by hand"), ("Suspended", "by hand")),
        (
            job("Failed", Failed="True: out of retries", Completed="True: over"),
            ("Degraded", "out of retries"),
        ),
        (job(Failed="True", Completed="True"), ("Degraded", "The job has failed.")),
        (job("Failed", ReplicaFailure="True: Pod[a-0] exited"), ("Degraded", "Pod[a-0] exited")),
        (job(Completed="True: done"), ("Healthy", "done")),
        (job("Succeeded", Failed="False"), ("Healthy", "The job has finished.")),
        (job("Unknown"), ("Unknown", "The controller does not know how the job fares.")),
        (job("Unknown", Failed="Unknown"), ("Unknown", "The controller does not know how the job fares.")),
        (
            {"status": {"conditions": [3, {"type": 4, "status": "True"}]}},
            ("Progressing", "The job has not started yet."),
        ),
    ],
)
def test_statuses_that_no_fixture_has(cr: dict[str, Any], expected: tuple[str, str]) -> None:
    assert health(cr) == expected


OPERATOR_STATUSES = [
    json.loads(line) for line in (FIXTURES / "training_operator/statuses.jsonl").read_text().splitlines()
]
# What the last true condition of a job of the training operator is, as Argo CD calls it.
OPERATOR_HEALTH = {
    "Created": "Progressing",
    "Running": "Progressing",
    "Restarting": "Progressing",
    "Suspended": "Suspended",
    "Succeeded": "Healthy",
    "Failed": "Degraded",
}


@each_row("row", OPERATOR_STATUSES, ids=[f"{row['kind']} {row['case']}" for row in OPERATOR_STATUSES])
def test_the_health_of_a_job_of_the_training_operator(row: dict[str, Any]) -> None:
    last = [one for one in row["status"]["conditions"] if one["status"] == "True"][-1]
    assert health({"status": row["status"]}, OPERATOR_SCRIPT) == (
        OPERATOR_HEALTH[last["type"]],
        last["message"],
    )


def test_the_statuses_of_the_training_operator_have_every_condition() -> None:
    last = {
        [one["type"] for one in row["status"]["conditions"] if one["status"] == "True"][-1]
        for row in OPERATOR_STATUSES
    }
    assert last == set(OPERATOR_HEALTH)


@pytest.mark.parametrize("cr", [{}, {"status": {}}, {"status": {"conditions": ["x"]}}])
def test_a_job_that_nobody_has_taken_up_is_progressing(cr: dict[str, Any]) -> None:
    assert health(cr, OPERATOR_SCRIPT)[0] == "Progressing"


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ([], ("Progressing", "The job has not ended.")),
        ([("Suspended", "True", "waits")], ("Suspended", "waits")),
        ([("Suspended", "False", "resumed")], ("Progressing", "The job has not ended.")),
        ([("Suspended", "True", ""), ("Failed", "True", "deadline")], ("Degraded", "deadline")),
        ([("StartupPolicyCompleted", "True", "ok"), ("Completed", "True", "done")], ("Healthy", "done")),
        ([("Complete", "True", "")], ("Healthy", "The job is Complete.")),
    ],
)
def test_the_health_of_job_sets_and_train_jobs(conditions: Any, expected: tuple[str, str]) -> None:
    fields = ("type", "status", "message")
    status = {"conditions": [dict(zip(fields, one, strict=True)) for one in conditions]}
    assert health({"kind": "TrainJob", "status": status}, JOB_SET_SCRIPT) == expected
    assert health({"kind": "TrainJob"}, JOB_SET_SCRIPT)[0] == "Progressing"
