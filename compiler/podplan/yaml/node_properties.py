"""What may stand before a scalar or a collection, or instead of it: anchors, tags and aliases.

And the closer look at a scalar that is odd: what deserves a fault or a hint.
"""

from __future__ import annotations

from podplan.core.lazy_regex import pattern
from podplan.core.typing import Any
from podplan.yaml import scalars
from podplan.yaml.budget import Tally
from podplan.yaml.diagnostics import Troubles
from podplan.yaml.plain_scalars import not_json
from podplan.yaml.positions import Merge

# Where an anchor or a tag may stand; each begins with one character, which the search goes for first.
_ANCHOR = pattern(r"&(?<![^\s\[{,:\ufeff]&)(?=[^\s&])")
_TAG = pattern(r"!(?<![^\s\[{,:\ufeff]!)(?!=)")


def any_in(text: str) -> bool:
    """Whether there may be an anchor or a tag in a text."""
    return bool(("&" in text and _ANCHOR.search(text)) or ("!" in text and _TAG.search(text)))


class Properties:
    """The anchors of one document, and its scalars that deserve a hint (``odd``).

    ``merging`` are the mappings with merge keys that are not complete, the innermost last.
    """

    __slots__ = ("_anchors", "_tally", "_troubles", "merging", "odd")

    def __init__(self, troubles: Troubles, tally: Tally) -> None:
        self.odd: list[Any] = []
        self.merging: list[dict[Any, Any]] = []
        self._troubles = troubles
        self._tally = tally
        self._anchors: dict[str, tuple[Any, list[Any] | None, str | None]] = {}

    def forget(self) -> None:
        """Begin the next document, which knows no anchors of those before."""
        self._anchors.clear()

    def anchor(self, name: str, value: Any, places: list[Any]) -> None:
        """Note what collection an anchor stands for."""
        self._anchors[name] = (value, places, None)

    def odd_value(self, event: Any) -> Any:
        """The value of a plain scalar that JSON does not have, or that deserves a hint."""
        value = scalars.resolve(event.value)
        if not_json(value):
            self._troubles.at(
                event, "YAML007", f'JSON has no {event.value}; write a number, or "{event.value}"'
            )
            return event.value
        self.odd.append(event)
        return value

    def _merge_key(self, event: Any, data: Any) -> Merge:
        """The merge key at ``event``; ``data`` is the mapping that has it."""
        if not (self.merging and self.merging[-1] is data):
            self.merging.append(data)
        return Merge(event.start_mark.index)

    def odd_key(self, event: Any, data: Any) -> Any:
        """The key, in ``data``, of a plain scalar that is none or another, or the merge key."""
        if event.value == "<<":
            return self._merge_key(event, data)
        if (key := scalars.key_text(event.value)) is not None:
            return key
        what = "null" if scalars.resolve(event.value) is None else "a number beyond 64 bits"
        self._troubles.at(
            event, "YAML008", f"a key is {what}, which Kubernetes refuses; write a word, or quote it"
        )
        return event.value or "null"

    def key(self, event: Any, data: Any) -> Any:
        """The key, in ``data``, of a scalar that has an anchor or a tag."""
        tag = event.tag
        key: Any = None
        if event.value == "<<" and (
            tag == scalars.TAG_PREFIX + "merge" or (tag is None and event.implicit[0])
        ):
            return self._merge_key(event, data)
        if tag is None and event.implicit[0]:
            key = scalars.key_text(event.value)
        elif tag is None or tag in ("!", scalars.TAG_PREFIX + "str"):
            key = event.value
        else:
            value = self._tagged(event)
            key = value if isinstance(value, str) else scalars.key_text(event.value)
        if key is None:
            key = self.odd_key(event, data)
        if event.anchor is not None:
            self._anchors[event.anchor] = (scalars.resolve(event.value), None, key)
        return key

    def alias_key(self, event: Any) -> str:
        """The key that an alias stands for."""
        anchor = self._anchors.get(event.anchor)
        if anchor is None:
            self._troubles.at(event, "YAML006", _undefined(event.anchor))
        elif anchor[2] is None:
            self._troubles.at(event, "YAML008", f"the key *{event.anchor} is not a string; write a word")
        else:
            return anchor[2]
        return f"*{event.anchor}"

    def scalar(self, event: Any) -> Any:
        """The value of a scalar that has an anchor or a tag."""
        tag = event.tag
        if tag == "!" or (tag is None and not event.implicit[0]):
            value, key = event.value, event.value
        elif tag is None:
            value, key = scalars.resolve(event.value), scalars.key_text(event.value)
            if not_json(value) or scalars.hint(event.value):
                value = self.odd_value(event)
        else:
            value = self._tagged(event)
            key = value if isinstance(value, str) else scalars.key_text(event.value)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, None, key)
        return value

    def _tagged(self, event: Any) -> Any:
        try:
            value = scalars.tagged(event.tag, event.value)
        except ValueError as error:
            self._troubles.at(event, "YAML004", str(error))
            return event.value
        return self.odd_value(event) if not_json(value) else value

    def check_collection_tag(self, event: Any, is_map: bool) -> None:
        """Note a tag that Kubernetes ignores."""
        if event.tag not in ("!", scalars.TAG_PREFIX + ("map" if is_map else "seq")):
            what = "mapping" if is_map else "list"
            message = f"Kubernetes ignores the tag {scalars.shown(event.tag)} on a {what}; remove it"
            self._troubles.at(event, "YAML004", message)

    def alias(self, event: Any, data: Any, stack: list[Any]) -> tuple[Any, list[Any] | None]:
        """The value and the places that an alias stands for; {} where it stands for nothing."""
        self._tally.alias()
        anchor = self._anchors.get(event.anchor)
        if anchor is None:
            self._troubles.at(event, "YAML006", _undefined(event.anchor))
            return {}, None
        value, places, _ = anchor
        if places is not None and (value is data or any(frame[0] is value for frame in stack)):
            message = f"*{event.anchor} stands inside of &{event.anchor} itself; write the values out"
            self._troubles.at(event, "YAML006", message)
            return {}, None
        self._tally.expand(value, len(stack))
        return value, places


def _undefined(name: str) -> str:
    return f'no anchor &{name} stands before *{name}; define it in this document, or quote the "*"'
