"""Builds plain data as Kubernetes reads it from the events of libyaml's parser, with the marks of every part.

One loop without recursion, so that no input can exhaust the stack, and with few calls, which dominate the
cost. Rare cases are in ``node_properties`` (anchors, tags, odd scalars) and ``merge_keys``. The
representation of positions is in ``positions``.
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
from podplan.yaml.budget import ParseBudget
from podplan.yaml.diagnostics import DiagnosticCollector, format_key
from podplan.yaml.document import Document, LineIndex
from podplan.yaml.merge_keys import replace_bad_source, resolve_merge_keys
from podplan.yaml.node_properties import NodeProperties, may_have_properties
from podplan.yaml.plain_scalars import FIRST_NON_NUMBER, SCALAR_KEYS, SCALAR_VALUES, OddScalar
from podplan.yaml.positions import AliasPosition, KeyTable, MergeKey, build_key_table, iter_repeated_keys
from podplan.yaml.scalars import SCALAR_WORDS


def _count_nodes(get_event: Callable[[], Any], budget: ParseBudget) -> Callable[[], Any]:
    """Return the same events, counting keys and values."""

    def get_counted_event() -> Any:
        event = get_event()
        if isinstance(event, NodeEvent):
            budget.count_node()
        return event

    return get_counted_event


class DocumentBuilder:
    """Adds the documents of a range of a text to ``documents``; those before a syntax error are kept.

    ``base`` is the offset of the range, ``index`` that of its first document in the file. Errors are in
    ``diagnostics``, with offsets in ``text``, which is the range.
    """

    __slots__ = (
        "_base",
        "_file",
        "_key_tables",
        "_lines",
        "_node_properties",
        "_repeated_positions",
        "budget",
        "diagnostics",
        "documents",
        "text",
    )

    def __init__(
        self,
        file: str,
        lines: LineIndex,
        base: int,
        end: int,
        budget: ParseBudget,
        documents: list[Document],
        index: int = 0,
    ) -> None:
        self._file = file
        self._lines = lines
        self._base = base
        self.text = lines.text[base:end]
        self.budget = budget
        self.documents = documents
        self.diagnostics = DiagnosticCollector(index, lines, base)
        self._node_properties = NodeProperties(self.diagnostics, budget)
        self._repeated_positions: list[list[Any]] = []
        self._key_tables: dict[int, KeyTable] = {}

    def build(self) -> None:
        """Parse to the end.

        Raises yaml.YAMLError: for a syntax error. Raises LimitExceeded: if a limit is exceeded.
        """
        # The stubs of PyYAML lack its C classes.
        get_event: Callable[[], Any] = cyaml.CParser(self.text).get_event  # type: ignore[attr-defined]
        if self.budget.may_exceed_nodes(self.text):
            get_event = _count_nodes(get_event, self.budget)
        values, keys, words, first_non_number, scalar = (
            SCALAR_VALUES,
            SCALAR_KEYS,
            SCALAR_WORDS,
            FIRST_NON_NUMBER,
            ScalarEvent,
        )
        properties, has_properties = self._node_properties, may_have_properties(self.text)
        diagnostics, repeated_positions, open_merges = (
            self.diagnostics,
            self._repeated_positions,
            self._node_properties.open_merges,
        )
        start = 0
        stack: list[tuple[Any, list[Any], bool]] = []
        data: Any = []
        positions: list[Any] = []
        in_map = False
        key: Any = None
        key_start: Any = 0
        end: Any = None
        get_event()  # the start of the stream
        while True:
            event = get_event()
            kind = type(event)
            if in_map:
                if kind is scalar:
                    if has_properties and (event.tag is not None or event.anchor is not None):
                        key, end = properties.resolve_key(event, data), event.end_mark
                    elif event.style:
                        key, end = event.value, event.end_mark
                    else:
                        try:
                            key = keys[event.value]
                            end = None  # the length of the key gives its end, which saves a mark
                        except OddScalar:
                            key, end = properties.resolve_odd_key(event, data), event.end_mark
                elif kind is MappingEndEvent:
                    if open_merges and open_merges[-1] is data:
                        resolve_merge_keys(open_merges.pop(), positions, diagnostics)
                        build_key_table(positions, self._key_tables)
                    if positions[1]:
                        positions[1] = event.end_mark
                    data, positions, in_map = stack.pop()
                    continue
                elif kind is AliasEvent:
                    key = properties.resolve_alias_key(event)
                    end = event.end_mark
                else:
                    key, end = self._skip_collection_key(event, get_event, len(stack))
                if key in data:
                    repeated_positions.append(positions)
                    del data[key]
                key_start = event.start_mark
                event = get_event()
                kind = type(event)
            if kind is scalar:
                value = event.value
                if has_properties and (event.tag is not None or event.anchor is not None):
                    value = properties.resolve_scalar(event)
                elif (value < first_non_number or value in words) and not event.style:
                    try:
                        value = values[value]
                    except OddScalar:
                        value = properties.resolve_odd_value(event)
                if in_map:
                    data[key] = value
                    positions.append((key, key_start, end, event.start_mark, event.end_mark))
                else:
                    data.append(value)
                    positions.append((event.start_mark, event.end_mark))
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                is_map = kind is MappingStartEvent
                child: Any = {} if is_map else []
                child_positions = [event.start_mark, event.flow_style, is_map]
                if in_map:
                    data[key] = child
                    positions.append((key, key_start, end, child_positions, None))
                else:
                    data.append(child)
                    positions.append((child_positions, None))
                stack.append((data, positions, in_map))
                if len(stack) > MAX_DEPTH:
                    self.budget.check_depth(len(stack))
                if has_properties:
                    if event.tag is not None:
                        properties.check_collection_tag(event, is_map)
                    if event.anchor is not None:
                        properties.add_anchor(event.anchor, child, child_positions)
                data, positions, in_map = child, child_positions, is_map
            elif kind is SequenceEndEvent:
                if positions[1]:
                    positions[1] = event.end_mark
                data, positions, in_map = stack.pop()
            elif kind is AliasEvent:
                value, target = properties.resolve_alias(event, data, stack)
                if key.__class__ is MergeKey and in_map and not isinstance(value, dict):
                    value = replace_bad_source(event, diagnostics)
                alias = AliasPosition(event.start_mark, event.end_mark, target)
                if in_map:
                    data[key] = value
                    positions.append((key, key_start, end, alias, None))
                else:
                    data.append(value)
                    positions.append((alias, None))
            elif kind is DocumentStartEvent:
                start = self._start_document(event)
                if has_properties:
                    properties.start_document()
                data, positions, in_map = [], [], False
            elif kind is DocumentEndEvent:
                self._finish_document(data[0], positions[0], start)
            elif kind is StreamEndEvent:
                return

    def _start_document(self, event: Any) -> int:
        self.budget.count_document()
        self._key_tables = {}
        start: int = event.start_mark.index
        if event.version is not None:
            message = "Kubernetes refuses a %YAML directive; remove the line"
            offset = self.text.find("%YAML", start, event.end_mark.index)
            self.diagnostics.add("YAML011", message, offset, offset + len("%YAML"))
        return start

    def _finish_document(self, data: Any, position: tuple[Any, Any], start: int) -> None:
        if data is None and position[0].index == position[1].index:
            return  # nothing between two markers
        if self._repeated_positions:
            self._report_repeated_keys()
        if self._node_properties.odd_scalars:
            for event in self._node_properties.odd_scalars:
                self.diagnostics.add_hint(event, scalars.explain_implicit_type(event.value))
            self._node_properties.odd_scalars.clear()
        content_start = start + self._base if self.documents else self._lines.base
        index = self.diagnostics.document
        self.documents.append(
            Document(
                self._file, index, data, position, self._key_tables, self._lines, self._base, content_start
            )
        )
        self.diagnostics.document = index + 1

    def _report_repeated_keys(self) -> None:
        for positions in {id(places): places for places in self._repeated_positions}.values():
            for key, begin, end, first_offset in iter_repeated_keys(positions):
                message = f'the key "{format_key(key)}" is already in line {{line}}; keep one of the two'
                self.diagnostics.add("YAML002", message, begin, end, first_offset)
        self._repeated_positions.clear()

    def _skip_collection_key(self, event: Any, get_event: Any, depth: int) -> tuple[str, Any]:
        """Skip a mapping or list in place of a key; its text becomes the key."""
        start_event, level = event, 1
        while level:
            event = get_event()
            if isinstance(event, MappingStartEvent | SequenceStartEvent):
                level += 1
                self.budget.check_depth(depth + level)
            elif isinstance(event, MappingEndEvent | SequenceEndEvent):
                level -= 1
        start, end = start_event.start_mark.index, event.end_mark.index
        if self.text[start - 1 : start + 1] == "{{" and start:
            message = 'an unquoted "{{" is a mapping in a mapping to YAML; put the whole value in quotes'
            self.diagnostics.add("YAML008", message, start - 1, end)
        else:
            collection = "mapping" if isinstance(start_event, MappingStartEvent) else "list"
            message = f"a key is a {collection}, which Kubernetes refuses; write a word, or quote the key"
            self.diagnostics.add("YAML008", message, start, end)
        return self.text[start:end], event.end_mark
