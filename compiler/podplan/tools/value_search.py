"""Finds the value that somebody asks for: a field of a CR or of a lowered object, or a variable."""

from __future__ import annotations

from collections.abc import Iterator

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
from podplan.kubernetes.accessors import get_entries, get_mapping
from podplan.lint.analysis.process_variables import (
    VariableSetting,
    iter_variable_settings,
    list_process_variables,
)
from podplan.lint.analysis.training import iter_env
from podplan.pipeline import JobPlan, PipelineSettings

MAX_NAMES = 20  # of objects or variables in a message
_OBJECT_PATTERN = compile_lazily(r"([A-Za-z]\w*)/([^:]+):?(.*)")
_VARIABLE_PATTERN = compile_lazily(r"(?:.*[.\]])?env\[\"?([A-Za-z_]\w*)\"?\](?:\.value)?|([A-Za-z_]\w*)")


class Answer(NamedTuple):
    """A value: a path in a document, or with ``setting`` what the launcher at the path sets a variable to."""

    doc: TracedDocument
    path: Path
    setting: VariableSetting | None = None


class ValueSearch:
    """Finds what a question means in one plan after the other.

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
        self._names: dict[str, None] = {}
        self._variables: dict[str, None] = {}
        self._has_jobs = False

    def iter_answers(self, plan: JobPlan, settings: PipelineSettings) -> Iterator[Answer]:
        """Yield what the question means in a plan that has a CR."""
        if plan.cr is None or not plan.is_lowered:
            return
        group = None
        if self._object is not None and not _is_object(plan.cr, *self._object):
            group = self._find_group(plan, *self._object)
            if group is None:
                return
        doc = plan.cr if group is None else _build_replica_doc(group, self._name)
        path = self._resolve(doc)
        if path is not None:
            yield Answer(doc, path)
        if not self._variable or self._variable in doc.data:
            return
        job = build_lowered_job(plan, settings, None)
        pods = job.pods if group is None else [group]
        set_by_launcher: list[ReplicaGroup] = []
        for setting in iter_variable_settings(job, self._variable):
            if any(setting.group is pod for pod in pods):
                set_by_launcher.append(setting.group)
                yield Answer(setting.group.doc, setting.launcher_path, setting)
        for pod in pods if path is None else ():
            if not any(pod is one for one in set_by_launcher):
                pod_doc = _build_folded_doc(pod) if group is None else doc
                yield from self._iter_env_answers(pod_doc)
        if self._object is None:
            self._has_jobs = True
            self._variables |= dict.fromkeys(list_process_variables(job))

    def _find_group(self, plan: JobPlan, kind: str, name: str) -> ReplicaGroup | None:
        """Return the group with the lowered object that the question names."""
        for group in plan.replica_groups:
            if len(self._names) <= MAX_NAMES:
                self._names[format_group_name(group)] = None
            if _is_kind(group.doc, kind) and _find_index(group, name) is not None:
                return group
        return None

    def _resolve(self, doc: TracedDocument) -> Path | None:
        try:
            return resolve_path(doc.data, self._field) if self._field else ()
        except FieldNotFound as error:
            self._failure = self._failure or f"{doc.name}: {error}"
        return None

    def _iter_env_answers(self, doc: TracedDocument) -> Iterator[Answer]:
        """Yield the entry of the variable in each container of a Pod; of equal names the last counts."""
        for section in ("initContainers", "containers"):
            for index, container in get_entries(get_mapping(doc.data, "spec"), section):
                indexes = dict[str, int]()
                for number, name, _ in iter_env(container):
                    self._variables[name] = None
                    indexes[name] = number
                if self._variable in indexes:
                    entry_path: Path = ("spec", section, index, "env", indexes[self._variable])
                    entry = container["env"][indexes[self._variable]]
                    yield Answer(doc, (*entry_path, "valueFrom" if "valueFrom" in entry else "value"))

    def build_error(self) -> UsageError:
        """Build the error for a question without an answer."""
        if self._variable and self._variable == self._field and self._has_jobs:
            names = [*self._variables]
            more = ", …" if len(names) > MAX_NAMES else ""
            hint = suggest_phrase(self._variable, names)
            known = hint or (f"; the variables are {', '.join(names[:MAX_NAMES])}{more}" if names else "")
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


def _find_index(group: ReplicaGroup, name: str) -> int | None:
    """Return the index of the replica called ``name`` in a group, or None."""
    if find_name_path(group.doc)[-1] == "generateName":
        name = f"{name.removesuffix('-')}-"
    name_pattern = find_name_text(group.doc)
    if not isinstance(name_pattern, Indexed):
        return group.start if find_object_name(group.doc) == name else None
    index = name_pattern.find_index(name)
    return index if index is not None and group.start <= index < group.start + group.replicas else None


def _build_replica_doc(group: ReplicaGroup, name: str) -> TracedDocument:
    """Build the document of one replica of a group."""
    index = _find_index(group, name)
    assert index is not None
    doc = group.doc
    return TracedDocument(f"{doc.data['kind']}/{name}", build_at_index(doc, index), origins=doc.origins)


def _build_folded_doc(group: ReplicaGroup) -> TracedDocument:
    """Build the document of all replicas of a group, with their range as the index."""
    return TracedDocument(format_group_name(group), fold_group(group), origins=group.doc.origins)


def format_group_name(group: ReplicaGroup) -> str:
    """Format the objects of a group, such as ``Pod/train-worker-{1..3}``."""
    folded_object = fold_group(group)
    name = folded_object["metadata"][find_name_path(group.doc)[-1]]
    return f"{folded_object['kind']}/{name}"
