"""Paths in ``ssh.sshdPath`` that are no sshd.

Sources: https://man.openbsd.org/ssh, https://man.openbsd.org/sshd, docs/evidence/ssh.md#path-of-sshd.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from posixpath import normpath

from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.lint.analysis.jobs import is_mode_enabled, spec_of
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

_PROGRAMS = {
    "ssh": "the client ssh",
    "slogin": "the client ssh",
    "scp": "the program scp, which copies files",
    "sftp": "the program sftp, which copies files",
    "sftp-server": "the server of sftp, which sshd starts",
    "ssh-add": "the program ssh-add, which handles keys",
    "ssh-agent": "the program ssh-agent, which handles keys",
    "ssh-keygen": "the program ssh-keygen, which handles keys",
    "ssh-keyscan": "the program ssh-keyscan, which handles keys",
    "sshd_config": "a configuration file",
    "ssh_config": "a configuration file",
}
_FOLDER_TEXT = """
    /bin /sbin /usr/bin /usr/sbin /usr/local/bin /usr/local/sbin /etc/ssh /run/sshd /var/run/sshd /root/.ssh
"""
_FOLDERS = frozenset(_FOLDER_TEXT.split())


@check()
def sshd_path_of_other(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A path of sshd that is something else. Values: ``path``, ``what``."""
    path = get_text(get_mapping(spec_of(target.job), "ssh"), "sshdPath")
    what = _explain_path(path) if path.startswith("/") else ""
    if what and not is_mode_enabled(target.job, "debug"):
        yield Violation(("spec", "ssh", "sshdPath"), {"path": path, "what": what})


def _explain_path(path: str) -> str:
    """Say what a path is, "" if it may be sshd."""
    if path.endswith("/") or normpath(path) in _FOLDERS:
        return "a folder"
    if "/init.d/" in path:
        return "the script of a service, which takes start and no options of sshd"
    return _PROGRAMS.get(path.rpartition("/")[2], "")
