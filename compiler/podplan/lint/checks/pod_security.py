"""Pod Security Standards as a check: one control, by the level and version of Kubernetes in force."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.lint.pod_security import beyond_baseline
from podplan.lint.subject import Hit, Subject
from podplan.typing import Any

WITHOUT_IPC_LOCK = " and raise the limit of locked memory on the nodes instead (NET003)"


def pod_security(subject: Subject, params: Mapping[str, Any]) -> Iterator[Hit]:
    """Where a Pod breaks the control ``params["control"]``; values ``what``, and ``otherwise``: by what else.

    The rules are those of the Kubernetes version ``params["version"]``, else of the run.
    """
    version = params.get("version", subject.job.version)
    for path, what in beyond_baseline(subject.data, params["control"], version):
        yield Hit(path, {"what": what, "otherwise": WITHOUT_IPC_LOCK if "IPC_LOCK" in what else ""})
