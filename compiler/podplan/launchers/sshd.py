"""Containers that start sshd, and the security context that sshd requires."""

from __future__ import annotations

from collections.abc import Mapping

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any

# Documented: the process that talks to a client is confined to an empty root directory and switches to
# another user (https://github.com/openssh/openssh-portable/blob/V_9_9_P2/sshd-session.c,
# privsep_preauth_child), for which sshd needs these capabilities when it runs as root. Verified with OpenSSH
# 9.2: tests/test_sshd.py.
CAPABILITIES_AS_ROOT = ("SYS_CHROOT", "SETUID", "SETGID")
# Required in some cases: for a port below 1024; by an sshd that writes to the audit log of the kernel (fatal:
# linux_audit_write_entry failed, https://github.com/podman-container-tools/podman/issues/10164); and to give
# a terminal to the user (https://github.com/openssh/openssh-portable/blob/V_9_9_P2/sshpty.c, pty_setowner).
OPTIONAL_CAPABILITIES = {
    "NET_BIND_SERVICE": "for a port below 1024",
    "AUDIT_WRITE": "if it writes to the audit log of the kernel",
    "CHOWN": "for terminals",
}
_SSHD_COMMAND_PATTERN = compile_lazily(
    r"(?:^|[\s;&|(\"'/])sshd(?=$|[\s;&|)\"'])|(?:\bservice\s+|/init\.d/)sshd?\s+(?:re)?start\b"
)
# A port, or a file of settings, which may have one.
_PORT_PATTERN = compile_lazily(r"\bsshd\s(?:[^;&|\n]*?\s)?-(?:f|(?:p\s*|o\s*Port[= ])(?!22\b)[0-9])")


def starts_sshd(container: Mapping[str, Any]) -> bool:
    """Whether the command of a container, a word of it or of a shell string in it, starts sshd."""
    words = _list_words(container)
    return any(_SSHD_COMMAND_PATTERN.search(text) for text in (*words, " ".join(words)))


def may_use_other_port(container: Mapping[str, Any]) -> bool:
    """Whether the command of a container gives sshd another port than 22, or a file of settings."""
    return _PORT_PATTERN.search(" ".join(_list_words(container))) is not None


def _list_words(container: Mapping[str, Any]) -> list[str]:
    lists = [value for key in ("command", "args") if isinstance(value := container.get(key), list)]
    return [word for value in lists for word in value if isinstance(word, str)]
