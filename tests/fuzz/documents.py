"""Targets for the text of a YAML file: parsing, comments, and rewriting."""

from __future__ import annotations

import copy
import json
from typing import Any

import yaml

from podplan.core.errors import UsageError
from podplan.core.findings import DocumentFix
from podplan.core.limits import LimitExceeded
from podplan.core.provenance import TracedDocument
from podplan.kinds.compilation import compile_profile
from podplan.lint.suppression_comments import find_suppression_comments
from podplan.pipeline import PipelineSettings
from podplan.rendering.header import diagnose_stale_cr, parse_header
from podplan.tools.formatter import SCHEMA_BY_CATEGORY, format_source
from podplan.tools.importer import drop_unknown_fields, import_cr, strip_server_fields
from podplan.tools.importer.normalization import normalize_cr
from podplan.tools.migrator import is_migratable, migrate_source
from podplan.workspace.documents import RENDER_HEADER_PREFIX, classify_documents, may_hold
from podplan.workspace.loader import Loader
from podplan.yaml import Document, SourceFile, parse_yaml
from podplan.yaml.edits.changes import FixRefused, build_edits
from podplan.yaml.positions import LINE_BREAK
from podplan.yaml.writer import emit_documents
from tests.command import ENVIRONMENTS, JOB
from tests.fuzz.places import repository
from tests.test_edits import at, paths, removed
from tests.test_source_properties import check_sound

# Rules for what libyaml rejects; other YAML rules are those of Kubernetes.
REFUSED = ("YAML001", "YAML003", "YAML009")
VALUES: tuple[Any, ...] = (
    "x: y",
    "",
    "two\nlines",
    "it's",
    True,
    None,
    1,
    0.5,
    "1",
    {"c": [1, "two"]},
    [],
    "é🚀",
)


def taken(content: bytes, file: str = "f.yaml") -> SourceFile | None:
    """Parse the file; None if it exceeds a limit."""
    try:
        return parse_yaml(content, file)
    except LimitExceeded:
        return None


def read_again(content: bytes) -> None:
    """Assert that positions are valid, libyaml rejects what podplan rejects, and written output reads the
    same."""
    check_sound(content)
    source = taken(content)
    if source is None:
        return
    rules = {fault.rule for fault in source.diagnostics}
    if _libyaml_refuses(content):
        assert rules, "libyaml refuses what we take"
    else:
        assert not rules & {*REFUSED}, f"libyaml takes what we refuse: {rules & {*REFUSED}}"
    if not rules:
        data = [document.data for document in source.documents]
        again = parse_yaml(emit_documents(data).encode(), "again.yaml")
        assert not again.diagnostics, again.diagnostics[0]
        assert _canonical([document.data for document in again.documents]) == _canonical(data)


def _libyaml_refuses(content: bytes) -> bool:
    try:
        for _ in yaml.parse(content.decode().removeprefix("\ufeff"), yaml.CSafeLoader):
            pass
    except (yaml.YAMLError, UnicodeDecodeError):
        return True
    return False


def _canonical(data: Any) -> str:
    return json.dumps(data, sort_keys=True)


def comments(content: bytes) -> None:
    """Assert that suppression comments have correct positions, and cover existing nodes."""
    source = taken(content)
    if source is None:
        return
    try:
        found = find_suppression_comments(source)
    except LimitExceeded:
        return
    lines = LINE_BREAK.split(source.text)
    for one in found:
        assert 1 <= one.location.line <= one.location.end_line <= len(lines)
        assert one.covered_range.start <= one.covered_range.end
        said = lines[one.location.line - 1]
        start = one.location.column - 1 + said.startswith("\ufeff")
        assert said[start : start + 1] == "#", (said, one.location)


def fmt(content: bytes) -> None:
    """Assert that formatting keeps data and comments (it verifies itself), and is idempotent."""
    source = taken(content)
    if source is None or source.diagnostics or not may_hold(source, SCHEMA_BY_CATEGORY):
        return
    new = format_source(source)
    again = parse_yaml(new.encode(), "f.yaml")
    assert not again.diagnostics
    assert format_source(again) == new, "the form of the form is another"


def import_(content: bytes) -> None:
    """Assert that an imported profile compiles to the CR, without the unknown fields that the API server
    drops."""
    for item in classify_documents(taken(content) or SourceFile("", "", [], [], [])):
        if item.category != "cr":
            continue
        text, problems = import_cr(item.doc)
        assert text or problems
        if text:
            found = parse_yaml(text.encode(), "profile.yaml")
            assert not found.diagnostics, found.diagnostics[0]
            data = found.documents[0].data
            cr, wrong = compile_profile(TracedDocument("profile.yaml", data, source=found.documents[0]), None)
            assert cr is not None
            assert not wrong, wrong
            now = normalize_cr(strip_server_fields(item.doc.data), cr.data["kind"])
            wanted, _ = drop_unknown_fields(now.cr)
            if "${{" not in text:
                assert _canonical(cr.data) == _canonical(wanted), "the profile compiles to another CR"


def migrate(content: bytes) -> None:
    """Assert that a migrated file is valid, and needs no further migration."""
    source = taken(content)
    if source is None or source.diagnostics or not is_migratable(source):
        return
    done = migrate_source(source)
    again = parse_yaml(done.text.encode(), "f.yaml")
    assert not again.diagnostics, again.diagnostics[0]
    assert len(again.documents) == len(source.documents)
    assert migrate_source(again).text == done.text, "there is more to migrate the second time"


def edits(content: bytes) -> None:
    """Assert that the text after an edit reads as the changed data."""
    head, text = content[:4].ljust(4, b"\0"), content[4:]
    source = taken(text)
    if source is None or source.diagnostics or len(source.documents) != 1:
        return
    if "<<" in source.text and "*" in source.text:
        return  # a value from a merge key changes with its anchor, which the data does not show
    document = source.documents[0]
    every = paths(document.data)
    path = every[int.from_bytes(head[:2], "big") % len(every)]
    change = _change(document, path, head[2], VALUES[head[3] % len(VALUES)])
    if change is None:
        return
    expected = _changed(document.data, change)
    try:
        made = build_edits(document, change)
    except FixRefused:
        return
    new = source.text
    for edit in sorted(made, key=lambda edit: -edit.start):
        assert 0 <= edit.start <= edit.end <= len(new)
        new = new[: edit.start] + edit.text + new[edit.end :]
    after = parse_yaml(new.encode(), "f.yaml")
    assert not after.diagnostics, (change, new, after.diagnostics[0])
    assert [_canonical(one.data) for one in after.documents] == [_canonical(expected)], (change, new)


def _change(document: Document, path: tuple[str | int, ...], op: int, value: Any) -> DocumentFix | None:
    """Return one of the possible changes at a path."""
    data = at(document.data, path)
    if op % 4 == 0 and isinstance(data, dict) and "new" not in data:
        return DocumentFix("", "set", (*path, "new"), value)
    if not path:
        return None
    if op % 4 == 1 and not (isinstance(data, dict | list) and data):
        return DocumentFix("", "set", path, value)
    if op % 4 == 2 and isinstance(path[-1], str):
        return DocumentFix("", "rename", path, "new name")
    if op % 4 == 3 and not _is_chosen_by_name(path):
        return DocumentFix("", "remove", path)
    return None


def _is_chosen_by_name(path: tuple[str | int, ...]) -> bool:
    """Whether something stays in place of a removed value, as for environments."""
    return "environments" in path


def _changed(data: Any, change: DocumentFix) -> Any:
    if change.op == "remove":
        return removed(data, change.path)
    data = copy.deepcopy(data)
    parent = at(data, change.path[:-1])
    if change.op == "rename":
        kept = [(change.value if key == change.path[-1] else key, value) for key, value in parent.items()]
        parent.clear()
        parent.update(kept)
    else:
        parent[change.path[-1]] = change.value
    return data


def headers(content: bytes) -> None:
    """Assert that any header of a rendered CR gives a finding or none."""
    line = content.decode(errors="replace").replace("\n", " ").replace("\r", " ")
    with repository({"jobs.yaml": ENVIRONMENTS, "count.yaml": JOB}):
        source = taken(f"{RENDER_HEADER_PREFIX}{line}\n{JOB}".encode(), "rendered.yaml")
        for item in classify_documents(source or SourceFile("", "", [], [], [])):
            said = parse_header(item)
            if said is not None:
                try:
                    diagnose_stale_cr(item, said, PipelineSettings(), Loader())
                except (UsageError, LimitExceeded):
                    return
