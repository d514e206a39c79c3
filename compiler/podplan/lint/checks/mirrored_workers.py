"""Strategies of TensorFlow for one machine in a job with several workers.

Source: https://www.tensorflow.org/guide/distributed_training (MirroredStrategy is for the GPUs of one
machine, MultiWorkerMirroredStrategy for several workers).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.provenance import TracedDocument
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries
from podplan.lint.analysis.jobs import find_replica_places, has_isolated_replicas, is_mode_enabled
from podplan.lint.analysis.launches import ContainerLaunch
from podplan.lint.analysis.script_options import ScriptOption, list_program_options
from podplan.lint.checks.outputs import trainings
from podplan.lint.checks.python_sources import (
    PythonSource,
    get_dotted_name,
    iter_certain_expressions,
    iter_certain_statements,
    list_python_sources,
)
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

_VARIABLE = "TF_CONFIG"
_STRATEGIES = ("MirroredStrategy", "OneDeviceStrategy")
STRATEGY_OPTIONS = ("distribution_strategy", "distribute_strategy", "dist_strategy", "strategy")
_VALUES = {"mirrored": "MirroredStrategy", "one_device": "OneDeviceStrategy"}
# A script that reads the cluster itself, or uses another strategy or library in some of the Pods.
_OTHER_TEXT = """
    TF_CONFIG ClusterResolver MultiWorker ParameterServerStrategy CentralStorageStrategy horovod byteps
    estimator task_index task_id HOSTNAME gethostname POD_NAME
"""
_OTHERS = tuple(_OTHER_TEXT.split())
# Options by which each worker may have a part of its own.
_PARTS = compile_lazily(
    r"(?:\w+_)?(?:shard|index|rank|task|part|partition|fold|seed|replica|worker_id|trial)(?:_\w+)?"
)
_TRAINERS = ("worker", "chief", "master")


@check(requires=(_VARIABLE,))
def strategy_of_one_machine(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A strategy for one machine in several workers. Values: ``what``, ``strategy``, ``pods``."""
    job = target.job
    if is_mode_enabled(job, "debug") or has_isolated_replicas(job):
        return
    launches = [
        launch for launch, where in trainings(job) if launch.group is where.group and _is_worker(launch)
    ]
    pods = sum(one.group.replicas for one in launches)
    if pods < 2 or len(launches) != len({id(one.group) for one in launches}):
        return
    if any(_may_differ(job, one) for one in launches):
        return
    places = find_replica_places(job)
    types = dict.fromkeys(one.group.replica_type for one in launches)
    related = [places[one] for one in types if one in places]
    sources = [one for one in list_python_sources(job) if one.launch in launches]
    is_same = len(sources) == len(launches) and len({one.text for one in sources}) == 1
    source = sources[0] if is_same else None
    call = _find_strategy(source) if source is not None else None
    if source is not None and call is not None:
        strategy = get_dotted_name(call.func).rpartition(".")[2]
        values = {"what": source.name, "strategy": strategy, "pods": pods}
        yield Violation(source.locate(call), values, related, doc=source.doc, group=source.group)
    elif not sources:
        yield from _iter_options(job, launches, pods, related)


def _iter_options(
    job: LoweredJob,
    launches: list[ContainerLaunch],
    pods: int,
    related: list[tuple[TracedDocument, Path, str]],
) -> Iterator[Violation]:
    """Yield the option of the first launch that selects a strategy, if all have it."""
    found = [
        next((one for one in list_program_options(job, launch) if _selects_strategy(one.option)), None)
        for launch in launches
    ]
    first = found[0]
    if first is not None and all(one is not None and one.option.value == first.option.value for one in found):
        values = {
            "what": first.option.name,
            "strategy": _VALUES[str(first.option.value).lower()],
            "pods": pods,
        }
        group = launches[0].group if first.doc is launches[0].group.doc else None
        yield Violation(first.path, values, related, doc=first.doc, group=group)


def _selects_strategy(option: ScriptOption) -> bool:
    return option.last in STRATEGY_OPTIONS and (option.value or "").lower() in _VALUES


def _may_differ(job: LoweredJob, launch: ContainerLaunch) -> bool:
    """Whether arguments or variables may give each replica a part of its own."""
    if not all(word.is_known for word in launch.invocation.words):
        return True
    if any(_PARTS.fullmatch(one.option.last) for one in list_program_options(job, launch)):
        return True
    return any("valueFrom" in entry for _, entry in get_entries(launch.container, "env"))


def _is_worker(launch: ContainerLaunch) -> bool:
    return launch.group.replica_type.lower() in _TRAINERS and _VARIABLE in launch.resolve_environment()


def _find_strategy(source: PythonSource) -> ast.Call | None:
    """Return the call with which a script certainly selects a strategy for one machine."""
    if any(name in source.text for name in _OTHERS):
        return None
    for statement in iter_certain_statements(source.tree):
        for node in iter_certain_expressions(statement):
            if isinstance(node, ast.Call) and get_dotted_name(node.func).rpartition(".")[2] in _STRATEGIES:
                return node
    return None
