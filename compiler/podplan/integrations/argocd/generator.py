"""From the folder of an Application to the objects that Argo CD applies: all of them, or none."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from podplan.checker.check import Result
from podplan.checker.packed_store import Origin
from podplan.core.builtin_rules import RULES
from podplan.core.errors import RequestError
from podplan.core.findings import Severity
from podplan.core.limits import BoundExceeded
from podplan.core.typing import Any, NamedTuple
from podplan.integrations.argocd.application import Application, is_ours, left_out, read, unfit
from podplan.integrations.argocd.gate import FLAG, PARAMETER, Judged, judged
from podplan.integrations.argocd.parameters import Given
from podplan.integrations.argocd.selection import Chosen, chosen
from podplan.integrations.argocd.sync_options import with_options
from podplan.pipeline import Plan, Settings, plans
from podplan.redaction.detection import flag_values
from podplan.redaction.redactor import Redactor
from podplan.rendering.spool import Spool
from podplan.workspace import Reader
from podplan.workspace.documents import Item, identity
from podplan.yaml import Source
from podplan.yaml.writer import emit_document


class Generated(NamedTuple):
    """What is to be applied, as YAML: CRs of profiles and manifests, in the order of files; and what there is
    to say.

    ``apis`` are the apiVersion and kind of each object, once. ``lacking`` are the files that are broken, or
    whose profiles gave no CR, or not all: then nothing may be applied, whatever the policies say.
    """

    text: Spool
    apis: tuple[dict[str, Any], ...]
    result: Result
    lacking: tuple[str, ...] = ()


class _Made(NamedTuple):
    """What identifies an object, and where it is from, in words for a person."""

    api_version: str
    kind: str
    namespace: str | None
    name: str | None
    is_list: bool
    source: str


class _Output:
    """The CRs of profiles as text, made of plans one after the other; and of which profiles there are any."""

    def __init__(self, options: Sequence[str]) -> None:
        self.spool = Spool()
        self.made: list[_Made] = []
        self.failure: BoundExceeded | None = None
        self._options = options
        self._giving: set[Origin] = set()
        self._short: set[Origin] = set()

    def add(self, plan: Plan, place: Origin) -> None:
        """One more plan of the profile that is written at a place."""
        if plan.cr is None:
            if plan.failed or plan.variant is not None:
                self._short.add(place)
            return
        self._giving.add(place)
        file = plan.item.doc.name
        self.made.append(_made(plan.cr.data, f"{file} ({plan.variant})" if plan.variant else file))
        self.write(with_options(plan.cr.data, self._options), file)

    def write(self, data: dict[str, Any], file: str) -> None:
        """One more object. That the text is too much is kept in mind: findings are told first."""
        if self.failure is None:
            try:
                self.spool.add(f"---\n{emit_document(data)}")
            except BoundExceeded as error:
                self.failure = error.in_file(file)

    def gave_all(self, place: Origin) -> bool:
        """Whether the profile at a place gave a CR, and no variant gave none."""
        return place in self._giving and place not in self._short


def generate(
    folder: str,
    asked: Given,
    manifests: str,
    exclude: Sequence[str],
    settings: Settings,
    reader: Reader,
    options: Sequence[str] = (),
) -> Generated:
    """The CRs of the profiles that are asked for, and the manifests beside them where these are included.

    ``manifests`` is what becomes of these: include, ignore, or "" for an error where there are any.
    ``options`` are sync options for the CRs.
    Raises RequestError, and what ``application.read`` raises. No message holds a secret of the parameters.
    """
    application = read(folder, exclude, reader)
    included = _included(application, manifests)
    wanted = chosen(application.profiles, asked)
    output = _Output(options)

    def taken(one: Chosen) -> Iterator[Plan]:
        for plan in _plans(one, settings, reader):
            output.add(plan, one.profile.place)
            yield plan

    profiles = [Judged(one.profile.item, one.profile.place, partial(taken, one)) for one in wanted]
    crs = [
        Judged(item, place, partial(plans, item, settings, reader))
        for item, place in included
        if item.what == "cr"
    ]
    own = {one.profile.place: _settings(one, settings) for one in wanted}

    def settings_of(place: Origin) -> Settings:
        return own.get(place, settings)

    given = {key: value for one in wanted for key, value in one.sets.items()}
    with_params = settings._replace(sets=given)
    result = judged(application.sources, [*profiles, *crs], included, with_params, reader, settings_of)
    broken = (source.file for source in application.sources if _is_broken(source))
    short = (one.profile.item.doc.name for one in wanted if not output.gave_all(one.profile.place))
    lacking = (*broken, *short)
    made = [*output.made, *(_made(item.doc.data, item.doc.name) for item, _ in included)]
    if not lacking:
        if output.failure is not None:
            raise output.failure
        _refuse_lists(made[len(output.made) :])
        _refuse_duplicates(made, asked.namespace)
        for item, _ in included:
            output.write(item.doc.data, item.doc.name)
        if output.failure is not None:
            raise output.failure
    apis = dict.fromkeys((one.api_version, one.kind) for one in made)
    served = tuple({"apiVersion": version, "kind": kind} for version, kind in apis)
    return Generated(output.spool, served, result, lacking)


def _included(application: Application, manifests: str) -> list[tuple[Item, Origin]]:
    if manifests == "include":
        fault = unfit(application)
        if fault:
            raise RequestError(fault)
        return application.manifests
    if application.manifests and application.profiles and not manifests:
        raise RequestError(left_out(application))
    return []


def _settings(one: Chosen, settings: Settings) -> Settings:
    return settings._replace(environments=one.environments, sets=one.sets)


def _plans(one: Chosen, settings: Settings, reader: Reader) -> Iterator[Plan]:
    try:
        yield from plans(one.profile.item, _settings(one, settings), reader)
    except RequestError as error:  # about the value of a flag, which here was a parameter
        told = str(error).replace(FLAG, PARAMETER, 1)
        raise RequestError(Redactor(flag_values(one.sets)).text(told)) from None


def _made(data: dict[str, Any], source: str) -> _Made:
    named = identity(data)
    api_version, kind = str(named["apiVersion"]), str(named["kind"])
    namespace = named["namespace"] and str(named["namespace"])
    name = None if named["name"] is None else str(named["name"])
    return _Made(api_version, kind, namespace, name, isinstance(data.get("items"), list), source)


def _is_broken(source: Source) -> bool:
    """Whether a file that names us has errors in its YAML: nobody can tell which profiles it would hold."""
    faults = (RULES[fault.rule].severity for fault in source.faults)
    return Severity.ERROR in faults and is_ours(source)


def _refuse_lists(made: Iterable[_Made]) -> None:
    """Raises RequestError for what Argo CD takes apart, whatever its kind: nobody has checked the entries."""
    for one in made:
        if one.is_list:
            raise RequestError(
                f"{one.source}: {one.kind} has a list called items, and Argo CD applies what is in"
                " such a list instead of the object; write each as a document of its own"
            )


def _refuse_duplicates(made: Iterable[_Made], namespace: str) -> None:
    """Raises RequestError where two objects are one for the API server, which knows no version in a name.

    What has no namespace goes to ``namespace``.
    """
    seen: dict[tuple[str, ...], str] = {}
    for one in made:
        if one.name is None:
            raise RequestError(
                f"{one.source}: {one.kind} has no metadata.name, and Argo CD applies nothing without;"
                " generateName is for kubectl create"
            )
        key = (one.api_version.rpartition("/")[0], one.kind, one.namespace or namespace, one.name)
        if key in seen:
            raise RequestError(
                f"two objects are both {one.kind} {one.name}: from {seen[key]} and from"
                f" {one.source}; give them different names or namespaces"
            )
        seen[key] = one.source


def inventory_path(asked: str, folder: str, root: str) -> str:
    """The file of the inventory that a parameter names, as seen from the working folder.

    A leading ``/`` stands for the top of the repository, as in other file parameters of Argo CD.
    Raises RequestError where it leads out of ``root``, or can be no path.
    """
    if "\0" in asked:
        raise RequestError('the parameter "inventory" has a null character (\\u0000), and no path has one')
    path = os.path.join(root, asked.lstrip("/")) if asked.startswith("/") else os.path.join(folder, asked)
    top, real = os.path.realpath(root), os.path.realpath(path)
    if os.path.commonpath((top, real)) != top:
        raise RequestError(f'the parameter "inventory" is "{asked[:60]}", which leads out of the repository')
    return os.path.relpath(path)


def root_of_copy(folder: str, source_path: str) -> str:
    """The top of the copy that Argo CD made of a repository, for the folder of an Application in it.

    The copy may lack ``.git``, and may begin below the top of the repository, at a folder on the way to
    ``source_path`` (ARGOCD_APP_SOURCE_PATH). So the top is above as much of that path as ``folder`` ends in.
    """
    parts = [part for part in source_path.split("/") if part not in ("", ".")]
    there = folder.split(os.sep)
    for count in range(len(parts), 0, -1):
        if there[-count:] == parts[-count:]:
            return os.sep.join(there[:-count]) or os.sep
    return folder
