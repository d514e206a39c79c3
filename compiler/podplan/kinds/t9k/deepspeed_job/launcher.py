"""The shell line of worker-0: sshd in the background, then deepspeed with its options and the program."""

from __future__ import annotations

import re
from shlex import join, quote

from podplan.core.provenance import Cursor, Marked, Why, at
from podplan.kinds.common.name_patterns import each_filled, filled, naming
from podplan.kinds.t9k import behaviors, ssh_setup
from podplan.kinds.t9k.job import Job, Role
from podplan.kinds.t9k.services import host

# How each form of config.run is passed on (docs/evidence/t9k-deepspeedjob.md#program).
PROGRAMS: dict[str, list[str]] = {"python": [], "module": ["--module"], "exec": ["--no_python"]}


def launcher(job: Job, workers: Role, container: Cursor) -> Marked:
    """The command of worker-0.

    bash gives every word back as it is written. Kubernetes replaces ``$(NAME)`` before bash sees the line,
    as in any command of a container.
    """
    form, shell = job.options.fact(behaviors.DEEPSPEED_COMMAND), job.options.fact(behaviors.DEEPSPEED_SHELL)
    line = filled(form.value, {"sshd": _sshd(job), "deepspeed": _deepspeed(job, workers)})
    words = [*(at((shell, job.spec), word) for word in shell.value), line]
    return at(_why(job), words, over=ssh_setup.ignored(container))


def _sshd(job: Job) -> str:
    path = str(job.options.fact(behaviors.SSHD_PATH).value)
    return join([path, *(word.value for word in ssh_setup.arguments(job))])


def _deepspeed(job: Job, workers: Role) -> str:
    config = job.spec.get("config")
    custom = config.get("customCommand").value
    if custom:
        return str(custom)
    known = naming(job) | {
        "hostfile": job.options.fact(behaviors.DEEPSPEED_HOSTFILE_PATH).value,
        "master-addr": host(job, workers).text(0),
        "replicas": workers.replicas,
        "slots": config.get("slotsPerWorker").otherwise(job.options.fact(behaviors.DEEPSPEED_SLOTS).value),
    }
    told = (str(word) for word in each_filled(job.options.fact(behaviors.DEEPSPEED_OPTIONS).value, known))
    quoted = _in_double_quotes if job.options.fact(behaviors.DEEPSPEED_QUOTING).value == "double" else quote
    return " ".join(["deepspeed", *map(quoted, [*told, *_options(config)])])


def _in_double_quotes(word: str) -> str:
    """``word`` in double quotes, as bash gives it back."""
    return '"' + re.sub(r'([\\"$`])', r"\\\1", word) + '"'


def _options(config: Cursor) -> list[str]:
    """The options and the program, word by word.

    Source: docs/evidence/t9k-deepspeedjob.md#options-of-deepspeed.
    """
    options = []
    if config.get("localRank").value is False:
        options.append("--no_local_rank")
    autotune = config.get("autotune").otherwise("none")
    if autotune != "none":
        options.append(f"--autotuning={autotune}")
    form, program = _program(config)
    return [*options, *PROGRAMS[form], *_words(config.get("otherArgs")), *_words(program)]


def _program(config: Cursor) -> tuple[str, Cursor]:
    """The form in which the program is given, and its words; python where none is given."""
    forms = [(form, config.get("run", form)) for form in PROGRAMS]
    return next(((form, words) for form, words in forms if words.value), forms[0])


def _words(written: Cursor) -> list[str]:
    return [str(entry.value) for entry in written.entries()]


def _why(job: Job) -> tuple[Why, ...]:
    """Where the line comes from, the program first: there a person would edit."""
    config = job.spec.get("config")
    custom = config.get("customCommand")
    if custom.value:
        return (custom, behaviors.DEEPSPEED_CUSTOM_COMMAND)
    parts = (_program(config)[1], *(config.get(key) for key in ("otherArgs", "autotune", "localRank")))
    told = job.options.told(
        behaviors.DEEPSPEED_COMMAND,
        behaviors.DEEPSPEED_OPTIONS,
        behaviors.DEEPSPEED_QUOTING,
        behaviors.SSHD_ARGUMENTS,
    )
    return (*(part for part in parts if part.exists), config, told)
