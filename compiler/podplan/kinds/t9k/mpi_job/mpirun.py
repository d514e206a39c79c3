"""The script of the launcher: it waits for the workers, and runs mpirun with its options and the program."""

from __future__ import annotations

from shlex import quote

from podplan.core.provenance import Cause, Cursor, Traced, attribute_to
from podplan.kinds.common.name_patterns import build_name_words, fill_options, fill_pattern
from podplan.kinds.t9k.job import JobContext
from podplan.kinds.t9k.mpi_job import behaviors as kind_behaviors
from podplan.kinds.t9k.mpi_job.settings import MPISettings
from podplan.kinds.t9k.pods import find_training_container


def build_launcher_command(job: JobContext, settings: MPISettings) -> Traced:
    """Build the command of the launcher; each word reaches mpirun as it is written."""
    script_behavior, shell_behavior = (
        job.options.resolve_behavior(fact) for fact in (kind_behaviors.MPI_SCRIPT, kind_behaviors.MPI_SHELL)
    )
    line = fill_pattern(
        script_behavior.value,
        {"mpirun": " ".join(map(quote, _build_words(job, settings))), "hostfile": get_hostfile_path(job)},
    )
    words = [*(attribute_to((shell_behavior, job.spec), word) for word in shell_behavior.value), line]
    return attribute_to(_find_origins(job, settings), words)


def get_hostfile_path(job: JobContext) -> str:
    """Return the path of the hostfile in the launcher."""
    return str(job.options.resolve_behavior(kind_behaviors.MPI_HOSTFILE_PATH).value)


def _build_words(job: JobContext, settings: MPISettings) -> list[str]:
    """Return mpirun, its options and the program, word by word.

    Source: docs/evidence/t9k-mpijob.md#options-of-mpirun.
    """
    mpirun, process_options, mca_option, env_option = (
        job.options.resolve_behavior(fact).value
        for fact in (
            kind_behaviors.MPI_MPIRUN,
            kind_behaviors.MPI_PROCESS_OPTIONS,
            kind_behaviors.MPI_MCA,
            kind_behaviors.MPI_ENV_OPTIONS,
        )
    )
    word_values = build_name_words(job.name_words) | {
        "home": settings.home.value or None,
        "hostfile": get_hostfile_path(job),
        "replicas": settings.workers.replicas,
    }
    words = fill_options(mpirun, word_values)
    for name, value in sorted(settings.mca.fields().items()):
        words += fill_options(mca_option, {"name": name, "value": value.value})
    container = find_training_container(job, settings.workers, settings.training_container)
    for variable in container.get("env").entries():
        words += fill_options(env_option, {"name": variable.get("name").value})
    if settings.processes.exists or settings.recovery.exists:
        words += fill_options(process_options, _read_process_words(settings))
    written_words = (str(entry.value) for entry in _list_written(settings))
    return [*map(str, words), *written_words]


def _read_process_words(settings: MPISettings) -> dict[str, object]:
    recovery = settings.recovery
    is_enabled = recovery.get("enable").value is True
    return {
        "processes": settings.processes.value,
        "restarts": recovery.get("limit").value_or(0) if is_enabled else None,
    }


def _list_written(settings: MPISettings) -> list[Cursor]:
    return [*settings.extra_args.entries(), *settings.script.entries()]


def _find_origins(job: JobContext, settings: MPISettings) -> tuple[Cause, ...]:
    """Return the origins of the command, the program first: there a person would edit."""
    parts = (
        settings.script,
        settings.extra_args,
        settings.mca,
        settings.home,
        settings.processes,
        settings.recovery,
    )
    combined_behavior = job.options.first_configured(
        kind_behaviors.MPI_SCRIPT,
        kind_behaviors.MPI_MPIRUN,
        kind_behaviors.MPI_MCA,
        kind_behaviors.MPI_ENV_OPTIONS,
        kind_behaviors.MPI_PROCESS_OPTIONS,
    )
    return (*(part for part in parts if part.exists), settings.workers.entry, combined_behavior)
