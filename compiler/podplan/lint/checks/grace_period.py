"""Hooks that take longer than the Pod is given to end.

Source: https://kubernetes.io/docs/concepts/containers/container-lifecycle-hooks/#hook-handler-execution.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.findings import Path
from podplan.kubernetes.shape import mapping, texts
from podplan.launchers import endings, processes
from podplan.launchers.processes import Process
from podplan.launchers.words import Word
from podplan.lint.subject import Hit, Subject
from podplan.patterns import pattern
from podplan.typing import Any

DEFAULT_GRACE = 30  # seconds, the default of terminationGracePeriodSeconds
_OPTION = pattern(
    r"--?(?:max[-_])?(?:wait|timeout|sleep|time|drain|grace(?:[-_]period)?|delay)"
    r"(?:[-_]?(?:time|for|s|secs?|seconds|timeout))?(?:=(\d{1,6}s?))?"
)
_NUMBER = pattern(r"(\d{1,6})s?")
_HOOK: Path = ("lifecycle", "preStop", "exec", "command")


def hook_longer_than_grace(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A preStop hook that may take longer than the grace period. Values: ``seconds``, ``grace``, ``said``."""
    hook = mapping(mapping(mapping(subject.data, "lifecycle"), "preStop"), "exec")
    words = [word for _, word in texts(hook, "command")]
    spec = mapping(subject.doc.data, "spec")
    given = spec.get("terminationGracePeriodSeconds")
    grace = given if isinstance(given, int) else DEFAULT_GRACE
    longest = max(_durations(processes.of_words(words, _HOOK)), default=None) if words else None
    if longest is None or longest[0] <= grace:
        return
    seconds, path = longest
    related = []
    if isinstance(given, int):
        related = [(subject.doc, ("spec", "terminationGracePeriodSeconds"), "the grace period of the Pod")]
    said = "" if isinstance(given, int) else ", the default"
    yield Hit(path, {"seconds": seconds, "grace": grace, "said": said}, related=related)


def _durations(process: Process) -> Iterator[tuple[int, Path]]:
    """The seconds that a command may take by what it says, each with the place."""
    slept, place = 0, process.place
    for command, inner in processes.steps(process):
        if inner.name == "sleep" and not (command is not None and command.conditional):
            slept += endings.sleep_seconds([word.text for word in inner.words[1:]])
            place = inner.place
        yield from _options(inner.words[1:])
    if slept:
        yield slept, place


def _options(words: tuple[Word, ...]) -> Iterator[tuple[int, Path]]:
    """The values of options that say how long a program waits at most."""
    for at, word in enumerate(words):
        option = _OPTION.fullmatch(word.text)
        if option is None:
            continue
        value = option[1] or (words[at + 1].text if at + 1 < len(words) else "")
        number = _NUMBER.fullmatch(value)
        if number is not None:
            yield int(number[1]), word.place
