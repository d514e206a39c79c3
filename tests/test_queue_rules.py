"""What check says of queues and namespaces, by objects of the repository: one situation in each file."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pytest_regressions.file_regression import FileRegressionFixture

from podplan.cli.check_run import resolve_check_settings, run_check
from podplan.cli.plan import plan_paths
from podplan.core.findings import Severity
from tests.command import podplan
from tests.thoroughness import mark_long
from tests.work_counts import work

FIXTURES = Path(__file__).parents[1] / "fixtures" / "kueue" / "rules"
RULES = "SCHED07,SCHED08,SCHED09,SEC,NET002,GIT070,GIT073,RES070,IMG070,SCHEMA"


def list_findings(file: Path) -> list[str]:
    """Check one file in a repository of its own; return its findings as lines."""
    settings = resolve_check_settings((".",), isolated=True, preset="default", select=(RULES,))
    lines = [
        f"{file.name}:{one.location.line}: {one.severity} {one.rule}: {one.message}"
        for one in run_check((".",), settings).findings
        if one.severity is not Severity.INFO or one.rule.startswith("SCHED")
    ]
    return lines or [f"{file.name}: nothing"]


def test_golden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_regression: FileRegressionFixture
) -> None:
    lines: list[str] = []
    files = sorted(FIXTURES.glob("*.yaml"))
    assert len(files) >= 40
    for file in files:
        folder = tmp_path / file.stem
        (folder / ".git").mkdir(parents=True)
        shutil.copy(file, folder)
        monkeypatch.chdir(folder)
        lines += list_findings(file)
    golden = FIXTURES.parent / "rules.txt"
    file_regression.check("\n".join(lines) + "\n", fullpath=golden, encoding="utf-8", newline="")


def write_repository(folder: Path, jobs: int, queues: int) -> None:
    """A file with queues of one cohort, and a file for each job, which are spread over the queues."""
    (folder / ".git").mkdir(parents=True)
    flavor, cluster_queue, _, local_queue, job = (
        (FIXTURES / "quota-by-borrowing.yaml").read_text().split("---\n")
    )
    parts = [flavor]
    for number in range(queues):
        parts += [
            cluster_queue.replace("name: research", f"name: research-{number}"),
            local_queue.replace("name: training", f"name: training-{number}").replace(
                "clusterQueue: research", f"clusterQueue: research-{number}"
            ),
        ]
    (folder / "queues.yaml").write_text("---\n".join(parts))
    for number in range(jobs):
        text = job.replace("name: convert", f"name: convert-{number}")
        text = text.replace("queue-name: training", f"queue-name: training-{number % queues}")
        (folder / f"job-{number}.yaml").write_text(text)


@pytest.mark.parametrize("grows", mark_long(["jobs", "queues"], short=[]))
def test_work_is_in_proportion_to_jobs_and_queues(
    grows: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Checking and planning: as much more work from 10 to 20 as from 20 to 30."""
    counts: list[int] = []
    for number in (5, 10, 20, 30):  # the first loads modules and policies
        folder = tmp_path / str(number)
        write_repository(folder, **{"jobs": 10, "queues": 10, grows: number})
        monkeypatch.chdir(folder)

        def run() -> None:
            plan, _ = plan_paths((".",), isolated=True)
            assert {job.verdict for job in plan.jobs} == {"admitted"}
            shown = podplan("check", "--isolated", "--no-cache", "--jobs", "1", "--select", "SCHED08", ".")
            assert shown.code == 0

        counts.append(work(run))
    first, second = counts[2] - counts[1], counts[3] - counts[2]
    assert first > 0
    assert second < 1.2 * first, counts


@pytest.mark.parametrize(
    ("name", "beside_job", "is_reported"),
    [("vision-gpu", True, False), ("vision-gpu", False, True), ("reserach", True, True)],
)
def test_a_queue_beside_a_job_may_belong_to_administrators(
    name: str, beside_job: bool, is_reported: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ClusterQueue that another file does not have is missing, unless only the job's file names it."""
    (tmp_path / ".git").mkdir()
    flavor, cluster_queue, namespace, local_queue, job = (
        (FIXTURES / "quota-by-borrowing.yaml").read_text().split("---\n")
    )
    local_queue = local_queue.replace("clusterQueue: research", f"clusterQueue: {name}")
    files = {
        "queues.yaml": [flavor, cluster_queue, namespace, *([] if beside_job else [local_queue])],
        "job.yaml": [job, *([local_queue] if beside_job else [])],
    }
    for file, parts in files.items():
        (tmp_path / file).write_text("---\n".join(parts))
    monkeypatch.chdir(tmp_path)
    shown = podplan("check", "--isolated", "--no-cache", "--jobs", "1", "--select", "SCHED083", ".")
    assert ("SCHED083" in shown.out) is is_reported
