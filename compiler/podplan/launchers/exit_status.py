"""Whether a shell string ends with the exit status of the program that does its work.

A shell ends with the status of its last command, a pipeline with that of its last program, and a list in the
background with none (https://www.gnu.org/software/bash/manual/html_node/Exit-Status.html). ``set -e`` and
``pipefail`` change that. An undecided status counts as visible.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import NamedTuple
from podplan.launchers import processes, wrappers
from podplan.launchers.processes import Process, ShellString
from podplan.launchers.shell_nodes import Block, Node, SimpleCommand
from podplan.launchers.words import Word

# Programs that are no training: they prepare, copy and report.
_HELPERS = """
    : alias apk apt apt-get awk aws basename cat cd chmod chown clear command conda cp curl cut date
    declare df dig dirname disown dmesg dnf du echo env eval exit export find free gcloud getent getopts
    git gsutil gzip head hf host hostname huggingface-cli id ip jobs kill killall ldconfig let ln local
    mamba mapfile mc mkdir modprobe mount mv nc ncat nproc nslookup nvidia-smi ossutil pgrep pidof ping
    pip pip3 pkill popd printenv printf ps pushd pwd rclone read readarray readonly return rm rsync s5cmd
    sed seq service set shift shopt sleep sort source ssh-keygen ssh-keyscan sshd stat sync tail tar tee
    touch tr trap true typeset ulimit umask uname unset unzip wait wc wget which whoami xargs yum zip
"""
HELPERS = frozenset(_HELPERS.split())
# Of those, the programs whose status shows whether the work succeeded, so that they may end a script.
_TELLING = frozenset(("exit", "find", "return", "stat", "which", "wait", "eval", "source"))
_CHECKS = frozenset(("[", "[[", "cmp", "diff", "false", "grep", "ls", "test", "exec"))
TRAINERS = frozenset(("torchrun", "accelerate", "deepspeed", "mpirun", "mpiexec", "horovodrun", "colossalai"))
# Scripts that run besides a training: their status is not needed.
_BESIDE = compile_lazily(
    r"monitor|watch|(?<![a-z])log(?:s|g\w*)?(?![a-z])|metric|export|serve|board|sync|upload|push|notify|heartbeat"
    r"|alert|proxy|sidecar|health"
)
_TRAINING_CODE = compile_lazily(r"(?i)train|\bfit\(|init_process_group|backward\(|\bspawn\(")
_TRAP = compile_lazily(r"\b(?:ERR|EXIT|0|DEBUG|CHLD|SIGCHLD)\b")


class HiddenStatus(NamedTuple):
    """A program whose exit status is lost: its words, ``how`` (a clause), and ``cause``.

    ``cause`` is "pipe", "alternative", "next", "background", "ended" or "wait". ``by`` is the program whose
    status counts instead, the last of a pipeline or of the script.
    """

    words: tuple[Word, ...]
    how: str
    cause: str
    by: Word | None = None


class _ExposedProgram(NamedTuple):
    """A program of a list of nodes, and how its status is lost in it ("" if it is not)."""

    process: Process
    how: str = ""
    cause: str = ""
    in_background: bool = False
    by: Word | None = None


def is_work(process: Process) -> bool:
    """Whether a process is the main work of its container, not a helper."""
    is_helper = process.name in HELPERS or process.name in _CHECKS or is_inspection(process)
    return bool(process.name) and not is_helper


def is_inspection(process: Process) -> bool:
    """Whether a process is ``python -c`` with code that does not train: it prints versions and the like."""
    call = wrappers.parse_python_call(process.words) if process.words else None
    if call is None or call.script is not None or call.module is not None:
        return False
    codes = [after.text for word, after in pairwise(process.words) if word.text == "-c"]
    return bool(codes) and not _TRAINING_CODE.search(codes[0])


def is_training(process: Process) -> bool:
    """Whether a process is a launcher or a script that may train, judged by its name, and no monitor or
    server."""
    name = next(
        (word.base_name for word in process.words[1:] if word.base_name.endswith((".py", ".sh"))),
        process.name,
    )
    starts = process.name in TRAINERS or process.name.startswith("python") or name.endswith((".py", ".sh"))
    return starts and not _BESIDE.search(name.lower()) and not is_inspection(process)


def find_hidden_status(process: Process) -> HiddenStatus | None:
    """Return the last program of a process that does its work, if the process may hide its failure."""
    if process.string is None:
        return None
    found = list(_iter_in_string(process.string))
    last = next((one for one in reversed(found) if not one.in_background), found[-1] if found else None)
    if found and found[-1].cause in ("background", "ended") and is_training(found[-1].process):
        last = found[-1]  # it still runs when the shell ends
    if last is None or not last.how:
        return None
    return HiddenStatus(last.process.words, last.how, last.cause, last.by)


def _iter_in_string(string: ShellString) -> Iterator[_ExposedProgram]:
    return _iter_in_list(string.nodes, string.options, string)


def _iter_in_list(
    nodes: Sequence[Node], options: frozenset[str], string: ShellString
) -> Iterator[_ExposedProgram]:
    """Yield the programs in a sequence of commands."""
    for at, node in enumerate(nodes):
        if isinstance(node, SimpleCommand) and node.words[0].text == "set":
            options = processes.update_shell_options(node.words[1:], options)
        if isinstance(node, SimpleCommand) and node.words[0].text == "trap" and _traps_end(node):
            return
        for exposed in _iter_in_node(node, options, string):
            if exposed.how:
                may_succeed = all(_succeeds(later, string) for later in _iter_nodes_after_success(nodes, at))
                yield exposed if may_succeed else exposed._replace(how="", cause="")
                continue
            how, cause = _find_loss(nodes, at, options, string)
            in_background = exposed.in_background or _last_of_list(nodes, at)[0].operator_after == "&"
            by = _find_last_program(nodes, at, cause, string)
            yield exposed._replace(how=how, cause=cause, in_background=in_background, by=by)


def _find_last_program(nodes: Sequence[Node], at: int, cause: str, string: ShellString) -> Word | None:
    """Return the program whose status counts instead of that of the node ``at``."""
    if cause not in ("pipe", "next"):
        return None
    last = nodes[_end_of_pipeline(nodes, at) if cause == "pipe" else -1]
    words = () if isinstance(last, Block) else string.process(last).words
    return words[0] if words else None


def _iter_in_node(node: Node, options: frozenset[str], string: ShellString) -> Iterator[_ExposedProgram]:
    if isinstance(node, Block):
        if node.kind == "function":
            return
        for part in _iter_lists(node):
            yield from _iter_in_list(part, options, string)
        return
    process = string.process(node)
    if process.string is not None:
        yield from _iter_in_string(process.string)
    elif is_work(process):
        yield _ExposedProgram(process)


def _iter_lists(block: Block) -> Iterator[list[Node]]:
    """Yield the lists of commands in a block; conditions of ``if`` and ``while`` may fail."""
    asks = block.kind in ("if", "while", "until")
    for name in dict.fromkeys(node.part for node in block.nodes):
        if not (asks and name in ("", "elif")):
            yield [node for node in block.nodes if node.part == name]


def _replaces_shell(node: Node) -> bool:
    """Whether the shell is replaced by the program of a command, so that no later command runs."""
    is_exec = isinstance(node, SimpleCommand) and len(node.words) > 1 and node.words[0].text == "exec"
    return is_exec and node.operator_after != "&"


def _find_loss(
    nodes: Sequence[Node], at: int, options: frozenset[str], string: ShellString
) -> tuple[str, str]:
    """Return how the failure of the node ``at`` is lost in its list, and the cause; two empty texts if it
    is not."""
    end = _end_of_pipeline(nodes, at)
    if end == at and _replaces_shell(nodes[at]):
        return "", ""
    if any(node.is_negated for node in nodes[at : end + 1]):
        return "", ""
    if end > at and "pipefail" not in options and string.status_read < nodes[end].start:
        return (
            f"a pipeline has the exit status of its last command, {_describe_node(nodes[end], string)}",
            "pipe",
        )
    last, only_and = end, True
    while nodes[last].operator_after in ("&&", "||") and last + 1 < len(nodes):
        operator, start = nodes[last].operator_after, last + 1
        last = _end_of_pipeline(nodes, start)
        if operator == "||":
            alternative = nodes[start : last + 1]
            if not all(_succeeds(node, string) for node in alternative):
                return "", ""
            return (
                f'the command after "||", {_describe_node(alternative[-1], string)}, succeeds',
                "alternative",
            )
        only_and = False
    if nodes[last].operator_after == "&":
        if any(
            _waits_for_id(command) and command.start > nodes[last].end
            for command in processes.iter_commands(string.nodes)
        ):
            return "", ""
        return _explain_background(nodes[last], nodes[last + 1 :], string)
    rest = nodes[last + 1 :]
    if not rest or ("errexit" in options and only_and) or string.status_read >= nodes[last].end:
        return "", ""
    if not all(_succeeds(node, string) for node in rest):
        return "", ""
    return f"the script has the exit status of its last command, {_describe_node(rest[-1], string)}", "next"


def _iter_nodes_after_success(nodes: Sequence[Node], at: int) -> Iterator[Node]:
    """Yield the nodes that run after the node ``at`` if that succeeds."""
    is_left_out = False
    for before, node in pairwise(nodes[at:]):
        is_left_out = before.operator_after == "||" or (is_left_out and before.operator_after in ("|", "|&"))
        if not is_left_out:
            yield node


def _explain_background(last: Node, rest: Sequence[Node], string: ShellString) -> tuple[str, str]:
    """Return how the status of a list in the background is lost, by the commands after it; a loop around it
    may end before those that wait."""
    later = (node for node in processes.iter_commands(string.nodes) if node.start > last.end)
    waits = [node for node in later if node.words[0].text in ("wait", "fg")]
    if any(len(node.words) > 1 or node.words[0].text == "fg" for node in waits):
        return "", ""
    if waits:
        return "wait without a process id succeeds even if a process failed", "wait"
    if not all(_succeeds(node, string) for node in rest):
        return "", ""
    if any(isinstance(node, Block) or string.process(node).name in ("sleep", "tail") for node in rest):
        return "it runs in the background, and nothing waits for it", "background"
    return "it runs in the background, and the shell ends without waiting for it", "ended"


def _waits_for_id(command: SimpleCommand) -> bool:
    return command.words[0].text == "wait" and len(command.words) > 1


def _end_of_pipeline(nodes: Sequence[Node], at: int) -> int:
    while nodes[at].operator_after in ("|", "|&") and at + 1 < len(nodes):
        at += 1
    return at


def _last_of_list(nodes: Sequence[Node], at: int) -> tuple[Node, int]:
    """Return the last node that ``&&``, ``||`` and pipes join to the node ``at``, and its index."""
    while nodes[at].operator_after in ("|", "|&", "&&", "||") and at + 1 < len(nodes):
        at += 1
    return nodes[at], at


def _succeeds(node: Node, string: ShellString) -> bool:
    """Whether a command usually succeeds, independent of the commands before it."""
    if isinstance(node, Block):
        return all(_succeeds(inner, string) for inner in node.nodes)
    process = string.process(node)
    arguments = [word.text for word in process.words[1:]]
    if "exec" in process.wrappers or process.string is not None:
        return False
    if process.name in ("exit", "return"):
        return arguments[:1] == ["0"]
    return process.name in HELPERS and process.name not in _TELLING - {"wait"}


def _traps_end(command: SimpleCommand) -> bool:
    return any(_TRAP.search(word.text) for word in command.words[2:])


def _describe_node(node: Node, string: ShellString) -> str:
    """Return the name of a node for messages: the program, with its first argument if that helps."""
    if isinstance(node, Block):
        return _describe_node(node.nodes[-1], string) if node.nodes else "a block"
    process = string.process(node)
    if process.name in ("exit", "return", "sleep") and len(process.words) > 1:
        return f"{process.name} {process.words[1].text}"
    return process.name or "the next one"
