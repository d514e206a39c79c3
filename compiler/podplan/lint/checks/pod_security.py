"""Pod Security Standards as a check: one control, by the level and version of Kubernetes in force."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.lint.pod_security import beyond_baseline, may_break
from podplan.lint.pod_security.pod import written
from podplan.lint.subject import Hit, Job, Subject, for_one
from podplan.typing import Any

WITHOUT_IPC_LOCK = " and raise the limit of locked memory on the nodes instead (NET003)"


def pod_security(subject: Subject, params: Mapping[str, Any]) -> Iterator[Hit]:
    """Where a Pod breaks the control ``params["control"]``; values ``what``, and ``otherwise``: by what else.

    The rules are those of the Kubernetes version ``params["version"]``, else of the run.
    """
    fields = _written(subject.job).get(id(subject.data))
    if fields is not None and not may_break(params["control"], fields):
        return
    version = params.get("version", subject.job.version)
    for path, what in beyond_baseline(subject.data, params["control"], version):
        yield Hit(path, {"what": what, "otherwise": WITHOUT_IPC_LOCK if "IPC_LOCK" in what else ""})


@for_one
def _written(job: Job) -> dict[int, frozenset[str]]:
    """The fields of each Pod of a job, by the id of its data."""
    return {id(group.doc.data): written(group.doc.data) for group in job.pods}
