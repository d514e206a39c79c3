"""Words that launchers accept with another meaning than intended: scripts, and options in one word.

Sources: https://docs.pytorch.org/docs/stable/elastic/run.html; https://docs.python.org/3/library/argparse.html;
the answers of the real launchers in fixtures/launchers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.provenance import TracedDocument
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any, NamedTuple
from podplan.launchers.arguments import CommandLine
from podplan.launchers.discovery import Invocation
from podplan.launchers.joined_options import JoinedWord, find_unsplit_words
from podplan.launchers.scripts import ScriptError, find_script_error
from podplan.launchers.words import Word
from podplan.lint.analysis.deepspeed_line import find_deepspeed_line
from podplan.lint.analysis.jobs import has_trait, is_mode_enabled
from podplan.lint.analysis.launches import find_launches
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation, cache_latest

# They start Python with the script; colossalai run checks its name first.
_SCRIPT_LAUNCHERS = ("torchrun", "torch.distributed.launch", "accelerate", "deepspeed")

_MPI_LAUNCHERS = ("mpirun", "horovodrun")


class LauncherLine(NamedTuple):
    """A launcher command line: its arguments, their parsed form, and their paths."""

    launcher: str
    words: tuple[Word, ...]
    line: CommandLine
    locate_word: Callable[[Word], Path]
    doc: TracedDocument | None = None
    group: ReplicaGroup | None = None
    container: Mapping[str, Any] = {}


@check()
def not_a_script(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A word in the place of the script that Python cannot run; value ``what``."""
    for launcher_line in iter_launcher_lines(target.job):
        script, options = launcher_line.line.script, launcher_line.line.options
        if (
            launcher_line.launcher not in _SCRIPT_LAUNCHERS
            or not launcher_line.line.is_certain
            or script is None
            or "no_python" in options
        ):
            continue
        error = find_script_error(
            launcher_line.launcher, script, launcher_line.line.arguments, is_module="module" in options
        )
        if error is None:
            continue
        path = launcher_line.locate_word(script)
        removable = error.is_superfluous and _is_whole_entry(launcher_line, script)
        change = ("remove", path, None) if removable else None
        # Safe: Python cannot run a file of that name, so no process trained.
        yield Violation(
            path,
            {"what": error.message},
            change=change,
            safe=True,
            doc=launcher_line.doc,
            group=launcher_line.group,
        )

    for launch in () if is_mode_enabled(target.job, "debug") else find_launches(target.job):
        error = _find_python_error(launch.invocation)
        if error is not None:
            path = launch.locate_word(error.word)
            yield Violation(path, {"what": error.message}, doc=launch.group.doc, group=launch.group)


def _find_python_error(invocation: Invocation) -> ScriptError | None:
    """Explain why a python without launcher cannot run its script; EXEC005 reports a line in one word."""
    script = invocation.script
    if invocation.launcher != "python" or script is None or len(script.text.split()) != 1:
        return None
    before = invocation.words[: invocation.words.index(script)]
    if any(word.text in ("-m", "-c", "-") for word in before):
        return None
    return find_script_error("python", script, invocation.arguments, is_module=False)


@check()
def mpirun_in_mpirun(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A launcher of MPI that each process of another one starts. Values: ``program``, ``by``."""
    for launch in find_launches(target.job):
        invocation = launch.invocation
        if invocation.started_by in _MPI_LAUNCHERS and invocation.launcher in _MPI_LAUNCHERS:
            path = launch.locate_word(invocation.program_word)
            values = {"program": invocation.program_word.base_name, "by": invocation.started_by}
            yield Violation(path, values, doc=launch.group.doc, group=launch.group)


@check()
def options_in_one_word(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Several options in one word; values ``word``, ``by`` and ``effect``."""
    for launcher_line in iter_launcher_lines(target.job):
        for joined in find_unsplit_words(
            launcher_line.launcher, launcher_line.words, launcher_line.line.script
        ):
            values = {
                "word": joined.word.text,
                "by": launcher_line.launcher,
                "effect": _describe_effect(launcher_line, joined),
            }
            yield Violation(
                launcher_line.locate_word(joined.word),
                values,
                doc=launcher_line.doc,
                group=launcher_line.group,
            )


@cache_latest
def find_reported_places(job: LoweredJob) -> frozenset[tuple[int, Path]]:
    """Return the paths of words that the two checks above report, each with the id of its document."""
    hits = [*not_a_script(_build_target(job), {}), *options_in_one_word(_build_target(job), {})]
    return frozenset((id(hit.doc), hit.path) for hit in hits)


def _build_target(job: LoweredJob) -> Target:
    assert job.cr is not None
    return Target(job.cr, job, data=job.cr.data)


def find_joined_words(launcher: str, words: tuple[Word, ...], line: CommandLine) -> frozenset[Word]:
    """Return the words of a line that are reported as several options in one word."""
    return frozenset(joined.word for joined in find_unsplit_words(launcher, words, line.script))


def iter_launcher_lines(job: LoweredJob) -> Iterator[LauncherLine]:
    """Yield the launcher command lines of training containers; for a DeepSpeedJob from its CR."""
    if is_mode_enabled(job, "debug"):
        return
    deepspeed_line = find_deepspeed_line(job)
    if deepspeed_line is not None:
        command_line = deepspeed_line.command_line
        yield LauncherLine(
            "deepspeed", deepspeed_line.words, command_line.command_line, deepspeed_line.locate_word, job.cr
        )
    for launch in find_launches(job):
        invocation = launch.invocation
        if invocation.parsed is None or (
            has_trait(job, "deepspeed-by-controller") and invocation.launcher == "deepspeed"
        ):
            continue
        line, group = invocation.parsed.command_line, launch.group
        yield LauncherLine(
            invocation.launcher,
            invocation.words,
            line,
            launch.locate_word,
            group.doc,
            group,
            launch.container,
        )


def _describe_effect(launcher_line: LauncherLine, joined: JoinedWord) -> str:
    """Describe how the launcher parses a word."""
    if joined.word is launcher_line.line.script:
        return f"treats it as the {'program' if launcher_line.launcher == 'mpirun' else 'script'}"
    for option in launcher_line.line.options.values():
        if option.word is joined.word:
            return f'treats "{option.value}" as the value of {option.flag.text.partition("=")[0]}'
    return "rejects it"


def _is_whole_entry(launcher_line: LauncherLine, word: Word) -> bool:
    """Whether a word is a whole entry of a list, and no part of a string that a shell splits."""
    if not launcher_line.container:
        return launcher_line.locate_word(word)[-1:] != ("customCommand",)
    key, *indexes = word.path
    words = launcher_line.container.get(str(key))
    if (
        not isinstance(words, list)
        or not indexes
        or not isinstance(indexes[0], int)
        or indexes[0] >= len(words)
    ):
        return False
    return word.start == 0 and word.end == len(str(words[indexes[0]]))
