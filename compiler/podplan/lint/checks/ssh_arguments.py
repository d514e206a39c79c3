"""Arguments that the shells of the workers change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.truncation import truncate
from podplan.core.typing import Any, NamedTuple
from podplan.kubernetes.accessors import get_mapping
from podplan.launchers.kubelet import expand_references, resolve_environment
from podplan.lint.analysis.deepspeed_line import find_deepspeed_line
from podplan.lint.analysis.jobs import has_trait, spec_of
from podplan.lint.analysis.over_ssh import list_worker_count_places, starts_over_ssh
from podplan.lint.analysis.remote_arguments import (
    COLOSSALAI_REGIME,
    SCRIPT_REGIME,
    QuotingRegime,
    find_regimes,
    is_plain_word,
    parse_deepspeed_version,
    suggest_spelling,
    survives_transmission,
    transmit_word,
)
from podplan.lint.analysis.remote_shell import ReceivedWords
from podplan.lint.analysis.training import (
    WrittenContainer,
    find_replica_spec,
    find_written_training_container,
)
from podplan.lint.checks.registration import BOOLEAN, check, object_schema
from podplan.lint.target import LoweredJob, Target, Violation, cache_latest
from podplan.redaction.secret_names import is_secret_name

_MAX_SHOWN_LENGTH = 60
# Text that is intended for replacement.
_SHELL_VARIABLE = compile_lazily(r"\$[A-Za-z_]\w*|\$\{[A-Za-z_]\w*\}")


class SentWord(NamedTuple):
    """A word that a launcher sends to the workers: as stated at ``path``, as sent, and how it is quoted.

    It ``is_handwritten`` if it is part of a command in one text.
    """

    path: Path
    written_text: str
    sent_text: str
    regimes: tuple[QuotingRegime, ...]
    expand_word: Callable[[str], str]
    is_handwritten: bool = False


@check(params=object_schema({"certain": BOOLEAN}), aliases=("ssh-arguments",))
def arg_reparsed_by_shell(target: Target, params: Mapping[str, Any]) -> Iterator[Violation]:
    """Arguments that do not reach the workers unchanged; values ``what`` and ``instead``.

    ``params["certain"]`` selects those that certainly change, or those that depend on the version of
    DeepSpeed, which the image does not state. Another check reports variables of the shell.
    """
    for sent_word, broken_regimes in _find_broken_words(target.job):
        if (len(broken_regimes) == len(sent_word.regimes)) is not params["certain"]:
            continue
        received = transmit_word(sent_word.sent_text, broken_regimes[-1])
        if _SHELL_VARIABLE.fullmatch(received.substitution):
            continue
        regime_name = broken_regimes[-1].name
        if len(sent_word.regimes) > 1 and params["certain"]:
            regime_name = "every version of DeepSpeed"
        replacement = (
            ""
            if sent_word.is_handwritten
            else suggest_spelling(sent_word.written_text, sent_word.regimes, sent_word.expand_word)
        )
        instead = (
            f"write {_truncate_word(replacement)} as the value itself, inside quotes of YAML or after |-"
        )
        instead = instead if replacement else "write the value to a file that the script reads"
        message = _describe_effect(sent_word.sent_text, received)
        if sent_word.is_handwritten and not is_secret_name(sent_word.sent_text.partition("=")[0]):
            message = message.replace("this argument", _truncate_word(sent_word.sent_text))
        values = {"what": f"{message} ({regime_name})", "instead": instead}
        yield Violation(sent_word.path, values, list_worker_count_places(target))


@check()
def variable_over_ssh(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Arguments in which the shells of the workers expand a variable; values ``variable`` and ``by``."""
    for sent_word, broken_regimes in _find_broken_words(target.job):
        variable = transmit_word(sent_word.sent_text, broken_regimes[-1]).substitution
        if _SHELL_VARIABLE.fullmatch(variable):
            values = {"variable": variable, "by": broken_regimes[-1].name}
            yield Violation(sent_word.path, values, list_worker_count_places(target))


@cache_latest
def _find_broken_words(job: LoweredJob) -> list[tuple[SentWord, list[QuotingRegime]]]:
    """Return the words that change, each with the quoting regimes under which they do."""
    sent_words = (
        (one, [how for how in one.regimes if not survives_transmission(one.sent_text, how)])
        for one in _iter_sent_words(job)
    )
    return [(one, broken) for one, broken in sent_words if broken]


def _iter_sent_words(job: LoweredJob) -> Iterator[SentWord]:
    """Yield the words that the launcher sends to the workers, except those that no shell changes."""
    if not starts_over_ssh(job):
        return
    path, words, container = _find_program(job)
    regimes: tuple[QuotingRegime, ...] = (COLOSSALAI_REGIME,)
    if has_trait(job, "deepspeed-by-controller"):
        regimes = find_regimes(parse_deepspeed_version(container.data.get("image")) if container else None)
    script = SCRIPT_REGIME._replace(uses_pdsh=regimes[0].uses_pdsh)
    variables = resolve_environment(container.data) if container else {}
    complete = container is not None and not container.data.get("envFrom")

    def expand_word(word: str) -> str:
        return expand_references(word, variables, is_complete=complete).text

    for index, word_text in enumerate(words):
        if not isinstance(word_text, str):
            continue
        expansion = expand_references(word_text, variables, is_complete=complete)
        if expansion.is_known and not is_plain_word(expansion.text):
            sent_as = regimes if index else (script,)
            yield SentWord((*path, index), word_text, expansion.text, sent_as, expand_word)
    line = find_deepspeed_line(job)
    if line is not None and line.is_custom:
        for word in line.command_line.command_line.arguments:
            if word.is_known and not word.is_pattern and not is_plain_word(word.text):
                yield SentWord(
                    line.locate_word(word), word.text, word.text, regimes, expand_word, is_handwritten=True
                )


def _find_program(job: LoweredJob) -> tuple[Path, list[Any], WrittenContainer | None]:
    """Return the script with its arguments, and the container that launches it."""
    spec = spec_of(job)
    worker, launcher = find_replica_spec(job, "worker"), find_replica_spec(job, "launcher")
    starter = launcher if has_trait(job, "launcher-replica") else worker
    container = find_written_training_container(job, starter) if starter else None
    places: list[Path] = [("torchConfig", "script"), ("worker", "command")]
    if has_trait(job, "deepspeed-by-controller"):
        config = get_mapping(spec, "config")
        places = (
            [] if config.get("customCommand") else [("config", "run", f) for f in config.get("run") or ()]
        )
    for field_path in places:
        *steps, last = field_path
        parent: Any = spec
        for step in steps:
            parent = get_mapping(parent, str(step))
        words = parent.get(last)
        if isinstance(words, list) and words:
            return ("spec", *field_path), words, container
    return (), [], container


def _describe_effect(word: str, received: ReceivedWords) -> str:
    """Describe what happens to an argument."""
    if received.error:
        return f"the shell of the workers cannot read this argument: {received.error}"
    if received.terminator:
        sign = "the line break" if received.terminator == "\n" else f'"{received.terminator}"'
        return f"the shell of the workers takes {sign} in this argument as the end of the command"
    if received.substitution.startswith("%"):
        return (
            f"pdsh replaces {received.substitution} in this argument by the host, the user or the number of a"
            " worker"
        )
    if received.substitution:
        return f"the shell of the workers replaces {_truncate_word(received.substitution)} in this argument"
    if received.absorbs_next:
        return "this argument removes the arguments after it in the shell of the workers"
    if not received.words:
        return "this argument does not reach the workers"
    if is_secret_name(word.partition("=")[0]):
        return "the shell of the workers changes this argument"
    if len(received.words) == 1:
        return f"the workers get {_truncate_word(received.words[0])} instead of {_truncate_word(word)}"
    parts = " and ".join(map(_truncate_word, received.words[:3])) + (" …" if len(received.words) > 3 else "")
    return f"the workers get {len(received.words)} arguments, {parts}, instead of {_truncate_word(word)}"


def _truncate_word(word: str) -> str:
    return truncate(word, _MAX_SHOWN_LENGTH)
