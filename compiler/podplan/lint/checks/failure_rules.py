"""Failure rules of a GenericJob whose replicas train together.

Source: https://github.com/t9k/ucman/blob/master/src/api/t9k-job/genericjob.md: a failure rule is met when all
replicas that it lists have failed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.typing import Any
from podplan.core.wording import format_count
from podplan.kubernetes.accessors import get_entries
from podplan.launchers.commands import AccelerateCommand
from podplan.lint.analysis.jobs import count_gpus, is_mode_enabled, spec_of
from podplan.lint.analysis.launches import ContainerLaunch, find_launches
from podplan.lint.checks.registration import check
from podplan.lint.target import LoweredJob, Target, Violation


@check()
def failure_rule_needs_all(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """Rules that are met only when several replicas of one training failed. Values: ``replicas``, ``gpus``,
    ``rules``: what to write."""
    job = subject.job
    together = _train_together(job)
    rules = [(at, _list_replicas(rule)) for at, rule in get_entries(spec_of(job), "failureRules")]
    if not together or is_mode_enabled(job, "debug"):
        return
    if any(len(listed) == 1 and listed[0][0] in together for _, listed in rules):
        return  # that replica fails with the others, at the latest after its timeout
    for at, listed in rules:
        if len(listed) > 1 and all(type_ in together for type_, _ in listed):
            held = sum(
                count_gpus(group) * group.replicas for group in job.pods if group.replica_type in together
            )
            single = ", ".join(f"{{{type_}: [{rank}]}}" for type_, rank in listed[:4])
            more = ", …" if len(listed) > 4 else ""
            values = {
                "replicas": len(listed),
                "gpus": format_count(held, "GPU"),
                "rules": f"[{single}{more}]",
            }
            yield Violation(("spec", "failureRules", at), values)
            return


def _list_replicas(rule: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the replicas of a rule: type and rank."""
    return [(type_, str(rank)) for type_, ranks in rule.items() if isinstance(ranks, list) for rank in ranks]


def _train_together(job: LoweredJob) -> frozenset[str]:
    """Return the types whose replicas cannot train without each other."""
    return frozenset(launch.group.replica_type for launch in find_launches(job) if _needs_others(launch))


def _needs_others(launch: ContainerLaunch) -> bool:
    """Whether a program trains only with all of a fixed number of nodes."""
    if launch.invocation.is_conditional:
        return False
    torchrun, facts = launch.torchrun, launch.invocation.parsed
    if torchrun is not None:
        nodes = torchrun.node_range
        return nodes is not None and nodes[0] == nodes[1] > 1 and not torchrun.standalone
    if isinstance(facts, AccelerateCommand):
        return (facts.machines or 1) > 1
    variables = launch.invocation.variables
    return (
        facts is None
        and {"RANK", "WORLD_SIZE", "MASTER_ADDR"} <= variables.keys()
        and variables["WORLD_SIZE"] != "1"
    )
