"""Waiting for other Pods: loops without an end, and launchers that do not wait at all.

Source: lowering-anchors §4.2, GEN003.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from podplan.findings import Path
from podplan.groups import Group
from podplan.kubernetes.shape import entries, mapping, texts
from podplan.launchers.mpirun import Mpirun
from podplan.lint.checks._hosts import is_loopback
from podplan.lint.checks._jobs import counted, mode, spec_of
from podplan.lint.checks._launches import launches
from podplan.lint.subject import Hit, Job, Subject
from podplan.patterns import pattern
from podplan.typing import Any

_LOOP = pattern(
    r"\b(?:until|while\s+!)\s+(?P<asks>[^;\s][^;\n]{0,499})[;\n]\s*do\b(?P<body>.{0,2000}?)\bdone\b",
    re.DOTALL,
)
_FOREVER = pattern(
    r"\bwhile\s+(?:true|:|\[\s*1\s*\])[^\S\n]*[;\n]\s*do\b(?P<body>.{0,2000}?)\bdone\b", re.DOTALL
)
_ASKS = pattern(r"\b(?:nslookup|getent|ping|nc|ncat|ssh|host|dig|curl|wget)\b|/dev/tcp/")
# What ends a loop that has not got what it waits for.
_ENDS = pattern(r"\b(?:break|exit|return|expr|let|SECONDS|date)\b|\(\(|-(?:lt|gt|le|ge|eq)\b")
_BREAK = pattern(r"\bbreak\b")
_PATIENT = pattern(r"\b(?:until|while|for|sleep|wait)\b|ConnectionAttempts|wait-for|wait_for")


def waits_unbounded(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """A loop that waits for another Pod and has no end; value ``asks``."""
    job = subject.job
    if mode(job, "debug") or _has_deadline(job):
        return
    for group in job.pods:
        if "activeDeadlineSeconds" in mapping(group.doc.data, "spec"):
            continue
        for path, value in _strings(group):
            for asks in _endless(value):
                yield Hit(path, {"asks": asks}, doc=group.doc, group=group)


def _endless(text: str) -> Iterator[str]:
    """What the loops in a text ask that have no other end than an answer."""
    if "done" not in text:
        return
    for found in _LOOP.finditer(text):
        asks = _ASKS.search(found["asks"])
        if asks and not _ENDS.search(found["body"]) and not _ENDS.search(found["asks"]):
            yield asks[0]
    for found in _FOREVER.finditer(text):
        asks = _ASKS.search(found["body"])
        once = _BREAK.sub("", found["body"], count=1)
        if asks and once != found["body"] and not _ENDS.search(once):
            yield asks[0]


def starts_without_wait(subject: Subject, _: Mapping[str, Any]) -> Iterator[Hit]:
    """mpirun on other Pods, which nobody has waited for; values ``by`` and ``hosts``."""
    for launch in launches(subject.job):
        facts = launch.invocation.facts
        if not isinstance(facts, Mpirun) or not (facts.hosts or facts.hostfile is not None):
            continue
        others = [host for host in facts.hosts if not is_loopback(host.partition(":")[0])]
        if (facts.hosts and not others) or sum(group.replicas for group in subject.job.pods) < 2:
            continue
        spec = mapping(launch.group.doc.data, "spec")
        written = " ".join(value for key in ("command", "args") for _, value in texts(launch.container, key))
        patient = _PATIENT.search(written) or any(
            "ConnectionAttempts" in value for value in facts.mca.values()
        )
        by_env = any("ConnectionAttempts" in (value or "") for value in launch.invocation.variables.values())
        if patient or by_env or spec.get("initContainers"):
            continue
        hosts = counted(len(others), "host") if others else "the hosts of its hostfile"
        values = {"by": launch.invocation.word.name, "hosts": hosts}
        yield Hit(launch.place(launch.invocation.word), values, doc=launch.group.doc, group=launch.group)


def _strings(group: Group) -> Iterator[tuple[Path, str]]:
    """The commands and args of a Pod, without those that run under timeout."""
    spec = mapping(group.doc.data, "spec")
    for listed in ("initContainers", "containers"):
        for at, container in entries(spec, listed):
            words = [
                (key, number, value) for key in ("command", "args") for number, value in texts(container, key)
            ]
            if any(word == "timeout" for _, _, word in words):
                continue
            for key, number, value in words:
                if "timeout" not in value.partition("until")[0]:
                    yield ("spec", listed, at, key, number), value


def _has_deadline(job: Job) -> bool:
    return "activeDeadlineSeconds" in mapping(spec_of(job), "runPolicy")
