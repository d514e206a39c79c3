"""The events of libyaml's parser -> plain data as Kubernetes reads it, and the mark of every part.

One loop without recursion, so that no input can exhaust the stack, and with few calls, because calls
are what costs. What is rare stands beside it: ``properties`` (anchors, tags, odd scalars) and ``merging``.
How positions are kept: ``places``.
"""

from __future__ import annotations

from collections.abc import Callable

from yaml import cyaml
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from podplan.core.limits import MAX_DEPTH
from podplan.core.typing import Any
from podplan.yaml import scalars
from podplan.yaml.budget import Tally
from podplan.yaml.diagnostics import Troubles, short
from podplan.yaml.document import Document, Lines
from podplan.yaml.merge_keys import bad_source, merge
from podplan.yaml.node_properties import Properties, any_in
from podplan.yaml.plain_scalars import KEYS, NO_NUMBER, VALUES, Odd
from podplan.yaml.positions import Alias, Merge, Table, repeated_keys, table
from podplan.yaml.scalars import WORDS


def _counted(get: Callable[[], Any], tally: Tally) -> Callable[[], Any]:
    """The same events, with their keys and values counted."""

    def counted() -> Any:
        event = get()
        if isinstance(event, NodeEvent):
            tally.node()
        return event

    return counted


class Builder:
    """Adds the documents of a stretch of a text to ``documents``; those before an error of syntax stay there.

    ``base`` is the offset where the stretch begins, ``index`` that of its first document in the file. What
    is wrong is in ``troubles``, with offsets in ``text``, which is the stretch.
    """

    __slots__ = (
        "_base",
        "_file",
        "_lines",
        "_properties",
        "_repeated",
        "_tables",
        "documents",
        "tally",
        "text",
        "troubles",
    )

    def __init__(
        self,
        file: str,
        lines: Lines,
        base: int,
        end: int,
        tally: Tally,
        documents: list[Document],
        index: int = 0,
    ) -> None:
        self._file = file
        self._lines = lines
        self._base = base
        self.text = lines.text[base:end]
        self.tally = tally
        self.documents = documents
        self.troubles = Troubles(index)
        self._properties = Properties(self.troubles, tally)
        self._repeated: list[list[Any]] = []
        self._tables: dict[int, Table] = {}

    def run(self) -> None:
        """Read to the end. Raises yaml.YAMLError where the text is not YAML, and BoundExceeded."""
        # The stubs of PyYAML leave out what is written in C.
        get: Callable[[], Any] = cyaml.CParser(self.text).get_event  # type: ignore[attr-defined]
        if self.tally.may_pass_nodes(self.text):
            get = _counted(get, self.tally)
        values, keys, words, no_number, scalar = VALUES, KEYS, WORDS, NO_NUMBER, ScalarEvent
        properties, has_properties = self._properties, any_in(self.text)
        troubles, repeated, merging = self.troubles, self._repeated, self._properties.merging
        start = 0
        stack: list[tuple[Any, list[Any], bool]] = []
        data: Any = []
        places: list[Any] = []
        in_map = False
        key: Any = None
        key_start: Any = 0
        end: Any = None
        get()  # the start of the stream, which says nothing
        while True:
            event = get()
            kind = type(event)
            if in_map:
                if kind is scalar:
                    if has_properties and (event.tag is not None or event.anchor is not None):
                        key, end = properties.key(event, data), event.end_mark
                    elif event.style:
                        key, end = event.value, event.end_mark
                    else:
                        try:
                            key = keys[event.value]
                            end = None  # the key is as long as its text: one mark less to keep
                        except Odd:
                            key, end = properties.odd_key(event, data), event.end_mark
                elif kind is MappingEndEvent:
                    if merging and merging[-1] is data:
                        merge(merging.pop(), places, troubles)
                        table(places, self._tables)
                    if places[1]:
                        places[1] = event.end_mark
                    data, places, in_map = stack.pop()
                    continue
                elif kind is AliasEvent:
                    key = properties.alias_key(event)
                    end = event.end_mark
                else:
                    key, end = self._collection_as_key(event, get, len(stack))
                if key in data:
                    repeated.append(places)
                    del data[key]
                key_start = event.start_mark
                event = get()
                kind = type(event)
            if kind is scalar:
                value = event.value
                if has_properties and (event.tag is not None or event.anchor is not None):
                    value = properties.scalar(event)
                elif (value < no_number or value in words) and not event.style:
                    try:
                        value = values[value]
                    except Odd:
                        value = properties.odd_value(event)
                if in_map:
                    data[key] = value
                    places.append((key, key_start, end, event.start_mark, event.end_mark))
                else:
                    data.append(value)
                    places.append((event.start_mark, event.end_mark))
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                is_map = kind is MappingStartEvent
                below: Any = {} if is_map else []
                below_places = [event.start_mark, event.flow_style, is_map]
                if in_map:
                    data[key] = below
                    places.append((key, key_start, end, below_places, None))
                else:
                    data.append(below)
                    places.append((below_places, None))
                stack.append((data, places, in_map))
                if len(stack) > MAX_DEPTH:
                    self.tally.depth(len(stack))
                if has_properties:
                    if event.tag is not None:
                        properties.check_collection_tag(event, is_map)
                    if event.anchor is not None:
                        properties.anchor(event.anchor, below, below_places)
                data, places, in_map = below, below_places, is_map
            elif kind is SequenceEndEvent:
                if places[1]:
                    places[1] = event.end_mark
                data, places, in_map = stack.pop()
            elif kind is AliasEvent:
                value, target = properties.alias(event, data, stack)
                if key.__class__ is Merge and in_map and not isinstance(value, dict):
                    value = bad_source(event, troubles)
                alias = Alias(event.start_mark, event.end_mark, target)
                if in_map:
                    data[key] = value
                    places.append((key, key_start, end, alias, None))
                else:
                    data.append(value)
                    places.append((alias, None))
            elif kind is DocumentStartEvent:
                start = self._start(event)
                if has_properties:
                    properties.forget()
                data, places, in_map = [], [], False
            elif kind is DocumentEndEvent:
                self._finish(data[0], places[0], start)
            elif kind is StreamEndEvent:
                return

    def _start(self, event: Any) -> int:
        self.tally.document()
        self._tables = {}
        start: int = event.start_mark.index
        if event.version is not None:
            message = "Kubernetes refuses a %YAML directive; remove the line"
            at = self.text.find("%YAML", start, event.end_mark.index)
            self.troubles.add("YAML011", message, at, at + len("%YAML"))
        return start

    def _finish(self, data: Any, place: tuple[Any, Any], start: int) -> None:
        if data is None and place[0].index == place[1].index:
            return  # nothing between two markers
        if self._repeated:
            self._tell_repeated()
        if self._properties.odd:
            for event in self._properties.odd:
                self.troubles.hint(event, scalars.hint(event.value))
            self._properties.odd.clear()
        begins = start + self._base if self.documents else self._lines.base
        index = self.troubles.document
        self.documents.append(
            Document(self._file, index, data, place, self._tables, self._lines, self._base, begins)
        )
        self.troubles.document = index + 1

    def _tell_repeated(self) -> None:
        for repeated in {id(places): places for places in self._repeated}.values():
            for key, begin, end, first in repeated_keys(repeated):
                message = f'the key "{short(key)}" is already in line {{line}}; keep one of the two'
                self.troubles.add("YAML002", message, begin, end, first)
        self._repeated.clear()

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
            self.troubles.add("YAML008", message, start - 1, end)
        else:
            what = "mapping" if isinstance(first, MappingStartEvent) else "list"
            message = f"a key is a {what}, which Kubernetes refuses; write a word, or quote the key"
            self.troubles.add("YAML008", message, start, end)
        return self.text[start:end], event.end_mark
