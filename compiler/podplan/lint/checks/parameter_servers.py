"""Trainings with ParameterServerStrategy of TensorFlow, compared with the cluster in TF_CONFIG.

Source: https://github.com/tensorflow/tensorflow/blob/v2.17.0/tensorflow/python/distribute/parameter_server_strategy_v2.py
(it demands at least one ps and one worker).
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping

from podplan.core.findings import Path
from podplan.core.provenance import TracedDocument
from podplan.core.typing import Any
from podplan.lint.analysis.jobs import list_replica_places
from podplan.lint.analysis.launches import ContainerLaunch
from podplan.lint.analysis.script_options import list_program_options
from podplan.lint.checks.mirrored_workers import STRATEGY_OPTIONS
from podplan.lint.checks.outputs import trainings
from podplan.lint.checks.python_sources import (
    PythonSource,
    get_constant,
    get_dotted_name,
    is_main_guard,
    list_python_sources,
)
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation

_VARIABLE = "TF_CONFIG"
_STRATEGY = "ParameterServerStrategy"
_MOST_TEXT = 100_000  # characters of TF_CONFIG
_VALUES = ("parameter_server", "parameterserver", "ps")
_ROLES = ("task", "role", "chief", "job_name", "coordinator")  # parts of the names of the task of a process
_TASKS = {"ps": "parameter server", "worker": "worker"}
# Clusters that a script describes itself, and the strategy of TensorFlow 1.
_OTHERS = ("SimpleClusterResolver", "KubernetesClusterResolver", "ClusterSpec(", "compat.v1", "estimator")


@check(requires=(_VARIABLE,))
def cluster_without_servers(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A cluster without a task that ParameterServerStrategy needs. Values: ``what``, ``task``, ``tasks``."""
    job = target.job
    for what, launch, doc, path in _iter_strategies(job):
        tasks = _read_tasks(launch)
        missing = next((name for task, name in _TASKS.items() if task not in tasks), None)
        if not tasks or missing is None:
            continue
        values = {"what": what, "task": missing, "tasks": " and ".join(sorted(tasks))}
        group = launch.group if doc is launch.group.doc else None
        yield Violation(path, values, list_replica_places(job), doc=doc, group=group)
        return


def _iter_strategies(job: LoweredJob) -> Iterator[tuple[str, ContainerLaunch, TracedDocument, Path]]:
    """Yield what selects the strategy in a job: a script, or an option of one whose text is not known."""
    sources = list_python_sources(job)
    for source in sources:
        call = _find_call(source)
        if call is not None:
            yield source.name, source.launch, source.doc, source.locate(call)
    for launch, _ in trainings(job):
        if any(one.launch is launch for one in sources):
            continue
        for option, doc, path in list_program_options(job, launch):
            if option.last in STRATEGY_OPTIONS and (option.value or "").lower() in _VALUES:
                yield f"{option.name}={option.value}", launch, doc, path


def _find_call(source: PythonSource) -> ast.Call | None:
    """Return the call with which a script makes its only strategy, which is that of parameter servers."""
    if any(text in source.text for text in _OTHERS) or _writes_cluster(source.tree):
        return None
    calls = [
        node
        for node in ast.walk(source.tree)
        if isinstance(node, ast.Call) and get_dotted_name(node.func).endswith("Strategy")
    ]
    names = {get_dotted_name(call.func).rpartition(".")[2] for call in calls}
    if names != {_STRATEGY} or _asks_for_servers(source.tree):
        return None
    return None if _is_optional(source.tree, calls[0]) else calls[0]


def _asks_for_servers(tree: ast.Module) -> bool:
    """Whether a script looks up whether there are parameter servers."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            looked_up: ast.AST | None = node.args[0] if node.args else None
        elif isinstance(node, ast.Compare):
            looked_up = node.left if isinstance(node.ops[0], ast.In | ast.NotIn) else None
        else:
            looked_up = node.slice if isinstance(node, ast.Subscript) else None
        if get_constant(looked_up) == "ps":
            return True
    return False


def _is_optional(tree: ast.Module, call: ast.Call) -> bool:
    """Whether a call is in a branch that depends on something else than the task of the process."""
    for node in ast.walk(tree):
        is_branch = isinstance(node, ast.If | ast.IfExp | ast.Try | ast.Match | ast.While)
        if not is_branch or all(one is not call for one in ast.walk(node)):
            continue
        if not isinstance(node, ast.If):
            return True
        names = [_get_last_name(one) for one in ast.walk(node.test)]
        if not is_main_guard(node.test) and not any(word in name for name in names for word in _ROLES):
            return True
    return False


def _get_last_name(node: ast.AST) -> str:
    return get_dotted_name(node).rpartition(".")[2].lower()


def _writes_cluster(tree: ast.Module) -> bool:
    """Whether a script may change TF_CONFIG."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            if get_constant(node.slice) == _VARIABLE:
                return True
        elif isinstance(node, ast.Call) and get_dotted_name(node.func).startswith("os.environ."):
            name = get_dotted_name(node.func).rpartition(".")[2]
            if name in ("setdefault", "update", "pop"):
                return True
    return False


def _read_tasks(launch: ContainerLaunch) -> frozenset[str]:
    """Return the types of tasks in TF_CONFIG of a container; none if it is not known."""
    text = launch.resolve_environment().get(_VARIABLE) or ""
    if len(text) > _MOST_TEXT or launch.invocation.variables.get(_VARIABLE, text) != text:
        return frozenset()
    try:
        cluster = json.loads(text)["cluster"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return frozenset()
    if not isinstance(cluster, dict):
        return frozenset()
    return frozenset(str(task) for task, hosts in cluster.items() if hosts)
