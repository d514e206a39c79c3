"""Probes that look for a process which the container does not run.

Source: https://man7.org/linux/man-pages/man1/pgrep.1.html: without -f the pattern is compared with the name
of the process, for a script that of its interpreter, and with -f with the whole command line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from posixpath import basename

from podplan.core.findings import Path, below
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_mapping, get_texts
from podplan.launchers.exit_status import TRAINERS, is_training, is_work
from podplan.launchers.processes import Process
from podplan.launchers.words import Word
from podplan.lint.analysis.jobs import is_mode_enabled
from podplan.lint.analysis.processes import programs_of
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

_PROBES = ("livenessProbe", "startupProbe", "readinessProbe")
_PATTERN = compile_lazily(r"(?:[\w./-]+ ){0,3}?(?P<script>[\w./-]{1,100}\.py)")
_FULL = compile_lazily(r"-[a-z]*f[a-z]*|--full")
_PLAIN_OPTION = compile_lazily(r"-[fclaox0]+|--full|--exact|--oldest|--count")
# Scripts that may start others.
_STARTER = compile_lazily(
    r"launch|run|start|entry|supervis|wrap|spawn|sched|agent|driver|orchestr|watch|monitor|sweep|tuner|manage"
)


class ProcessPattern(NamedTuple):
    """What a probe looks for: the pattern, the script in it, whether it is compared with the command line,
    and the place below the container."""

    text: str
    script: str
    is_full: bool
    place: Path


@check(requires=_PROBES)
def probe_of_other_process(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A probe of a process with another name than that of the program.

    Values: ``probe``, ``pattern``, ``script``, ``why``.
    """
    container = target.data
    patterns = [
        (probe, one)
        for probe in _PROBES
        for one in _read_pattern(
            probe, list(get_texts(get_mapping(get_mapping(container, probe), "exec"), "command"))
        )
    ]
    found = _find_only_script(container) if patterns else None
    if found is None or is_mode_enabled(target.job, "debug"):
        return
    process, script = found
    line = " ".join(word.text for word in process.words)
    written = " ".join(text for key in ("command", "args") for _, text in get_texts(container, key))
    for probe, pattern in patterns:
        values = {"probe": probe, "pattern": pattern.text, "script": script.base_name}
        if not pattern.is_full:
            if process.name.startswith("python") and basename(pattern.script) == script.base_name:
                why = f"without -f pgrep sees only the name of the interpreter, {process.name}"
                yield _build_violation(target, pattern, script, {**values, "why": why})
            continue
        is_one_word = pattern.text == pattern.script
        if not is_one_word and not process.name.startswith("python"):
            continue  # a launcher writes the command lines of its processes
        seen = written if is_one_word else line
        if not re.search(pattern.text, seen) and _is_near(basename(pattern.script), script.base_name):
            why = "no command line contains it"
            yield _build_violation(target, pattern, script, {**values, "why": why})


def _build_violation(
    target: Target, pattern: ProcessPattern, script: Word, values: Mapping[str, Any]
) -> Violation:
    related = [(target.doc, below(target.base_path, script.place), "the program")]
    return Violation(pattern.place, values, related)


def _read_pattern(probe: str, words: Sequence[tuple[int, str]]) -> Iterator[ProcessPattern]:
    """Yield the pattern of a probe that is pgrep, or pkill without a signal."""
    texts = [text for _, text in words]
    name = basename(texts[0]) if texts else ""
    options = [one for one in texts[1:] if one.startswith("-")]
    plain = [(at, one) for at, one in words[1:] if not one.startswith("-")]
    is_asked = name == "pgrep" or (name == "pkill" and "-0" in options)
    if not is_asked or len(plain) != 1 or not all(_PLAIN_OPTION.fullmatch(one) for one in options):
        return
    at, text = plain[0]
    found = _PATTERN.fullmatch(text)
    if found is not None:
        is_full = any(_FULL.fullmatch(one) for one in options)
        yield ProcessPattern(text, found["script"], is_full, (probe, "exec", "command", at))


def _find_only_script(container: Mapping[str, Any]) -> tuple[Process, Word] | None:
    """Return the only program of a container that does work, if it trains with a Python script."""
    working = [process for _, process in programs_of(container) if is_work(process)]
    if len(working) != 1 or not is_training(working[0]):
        return None
    process = working[0]
    is_started = process.name.startswith("python") or process.name in TRAINERS
    scripts = [word for word in process.words[1:] if word.is_known and word.base_name.endswith(".py")]
    is_known = all(word.is_known for word in process.words[:2])
    if not is_started or not is_known or not scripts or _STARTER.search(scripts[0].base_name.lower()):
        return None
    return process, scripts[0]


def _is_near(one: str, other: str) -> bool:
    """Whether two scripts have a word of their names in common, so that the same one is meant."""
    first, second = one.removesuffix(".py").lower(), other.removesuffix(".py").lower()
    words = [*re.split(r"[_.-]", first), *re.split(r"[_.-]", second)]
    return any(len(word) > 3 and word in first and word in second for word in words)
