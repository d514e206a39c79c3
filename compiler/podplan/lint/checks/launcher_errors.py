"""What the launchers themselves refuse: options that they do not know, values that they cannot read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.lazy_regex import pattern
from podplan.core.typing import Any
from podplan.kubernetes.accessors import mapping
from podplan.launchers.discovery import Invocation
from podplan.launchers.words import Fault
from podplan.lint.analysis.jobs import kind_of, mode, spec_of
from podplan.lint.analysis.launches import launches
from podplan.lint.checks.launcher_words import joined_words
from podplan.lint.target import Hit, Job, Subject

_OF_SCRIPT = pattern(r"needs a script|takes a script")


def refused_by_launcher(subject: Subject, params: Mapping[str, Any]) -> Iterator[Hit]:
    """Lines of the launchers ``params["launchers"]`` that these refuse; values ``by``, ``what``, ``instead``.

    ``params["except"]`` leaves one option out, and ``params["certain"]`` keeps to what every version refuses,
    or to the rest.
    """
    job = subject.job
    if mode(job, "debug"):
        return
    for launch in launches(job):
        found = launch.invocation
        # The line of a DeepSpeedJob is read word by word from the CR.
        if found.launcher not in params["launchers"] or (
            kind_of(job) == "DeepSpeedJob" and found.launcher == "deepspeed"
        ):
            continue
        # Another rule reports several options in one word.
        joined = joined_words(found.launcher, found.words, found.facts.line) if found.facts else ()
        for fault in found.errors:
            if not _is_of(found, fault, params) or fault.word in joined:
                continue
            when = f" ({fault.only})" if fault.only else ""
            instead = _instead(job, found) if _OF_SCRIPT.search(fault.sentence) else ""
            values = {"by": found.launcher, "what": f"{fault.sentence}{when}", "instead": instead}
            yield Hit(launch.place(fault.word), values, doc=launch.group.doc, group=launch.group)


def _instead(job: Job, found: Invocation) -> str:
    """Where the script of a line is written."""
    spec = spec_of(job)
    if kind_of(job) == "ColossalAIJob":
        field = "torchConfig.script" if "replicaSpecs" in spec else "worker.command"
    elif mapping(spec, "torchrunConfig").get("enabled") is True:
        field = "args"
    else:
        return f"write the script after the options of {found.launcher} (run: in a profile)"
    return f"write {field}: [SCRIPT.py, ARGUMENT, …] (run: in a profile)"


def _is_of(found: Invocation, fault: Fault, params: Mapping[str, Any]) -> bool:
    """Whether a fault concerns none of the options that are left out."""
    at = [name for name, option in found.options.items() if fault.word in (option.word, option.flag)]
    return params.get("certain") in (None, not fault.only) and params.get("except") not in at
