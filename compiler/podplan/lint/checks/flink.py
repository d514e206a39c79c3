"""The Flink cluster of a job: clean-up, version and task slots.

Sources: docs/evidence/t9k-beamjob.md#children, docs/evidence/t9k-beamjob.md#clean-up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts
from podplan.lint.analysis.jobs import find_written_path, spec_of
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

_CLUSTER_PATH: Path = ("spec", "flinkClusterTemplate", "spec")
_JOB_POD_PATH: Path = ("spec", "jobTemplate", "spec", "template", "spec")
# The official image, also in a mirror: flink:1.14.6, flink:1.14.6-scala_2.12.
_FLINK_IMAGE = compile_lazily(r"(?:.*/)?flink:(\d+\.\d+)(?:[.-].*)?")
_FLINK_VERSION = compile_lazily(r"(\d+\.\d+)(?:\..*)?")
_PARALLELISM = compile_lazily(r"--parallelism(?:=(\d{1,6}))?")
_SLOTS_PROPERTY = "taskmanager.numberOfTaskSlots"


@check()
def flink_cluster_kept(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A Flink cluster that nothing deletes when the job has ended."""
    if get_mapping(spec_of(target.job), "runPolicy").get("cleanUpCluster") is not True:
        yield Violation(find_written_path(target.data, "spec", "runPolicy", "cleanUpCluster"), {})


@check()
def flink_version_differs(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A Flink version that differs from the version of the image. Values: ``version``, ``image``."""
    cluster = _get_cluster(target)
    image = get_text(get_mapping(cluster, "image"), "name")
    version = cluster.get("flinkVersion")
    written, tagged = _FLINK_VERSION.fullmatch(str(version)), _FLINK_IMAGE.fullmatch(image)
    if written is not None and tagged is not None and written[1] != tagged[1]:
        related = [(target.doc, (*_CLUSTER_PATH, "image", "name"), "the image")]
        yield Violation((*_CLUSTER_PATH, "flinkVersion"), {"version": version, "image": image}, related)


@check()
def too_few_task_slots(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A parallelism above the slots of all task managers. Values: ``parallelism``, ``slots``."""
    cluster = _get_cluster(target)
    replicas = get_mapping(cluster, "taskManager").get("replicas")
    slots = str(get_mapping(cluster, "flinkProperties").get(_SLOTS_PROPERTY, ""))
    if not isinstance(replicas, int) or not slots.isdecimal() or len(slots) > 6:
        return
    for path, parallelism in _iter_parallelism(target):
        if parallelism > replicas * int(slots):
            related = [(target.doc, (*_CLUSTER_PATH, "flinkProperties", _SLOTS_PROPERTY), "slots of each")]
            values = {"parallelism": parallelism, "slots": replicas * int(slots)}
            yield Violation(path, values, related)


def _get_cluster(target: Target) -> Mapping[str, Any]:
    return get_mapping(get_mapping(spec_of(target.job), "flinkClusterTemplate"), "spec")


def _iter_parallelism(target: Target) -> Iterator[tuple[Path, int]]:
    """Yield the value of each option --parallelism of the containers that submit the pipeline."""
    pod = target.data
    for step in _JOB_POD_PATH:
        pod = get_mapping(pod, str(step))
    for index, container in get_entries(pod, "containers"):
        for key in ("command", "args"):
            words = list(get_texts(container, key))
            for (number, word), (_, following) in zip(words, [*words[1:], (0, "")], strict=False):
                match = _PARALLELISM.fullmatch(word)
                value = (match[1] or following) if match is not None else ""
                if value.isdecimal() and len(value) <= 6:
                    yield (*_JOB_POD_PATH, "containers", index, key, number), int(value)
