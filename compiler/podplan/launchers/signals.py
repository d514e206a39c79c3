"""Finds programs that never receive SIGTERM because a shell runs them.

A runtime sends SIGTERM only to process 1 of a container. A shell that is process 1 has no handler for it, so
the kernel drops the signal, and a shell does not forward signals to its child. It may replace itself by its
last command, which depends on the shell, or does so for ``exec``. Sources:
https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination,
https://www.gnu.org/software/bash/manual/html_node/Signals.html,
https://man7.org/linux/man-pages/man7/pid_namespaces.7.html.
"""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.typing import NamedTuple
from podplan.launchers import processes
from podplan.launchers.processes import Process, ShellString
from podplan.launchers.shell_nodes import Block, Node

# Wrappers that exec the program they run, so that the shell is still its parent.
_REPLACED = frozenset(("env", "exec", "nice", "ionice", "numactl", "taskset", "stdbuf", "chrt"))


class UnsignalledProgram(NamedTuple):
    """A program that does not receive SIGTERM, and how its shell runs it."""

    process: Process
    how: str


def find_unsignalled(process: Process) -> Iterator[UnsignalledProgram]:
    """Yield the programs of a main process that certainly run as children of a shell that is process 1."""
    string = process.string
    if string is None or not _REPLACED.issuperset(process.wrappers):
        return
    if any(command.words[0].text == "trap" for command in processes.iter_commands(string.nodes)):
        return
    yield from _iter_in_nodes(string.nodes, string, is_last=True)


def _iter_in_nodes(
    nodes: tuple[Node, ...], string: ShellString, *, is_last: bool
) -> Iterator[UnsignalledProgram]:
    for at, node in enumerate(nodes):
        how = _describe_shell(node, is_last=is_last and at == len(nodes) - 1)
        if isinstance(node, Block):
            if node.kind != "function":
                yield from _iter_in_nodes(node.nodes, string, is_last=False)
            continue
        inner = string.process(node)
        if how and inner.string is None and "exec" not in inner.wrappers:
            yield UnsignalledProgram(inner, how)


def _describe_shell(node: Node, *, is_last: bool) -> str:
    """Return how the shell continues while or after a node runs; "" if the node may replace it."""
    if node.operator_after in ("|", "|&") or node.operator_before in ("|", "|&"):
        return "it runs in a pipeline"
    if node.operator_after == "&":
        return "it runs in the background"
    return "" if is_last else "the shell waits for it"
