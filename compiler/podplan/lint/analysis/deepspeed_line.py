"""The deepspeed command line of a DeepSpeedJob, with the place of each word in the CR."""

from __future__ import annotations

from podplan.core.findings import Path, TextPath
from podplan.core.typing import NamedTuple
from podplan.kubernetes.accessors import get_mapping, get_text, get_texts
from podplan.launchers.commands import DeepSpeedCommand
from podplan.launchers.discovery import find_programs
from podplan.launchers.words import Word
from podplan.lint.analysis.jobs import has_trait, is_mode_enabled, spec_of
from podplan.lint.target import LoweredJob, cache_latest

_CONFIG_PATH: Path = ("spec", "config")
# How each form of config.run is passed on (docs/evidence/t9k-deepspeedjob.md#program).
_RUN_FORM_OPTIONS = {"python": [], "module": ["--module"], "exec": ["--no_python"]}


class DeepSpeedLine(NamedTuple):
    """The command line that deepspeed parses from ``words``.

    ``is_custom`` if customCommand states the whole command.
    """

    command_line: DeepSpeedCommand
    words: tuple[Word, ...]
    is_custom: bool

    def locate_word(self, word: Word) -> Path:
        """Return the path of a word in the CR."""
        if self.is_custom:
            return TextPath((*_CONFIG_PATH, "customCommand"), (word.start, word.end))
        return word.path or _CONFIG_PATH


@cache_latest
def find_deepspeed_line(job: LoweredJob) -> DeepSpeedLine | None:
    """Return the deepspeed command line; None in debug mode, and if customCommand runs another program."""
    if not has_trait(job, "deepspeed-by-controller") or is_mode_enabled(job, "debug"):
        return None
    from podplan.launchers.deepspeed import parse_deepspeed

    config = get_mapping(spec_of(job), "config")
    custom = get_text(config, "customCommand")
    if custom:
        invocations = find_programs({"command": ["/bin/bash", "-c", custom]}).invocations
        lines = (
            DeepSpeedLine(each.parsed, each.words, True)
            for each in invocations
            if isinstance(each.parsed, DeepSpeedCommand)
        )
        return next(lines, None)
    run = get_mapping(config, "run")
    form = next((each for each in _RUN_FORM_OPTIONS if run.get(each)), "python")
    words = [Word(option, (*_CONFIG_PATH, "run", form)) for option in _RUN_FORM_OPTIONS[form]]
    words += [Word(word, (*_CONFIG_PATH, "otherArgs", at)) for at, word in get_texts(config, "otherArgs")]
    words += [Word(word, (*_CONFIG_PATH, "run", form, at)) for at, word in get_texts(run, form)]
    return DeepSpeedLine(parse_deepspeed(tuple(words), Word("deepspeed", _CONFIG_PATH)), tuple(words), False)


def find_written_word(job: LoweredJob, text: str) -> Path | None:
    """Return the path in the CR of the word of a deepspeed line that contains a text; None without one.

    The controller joins the words to one string, whose parts cannot be told apart in the Pod.
    """
    line = find_deepspeed_line(job)
    if line is None or line.is_custom or not text:
        return None
    return next((word.path for word in line.words if word.path and text in word.text), None)
