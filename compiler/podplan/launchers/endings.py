"""The end of the main process of a container: never, or at once because it only starts a daemon.

A container ends with its main process, and a Pod when all its containers have ended
(https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from podplan.core.lazy_regex import compile_lazily
from podplan.core.truncation import truncate
from podplan.core.typing import NamedTuple
from podplan.launchers import processes
from podplan.launchers.exit_status import HELPERS, TRAINERS, is_inspection, is_training
from podplan.launchers.processes import Process, ShellString
from podplan.launchers.shell_nodes import Block, Node, SimpleCommand
from podplan.launchers.words import Word

# Programs that serve or watch until they are stopped, with any options.
_SERVERS = """
    alertmanager code-server dcgm-exporter dcgm_exporter etcd filebeat fluent-bit fluentbit fluentd gotty
    grafana-server jupyter jupyter-lab jupyter-notebook loki memcached node_exporter nvidia_gpu_exporter
    otelcol otelcol-contrib prometheus promtail pushgateway statsd_exporter telegraf tensorboard
    text-embeddings-router text-generation-launcher tritonserver ttyd vector vmagent
"""
_ENDLESS_SERVERS = frozenset(_SERVERS.split())
_MODULES = """
    http.server lightllm.server.api_server lmdeploy.serve.openai.api_server notebook sglang.launch_server
    tensorboard tensorboard.main trl.scripts.vllm_serve uvicorn vllm.entrypoints.api_server
    vllm.entrypoints.openai.api_server
"""
_ENDLESS_MODULES = frozenset(_MODULES.split())
# https://www.tensorflow.org/api_docs/python/tf/distribute/Server#join
_PARAMETER_SERVER = compile_lazily(
    r"(?:job|job_name|task_type|role|type|replica_type)=(?:ps|parameter_server)"
)
# Options by which a program says that it serves until it is stopped.
_FOREVER_OPTIONS = frozenset(("--serve-forever", "--serve_forever", "--run-forever", "--run_forever"))
# Programs with subcommands, and the subcommand that serves.
_SERVING_COMMANDS = {
    "aim": "up",
    "lmdeploy": "serve",
    "mlflow": "server",
    "ollama": "serve",
    "streamlit": "run",
    "trl": "vllm-serve",
    "vllm": "serve",
}
_ENDS_WATCH = ("--chgexit", "--errexit")
_REPEATS = compile_lazily(r"-l(?:ms)?(?:=|\Z)|--loop(?:-ms)?(?:=|\Z)")
_SHORT = frozenset(("--version", "-version", "--help", "-h", "list", "stop", "validate"))
_FOREVER = frozenset(("infinity", "inf"))
_NUMBER = compile_lazily(r"(\d+)([smhd]?)\Z")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_YEAR = 365 * 86_400
_TRUE = frozenset(("true", ":"))
_LEAVES_LOOP = frozenset(("break", "exit", "return", "exec", "kill"))
_KILLERS = frozenset(("kill", "pkill", "killall", "trap", "skill", "shutdown", "curl", "kubectl"))
# Readers that end a pipeline before the writer does.
_ENDS_PIPE = compile_lazily(r"(?:head|sed|awk)\Z|grep\Z")

# Programs that go into the background, and the option that keeps them in the foreground.
_DAEMONS = {
    "sshd": "-D",
    "nginx": "-g 'daemon off;'",
    "supervisord": "--nodaemon",
    "crond": "-f",
}


class Daemon(NamedTuple):
    """A program that forks into the background: its words, and the option that keeps it in the foreground."""

    words: tuple[Word, ...]
    instead: str


class EndlessProcess(NamedTuple):
    """Why a process never ends: the words of a program, or of the condition of a ``loop``.

    ``after_training``: a program that may be a training runs before it. ``beside_training``: one runs in the
    background of the same shell.
    """

    words: tuple[Word, ...]
    loop: str = ""
    after_training: bool = False
    beside_training: bool = False

    @property
    def text(self) -> str:
        """The command as text, truncated."""
        return truncate(" ".join([self.loop, *(word.text for word in self.words)]).strip(), 60)


def find_endless(process: Process) -> EndlessProcess | None:
    """Return why a process never ends; None if it may end."""
    if "timeout" in process.wrappers:
        return None
    if process.string is not None:
        found = _find_endless_in_list(process.string.nodes, process.string)
        if found is not None and found.beside_training and _ends_others(process.string):
            return found._replace(beside_training=False)
        return found
    return EndlessProcess(process.words) if _is_endless(process) else None


class UnreachedTraining(NamedTuple):
    """A training that a shell does not reach: its words, and the command before it that never ends."""

    words: tuple[Word, ...]
    endless: EndlessProcess


def find_unreached_training(process: Process) -> UnreachedTraining | None:
    """Return the training after a command that never ends; None if there is none."""
    string = process.string
    if string is None or "timeout" in process.wrappers or _ends_others(string):
        return None
    blocking: EndlessProcess | None = None
    for at, node in enumerate(string.nodes):
        if blocking is not None and node.operator_before not in ("|", "|&"):
            commands = [node] if isinstance(node, SimpleCommand) else processes.iter_commands(node.nodes)
            training = next((each for each in commands if _trains(string.process(each))), None)
            if training is not None:
                words = tuple(string.place_word(word) for word in training.words)
                return UnreachedTraining(words, blocking)
        if blocking is None and node.operator_before not in ("&&", "||"):
            if isinstance(node, SimpleCommand):
                found = find_endless(string.process(node))
            else:
                found = _find_endless_block(node, string)
            if found is not None and not _is_cut_off(string.nodes, at, string):
                blocking = found if not _is_in_background(string.nodes, at) else None
    return None


def find_only_daemon(process: Process) -> Daemon | None:
    """Return the daemon that a process starts before it ends, if it does nothing else."""
    found: list[Daemon] = []
    for command, inner in processes.iter_programs(process):
        daemon = _find_daemon(inner)
        if daemon is not None and (command is None or not command.is_conditional):
            found.append(daemon)
        elif not inner.name or inner.name not in HELPERS:
            return None
    return found[-1] if found and find_endless(process) is None else None


def _find_endless_in_list(nodes: Sequence[Node], string: ShellString) -> EndlessProcess | None:
    """Return the first endless program in a sequence of commands that is certainly reached and waited for."""
    in_background: EndlessProcess | None = None
    after_training = beside_training = False
    for at, node in enumerate(nodes):
        if node.operator_before == "||":
            continue
        if isinstance(node, SimpleCommand):
            process = string.process(node)
            if process.name == "wait" and len(process.words) == 1 and in_background is not None:
                return in_background
            found = find_endless(process)
            leaves = process.name == "exit" or ("exec" in process.wrappers and found is None)
            works = _may_train(process)
        else:
            found, leaves = _find_endless_block(node, string), False
            works = any(
                _may_train(string.process(command)) for command in processes.iter_commands(node.nodes)
            )
        if found is not None and not _is_cut_off(nodes, at, string):
            if not _is_in_background(nodes, at):
                return found._replace(
                    after_training=after_training or found.after_training, beside_training=beside_training
                )
            in_background = found
        if not _is_in_background(nodes, at):
            after_training = after_training or works
        elif isinstance(node, SimpleCommand) and found is None:
            beside_training = beside_training or _trains(string.process(node))
        if leaves and node.operator_before != "&&" and node.operator_after not in ("|", "|&", "&"):
            return None
    return None


def _find_endless_block(block: Block, string: ShellString) -> EndlessProcess | None:
    if block.kind in ("{", "("):
        return _find_endless_in_list(block.nodes, string)
    if block.kind not in ("while", "until"):
        return None
    asked = [node for node in block.nodes if node.part == ""]
    body = [node for node in block.nodes if node.part == "do"]
    if len(asked) != 1 or not isinstance(asked[0], SimpleCommand):
        return None
    condition = asked[0]
    leaves = any(command.words[0].text in _LEAVES_LOOP for command in processes.iter_commands(body))
    if leaves or not _never_ends_loop(block.kind, condition):
        return None
    return EndlessProcess(condition.words, block.kind)


def _never_ends_loop(kind: str, condition: SimpleCommand) -> bool:
    words = [word.text for word in condition.words]
    succeeds = words[0] in _TRUE or words[0] == "sleep" or words == ["[", "1", "]"]
    return (succeeds and not condition.is_negated) if kind == "while" else words[0] == "false"


def _may_train(process: Process) -> bool:
    """Whether a program is a launcher, python with code that may train, or a script."""
    name = process.name
    is_python = name.startswith("python") and not is_inspection(process)
    return name in TRAINERS or is_python or name.endswith((".sh", ".py"))


def _trains(process: Process) -> bool:
    """Whether a program is a launcher, or a Python script whose name does not suggest other work."""
    has_script = any(word.base_name.endswith(".py") for word in process.words)
    return is_training(process) and (process.name in TRAINERS or has_script)


def _ends_others(string: ShellString) -> bool:
    """Whether a command of a string may end the processes in its background."""
    return any(string.process(command).name in _KILLERS for command in processes.iter_commands(string.nodes))


def _is_in_background(nodes: Sequence[Node], at: int) -> bool:
    while nodes[at].operator_after in ("|", "|&", "&&", "||") and at + 1 < len(nodes):
        at += 1
    return nodes[at].operator_after == "&"


def _is_cut_off(nodes: Sequence[Node], at: int, string: ShellString) -> bool:
    """Whether a later program of the pipeline ends, and so ends the writer."""
    while nodes[at].operator_after in ("|", "|&") and at + 1 < len(nodes):
        at += 1
        node = nodes[at]
        name = string.process(node).name if isinstance(node, SimpleCommand) else ""
        if not name or _ENDS_PIPE.match(name):
            return True
    return False


def _is_endless(process: Process) -> bool:
    name, arguments = process.name, [word.text for word in process.words[1:]]
    if name == "sleep":
        return any(argument in _FOREVER for argument in arguments) or sleep_seconds(arguments) >= _YEAR
    if name == "tail":
        return not any(argument.startswith("--pid") for argument in arguments) and any(
            argument.startswith("--follow")
            or (
                argument[:1] == "-"
                and argument[1:2] != "-"
                and argument.lower().strip("-0123456789nqvzs") == "f"
            )
            for argument in arguments
        )
    if name in _ENDLESS_SERVERS:
        return not _SHORT & set(arguments)
    if name == "sshd":
        return _find_daemon(process) is None and not _is_test_only(arguments)
    if name not in HELPERS and _FOREVER_OPTIONS.intersection(arguments):
        return True
    if name.startswith("python") and _is_parameter_server(arguments):
        return True
    if name.startswith("python") and "-m" in arguments:
        module, *rest = arguments[arguments.index("-m") + 1 :] or [""]
        return module in _ENDLESS_MODULES and not _SHORT & set(rest)
    return _is_endless_with(name, arguments)


def _is_parameter_server(arguments: Sequence[str]) -> bool:
    """Whether the options of a script make it a parameter server, which never ends."""
    options = [argument.lower().replace("-", "_").lstrip("_") for argument in arguments]
    return any(
        _PARAMETER_SERVER.fullmatch(f"{one}={other}") for one, other in pairwise([*options, ""])
    ) or any(map(_PARAMETER_SERVER.fullmatch, options))


def _is_endless_with(name: str, arguments: Sequence[str]) -> bool:
    """Whether a program never ends with these options, but does with others."""
    if _SHORT & set(arguments):
        return False
    if name == "watch":
        return not any(_has_letter(argument, "ge") or argument in _ENDS_WATCH for argument in arguments)
    if name == "nvidia-smi":
        repeats = arguments[:1] in (["dmon"], ["pmon"]) or any(map(_REPEATS.match, arguments))
        return repeats and not any(argument in ("-c", "--count") for argument in arguments)
    if name == "nginx":
        return any("daemon off" in argument for argument in arguments)
    if name == "ray":
        return arguments[:1] == ["start"] and "--block" in arguments
    if name == "redis-server":
        return "--daemonize" not in arguments and "--test-memory" not in arguments
    if name in _SERVING_COMMANDS:
        return arguments[:1] == [_SERVING_COMMANDS[name]]
    return name in ("gunicorn", "uvicorn") and not {"-D", "--daemon", "--check-config"} & set(arguments)


def sleep_seconds(arguments: Sequence[str]) -> int:
    """Return how many seconds ``sleep`` sleeps; 0 if that is not an integer."""
    matches = [_NUMBER.match(argument) for argument in arguments]
    return sum(
        int(match[1]) * _SECONDS[match[2]] for match in matches if match is not None and len(match[1]) < 10
    )


def _find_daemon(process: Process) -> Daemon | None:
    """Return the daemon that a program becomes; None if it stays in the foreground or is no daemon."""
    name, arguments = process.name, [word.text for word in process.words[1:]]
    if name == "service" and arguments[1:2] in (["start"], ["restart"]):
        return Daemon(process.words, "the program of the service itself in the foreground")
    if name == "ray" and arguments[:1] == ["start"] and "--block" not in arguments:
        return Daemon(process.words, "--block")
    if name == "redis-server" and ("--daemonize", "yes") in pairwise(arguments):
        return Daemon(process.words, "--daemonize no")
    if name not in _DAEMONS or any(not word.is_known for word in process.words):
        return None
    if name == "sshd":
        stays = _is_test_only(arguments) or any(_has_letter(argument, "Ddi") for argument in arguments)
    elif name == "nginx":
        stays = any(
            "daemon off" in argument or argument in ("-t", "-v", "-V", "-s", "-T") for argument in arguments
        )
        stays = stays or any(argument in ("-c", "-p") for argument in arguments)  # of its own configuration
    elif name == "supervisord":
        stays = any(argument in ("-n", "--nodaemon", "-c", "--configuration") for argument in arguments)
    else:
        stays = any(_has_letter(argument, "fndx") for argument in arguments)
    return None if stays else Daemon(process.words, _DAEMONS[name])


def _is_test_only(arguments: Sequence[str]) -> bool:
    return any(_has_letter(argument, "tTGV") for argument in arguments)


def _has_letter(argument: str, letters: str) -> bool:
    """Whether an argument is a bundle of short options, such as -De, that contains one of ``letters``."""
    if argument[:1] != "-" or argument[1:2] == "-":
        return False
    for letter in argument[1:]:
        if letter in letters:
            return True
        if letter in "bCcEfghkoPpu":  # the rest is the value of the option
            return False
    return False
