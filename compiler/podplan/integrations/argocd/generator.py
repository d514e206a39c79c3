"""Generates the objects that Argo CD applies from the folder of an Application: all of them, or none."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from podplan.checker.check import CheckResult
from podplan.checker.packed_store import JobSource
from podplan.core.builtin_rules import BUILTIN_RULES
from podplan.core.errors import UsageError
from podplan.core.findings import Severity
from podplan.core.limits import LimitExceeded
from podplan.core.typing import Any, NamedTuple
from podplan.integrations.argocd.application import (
    Application,
    describe_undecided_manifests,
    find_unfit_manifest,
    is_podplan_file,
    read_application,
)
from podplan.integrations.argocd.gate import FLAG_PREFIX, PARAMETER_PREFIX, Judged, check_application
from podplan.integrations.argocd.parameters import PluginParameters
from podplan.integrations.argocd.selection import SelectedProfile, select_profiles
from podplan.integrations.argocd.sync_options import add_sync_options
from podplan.pipeline import JobPlan, PipelineSettings, iter_job_plans
from podplan.redaction.detection import iter_flag_secrets
from podplan.redaction.redactor import Redactor
from podplan.rendering.spool import Spool
from podplan.workspace.documents import ClassifiedDocument, identify_object
from podplan.workspace.loader import Loader
from podplan.yaml import SourceFile
from podplan.yaml.writer import emit_document


class GeneratedManifests(NamedTuple):
    """The manifests to apply, as YAML: CRs of profiles and other manifests, in the order of files; and the
    findings.

    ``apis`` are the apiVersion and kind of each object, once. ``incomplete_files`` have syntax errors, or
    profiles without all their CRs: then nothing may be applied, independent of policies.
    """

    text: Spool
    apis: tuple[dict[str, Any], ...]
    result: CheckResult
    incomplete_files: tuple[str, ...] = ()


class _SourcedObject(NamedTuple):
    """The identity of an object, and its source in words."""

    api_version: str
    kind: str
    namespace: str | None
    name: str | None
    is_list: bool
    source: str


class _Output:
    """Collects the CRs of profiles as text, and the profiles that have CRs."""

    def __init__(self, options: Sequence[str]) -> None:
        self.spool = Spool()
        self.made: list[_SourcedObject] = []
        self.failure: LimitExceeded | None = None
        self._options = options
        self._giving: set[JobSource] = set()
        self._short: set[JobSource] = set()

    def add(self, plan: JobPlan, place: JobSource) -> None:
        """Add a plan of the profile at a place."""
        if plan.cr is None:
            if plan.failed_environments or plan.variant_id is not None:
                self._short.add(place)
            return
        self._giving.add(place)
        file = plan.item.doc.name
        self.made.append(
            _build_object(plan.cr.data, f"{file} ({plan.variant_id})" if plan.variant_id else file)
        )
        self.write(add_sync_options(plan.cr.data, self._options), file)

    def write(self, data: dict[str, Any], file: str) -> None:
        """Add an object. If the text becomes too long, that is raised later: findings are reported first."""
        if self.failure is None:
            try:
                self.spool.add(f"---\n{emit_document(data)}")
            except LimitExceeded as error:
                self.failure = error.with_file(file)

    def gave_all(self, place: JobSource) -> bool:
        """Whether all variants of the profile at a place gave a CR, and there is at least one."""
        return place in self._giving and place not in self._short


def generate_manifests(
    folder: str,
    parameters: PluginParameters,
    manifests: str,
    exclude: Sequence[str],
    settings: PipelineSettings,
    reader: Loader,
    options: Sequence[str] = (),
    kustomize: str = "",
) -> GeneratedManifests:
    """Return the CRs of the selected profiles, and other manifests if they are included.

    ``manifests`` is how other manifests are treated: include, ignore, or "" for an error if there are any.
    ``options`` are sync options for the CRs. What kustomize builds from the folder ``kustomize`` replaces the
    files, and is included.

    Raises UsageError: for wrong parameters or objects. Raises what ``read_application`` raises. No message
    contains a secret of the parameters.
    """
    application = read_application(folder, exclude, reader, kustomize)
    included_manifests = _select_manifests(application, "include" if kustomize else manifests)
    selected = select_profiles(application.profiles, parameters)
    output = _Output(options)

    def take_plans(one: SelectedProfile) -> Iterator[JobPlan]:
        for plan in _iter_profile_plans(one, settings, reader):
            output.add(plan, one.profile.place)
            yield plan

    profiles = [Judged(one.profile.item, one.profile.place, partial(take_plans, one)) for one in selected]
    crs = [
        Judged(item, place, partial(iter_job_plans, item, settings, reader))
        for item, place in included_manifests
        if item.category == "cr"
    ]
    own = {one.profile.place: _settings(one, settings) for one in selected}

    def settings_of(place: JobSource) -> PipelineSettings:
        return own.get(place, settings)

    param_values = {key: value for one in selected for key, value in one.sets.items()}
    with_params = settings._replace(param_values=param_values)
    result = check_application(
        application.sources, [*profiles, *crs], included_manifests, with_params, reader, settings_of
    )
    broken = (source.file for source in application.sources if _is_broken(source))
    short = (one.profile.item.doc.name for one in selected if not output.gave_all(one.profile.place))
    incomplete_files = (*broken, *short)
    profile_plans = [
        *output.made,
        *(_build_object(item.doc.data, item.doc.name) for item, _ in included_manifests),
    ]
    if not incomplete_files:
        if output.failure is not None:
            raise output.failure
        _refuse_lists(profile_plans[len(output.made) :])
        _refuse_duplicates(profile_plans, parameters.namespace)
        for item, _ in included_manifests:
            output.write(item.doc.data, item.doc.name)
        if output.failure is not None:
            raise output.failure
    apis = dict.fromkeys((one.api_version, one.kind) for one in profile_plans)
    served = tuple({"apiVersion": version, "kind": kind} for version, kind in apis)
    return GeneratedManifests(output.spool, served, result, incomplete_files)


def _select_manifests(application: Application, manifests: str) -> list[tuple[ClassifiedDocument, JobSource]]:
    if manifests == "include":
        unfit_reason = find_unfit_manifest(application)
        if unfit_reason:
            raise UsageError(unfit_reason)
        return application.manifests
    if application.manifests and application.profiles and not manifests:
        raise UsageError(describe_undecided_manifests(application))
    return []


def _settings(one: SelectedProfile, settings: PipelineSettings) -> PipelineSettings:
    return settings._replace(environments=one.environments, param_values=one.sets)


def _iter_profile_plans(
    selected: SelectedProfile, settings: PipelineSettings, reader: Loader
) -> Iterator[JobPlan]:
    try:
        yield from iter_job_plans(selected.profile.item, _settings(selected, settings), reader)
    except UsageError as error:  # it is about the value of a flag, which is a parameter here
        message = str(error).replace(FLAG_PREFIX, PARAMETER_PREFIX, 1)
        raise UsageError(Redactor(iter_flag_secrets(selected.sets)).redact_text(message)) from None


def _build_object(data: dict[str, Any], source: str) -> _SourcedObject:
    named = identify_object(data)
    api_version, kind = str(named["apiVersion"]), str(named["kind"])
    namespace = named["namespace"] and str(named["namespace"])
    name = None if named["name"] is None else str(named["name"])
    return _SourcedObject(api_version, kind, namespace, name, isinstance(data.get("items"), list), source)


def _is_broken(source: SourceFile) -> bool:
    """Whether a file that mentions podplan has syntax errors, so that its profiles are unknown."""
    faults = (BUILTIN_RULES[fault.rule].severity for fault in source.diagnostics)
    return Severity.ERROR in faults and is_podplan_file(source)


def _refuse_lists(objects: Iterable[_SourcedObject]) -> None:
    """Raise UsageError for Lists, which Argo CD would split: their entries have not been checked."""
    for sourced in objects:
        if sourced.is_list:
            raise UsageError(
                f"{sourced.source}: {sourced.kind} has a list called items, and Argo CD applies what is in"
                " such a list instead of the object; write each as a document of its own"
            )


def _refuse_duplicates(objects: Iterable[_SourcedObject], namespace: str) -> None:
    """Raise UsageError for two objects that are the same for the API server, which ignores the version.

    Objects without a namespace are in ``namespace``.
    """
    source_by_identity: dict[tuple[str, ...], str] = {}
    for sourced in objects:
        if sourced.name is None:
            raise UsageError(
                f"{sourced.source}: {sourced.kind} has no metadata.name, and Argo CD applies nothing without;"
                " generateName is for kubectl create"
            )
        key = (
            sourced.api_version.rpartition("/")[0],
            sourced.kind,
            sourced.namespace or namespace,
            sourced.name,
        )
        if key in source_by_identity:
            raise UsageError(
                f"two objects are both {sourced.kind} {sourced.name}: from {source_by_identity[key]} and from"
                f" {sourced.source}; give them different names or namespaces"
            )
        source_by_identity[key] = sourced.source


def resolve_inventory_path(requested: str, folder: str, root: str) -> str:
    """Return the inventory file that a parameter names, relative to the working folder.

    A leading ``/`` is the top of the repository, as in other file parameters of Argo CD.

    Raises UsageError: if it leads out of ``root``, or cannot be a path.
    """
    if "\0" in requested:
        raise UsageError('the parameter "inventory" has a null character (\\u0000), and no path has one')
    path = (
        os.path.join(root, requested.lstrip("/"))
        if requested.startswith("/")
        else os.path.join(folder, requested)
    )
    root_path, resolved = os.path.realpath(root), os.path.realpath(path)
    if os.path.commonpath((root_path, resolved)) != root_path:
        raise UsageError(
            f'the parameter "inventory" is "{requested[:60]}", which leads out of the repository'
        )
    return os.path.relpath(path)


def find_copy_root(folder: str, source_path: str) -> str:
    """Return the top of Argo CD's copy of a repository, for the folder of an Application in it.

    The copy may lack ``.git``, and may begin below the top of the repository, at an ancestor of
    ``source_path`` (ARGOCD_APP_SOURCE_PATH). So the top is above the longest end of that path that ``folder``
    ends with.
    """
    parts = [part for part in source_path.split("/") if part not in ("", ".")]
    folder_parts = folder.split(os.sep)
    for count in range(len(parts), 0, -1):
        if folder_parts[-count:] == parts[-count:]:
            return os.sep.join(folder_parts[:-count]) or os.sep
    return folder
