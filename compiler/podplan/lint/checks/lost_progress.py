"""Options and commands that discard checkpoints at each restart of a training.

Sources: https://github.com/huggingface/transformers/blob/v4.48.0/examples/pytorch/language-modeling/run_clm.py
(``last_checkpoint`` is searched only without ``overwrite_output_dir``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from posixpath import normpath

from podplan.core.findings import Path, below
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.launchers.processes import Process
from podplan.lint.analysis.jobs import get_replica_specs, is_mode_enabled, spec_of
from podplan.lint.analysis.launches import ContainerLaunch, find_launches
from podplan.lint.analysis.pod_jobs import count_retries
from podplan.lint.analysis.processes import programs_of
from podplan.lint.analysis.script_options import PlacedOption, ScriptOption, list_program_options
from podplan.lint.checks.outputs import written_paths
from podplan.lint.checks.registration import COUNT, check, object_schema
from podplan.lint.target import LoweredJob, Target, Violation

_RESTARTS = ("OnFailure", "ExitCode", "Always")
_OVERWRITES = compile_lazily(r"overwrite_(?:output|save|work|ckpt|checkpoint)s?_?(?:dir|path|folder)?")
RESUMES = compile_lazily(
    r"(?:auto_?)?resume(?:_latest|_training|_from(?:_checkpoint|_ckpt|_latest|_last)?)?|load_latest"
    r"|continue_training"
)
_REFUSES_RESUME = compile_lazily(
    r"no_(?:auto_?)?resume|(?:ignore|reset|delete|clear|discard)_(?:ckpt|checkpoint|old_checkpoint)s?"
)
_REFUSED = frozenset(("false", "no", "0", "off", "never"))  # null and none are the defaults of many configs
# Options for the steps between two checkpoints, and for the steps of the whole training, in the same unit.
_INTERVALS = (
    (
        (
            "save_interval",
            "save_steps",
            "save_every",
            "checkpoint_interval",
            "ckpt_interval",
            "checkpoint_every",
        ),
        ("train_iters", "max_steps", "max_iters", "max_train_steps", "total_steps", "num_train_steps"),
    ),
    (
        ("save_epochs", "save_every_n_epochs", "save_every_epochs", "checkpoint_epochs"),
        ("epochs", "num_epochs", "max_epochs", "num_train_epochs"),
    ),
)
_SAVES_NOTHING = frozenset(("save_strategy", "evaluation_only", "eval_only", "only_eval", "test_only"))


@check(params=object_schema({"default": COUNT}))
def restart_discards_progress(subject: Target, params: Mapping[str, Any]) -> Iterator[Violation]:
    """A setting that makes each restart begin from scratch, in a job that allows restarts.

    Values: ``what``, ``restarts``.
    """
    job = subject.job
    if is_mode_enabled(job, "debug"):
        return
    for launch in find_launches(job):
        if launch.invocation.is_conditional or launch.invocation.started_by:
            continue
        by_controller, by_torchrun = (
            find_restarts(subject, launch.group, params["default"]),
            _restarts_of_torchrun(launch),
        )
        if by_controller is not None or by_torchrun is not None:
            for placed, what in _iter_fresh_start_options(job, launch):
                allowed = by_controller or by_torchrun
                yield from _hit(launch, placed.doc, placed.path, what, allowed)
        if by_controller is not None:
            for place, what in _iter_deleting_commands(launch):
                yield from _hit(launch, launch.group.doc, place, what, by_controller)


def _hit(
    launch: ContainerLaunch,
    doc: TracedDocument,
    path: Path,
    what: str,
    allowed: tuple[TracedDocument, Path, str] | None,
) -> Iterator[Violation]:
    if allowed is not None:
        yield Violation(path, {"what": what, "restarts": allowed[2]}, [allowed], doc=doc, group=launch.group)


def find_restarts(
    subject: Target, group: ReplicaGroup, default: int
) -> tuple[TracedDocument, Path, str] | None:
    """Return the path and description of the setting that restarts Pods of a type; None if nothing does."""
    job = subject.job
    by_job = count_retries(job, group)
    if by_job is not None:
        allowed = f"{by_job.field}, {_times(by_job.number)}"
        return (by_job.doc, by_job.path, allowed) if by_job.number > 0 else None
    role = next((role for role in get_replica_specs(job) if role.type == group.replica_type), None)
    if role is None:
        return None
    own = get_mapping(role.data, "restartPolicy")
    policy = get_text(own, "policy") or get_text(role.data, "restartPolicy")
    retries = (
        own.get("limit", 0) if own else get_mapping(spec_of(job), "runPolicy").get("backoffLimit", default)
    )
    if policy not in _RESTARTS or not isinstance(retries, int) or retries < 1:
        return None
    return subject.doc, (*role.path, "restartPolicy"), f"restartPolicy {policy}, {_times(retries)}"


def _restarts_of_torchrun(launch: ContainerLaunch) -> tuple[TracedDocument, Path, str] | None:
    """Return the path and number of restarts of torchrun; None if it has none."""
    facts = launch.torchrun
    if facts is None or not facts.max_restarts or "max_restarts" not in facts.value_origins:
        return None
    place = launch.locate_word(facts.find_option_word("max_restarts", launch.invocation.program_word))
    return launch.group.doc, place, f"max_restarts of torchrun, {_times(facts.max_restarts)}"


def _times(number: int) -> str:
    return "once" if number == 1 else f"up to {number} times"


def _iter_fresh_start_options(job: LoweredJob, launch: ContainerLaunch) -> Iterator[tuple[PlacedOption, str]]:
    """Yield the options of the script that disable resuming."""
    placed = list(list_program_options(job, launch))
    options = [one.option for one in placed]
    if any(one.last in _SAVES_NOTHING and (one.value == "no" or one.is_on) for one in options):
        return
    yield from _saves_too_late(placed)
    if any(RESUMES.fullmatch(one.last) and not one.is_off for one in options):
        return  # it names the checkpoint from which it resumes
    for at, one in zip(placed, options, strict=True):
        if _OVERWRITES.fullmatch(one.last) and one.is_on:
            yield at, f"{one.name} disables the search for the last checkpoint"
        elif RESUMES.fullmatch(one.last) and (one.value or "").lower() in _REFUSED:
            yield at, f"{_format_option(one)} starts the training without a checkpoint"
        elif _REFUSES_RESUME.fullmatch(one.last) and one.is_on:
            yield at, f"{one.name} starts the training without a checkpoint"


def _saves_too_late(placed: list[PlacedOption]) -> Iterator[tuple[PlacedOption, str]]:
    """Yield the interval of checkpoints if the training ends before the first one."""
    for interval_names, length_names in _INTERVALS:
        intervals = [one for one in placed if one.option.last in interval_names]
        lengths = [one for one in placed if one.option.last in length_names]
        if len(intervals) != 1 or len(lengths) != 1:
            continue
        interval, length = intervals[0].option, lengths[0].option
        if interval.number is not None and length.number is not None and interval.number > length.number:
            shown = f"{_format_option(length)} ends before the first checkpoint of {_format_option(interval)}"
            yield intervals[0], shown


def _format_option(one: ScriptOption) -> str:
    return f"{one.name}={one.value}" if one.value is not None else one.name


def _iter_deleting_commands(launch: ContainerLaunch) -> Iterator[tuple[Path, str]]:
    """Yield the commands of the container that delete output folders of the training."""
    outputs = written_paths(launch)
    for command, process in programs_of(launch.container) if outputs else ():
        if command is None or command.is_conditional or command.operator_before == "||":
            continue
        for path in _iter_deleted_folders(process):
            if any(output == path or output.startswith(f"{path}/") for output in outputs):
                yield (
                    below(launch.path, process.place),
                    f"rm -r {path} deletes the checkpoints of the last run",
                )


def _iter_deleted_folders(process: Process) -> list[str]:
    """Return the folders that ``rm -r`` deletes or empties."""
    words = [word.text if word.is_known else "" for word in process.words[1:]]
    flags = [word for word in words if word.startswith("-")]
    is_recursive = any(flag == "--recursive" or (flag[1:2] != "-" and "r" in flag.lower()) for flag in flags)
    if process.name != "rm" or not is_recursive:
        return []
    paths = [word.removesuffix("*") for word in words if word.startswith("/")]
    return [path for path in map(normpath, paths) if path != "/" and not set(path) & set("*?[$")]
