"""What there is to say about jobs: what their plans came across, and what the policies say of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache

from podplan.checker.packed_store import Origin
from podplan.checker.rebuild import job_of, job_of_object
from podplan.checker.run_state import Run, count_object
from podplan.core.findings import Finding
from podplan.core.provenance import Doc
from podplan.core.typing import TYPE_CHECKING
from podplan.kinds.common.gitops_tools import ARGOCD_SYNC_WAVE
from podplan.kubernetes.accessors import mapping
from podplan.lint.aggregation import Fold, findings
from podplan.lint.document_diagnostics import Seen, Sighting
from podplan.lint.location import locate
from podplan.lint.policy_runner import Variants, apply, lacking, lacks
from podplan.lint.rule_selection import enforced
from podplan.lint.target import Job
from podplan.pipeline import Plan, check_object
from podplan.redaction.hints import may_hold_secret
from podplan.workspace.documents import Item, identity

if TYPE_CHECKING:
    from podplan.lint.suppressions import Suppression
    from podplan.redaction.redactor import Redactor

CLAIM, NAMESPACE = "PersistentVolumeClaim", "Namespace"


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
    of_profile = False
    secrets = _Secrets(run.settings.sets)
    for plan in made:
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
        was = job.before if job is not None else None
        docs = [plan.item.doc, plan.profile, plan.cr, was]
        docs += [seen.doc for seen in plan.seen if plan.profile is None]
        secrets.add(docs, _whole_text(plan.item.doc) if was is None else None)
        of_profile = of_profile or (job is not None and job.profile is not None)
    # What policies say of a profile as a whole, where every variant of it is there.
    if variants is not None and jobs == len(ids) and run.settings.environments == "all":
        for one in variants.seen():
            for id_ in ids:
                fold.add(Sighting(id_, one, None))
    if not fold:
        return []
    found = fold.findings(secrets.redactor(), ids)
    run.hide(found, secrets.redactor)
    if of_profile and (run.settings.environments != "all" or run.settings.sets):
        found = list(map(_with_unsafe_fix, found))
    return run.silences.without_annotated(annotated, found)


class _Secrets:
    """The secrets of an item, found in the documents of one plan after the other."""

    def __init__(self, sets: Mapping[str, str]) -> None:
        self._sets = sets
        self._values: set[str] = set()
        self._text: tuple[str, bool] = "", False
        self.redactor = cache(self._redactor)

    def add(self, docs: Iterable[Doc | None], text: str | None) -> None:
        """More documents; ``text`` is where all of them come from, None where that is more than one text."""
        if text is not None and text is not self._text[0]:
            self._text = text, may_hold_secret(text)
        if text is None or self._text[1] or self._sets:
            from podplan.lint.redaction import secrets_behind

            self._values.update(secrets_behind(docs))

    def _redactor(self) -> Redactor | None:
        """What hides them, with those of ``--set`` flags; it is asked for once there are no more."""
        if not self._values and not self._sets:
            return None
        from podplan.redaction.detection import flag_values
        from podplan.redaction.redactor import Redactor

        return Redactor([*flag_values(self._sets), *self._values])


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
