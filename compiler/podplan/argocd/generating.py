"""From the folder of an Application to the objects that Argo CD applies: all of them, or none."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from podplan.argocd.application import Application, is_ours, left_out, read, unfit
from podplan.argocd.choosing import Chosen, chosen
from podplan.argocd.judging import FLAG, PARAMETER, judged
from podplan.argocd.parameters import Given
from podplan.check import Result
from podplan.findings import Severity
from podplan.pipeline import Plan, Settings, plans
from podplan.reading import Reader
from podplan.reading.documents import Item, identity
from podplan.redaction.detection import flag_values
from podplan.redaction.redactor import Redactor
from podplan.requests import RequestError
from podplan.rules import RULES
from podplan.source import Source
from podplan.typing import Any, NamedTuple


class Generated(NamedTuple):
    """What is to be applied: CRs of profiles and manifests, in the order of files; and what there is to say.

    ``lacking`` are the files that are broken, or whose profiles gave no CR, or not all: then nothing may be
    applied, whatever the policies say.
    """

    crs: list[dict[str, Any]]
    manifests: list[dict[str, Any]]
    result: Result
    lacking: tuple[str, ...] = ()

    @property
    def objects(self) -> list[dict[str, Any]]:
        return [*self.crs, *self.manifests]


class _Made(NamedTuple):
    """An object, and where it is from, in words for a person."""

    data: dict[str, Any]
    source: str


def generate(
    folder: str, asked: Given, manifests: str, exclude: Sequence[str], settings: Settings, reader: Reader
) -> Generated:
    """The CRs of the profiles that are asked for, and the manifests beside them where these are included.

    ``manifests`` is what becomes of these: include, ignore, or "" for an error where there are any.
    Raises RequestError, and what ``application.read`` raises. No message holds a secret of the parameters.
    """
    application = read(folder, exclude, reader)
    included = _included(application, manifests)
    wanted = chosen(application.profiles, asked)
    made = [plan for one in wanted for plan in _plans(one, settings, reader)]
    crs = [item for item in included if item.what == "cr"]
    by_hand = [plan for item in crs for plan in plans(item, settings, reader)]
    given = {key: value for one in wanted for key, value in one.sets.items()}
    with_params = settings._replace(sets=given)
    result = judged(application.sources, [*made, *by_hand], included, with_params, reader)
    broken = (source.file for source in application.sources if _is_broken(source))
    lacking = (*broken, *_lacking(wanted, made))
    compiled = list(_compiled(made))
    if not lacking:
        beside = [_Made(item.doc.data, item.doc.name) for item in included]
        _refuse_lists(beside)
        _refuse_duplicates([*compiled, *beside], asked.namespace)
    return Generated([one.data for one in compiled], [item.doc.data for item in included], result, lacking)


def _included(application: Application, manifests: str) -> list[Item]:
    if manifests == "include":
        fault = unfit(application)
        if fault:
            raise RequestError(fault)
        return application.manifests
    if application.manifests and application.profiles and not manifests:
        raise RequestError(left_out(application))
    return []


def _plans(one: Chosen, settings: Settings, reader: Reader) -> Iterator[Plan]:
    own = settings._replace(environments=one.environments, sets=one.sets)
    try:
        yield from plans(one.profile.item, own, reader)
    except RequestError as error:  # about the value of a flag, which here was a parameter
        told = str(error).replace(FLAG, PARAMETER, 1)
        raise RequestError(Redactor(flag_values(one.sets)).text(told)) from None


def _is_broken(source: Source) -> bool:
    """Whether a file that names us has errors in its YAML: nobody can tell which profiles it would hold."""
    faults = (RULES[fault.rule].severity for fault in source.faults)
    return Severity.ERROR in faults and is_ours(source)


def _lacking(wanted: Iterable[Chosen], made: Sequence[Plan]) -> Iterator[str]:
    """The files of the profiles that gave no CR, or of which some variant gave none."""
    giving = {id(plan.item) for plan in made if plan.cr is not None}
    fell_short = {
        id(plan.item) for plan in made if plan.failed or (plan.variant is not None and plan.cr is None)
    }
    for one in wanted:
        item = one.profile.item
        if id(item) not in giving or id(item) in fell_short:
            yield item.doc.name


def _compiled(made: Iterable[Plan]) -> Iterator[_Made]:
    for plan in made:
        if plan.cr is not None:
            file = plan.item.doc.name
            yield _Made(plan.cr.data, f"{file} ({plan.variant})" if plan.variant else file)


def _refuse_lists(made: Iterable[_Made]) -> None:
    """Raises RequestError for what Argo CD takes apart, whatever its kind: nobody has checked the entries."""
    for one in made:
        if isinstance(one.data.get("items"), list):
            raise RequestError(
                f"{one.source}: {one.data['kind']} has a list called items, and Argo CD applies what is in"
                " such a list instead of the object; write each as a document of its own"
            )


def _refuse_duplicates(made: Iterable[_Made], namespace: str) -> None:
    """Raises RequestError where two objects are one for the API server, which knows no version in a name.

    What has no namespace goes to ``namespace``.
    """
    seen: dict[tuple[str, ...], str] = {}
    for one in made:
        named = identity(one.data)
        group = str(named["apiVersion"]).rpartition("/")[0]
        if named["name"] is None:
            raise RequestError(
                f"{one.source}: {named['kind']} has no metadata.name, and Argo CD applies nothing without;"
                " generateName is for kubectl create"
            )
        key = (group, str(named["kind"]), str(named["namespace"] or namespace), str(named["name"]))
        if key in seen:
            raise RequestError(
                f"two objects are both {named['kind']} {named['name']}: from {seen[key]} and from"
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
