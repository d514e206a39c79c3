"""Configurations of DeepSpeed that a script of the Pod writes, and that DeepSpeed refuses.

Sources: https://www.deepspeed.ai/docs/config-json/#batch-size-related-parameters,
https://github.com/deepspeedai/DeepSpeed/blob/v0.15.4/deepspeed/runtime/config.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path, TextPath
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.lint.analysis.deepspeed_settings import SettingProblem, list_setting_problems, locate_setting
from podplan.lint.analysis.features import SHELL
from podplan.lint.analysis.jobs import is_mode_enabled, list_replica_places, spec_of
from podplan.lint.analysis.process_worlds import iter_worlds
from podplan.lint.analysis.resources import find_training_container, list_init_containers
from podplan.lint.analysis.script_files import WrittenFile, list_written_files
from podplan.lint.analysis.script_options import PlacedOption, list_program_options
from podplan.lint.checks.deepspeed_batch import (
    SIZES,
    is_for_deepspeed,
    is_split,
    iter_configuration_files,
    read_sizes,
)
from podplan.lint.checks.deepspeed_precision import FORMATS, enables_both_formats
from podplan.lint.checks.deepspeed_settings import is_complete
from podplan.lint.checks.deepspeed_zero import read_zero_settings
from podplan.lint.checks.exclusive_options import find_pipeline_stages
from podplan.lint.checks.outputs import mount_of
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation


@check(requires=(SHELL,))
def written_configuration_refused(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A configuration that DeepSpeed refuses, in a script. Values: ``path``, ``container``, ``why``."""
    job = target.job
    is_elastic = get_mapping(spec_of(job), "elastic").get("enabled") is True
    if job.cr is None or is_mode_enabled(job, "debug"):
        return
    reported: set[Path] = set()
    for world in iter_worlds(job):
        options = list(list_program_options(job, world.launch))
        size = None if is_elastic or is_split(options) else world.size
        for placed, path in iter_configuration_files(options):
            for group, base, container, file in _find_writers(job, path):
                if not is_for_deepspeed(placed, file.text):
                    continue
                problems = list_setting_problems(file.text, is_complete(options, placed))
                refusal = _explain_refusal(file.text, size, find_pipeline_stages(options))
                for problem in [*problems, *([refusal] if refusal is not None else [])]:
                    place = _locate_span(base, file, problem.span)
                    if place in reported:
                        continue
                    reported.add(place)
                    related = [(placed.doc, placed.path, "reads the configuration")]
                    if problem is refusal:
                        related += list_replica_places(job)
                    values = {"path": file.path, "container": get_text(container, "name"), "why": problem.why}
                    yield Violation(place, values, related, doc=group.doc, group=group)


def _explain_refusal(text: str, world: int | None, pipeline: PlacedOption | None) -> SettingProblem | None:
    """Why DeepSpeed refuses a configuration in this job."""
    zero = read_zero_settings(text) if pipeline is not None else None
    sizes = read_sizes(text) if world is not None else None
    if enables_both_formats(text):
        name, why = FORMATS[1], "enables fp16 and bf16"
    elif zero is not None and pipeline is not None and zero.splits_gradients:
        option = pipeline.option
        name = "stage"
        why = f"sets ZeRO stage {zero.stage}, but {option.name}={option.value} makes a pipeline"
    elif sizes is not None and world is not None and sizes.multiply(world) != sizes.batch:
        _, micro, steps = sizes.complete(world)
        name = SIZES[0]
        why = (
            f"has train_batch_size {sizes.batch}, but {micro} for each GPU × {steps} steps × {world} GPUs"
            f" is {sizes.multiply(world)}"
        )
    else:
        return None
    return SettingProblem(f"{why}, so DeepSpeed fails with an assertion", locate_setting(text, (name,)))


def _find_writers(
    job: LoweredJob, path: str
) -> Iterator[tuple[ReplicaGroup, Path, Mapping[str, Any], WrittenFile]]:
    """The containers whose scripts write the file that a training reads at a path."""
    for group in job.pods:
        training = find_training_container(group)
        if training is None:
            continue
        wanted = _locate_in_volume(training[1], path)
        for base, container in (*list_init_containers(group), training):
            for file in list_written_files(container):
                is_own = container is training[1] and file.path == path
                if is_own or (wanted is not None and _locate_in_volume(container, file.path) == wanted):
                    yield group, base, container, file


def _locate_in_volume(container: Mapping[str, Any], path: str) -> tuple[str, str] | None:
    """The volume of a path and the path in it; None where it lies in none."""
    found = mount_of(container, path)
    if found is None or "subPathExpr" in found[1]:
        return None
    folder = get_text(found[1], "mountPath").rstrip("/")
    return get_text(found[1], "name"), get_text(found[1], "subPath").strip("/") + path[len(folder) :]


def _locate_span(base: Path, file: WrittenFile, span: tuple[int, int]) -> Path:
    """The path of a script, with a range of the file that it writes."""
    path: Path = (*base, *file.place)
    return TextPath(path, (file.start + span[0], file.start + span[1])) if span[1] else path
