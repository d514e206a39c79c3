"""A folder of rendered files: what is to be in it, what is in it, and what has to be done.

A file is podplan's own where it is a regular file that begins with the comment of rendered files. Nothing
else in the folder is touched, and no link in it is followed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Literal, NamedTuple

from podplan.core.errors import RequestError
from podplan.core.limits import BoundExceeded
from podplan.kubernetes.accessors import mapping
from podplan.pipeline import Plan, Settings
from podplan.rendering import rendered
from podplan.rendering.header import RENDERED_FROM, header_of, plan_now, unreadable
from podplan.rendering.spool import Texts
from podplan.workspace import Reader
from podplan.workspace.documents import items
from podplan.workspace.output_folder import Entry
from podplan.yaml import read
from podplan.yaml.writer import emit_document

OURS = "# podplan: rendered "
LIST = "kustomization.yaml"
_LIST_HEADER = OURS + "files in this folder\n"
MAX_NAME_BYTES = 255


class Difference(NamedTuple):
    """A file that is not as it has to be; one that is "in the way" is not podplan's to replace."""

    how: Literal["missing", "stale", "orphaned", "untracked", "in the way"]
    name: str
    what: str


class Files:
    """The files of a folder: the text of each CR by the name of its file, made of plans one after the other.

    ``sources`` are the files of the profiles by the same names; ``nameless`` is the first that gives a CR
    without a name.
    """

    def __init__(self) -> None:
        self.texts = Texts()
        self.sources: dict[str, str] = {}
        self.nameless = ""
        self._taken: dict[str, str] = {}
        self._failure: RequestError | BoundExceeded | None = None

    def add(self, plan: Plan, settings: Settings) -> None:
        """One more plan that has a CR. What is wrong with its file is told after the findings."""
        if self._failure is not None:
            return
        try:
            self._add(plan, settings)
        except (RequestError, BoundExceeded) as error:
            self._failure = error

    def demand_apart(self) -> None:
        """Raises RequestError for a name that no file can have, and for two that are one where case does not
        count; and BoundExceeded where the texts are too much."""
        if self._failure is not None:
            raise self._failure

    def _add(self, plan: Plan, settings: Settings) -> None:
        assert plan.cr is not None
        name, text = file_name(plan), rendered(plan, settings)
        if not _is_plain(name):
            raise RequestError(
                f"{made_from(text)} renders a CR that no file can be named after: {name[:80]!a}"
            )
        other = self._taken.setdefault(name.casefold(), name)
        before = self.texts.get(other)
        if before == text:
            raise RequestError(
                f"{made_from(text)} is rendered into {name} twice;"
                " [[render]] tables overlap, or two documents are the same"
            )
        if before is not None:
            both = f"{name}" if other == name else f"{name}, which some systems do not tell from {other}"
            raise RequestError(
                f"two results would be the file {both}: from {made_from(before)} and from"
                f" {made_from(text)}; give them different names, or render them into different folders"
            )
        self.texts.add(name, text)
        self.sources[name] = plan.item.doc.name
        if not mapping(plan.cr.data, "metadata").get("name"):
            self.nameless = self.nameless or plan.item.doc.name


def made_from(text: str) -> str:
    """What a rendered text says it was made from, such as ``jobs/a.yaml -e prod``."""
    return text.partition("\n")[0].removeprefix(RENDERED_FROM)


def is_ours(head: bytes) -> bool:
    """Whether a file that begins with ``head`` is one that podplan wrote."""
    return head.startswith(OURS.encode())


def listing(names: Iterable[str]) -> str:
    """A kustomization of the files ``names``, so that kustomize reads them and nothing else in the folder."""
    kustomization = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
    return _LIST_HEADER + emit_document({**kustomization, "resources": sorted(names)})


def orphans(
    entries: Mapping[str, Entry], texts: Collection[str], gone: Callable[[str], str | None]
) -> dict[str, str]:
    """The files of podplan's own that are not to be there any more, with a reason.

    ``gone`` says of a file that is not among ``texts`` why nothing renders it; None where something does.
    """
    left = (name for name, entry in entries.items() if name not in texts and is_ours(entry.head))
    reasons = ((name, "lists the files here for nobody" if name == LIST else gone(name)) for name in left)
    return {name: reason for name, reason in reasons if reason is not None}


def no_longer_rendered(path: str, content: bytes, settings: Settings, reader: Reader) -> str | None:
    """Why the source of a rendered file renders it no more; None where it does, or nobody can tell.

    Raises RequestError for a source that is there and cannot be read: what it renders is not gone.
    """
    for item in items(read(content, path)):
        said = header_of(item) if item.what == "cr" else None
        if said is not None:
            fault = unreadable(item, said, reader)
            if fault:
                raise RequestError(
                    f"{said.file} cannot be read, so {path} has nothing to be made from: {fault}"
                )
            now = plan_now(item, said, settings, reader)
            return now if isinstance(now, str) else None
    return None


def differences(
    entries: Mapping[str, Entry],
    texts: Mapping[str, str],
    orphaned: Mapping[str, str],
    content: Callable[[str], bytes],
    tracked: Collection[str] | None,
) -> list[Difference]:
    """Where the files of a folder are not exactly as they have to be, in order of their names.

    ``content`` reads a file; ``tracked`` are the names that git knows, None where there is no git.
    """
    found = [Difference("orphaned", name, reason) for name, reason in orphaned.items()]
    for name, text in texts.items():
        entry = entries.get(name)
        if entry is None:
            found.append(Difference("missing", name, f"{_renders(text)} it"))
            continue
        if entry.is_not or not is_ours(entry.head):
            found.append(Difference("in the way", name, _foreign(entry, text)))
            continue
        now = content(name)
        if now != text.encode():
            found.append(Difference("stale", name, _stale(now, text)))
        if tracked is not None and name not in tracked:
            found.append(Difference("untracked", name, "git does not know it yet; git add it"))
    return sorted(found, key=lambda one: one.name)


def _foreign(entry: Entry, text: str) -> str:
    why = f"it is {entry.is_not}" if entry.is_not else "podplan did not write it"
    return f"{why}, and {_renders(text)} a file of this name; move it away"


def _stale(now: bytes, text: str) -> str:
    if now.replace(b"\r\n", b"\n") == text.encode():
        return 'it has not the line breaks that podplan writes; "*.yaml eol=lf" in .gitattributes keeps them'
    return f"{_renders(text)} something else now"


def _renders(text: str) -> str:
    return "podplan writes" if text.startswith(_LIST_HEADER) else f"{made_from(text)} renders"


def file_name(plan: Plan) -> str:
    """The name of the file of a CR: namespace (if set), kind and name."""
    assert plan.cr is not None
    metadata = mapping(plan.cr.data, "metadata")
    named = metadata.get("name") or metadata.get("generateName")
    parts = (metadata.get("namespace"), plan.cr.data["kind"].lower(), named)
    return "-".join(str(part) for part in parts if part) + ".yaml"


def _is_plain(name: str) -> bool:
    """Whether a name is that of a file in a folder, wherever it is checked out."""
    return (
        name.isprintable()
        and not set(name) & set('/\\:*?"<>|')
        and not name.startswith(".")
        and len(name.encode(errors="replace")) <= MAX_NAME_BYTES
    )
