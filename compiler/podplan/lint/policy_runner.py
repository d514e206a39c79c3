"""Applies policies to jobs: selects the targets of each policy, and builds the diagnostics."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import islice

from podplan.core.findings import MAX_RELATED, Diagnostic, DocumentFix, Path, TextPath, below
from podplan.core.provenance import DocumentPath, TracedDocument
from podplan.core.replica_groups import ReplicaGroup
from podplan.core.typing import Any, NamedTuple
from podplan.lint import checks
from podplan.lint.analysis.features import list_features
from podplan.lint.analysis.jobs import find_kind_spec
from podplan.lint.policy import Policy, PolicyError, fill_placeholders
from podplan.lint.policy_scope import (
    CR_LEVELS,
    PolicyScope,
    ignore_traits,
    is_kind_or_trait,
    matches_kind,
    matches_traits,
)
from podplan.lint.target import LoweredJob, Target, Violation, cache_recent

CR_SCOPE = PolicyScope("cr")
CONTAINER_LISTS = {
    "all": ("containers",),
    "init": ("initContainers",),
    "every": ("initContainers", "containers"),
}


class ApplicablePolicies(NamedTuple):
    """The policies that apply to jobs that are alike: of one kind, with the same inputs present.

    ``policy_checks`` are those that can be evaluated for one job, each with its check and the index of its
    scope in ``scopes``; ``undecidable`` are those that cannot be evaluated.
    """

    scopes: tuple[PolicyScope, ...]
    policy_checks: tuple[tuple[Policy, checks.Check, int], ...]
    undecidable: tuple[Policy, ...]


def apply_policies(policies: tuple[Policy, ...], job: LoweredJob) -> Iterator[Diagnostic]:
    """Yield the diagnostics of the policies about one job: its profile, its CR and its lowered objects."""
    applicable = _find_applicable_policies(policies, job)
    targets = [list(_iter_targets(scope, job)) for scope in applicable.scopes]
    return _run_checks((policy, check, targets[number]) for policy, check, number in applicable.policy_checks)


def apply_policy(policy: Policy, job: LoweredJob) -> Iterator[Diagnostic]:
    """Yield the diagnostics of a single policy about one job."""
    if checks.lacks_required_features(policy, list_features(job)):
        return iter(())
    return _run_checks([(policy, checks.resolve_check(policy), _iter_targets(policy.scope, job))])


def is_cross_job_policy(policy: Policy) -> bool:
    """Whether a policy is about all jobs together; a schema or CEL with the level set is about each job."""
    return policy.scope.level == "set" and policy.evaluator == "check"


def apply_cross_job_policies(
    policies: Iterable[Policy],
    summaries: Mapping[str, Mapping[int, Any]],
    rebuild_job: Callable[[int], LoweredJob],
) -> Iterator[tuple[int, Diagnostic]]:
    """Yield the diagnostics of the cross-job policies, each with the number of its job.

    ``summaries`` are those of the jobs for each check, and ``rebuild_job`` returns a job; both by number.
    """
    for policy in filter(is_cross_job_policy, policies):
        for number, violation in checks.load_cross_job_check(policy.body)(
            summaries[policy.body], rebuild_job
        ):
            job = rebuild_job(number)
            if (
                job.cr is not None
                and not _is_undecidable(policy, job)
                and _scope_matches_job(policy.scope, job)
            ):
                target = Target(job.cr, job, None, (), job.cr.data)
                yield number, build_diagnostic(policy, target, violation)


class Variants:
    """The variants of a profile, one after the other, and what the policies about it as a whole say."""

    def __init__(self, policies: Iterable[Policy]) -> None:
        self._policies = [policy for policy in policies if policy.scope.level == "variants"]
        self._kept: dict[str, Any] = {}
        self._first: LoweredJob | None = None

    def add(self, job: LoweredJob) -> None:
        """One more; only the first is kept."""
        if job.profile is None or not self._policies:
            return
        if self._first is None:
            self._first = job
            bodies = (policy.body for policy in self._policies if policy.evaluator == "check")
            self._kept = {body: checks.keeper(body) for body in bodies}
        for kept in self._kept.values():
            kept.add(job)

    def seen(self) -> Iterator[Diagnostic]:
        """What the policies say of all that were added."""
        first = self._first
        if first is None or first.profile is None:
            return iter(())
        subject = Target(first.profile, first, data=first.profile.data)
        return _run_checks(
            (policy, checks.resolve_check(policy), [subject._replace(kept=self._kept.get(policy.body))])
            for policy in self._policies
            if not _is_undecidable(policy, first)
        )


def find_undecidable_policies(policies: tuple[Policy, ...], job: LoweredJob) -> tuple[Policy, ...]:
    """The policies that cannot be decided for a job, because something they need is not there."""
    return _find_applicable_policies(policies, job).undecidable


def _find_applicable_policies(policies: tuple[Policy, ...], job: LoweredJob) -> ApplicablePolicies:
    """What policies come to for a job, worked out once for all that are like it."""
    cr = (job.cr.data.get("apiVersion"), job.cr.data.get("kind")) if job.cr is not None else None
    kinds = frozenset([group.doc.data.get("kind") for group in job.groups])
    features = list_features(job) & checks.ALL_REQUIRED_FEATURES
    job_shape = cr, kinds, features, job.profile is None, job.inventory is None, job.has_base
    cached = _get_applicable_cache(policies)
    if job_shape not in cached:
        cached[job_shape] = _select_applicable_policies(policies, job)
    return cached[job_shape]


@cache_recent  # what is on differs by namespace and folder, and files of these take turns
def _get_applicable_cache(_policies: tuple[Policy, ...]) -> dict[Hashable, ApplicablePolicies]:
    return {}


def _select_applicable_policies(policies: tuple[Policy, ...], job: LoweredJob) -> ApplicablePolicies:
    features = list_features(job)
    scopes: dict[PolicyScope, int] = {}
    policy_checks: list[tuple[Policy, checks.Check, int]] = []
    undecidable: list[Policy] = []
    for policy in policies:
        scope = policy.scope
        if policy.needs and _is_undecidable(policy, job):
            if _is_about_kind_of(job, scope):
                undecidable.append(policy)
        elif (
            _scope_matches_job(scope, job)
            and not is_cross_job_policy(policy)
            and not checks.lacks_required_features(policy, features)
        ):
            target_scope = CR_SCOPE if scope.level in CR_LEVELS else ignore_traits(scope)
            number = scopes.setdefault(target_scope, len(scopes))
            policy_checks.append((policy, checks.resolve_check(policy), number))
    return ApplicablePolicies(tuple(scopes), tuple(policy_checks), tuple(undecidable))


def _is_undecidable(policy: Policy, job: LoweredJob) -> bool:
    return bool(find_missing_input(policy, job))


def find_missing_input(policy: Policy, job: LoweredJob) -> str:
    """What a policy cannot do without and a job does not have: inventory or base, else ""."""
    if "inventory" in policy.needs and job.inventory is None:
        return "inventory"
    return "base" if "base" in policy.needs and not job.has_base else ""


def _get_cr_data(job: LoweredJob) -> Mapping[str, Any]:
    return job.cr.data if job.cr is not None else {}


def _is_about_kind_of(job: LoweredJob, scope: PolicyScope) -> bool:
    """Whether a scope is about jobs of this kind."""
    return matches_traits(scope, find_kind_spec(job)) and (
        scope.level not in CR_LEVELS or matches_kind(scope, _get_cr_data(job))
    )


def _scope_matches_job(scope: PolicyScope, job: LoweredJob) -> bool:
    """Whether a job has something of a scope."""
    if scope.level == "profile":
        return job.profile is not None
    if scope.level in CR_LEVELS:
        return job.cr is not None and _is_about_kind_of(job, scope)
    objects = (group.doc.data for group in job.groups)
    return (
        scope.level == "lowered"
        and matches_traits(scope, find_kind_spec(job))
        and any(matches_kind(scope, data) for data in objects)
    )


def _iter_targets(scope: PolicyScope, job: LoweredJob) -> Iterator[Target]:
    """What policies of a scope look at of a job."""
    if scope.level == "profile" and job.profile is not None:
        yield Target(job.profile, job, data=job.profile.data)
    elif scope.level in CR_LEVELS and job.cr is not None and _is_about_kind_of(job, scope):
        yield Target(job.cr, job, data=job.cr.data)
    elif scope.level == "lowered":
        for group in job.groups:
            if matches_kind(scope, group.doc.data):
                yield from _iter_lowered_targets(scope, job, group)


def _iter_lowered_targets(scope: PolicyScope, job: LoweredJob, group: ReplicaGroup) -> Iterator[Target]:
    """A lowered object, or the containers of it that the policy is about."""
    container_selection = scope.containers
    data = group.doc.data
    if not container_selection:
        yield Target(group.doc, job, group, (), data)
        return
    spec = data.get("spec")
    for list_key in CONTAINER_LISTS.get(container_selection, ("containers",)):
        containers = spec.get(list_key) if isinstance(spec, dict) else None
        for number, container in enumerate(containers if isinstance(containers, list) else ()):
            if isinstance(container, dict) and (
                container_selection != "training" or number == (group.training_container_index or 0)
            ):
                yield Target(group.doc, job, group, ("spec", list_key, number), container)


def _run_checks(
    policy_checks: Iterable[tuple[Policy, checks.Check, Iterable[Target]]],
) -> Iterator[Diagnostic]:
    """What policies say, each decided by a check, of the subjects beside it."""
    for policy, check, targets in policy_checks:
        params = policy.params
        for target in targets:
            try:
                for violation in check(target, params):
                    yield build_diagnostic(policy, target, violation)
            except PolicyError as error:
                if policy.origin_doc is None:
                    raise
                for diagnostic in error.diagnostics:
                    yield diagnostic.in_document("file", policy.origin_doc)


def _build_change(policy: Policy, violation: Violation) -> DocumentFix | None:
    """What the check says would repair it, under the title that the policy gives to its fix.

    The check knows what the change does to the job. A policy may call it unsafe all the same, not safe.
    """
    if policy.fix is None or violation.change is None:
        return None
    title = fill_placeholders(policy.fix["title"], violation.values)
    safe = violation.safe and policy.fix.get("safe", True)
    further_changes = tuple(DocumentFix(title, *change) for change in violation.more_changes)
    return DocumentFix(title, *violation.change, safe=safe, additional=further_changes)


def _find_help(policy: Policy, job: LoweredJob) -> str:
    """The help of a policy for jobs of this kind: helpFor names kinds or traits."""
    texts = (
        text
        for name, text in policy.help_for.items()
        if is_kind_or_trait(name, _get_cr_data(job), find_kind_spec(job))
    )
    return next(texts, policy.help)


def _list_related_places(
    doc: TracedDocument, path: Path, violation: Violation
) -> tuple[tuple[DocumentPath, str], ...]:
    """The places that a check names, and those where the variables in the word that it reports are set."""
    places = [(DocumentPath(where, at), label) for where, at, label in islice(violation.related, MAX_RELATED)]
    if "command" in path or "args" in path:
        from podplan.lint.analysis.variable_origins import LABEL, find_variable_origins

        named = {(id(place.doc), tuple(place.path)) for place, _ in places}
        for name, at in find_variable_origins(doc.data, path):
            if (id(doc), tuple(at)) not in named or isinstance(at, TextPath):
                places.append((DocumentPath(doc, at), LABEL.format(name=name)))
    return tuple(places)


def build_diagnostic(policy: Policy, target: Target, violation: Violation) -> Diagnostic:
    """The diagnostic of a violation: place and values are the check's, the texts are the policy's."""
    doc = violation.doc or target.doc
    group = violation.group or (target.group if violation.doc is None else None)
    path = violation.path if violation.doc is not None else below(target.base_path, violation.path)
    level = (
        "lowered"
        if group is not None
        else {"job": "cr", "set": "cr", "variants": "profile"}.get(policy.scope.level, policy.scope.level)
    )
    return Diagnostic(
        policy.rule.code,
        fill_placeholders(policy.message, violation.values),
        path,
        violation.at_key,
        fill_placeholders(_find_help(policy, target.job), violation.values),
        report_at_selector=violation.report_at_selector,
        fix=_build_change(policy, violation),
        level=level,
        doc=doc,
        group=group,
        graded_rule=policy.rule,
        related_places=_list_related_places(doc, path, violation),
        fix_doc=violation.change_doc,
        related_files=tuple(violation.related_files),
    )
