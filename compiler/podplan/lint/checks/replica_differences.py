"""Replica types of one process group with different images or options.

Sources: https://docs.pytorch.org/docs/stable/distributed.html (all processes call the same collectives in the
same order, with one backend), https://docs.pytorch.org/docs/stable/elastic/run.html.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_text
from podplan.lint.analysis.features import SEVERAL_TYPES
from podplan.lint.analysis.jobs import has_trait, is_mode_enabled
from podplan.lint.analysis.launches import TRAINING_LAUNCHERS, ContainerLaunch, find_launches
from podplan.lint.analysis.script_options import PlacedOption, list_program_options
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

# Options on which the collectives of a process group depend.
_SHARED = compile_lazily(
    r"(?:(?:dist|distributed|ddp|comm|process_group|pg)_)?backend|init_method|dist_url|(?:dist_)?world_size"
    r"|precision|mixed_precision|strategy|sharding_strategy|zero_stage|arch|model_arch|num_layers|hidden_size"
    r"|(?:tensor|pipeline|context)(?:_model)?_parallel_size"
    r"|(?:num_)?(?:train_)?epochs|(?:max|total|train|num)_(?:train_)?(?:steps|iters)"
)

_DEVICE_PATTERN = compile_lazily(r"(?<![a-z0-9])(?:cpu|gpu)(?![a-z0-9])")


@check(requires=(SEVERAL_TYPES,))
def unequal_replica_types(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Another image or option value than in a replica type of the same process group.

    Values: ``what``, ``other``, ``type`` and ``other_type``.
    """
    job = target.job
    if is_mode_enabled(job, "debug") or has_trait(job, "self-launched") or has_trait(job, "launcher-replica"):
        return
    launches = [
        launch
        for launch in find_launches(job)
        if launch.invocation.launcher in (*TRAINING_LAUNCHERS, "python")
        and launch.invocation.script is not None
        and not launch.invocation.is_conditional
    ]
    for one, other in pairwise(launches):
        if one.group.replica_type == other.group.replica_type or _get_script(one) != _get_script(other):
            continue
        yield from _iter_image(one, other)
        yield from _iter_options(job, one, other)


def _get_script(launch: ContainerLaunch) -> str:
    return launch.invocation.script.base_name if launch.invocation.script is not None else ""


def _iter_image(one: ContainerLaunch, other: ContainerLaunch) -> Iterator[Violation]:
    """Yield two versions of one image. Other names or tags may be builds for other devices."""
    images = [get_text(each.container, "image") for each in (one, other)]
    names = [_DEVICE_PATTERN.sub("", image) for image in images]
    if names[0] != names[1] and _get_repository(images[0]) == _get_repository(images[1]):
        related = [(one.group.doc, (*one.path, "image"), f"the image of {one.group.replica_type}")]
        shown = [image.rpartition("/")[2] for image in images]
        values = _build_values(one, other, f"the image {shown[0]}", shown[1])
        yield Violation((*other.path, "image"), values, related, doc=other.group.doc, group=other.group)


def _get_repository(image: str) -> str:
    """Return an image without its tag and digest."""
    folder, slash, name = image.partition("@")[0].rpartition("/")
    return f"{folder}{slash}{name.partition(':')[0]}"


def _iter_options(job: LoweredJob, one: ContainerLaunch, other: ContainerLaunch) -> Iterator[Violation]:
    first, second = (
        {placed.option.last: placed for placed in list_program_options(job, each) if _is_shared(placed)}
        for each in (one, other)
    )
    for name in first.keys() & second.keys():
        options = first[name].option, second[name].option
        if options[0].value != options[1].value:
            related = [(first[name].doc, first[name].path, f"the value of {one.group.replica_type}")]
            values = _build_values(
                one, other, f"{options[0].name} {options[0].value}", options[1].value or ""
            )
            yield Violation(second[name].path, values, related, doc=second[name].doc, group=other.group)


def _is_shared(placed: PlacedOption) -> bool:
    option = placed.option
    return bool(option.value) and option.known and _SHARED.fullmatch(option.last) is not None


def _build_values(one: ContainerLaunch, other: ContainerLaunch, what: str, differs: str) -> dict[str, str]:
    return {
        "what": what,
        "other": differs,
        "type": one.group.replica_type,
        "other_type": other.group.replica_type,
    }
