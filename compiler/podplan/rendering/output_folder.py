"""An output folder: expected files, existing files, and the differences.

A file is podplan's own if it is a regular file that begins with the header of rendered files. Nothing else in
the folder is touched, and no link in it is followed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Literal, NamedTuple

from podplan.core.errors import UsageError
from podplan.core.limits import LimitExceeded
from podplan.kinds.registry import resource_label
from podplan.kubernetes.accessors import get_mapping
from podplan.pipeline import JobPlan, PipelineSettings
from podplan.rendering import render_cr
from podplan.rendering.header import find_source_error, parse_header, plan_from_source
from podplan.rendering.spool import Texts
from podplan.workspace.documents import RENDER_HEADER_PREFIX, classify_documents
from podplan.workspace.loader import Loader
from podplan.workspace.output_folder import FolderEntry
from podplan.yaml import parse_yaml
from podplan.yaml.writer import emit_document

OWNED_FILE_PREFIX = "# podplan: rendered "
KUSTOMIZATION_FILE = "kustomization.yaml"
_KUSTOMIZATION_HEADER = OWNED_FILE_PREFIX + "files in this folder\n"
MAX_NAME_BYTES = 255


class FileDifference(NamedTuple):
    """A file that differs from the expected one; podplan does not replace one that is "in the way"."""

    status: Literal["missing", "stale", "orphaned", "untracked", "in the way"]
    name: str
    description: str


class Files:
    """The expected files of a folder: the text of each CR by the name of its file.

    ``sources`` are the files of the profiles by the same names; ``nameless`` is the first that has a CR
    without a name.
    """

    def __init__(self) -> None:
        self.texts = Texts()
        self.sources: dict[str, str] = {}
        self.nameless = ""
        self._taken: dict[str, str] = {}
        self._failure: UsageError | LimitExceeded | None = None

    def add(self, plan: JobPlan, settings: PipelineSettings) -> None:
        """Add a plan that has a CR. Errors about its file are raised after the findings are reported."""
        if self._failure is not None:
            return
        try:
            self._add(plan, settings)
        except (UsageError, LimitExceeded) as error:
            self._failure = error

    def demand_apart(self) -> None:
        """Require file names that are valid and unique, ignoring case.

        Raises UsageError: if they are not. Raises LimitExceeded: if the texts are too long.
        """
        if self._failure is not None:
            raise self._failure

    def _add(self, plan: JobPlan, settings: PipelineSettings) -> None:
        assert plan.cr is not None
        name, text = build_file_name(plan), render_cr(plan, settings)
        if not _is_portable_name(name):
            raise UsageError(
                f"{describe_source(text)} renders a CR that no file can be named after: {name[:80]!a}"
            )
        other = self._taken.setdefault(name.casefold(), name)
        before = self.texts.get(other)
        if before == text:
            raise UsageError(
                f"{describe_source(text)} is rendered into {name} twice;"
                " [[render]] tables overlap, or two documents are the same"
            )
        if before is not None:
            both = f"{name}" if other == name else f"{name}, which some systems do not tell from {other}"
            raise UsageError(
                f"two results would be the file {both}: from {describe_source(before)} and from"
                f" {describe_source(text)}; give them different names, or render them into different folders"
            )
        self.texts.add(name, text)
        self.sources[name] = plan.item.doc.name
        if not get_mapping(plan.cr.data, "metadata").get("name"):
            self.nameless = self.nameless or plan.item.doc.name


def describe_source(text: str) -> str:
    """Return the source in the header of a rendered text, such as ``jobs/a.yaml -e prod``."""
    return text.partition("\n")[0].removeprefix(RENDER_HEADER_PREFIX)


def is_owned_file(head: bytes) -> bool:
    """Whether podplan wrote a file that begins with ``head``."""
    return head.startswith(OWNED_FILE_PREFIX.encode())


def render_kustomization(file_names: Iterable[str]) -> str:
    """Return a kustomization of ``file_names``, so that kustomize ignores other files in the folder."""
    kustomization = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
    return _KUSTOMIZATION_HEADER + emit_document({**kustomization, "resources": sorted(file_names)})


def find_orphans(
    entries: Mapping[str, FolderEntry],
    texts: Collection[str],
    explain_missing_source: Callable[[str], str | None],
) -> dict[str, str]:
    """Return podplan's own files that should be removed, with a reason.

    ``explain_missing_source`` returns for a file that is not in ``texts`` why nothing renders it, or None.
    """
    owned_names = (name for name, entry in entries.items() if name not in texts and is_owned_file(entry.head))
    reasons = (
        (
            name,
            "lists the files here for nobody" if name == KUSTOMIZATION_FILE else explain_missing_source(name),
        )
        for name in owned_names
    )
    return {name: reason for name, reason in reasons if reason is not None}


def explain_orphan(path: str, content: bytes, settings: PipelineSettings, reader: Loader) -> str | None:
    """Return why the source of a rendered file does not render it any more; None if it does, or that is
    unknown.

    Raises UsageError: if the source exists and cannot be read.
    """
    for item in classify_documents(parse_yaml(content, path)):
        render_header = parse_header(item) if item.category == "cr" else None
        if render_header is not None:
            source_error = find_source_error(item, render_header, reader)
            if source_error:
                raise UsageError(
                    f"{render_header.source_file} cannot be read, so {path} has nothing to be made from:"
                    f" {source_error}"
                )
            current_plan = plan_from_source(item, render_header, settings, reader)
            return current_plan if isinstance(current_plan, str) else None
    return None


def find_differences(
    entries: Mapping[str, FolderEntry],
    texts: Mapping[str, str],
    orphan_reasons: Mapping[str, str],
    read_content: Callable[[str], bytes],
    tracked_names: Collection[str] | None,
) -> list[FileDifference]:
    """Return the differences between the files of a folder and the expected ones, sorted by name.

    ``read_content`` reads a file; ``tracked_names`` are the names in the git index, None without git.
    """
    file_differences = [FileDifference("orphaned", name, reason) for name, reason in orphan_reasons.items()]
    for name, text in texts.items():
        entry = entries.get(name)
        if entry is None:
            file_differences.append(FileDifference("missing", name, f"{_describe_renderer(text)} it"))
            continue
        if entry.other_type or not is_owned_file(entry.head):
            file_differences.append(FileDifference("in the way", name, _describe_foreign_file(entry, text)))
            continue
        current_content = read_content(name)
        if current_content != text.encode():
            file_differences.append(
                FileDifference("stale", name, _describe_stale_file(current_content, text))
            )
        if tracked_names is not None and name not in tracked_names:
            file_differences.append(FileDifference("untracked", name, "git does not know it yet; git add it"))
    return sorted(file_differences, key=lambda one: one.name)


def _describe_foreign_file(entry: FolderEntry, text: str) -> str:
    reason = f"it is {entry.other_type}" if entry.other_type else "podplan did not write it"
    return f"{reason}, and {_describe_renderer(text)} a file of this name; move it away"


def _describe_stale_file(current_content: bytes, text: str) -> str:
    if current_content.replace(b"\r\n", b"\n") == text.encode():
        return 'it has not the line breaks that podplan writes; "*.yaml eol=lf" in .gitattributes keeps them'
    return f"{_describe_renderer(text)} something else now"


def _describe_renderer(text: str) -> str:
    return "podplan writes" if text.startswith(_KUSTOMIZATION_HEADER) else f"{describe_source(text)} renders"


def build_file_name(plan: JobPlan) -> str:
    """Return the name of the file of a CR: namespace (if set), kind and name.

    The kind includes its group if another group has a kind with this name.
    """
    assert plan.cr is not None
    kind = resource_label(plan.cr.data["apiVersion"], plan.cr.data["kind"]).lower()
    metadata = get_mapping(plan.cr.data, "metadata")
    job_name = metadata.get("name") or metadata.get("generateName")
    parts = (metadata.get("namespace"), kind, job_name)
    return "-".join(str(part) for part in parts if part) + ".yaml"


def _is_portable_name(name: str) -> bool:
    """Whether a name is valid for a file on every platform."""
    return (
        name.isprintable()
        and not set(name) & set('/\\:*?"<>|')
        and not name.startswith(".")
        and len(name.encode(errors="replace")) <= MAX_NAME_BYTES
    )
