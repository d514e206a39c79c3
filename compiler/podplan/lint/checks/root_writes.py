"""Commands of a script that write to a root file system which is read-only.

Source: https://kubernetes.io/docs/tasks/configure-pod-container/security-context/.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from posixpath import normpath

from podplan.core.findings import Path, below
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.launchers.processes import Process
from podplan.launchers.shell_nodes import SimpleCommand
from podplan.launchers.words import Word
from podplan.lint.analysis.jobs import is_mode_enabled
from podplan.lint.analysis.processes import process_of, programs_of
from podplan.lint.analysis.resources import list_containers, list_init_containers
from podplan.lint.checks.outputs import mount_of
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

# Folders that the container runtime mounts, each with a file system of its own.
_MOUNTED = ("/dev", "/proc", "/sys")
# Folders of most images, in which mkdir -p has nothing to do.
_WRITING = (">", ">>", ">|", "&>", "&>>")
_USUAL_TEXT = """
    /etc /home /media /mnt /opt /root /run /run/lock /run/sshd /srv /tmp /usr /usr/local /usr/share /var
    /var/cache /var/lib /var/lock /var/log /var/run /var/run/sshd /var/spool /var/tmp
"""
_USUAL = frozenset(_USUAL_TEXT.split())


@check(requires=("readOnlyRootFilesystem",))
def write_to_read_only_root(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A folder or file made where nothing can be written. Values: ``program``, ``path``, ``container``."""
    if is_mode_enabled(target.job, "debug"):
        return
    for group in target.job.pods:
        for base, container in (*list_init_containers(group), *list_containers(group)):
            if get_mapping(container, "securityContext").get("readOnlyRootFilesystem") is not True:
                continue
            field: Path = (*base, "securityContext", "readOnlyRootFilesystem")
            for command, process in programs_of(container):
                if command is not None and command.operator_after == "||":
                    continue  # the script goes on without it
                made = list(_iter_made_paths(process))
                made += _list_redirected(container, command)
                for word, path in made:
                    if mount_of(container, path) is not None:
                        continue
                    name = get_text(container, "name")
                    shown = process.name or "the shell"
                    values = {"program": shown, "path": path, "container": name}
                    related = [(group.doc, field, "the file system is read-only")]
                    place = below(base, word.place)
                    yield Violation(place, values, related, doc=group.doc, group=group)


def _iter_made_paths(process: Process) -> Iterator[tuple[Word, str]]:
    """Yield the paths that a command makes and that no image is sure to have."""
    if process.name not in ("mkdir", "touch"):
        return
    takes_value = False
    for word in process.words[1:]:
        if takes_value or not word.is_known or not word.text.startswith("/"):
            takes_value = not takes_value and word.text in ("-m", "-d", "-t", "-r", "--mode")
            continue
        path = normpath(word.text)
        if path not in _USUAL and not any(f"{path}/".startswith(f"{each}/") for each in _MOUNTED):
            yield word, path


def _list_redirected(container: Mapping[str, Any], command: SimpleCommand | None) -> list[tuple[Word, str]]:
    """Return the files to which a shell redirects the output of a command."""
    string = process_of(container).string
    if string is None or command is None:
        return []
    found = []
    for operator, target in command.redirections:
        path = normpath(target.text)
        is_special = any(f"{path}/".startswith(f"{each}/") for each in _MOUNTED)
        if operator in _WRITING and target.is_known and path.startswith("/") and not is_special:
            found.append((string.place_word(target), path))
    return found
