"""Hooks that take longer than the grace period of the Pod.

Source: https://kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/#hook-handler-execution.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_mapping, get_texts
from podplan.launchers import processes
from podplan.launchers.durations import Duration, iter_durations
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

DEFAULT_GRACE = 30  # seconds, the default of terminationGracePeriodSeconds
_HOOK: Path = ("lifecycle", "preStop", "exec", "command")


@check(aliases=("hook-longer-than-grace",), requires=("lifecycle",))
def hook_longer_than_grace_period(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A preStop hook that may take longer than the grace period. Values: ``seconds``, ``grace``, ``said``."""
    hook = get_mapping(get_mapping(get_mapping(subject.data, "lifecycle"), "preStop"), "exec")
    words = [word for _, word in get_texts(hook, "command")]
    spec = get_mapping(subject.doc.data, "spec")
    given = spec.get("terminationGracePeriodSeconds")
    grace = given if isinstance(given, int) else DEFAULT_GRACE
    found = iter_durations(processes.build_words_process(words, _HOOK)) if words else ()
    seconds, path = max(found, key=lambda one: one.seconds, default=Duration(0, ()))
    if seconds <= grace:
        return
    related = []
    if isinstance(given, int):
        related = [(subject.doc, ("spec", "terminationGracePeriodSeconds"), "the grace period of the Pod")]
    said = "" if isinstance(given, int) else ", the default"
    yield Violation(path, {"seconds": seconds, "grace": grace, "said": said}, related=related)
