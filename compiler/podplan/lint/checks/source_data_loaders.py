"""Data loaders of Python scripts whose text is known, compared with the shared memory of their container.

Source: https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading (workers share memory).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_mapping, get_text
from podplan.lint.analysis.features import PYTHON_TEXT
from podplan.lint.analysis.jobs import has_trait
from podplan.lint.analysis.resources import find_training_container
from podplan.lint.checks.python_sources import (
    PythonSource,
    find_constants,
    get_dotted_name,
    list_python_sources,
)
from podplan.lint.checks.registration import check
from podplan.lint.checks.shared_memory import explain_shm_need, find_shm_mount
from podplan.lint.target import LoweredJob, Target, Violation

_LOADERS = ("DataLoader", "StatefulDataLoader")
_ARGUMENTS = ("Arguments", "Config")  # endings of classes of transformers and TRL


@check(requires=(PYTHON_TEXT,))
def loaders_of_script_without_memory(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Data loaders of a script in a container with the default /dev/shm.

    Values: ``script``, ``number``, ``name``.
    """
    reported: set[str] = set()
    for source in list_python_sources(target.job):
        group, container = source.where.group, source.where.container
        found = _find_loaders(source.tree)
        if found is None or group.replica_type in reported or not _has_small_memory(target.job, source):
            continue
        reported.add(group.replica_type)
        number, call = found
        values = {"script": source.name, "number": number, "name": get_text(container, "name")}
        related = [(source.doc, source.locate(call), "its data loaders")]
        place = source.launch.locate_word(source.script)
        yield Violation(place, values, related, doc=source.launch.group.doc, group=source.launch.group)


def _find_loaders(tree: ast.Module) -> tuple[int, ast.Call] | None:
    """Return the number of worker processes of the first data loader with some, and its call."""
    constants = find_constants(tree)
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        name = get_dotted_name(call.func).rpartition(".")[2]
        for keyword in call.keywords:
            is_loader = keyword.arg == "num_workers" and name in _LOADERS
            is_trainer = keyword.arg == "dataloader_num_workers" and name.endswith(_ARGUMENTS)
            number = constants.find(keyword.value) if is_loader or is_trainer else None
            if type(number) is int and number > 0:
                return number, call
    return None


def _has_small_memory(job: LoweredJob, source: PythonSource) -> bool:
    """Whether a container has the default /dev/shm, and its command line does not tell that it needs more."""
    where = source.where
    training = find_training_container(where.group)
    if get_mapping(where.group.doc.data, "spec").get("hostIPC") is True or has_trait(
        job, "shm-by-controller"
    ):
        return False
    is_training = training is not None and training[0] == where.base
    if not is_training or explain_shm_need(job, where.group, where.container) is not None:
        return False
    return find_shm_mount(where.group, where.container) is None
