"""The deepspeed line of a DeepSpeedJob, with each word at its place in the CR."""

from __future__ import annotations

from podplan.core.findings import Path, TextPath
from podplan.core.typing import NamedTuple
from podplan.kubernetes.accessors import mapping, text, texts
from podplan.launchers import deepspeed
from podplan.launchers.discovery import find
from podplan.launchers.words import Word
from podplan.lint.analysis.jobs import kind_of, mode, spec_of
from podplan.lint.target import Job, for_one

_CONFIG: Path = ("spec", "config")
# How each form of config.run is passed on (docs/evidence/t9k-deepspeedjob.md#program).
_FORMS = {"python": [], "module": ["--module"], "exec": ["--no_python"]}


class DeepSpeedLine(NamedTuple):
    """What deepspeed reads of ``words``; ``custom`` where the whole command was written by hand."""

    read: deepspeed.DeepSpeed
    words: tuple[Word, ...]
    custom: bool

    def place(self, word: Word) -> Path:
        """Where a word of the line stands in the CR."""
        if self.custom:
            return TextPath((*_CONFIG, "customCommand"), (word.start, word.end))
        return word.path or _CONFIG


@for_one
def line_of(job: Job) -> DeepSpeedLine | None:
    """The deepspeed line of a job; None in debug mode, and where customCommand runs something else."""
    if kind_of(job) != "DeepSpeedJob" or mode(job, "debug"):
        return None
    config = mapping(spec_of(job), "config")
    custom = text(config, "customCommand")
    if custom:
        found = find({"command": ["/bin/bash", "-c", custom]}).invocations
        lines = (
            DeepSpeedLine(each.facts, each.words, True)
            for each in found
            if isinstance(each.facts, deepspeed.DeepSpeed)
        )
        return next(lines, None)
    run = mapping(config, "run")
    form = next((each for each in _FORMS if run.get(each)), "python")
    words = [Word(option, (*_CONFIG, "run", form)) for option in _FORMS[form]]
    words += [Word(word, (*_CONFIG, "otherArgs", at)) for at, word in texts(config, "otherArgs")]
    words += [Word(word, (*_CONFIG, "run", form, at)) for at, word in texts(run, form)]
    return DeepSpeedLine(deepspeed.read(tuple(words), Word("deepspeed", _CONFIG)), tuple(words), False)
