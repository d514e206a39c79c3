"""The shell command of worker-0: sshd in the background, then deepspeed with its options and the program."""

from __future__ import annotations

import re
from shlex import join, quote

from podplan.core.provenance import Cause, Cursor, Traced, attribute_to
from podplan.kinds.common.name_patterns import build_name_words, fill_options, fill_pattern
from podplan.kinds.t9k import behaviors, ssh_setup
from podplan.kinds.t9k.deepspeed_job import behaviors as kind_behaviors
from podplan.kinds.t9k.job import JobContext, ReplicaType
from podplan.kinds.t9k.services import build_host_name

# The deepspeed option for each form of config.run (docs/evidence/t9k-deepspeedjob.md#program).
FORM_OPTIONS: dict[str, list[str]] = {"python": [], "module": ["--module"], "exec": ["--no_python"]}


def build_launcher_command(job: JobContext, workers: ReplicaType, container: Cursor) -> Traced:
    """Build the command of worker-0.

    Every word is quoted so that bash passes it on unchanged. Kubernetes expands ``$(NAME)`` before bash reads
    the command, as in any container.
    """
    line_behavior, shell_behavior = (
        job.options.resolve_behavior(kind_behaviors.DEEPSPEED_COMMAND),
        job.options.resolve_behavior(kind_behaviors.DEEPSPEED_SHELL),
    )
    line = fill_pattern(
        line_behavior.value, {"sshd": _format_sshd(job), "deepspeed": _format_deepspeed(job, workers)}
    )
    words = [*(attribute_to((shell_behavior, job.spec), word) for word in shell_behavior.value), line]
    return attribute_to(
        _find_command_origins(job), words, overridden=ssh_setup.find_ignored_fields(container)
    )


def _format_sshd(job: JobContext) -> str:
    path = str(job.options.resolve_behavior(behaviors.SSHD_PATH).value)
    return join([path, *(word.value for word in ssh_setup.build_sshd_arguments(job))])


def _format_deepspeed(job: JobContext, workers: ReplicaType) -> str:
    config = job.spec.get("config")
    custom_command = config.get("customCommand").value
    if custom_command:
        return str(custom_command)
    word_values = build_name_words(job.name_words) | {
        "hostfile": job.options.resolve_behavior(kind_behaviors.DEEPSPEED_HOSTFILE_PATH).value,
        "master-addr": build_host_name(job, workers).text_at(0),
        "replicas": workers.replicas,
        "slots": config.get("slotsPerWorker").value_or(
            job.options.resolve_behavior(kind_behaviors.DEEPSPEED_SLOTS).value
        ),
    }
    launcher_words = (
        str(word)
        for word in fill_options(
            job.options.resolve_behavior(kind_behaviors.DEEPSPEED_OPTIONS).value, word_values
        )
    )
    quote_word = (
        _quote_double
        if job.options.resolve_behavior(kind_behaviors.DEEPSPEED_QUOTING).value == "double"
        else quote
    )
    return " ".join(["deepspeed", *map(quote_word, [*launcher_words, *_build_options(config)])])


def _quote_double(word: str) -> str:
    """Return ``word`` in double quotes, escaped for bash."""
    return '"' + re.sub(r'([\\"$`])', r"\\\1", word) + '"'


def _build_options(config: Cursor) -> list[str]:
    """Return the options and the program, word by word.

    Source: docs/evidence/t9k-deepspeedjob.md#options-of-deepspeed.
    """
    options = []
    if config.get("localRank").value is False:
        options.append("--no_local_rank")
    autotune = config.get("autotune").value_or("none")
    if autotune != "none":
        options.append(f"--autotuning={autotune}")
    form, program = _find_program(config)
    return [*options, *FORM_OPTIONS[form], *_list_words(config.get("otherArgs")), *_list_words(program)]


def _find_program(config: Cursor) -> tuple[str, Cursor]:
    """Return the form of the program, and its words; python if there is none."""
    forms = [(form, config.get("run", form)) for form in FORM_OPTIONS]
    return next(((form, words) for form, words in forms if words.value), forms[0])


def _list_words(list_cursor: Cursor) -> list[str]:
    return [str(entry.value) for entry in list_cursor.entries()]


def _find_command_origins(job: JobContext) -> tuple[Cause, ...]:
    """Return the origins of the command, the program first: there a person would edit."""
    config = job.spec.get("config")
    custom_command = config.get("customCommand")
    if custom_command.value:
        return (custom_command, kind_behaviors.DEEPSPEED_CUSTOM_COMMAND)
    line_fields = (
        _find_program(config)[1],
        *(config.get(key) for key in ("otherArgs", "autotune", "localRank")),
    )
    combined_behavior = job.options.first_configured(
        kind_behaviors.DEEPSPEED_COMMAND,
        kind_behaviors.DEEPSPEED_OPTIONS,
        kind_behaviors.DEEPSPEED_QUOTING,
        behaviors.SSHD_ARGUMENTS,
    )
    return (*(part for part in line_fields if part.exists), config, combined_behavior)
