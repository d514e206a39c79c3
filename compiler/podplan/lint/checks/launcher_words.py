"""The words of launchers that they accept and that mean something else: scripts, and options in one word.

Sources: https://docs.pytorch.org/docs/stable/elastic/run.html; https://docs.python.org/3/library/argparse.html;
the answers of the real launchers in fixtures/launchers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.provenance import Doc
from podplan.core.replica_groups import Group
from podplan.core.typing import Any, NamedTuple
from podplan.launchers.arguments import Line
from podplan.launchers.joined_options import Joined, find_joined
from podplan.launchers.scripts import find_script_fault
from podplan.launchers.words import Word
from podplan.lint.analysis.deepspeed_line import line_of
from podplan.lint.analysis.jobs import kind_of, mode
from podplan.lint.analysis.launches import launches
from podplan.lint.target import Hit, Job, Subject, for_one

# They start Python with the script; colossalai run does too, and looks at its name first.
_RUN_SCRIPTS = ("torchrun", "torch.distributed.launch", "accelerate", "deepspeed")


class LauncherLine(NamedTuple):
    """A line of a launcher: its words behind the name, what the launcher reads of them, and their places."""

    by: str
    words: tuple[Word, ...]
    line: Line
    place: Callable[[Word], Path]
    doc: Doc | None = None
    group: Group | None = None
    container: Mapping[str, Any] = {}


def not_a_script(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A word in the place of the script that Python cannot run; value ``what``."""
    for each in launcher_lines(subject.job):
        script, options = each.line.script, each.line.options
        if each.by not in _RUN_SCRIPTS or not each.line.sure or script is None or "no_python" in options:
            continue
        fault = find_script_fault(each.by, script, each.line.arguments, module="module" in options)
        if fault is None:
            continue
        path = each.place(script)
        removable = fault.superfluous and _is_entry(each, script)
        change = ("remove", path, None) if removable else None
        # Safe: Python cannot run a file of that name, so no process trained.
        yield Hit(path, {"what": fault.sentence}, change=change, safe=True, doc=each.doc, group=each.group)


def options_in_one_word(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A word of options that holds several of them; values ``word``, ``by`` and ``effect``."""
    for each in launcher_lines(subject.job):
        for joined in find_joined(each.by, each.words, each.line.script):
            values = {"word": joined.word.text, "by": each.by, "effect": _effect(each, joined)}
            yield Hit(each.place(joined.word), values, doc=each.doc, group=each.group)


@for_one
def reported_places(job: Job) -> frozenset[tuple[int, Path]]:
    """The places of words that the two checks above report, each with the id of its document."""
    hits = [*not_a_script(_subject(job), {}), *options_in_one_word(_subject(job), {})]
    return frozenset((id(hit.doc), hit.path) for hit in hits)


def _subject(job: Job) -> Subject:
    assert job.cr is not None
    return Subject(job.cr, job, data=job.cr.data)


def joined_words(by: str, words: tuple[Word, ...], line: Line) -> frozenset[Word]:
    """The words of a line that are reported as several options in one word."""
    return frozenset(joined.word for joined in find_joined(by, words, line.script))


def launcher_lines(job: Job) -> Iterator[LauncherLine]:
    """The lines of launchers in the training containers, and that of a DeepSpeedJob as the CR has it."""
    if mode(job, "debug"):
        return
    of_controller = line_of(job)
    if of_controller is not None:
        read = of_controller.read
        yield LauncherLine("deepspeed", of_controller.words, read.line, of_controller.place, job.cr)
    for launch in launches(job):
        found = launch.invocation
        if found.facts is None or (kind_of(job) == "DeepSpeedJob" and found.launcher == "deepspeed"):
            continue
        line, group = found.facts.line, launch.group
        yield LauncherLine(
            found.launcher, found.words, line, launch.place, group.doc, group, launch.container
        )


def _effect(each: LauncherLine, joined: Joined) -> str:
    """What the launcher takes a word for."""
    if joined.word is each.line.script:
        return "which takes it for the script"
    for option in each.line.options.values():
        if option.word is joined.word:
            return f'which takes "{option.value}" for the value of {option.flag.text.partition("=")[0]}'
    return "which refuses it"


def _is_entry(each: LauncherLine, word: Word) -> bool:
    """Whether a word is a whole entry of a list, and no part of a string that a shell splits."""
    if not each.container:
        return each.place(word)[-1:] != ("customCommand",)
    key, *rest = word.path
    listed = each.container.get(str(key))
    if not isinstance(listed, list) or not rest or not isinstance(rest[0], int) or rest[0] >= len(listed):
        return False
    return word.start == 0 and word.end == len(str(listed[rest[0]]))
