"""Trainings that rely on SIGTERM but do not receive it, or too late.

Source: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#pod-termination.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path, below
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.launchers.exit_status import is_training, is_work
from podplan.launchers.processes import Process, iter_programs
from podplan.launchers.signals import UnsignalledProgram, find_unsignalled
from podplan.lint.analysis.features import SHELL
from podplan.lint.analysis.jobs import is_mode_enabled
from podplan.lint.analysis.processes import process_of
from podplan.lint.checks.exec_words import is_of_controller
from podplan.lint.checks.exit_statuses import command_name
from podplan.lint.checks.grace_period import DEFAULT_GRACE
from podplan.lint.checks.registration import COUNT, check, object_schema
from podplan.lint.target import Target, Violation

# Options and variables with which a program saves its state on a signal.
_HANDLES = compile_lazily(
    r"sigterm|(?:on|handle|catch|exit)[-_]signals?|signals?[-_]handl|(?:on|at|before|handle)[-_]preempt"
    r"|preempt\w*[-_](?:save|checkpoint|handl)|(?:on|at|before)[-_]term|graceful[-_]?(?:shut|stop|exit|term)"
)
_OFF = frozenset(("false", "0", "no", "off", "none", ""))


class Reason(NamedTuple):
    """Why a training appears to rely on SIGTERM: a clause, and its path."""

    said: str
    label: str
    place: Path


@check(requires=(SHELL,))
def signal_kept_by_shell(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A program that relies on SIGTERM, while its shell does not forward it.

    Values: ``program``, ``how``, ``reason``.
    """
    if subject.job.cr is not None and is_mode_enabled(subject.job, "debug"):
        return
    spec = get_mapping(subject.doc.data, "spec")
    if spec.get("shareProcessNamespace") is True:
        return
    process = process_of(subject.data)
    for found in find_unsignalled(process):
        reason = _reason(found, process, subject, spec) if is_work(found.process) else None
        if reason is None or is_of_controller(subject, found.process.path):
            continue
        place = reason.place if reason.place[:1] == ("spec",) else below(subject.base_path, reason.place)
        values = {
            "program": command_name(found.process.words),
            "how": found.how,
            "reason": reason.said,
        }
        yield Violation(found.process.place, values, related=[(subject.doc, place, reason.label)])
        return


@check(params=object_schema({"seconds": COUNT}), requires=("terminationGracePeriodSeconds",))
def signal_without_grace(subject: Target, params: Mapping[str, Any]) -> Iterator[Violation]:
    """A program that saves its state on SIGTERM with a grace period below ``params["seconds"]``.

    Values: ``reason``, ``grace``.
    """
    if is_mode_enabled(subject.job, "debug"):
        return
    spec = get_mapping(subject.doc.data, "spec")
    grace = spec.get("terminationGracePeriodSeconds")
    if not isinstance(grace, int) or grace >= params["seconds"]:
        return
    found = next(_iter_handlers(subject), None)
    if found is not None:
        place = found.place if found.place[:1] == ("spec",) else below(subject.base_path, found.place)
        related = [(subject.doc, place, found.label)]
        path: Path = ("spec", "terminationGracePeriodSeconds")
        yield Violation(
            path, {"reason": found.said, "grace": grace}, related, doc=subject.doc, group=subject.group
        )


def _iter_handlers(subject: Target) -> Iterator[Reason]:
    """Yield the signs that a container handles SIGTERM: an option, a variable, a trap."""
    for command, process in iter_programs(process_of(subject.data)):
        for word in process.words[1:]:
            name, equals, value = word.text.partition("=")
            is_on = not equals or value.lower() not in _OFF
            if name.startswith("-") and is_on and _HANDLES.search(name.lower()):
                yield Reason(f"{name} saves its state then", "what handles SIGTERM", word.place)
        signals = {word.text.removeprefix("SIG") for word in process.words[2:]}
        is_trap = command is not None and process.name == "trap" and not signals.isdisjoint(("TERM", "15"))
        if is_trap and process.words[1].text not in ("", "-"):
            yield Reason("its shell traps SIGTERM", "what handles SIGTERM", process.words[1].place)
    for number, entry in get_entries(subject.data, "env"):
        name = get_text(entry, "name")
        if _HANDLES.search(name.lower()) and get_text(entry, "value").lower() not in _OFF:
            yield Reason(f"{name} relies on it", "what handles SIGTERM", ("env", number, "value"))


def _reason(
    found: UnsignalledProgram, process: Process, subject: Target, spec: Mapping[str, Any]
) -> Reason | None:
    for word in found.process.words[1:]:
        name, equals, value = word.text.partition("=")
        is_on = not equals or value.lower() not in _OFF
        if name.startswith("-") and is_on and _HANDLES.search(name.lower()):
            return Reason(f"{name} relies on it", "it relies on SIGTERM", word.place)
    if not is_training(found.process):
        return None
    for number, entry in get_entries(subject.data, "env"):
        name = get_text(entry, "name")
        if _HANDLES.search(name.lower()) and get_text(entry, "value").lower() not in _OFF:
            return Reason(f"{name} relies on it", "it relies on SIGTERM", ("env", number, "value"))
    grace = spec.get("terminationGracePeriodSeconds")
    if not isinstance(grace, int) or grace <= DEFAULT_GRACE or not _is_alone(subject, spec):
        return None
    last = [inner for _, inner in iter_programs(process) if is_work(inner)][-1:]
    if last != [found.process]:
        return None  # it is not known which of the programs needs the time
    said = f"its grace period is {grace} seconds"
    return Reason(said, "the grace period of the Pod", ("spec", "terminationGracePeriodSeconds"))


def _is_alone(subject: Target, spec: Mapping[str, Any]) -> bool:
    """Whether nothing else in the Pod can need its grace period."""
    others = [*get_entries(spec, "containers"), *get_entries(spec, "initContainers")]
    return len(others) == 1 and not get_mapping(get_mapping(subject.data, "lifecycle"), "preStop")
