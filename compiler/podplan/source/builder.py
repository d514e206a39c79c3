"""The events of libyaml's parser -> plain data as Kubernetes reads it, and the mark of every part.

One loop without recursion, so that no input can exhaust the stack, and with few calls, because calls
are what costs. What is rare (anchors, tags, merge keys, odd keys) lives in methods beside the loop.
How positions are kept: ``places``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from yaml import cyaml
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from podplan.limits import MAX_DEPTH
from podplan.source import scalars
from podplan.source.places import HEAD, MAP_STRIDE, Alias, Merge, Table, repeated_keys, table
from podplan.source.scalars import NUMBER_STARTS, WORDS
from podplan.source.tally import Tally

_KEY_STARTS = NUMBER_STARTS | {"<"}
_LONGEST_SHOWN = 60
_INFINITE = (float("inf"), float("-inf"))
# Where an anchor or a tag may stand; each begins with one character, which the search goes for first.
_ANCHOR = re.compile(r"&(?<![^\s\[{,:\ufeff]&)(?=[^\s&])")
_TAG = re.compile(r"!(?<![^\s\[{,:\ufeff]!)(?!=)")


class Built(NamedTuple):
    """One document: its data, its place (value start and end), the offset where its text begins,
    and the keys of its mappings that have merge keys."""

    data: Any
    place: Any
    place_end: Any
    start: int
    tables: dict[int, Table]


class Trouble(NamedTuple):
    """A fault before anybody looked up the line: offsets into the text that was parsed.

    ``message`` may hold ``{line}``, which stands for the line of the offset ``first``.
    """

    rule: str
    message: str
    start: int
    end: int
    document: int
    first: int = -1


class _Odd(Exception):
    """A plain scalar or key that needs a closer look."""


class _Values(dict[str, Any]):
    """Plain scalars -> values, each worked out once; raises _Odd for what deserves a fault or a hint."""

    def __missing__(self, text: str) -> Any:
        value = scalars.resolve(text)
        if value.__class__ is not str and (_not_json(value) or scalars.hint(text)):
            raise _Odd
        self[text] = value
        return value


class _Keys(dict[str, str]):
    """Plain scalars -> keys, each worked out once; raises _Odd for the merge key and for what is no key."""

    def __missing__(self, text: str) -> str:
        key = scalars.key_text(text)
        if key is None or text == "<<":
            raise _Odd
        self[text] = key
        return key


class Builder:
    """Builds the documents of one text; what was built before a syntax error stays in ``documents``.

    ``first`` is the index of the first document. ``hints`` are what YAML010 is about.
    """

    def __init__(self, text: str, tally: Tally, first: int = 0) -> None:
        self.text = text
        self.tally = tally
        self.index = first
        self.documents: list[tuple[int, Built]] = []
        self.troubles: list[Trouble] = []
        self.hints: list[Trouble] = []
        self._odd_values: list[Any] = []
        self._anchors: dict[str, tuple[Any, list[Any] | None, str | None]] = {}
        self._repeated: list[list[Any]] = []
        self._tables: dict[int, Table] = {}

    def run(self) -> None:
        """Read to the end. Raises yaml.YAMLError where the text is not YAML, and BoundExceeded."""
        get: Callable[[], Any] = cyaml.CParser(self.text).get_event  # type: ignore[attr-defined]
        values, keys = _Values(), _Keys()
        has_properties = bool(_ANCHOR.search(self.text) or _TAG.search(self.text))
        anchors, repeated = self._anchors, self._repeated
        merging: list[dict[Any, Any]] = []
        start = 0
        stack: list[tuple[Any, list[Any], bool]] = []
        data: Any = []
        places: list[Any] = []
        in_map = False
        key: Any = None
        while True:
            event = get()
            kind = event.__class__
            if in_map:
                if kind is ScalarEvent:
                    if has_properties and (event.tag is not None or event.anchor is not None):
                        key = self._key_with_properties(event)
                    else:
                        key = event.value
                        if (key in WORDS or key[0] in _KEY_STARTS) and not event.style:
                            try:
                                key = keys[key]
                            except _Odd:
                                key = self._odd_key(event)
                    end = event.end_mark
                elif kind is MappingEndEvent:
                    if merging and merging[-1] is data:
                        self._merge(merging.pop(), places)
                    if places[1]:
                        places[1] = event.end_mark
                    data, places, in_map = stack.pop()
                    continue
                elif kind is AliasEvent:
                    key = self._alias_key(event)
                    end = event.end_mark
                else:
                    key, end = self._collection_as_key(event, get, len(stack))
                if key in data:
                    repeated.append(places)
                    del data[key]
                elif key.__class__ is Merge and not (merging and merging[-1] is data):
                    merging.append(data)
                places += (key, event.start_mark, end)
                event = get()
                kind = event.__class__
            if kind is ScalarEvent:
                if has_properties and (event.tag is not None or event.anchor is not None):
                    value = self._scalar_with_properties(event)
                else:
                    value = event.value
                    if (value in WORDS or value[0] in NUMBER_STARTS) and not event.style:
                        try:
                            value = values[value]
                        except _Odd:
                            value = self._odd_value(event)
                places += (event.start_mark, event.end_mark)
                if in_map:
                    data[key] = value
                else:
                    data.append(value)
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                is_map = kind is MappingStartEvent
                below: Any = {} if is_map else []
                below_places = [event.start_mark, event.flow_style, is_map]
                places += (below_places, None)
                if in_map:
                    data[key] = below
                else:
                    data.append(below)
                stack.append((data, places, in_map))
                if len(stack) > MAX_DEPTH:
                    self.tally.depth(len(stack))
                if has_properties:
                    if event.tag is not None:
                        self._check_collection_tag(event, is_map)
                    if event.anchor is not None:
                        anchors[event.anchor] = (below, below_places, None)
                data, places, in_map = below, below_places, is_map
            elif kind is SequenceEndEvent:
                if places[1]:
                    places[1] = event.end_mark
                data, places, in_map = stack.pop()
            elif kind is AliasEvent:
                value, target = self._alias(event, data, stack)
                if key.__class__ is Merge and in_map and not isinstance(value, dict):
                    value = self._bad_merge(event)
                places += (Alias(event.start_mark, event.end_mark, target), None)
                if in_map:
                    data[key] = value
                else:
                    data.append(value)
            elif kind is DocumentStartEvent:
                start = self._start(event)
                data, places, in_map = [], [], False
            elif kind is DocumentEndEvent:
                self._finish(data[0], places, start)
            elif kind is StreamEndEvent:
                return

    def _start(self, event: Any) -> int:
        self.tally.document()
        self._tables = {}
        self._anchors.clear()
        self._repeated.clear()
        self._odd_values.clear()
        start: int = event.start_mark.index
        if event.version is not None:
            message = "Kubernetes refuses a %YAML directive; remove the line"
            at = self.text.find("%YAML", start, event.end_mark.index)
            self._trouble("YAML011", message, at, at + len("%YAML"))
        return start

    def _finish(self, data: Any, places: list[Any], start: int) -> None:
        if data is None and places[0].index == places[1].index:
            return  # nothing between two markers
        for repeated in {id(places): places for places in self._repeated}.values():
            for key, begin, end, first in repeated_keys(repeated):
                message = f'the key "{_short(key)}" is already in line {{line}}; keep one of the two'
                found = Trouble("YAML002", message, begin.index, end.index, self.index, first.index)
                self.troubles.append(found)
        secret = isinstance(data, dict) and data.get("kind") == "Secret"
        for event in self._odd_values:
            message = scalars.hint(event.value, secret)
            self.hints.append(
                Trouble("YAML010", message, event.start_mark.index, event.end_mark.index, self.index)
            )
        self.documents.append((self.index, Built(data, places[0], places[1], start, self._tables)))
        self.index += 1

    def _trouble(self, rule: str, message: str, start: int, end: int) -> None:
        self.troubles.append(Trouble(rule, message, start, end, self.index))

    def _at(self, event: Any, rule: str, message: str) -> None:
        self._trouble(rule, message, event.start_mark.index, event.end_mark.index)

    def _odd_value(self, event: Any) -> Any:
        value = scalars.resolve(event.value)
        if _not_json(value):
            self._at(event, "YAML007", f'JSON has no {event.value}; write a number, or "{event.value}"')
            return event.value
        self._odd_values.append(event)
        return value

    def _odd_key(self, event: Any) -> Any:
        if event.value == "<<":
            return Merge(event.start_mark)
        what = "null" if scalars.resolve(event.value) is None else "a number beyond 64 bits"
        self._at(event, "YAML008", f"a key is {what}, which Kubernetes refuses; write a word, or quote it")
        return event.value or "null"

    def _key_with_properties(self, event: Any) -> Any:
        tag = event.tag
        key: Any = None
        if event.value == "<<" and (
            tag == scalars.TAG_PREFIX + "merge" or (tag is None and event.implicit[0])
        ):
            return Merge(event.start_mark)
        if tag is None and event.implicit[0]:
            key = scalars.key_text(event.value)
        elif tag is None or tag in ("!", scalars.TAG_PREFIX + "str"):
            key = event.value
        else:
            value = self._tagged(event)
            key = value if isinstance(value, str) else scalars.key_text(event.value)
        if key is None:
            key = self._odd_key(event)
        if event.anchor is not None:
            self._anchors[event.anchor] = (scalars.resolve(event.value), None, key)
        return key

    def _alias_key(self, event: Any) -> str:
        anchor = self._anchors.get(event.anchor)
        if anchor is None:
            self._at(event, "YAML006", _undefined(event.anchor))
        elif anchor[2] is None:
            self._at(event, "YAML008", f"the key *{event.anchor} is not a string; write a word")
        else:
            return anchor[2]
        return f"*{event.anchor}"

    def _collection_as_key(self, event: Any, get: Any, depth: int) -> tuple[str, Any]:
        """Leave a mapping or list out that stands where a key belongs; its text becomes the key."""
        first, level = event, 1
        while level:
            event = get()
            if isinstance(event, MappingStartEvent | SequenceStartEvent):
                level += 1
                self.tally.depth(depth + level)
            elif isinstance(event, MappingEndEvent | SequenceEndEvent):
                level -= 1
        start, end = first.start_mark.index, event.end_mark.index
        if self.text[start - 1 : start + 1] == "{{" and start:
            message = 'an unquoted "{{" is a mapping in a mapping to YAML; put the whole value in quotes'
            self._trouble("YAML008", message, start - 1, end)
        else:
            what = "mapping" if isinstance(first, MappingStartEvent) else "list"
            message = f"a key is a {what}, which Kubernetes refuses; write a word, or quote the key"
            self._trouble("YAML008", message, start, end)
        return self.text[start:end], event.end_mark

    def _scalar_with_properties(self, event: Any) -> Any:
        tag = event.tag
        if tag == "!" or (tag is None and not event.implicit[0]):
            value, key = event.value, event.value
        elif tag is None:
            value, key = scalars.resolve(event.value), scalars.key_text(event.value)
            if _not_json(value) or scalars.hint(event.value):
                value = self._odd_value(event)
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
            self._at(event, "YAML004", str(error))
            return event.value
        return self._odd_value(event) if _not_json(value) else value

    def _check_collection_tag(self, event: Any, is_map: bool) -> None:
        if event.tag not in ("!", scalars.TAG_PREFIX + ("map" if is_map else "seq")):
            what = "mapping" if is_map else "list"
            message = f"Kubernetes ignores the tag {scalars.shown(event.tag)} on a {what}; remove it"
            self._at(event, "YAML004", message)

    def _alias(self, event: Any, data: Any, stack: list[Any]) -> tuple[Any, list[Any] | None]:
        """The value and the places that an alias stands for; {} where it stands for nothing."""
        self.tally.alias()
        anchor = self._anchors.get(event.anchor)
        if anchor is None:
            self._at(event, "YAML006", _undefined(event.anchor))
            return {}, None
        value, places, _ = anchor
        if places is not None:
            if value is data or any(frame[0] is value for frame in stack):
                message = f"*{event.anchor} stands inside of &{event.anchor} itself; write the values out"
                self._at(event, "YAML006", message)
                return {}, None
            self.tally.expand(value, len(stack))
        return value, places

    def _merge(self, data: dict[Any, Any], places: list[Any]) -> None:
        """Replace each merge key by what it merges, in the order of go-yaml: what comes later wins."""
        merged: dict[str, Any] = {}
        marks = {places[i]: places[i + 1] for i in range(HEAD, len(places), MAP_STRIDE)}
        explicit: set[str] = set()
        for key, value in data.items():
            if key.__class__ is not Merge:
                merged[key] = value
                explicit.add(key)
                continue
            sources = value if isinstance(value, list) else [value]
            if not all(isinstance(source, dict) for source in sources):
                at = key.mark.index
                self._trouble("YAML012", _MERGE_SOURCE, at, at + len("<<"))
            maps = [source for source in reversed(sources) if isinstance(source, dict)]
            for source in maps:
                merged.update(source)
            overridden = {one for source in maps for one in source if one in explicit}
            if overridden:
                self._overrides(key, sorted((marks[one].index, one) for one in overridden))
        data.clear()
        data.update(merged)
        table(places, self._tables)

    def _overrides(self, merge: Merge, keys: list[tuple[int, str]]) -> None:
        """Warn of a merge key that changes ``keys``, by offset, above it: YAML itself says that they stay."""
        first, name = keys[0]
        more = f" and {len(keys) - 1} more above it" if len(keys) > 1 else ""
        message = (
            f'the merge key "<<" overrides "{_short(name)}" of line {{line}}{more} in kubectl, but not in'
            " other tools; put it above all other keys"
        )
        at = merge.mark.index
        self.troubles.append(Trouble("YAML005", message, at, at + len("<<"), self.index, first))

    def _bad_merge(self, event: Any) -> dict[str, Any]:
        self._at(event, "YAML012", _MERGE_SOURCE)
        return {}


_MERGE_SOURCE = 'a merge key "<<" takes a mapping or a list of mappings; write the keys out instead'


def _short(key: str) -> str:
    """``key`` so that it fits into a message, and into one that has a place for ``{line}``."""
    shown = key if len(key) <= _LONGEST_SHOWN else key[:_LONGEST_SHOWN] + "…"
    return shown.replace("{line}", "{ line }")


def _undefined(name: str) -> str:
    return f'no anchor &{name} stands before *{name}; define it in this document, or quote the "*"'


def _not_json(value: Any) -> bool:
    return value.__class__ is float and (value != value or value in _INFINITE)
