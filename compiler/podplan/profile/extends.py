"""``extends``: the bases of a profile laid under it, left to right, self last."""

from __future__ import annotations

from collections.abc import Callable

from podplan.core.findings import Problem
from podplan.core.limits import MAX_BASE_NODES, MAX_BASES, MAX_EXTENDS_DEPTH, beyond
from podplan.core.provenance import Cursor, Doc, at, copied, root, split, trace
from podplan.core.typing import Any
from podplan.profile.merge import OPENING, Problems, kept, merge

Load = Callable[[str, Doc], "Doc | Problem"]
BASE_KINDS = ("JobProfileBase", "JobProfile")
_INHERITED = ("namespace", "labels", "annotations")


def extend(profile: Doc, load: Load, problems: Problems) -> Doc:
    """``profile`` over its bases, as one document; the profile itself when it extends nothing.

    ``load(reference, from_doc)`` gives the document that a reference names, or a Problem. Faults go to
    ``problems``, at the entry of ``extends`` that leads to them, and that base is left out.
    """
    return _Reading(load, problems).whole(profile, ())


class _Reading:
    """The bases read so far: a base that is reached on two ways is merged once."""

    def __init__(self, load: Load, problems: Problems) -> None:
        self.load = load
        self.problems = problems
        self.known: dict[tuple[Any, ...], Doc] = {}
        self.steps = 0
        self.laid = 0

    def whole(self, doc: Doc, chain: tuple[Doc, ...]) -> Doc:
        key = _key(doc)
        if key not in self.known:
            self.known[key] = self._merged(doc, (*chain, doc))
        return self.known[key]

    def _merged(self, doc: Doc, chain: tuple[Doc, ...]) -> Doc:
        references = root(doc).get("spec", "extends")
        if not references.exists:
            return doc
        if not isinstance(references.value, list):
            message = "extends is not a list of files; write extends: [FILE]"
            self.problems.append((doc, Problem("PROF001", message, references.path)))
            return doc
        self.steps += len(references.value)
        if self.steps > MAX_BASES:
            message = (
                f"a profile may extend {MAX_BASES} bases at most, counting those of its bases; merge some"
            )
            self.problems.append((doc, Problem("PROF017", beyond("bases", message), references.path)))
            return doc
        whole: Doc | None = None
        for entry in references.entries():
            base = self._base(entry, chain)
            if base is not None:
                whole = base if whole is None else laid_over(whole, base, self.problems)
                self.laid += len(whole.origins)
            if self.laid > MAX_BASE_NODES:
                message = (
                    f"the bases of a profile may come to {MAX_BASE_NODES} values at most, "
                    "counted anew at each base that is laid over others; merge some"
                )
                self.problems.append(
                    (doc, Problem("PROF017", beyond("base-nodes", message), references.path))
                )
                return doc
        return doc if whole is None else laid_over(whole, doc, self.problems)

    def _base(self, entry: Cursor, chain: tuple[Doc, ...]) -> Doc | None:
        reference = entry.value
        if not isinstance(reference, str) or not reference:
            return self._refused(entry, "PROF001", "an entry of extends is not the path of a file")
        if OPENING in reference:
            return self._refused(entry, "PROF010", "extends may not hold an expression; name the file itself")
        base = self.load(reference, entry.doc)
        if isinstance(base, Problem):
            place = base.path or entry.path
            self.problems.append((entry.doc, base._replace(path=place)))
            return None
        kind = base.data.get("kind") if isinstance(base.data, dict) else None
        if kind not in BASE_KINDS:
            said = f"is a {kind}" if isinstance(kind, str) else "has no kind"
            message = f"{reference} {said}, and only a JobProfileBase or a JobProfile can be extended"
            return self._refused(entry, "PROF002", message)
        keys = [_key(doc) for doc in chain]
        if _key(base) in keys:
            loop = [*chain[keys.index(_key(base)) :], base]
            names = " → ".join(_file(doc) for doc in loop)
            return self._refused(
                entry, "PROF002", f"extends goes in a circle: {names}; remove one of the steps"
            )
        if len(chain) > MAX_EXTENDS_DEPTH:
            message = f"extends is more than {MAX_EXTENDS_DEPTH} files deep; extend a base nearer to the root"
            return self._refused(entry, "PROF017", beyond("extends-depth", message))
        return self.whole(base, chain)

    def _refused(self, entry: Cursor, rule: str, message: str) -> Doc | None:
        self.problems.append((entry.doc, Problem(rule, message, entry.path)))
        return None


def laid_over(base: Doc, over: Doc, problems: Problems) -> Doc:
    """Two profiles as one: their specs merged, and of the metadata all but the name inherited."""
    lower, upper = root(base), root(over)
    tree: dict[str, Any] = {
        key: kept(upper.get(key)) for key in upper.value if key not in ("metadata", "spec")
    }
    tree["metadata"] = _metadata(lower.get("metadata"), upper.get("metadata"), problems)
    tree["spec"] = _spec(lower.get("spec"), upper.get("spec"), problems)
    return split(at(upper, tree), over.name)


def _metadata(base: Cursor, over: Cursor, problems: Problems) -> Any:
    if not isinstance(base.value, dict) or not (isinstance(over.value, dict) or not over.exists):
        return over
    inherited = split(
        at(base, {key: base.get(key) for key in _INHERITED if base.get(key).exists}), base.doc.name
    )
    return merge(root(inherited), over, problems) if over.exists else copied(root(inherited))


def _spec(base: Cursor, over: Cursor, problems: Problems) -> Any:
    return merge(base, over, problems) if over.exists else kept(base)


def _key(doc: Doc) -> tuple[Any, ...]:
    last = trace(doc, ())[-1]
    source = last.doc.source
    return (source.file, source.index, last.path) if source is not None else (id(doc),)


def _file(doc: Doc) -> str:
    source = trace(doc, ())[-1].doc.source
    return source.file if source is not None else doc.name
