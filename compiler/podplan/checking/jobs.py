"""What there is to say about jobs: what their plans came across, and what the policies say of them."""

from __future__ import annotations

from collections.abc import Iterable

from podplan.checking.again import job_of, job_of_object
from podplan.checking.rows import Origin
from podplan.checking.run import Run, count_object
from podplan.facts.gitops import ARGOCD_SYNC_WAVE
from podplan.findings import Finding
from podplan.kubernetes.shape import mapping
from podplan.lint.apply import Variants, apply, lacking, lacks
from podplan.lint.checks._stars import Hidden, hidden
from podplan.lint.fold import Fold, findings
from podplan.lint.locate import locate
from podplan.lint.masking import has_secrets, named_in_bases, secrets, values_of, values_set
from podplan.lint.seen import Seen, Sighting
from podplan.lint.selection import enforced
from podplan.lint.subject import Job
from podplan.pipeline import Plan, check_object
from podplan.provenance import Doc
from podplan.reading.documents import Item, identity
from podplan.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from podplan.lint.suppression import Suppression

NEEDED = ("PersistentVolumeClaim", "Namespace")


def plan_findings(made: Iterable[Plan], run: Run, origin: Origin | None = None) -> list[Finding]:
    """The findings of all variants of one document; what is equal in several is said once.

    ``origin`` is where the document came from, if that is a file which stays as it is.
    """
    fold = Fold()
    annotated: dict[str, list[Suppression]] = {}
    variants: Variants | None = None
    file = ""
    ids: list[str] = []
    jobs = 0
    secret = values_set(run.settings.sets)
    for plan in made:
        known = len(run.secrets)
        file = plan.item.doc.name
        if plan.cr is not None:
            annotated.update(run.silences.annotations(file, plan.cr))
        if plan.variant is not None:
            ids.append(plan.variant)
        count_object(run, file, plan.cr is not None)
        run.counts["lowered"] += sum(group.replicas for group in plan.groups)
        named = identity(plan.cr.data) if plan.cr is not None else None
        if (job := _lowered(plan, run)) is not None:
            run.together.add(job, origin and origin._replace(job=jobs))
            jobs += 1
            variants = variants or Variants(run.silences.ruling(file).policies)
            variants.add(job)
        ruled = _ruled(job, file, run) if job is not None else ()
        for seen in (*plan.seen, *ruled):
            fold.add(Sighting(plan.variant, seen, named))
        behind = _behind(plan)
        if len(run.secrets) > known or has_secrets(plan.item.doc) or behind:
            secret |= values_of([plan.item.doc, plan.profile, plan.cr, job and job.before, *behind])
    # What policies say of a profile as a whole, where every variant of it is there.
    if variants is not None and jobs == len(ids) and run.settings.environments == "all":
        for one in variants.seen():
            for id_ in ids:
                fold.add(Sighting(id_, one, None))
    return run.silences.without_annotated(annotated, fold.findings(len(ids), _hidden(secret)))


def object_findings(item: Item, run: Run, origin: Origin | None = None) -> list[Finding]:
    """The findings of a Kubernetes object."""
    count_object(run, item.doc.name)
    job = job_of_object(item, run.settings)
    run.together.add(job, origin)
    policies = run.silences.ruling(item.doc.name).policies
    known = len(run.secrets)
    run.secrets += secrets(run.silences.terms.known, job)
    holds = len(run.secrets) > known or has_secrets(item.doc)  # of a Secret no check quotes a value
    secret = values_of([item.doc]) if holds else set[str]()
    seen = [*check_object(item.doc, run.settings), *apply(policies, job)]
    said_of_it = findings((Sighting("", one, identity(item.doc.data)) for one in seen), 1, _hidden(secret))
    return run.silences.annotated(item.doc.name, [item.doc], said_of_it)


def note_need(item: Item, run: Run, origin: Origin) -> None:
    """Keeps an object that is not checked, but that jobs wait for in the order of their sync waves."""
    data = item.doc.data
    if (
        isinstance(data, dict)
        and data.get("kind") in NEEDED
        and ARGOCD_SYNC_WAVE in mapping(mapping(data, "metadata"), "annotations")
    ):
        run.together.add(job_of_object(item, run.settings), origin)


def set_findings(number: int, seen: Seen, run: Run) -> list[Finding]:
    """What a policy about all jobs says of one, if it is on for the file of that job."""
    cr = run.together.job(number).cr
    assert cr is not None
    file = locate(cr, ()).location.file
    rule = next(
        (one.rule for one in run.silences.ruling(file).policies if one.rule.code == seen.problem.rule), None
    )
    if rule is None:
        return []
    said = findings([Sighting("", seen._replace(rule=rule), identity(cr.data))], 1)
    about = tuple(filter(None, (run.together.file(number), *sorted(set(seen.about)))))
    return [one._replace(about=about) for one in run.silences.annotated(file, [cr], said)]


def _lowered(plan: Plan, run: Run) -> Job | None:
    """The job of a plan that lowers; of one that does not the policies say nothing, and that is counted."""
    if plan.variant is None:
        if plan.failed:
            run.not_checked["CR: the profile has errors"] += len(plan.failed)
            run.unlowered.add(plan.item.doc.name)
        return None
    if not plan.lowered:
        run.not_checked[_why_not_lowered(plan)] += 1
        run.unlowered.add(plan.item.doc.name)
        return None
    return job_of(plan, run.settings, run.before)


def _hidden(secrets: set[str]) -> Hidden | None:
    """What no finding may say; a shell makes words of a variable."""
    return hidden(secrets, secrets) if secrets else None


def _behind(plan: Plan) -> tuple[Doc, ...]:
    """The bases of a profile and what was made of them, where one names a secret."""
    if "extends" not in mapping(plan.item.doc.data, "spec"):
        return ()
    failed = (seen.doc for seen in plan.seen if seen.level == "profile")
    profiles = [plan.profile] if plan.profile is not None else failed
    found = {id(doc): doc for profile in profiles for doc in named_in_bases(profile)}
    return tuple(found.values())


def _ruled(job: Job, file: str, run: Run) -> list[Seen]:
    """What the policies say of a job."""
    policies = run.silences.ruling(file, enforced(job)).policies
    run.secrets += secrets(run.silences.terms.known, job)
    for policy in lacking(policies, job):
        run.silences.undecided.add(policy.rule.code)
        if lacks(policy, job) == "base":
            run.without_base.add(policy.rule.code)
    return list(apply(policies, job))


def _why_not_lowered(plan: Plan) -> str:
    if any(seen.problem.rule == "CR900" for seen in plan.seen):
        return "lowered objects: the kind is not lowered yet"
    return "lowered objects: the CR has errors" if plan.cr else "CR: the profile has errors"
