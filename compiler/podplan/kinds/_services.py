"""Headless Services: a stable name for each replica before anything runs."""

from __future__ import annotations

from typing import Any

from podplan import facts
from podplan.groups import Group, group
from podplan.kinds._children import Tree, job_labels, metadata
from podplan.kinds._job import Job, Role, name_of
from podplan.kinds._pods import REPLICA_INDEX, replica_name
from podplan.provenance import Fact, Indexed, at


def services(
    job: Job,
    role: Role,
    ports: Any,
    *,
    selector: Tree | None = None,
    fact: Fact = facts.HEADLESS_SERVICE,
    name: Indexed | str | None = None,
) -> list[Group]:
    """One headless Service per replica of a role, called like its Pod, as one group; none for no replicas."""
    if role.replicas <= 0:
        return []
    naming = replica_name(job, role) if name is None else name
    tree = at(
        (role.where, fact),
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata(job, naming, labels=job_labels(job)),
            "spec": {
                "clusterIP": "None",
                "selector": selector or replica_selector(job, role),
                "ports": ports,
            },
        },
    )
    return [group(tree, role.type, 0, role.replicas)]


def replica_selector(job: Job, role: Role) -> Tree:
    """The labels that single out one replica of one job."""
    return {
        "tensorstack.dev/owner-name": name_of(job),
        "tensorstack.dev/owner-kind": job.cr["kind"],
        "replica-type": at(role.where, role.type),
        "replica-index": Indexed((REPLICA_INDEX,)),
    }
