"""What the JobSet controller and its webhooks do, one behavior each.

All were seen in what JobSet 0.12.0 created; docs/evidence/jobset.md describes them.
"""

from __future__ import annotations

from podplan.core.provenance import Behavior

_PAGE = "docs/evidence/jobset.md"


def _verified(id_: str, text: str, section: str, value: object = None) -> Behavior:
    return Behavior(f"jobset.{id_}", text, "verified", f"{_PAGE}#{section}", value)


JOB = _verified("job", "a JobSet has as many Jobs of each replicated job as its replicas", "jobs")
JOB_NAME = _verified("job-name", "Jobs are called JOBSET-REPLICATEDJOB-INDEX", "jobs")
LABELS = _verified("labels", "Jobs and Pods have the same labels and annotations about their place", "jobs")
DEFAULTS = _verified("defaults", "Jobs are Indexed, and their Pods restart on failure", "jobs")
SUSPEND = _verified("suspend", "the Jobs of a JobSet are suspended with it", "jobs")
SERVICE = _verified("service", "a headless Service gives Pods their host names", "service")
SUBDOMAIN = _verified("subdomain", "Pods are in the subdomain of that Service", "service")
OWNER = _verified("owner", "the JobSet owns what the controller creates for it", "jobs")
CLAIM = _verified("claim", "claims are called TEMPLATE-JOBSET", "volume-claims")
COORDINATOR = _verified("coordinator", "a label names the coordinator", "jobs")
EXCLUSIVE = _verified(
    "exclusive",
    "the first Pod of a Job keeps the Pods of other Jobs out of its topology domain",
    "exclusive-placement",
)
FOLLOWER = _verified(
    "follower", "the other Pods go where the first Pod of their Job is", "exclusive-placement"
)
DOMAIN = Behavior(
    "jobset.topology-domain",
    "the topology domain of a Job is written as domain-INDEX, since only the cluster knows its name",
    "assumed",
    f"{_PAGE}#exclusive-placement",
)
NODE_SELECTOR = _verified(
    "node-selector", "the Pods of a Job go to the nodes that are labelled with it", "exclusive-placement"
)
PRIORITY = _verified("priority", "a label has the priority of a Pod", "exclusive-placement")
