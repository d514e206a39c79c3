"""Policies applied to jobs: which documents each looks at, and what it says of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import islice

from podplan.core.findings import Change, Problem, below
from podplan.core.provenance import Place
from podplan.core.replica_groups import Group
from podplan.core.typing import Any, NamedTuple
from podplan.lint import checks
from podplan.lint.document_diagnostics import Seen
from podplan.lint.policy import Policy, PolicyError, Scope, filled
from podplan.lint.target import Hit, Job, Subject, for_few

# The levels of policies that look at the CR, those about all jobs among them.
OF_CR = ("cr", "job", "set")
WHOLE_CR = Scope("cr", frozenset(), "")
# So many further places a finding points at; what is about thousands is not read as a list.
RELATED = 50
CONTAINER_LISTS = {
    "all": ("containers",),
    "init": ("initContainers",),
    "every": ("initContainers", "containers"),
}


class Asked(NamedTuple):
    """What policies come to for jobs that are alike: of one kind, and with the same things there.

    ``decided`` are those that look at such a job one by one, each with its check and the number of its scope
    in ``scopes``; ``lacking`` are those that cannot be decided.
    """

    scopes: tuple[Scope, ...]
    decided: tuple[tuple[Policy, checks.Check, int], ...]
    lacking: tuple[Policy, ...]


def apply(policies: tuple[Policy, ...], job: Job) -> Iterator[Seen]:
    """What the policies say about one job: its profile, its CR and what it lowers to."""
    asked = _asked(policies, job)
    subjects = [list(_subjects(scope, job)) for scope in asked.scopes]
    return _seen((policy, check, subjects[number]) for policy, check, number in asked.decided)


def apply_one(policy: Policy, job: Job) -> Iterator[Seen]:
    """What a single policy about jobs one by one says about a job."""
    return _seen([(policy, checks.decided_by(policy), _subjects(policy.scope, job))])


def is_about_all(policy: Policy) -> bool:
    """Whether a policy looks at all jobs together; a schema or CEL for the set looks at them one by one."""
    return policy.scope.level == "set" and policy.evaluator == "check"


def apply_to_all(
    policies: Iterable[Policy], left: Mapping[str, Mapping[int, Any]], again: Callable[[int], Job]
) -> Iterator[tuple[int, Seen]]:
    """What the policies about all jobs together say, each with the number of the job that it is said of.

    ``left`` is what jobs left for each check, and ``again`` gives a job: by their numbers.
    """
    for policy in filter(is_about_all, policies):
        for number, hit in checks.check_of_all(policy.body)(left[policy.body], again):
            job = again(number)
            if (
                job.cr is not None
                and not _lacks(policy, job)
                and _is_of(policy.scope, job.cr.data.get("kind"))
            ):
                subject = Subject(job.cr, job, None, (), job.cr.data)
                yield number, _as_seen(policy, subject, hit)


class Variants:
    """The variants of a profile, one after the other, and what the policies about it as a whole say."""

    def __init__(self, policies: Iterable[Policy]) -> None:
        policies = [policy for policy in policies if policy.scope.level == "variants"]
        bodies = (policy.body for policy in policies if policy.evaluator == "check")
        self._kept = {body: checks.keeper(body) for body in bodies}
        self._policies = policies
        self._first: Job | None = None

    def add(self, job: Job) -> None:
        """One more; only the first is kept."""
        if job.profile is None or not self._policies:
            return
        self._first = self._first or job
        for kept in self._kept.values():
            kept.add(job)

    def seen(self) -> Iterator[Seen]:
        """What the policies say of all that were added."""
        first = self._first
        if first is None or first.profile is None:
            return iter(())
        subject = Subject(first.profile, first, data=first.profile.data)
        return _seen(
            (policy, checks.decided_by(policy), [subject._replace(kept=self._kept.get(policy.body))])
            for policy in self._policies
            if not _lacks(policy, first)
        )


def lacking(policies: tuple[Policy, ...], job: Job) -> tuple[Policy, ...]:
    """The policies that cannot be decided for a job, because something they need is not there."""
    return _asked(policies, job).lacking


def _asked(policies: tuple[Policy, ...], job: Job) -> Asked:
    """What policies come to for a job, worked out once for all that are like it."""
    kind = job.cr.data.get("kind") if job.cr is not None else None
    kinds = frozenset([group.doc.data.get("kind") for group in job.groups])
    like = job.cr is None, kind, kinds, job.profile is None, job.inventory is None, job.compared
    known = _asked_before(policies)
    if like not in known:
        known[like] = _asked_anew(policies, job)
    return known[like]


@for_few  # what is on differs by namespace and folder, and files of these take turns
def _asked_before(_policies: tuple[Policy, ...]) -> dict[Hashable, Asked]:
    return {}


def _asked_anew(policies: tuple[Policy, ...], job: Job) -> Asked:
    kind = job.cr.data.get("kind") if job.cr is not None else None
    scopes: dict[Scope, int] = {}
    decided: list[tuple[Policy, checks.Check, int]] = []
    lacking: list[Policy] = []
    for policy in policies:
        scope = policy.scope
        if policy.needs and _lacks(policy, job):
            if scope.level == "lowered" or _is_of(scope, kind):
                lacking.append(policy)
        elif _is_about(scope, job) and not is_about_all(policy):
            number = scopes.setdefault(WHOLE_CR if scope.level in OF_CR else scope, len(scopes))
            decided.append((policy, checks.decided_by(policy), number))
    return Asked(tuple(scopes), tuple(decided), tuple(lacking))


def _lacks(policy: Policy, job: Job) -> bool:
    return bool(lacks(policy, job))


def lacks(policy: Policy, job: Job) -> str:
    """What a policy cannot do without and a job does not have: inventory or base, else ""."""
    if "inventory" in policy.needs and job.inventory is None:
        return "inventory"
    return "base" if "base" in policy.needs and not job.compared else ""


def _kind(job: Job) -> str:
    return str(job.cr.data.get("kind")) if job.cr is not None else ""


def _is_of(scope: Scope, kind: object) -> bool:
    return not scope.kinds or kind in scope.kinds


def _is_about(scope: Scope, job: Job) -> bool:
    """Whether a job has something of a scope."""
    if scope.level == "profile":
        return job.profile is not None
    if scope.level in OF_CR:
        return job.cr is not None and _is_of(scope, job.cr.data.get("kind"))
    kinds = (group.doc.data.get("kind") for group in job.groups)
    return scope.level == "lowered" and any(_is_of(scope, kind) for kind in kinds)


def _subjects(scope: Scope, job: Job) -> Iterator[Subject]:
    """What policies of a scope look at of a job."""
    if scope.level == "profile" and job.profile is not None:
        yield Subject(job.profile, job, data=job.profile.data)
    elif scope.level in OF_CR and job.cr is not None and _is_of(scope, job.cr.data.get("kind")):
        yield Subject(job.cr, job, data=job.cr.data)
    elif scope.level == "lowered":
        for group in job.groups:
            if _is_of(scope, group.doc.data.get("kind")):
                yield from _parts(scope, job, group)


def _parts(scope: Scope, job: Job, group: Group) -> Iterator[Subject]:
    """A lowered object, or the containers of it that the policy is about."""
    wanted = scope.containers
    data = group.doc.data
    if not wanted:
        yield Subject(group.doc, job, group, (), data)
        return
    spec = data.get("spec")
    for listed in CONTAINER_LISTS.get(wanted, ("containers",)):
        containers = spec.get(listed) if isinstance(spec, dict) else None
        for number, container in enumerate(containers if isinstance(containers, list) else ()):
            if isinstance(container, dict) and (wanted != "training" or number == (group.training or 0)):
                yield Subject(group.doc, job, group, ("spec", listed, number), container)


def _seen(asked: Iterable[tuple[Policy, checks.Check, Iterable[Subject]]]) -> Iterator[Seen]:
    """What policies say, each decided by a check, of the subjects beside it."""
    for policy, check, subjects in asked:
        params = policy.params
        for subject in subjects:
            try:
                for hit in check(subject, params):
                    yield _as_seen(policy, subject, hit)
            except PolicyError as error:
                if policy.origin is None:
                    raise
                for problem in error.problems:
                    yield Seen("file", policy.origin, problem)


def _change(policy: Policy, hit: Hit) -> Change | None:
    """What the check says would repair it, under the title that the policy gives to its fix.

    The check knows what the change does to the job. A policy may call it unsafe all the same, not safe.
    """
    if policy.fix is None or hit.change is None:
        return None
    title = filled(policy.fix["title"], hit.values)
    safe = hit.safe and policy.fix.get("safe", True)
    more = tuple(Change(title, *change) for change in hit.more_changes)
    return Change(title, *hit.change, safe=safe, more=more)


def _as_seen(policy: Policy, subject: Subject, hit: Hit) -> Seen:
    doc = hit.doc or subject.doc
    group = hit.group or (subject.group if hit.doc is None else None)
    path = hit.path if hit.doc is not None else below(subject.base, hit.path)
    problem = Problem(
        policy.rule.code,
        filled(policy.message, hit.values),
        path,
        hit.on_key,
        filled(policy.help_for.get(_kind(subject.job), policy.help), hit.values),
        by_choice=hit.by_choice,
        change=_change(policy, hit),
    )
    level = (
        "lowered"
        if group is not None
        else {"job": "cr", "set": "cr", "variants": "profile"}.get(policy.scope.level, policy.scope.level)
    )
    also = tuple((Place(where, at), label) for where, at, label in islice(hit.related, RELATED))
    return Seen(level, doc, problem, group, policy.rule, also, hit.change_in, tuple(hit.about))
