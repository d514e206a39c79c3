"""Texts parsed by the YAML parser."""

from __future__ import annotations

from typing import Any

from podplan.yaml import Document, parse_yaml


def one(text: str) -> Document:
    source = parse_yaml(text.encode(), "f.yaml")
    assert [fault for fault in source.diagnostics if fault.rule != "YAML005"] == []
    assert len(source.documents) == 1
    return source.documents[0]


def faults(text: str) -> list[tuple[str, int, int]]:
    return [(f.rule, f.span.line, f.span.column) for f in parse_yaml(text.encode(), "f.yaml").diagnostics]


def data(text: str) -> list[Any]:
    return [document.data for document in parse_yaml(text.encode(), "f.yaml").documents]
