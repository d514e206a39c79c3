"""Properties of nodes: anchors, tags and aliases; and scalars that need an error or a hint."""

from __future__ import annotations

from podplan.core.lazy_regex import compile_lazily
from podplan.core.typing import Any
from podplan.yaml import scalars
from podplan.yaml.budget import ParseBudget
from podplan.yaml.diagnostics import DiagnosticCollector
from podplan.yaml.plain_scalars import is_not_json
from podplan.yaml.positions import MergeKey

# Where an anchor or a tag may be; each pattern begins with one character, for a fast search.
_ANCHOR_START = compile_lazily(r"&(?<![^\s\[{,:\ufeff]&)(?=[^\s&])")
_TAG_START = compile_lazily(r"!(?<![^\s\[{,:\ufeff]!)(?!=)")


def may_have_properties(text: str) -> bool:
    """Whether a text may contain an anchor or a tag."""
    return bool(("&" in text and _ANCHOR_START.search(text)) or ("!" in text and _TAG_START.search(text)))


class NodeProperties:
    """The anchors of one document, and its scalars with a hint.

    ``odd_scalars`` get a hint; ``open_merges`` are the mappings with incomplete merge keys, innermost last.
    """

    __slots__ = ("_anchors", "_budget", "_diagnostics", "odd_scalars", "open_merges")

    def __init__(self, diagnostics: DiagnosticCollector, budget: ParseBudget) -> None:
        self.odd_scalars: list[Any] = []
        self.open_merges: list[dict[Any, Any]] = []
        self._diagnostics = diagnostics
        self._budget = budget
        self._anchors: dict[str, tuple[Any, list[Any] | None, str | None]] = {}

    def start_document(self) -> None:
        """Begin the next document, without the anchors of earlier ones."""
        self._anchors.clear()

    def add_anchor(self, name: str, value: Any, positions: list[Any]) -> None:
        """Record the collection of an anchor."""
        self._anchors[name] = (value, positions, None)

    def resolve_odd_value(self, event: Any) -> Any:
        """Return the value of a plain scalar that JSON does not have, or that gets a hint."""
        value = scalars.resolve_plain(event.value)
        if is_not_json(value):
            self._diagnostics.add_at(
                event, "YAML007", f'JSON has no {event.value}; write a number, or "{event.value}"'
            )
            return event.value
        self.odd_scalars.append(event)
        return value

    def _make_merge_key(self, event: Any, data: Any) -> MergeKey:
        """Return the merge key at ``event``; ``data`` is its mapping."""
        if not (self.open_merges and self.open_merges[-1] is data):
            self.open_merges.append(data)
        return MergeKey(event.start_mark.index)

    def resolve_odd_key(self, event: Any, data: Any) -> Any:
        """Return the key, in ``data``, of a plain scalar that is no valid key or reads differently, or the
        merge key."""
        if event.value == "<<":
            return self._make_merge_key(event, data)
        if (key := scalars.resolve_plain_key(event.value)) is not None:
            return key
        problem = "null" if scalars.resolve_plain(event.value) is None else "a number beyond 64 bits"
        self._diagnostics.add_at(
            event, "YAML008", f"a key is {problem}, which Kubernetes refuses; write a word, or quote it"
        )
        return event.value or "null"

    def resolve_key(self, event: Any, data: Any) -> Any:
        """Return the key, in ``data``, of a scalar with an anchor or a tag."""
        tag = event.tag
        key: Any = None
        if event.value == "<<" and (
            tag == scalars.TAG_PREFIX + "merge" or (tag is None and event.implicit[0])
        ):
            return self._make_merge_key(event, data)
        if tag is None and event.implicit[0]:
            key = scalars.resolve_plain_key(event.value)
        elif tag is None or tag in ("!", scalars.TAG_PREFIX + "str"):
            key = event.value
        else:
            value = self._resolve_tagged(event)
            key = value if isinstance(value, str) else scalars.resolve_plain_key(event.value)
        if key is None:
            key = self.resolve_odd_key(event, data)
        if event.anchor is not None:
            self._anchors[event.anchor] = (scalars.resolve_plain(event.value), None, key)
        return key

    def resolve_alias_key(self, event: Any) -> str:
        """Return the key for an alias."""
        anchor = self._anchors.get(event.anchor)
        if anchor is None:
            self._diagnostics.add_at(event, "YAML006", _explain_undefined_anchor(event.anchor))
        elif anchor[2] is None:
            self._diagnostics.add_at(
                event, "YAML008", f"the key *{event.anchor} is not a string; write a word"
            )
        else:
            return anchor[2]
        return f"*{event.anchor}"

    def resolve_scalar(self, event: Any) -> Any:
        """Return the value of a scalar with an anchor or a tag."""
        tag = event.tag
        if tag == "!" or (tag is None and not event.implicit[0]):
            value, key = event.value, event.value
        elif tag is None:
            value, key = scalars.resolve_plain(event.value), scalars.resolve_plain_key(event.value)
            if is_not_json(value) or scalars.explain_implicit_type(event.value):
                value = self.resolve_odd_value(event)
        else:
            value = self._resolve_tagged(event)
            key = value if isinstance(value, str) else scalars.resolve_plain_key(event.value)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, None, key)
        return value

    def _resolve_tagged(self, event: Any) -> Any:
        try:
            value = scalars.resolve_tagged(event.tag, event.value)
        except ValueError as error:
            self._diagnostics.add_at(event, "YAML004", str(error))
            return event.value
        return self.resolve_odd_value(event) if is_not_json(value) else value

    def check_collection_tag(self, event: Any, is_map: bool) -> None:
        """Report a tag that Kubernetes ignores."""
        if event.tag not in ("!", scalars.TAG_PREFIX + ("map" if is_map else "seq")):
            collection = "mapping" if is_map else "list"
            message = (
                f"Kubernetes ignores the tag {scalars.format_tag(event.tag)} on a {collection}; remove it"
            )
            self._diagnostics.add_at(event, "YAML004", message)

    def resolve_alias(self, event: Any, data: Any, stack: list[Any]) -> tuple[Any, list[Any] | None]:
        """Return the value and the positions of an alias; {} if it is invalid."""
        self._budget.count_alias()
        anchor = self._anchors.get(event.anchor)
        if anchor is None:
            self._diagnostics.add_at(event, "YAML006", _explain_undefined_anchor(event.anchor))
            return {}, None
        value, positions, _ = anchor
        if positions is not None and (value is data or any(frame[0] is value for frame in stack)):
            message = f"*{event.anchor} stands inside of &{event.anchor} itself; write the values out"
            self._diagnostics.add_at(event, "YAML006", message)
            return {}, None
        self._budget.count_expansion(value, len(stack))
        return value, positions


def _explain_undefined_anchor(name: str) -> str:
    return f'no anchor &{name} stands before *{name}; define it in this document, or quote the "*"'
