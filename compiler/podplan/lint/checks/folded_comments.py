"""Comments of a script that swallow the next lines, because YAML folded them into one line.

Sources: https://yaml.org/spec/1.2.2/#813-folded-style,
https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_03.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path, TextPath, below
from podplan.core.lazy_regex import compile_lazily
from podplan.core.truncation import truncate
from podplan.core.typing import Any
from podplan.core.wording import format_count
from podplan.launchers import exec_form
from podplan.launchers.endings import find_endless
from podplan.launchers.exec_form import ExecCommand
from podplan.launchers.exit_status import is_work
from podplan.launchers.processes import build_words_process, iter_programs
from podplan.launchers.tokens import find_comments
from podplan.lint.analysis.features import SHELL
from podplan.lint.checks.registration import check
from podplan.lint.location import find_source_location
from podplan.lint.target import Target, Violation

# Distinguishes a line of a script from a sentence: an option, a path, an operator, an assignment.
_CODE = compile_lazily(r"(?:\A|\s)--?[A-Za-z]|&&|\|\||[|;]|\w=\S|/\w|\$[\w({]|\.(?:py|sh)\b")
_PROGRAM = compile_lazily(
    r"(?:\S*/)?(?:python[0-9.]*|torchrun|accelerate|deepspeed|mpirun|bash|sh|exec|cd|export|set|source)\b"
)
_TRAINING = compile_lazily(
    r"\s((?:\S*/)?(?:torchrun|deepspeed|mpirun|accelerate(?=\s+launch)|python[0-9.]*(?=\s+(?:-u\s+)?(?:-m\s|\S+\.py\b))))\s+\S"
)
_MAX_COMMENTS = 50  # longest part of a script that is checked, in characters
_LINE_BREAK = compile_lazily(r"\r\n?|\n")


@check(requires=(SHELL,))
def comment_over_lines(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A comment that swallows the commands after it; value ``what``: the commands."""
    for line in exec_form.list_exec_commands(subject.data):
        shell = exec_form.find_shell_call(line)
        script = line.texts[shell.script_index] if shell is not None else ""
        if shell is None or "#" not in script:
            continue
        path = line.paths[shell.script_index]
        for start, end in find_comments(script)[:_MAX_COMMENTS]:
            what = _taken_in(subject, below(subject.base_path, TextPath(path, (start, end - 1))))
            if not what and "\n" not in script.strip() and _does_nothing(line):
                found = _TRAINING.search(script, start, end)
                what = f"the rest of the text ({found[1]} …)" if found else ""
            if what:
                yield Violation(TextPath(path, (start, start + 1)), {"what": what})
                break


def _taken_in(subject: Target, path: Path) -> str:
    """Describe the next lines that a comment swallows; "" if none has a command."""
    lost = _lost_lines(subject, path)
    if not lost or not (_CODE.search(" ".join(lost)) or _PROGRAM.match(lost[0])):
        return ""
    return f"the next {format_count(len(lost), 'line')} ({truncate(lost[0].split()[0], 60)} …)"


def _does_nothing(line: ExecCommand) -> bool:
    """Whether a script without its comments does nothing."""
    process = build_words_process(line.texts, ())
    works = any(is_work(inner) for _, inner in iter_programs(process))
    return process.string is not None and not works and find_endless(process) is None


def _lost_lines(subject: Target, path: Path) -> list[str]:
    """Return the next lines of the file that a comment swallows, without other comments."""
    found, whole = find_source_location(subject.doc, path), find_source_location(subject.doc, tuple(path))
    source = found.steps[-1].doc.source if found is not None else None
    if found is None or whole is None or source is None or found.location == whole.location:
        return []  # the position of the comment in the file is not known
    lines = _LINE_BREAK.split(source.text)[found.location.line : found.location.end_line]
    stripped = [line.strip() for line in lines]
    return [line for line in stripped if line and not line.startswith("#")]
