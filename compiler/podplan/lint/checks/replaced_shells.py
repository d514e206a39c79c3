"""Commands of a script that never run, because ``exec`` has replaced the shell before them.

Source: https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_21 (exec does not
return if a command is given).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from podplan.core.findings import TextPath, below
from podplan.core.provenance import TracedDocument
from podplan.core.typing import Any
from podplan.launchers import exec_form
from podplan.launchers.shell import parse_script
from podplan.launchers.shell_nodes import Node, SimpleCommand
from podplan.lint.analysis.features import SHELL
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

# What is written after exec for the case that it fails, or ends the script anyway.
_AFTER_A_FAILURE = frozenset(
    ("exit", "return", "echo", "printf", "true", "false", ":", "wait", "kill", "sleep")
)
# Commands whose success is expected before &&.
_PREPARING = frozenset(("cd", "export", "mkdir", "set", "ulimit", "umask", "source", ".", "pushd", "unset"))


@check(requires=(SHELL,))
def command_after_exec(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A command after an ``exec`` that always runs. Values: ``command``, ``program``."""
    for line in exec_form.list_exec_commands(target.data):
        shell = exec_form.find_shell_call(line)
        script = line.texts[shell.script_index] if shell is not None else ""
        if shell is None or "exec " not in script or "<<" in script or "execfail" in script:
            continue
        parsed = parse_script(script, {})
        found = _find_lost(parsed.nodes) if parsed.syntax_error is None else None
        if found is None:
            continue
        executed, lost = found
        path = line.paths[shell.script_index]
        program = next(word.text for word in executed.words[1:] if not word.text.startswith("-"))
        place = below(target.base_path, TextPath(path, (executed.start, executed.start + len("exec"))))
        related: list[tuple[TracedDocument, Any, str]] = [(target.doc, place, "replaces the shell")]
        values = {"command": lost.words[0].text, "program": program.rpartition("/")[2]}
        yield Violation(TextPath(path, (lost.start, lost.end)), values, related)


def _find_lost(nodes: Sequence[Node]) -> tuple[SimpleCommand, SimpleCommand] | None:
    """Return an ``exec`` at the top of a script and the first command of substance after it."""
    for at, node in enumerate(nodes):
        if not isinstance(node, SimpleCommand) or not _replaces_shell(node, nodes[:at]):
            continue
        for later in nodes[at + 1 :]:
            if isinstance(later, SimpleCommand):
                word = later.words[0]
                if later.operator_before == "||" or word.text in _AFTER_A_FAILURE:
                    continue
                if word.is_known and not word.text.startswith("-"):
                    return node, later
        return None
    return None


def _replaces_shell(command: SimpleCommand, before: Sequence[Node]) -> bool:
    """Whether a command is an ``exec`` of a program that the shell itself always runs."""
    words = command.words
    programs = [word for word in words[1:] if not word.text.startswith("-")]
    is_exec = words[0].text == "exec" and bool(programs) and programs[0].is_known
    if not is_exec or command.is_conditional or command.is_negated or programs[0].text[:1] in ("{", "$", ""):
        return False
    if command.operator_after in ("|", "|&", "&") or command.operator_before in ("|", "|&", "||"):
        return False
    operator = command.operator_before
    for earlier in reversed(before):
        if operator != "&&":
            return operator not in ("|", "|&", "||")
        if not isinstance(earlier, SimpleCommand) or earlier.words[0].text not in _PREPARING:
            return False
        operator = earlier.operator_before
    return operator != "&&"
