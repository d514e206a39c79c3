"""Restart policies of replicas, and the retries that all replicas share.

Sources: docs/evidence/t9k-common.md#meaning-of-the-restart-policies,
docs/evidence/t9k-common.md#backoff-limit, docs/evidence/torchrun.md#rejoining-after-a-restart.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set

from podplan.core.findings import Path, below
from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.core.wording import add_article
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.launchers.exit_status import is_training
from podplan.launchers.processes import Process, ShellString, iter_commands
from podplan.launchers.shell_nodes import Block
from podplan.lint.analysis.jobs import (
    ReplicaSpec,
    count_gpus,
    count_pods,
    find_kind_spec,
    find_written_path,
    get_replica_specs,
    has_trait,
    is_mode_enabled,
    kind_of,
    spec_of,
)
from podplan.lint.analysis.launches import find_launches
from podplan.lint.analysis.processes import process_of, programs_of
from podplan.lint.analysis.resources import find_training_container
from podplan.lint.checks.registration import COUNT, check, object_schema
from podplan.lint.target import LoweredJob, Target, Violation

# Options and variables with the exit code by which a script requests a restart.
_REQUEUE = compile_lazily(
    r"(?:--?)?(?:\w+[-_.])?(?:requeue|resume|restart|retry|preempt\w*|resched\w*)[-_]?(?:exit|return)?[-_]?(?:code|status)",
    re.IGNORECASE,
)
MAX_RESTARTS: Path = ("spec", "torchrunConfig", "maxRestarts")
LONGEST_NAME, LONGEST_CODE = 60, 4
_STOP_SIGNALS = frozenset(("TERM", "SIGTERM", "15", "INT", "SIGINT", "2"))
_LONGEST_NAME = 200  # of a function, with the blanks after it
_FUNCTION_HEAD = compile_lazily(r"([\w-]+)\s*(?:\(\s*\))?\s*\Z")
_TRAPPED_EXIT = compile_lazily(r"(?:\A|[\s;&|{])exit\s+([1-9]\d{0,2})\b")


@check(params=object_schema({"default": COUNT}))
def retries_for_one_failure(target: Target, params: Mapping[str, Any]) -> Iterator[Violation]:
    """Fewer retries than one failure uses if all ranks fail together.

    Values: ``pods``, ``reason``, ``restarted``, ``retries``, ``said``.
    """
    job, spec = target.job, spec_of(target.job)
    restarting_specs = _list_restarting_specs(job)
    restarts_nothing = _never_restarts_processes(job)
    if not restarting_specs or is_mode_enabled(job, "debug"):
        return
    if is_launched_by_torchrun(job) and not restarts_nothing:
        return
    types = {role.type for role in restarting_specs}
    if not is_launched_by_torchrun(job) and _restarts_processes_by_command(job, types):
        return
    if len({count_gpus(group) > 0 for group in job.pods}) > 1:
        return  # replicas with and without GPUs are no single process group
    restarted = sum(group.replicas for group in job.pods if group.replica_type in types)
    if has_trait(job, "unlimited-retries") and "backoffLimit" not in get_mapping(spec, "runPolicy"):
        return
    retries, default_note = find_shared_retries(spec, params["default"])
    budget = retries - 1 if has_trait(job, "fails-at-retry-limit") else retries
    if restarted > 1 and retries > 0 and budget < restarted:
        policy_path: Path = (*restarting_specs[0].path, "restartPolicy")
        limit_path: Path = ("spec", "runPolicy", "backoffLimit")
        related = [(target.doc, policy_path, "the restarted replicas")]
        if restarts_nothing:
            related.append((target.doc, MAX_RESTARTS, "torchrun restarts no process"))
        values = {
            "pods": count_pods(job),
            "reason": "torchrun restarts no process" if restarts_nothing else "their ranks are fixed",
            "restarted": restarted,
            "retries": retries,
            "said": default_note,
        }
        yield (
            Violation(policy_path, values) if default_note else Violation(limit_path, values, related=related)
        )


def is_launched_by_torchrun(job: LoweredJob) -> bool:
    """Whether the CR asks the controller to start torchrun."""
    return get_mapping(spec_of(job), "torchrunConfig").get("enabled") is True


def _list_restarting_specs(job: LoweredJob) -> list[ReplicaSpec]:
    """The replica types that are restarted after every failure."""
    return [
        role for role in get_replica_specs(job) if role.data.get("restartPolicy") in ("OnFailure", "Always")
    ]


def _never_restarts_processes(job: LoweredJob) -> bool:
    """Whether torchrun ends at the first failure, so that it ends in all Pods: maxRestarts is 0.

    In an elastic job the other Pods may go on without the one that failed.
    """
    elastic = get_mapping(spec_of(job), "elastic")
    return (
        is_launched_by_torchrun(job)
        and get_mapping(spec_of(job), "torchrunConfig").get("maxRestarts") == 0
        and elastic.get("enabled") is not True
    )


def _restarts_processes_by_command(job: LoweredJob, types: Set[str]) -> bool:
    """Whether the commands of all replicas of ``types`` start a torchrun that restarts its processes."""
    restarting_types = {
        launch.group.replica_type
        for launch in find_launches(job)
        if launch.torchrun is not None and launch.torchrun.max_restarts != 0
    }
    return restarting_types >= {group.replica_type for group in job.pods if group.replica_type in types}


def find_shared_retries(spec: Mapping[str, Any], default: int) -> tuple[int, str]:
    """Return the retries that all replicas share, and a description of the default if none is stated."""
    limit = get_mapping(spec, "runPolicy").get("backoffLimit")
    return (limit, "") if isinstance(limit, int) else (default, ", the default of backoffLimit")


@check()
def template_restart_policy(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A restartPolicy in the Pod template. Values: ``policy``, ``kind``, ``set`` (the policy of the Pods),
    ``instead``."""
    is_documented = has_trait(target.job, "replica-restart-policy")
    for replica_spec in get_replica_specs(target.job):
        policy = get_mapping(get_mapping(replica_spec.data, "template"), "spec").get("restartPolicy")
        pod_policy = find_pod_restart_policy(target.job, replica_spec.type)
        if isinstance(policy, str) and policy != pod_policy:
            path: Path = (*replica_spec.path, "template", "spec", "restartPolicy")
            values = {
                "policy": policy,
                "kind": add_article(kind_of(target.job)),
                "set": pod_policy if pod_policy != "Never" else "Never and restarts replicas itself",
                "instead": _suggest_restart_policy(target.job, policy),
            }
            yield Violation(path, values, change=("remove", path, None), safe=is_documented)


def find_pod_restart_policy(job: LoweredJob, replica_type: str) -> str:
    """Return the restart policy of the Pods of a replica type."""
    pods = (group.doc.data for group in job.pods if group.replica_type == replica_type)
    return next((get_text(get_mapping(pod, "spec"), "restartPolicy") for pod in pods), "") or "Never"


def _suggest_restart_policy(job: LoweredJob, policy: str) -> str:
    """Return the field for the restart policy, in a kind that ignores the one of its template."""
    if has_trait(job, "restart-limit"):
        return f"write restartPolicy: {{policy: {policy}, limit: 3}} beside the template instead"
    if not has_trait(job, "restarts-by-controller"):
        return f"remove it: {add_article(kind_of(job))} restarts no Pod"
    return ""


@check()
def colossalai_restart(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """A restart setting in a kind without restarts. Values: ``type``, ``kind``."""
    for replica_spec in get_replica_specs(target.job):
        policy = get_mapping(replica_spec.data, "restartPolicy")
        if policy.get("policy", "OnFailure") != "Never" and policy:
            path: Path = (*replica_spec.path, "restartPolicy")
            values = {"type": replica_spec.type, "kind": add_article(kind_of(target.job))}
            yield Violation(path, values, change=("remove", path, None), safe=True)


@check()
def torchrun_never(target: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """Restarts by torchrun in replicas that are never restarted. Values: ``restarts``."""
    torchrun = get_mapping(spec_of(target.job), "torchrunConfig")
    restarts = torchrun.get("maxRestarts")
    if torchrun.get("enabled") is not True or not isinstance(restarts, int) or restarts < 1:
        return
    for replica_spec in get_replica_specs(target.job):
        if replica_spec.data.get("restartPolicy") == "Never":
            path: Path = MAX_RESTARTS
            related = [(target.doc, path, "maxRestarts of torchrun")]
            yield Violation((*replica_spec.path, "restartPolicy"), {"restarts": restarts}, related=related)


@check(params=object_schema({"default": COUNT}))
def shared_retries(target: Target, params: Mapping[str, Any]) -> Iterator[Violation]:
    """Fewer retries than Pods of torchrun that fail together. Values: ``retries``, ``said``, ``pods``."""
    job, pod_count = target.job, count_pods(target.job)
    policies = {role.data.get("restartPolicy", "OnFailure") for role in get_replica_specs(job)}
    retries, default_note = find_shared_retries(spec_of(job), params["default"])
    if (
        is_launched_by_torchrun(job)
        and policies - {"Never"}
        and not (_never_restarts_processes(job) and _list_restarting_specs(job))
        and 0 < retries < pod_count
        and not is_mode_enabled(job, "debug")
    ):
        path = find_written_path(target.data, "spec", "runPolicy", "backoffLimit")
        yield Violation(path, {"retries": retries, "said": default_note, "pods": pod_count})


@check()
def restart_after_success(subject: Target, _params: Mapping[str, Any]) -> Iterator[Violation]:
    """Replicas that are restarted after they have completed. Values: ``type``, ``instead``."""
    rules = [rule for _, rule in get_entries(spec_of(subject.job), "successRules")]
    for role in get_replica_specs(subject.job):
        if rules and not any(role.type in rule for rule in rules):
            continue  # a server, which must run as long as the job
        policy = role.data.get("restartPolicy")
        named = get_mapping(role.data, "restartPolicy").get("policy", policy)
        if named == "Always":
            at: Path = (*role.path, "restartPolicy")
            yield Violation((*at, "policy") if named is not policy else at, {"type": role.type or "worker"})


@check(
    params=object_schema(
        {"codes": {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 255}}}
    )
)
def exit_code_not_restarted(subject: Target, params: Mapping[str, Any]) -> Iterator[Violation]:
    """An exit code for a restart that the policy ExitCode does not restart. Values: ``name``, ``code``,
    ``codes``."""
    job = subject.job
    kind_spec = find_kind_spec(job)
    retried = (kind_spec.retried_exit_codes if kind_spec is not None else None) or params["codes"]
    codes = f"{retried[0]} to {retried[-1]}" if isinstance(retried, range) else ", ".join(map(str, retried))
    asking = {
        role.type: role for role in get_replica_specs(job) if role.data.get("restartPolicy") == "ExitCode"
    }
    for group in job.pods if not is_mode_enabled(job, "debug") else ():
        found = find_training_container(group)
        if found is None or group.replica_type not in asking:
            continue
        at: Path = (*asking[group.replica_type].path, "restartPolicy")
        for name, code, path in _requeue_codes(found[1]):
            if code not in retried:
                values = {"name": name, "code": code, "codes": codes}
                related = [(subject.doc, at, "the restart policy")]
                yield Violation(below(found[0], path), values, related, doc=group.doc, group=group)
    if not asking or is_mode_enabled(job, "debug"):
        return
    from podplan.lint.checks.source_exit_codes import iter_exit_codes_of_preemption

    for source, call, code in iter_exit_codes_of_preemption(job):
        asked = asking.get(source.where.group.replica_type)
        if asked is not None and code not in retried:
            values = {"name": f"the exit code of {source.name}", "code": code, "codes": codes}
            related = [(subject.doc, (*asked.path, "restartPolicy"), "the restart policy")]
            yield Violation(source.locate(call), values, related, doc=source.doc, group=source.group)


def _requeue_codes(container: Mapping[str, Any]) -> Iterator[tuple[str, int, Path]]:
    """Yield the exit codes in options and variables for a restart."""
    for number, entry in get_entries(container, "env"):
        name, value = get_text(entry, "name"), get_text(entry, "value")
        if _asks_for_restart(name) and value.isdecimal() and len(value) < LONGEST_CODE:
            yield name, int(value), ("env", number, "value")
    after_training = False
    shell = process_of(container).string
    for command, process in programs_of(container):
        yield from _list_trapped_codes(process, shell)
        if after_training and command is not None and command.operator_before == "||":
            yield from _alternative_codes(process)
        after_training = is_training(process)
        for word, after in zip(process.words, (*process.words[1:], None), strict=False):
            name, equals, value = word.text.partition("=")
            if not _asks_for_restart(name):
                continue
            value = value if equals else after.text if after is not None else ""
            if value.isdecimal() and len(value) < LONGEST_CODE:
                yield name, int(value), word.place


def _list_trapped_codes(process: Process, shell: ShellString | None) -> Iterator[tuple[str, int, Path]]:
    """Yield the exit codes of a trap for the signal of a preemption, which may be in its function."""
    words = process.words
    if process.name != "trap" or not _STOP_SIGNALS.intersection(word.text for word in words[2:]):
        return
    for match in _TRAPPED_EXIT.finditer(words[1].text):
        yield "the exit status of the trap", int(match[1]), words[1].place
    body = _find_function(shell, words[1].text) if shell is not None else None
    if shell is None or body is None:
        return
    for command in iter_commands(body.nodes):
        for _, code, path in _alternative_codes(shell.process(command)):
            yield f"the exit status of the trap {words[1].text}", code, path


def _find_function(shell: ShellString, name: str) -> Block | None:
    """Return the body of a function of a shell string."""
    for node in shell.nodes:
        if isinstance(node, Block) and node.kind == "function":
            head = _FUNCTION_HEAD.search(shell.text[max(0, node.start - _LONGEST_NAME) : node.start])
            if head is not None and head[1] == name:
                return node
    return None


def _alternative_codes(process: Process) -> Iterator[tuple[str, int, Path]]:
    """Yield the exit code that replaces that of a training: ``|| exit 1``."""
    for word in process.words[1:2] if process.name == "exit" else ():
        if word.text.isdecimal() and len(word.text) < LONGEST_CODE and int(word.text):
            yield 'the exit status behind "||"', int(word.text), word.place


def _asks_for_restart(name: str) -> bool:
    return len(name) <= LONGEST_NAME and _REQUEUE.fullmatch(name) is not None
