"""Targets for the whole pipeline: a file is checked, lowered, fixed, and compared with a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from podplan.cli.lsp import resolve_file_settings
from podplan.core.errors import UsageError
from podplan.core.limits import LimitExceeded
from podplan.core.provenance import trace_to_source
from podplan.core.replica_groups import ReplicaGroup, expand_group, fold_group
from podplan.pipeline import PipelineSettings, iter_job_plans
from podplan.rendering import render_cr
from podplan.tools.cluster_diff.kubectl_dump import read_dump
from podplan.workspace.documents import classify_documents
from podplan.workspace.loader import Loader
from podplan.yaml import SourceFile
from podplan.yaml.writer import emit_document
from tests.command import INVENTORY
from tests.fuzz.documents import taken
from tests.fuzz.places import repository
from tests.run_invariants import bounded, check_fixes, check_places, check_refusal, check_reports, checked
from tests.test_source_properties import paths

FILE = "job.yaml"
FEW = 8  # replicas that are expanded, and paths that are traced
_settings: list[PipelineSettings] = []


def settings() -> PipelineSettings:
    """Return settings with all policies and on a fixed day."""
    if not _settings:
        found = resolve_file_settings(FILE).settings
        _settings.append(found._replace(lint_config=found.lint_config._replace(today="2026-01-01")))
    return _settings[0]


def source_of(content: bytes) -> SourceFile | None:
    return taken(content, FILE)


def check(content: bytes) -> None:
    """Assert that findings have existing locations, render in every format, and are deterministic."""
    source = source_of(content)
    if source is None:
        return
    with repository({"inventory.yaml": INVENTORY}):
        try:
            result = bounded(checked({FILE: source.text}, settings()))
        except (UsageError, LimitExceeded):
            return
        check_places(result, {FILE: source.text})
        check_reports(result)
        assert checked({FILE: source.text}, settings()) == result


def lower(content: bytes) -> None:
    """Assert that lowered objects can be written, read the same, and every part of them has an origin."""
    source = source_of(content)
    with repository({"inventory.yaml": INVENTORY}):
        for item in classify_documents(source) if source else ():
            if item.category not in ("profile", "cr"):
                continue
            try:
                made = list(iter_job_plans(item, settings(), Loader()))
            except (UsageError, LimitExceeded):
                continue
            for plan in made:
                if plan.cr is None:
                    assert plan.diagnostics, "no CR, and nobody says why"
                    continue
                _check_written(render_cr(plan, settings()), plan.cr.data)
                assert plan.is_lowered or plan.diagnostics, "not lowered, and nobody says why"
                for group in plan.replica_groups:
                    for data in _few(group):
                        _check_written(emit_document(data), data)
                    for path in paths(group.doc.data)[: FEW * 8]:
                        assert trace_to_source(group.doc, path)


def _few(group: ReplicaGroup) -> Iterator[dict[str, Any]]:
    """Yield the first objects of a group; its template if there are too many to expand."""
    try:
        yield from islice(expand_group(group), FEW)
    except LimitExceeded:
        yield fold_group(group)


def _check_written(text: str, data: object) -> None:
    again = taken(text.encode(), "again.yaml")
    if again is None:  # a list of replicas may be longer than the limit of a file
        return
    assert not again.diagnostics, again.diagnostics[0]
    assert again.documents[0].data == data


def repair(content: bytes) -> None:
    """Assert that fixes remove their findings, and add no errors."""
    source = source_of(content)
    if source is None:
        return
    with repository({"inventory.yaml": INVENTORY}):
        try:
            bounded(checked({FILE: source.text}, settings()))
            done = check_fixes({FILE: source.text}, settings())
        except (UsageError, LimitExceeded):
            return
    assert all(found.fix and found.fix.edits for found in done.fixed)


def dump(content: bytes) -> None:
    """Assert that a dump gives objects, or an error message."""
    try:
        found = read_dump(content, "dump.yaml")
    except (UsageError, LimitExceeded) as error:
        check_refusal(error)
        return
    assert all(isinstance(one["kind"], str) for one in found.compared)
