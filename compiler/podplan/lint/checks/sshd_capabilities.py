"""Capabilities that sshd needs and that its container has dropped."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.provenance import Path
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_mapping, get_texts
from podplan.launchers.sshd import CAPABILITIES_AS_ROOT, starts_sshd
from podplan.lint.analysis.jobs import format_list, is_mode_enabled
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation


@check()
def sshd_without_capabilities(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """An sshd of root without what it needs. Values: ``missing``, ``all``: what sshd needs."""
    own = get_mapping(subject.data, "securityContext")
    context = {**get_mapping(get_mapping(subject.doc.data, "spec"), "securityContext"), **own}
    is_root = not context.get("runAsUser") and context.get("runAsNonRoot") is not True
    if not is_root or own.get("privileged") is True or is_mode_enabled(subject.job, "debug"):
        return
    capabilities = get_mapping(own, "capabilities")
    dropped = [(at, _name(text)) for at, text in get_texts(capabilities, "drop")]
    added = {_name(text) for _, text in get_texts(capabilities, "add")}
    names = {name for _, name in dropped}
    missing = [
        name
        for name in CAPABILITIES_AS_ROOT
        if ("ALL" in names or name in names) and name not in added and ("ALL" not in added or name in names)
    ]
    if missing and starts_sshd(subject.data):
        at = next(number for number, name in dropped if name == "ALL" or name in missing)
        path: Path = ("securityContext", "capabilities", "drop", at)
        yield Violation(
            path, {"missing": format_list(missing), "all": f"[{', '.join(CAPABILITIES_AS_ROOT)}]"}
        )


def _name(text: str) -> str:
    return text.upper().removeprefix("CAP_")
