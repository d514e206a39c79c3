"""Rendezvous ports on which sshd of the same Pod listens.

Sources: docs/evidence/t9k-deepspeedjob.md, https://man.openbsd.org/sshd#p,
https://docs.pytorch.org/docs/stable/elastic/run.html (rank 0 binds the port).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument
from podplan.core.typing import Any
from podplan.launchers.words import Word
from podplan.lint.analysis.colossalai_line import find_colossalai_line
from podplan.lint.analysis.deepspeed_line import find_deepspeed_line
from podplan.lint.analysis.jobs import has_trait, is_mode_enabled
from podplan.lint.analysis.launches import find_launches
from podplan.lint.analysis.processes import programs_of
from podplan.lint.analysis.resources import find_training_container
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

DEFAULT_PORT = 22
_PORT_OPTIONS = ("master_port", "main_process_port", "rdzv_endpoint")
_PORT_WORD = compile_lazily(r"-p(\d{1,5})|-oPort=(\d{1,5})")


@check()
def rendezvous_at_sshd(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A rendezvous port that sshd uses. Values: ``option``, ``port``."""
    job = target.job
    if is_mode_enabled(job, "debug"):
        return
    ports = set(iter_sshd_ports(job))
    for name, port, doc, path in _iter_rendezvous_ports(job) if ports else ():
        if port in ports:
            yield Violation(path, {"option": name, "port": port}, doc=doc)


def iter_sshd_ports(job: LoweredJob) -> Iterator[int]:
    """Yield the ports at which sshd listens in the Pods of a job."""
    if has_trait(job, "ssh"):
        yield DEFAULT_PORT
    for group in job.pods:
        found = find_training_container(group)
        for _, process in programs_of(found[1]) if found is not None else ():
            if process.name == "sshd":
                yield _read_port(process.words)


def _read_port(words: tuple[Word, ...]) -> int:
    for at, word in enumerate(words[:-1]):
        if word.text == "-p" and words[at + 1].text.isdecimal():
            return int(words[at + 1].text[:6])
    found = next((match for word in words if (match := _PORT_WORD.fullmatch(word.text))), None)
    return int(found[1] or found[2]) if found is not None else DEFAULT_PORT


def _iter_rendezvous_ports(job: LoweredJob) -> Iterator[tuple[str, int, TracedDocument, Path]]:
    """Yield the options with the port of the first rank, and their paths."""
    line, colossalai = find_deepspeed_line(job), find_colossalai_line(job)
    if line is not None and job.cr is not None:
        option = line.command_line.command_line.options.get("master_port")
        if option is not None and (option.value or "").isdecimal():
            yield "--master_port", int(option.value or 0), job.cr, line.locate_word(option.word)
        return
    for launch in find_launches(job):
        for name in _PORT_OPTIONS:
            option = launch.invocation.options.get(name)
            port = (option.value or "").rpartition(":")[2] if option is not None else ""
            if option is not None and port.isdecimal() and len(port) < 6:
                yield f"--{name}", int(port), launch.group.doc, launch.locate_word(option.word)
    if colossalai is not None and colossalai.torchrun.port is not None and not colossalai.torchrun.standalone:
        option = colossalai.torchrun.command_line.options.get("master_port")
        if option is not None and colossalai.command_line.master_port is None:
            path, doc, _ = colossalai.locate_word(option.word)
            if doc is not None:
                yield "--master_port", colossalai.torchrun.port, doc, path
