"""Hooks that run when a container starts, and that never end.

Source: https://kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/#hook-handler-execution.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.typing import Any
from podplan.kubernetes.accessors import entries, mapping, text, texts
from podplan.launchers import endings, processes
from podplan.lint.target import Hit, Subject

_HOOK: Path = ("lifecycle", "postStart", "exec", "command")


def endless_post_start(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A postStart hook that never ends; values ``command`` and ``effect``."""
    hook = mapping(mapping(mapping(subject.data, "lifecycle"), "postStart"), "exec")
    words = [word for _, word in texts(hook, "command")]
    endless = endings.endless(processes.of_words(words, _HOOK)) if words else None
    if endless is None:
        return
    field, number = subject.base[1:]
    listed = entries(mapping(subject.doc.data, "spec"), str(field))
    behind = next((text(other, "name") for at, other in listed if at == int(number) + 1), "")
    effect = f', and the container "{behind}" behind it is never started' if behind else ""
    yield Hit(endless.words[0].place, {"command": endless.text, "effect": effect})
