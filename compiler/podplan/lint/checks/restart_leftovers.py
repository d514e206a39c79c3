"""Commands that fail if their result exists from an earlier start, so that every restart fails.

Sources: https://pubs.opengroup.org/onlinepubs/9699919799/utilities/mkdir.html (without -p a folder that
exists is an error), https://git-scm.com/docs/git-clone (an existing folder is taken only if it is empty).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from posixpath import normpath

from podplan.core.findings import Path, below
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_text
from podplan.launchers.processes import Process, ShellString, update_shell_options
from podplan.launchers.shell_nodes import SimpleCommand
from podplan.launchers.words import Word
from podplan.lint.analysis.jobs import is_mode_enabled
from podplan.lint.analysis.processes import process_of
from podplan.lint.analysis.resources import find_training_container, list_init_containers
from podplan.lint.checks.lost_progress import find_restarts
from podplan.lint.checks.outputs import mount_of, volume_of
from podplan.lint.checks.registration import COUNT, check, object_schema
from podplan.lint.target import Target, Violation

_KEPT_VOLUMES = ("persistentVolumeClaim", "nfs", "cephfs")  # no hostPath: a new node lacks it
_TESTS = frozenset(("test", "[", "[[", "rm", "rmdir", "mv", "trap"))
_OTHER_COMMANDS_FOLLOW = (";", "\n", "&", "||")
_PATTERN = frozenset("*?[{$")


@check(params=object_schema({"default": COUNT}))
def restart_finds_leftover(subject: Target, params: Mapping[str, Any]) -> Iterator[Violation]:
    """A command that fails at each restart. Values: ``command``, ``path``, ``volume``, ``restarts``."""
    job = subject.job
    for group in job.pods if not is_mode_enabled(job, "debug") else ():
        restarts = find_restarts(subject, group, params["default"])
        if restarts is None:
            continue
        main = find_training_container(group)
        for base, container in (*list_init_containers(group), *((main,) if main is not None else ())):
            for command, word, path in _iter_made(process_of(container)):
                volume = _find_kept_volume(group, container, path)
                if volume:
                    values = {"command": command, "path": path, "volume": volume, "restarts": restarts[2]}
                    place: Path = below(base, word.place)
                    yield Violation(place, values, [restarts], doc=group.doc, group=group)


def _iter_made(process: Process) -> Iterator[tuple[str, Word, str]]:
    """Yield the folders that commands create, if the container fails when a command fails."""
    if process.string is None:
        yield from _read_made(process)
        return
    string = process.string
    if any(isinstance(node, SimpleCommand) and _name_of(node) in _TESTS for node in string.nodes):
        return  # it may test for the folder, or remove it, before it creates it
    for at, node in enumerate(string.nodes):
        if isinstance(node, SimpleCommand) and node.operator_before != "||" and _ends_script(string, at):
            yield from _read_made(string.process(node))


def _name_of(command: SimpleCommand) -> str:
    return command.words[0].base_name if command.words else ""


def _ends_script(string: ShellString, at: int) -> bool:
    """Whether a script fails if one of its commands fails."""
    options = string.options
    for node in string.nodes[:at]:
        if isinstance(node, SimpleCommand) and _name_of(node) == "set":
            options = update_shell_options(node.words[1:], options)
    after = string.nodes[at].operator_after
    if "errexit" in options and after in ("", ";", "\n"):
        return True
    # The last command of a list of && is not under errexit, but ends the script with its status.
    return not any(node.operator_after in _OTHER_COMMANDS_FOLLOW for node in string.nodes[at:-1])


def _read_made(process: Process) -> Iterator[tuple[str, Word, str]]:
    """Yield the folders that mkdir or git clone creates, with the name of the command and its word."""
    words = process.words[1:]
    plain = [word for word in words if not word.text.startswith("-")]
    if process.name == "mkdir" and not any(_makes_parents(word.text) for word in words):
        found, command = plain, "mkdir"
    elif process.name == "git" and words and words[0].text == "clone" and len(plain) > 2:
        found, command = [words[-1]], "git clone"
    else:
        return
    for word in found:
        if word.is_known and word.text.startswith("/") and _PATTERN.isdisjoint(word.text):
            yield command, process.words[0], normpath(word.text)


def _makes_parents(flag: str) -> bool:
    return flag == "--parents" or (flag.startswith("-") and not flag.startswith("--") and "p" in flag)


def _find_kept_volume(group: ReplicaGroup, container: Mapping[str, Any], path: str) -> str:
    """Return the volume that keeps a path after the Pod is deleted; "" for none, or with a folder per Pod."""
    found = mount_of(container, path)
    if found is None or "subPathExpr" in found[1]:
        return ""
    name = get_text(found[1], "name")
    volume = volume_of(group, name)
    return name if any(kind in volume for kind in _KEPT_VOLUMES) else ""
