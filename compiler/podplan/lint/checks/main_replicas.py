"""Replicas that need a main replica for their rendezvous, and elastic jobs that do not count it.

Source: docs/evidence/training-operator.md#environment, #elastic-policy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_mapping, get_texts
from podplan.lint.analysis.jobs import count_pods, find_kind_spec, get_replica_specs, spec_of
from podplan.lint.analysis.launches import find_launches, is_single_process
from podplan.lint.checks.registration import check
from podplan.lint.target import Target, Violation

# Variables and options that state the address of the rendezvous.
_VARIABLES = frozenset(("MASTER_ADDR", "PET_MASTER_ADDR", "PET_RDZV_ENDPOINT"))
_OPTIONS = compile_lazily(
    r"--?(?:rdzv[-_]endpoint|master[-_]addr|main_process_ip|dist[-_]url|init[-_]method)\b"
)


@check()
def no_main_replica(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Several replicas without the main one, and without a rendezvous address. Values: ``main``, ``pods``,
    ``reason``."""
    kind_spec, pods = find_kind_spec(target.job), target.job.pods
    if kind_spec is None or count_pods(target.job) < 2 or not kind_spec.main_replica_types:
        return
    main = kind_spec.main_replica_types[0]
    types = get_replica_specs(target.job)
    if any(one.type == main for one in types):
        return
    reason = f"the job has no {main} and no elasticPolicy"
    launches = find_launches(target.job)
    if "elasticPolicy" in spec_of(target.job):
        # The variables of an elastic job are those of torchrun's options.
        if not launches or not all(is_single_process(one, allow_modules=True) for one in launches):
            return
        reason = "elasticPolicy sets variables that torchrun reads and python does not"
    elif any(_states_address(group.doc.data) for group in pods):
        return
    values = {"main": main, "pods": count_pods(target.job), "reason": reason}
    yield Violation(types[0].path[:-1], values)


def _states_address(pod: Mapping[str, Any]) -> bool:
    for _, container in get_entries(get_mapping(pod, "spec"), "containers"):
        if any(entry.get("name") in _VARIABLES for _, entry in get_entries(container, "env")):
            return True
        words = (*get_texts(container, "command"), *get_texts(container, "args"))
        if get_entries(container, "envFrom") or any(_OPTIONS.search(word) for _, word in words):
            return True
    return False


@check()
def elastic_with_main_replica(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """An elastic policy in a job with a main replica, which the policy does not count. Value ``main``."""
    kind_spec = find_kind_spec(target.job)
    main_types = kind_spec.main_replica_types if kind_spec is not None else ()
    if "elasticPolicy" not in spec_of(target.job):
        return
    for replica_spec in get_replica_specs(target.job):
        if replica_spec.type in main_types:
            related = [(target.doc, ("spec", "elasticPolicy"), "the elastic policy")]
            yield Violation(replica_spec.path, {"main": replica_spec.type}, related)


@check()
def elastic_nodes_overridden(target: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """An option of torchrun with other bounds than the elastic policy. Values: ``option``, ``bounds``."""
    job = target.job
    policy = get_mapping(spec_of(job), "elasticPolicy")
    names = [name for name in ("minReplicas", "maxReplicas") if isinstance(policy.get(name), int)]
    for launch in find_launches(job) if len(names) > 1 else ():
        facts, bounds = launch.torchrun, (policy[names[0]], policy[names[1]])
        option = facts.command_line.options.get("nnodes") if facts is not None else None
        if facts is None or option is None or facts.standalone or facts.node_range in (None, bounds):
            continue
        if launch.invocation.is_conditional or not facts.command_line.is_certain or job.cr is None:
            continue
        values = {"option": f"--nnodes={option.value}", "bounds": f"{bounds[0]}:{bounds[1]}"}
        related = [(job.cr, ("spec", "elasticPolicy", name), f"{name} is {policy[name]}") for name in names]
        path, group = launch.locate_word(option.word), launch.group
        yield Violation(path, values, related, doc=group.doc, group=group)
