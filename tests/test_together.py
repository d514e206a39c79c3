"""Policies about all jobs: what jobs leave for them, and jobs made again from the text of their file."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podplan.checker import check, cross_job_index, packed_store, rebuild
from podplan.checker.base_revision import collect_base_crs
from podplan.checker.check import CheckResult, check_sources
from podplan.checker.cross_job_index import CrossJobIndex
from podplan.checker.packed_store import MAX_UNPACKED, JobSource, JobSummary, PackedSummaries
from podplan.core.provenance import TracedDocument
from podplan.lint import checks, policy_runner
from podplan.lint.analysis.jobs import JobIdentity
from podplan.lint.checks.queues import QueueDemand, QuotaRequest, queue_oversubscribed
from podplan.lint.policy import Policy, parse_policy
from podplan.lint.registry import load_builtin_policies
from podplan.lint.rule_selection import RuleSelection, select_policies
from podplan.lint.target import LoweredJob
from podplan.pipeline import PipelineSettings
from podplan.workspace.loader import Loader
from podplan.yaml import Document, SourceFile, parse_yaml
from podplan.yaml.writer import emit_documents
from tests.live_documents import most_alive
from tests.policy_examples import build_inventory

ABOUT_ALL = {"NAME002", "NAME003", "SCHED007", "SCHED012", "VOL004", "VOL013", "VOL014", "GIT008"}
WAVE = "argocd.argoproj.io/sync-wave"
GROUP = "scheduler.tensorstack.dev/group-name"
CLUSTER = build_inventory(
    {
        "pvcs": {"data": {"accessModes": ["ReadWriteOnce"]}},
        "queues": {"research": {"quota": {"nvidia.com/gpu": 3}}},
    }
)


def cr(name: str, kind: str = "PyTorchTrainingJob", labels: dict[str, str] | None = None) -> dict[str, Any]:
    container = {
        "name": "pytorch",
        "image": "registry.example.com/train:1",
        "args": ["train.py"],
        "resources": {"limits": {"nvidia.com/gpu": 1}},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
    template = {"metadata": {"labels": labels or {}}, "spec": {"containers": [container], "volumes": volumes}}
    return {
        "apiVersion": "batch.tensorstack.dev/v1beta1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "vision"},
        "spec": {
            **({} if labels else {"scheduler": {"t9kScheduler": {"queue": "research", "priority": 5}}}),
            "replicaSpecs": [{"type": "worker", "replicas": 1, "template": template}],
        },
    }


def profile(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "podplan/v1",
        "kind": "JobProfile",
        "metadata": {"name": name, "namespace": "vision"},
        "spec": {
            "job": "PyTorchTrainingJob",
            "image": "registry.example.com/train:1",
            "run": ["train.py", "--fold", "${{ matrix.fold }}"],
            "replicas": 2,
            "matrix": {"axes": {"fold": [1, 2]}},
            "environments": {"dev": {"replicas": 1}, "prod": {"namespace": "prod"}},
            "data": [{"name": "data", "pvc": "data", "mount": "/data"}],
            "schedule": {"queue": "research"},
        },
    }


GANG: dict[str, Any] = {
    "apiVersion": "scheduler.tensorstack.dev/v1beta1",
    "kind": "PodGroup",
    "metadata": {"name": "ours", "namespace": "vision"},
    "spec": {"minMember": 9, "queue": "research", "roles": [{"name": "worker", "minMember": 2}]},
}
CLAIM: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "data", "namespace": "vision", "annotations": {WAVE: "2"}},
}
# What the inventory does not know, and the job of its file mounts in several Pods and takes a key of.
OBJECTS: list[dict[str, Any]] = [
    {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "shared", "namespace": "vision"},
        "spec": {"accessModes": ["ReadWriteOnce"]},
    },
    {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "keys", "namespace": "vision"},
        "stringData": {"url": "https://example.com"},
    },
]
BOTH = {"apiVersion": "v1", "kind": "List", "items": [cr("b"), CLAIM, cr("a")]}


def user_of_objects() -> dict[str, Any]:
    job = cr("objects")
    worker = job["spec"]["replicaSpecs"][0]
    worker["replicas"] = 2
    pod = worker["template"]["spec"]
    pod["volumes"][0]["persistentVolumeClaim"]["claimName"] = "shared"
    pod["containers"][0]["env"] = [
        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "token"}}}
    ]
    return job


FILES: dict[str, list[dict[str, Any]]] = {
    "a.yaml": [cr("a"), cr("c"), cr("a")],
    "list.yaml": [BOTH],
    "other-kind.yaml": [cr("a", "GenericJob"), cr("a", "XGBoostTrainingJob")],
    "gang.yaml": [GANG, cr("d", labels={GROUP: "ours"})],
    "profile.yaml": [profile("p")],
    "profile-again.yaml": [profile("p")],
    "objects.yaml": [user_of_objects(), *OBJECTS],
    "last.yaml": [cr("c"), profile("q")],
}


def sources(files: dict[str, list[dict[str, Any]]]) -> Iterator[SourceFile]:
    return (parse_yaml(emit_documents(docs).encode(), file) for file, docs in files.items())


def checked(found: Iterator[SourceFile], policies: tuple[Policy, ...] | None = None) -> CheckResult:
    mine = select_policies(load_builtin_policies(), RuleSelection(select=tuple(ABOUT_ALL)))
    settings = PipelineSettings(policies=tuple(mine) if policies is None else policies)
    return check_sources(found, settings, Loader(CLUSTER))


def test_jobs_made_again_give_the_findings_of_those_that_are_kept_whole(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = checked(sources(FILES))
    assert {found.rule for found in now.findings} >= ABOUT_ALL
    add = CrossJobIndex.add_job
    monkeypatch.setattr(CrossJobIndex, "add_job", lambda self, job, _: add(self, job, None))
    whole = checked(sources(FILES))
    without = [one._replace(subject_files=()) for one in now.findings]  # they know no file
    assert [one._replace(subject_files=()) for one in whole.findings] == without


def test_what_is_told_of_nobody_is_told_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs that share a key with no other are not even looked at, and there is no more to say with them."""
    now = checked(sources(FILES))
    monkeypatch.setattr(cross_job_index.SharedKeys, "find_shared", lambda self: set(self._keys))
    assert checked(sources(FILES)) == now


def test_jobs_that_have_nothing_in_common_are_not_looked_at_together(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[int] = []
    of_all = policy_runner.apply_cross_job_policies

    def noted(policies: Any, left: dict[str, dict[int, Any]], made: Any) -> Any:
        shown.extend(number for column in left.values() for number in column)
        return of_all(policies, left, made)

    monkeypatch.setattr(cross_job_index, "apply_cross_job_policies", noted)
    alone = [{**cr(name), "metadata": {"name": name, "namespace": name}} for name in "abcdefgh"]
    for one in alone:
        one["spec"].pop("scheduler")
    assert not checked(sources({f"{number}.yaml": [one] for number, one in enumerate(alone)})).findings
    assert not shown


def test_a_pod_that_somebody_wrote_counts_in_its_pod_group() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "by-hand", "namespace": "vision", "labels": {GROUP: "gang"}},
        "spec": {"containers": [{"name": "c", "image": "registry.example.com/train:1"}]},
    }
    group = {
        "apiVersion": "scheduler.tensorstack.dev/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "gang", "namespace": "vision"},
        "spec": {"minMember": 2},
    }
    job = cr("one", labels={GROUP: "gang"})
    full = {found.rule for found in checked(sources({"a.yaml": [group, pod, job]})).findings}
    short = {found.rule for found in checked(sources({"a.yaml": [group, job]})).findings}
    assert "SCHED012" not in full
    assert "SCHED012" in short


def test_many_rows_are_packed_and_come_back_in_their_order() -> None:
    first, others = PackedSummaries(), PackedSummaries()
    made = [
        JobSummary(JobSource(f"{number}.yaml", 0), (number, None)) for number in range(5 * MAX_UNPACKED // 2)
    ]
    for row in made[: MAX_UNPACKED + 1]:
        first.append(row)
    for row in made[MAX_UNPACKED + 1 :]:
        others.append(row)
    first.extend(others)
    first.append(made[0])
    packed_store = [*made, made[0]]
    assert list(first) == packed_store
    assert len(first) == len(packed_store)
    there_and_back = [*range(len(packed_store)), *reversed(range(0, len(packed_store), 7))]
    assert [first[number] for number in there_and_back] == [packed_store[number] for number in there_and_back]


@given(st.lists(st.tuples(st.integers(0, 4), st.sets(st.integers(-40, 40), max_size=5))))
def test_what_several_parties_have_is_common(parties: list[tuple[int, set[int]]]) -> None:
    meetings = cross_job_index.SharedKeys()
    having: dict[int, set[int]] = {}
    for party, keys in parties:
        meetings.add_keys(party, keys)
        for key in keys:
            having.setdefault(key, set()).add(party)
    assert meetings.find_shared() == {key for key, those in having.items() if len(those) > 1}


def again_made(number: int) -> LoweredJob:
    """No job is made again where nothing is said."""
    pytest.fail(f"nothing is said of job {number}")


class Demands(Mapping[int, QueueDemand]):
    """Jobs of one queue, each made when it is looked at, as what jobs left is unpacked."""

    def __init__(self, number: int, quota: int) -> None:
        self._number, self._quota = number, quota

    def __len__(self) -> int:
        return self._number

    def __iter__(self) -> Iterator[int]:
        return iter(range(self._number))

    def __getitem__(self, number: int) -> QueueDemand:
        file = f"{number}.yaml"
        return QueueDemand(
            JobIdentity(file, 0, "job"), file, "research", (QuotaRequest("nvidia.com/gpu", 1, self._quota),)
        )


def test_a_quota_that_is_no_amount_ends_no_run() -> None:
    """The inventory has an error of its own, at the quota; jobs that ask for nothing exceed it."""
    left = {
        number: QueueDemand(
            JobIdentity(f"{number}.yaml", 0, "job"), "", "research", (QuotaRequest("nvidia.com/gpu", 0, -1),)
        )
        for number in range(2)
    }
    assert not list(queue_oversubscribed(left, again_made))


def test_jobs_within_the_quota_of_their_queue_are_not_kept_in_mind() -> None:
    """As in a repository of thousands of jobs, nearly all of which are of one queue."""

    def peak(jobs: int) -> int:
        tracemalloc.start()
        try:
            assert not list(queue_oversubscribed(Demands(jobs, jobs), again_made))
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(10)
    assert peak(3000) < peak(30) + 5000


def test_a_job_made_again_is_beside_what_it_was_before() -> None:
    files = {"a.yaml": [cr("a")], "b.yaml": [cr("b")]}
    settings = PipelineSettings()
    was = collect_base_crs(sources(files), settings, Loader())
    made = rebuild.JobRebuilder(
        lambda _: settings, Loader(), was, lambda file: parse_yaml(emit_documents(files[file]).encode(), file)
    )
    job = made.get_job(JobSource("b.yaml", 0))
    assert job.has_base
    assert job.base_cr is not None
    assert job.base_cr.data["metadata"]["name"] == "b"


def test_each_file_is_read_again_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever points at what: folders of a base and two environments have all names three times."""
    again_read: list[str] = []

    def counting(content: bytes, file: str) -> SourceFile:
        again_read.append(file)
        return parse_yaml(content, file)

    monkeypatch.setattr(check, "parse_yaml", counting)
    files = {f"{number}.yaml": [cr("a"), cr("b"), profile("p")] for number in range(4)}
    assert len(checked(sources(files)).findings) > 12
    assert sorted(again_read) == sorted(files)


def test_objects_without_metadata_leave_nothing_to_compare() -> None:
    bare = [{key: value for key, value in GANG.items() if key != "metadata"}]
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "a", "image": "b:1"}]}}
    found = checked(sources({"a.yaml": [cr("a")], "b.yaml": bare, "c.yaml": [pod]}))
    assert not [one for one in found.findings if one.rule in ABOUT_ALL]


@pytest.mark.parametrize("doc", [cr("same"), profile("same"), GANG, CLAIM], ids=lambda doc: doc["kind"])
def test_no_document_stays_once_the_next_is_read(doc: dict[str, Any]) -> None:
    alive = []

    def found() -> Iterator[SourceFile]:
        for number in range(16):
            if number in (5, 15):
                gc.collect()
                alive.append(sum(isinstance(one, TracedDocument | Document) for one in gc.get_objects()))
            metadata = {**doc["metadata"], "name": f"{doc['metadata']['name']}-{number}"}
            yield parse_yaml(emit_documents([{**doc, "metadata": metadata}]).encode(), f"{number}.yaml")

    checked(found())
    assert alive[0] == alive[1]


def test_what_jobs_leave_is_plain_data(monkeypatch: pytest.MonkeyPatch) -> None:
    left: list[Any] = []

    def noted(check: str, job: LoweredJob) -> Any:
        left.append(checks.summarize_job(check, job))
        return left[-1]

    monkeypatch.setattr(cross_job_index, "summarize_job", noted)
    checked(sources(FILES))
    assert len([one for one in left if one is not None]) > len(FILES)
    demand_plain(tuple(left))


def demand_plain(value: Any) -> None:
    if isinstance(value, dict):
        demand_plain(tuple(value.items()))
    elif isinstance(value, tuple):
        assert not isinstance(value, TracedDocument | LoweredJob)
        for one in value:
            demand_plain(one)
    else:
        assert value is None or type(value) in (str, int)


def test_each_check_about_all_jobs_says_what_they_leave() -> None:
    about_all = {policy.body for policy in load_builtin_policies() if policy.scope.level == "set"}
    registered = {name for name in checks.CHECK_MODULES if checks.load_registered_check(name).summarize}
    assert about_all == registered


def test_entries_of_a_list_are_jobs_of_their_own() -> None:
    entries = {"apiVersion": "v1", "kind": "List", "items": [cr("same"), cr("other"), cr("same")]}
    found = [one for one in checked(sources({"a.yaml": [entries]})).findings if one.rule == "NAME002"]
    assert [one.location.path for one in found] == [("items", 2, "metadata", "name")]


def alike(number: int) -> Iterator[SourceFile]:
    return sources({"a.yaml": [cr("same")] * number})


@pytest.mark.long
def test_packs_are_unpacked_in_proportion_to_the_jobs_that_are_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """All 64 jobs of a pack were unpacked for each job that points at the first: 6,000 took 27 seconds."""
    unpacked = []

    def counted(pack: bytes) -> list[JobSummary]:
        unpacked.append(pack)
        return unpack(pack)

    unpack = packed_store._unpack
    monkeypatch.setattr(packed_store, "_unpack", counted)
    checked(alike(5 * MAX_UNPACKED))
    assert 0 < len(unpacked) < 12 * 5


@pytest.mark.long
def test_of_jobs_that_are_all_alike_few_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = (most_alive(monkeypatch, partial(checked, alike(number))) for number in (20, 80))
    assert many < few + 80 * 3, "documents of the file are read twice, and each is a job"


def test_one_job_alone_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(check: str, job: LoweredJob) -> None:
        raise AssertionError(f"{check} was asked of {job} alone")

    monkeypatch.setattr(cross_job_index, "summarize_job", refused)
    assert checked(sources({"a.yaml": [cr("a")]})).findings == []


def test_jobs_that_are_all_alike_are_made_again_a_few_times_each(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def counted(content: bytes, file: str) -> SourceFile:
        made.append(file)
        return parse_yaml(content, file)

    monkeypatch.setattr(check, "parse_yaml", counted)
    number = 30
    result = checked(sources({f"{one}.yaml": [cr("same")] for one in range(number)}))
    assert sum(found.rule == "NAME002" for found in result.findings) == number - 1
    assert len(made) <= 3 * number  # once for each of NAME002 and VOL004, and a few that they point at


def test_a_variant_is_not_made_with_all_the_others_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    whole = rebuild.JobRebuilder._rebuild_jobs_cached

    def counted(self: rebuild.JobRebuilder, origin: JobSource) -> Iterator[LoweredJob]:
        made.append(origin)
        return whole(self, origin)

    monkeypatch.setattr(rebuild.JobRebuilder, "_rebuild_jobs_cached", counted)
    wide = profile("wide")
    wide["spec"]["matrix"]["axes"]["fold"] = list(range(8))
    checked(sources({"a.yaml": [wide], "b.yaml": [wide]}))
    assert len(made) <= 2 * len(ABOUT_ALL)


def test_a_schema_about_the_set_is_asked_of_each_job() -> None:
    asked = parse_policy(
        {
            "id": "ORG001",
            "name": "named-otherwise",
            "severity": "error",
            "summary": "No job is called a.",
            "basis": "documented",
            "scope": {"level": "set"},
            "schema": {"properties": {"metadata": {"properties": {"name": {"not": {"const": "a"}}}}}},
            "message": "called a",
        },
        "ORG001.yaml",
    )
    alone = checked(sources({"a.yaml": [cr("a")]}), (asked,))
    assert [found.message for found in alone.findings] == ["called a"]
    two = checked(sources({"a.yaml": [cr("a"), cr("b")]}), (asked,))
    assert len(two.findings) == 1
