"""Old spellings in profiles, and the launcher dialect of ColossalAIJob that a profile asks for."""

from __future__ import annotations

from collections.abc import Iterator

from podplan.core.findings import Change, Path
from podplan.core.typing import Any
from podplan.schema.old_spellings import old_kind
from podplan.tools.formatter.comments import commented
from podplan.tools.formatter.document_spans import Extent
from podplan.tools.formatter.rewriting import rewritten
from podplan.tools.migrator.old_spellings import without
from podplan.yaml import Document, read
from podplan.yaml.edits.application import applied
from podplan.yaml.edits.changes import Refused, edits_for

Data = dict[str, Any]


def overlays(data: Data) -> Iterator[tuple[Path, Data]]:
    """The spec of a profile or base, and its environments."""
    spec = data.get("spec")
    if not isinstance(spec, dict):
        return
    yield ("spec",), spec
    environments = spec.get("environments")
    for name, overlay in environments.items() if isinstance(environments, dict) else ():
        if isinstance(overlay, dict):
            yield ("spec", "environments", name), overlay


def patches(data: Data) -> Iterator[tuple[Path, Data]]:
    """Each override as the part of a CR that it is, with where it stands."""
    spec = data.get("spec")
    job = spec.get("job") if isinstance(spec, dict) else None
    for path, overlay in overlays(data):
        override = overlay.get("override")
        for index, entry in enumerate(override if isinstance(override, list) else ()):
            if isinstance(entry, dict) and isinstance(entry.get("spec"), dict):
                kind = (old_kind(job) or job) if isinstance(job, str) else ""
                yield (*path, "override", index), {"kind": kind, "spec": entry["spec"]}


def launcher_dialects(data: Data) -> list[Path]:
    """Where a profile or base asks for the launcher dialect."""
    found = []
    for path, overlay in overlays(data):
        block = overlay.get("colossalai")
        if isinstance(block, dict) and block.get("dialect") == "launcher":
            found.append((*path, "colossalai", "dialect"))
    return found


def without_dialect(document: Document, path: Path, extent: Extent) -> str:
    """The text of the document, which is ``extent``, without the dialect at ``path``. Raises Refused.

    There a launcher has no template, so ``pod`` of the spec is not for it; its role then says so.
    """
    for where, patch in patches(document.data):
        beside = [name for name in ("launcher", "worker") if name in patch["spec"]]
        if beside:
            number = where[-1] + 1 if isinstance(where[-1], int) else 1
            raise Refused(f"override {number} is about {beside[0]}, which the other dialect does not have")
    text = _removed(document, path, extent)
    if not any("pod" in overlay for _, overlay in overlays(document.data)):
        return text
    after = read(text.encode(), document.file).documents
    if len(after) != 1:
        raise Refused("the document cannot be read without what stands above it")
    change = _launcher_without_pod(after[0].data["spec"])
    return applied(text, edits_for(after[0], change)) if change is not None else text


def _removed(document: Document, path: Path, extent: Extent) -> str:
    """The text of a document without a field, and the map that held nothing else, and their comments."""
    tree = commented(document.text, extent.tree, extent.start, extent.end)
    try:
        new, _ = without(tree, path)
    except LookupError:
        raise Refused("it comes through an alias or a merge key") from None
    return rewritten(document.text, tree, new, extent.start, extent.end)


def _launcher_without_pod(spec: Data) -> Change | None:
    """The change that keeps ``pod`` of the spec from the launcher; None where it has one of its own."""
    roles = spec.get("roles")
    if not isinstance(roles, list):
        return Change("", "set", ("spec", "roles"), [{"name": "launcher", "pod": None}])
    names = [role.get("name") if isinstance(role, dict) else None for role in roles]
    if "launcher" not in names:
        raise Refused(
            "the launcher would get what pod says; write {name: launcher, pod: null} into roles first"
        )
    index = names.index("launcher")
    if "pod" in roles[index]:
        return None
    return Change("", "set", ("spec", "roles", index, "pod"), None)
