"""The duration of a command line as far as it states one: sleeps, loops with sleeps, and timeouts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import NamedTuple
from podplan.launchers import wrappers
from podplan.launchers.endings import sleep_seconds
from podplan.launchers.processes import Process, ShellString, iter_programs
from podplan.launchers.shell_nodes import Block, Node, SimpleCommand
from podplan.launchers.words import Word

MAX_SECONDS = 10**9
_OPTION = compile_lazily(
    r"--?(?:max[-_])?(?:wait|timeout|sleep|time|drain|grace(?:[-_]period)?|delay)"
    r"(?:[-_]?(?:time|for|s|secs?|seconds|timeout))?(?:=(\d{1,6}s?))?"
)
_NUMBER = compile_lazily(r"(\d{1,6})s?")
_PYTHON_SLEEP = compile_lazily(r"\b(?:time\.)?sleep\(\s*(\d{1,6})(?:\.0*)?\s*\)")
_SEQ = compile_lazily(r"(?:\$\(|`)\s*seq\s+(\d{1,7})(?:\s+(\d{1,7}))?(?:\s+(\d{1,7}))?\s*(?:\)|`)")
_BRACES = compile_lazily(r"\{(\d{1,7})\.\.(\d{1,7})(?:\.\.(\d{1,7}))?\}")
_IN_C = compile_lazily(
    r"for\s*\(\(\s*(\w+)\s*=\s*(\d{1,7})\s*;\s*\1\s*(<=?)\s*(\d{1,7})\s*;\s*(?:\1\s*\+\+|\+\+\s*\1)\s*\)\)"
)
_LISTED = compile_lazily(r"for\s+\w+\s+in\s+([\w./ \t-]+?)\s*[;\n]")
# A counter that a loop compares with its limit, in [ … ], [[ … ]], test or (( … )).
_LESS = compile_lazily(r"\$?\{?\b(\w+)\}?[\"']?\s*(?:-lt|-le|-ne|!=|<=?)\s*[\"']?(\d{1,7})\b")
_MORE = compile_lazily(r"\$?\{?\b(\w+)\}?[\"']?\s*(?:-ge|-gt|-eq|==|>=?)\s*[\"']?(\d{1,7})\b")
_DO = compile_lazily(r"\bdo\b")


class Duration(NamedTuple):
    """The number of seconds that a command may take, and the place that states it."""

    seconds: int
    place: Path


def iter_durations(process: Process) -> Iterator[Duration]:
    """Yield the durations that the parts of a process state."""
    if process.string is not None:
        total = _sum_list(process.string.nodes, process.string)
        if total.seconds:
            yield total
    else:
        yield _compute_process_duration(process, None)
    for _, inner in iter_programs(process):
        yield from _iter_wait_options(inner.words[1:])


def _sum_list(nodes: Sequence[Node], string: ShellString) -> Duration:
    """Add the durations of commands in sequence, without background commands and those after ``||``."""
    found = [
        _compute_node_duration(node, string)
        for at, node in enumerate(nodes)
        if node.operator_before != "||" and node.operator_after != "&"
    ]
    longest = max(found, key=lambda one: one.seconds, default=Duration(0, ()))
    return Duration(min(sum(one.seconds for one in found), MAX_SECONDS), longest.place)


def _compute_node_duration(node: Node, string: ShellString) -> Duration:
    if isinstance(node, SimpleCommand):
        return _compute_process_duration(string.process(node), node)
    body = [each for each in node.nodes if each.part not in ("", "elif")]
    if node.kind in ("{", "("):
        return _sum_list(node.nodes, string)
    if node.kind == "if":
        parts = dict.fromkeys(each.part for each in body)
        branches = (_sum_list([each for each in body if each.part == part], string) for part in parts)
        return max(branches, key=lambda one: one.seconds, default=Duration(0, ()))
    if node.kind not in ("for", "while", "until"):
        return Duration(0, ())
    once = _sum_list(node.nodes, string)
    times, seconds = _count_rounds(node, string.text[node.start : node.end])
    return Duration(min(seconds or times * once.seconds, MAX_SECONDS), once.place)


def _compute_process_duration(process: Process, command: SimpleCommand | None) -> Duration:
    """Return the duration of a program: a sleep, the limit of timeout, or the string of a shell."""
    limit = _read_timeout(command.words if command is not None else process.words)
    if process.string is not None:
        inner = _sum_list(process.string.nodes, process.string)
        return inner if not limit or inner.seconds else Duration(limit, process.place)
    if process.name == "sleep":
        return Duration(sleep_seconds([word.text for word in process.words[1:]]), process.place)
    if process.name.startswith("python") and len(process.words) > 2 and process.words[1].text == "-c":
        slept = sum(int(match[1]) for match in _PYTHON_SLEEP.finditer(process.words[2].text))
        return Duration(slept, process.place)
    return Duration(limit, process.place)


def _read_timeout(words: Sequence[Word]) -> int:
    """Return the seconds after which ``timeout`` ends a command, or 0."""
    names = [word.base_name for word in words]
    if "timeout" not in names:
        return 0
    line = tuple(words[names.index("timeout") :])
    inner = wrappers.unwrap_command(line)
    behind = len(inner.words) if inner is not None else 0
    return sleep_seconds([line[-behind - 1].text])


def _count_rounds(loop: Block, text: str) -> tuple[int, int]:
    """Return the maximum number of rounds of a loop, and the seconds after which it ends; 0 if unknown."""
    if loop.kind == "for":
        return _count_rounds_of_for(text), 0
    head = _DO.split(text, 1)[0]
    compared = (_LESS if loop.kind == "while" else _MORE).search(head)
    if compared is None:  # while true; do …; [ $n -gt 9 ] && break; done
        compared = _MORE.search(text) if "break" in text or "exit" in text else None
    if compared is None:
        return 0, 0
    name, most = compared[1], int(compared[2])
    if name == "SECONDS":
        return 0, most
    by = _read_increment(name, text)
    return (most // by if by else 0), 0


def _read_increment(name: str, text: str) -> int:
    """Return by how much a loop increments a counter in each round; 0 if it does not."""
    counts = re.search(
        rf"\b{name}=\$\(\(\s*\$?\{{?{name}\}}?\s*\+\s*(\d{{1,5}})\s*\)\)|\b{name}\+=(\d{{1,5}})|{name}\+\+|\+\+{name}"
        rf"|\b{name}=(?:\$\(|`)\s*expr\s+\$\{{?{name}\}}?\s+\+\s+(\d{{1,5}})",
        text,
    )
    if counts is None:
        return 0
    return int(counts[1] or counts[2] or counts[3] or 1)


def _count_rounds_of_for(text: str) -> int:
    head = text.partition("\n")[0] if "((" not in text[:10] else text
    if match := _IN_C.match(text):
        return max(int(match[4]) - int(match[2]) + (match[3] == "<="), 0)
    if match := _SEQ.search(head):
        numbers = [int(number) for number in match.groups() if number is not None]
        first, last = (1, numbers[0]) if len(numbers) == 1 else (numbers[0], numbers[-1])
        by = numbers[1] if len(numbers) == 3 else 1
        return len(range(first, last + 1, by)) if by else 0
    if match := _BRACES.search(head):
        first, last = sorted((int(match[1]), int(match[2])))
        return len(range(first, last + 1, int(match[3] or 1) or 1))
    match = _LISTED.match(text)
    return len(match[1].split()) if match else 0


def _iter_wait_options(words: tuple[Word, ...]) -> Iterator[Duration]:
    """Yield the values of options that limit how long a program waits."""
    for at, word in enumerate(words):
        option = _OPTION.fullmatch(word.text)
        if option is None:
            continue
        value = option[1] or (words[at + 1].text if at + 1 < len(words) else "")
        number = _NUMBER.fullmatch(value)
        if number is not None:
            yield Duration(int(number[1]), word.place)
