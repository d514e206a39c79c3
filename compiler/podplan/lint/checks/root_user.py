"""Containers with runAsNonRoot that run as root.

Source: https://kubernetes.io/docs/tasks/configure-pod-container/security-context/.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_mapping
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation


@check()
def root_user_refused(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A container with runAsNonRoot and user 0, by itself or from its Pod. Values: ``container``."""
    is_bound, bound_at = _effective(subject, "runAsNonRoot")
    user, user_at = _effective(subject, "runAsUser")
    if is_bound is True and user == 0 and not isinstance(user, bool):
        related = [(subject.doc, bound_at, "runAsNonRoot is set here")]
        yield Violation(
            user_at,
            {"container": subject.data.get("name", "")},
            related=related,
            doc=subject.doc,
            group=subject.group,
        )


def _effective(subject: Target, field: str) -> tuple[Any, Path]:
    """Return a field of the effective security context and its path: the container overrides the Pod."""
    of_container = get_mapping(subject.data, "securityContext")
    if of_container.get(field) is not None:
        return of_container[field], (*subject.base_path, "securityContext", field)
    of_pod = get_mapping(get_mapping(subject.doc.data, "spec"), "securityContext")
    return of_pod.get(field), ("spec", "securityContext", field)
