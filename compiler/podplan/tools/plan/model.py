"""The result of planning, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from podplan.cluster.admission import PlannedPodSet
from podplan.cluster.cohorts import CohortShortage
from podplan.core.findings import Location

if TYPE_CHECKING:
    from podplan.cluster.admission import VerdictName


class PlannedJob(NamedTuple):
    """A job with its verdict; ``usage`` is its share of ``cluster_queue`` by flavor and resource.

    ``location`` is where the job is written, ``place`` the field that decides. ``seconds`` is its deadline,
    None without one. ``errors`` are the reasons why the CR is refused. ``change`` is added,
    changed or removed, with ``base_verdict``; empty for an unchanged job, and without a base. The verdict is
    about one of ``workloads`` equal ones, such as the Pods of a Deployment; ``usage`` is that of all.
    ``refused_by`` is the webhook or controller of the kind that refuses the job, whatever Kueue does: such a
    job never runs. ``never_fits``: a pending job that Kueue does not admit either when all others have ended.
    """

    kind: str
    name: str
    namespace: str | None
    variant: str
    queue: str | None
    verdict: VerdictName
    message: str | None
    pod_sets: tuple[PlannedPodSet, ...]
    pods: int
    gpus: int
    seconds: int | None
    errors: tuple[str, ...]
    location: Location | None
    place: Location | None
    cluster_queue: str | None
    usage: Mapping[tuple[str, str], int]
    change: str = ""
    base_verdict: VerdictName | None = None
    workloads: int = 1
    refused_by: str = ""
    never_fits: bool = False


class QuotaLine(NamedTuple):
    """The sum of the requests of all admitted jobs for one resource of a queue in a flavor.

    ``maximum`` is the quota plus what the queue can borrow while the other queues have no jobs;
    ``shortage`` is a cohort whose quotas are below the requests of its queues. Amounts have Kueue's units.
    """

    queue: str
    flavor: str
    resource: str
    used: int
    nominal: int
    maximum: int
    jobs: int
    shortage: CohortShortage | None = None


class Plan(NamedTuple):
    """The jobs of a tree, and the sums of their requests by queue.

    ``base`` is the name of the base revision, "" for none, and ``removed`` are the jobs
    that exist only there.
    """

    jobs: tuple[PlannedJob, ...]
    quotas: tuple[QuotaLine, ...]
    base: str = ""
    removed: tuple[PlannedJob, ...] = ()
