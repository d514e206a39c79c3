"""Hooks that run when a container starts, and that never end.

Source: https://kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/#hook-handler-execution.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts
from podplan.launchers import endings, processes
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

_HOOK: Path = ("lifecycle", "postStart", "exec", "command")


@check(requires=("lifecycle",))
def endless_post_start(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A postStart hook that never ends; values ``command`` and ``effect``."""
    hook = get_mapping(get_mapping(get_mapping(subject.data, "lifecycle"), "postStart"), "exec")
    words = [word for _, word in get_texts(hook, "command")]
    endless = endings.find_endless(processes.build_words_process(words, _HOOK)) if words else None
    if endless is None:
        return
    field, number = subject.base_path[1:]
    listed = get_entries(get_mapping(subject.doc.data, "spec"), str(field))
    behind = next((get_text(other, "name") for at, other in listed if at == int(number) + 1), "")
    effect = f', and the container "{behind}" after it never starts' if behind else ""
    yield Violation(endless.words[0].place, {"command": endless.text, "effect": effect})
