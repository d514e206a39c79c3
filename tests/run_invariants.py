"""Invariants of every run: locations exist, reports agree, fixes work."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping

from podplan.checker.check import CheckResult, check_sources
from podplan.cli.reports import FORMATS, render_report
from podplan.core.findings import Finding, Location, Severity
from podplan.core.limits import LimitExceeded
from podplan.pipeline import PipelineSettings
from podplan.tools.fixer import FixResult, fix_texts
from podplan.workspace.loader import Loader
from podplan.yaml import parse_yaml
from podplan.yaml.positions import LINE_BREAK

Texts = Mapping[str, str]
Key = tuple[str, str]


def checked(texts: Texts, settings: PipelineSettings) -> CheckResult:
    """Check files that exist only as texts."""
    found = [parse_yaml(text.encode("utf-8", "surrogatepass"), file) for file, text in texts.items()]
    result = check_sources(found, settings, Loader(unsaved_texts=texts))
    assert [one.message for one in result.findings if one.rule == "RUN001"] == []
    return result


def check_places(result: CheckResult, texts: Texts) -> None:
    """Assert that every location of every finding is in its file: 1-based, within the line, and no end
    before its start."""
    lengths = {file: [len(line) for line in LINE_BREAK.split(text)] for file, text in texts.items()}
    for found in result.all_findings:
        for where in places(found):
            if where.file in lengths:
                check_place(where, lengths[where.file], found.rule)


def places(found: Finding) -> Iterator[Location]:
    yield found.location
    yield from (related.location for related in found.related)
    for edit in found.fix.edits if found.fix else ():
        assert edit.start <= edit.end
        yield Location(edit.file, edit.line, edit.column, edit.end_line, edit.end_column, ())


def check_place(where: Location, lengths: list[int], rule: str) -> None:
    for line, column in ((where.line, where.column), (where.end_line, where.end_column)):
        # An empty file has one line; the end of a line is one column after it.
        assert 1 <= line <= len(lengths), f"{rule}: line {line} of {len(lengths)}"
        assert 1 <= column <= lengths[line - 1] + 1, f"{rule}: column {column} of line {line}"
    assert (where.line, where.column) <= (where.end_line, where.end_column), f"{rule}: ends before it starts"


def check_reports(result: CheckResult) -> None:
    """Assert that every format renders, twice the same, and that those in JSON have a line for each
    finding."""
    texts = {name: render_report(result, name) for name in (*FORMATS, "statistics")}
    for name, text in texts.items():
        text.encode()
        assert render_report(result, name) == text, f"{name} is another text the second time"
    data = json.loads(texts["json"])
    assert len(data["findings"]) == len(result.all_findings)
    assert len(texts["jsonl"].splitlines()) >= len(result.all_findings)
    for name in ("sarif", "gitlab", "rdjson"):
        json.loads(texts[name])


def check_fixes(texts: Texts, settings: PipelineSettings, unsafe: bool = True) -> FixResult:
    """Apply all fixes; assert that each finding is gone, the texts parse, and there is no new error."""
    before = checked(texts, settings)

    def again(changed: Texts) -> CheckResult:
        return checked({**texts, **changed}, settings)

    done = fix_texts(again, unsafe)
    after = again(done.texts)
    assert errors(after) - errors(before) == Counter() or _form_was_mended(before), "a fix brought an error"
    once_more = fix_texts(lambda changed: again({**done.texts, **changed}), unsafe)
    assert not once_more.texts, f"a second run finds more to do: {[one.rule for one in once_more.fixed]}"
    return done


def _form_was_mended(before: CheckResult) -> bool:
    """Whether some document could not be checked completely, so that fixes may reveal more findings."""
    return any(found.rule.startswith(("YAML", "SCHEMA", "PROF", "CR")) for found in before.findings)


def errors(result: CheckResult) -> Counter[Key]:
    """Count the errors of each rule in each file."""
    found = (one for one in result.findings if one.severity is Severity.ERROR)
    return Counter((one.rule, one.location.file) for one in found)


def bounded(result: CheckResult) -> CheckResult:
    """Return the result, unless files exceeded a limit, which is not tested here."""
    if result.limit_hits:
        raise LimitExceeded(result.limit_hits[0].message)
    return result


def check_refusal(error: Exception) -> None:
    """Assert that an error has a message."""
    assert str(error).strip()
    assert "Traceback" not in str(error)
