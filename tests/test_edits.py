"""Edits of texts: whatever is changed in whatever style, the text says the new and nothing else changes."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podplan.core.findings import DocumentFix, Path
from podplan.yaml import Document, parse_yaml
from podplan.yaml.edits import FixRefused, build_edits
from podplan.yaml.writer import emit_document

KEYS = st.sampled_from(["a", "b", "name", "x-y", "replicas", "emptyDir", "on", "1", "ä", "k: v"])
SCALARS = st.one_of(
    st.integers(-5, 5),
    st.booleans(),
    st.sampled_from(["", "x", "two words", "yes", "0027", "a: b", "# c", "\n"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda below: st.one_of(
        st.lists(below, min_size=1, max_size=3), st.dictionaries(KEYS, below, min_size=1, max_size=3)
    ),
    max_leaves=12,
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, min_size=1, max_size=4)


def block(data: Any) -> str:
    return emit_document(data)


def flow(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False) + "\n"


def indented(data: Any) -> str:
    """Flow collections over several lines."""
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"


def mixed(data: Any) -> str:
    """Block at the top and flow below, with comments."""
    lines = [f"{json.dumps(key, ensure_ascii=False)}: {json.dumps(value, ensure_ascii=False)}  # {key!r}\n"
             for key, value in data.items()]  # fmt: skip
    return "# first\n" + "".join(lines) + "# last\n"


STYLES = st.sampled_from([block, flow, indented, mixed])


def paths(data: Any, here: Path = ()) -> list[Path]:
    below = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [here, *(path for step, value in below for path in paths(value, (*here, step)))]


def document(text: str) -> Document:
    (only,) = parse_yaml(text.encode(), "f.yaml").documents
    return only


def edited(text: str, change: DocumentFix) -> str:
    for edit in sorted(build_edits(document(text), change), key=lambda edit: -edit.start):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def at(data: Any, path: Path) -> Any:
    for step in path:
        data = data[step]
    return data


def removed(data: Any, path: Path) -> Any:
    """The data without an entry, and without what is left empty by that."""
    data = copy.deepcopy(data)
    while path:
        parent = at(data, path[:-1])
        del parent[path[-1]]
        if parent:
            break
        path = path[:-1]
    return data


@given(DOCUMENTS, STYLES, st.data())
def test_removing(data: Any, style: Any, draw: Any) -> None:
    text = style(data)
    path = draw.draw(st.sampled_from(paths(data)[1:]))
    try:
        new = edited(text, DocumentFix("", "remove", path))
    except FixRefused:
        return
    assert document(new).data == removed(data, path)


def test_removing_the_first_entry_of_a_list_in_a_list() -> None:
    """The dash of the outer list stands in its line, and is not its own."""
    new = edited("a:\n- - 1\n  - 2\n- 3\n", DocumentFix("", "remove", ("a", 0, 0)))
    assert new == "a:\n- - 2\n- 3\n"


@given(DOCUMENTS, STYLES, st.data(), SCALARS)
def test_replacing_a_scalar(data: Any, style: Any, draw: Any, value: Any) -> None:
    text = style(data)
    leaves = [path for path in paths(data)[1:] if not isinstance(at(data, path), dict | list)]
    path = draw.draw(st.sampled_from(leaves))
    try:
        new = edited(text, DocumentFix("", "set", path, value))
    except FixRefused:
        assert value == "\n"
        return
    at(expected := copy.deepcopy(data), path[:-1])[path[-1]] = value
    assert document(new).data == expected


@given(DOCUMENTS, STYLES, st.data(), st.sampled_from([1, "x: y", True, {"c": [1, "two"]}]))
def test_adding_a_field(data: Any, style: Any, draw: Any, value: Any) -> None:
    text = style(data)
    mappings = [path for path in paths(data) if isinstance(at(data, path), dict)]
    path = draw.draw(st.sampled_from(mappings))
    new = edited(text, DocumentFix("", "set", (*path, "new"), value))
    at(expected := copy.deepcopy(data), path)["new"] = value
    assert document(new).data == expected
    assert list(at(document(new).data, path))[-1] == "new"


@given(DOCUMENTS, STYLES, st.data())
def test_renaming(data: Any, style: Any, draw: Any) -> None:
    text = style(data)
    path = draw.draw(st.sampled_from([path for path in paths(data)[1:] if isinstance(path[-1], str)]))
    new = edited(text, DocumentFix("", "rename", path, "new name"))
    parent = at(expected := copy.deepcopy(data), path[:-1])
    entries = [("new name" if key == path[-1] else key, value) for key, value in parent.items()]
    parent.clear()
    parent.update(entries)
    assert document(new).data == expected
    assert list(at(document(new).data, path[:-1])) == list(parent)


@pytest.mark.parametrize(
    ("text", "path", "op", "value", "expected"),
    [
        ("a:\nb: 1\n", ("a",), "set", 2, "a: 2\nb: 1\n"),
        ("a: # later\nb: 1\n", ("a",), "set", 2, "a: 2 # later\nb: 1\n"),
        ("a:\n  b:\n", ("a", "b", "c"), "set", 1, "a:\n  b: {c: 1}\n"),
        ("- a: 1\n  b: 2\n- c\n", (0, "a"), "remove", None, "- b: 2\n- c\n"),
        ("- a: 1\n  b: 2\n- c\n", (0,), "remove", None, "- c\n"),
        ("a: 1\r\nb: 2", ("b",), "remove", None, "a: 1\r\n"),
        ("a: 1\r\nb: 2", ("c",), "set", 3, "a: 1\r\nb: 2\r\nc: 3"),
        (
            "a:\n  b: |\n    x\n    y\n\nc: 1\n",
            ("a", "d"),
            "set",
            1,
            "a:\n  b: |\n    x\n    y\n  d: 1\n\nc: 1\n",
        ),
        (
            "spec:\n  environments:\n    a:  # why\n      b: 1  # c\n    d: {}\n",
            ("spec", "environments", "a", "b"),
            "remove",
            None,
            "spec:\n  environments:\n    a: {}  # why\n    d: {}\n",
        ),
        (
            "spec:\r\n  environments:\r\n    a:\r\n      env: {B: 1}\r\n",
            ("spec", "environments", "a", "env", "B"),
            "remove",
            None,
            "spec:\r\n  environments:\r\n    a: {}\r\n",
        ),
        (
            "spec: {environments: {a: {b: 1}, d: {}}}\n",
            ("spec", "environments", "a", "b"),
            "remove",
            None,
            "spec: {environments: {a: {}, d: {}}}\n",
        ),
        ("a: yes\n", ("a",), "quote", None, 'a: "yes"\n'),
        ("a: 0x1F # hex\n", ("a",), "quote", None, 'a: "0x1F" # hex\n'),
        ("a:\nb: 1\n", ("a",), "set", 1, "a: 1\nb: 1\n"),
        ("a: # x\rb: 1\r\rc: 2", ("b",), "remove", None, "a: # x\r\rc: 2"),
        ("a: # x\rb: 1", ("a",), "remove", None, "b: 1"),
        ("<<:\n  a: 1\nb:\n", ("c",), "set", 1, "<<:\n  a: 1\nb:\nc: 1\n"),
        ("a: x \t\n", ("a",), "set", "", 'a: "" \t\n'),
        ("{a: 1, two words }\n", ("two words",), "set", 1, "{a: 1, two words : 1}\n"),
        ('{"a:b", c}\n', ("a:b",), "set", 1, '{"a:b": 1, c}\n'),
        ("? a\n:\n", ("a",), "set", 1, "? a\n: 1\n"),
        ("- x\n-\n", (1,), "set", 1, "- x\n- 1\n"),
    ],
)
def test_texts(text: str, path: Path, op: str, value: Any, expected: str) -> None:
    assert edited(text, DocumentFix("", op, path, value)) == expected


@pytest.mark.parametrize(
    ("text", "path", "op"),
    [
        ("a: &x {b: 1}\nc: *x\n", ("c", "b"), "remove"),
        ("a: &x {b: 1}\nc: *x\n", ("c",), "set"),
        ("a: &x {b: 1}\nc: {<<: *x, d: 1}\n", ("c", "b"), "remove"),
        ("<<: {a: 1}\n<<: {a: 2}\nc: 1\n", ("a",), "rename"),
        ("<<:\n  a: 1\n  c: 2\n<<:\n  a: 2\n  d: 2\n", ("a",), "remove"),
        ("a: 1\n", ("a",), "remove"),
        ("spec:\n  environments:\n    a: &x\n      b: 1\n", ("spec", "environments", "a", "b"), "remove"),
        ("a: 1\nb: 2\n", ("a",), "rename"),
        ("? a\n: 1\n", ("b",), "set"),
        ("a: x\n \t", ("a",), "set"),
        ("a: x\n \t", ("b",), "set"),
        ('a: "x"\nb: x\n \t\n', ("b",), "remove"),
        ("? a\n? c\n", ("a",), "set"),
        ("{b: 1, ? a}\n", ("a",), "set"),
        ("{b: 1, two\n  lines}\n", ("two lines",), "set"),
        ("a: |\n  x", ("b",), "set"),
        ('a: "x"\n', ("a",), "quote"),
        ("a: |\n  x\n", ("a",), "quote"),
    ],
)
def test_refused(text: str, path: Path, op: str) -> None:
    with pytest.raises(FixRefused):
        build_edits(document(text), DocumentFix("", op, path, "b"))
