"""A changed tree as text: what did not change keeps its characters, whatever the text looks like."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from podplan.tools.formatter.comments import attach_comments, count_comments
from podplan.tools.formatter.document_spans import find_document_spans
from podplan.tools.formatter.rewriting import build_field, build_scalar, change_at, rewrite_document
from podplan.yaml import parse_yaml
from podplan.yaml.tree import CstNode
from tests.thoroughness import examples
from tests.untidy_profiles import documents

Path = tuple[str | int, ...]


def maps(tree: CstNode, path: Path = ()) -> list[Path]:
    """The paths of all maps that are written where they stand."""
    found = [path] if tree.node_type == "map" else []
    for index, leaf in enumerate(tree.entries):
        step = index if leaf.key is None else leaf.key.value
        found += maps(leaf.value, (*path, step))
    return found


def with_field(data: Any, path: Path) -> Any:
    if not path:
        return {**data, "added": 1}
    if isinstance(data, list):
        return [with_field(one, path[1:]) if index == path[0] else one for index, one in enumerate(data)]
    return {key: with_field(one, path[1:]) if key == path[0] else one for key, one in data.items()}


def root(text: str) -> CstNode:
    extent = find_document_spans(text)[0]
    return attach_comments(text, extent.tree, extent.start, extent.end)


@given(documents())
@settings(max_examples=examples(80))
def test_nothing_changed(text: str) -> None:
    tree = root(text)
    assert rewrite_document(text, tree, tree, 0, len(text)) == text


@given(documents(), st.randoms(use_true_random=False))
@settings(max_examples=examples(150))
def test_a_field_more(text: str, chance: Any) -> None:
    source, tree = parse_yaml(text.encode(), ""), root(text)
    path = chance.choice(maps(tree))
    new = change_at(
        tree,
        path,
        lambda below: below._replace(entries=(*below.entries, build_field("added", build_scalar("1")))),
    )
    after = parse_yaml(rewrite_document(text, tree, new, 0, len(text)).encode(), "")
    assert not after.diagnostics
    assert after.documents[0].data == with_field(source.documents[0].data, path)
    assert count_comments(after) == count_comments(source)


def test_a_comment_at_the_end_stays_where_the_last_value_gets_its_first_field() -> None:
    text = "a: 1\nb: {}\n# the end\n"
    new = change_at(
        root(text), ("b",), lambda below: below._replace(entries=(build_field("added", build_scalar("1")),))
    )
    assert rewrite_document(text, root(text), new, 0, len(text)) == "a: 1\nb: {added: 1}\n# the end\n"


@given(documents(), st.randoms(use_true_random=False))
@settings(max_examples=examples(150))
def test_a_field_less(text: str, chance: Any) -> None:
    source, tree = parse_yaml(text.encode(), ""), root(text)
    name = chance.choice([leaf.key.value for leaf in tree.entries if leaf.key is not None])
    kept = tuple(leaf for leaf in tree.entries if leaf.key is not None and leaf.key.value != name)
    after = parse_yaml(rewrite_document(text, tree, tree._replace(entries=kept), 0, len(text)).encode(), "")
    assert after.documents[0].data == {
        key: value for key, value in source.documents[0].data.items() if key != name
    }


def test_lines_beside_a_change_stay() -> None:
    text = "a:   1 # one\nb:\n    - c:  'd'   # two\n      e: [1,\n       2]\nf:    2"
    tree = root(text)
    new = change_at(
        tree,
        ("b", 0),
        lambda below: below._replace(entries=(build_field("g", build_scalar("1")), *below.entries)),
    )
    assert (
        rewrite_document(text, tree, new, 0, len(text))
        == "a:   1 # one\nb:\n    - g: 1\n      c:  'd'   # two\n      e: [1,\n       2]\nf:    2"
    )
