"""podplan lower --compare: a job against what a cluster made of it, and settings for what differs."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from podplan.cli.exit_codes import CLEAN, FINDINGS, WRONG_REQUEST
from podplan.cli.output import reason, replace_file, write, write_text
from podplan.cli.plan_loader import produce
from podplan.config.files import named, nearest
from podplan.core.errors import RequestError
from podplan.core.limits import MAX_FILE_BYTES
from podplan.core.provenance import Doc
from podplan.core.typing import Any
from podplan.pipeline import Plan, Settings
from podplan.redaction.redactor import Redactor, build_redactor, path_steps, redact_change
from podplan.report import cluster_diff
from podplan.schema import check_cr
from podplan.schema.pruning import pruned
from podplan.tools.cluster_diff.adoption import adoption
from podplan.tools.cluster_diff.aggregation import Told, folded
from podplan.tools.cluster_diff.config_writer import with_settings
from podplan.tools.cluster_diff.kubectl_dump import ASKED, Dump, Object, of_job, read_dump
from podplan.tools.cluster_diff.observed_job import Compared, compared
from podplan.tools.cluster_diff.uid_suffix import without_digits
from podplan.workspace.files import demand_inside, in_user_terms, root_of

_STANDARD_INPUT = "-"


def compare(paths: Sequence[str], dump: str, adopt: bool, format_: str, flags: Mapping[str, Any]) -> int:
    """Print what differs, and write the settings that adopt it where that is asked for.

    Raises RequestError for a dump that cannot be compared, and for a configuration that cannot be written.
    """
    path = (*paths, ".")[0]
    file = "standard input" if dump == _STANDARD_INPUT else dump
    jobs = _Jobs(dump, file)
    made = produce(paths, frozenset({"profile", "cr"}), jobs.add, **flags)
    if made.code != CLEAN:
        return WRONG_REQUEST
    settings = made.request.settings
    target = _target(path, flags) if adopt else ""
    cr, found = jobs.one(path)
    options = settings.options
    uid = cr.data["metadata"].get("uid") or options.uid
    if uid and found.uid and uid != found.uid:
        raise RequestError(
            f"{file} is of another {cr.data['metadata']['name']}, whose uid is {found.uid}, not {uid}"
        )
    options = options._replace(uid=uid or found.uid)
    objects, digits = (found.objects, "") if options.uid else without_digits(found.objects, _name(cr))
    before = compared(pruned(cr, check_cr(cr.data, settings.k8s_version).problems), options, objects)
    wanted = adoption(before)
    notes = [*_notes(found.others), *_lacking(before), f"not compared: {_left_out(options.uid, objects)}"]
    if digits:
        notes.append(f'no uid is told, so "{digits}" is left out of all names (--uid compares it)')
    left = len(before.differences) > 0
    if adopt and wanted.values:
        _write(target, before.kind, wanted.values)
        left = bool(wanted.after.differences)
        count = len(wanted.values)
        notes.append(f"wrote {count} setting{'' if count == 1 else 's'} into {target}")
    render, out = (cluster_diff.as_json, write) if format_ == "json" else (cluster_diff.as_text, write_text)
    secrets = build_redactor((cr.data, *found.objects))
    told = [_redacted(one, secrets) for one in folded(before.differences, wanted.by)]
    out(render(told, secrets.value(dict(wanted.values)), before.kind, notes))
    return FINDINGS if left else CLEAN


class _Jobs:
    """The jobs that a dump has objects of, among plans that come one after the other."""

    def __init__(self, dump: str, file: str) -> None:
        self._dump, self._file = dump, file
        self._objects: list[Object] | None = None
        self._names: list[str] = []
        self._nameless = False
        self._there: list[tuple[Doc, Dump, str]] = []
        self._failure: RequestError | None = None

    def add(self, plan: Plan, _: Settings) -> None:
        """One more plan that has a CR. What is wrong with the dump is told after the findings."""
        if plan.cr is None or not plan.lowered:
            return
        self._nameless |= not plan.cr.data["metadata"].get("name")
        if self._nameless or self._failure is not None:
            return
        called = f"{plan.cr.data['kind']} {_name(plan.cr)}{_of_namespace(plan.cr)}"
        self._names.append(called)
        try:
            if self._objects is None:
                self._objects = read_dump(_content(self._dump), self._file)
            found = of_job(self._objects, plan.cr, self._file)
        except RequestError as error:
            self._failure = error
        else:
            self._there += [(plan.cr, found, called)] if found.objects else []

    def one(self, path: str) -> tuple[Doc, Dump]:
        """The one job that the dump has objects of, and those. Raises RequestError."""
        if self._nameless:
            raise RequestError(f"{path}: the job has no name yet; write the one that it has in the cluster")
        if self._failure is not None:
            raise self._failure
        if not self._names:
            raise RequestError(f"{path}: no training job and no profile of one")
        if len(self._there) == 1:
            return self._there[0][:2]
        if self._there:
            names = ", ".join(called for _, _, called in self._there)
            raise RequestError(f"{self._file} holds objects of several jobs ({names}); keep those of one")
        raise RequestError(f"{self._file} holds nothing of {', '.join(self._names)}")


def _redacted(told: Told, secrets: Redactor) -> Told:
    predicted, real = redact_change(told.predicted, told.real, path_steps(told.part), told.kind, secrets)
    return told._replace(predicted=predicted, real=real)


def _name(job: Doc) -> str:
    return str(job.data["metadata"]["name"])


def _of_namespace(job: Doc) -> str:
    namespace = job.data["metadata"].get("namespace")
    return f" in the namespace {namespace}" if namespace else ""


def _content(dump: str) -> bytes:
    try:
        if dump == _STANDARD_INPUT:
            return sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
        demand_inside(dump)
        with open(dump, "rb") as stream:
            return stream.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise RequestError(f"cannot read {dump}: {reason(error)}; it is to be what {ASKED} prints") from None


def _notes(others: Mapping[str, int]) -> list[str]:
    told = ", ".join(f"{number} {kind}" for kind, number in sorted(others.items()))
    return [f"of other jobs, and not looked at: {told}"] if told else []


def _lacking(before: Compared) -> list[str]:
    """Of kinds that the dump has none of: maybe nobody asked for them."""
    there = {one["kind"] for one in before.real}
    kinds = [kind for kind in dict.fromkeys(one.kind for one in before.matched.missing) if kind not in there]
    return (
        [f"there is no {' and no '.join(kinds)} of this job at all; is the dump what {ASKED} prints?"]
        if kinds
        else []
    )


def _left_out(uid: str, objects: Sequence[Mapping[str, Any]]) -> str:
    kinds = ["Secrets", "what the cluster sets itself"]
    if not any(one["kind"] == "TensorBoard" for one in objects):
        kinds.insert(1, "TensorBoards")
    return ", ".join(kinds if uid else [*kinds, "ownerReferences, without a uid"])


def _target(path: str, flags: Mapping[str, Any]) -> str:
    """The configuration file to write: the one in force, else a new one at the root."""
    if flags["isolated"]:
        raise RequestError("--adopt writes into the configuration, which --isolated leaves out")
    found = named(flags["config"]) if flags["config"] else nearest(path)
    return (
        found.shown if found is not None else in_user_terms(os.path.join(root_of(path), "podplan.toml"), path)
    )


def _write(target: str, kind: str, values: Mapping[str, Any]) -> None:
    text = ""
    if os.path.exists(target):
        with open(target, "rb") as stream:
            text = stream.read().decode().removeprefix("\ufeff")
    unix = text.replace("\r\n", "\n")
    changed = with_settings(unix, target, kind, values)
    replace_file(os.path.realpath(target), changed if unix == text else changed.replace("\n", "\r\n"))
