"""Finds the value of a question: a field of a CR or of a lowered object, or a variable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from podplan.checker.rebuild import build_lowered_job
from podplan.core.errors import NothingFound, UsageError
from podplan.core.indexed_text import Indexed
from podplan.core.lazy_regex import compile_lazily
from podplan.core.path_syntax import FieldNotFound, resolve_path
from podplan.core.provenance import Path, TracedDocument
from podplan.core.replica_groups import (
    ReplicaGroup,
    build_at_index,
    find_name_path,
    find_name_text,
    find_object_name,
    fold_group,
)
from podplan.core.suggestions import suggest_phrase
from podplan.core.typing import NamedTuple
from podplan.kinds.registry import resource_label
from podplan.kinds.suspension import explain_missing_pods
from podplan.kubernetes.accessors import get_entries, get_mapping, get_text
from podplan.launchers.process_variables import PROCESS_VARIABLES
from podplan.lint.analysis.process_variables import (
    VariableSetting,
    iter_variable_settings,
    list_process_variables,
)
from podplan.lint.analysis.training import iter_env
from podplan.pipeline import JobPlan, PipelineSettings

# Variables that training programs may read, so that they are not reported as misspelt.
KNOWN_VARIABLES = frozenset(name for variables in PROCESS_VARIABLES.values() for name in variables)
MAX_NAMES = 20  # of objects or variables in a message
# A JSON Pointer may follow the name after a space, as in the line "= lowered:" of a finding.
_OBJECT_PATTERN = compile_lazily(r"([A-Za-z]\w*)/([^:\s]+)(?:\s+(?=/)|:?)(.*)")
_RANGE_PATTERN = compile_lazily(r"\{(\d{1,9})\.\.(\d{1,9})\}")
_JOB_LABEL = "batch.kubernetes.io/job-name"
# The suffix that the API server appends to the names of the Pods of a Job.
_UID_SUFFIX = compile_lazily(r"-[0-9a-f]{5}")
_RANDOM_SUFFIX = compile_lazily(r"-[a-z0-9]{5}")
_VARIABLE_PATTERN = compile_lazily(r"(?:.*[.\]])?env\[\"?([A-Za-z_]\w*)\"?\](?:\.value)?|([A-Za-z_]\w*)")


class Answer(NamedTuple):
    """A value: a path in a document, or with ``setting`` what the launcher at the path sets a variable to.

    ``parents`` are the Jobs that made the Pods of the document.
    """

    doc: TracedDocument
    path: Path
    setting: VariableSetting | None = None
    parents: tuple[ReplicaGroup, ...] = ()


class ValueSearch:
    """Answers a question for one plan after the other.

    A question is a field of the CR, ``KIND/NAME:FIELD`` for one object, or the name of a variable. A field of
    the CR takes precedence over a variable of the same name.
    """

    def __init__(self, file: str, question: str) -> None:
        match = _OBJECT_PATTERN.fullmatch(question)
        self._file = file
        self._object = (match[1], match[2]) if match else None
        self._name = match[2] if match else ""
        self._field = match[3] if match else question
        variable_match = _VARIABLE_PATTERN.fullmatch(self._field)
        self._variable = (variable_match[1] or variable_match[2]) if variable_match else ""
        self._failure = ""  # of the first document that lacks the field
        self._named_object = ""  # what the question would be with the kind of the object
        self._names: dict[str, None] = {}
        self._variables: dict[str, None] = {}
        self._has_jobs = False
        self._missing_pods = ""  # why the first job has none

    def iter_answers(self, plan: JobPlan, settings: PipelineSettings) -> Iterator[Answer]:
        """Yield the answers in a plan that has a CR."""
        if plan.cr is None or not plan.is_lowered:
            return
        self._missing_pods = self._missing_pods or explain_missing_pods(plan.cr.data, plan.replica_groups)
        selected = None
        if self._object is not None and not _is_object(plan.cr, *self._object):
            selected = self._select_objects(plan, *self._object)
            if not selected:
                return
        docs = [plan.cr] if selected is None else [build_group_document(one) for one in selected]
        parents = [()] if selected is None else [_find_parents(one, plan.replica_groups) for one in selected]
        paths = [self._resolve(doc) for doc in docs]
        for doc, path, jobs in zip(docs, paths, parents, strict=True):
            if path is not None:
                yield Answer(doc, path, parents=jobs)
        if self._object is None and paths == [None]:
            self._named_object = self._named_object or self._find_named_object(plan)
        if not self._variable or self._variable in docs[0].data:
            return
        job = build_lowered_job(plan, settings, None)
        set_by_launcher: list[ReplicaGroup] = []
        for setting in iter_variable_settings(job, self._variable):
            for narrowed in [setting] if selected is None else _narrow_to_selection(setting, selected):
                set_by_launcher.append(setting.group)
                yield Answer(narrowed.group.doc, narrowed.launcher_path, narrowed)
        if not any(path is not None for path in paths):
            for pod in job.pods if selected is None else selected:
                if not any(pod.doc is one.doc for one in set_by_launcher):
                    jobs = _find_parents(pod, plan.replica_groups)
                    yield from self._iter_env_answers(
                        build_group_document(pod, is_folded=selected is None), jobs
                    )
        if self._object is None:
            self._has_jobs = True
            self._variables |= dict.fromkeys(list_process_variables(job))

    def _select_objects(self, plan: JobPlan, kind: str, name: str) -> list[ReplicaGroup]:
        """Return the lowered objects that the question names, as parts of their groups."""
        assert plan.cr is not None
        job_name = get_text(get_mapping(plan.cr.data, "metadata"), "name")
        groups = [group for group in plan.replica_groups if _is_kind(group.doc, kind)]
        for group in plan.replica_groups:
            if len(self._names) <= MAX_NAMES:
                self._names[format_group_name(group)] = None
        for spelling in _iter_spellings(name, job_name):
            selected = [one for group in groups if (one := _select_replicas(group, spelling)) is not None]
            if selected:
                return selected
        return []

    def _find_named_object(self, plan: JobPlan) -> str:
        """Return the question with the kind of the object that it begins with, "" if there is none."""
        assert plan.cr is not None
        name, colon, field = self._field.partition(":")
        if get_text(get_mapping(plan.cr.data, "metadata"), "name") == name:
            return f"{plan.cr.data['kind']}/{self._field}"
        kinds = {
            group.doc.data["kind"]: None
            for group in plan.replica_groups
            if _select_replicas(group, name) is not None
        }
        kind = "Pod" if "Pod" in kinds else next(iter(kinds), "")
        return f"{kind}/{name}{colon}{field}" if kind else ""

    def _resolve(self, doc: TracedDocument) -> Path | None:
        try:
            return resolve_path(doc.data, self._field) if self._field else ()
        except FieldNotFound as error:
            self._failure = self._failure or f"{doc.name}: {error}"
        return None

    def _iter_env_answers(self, doc: TracedDocument, parents: tuple[ReplicaGroup, ...]) -> Iterator[Answer]:
        """Yield the entry of the variable in each container of a Pod; of equal names the last one."""
        for section in ("initContainers", "containers"):
            for index, container in get_entries(get_mapping(doc.data, "spec"), section):
                indexes = dict[str, int]()
                for number, name, _ in iter_env(container):
                    self._variables[name] = None
                    indexes[name] = number
                if self._variable in indexes:
                    entry_path: Path = ("spec", section, index, "env", indexes[self._variable])
                    entry = container["env"][indexes[self._variable]]
                    field = "valueFrom" if "valueFrom" in entry else "value"
                    yield Answer(doc, (*entry_path, field), parents=parents)

    def build_error(self) -> UsageError:
        """Build the error for a question without an answer."""
        error = self._build_error()
        if not self._missing_pods or isinstance(error, NothingFound):
            return error
        return UsageError(f"{error}; {self._missing_pods}")

    def _build_error(self) -> UsageError:
        if self._named_object:
            return UsageError(
                f"{self._file}: {self._field} is no field of the CR; did you mean {self._named_object}?"
            )
        if self._variable and self._variable == self._field and self._has_jobs:
            names = [*self._variables]
            more = ", …" if len(names) > MAX_NAMES else ""
            hint = suggest_phrase(self._variable, names)
            known = hint or (f"; the variables are {', '.join(names[:MAX_NAMES])}{more}" if names else "")
            if self._variable in KNOWN_VARIABLES:
                return UsageError(
                    f"{self._file}: nothing sets {self._variable} in these Pods, neither the CR nor the"
                    f" controller nor a launcher that podplan knows{known}"
                )
            return UsageError(
                f"{self._file}: {self._variable} is no field of the CR and no variable of its Pods{known}"
            )
        if self._failure:
            return UsageError(self._failure)
        if self._object is None:
            return NothingFound(f"{self._file}: no training job and no profile of one")
        more = ", …" if len(self._names) > MAX_NAMES else ""
        names_text = ", ".join([*self._names][:MAX_NAMES]) + more or "none"
        return UsageError(f"{self._file}: lowers to no {'/'.join(self._object)}; there are {names_text}")


def _is_object(cr: TracedDocument, kind: str, name: str) -> bool:
    return _is_kind(cr, kind) and bool(cr.data.get("metadata", {}).get("name") == name)


def _is_kind(doc: TracedDocument, kind: str) -> bool:
    """Whether a document is of a kind, which may be written in lower case as for kubectl."""
    names = (doc.data.get("kind"), resource_label(doc.data.get("apiVersion"), doc.data.get("kind")))
    return kind.lower() in (str(name).lower() for name in names)


def _iter_spellings(name: str, job_name: str) -> Iterator[str]:
    """Yield a name as written, and without the suffixes of the cluster: the random characters of a Pod of
    a Job, and the name suffix from the uid."""
    yield name
    if _RANDOM_SUFFIX.search(name, max(len(name) - 6, 0)):
        yield name[:-6]
    uid_suffix = name[len(job_name) : len(job_name) + 6]
    if job_name and name.startswith(job_name) and _UID_SUFFIX.fullmatch(uid_suffix):
        yield job_name + name[len(job_name) + 6 :]


def _select_replicas(group: ReplicaGroup, name: str) -> ReplicaGroup | None:
    """Return the part of a group with a name such as train-worker-1 or train-worker-{1..3}."""
    first, last = (_RANGE_PATTERN.sub(rf"\{number}", name) for number in (1, 2))
    if find_name_path(group.doc)[-1] == "generateName":
        first, last = (f"{one.removesuffix('-')}-" for one in (first, last))
    name_pattern = find_name_text(group.doc)
    if not isinstance(name_pattern, Indexed):
        return group if find_object_name(group.doc) == first == last else None
    start, end = name_pattern.find_index(first), name_pattern.find_index(last)
    if start is None or end is None:
        return None
    start, end = max(start, group.start), min(end, group.start + group.replicas - 1)
    return group._replace(start=start, replicas=end - start + 1) if start <= end else None


def _find_parents(pods: ReplicaGroup, groups: Sequence[ReplicaGroup]) -> tuple[ReplicaGroup, ...]:
    """Return the parts of the groups of Jobs that made some Pods, by the name of the Job in their labels."""
    job_name = pods.doc.replica_texts.get(("metadata", "labels", _JOB_LABEL))
    if not isinstance(job_name, Indexed):
        return ()
    first, last = (job_name.text_at(pods.start + offset) for offset in (0, pods.replicas - 1))
    parts = []
    for group in groups:
        pattern = find_name_text(group.doc)
        if group.doc.data["kind"] != "Job" or not isinstance(pattern, Indexed):
            continue
        start, end = pattern.find_index(first), pattern.find_index(last)
        if start is not None and end is not None:
            parts.append(group._replace(start=start, replicas=end - start + 1))
    return tuple(parts)


def build_group_document(group: ReplicaGroup, is_folded: bool = False) -> TracedDocument:
    """Build the document of the replicas of a group, with their range as the index if there are several."""
    doc = group.doc
    if group.replicas > 1 or is_folded:
        return TracedDocument(format_group_name(group), fold_group(group), origins=doc.origins)
    name_pattern = find_name_text(doc)
    name = name_pattern.text_at(group.start) if isinstance(name_pattern, Indexed) else find_object_name(doc)
    name = f"{doc.data['kind']}/{name.removesuffix('-')}"
    return TracedDocument(name, build_at_index(doc, group.start), origins=doc.origins)


def _narrow_to_selection(
    setting: VariableSetting, selected: Sequence[ReplicaGroup]
) -> Iterator[VariableSetting]:
    """Yield a setting for the selected Pods: those with its launcher, or in which it starts processes."""
    for one in selected:
        if one.doc is setting.group.doc:
            yield setting.narrow_to_pods(one.start, one.replicas)
        elif one.replicas == 1:
            narrowed = setting.narrow_to_host(build_group_document(one).name.rpartition("/")[2])
            if narrowed is not None:
                yield narrowed


def format_group_name(group: ReplicaGroup) -> str:
    """Format the objects of a group, such as ``Pod/train-worker-{1..3}``."""
    folded_object = fold_group(group)
    name = folded_object["metadata"][find_name_path(group.doc)[-1]]
    return f"{folded_object['kind']}/{name.removesuffix('-')}"
