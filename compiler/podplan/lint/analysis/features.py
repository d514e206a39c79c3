"""The features of a job, without which the checks that require them are neither loaded nor called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.provenance import Cursor
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text, get_texts
from podplan.lint.analysis.launches import find_launches
from podplan.lint.analysis.mounted_scripts import has_python
from podplan.lint.target import LoweredJob, cache_latest

CLUSTER = "cluster"
SHELL = "shell"
SEVERAL_TYPES = "several types"
PYTHON_TEXT = "python text"
_LISTS = ("containers", "initContainers", "ephemeralContainers", "volumes")
_HANDLERS = ("postStart", "preStop", "livenessProbe", "readinessProbe", "startupProbe")


@cache_latest
def list_features(job: LoweredJob) -> frozenset[str]:
    """Return the features of a job.

    They are the fields of its Pods, of their containers with their security contexts, and of their volumes;
    the names of the variables that containers set; the kinds of the lowered objects; the launchers that its
    training containers start; ``SHELL`` if a command line may be that of a shell; ``SEVERAL_TYPES`` if there
    are Pods of more than one replica type; ``PYTHON_TEXT`` if the file of the job may have the text of a
    Python script that a container runs; and ``CLUSTER`` if objects of the repository state something about
    the cluster.
    """
    features = {CLUSTER} if job.cluster is not None else set()
    features.update(group.doc.data["kind"] for group in job.groups)
    features.update(launch.invocation.launcher for launch in find_launches(job))
    if len({group.replica_type for group in job.pods}) > 1:
        features.add(SEVERAL_TYPES)
    for group in job.pods:
        features.update(_iter_fields(get_mapping(group.doc.data, "spec")))
    if any(map(_is_code_map, job.references.values())):
        features.add(PYTHON_TEXT)
    return frozenset(features)


def _is_code_map(reference: Cursor) -> bool:
    data = reference.doc.data
    return data.get("kind") == "ConfigMap" and has_python(reference.doc)


def _iter_fields(pod_spec: Mapping[str, Any]) -> Iterator[str]:
    yield from pod_spec
    for name in _LISTS:
        for _, entry in get_entries(pod_spec, name):
            yield from entry
            yield from get_mapping(entry, "securityContext")
            yield from (get_text(variable, "name") for _, variable in get_entries(entry, "env"))
            words = list(_iter_words(entry))
            if any(map(_may_be_shell, words)):
                yield SHELL
            if any(".py" in word and (">" in word or "tee" in word) for word in words):
                yield PYTHON_TEXT


def _iter_words(container: Mapping[str, Any]) -> Iterator[str]:
    lifecycle = get_mapping(container, "lifecycle")
    handlers = ({**lifecycle, **container}.get(name) for name in _HANDLERS)
    commands = [get_mapping(handler, "exec") for handler in handlers if isinstance(handler, dict)]
    for source in (container, *commands):
        for field in ("command", "args"):
            yield from (text for _, text in get_texts(source, field))


def _may_be_shell(word: str) -> bool:
    """Whether a word is the name of a shell, or a script for one: anything with a space."""
    return word.endswith("sh") or any(map(str.isspace, word))
