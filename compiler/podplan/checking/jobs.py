"""What there is to say about jobs: what their plans came across, and what the policies say of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache

from podplan.checking.again import job_of, job_of_object
from podplan.checking.rows import Origin
from podplan.checking.run import Run, count_object
from podplan.facts.gitops import ARGOCD_SYNC_WAVE
from podplan.findings import Finding
from podplan.kubernetes.shape import mapping
from podplan.lint.apply import apply, apply_to_variants, lacking, lacks
from podplan.lint.fold import findings
from podplan.lint.locate import locate
from podplan.lint.seen import Seen, Sighting
from podplan.lint.selection import enforced
from podplan.lint.subject import Job
from podplan.pipeline import Plan, check_object
from podplan.provenance import Doc
from podplan.reading.documents import Item, identity
from podplan.redaction.hints import may_hold_secret
from podplan.typing import TYPE_CHECKING

if TYPE_CHECKING:
    from podplan.redaction.redactor import Redactor

CLAIM, NAMESPACE = "PersistentVolumeClaim", "Namespace"


def plan_findings(made: Iterable[Plan], run: Run, origin: Origin | None = None) -> list[Finding]:
    """The findings of all variants of one document; what is equal in several is said once.

    ``origin`` is where the document came from, if that is a file which stays as it is.
    """
    sightings: list[Sighting] = []
    crs: list[Doc] = []
    file = ""
    ids: list[str] = []
    jobs: list[Job] = []
    docs: list[Doc | None] = []
    text: str | None = ""
    for plan in made:
        file = plan.item.doc.name
        crs += [plan.cr] if plan.cr is not None else []
        if plan.variant is not None:
            ids.append(plan.variant)
        count_object(run, file, plan.cr is not None)
        run.counts["lowered"] += sum(group.replicas for group in plan.groups)
        named = identity(plan.cr.data) if plan.cr is not None else None
        if (job := _lowered(plan, run)) is not None:
            run.together.add(job, origin and origin._replace(job=len(jobs)))
            jobs.append(job)
        ruled = _ruled(job, file, run) if job is not None else ()
        sightings += [Sighting(plan.variant, seen, named) for seen in (*plan.seen, *ruled)]
        docs += [plan.item.doc, plan.profile, plan.cr, job and job.before]
        docs += [seen.doc for seen in plan.seen if plan.profile is None]
        if job is not None and job.before is not None:
            text = None
        elif text is not None:
            text = _whole_text(plan.item.doc)
    sightings += _of_all_variants(ids, tuple(jobs), file, run)
    secrets = secrets_of(docs, run.settings.sets, text)
    found = findings(sightings, secrets, ids)
    run.hide(found, secrets)
    if jobs and jobs[0].profile is not None and (run.settings.environments != "all" or run.settings.sets):
        found = list(map(_with_unsafe_fix, found))
    return run.silences.annotated(file, crs, found)


def _with_unsafe_fix(found: Finding) -> Finding:
    """The finding of some variants of a profile: nobody looked at what a fix does to the others."""
    return found._replace(fix=found.fix._replace(safe=False)) if found.fix is not None else found


def object_findings(item: Item, run: Run, origin: Origin | None = None) -> list[Finding]:
    """The findings of a Kubernetes object."""
    count_object(run, item.doc.name)
    job = job_of_object(item, run.settings)
    run.together.add(job, origin)
    policies = run.silences.ruling(item.doc.name).policies
    # Of a Secret no check quotes a value, and a value may be a word of the sentence.
    docs = [item.doc] if item.doc.data.get("kind") != "Secret" else []
    secrets = secrets_of(docs, text=_whole_text(item.doc))
    seen = [*check_object(item.doc, run.settings), *apply(policies, job)]
    found = findings((Sighting("", one, identity(item.doc.data)) for one in seen), secrets)
    run.hide(found, secrets)
    return run.silences.annotated(item.doc.name, [item.doc], found)


def note_need(item: Item, run: Run, origin: Origin) -> None:
    """Keeps an object that is not checked and that jobs need: a claim, or a namespace with a sync wave."""
    data = item.doc.data
    kind = data.get("kind") if isinstance(data, dict) else None
    is_in_wave = kind == NAMESPACE and ARGOCD_SYNC_WAVE in mapping(mapping(data, "metadata"), "annotations")
    if kind == CLAIM or is_in_wave:
        run.together.add(job_of_object(item, run.settings), origin)


def _of_all_variants(ids: list[str], jobs: tuple[Job, ...], file: str, run: Run) -> list[Sighting]:
    """What policies about a profile as a whole say, where every variant of it is there."""
    if not jobs or len(jobs) < len(ids) or run.settings.environments != "all":
        return []
    seen = apply_to_variants(run.silences.ruling(file).policies, jobs)
    return [Sighting(id_, one, None) for one in seen for id_ in ids]


def set_findings(number: int, seen: Seen, run: Run) -> list[Finding]:
    """What a policy about all jobs says of one, if it is on for the file of that job."""
    job = run.together.job(number)
    cr = job.cr
    assert cr is not None
    file = locate(cr, ()).location.file
    rule = next(
        (one.rule for one in run.silences.ruling(file).policies if one.rule.code == seen.problem.rule), None
    )
    if rule is None:
        return []
    secrets = secrets_of([cr, job.profile], run.settings.sets)
    said = findings([Sighting("", seen._replace(rule=rule), identity(cr.data))], secrets)
    run.hide(said, secrets)
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


def secrets_of(
    docs: Iterable[Doc | None], sets: Mapping[str, str] = {}, text: str | None = None
) -> Callable[[], Redactor | None]:
    """What gives, once it is asked for, what hides the secrets of documents and of ``--set`` flags.

    ``text`` is where all of the documents come from, None where that is more than one text.
    """

    @cache
    def redactor() -> Redactor | None:
        if text is not None and not sets and not may_hold_secret(text):
            return None
        from podplan.lint.redaction import redactor_for
        from podplan.redaction.detection import flag_values

        return redactor_for(docs, flag_values(sets))

    return redactor


def _whole_text(doc: Doc) -> str | None:
    """The text of the file that a document is written in, if that is all there is of it: without bases."""
    if doc.source is None or "extends" in mapping(doc.data, "spec"):
        return None
    return doc.source.text


def _ruled(job: Job, file: str, run: Run) -> list[Seen]:
    """What the policies say of a job."""
    policies = run.silences.ruling(file, enforced(job)).policies
    for policy in lacking(policies, job):
        run.silences.undecided.add(policy.rule.code)
        if lacks(policy, job) == "base":
            run.without_base.add(policy.rule.code)
    return list(apply(policies, job))


def _why_not_lowered(plan: Plan) -> str:
    if any(seen.problem.rule == "CR900" for seen in plan.seen):
        return "lowered objects: the kind is not lowered yet"
    return "lowered objects: the CR has errors" if plan.cr else "CR: the profile has errors"
