"""Success rules of a GenericJob that are met while other replicas still do their part of the work.

Source: https://github.com/t9k/ucman/blob/master/src/api/t9k-job/genericjob.md: the job succeeds when one of
its success rules is met, and cleanUpPolicy then deletes its replicas.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from podplan.core.typing import Any
from podplan.kubernetes.accessors import get_entries, get_text
from podplan.lint.analysis.jobs import is_mode_enabled, spec_of
from podplan.lint.analysis.launches import find_launches
from podplan.lint.checks.registration import check
from podplan.lint.checks.shards import iter_shares
from podplan.lint.target import Target, Violation

_DELETING = ("All", "Unfinished")


@check()
def success_before_end(subject: Target, _: Mapping[str, Any]) -> Iterator[Violation]:
    """A success rule that leaves out replicas with a part of the work.

    Values: ``policy``, ``left``, ``noun``.
    """
    job = subject.job
    spec = spec_of(job)
    policy = get_text(spec, "cleanUpPolicy")
    if policy not in _DELETING or is_mode_enabled(job, "debug"):
        return
    rules = [(at, rule) for at, rule in get_entries(spec, "successRules") if isinstance(rule, Mapping)]
    for share in [share for launch in find_launches(job) for share in iter_shares(job, launch)]:
        group = share.launch.group
        for at, rule in rules:
            ranks = rule.get(group.replica_type, [])
            listed = {str(rank) for rank in ranks} if isinstance(ranks, list) else set()
            missing = [rank for rank in range(group.replicas) if str(rank) not in listed]
            if missing:
                left = f"{group.replica_type} {missing[0]}"
                more = len(missing) - 1
                values = {
                    "policy": policy,
                    "left": f"{left} and {more} more" if more else left,
                    "noun": share.noun,
                }
                option = share.number_option
                related = [(option.doc, option.path, f"the {share.noun} of a replica")]
                yield Violation(("spec", "successRules", at), values, related, doc=job.cr)
                return
